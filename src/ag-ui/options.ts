/**
 * Options of `createAgUiHandler`, and their checks.
 *
 * @module
 */
import type { MaybePromise } from '../core/managers.js'
import type { ChatClient } from '../chat/chat-client.js'
import type { A2AClient } from '../client/a2a-client.js'
import { systemClock, type Clock } from '../runtime/clock.js'
import {
  readOptions,
  requireClock,
  requireDelay,
  requireFunctions,
  requireOneOf,
  requireWhole,
} from '../runtime/options.js'
import { reportError } from '../runtime/report.js'

/** What is used of a client. */
export type AgUiAgent = ChatClient & Pick<A2AClient, 'cancelTask'>

/**
 * The client of the agent, or a promise of one, for all front ends. A function returns the client for one request, with the
 * credentials of its user, or a response that refuses the request. It must not read the body.
 */
export type AgUiClient =
  AgUiAgent | PromiseLike<AgUiAgent> | ((request: Request) => MaybePromise<AgUiAgent | Response>)

/** Options of `createAgUiHandler`. */
export interface AgUiOptions {
  /**
   * What becomes of the task when the front end closes the stream: `continue`, or `cancel`. AG-UI's `abortRun` closes it, and so
   * do a page that is left and a network that breaks. Default is `continue`.
   */
  readonly onDisconnect?: 'continue' | 'cancel' | undefined
  /** The time limit of a run, in ms. It then ends with an error, and the task goes on. Default is none. */
  readonly timeoutMs?: number | undefined
  /** The largest body of a request, in bytes. Larger ones are answered with 413. Default is 4,194,304 (4 MiB). */
  readonly maxBodyBytes?: number | undefined
  /** The most runs at a time. More are answered with 503. Default is 1,000. */
  readonly maxRuns?: number | undefined
  /** Receives errors that front ends get only as a fixed text. Default is a warning of the process. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Default is the platform's clock. */
  readonly clock?: Clock | undefined
}

/** Options that were checked. */
export interface Settings {
  readonly onDisconnect: 'continue' | 'cancel'
  readonly timeoutMs: number | undefined
  readonly maxBodyBytes: number
  readonly maxRuns: number
  readonly onError: (error: unknown) => void
  readonly clock: Clock
}

const KEYS = ['onDisconnect', 'timeoutMs', 'maxBodyBytes', 'maxRuns', 'onError', 'clock']

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toSettings(options: AgUiOptions): Settings {
  const given = readOptions(options, KEYS, 'createAgUiHandler')
  const { onDisconnect = 'continue', maxBodyBytes = 4_194_304, maxRuns = 1_000, clock = systemClock } = given
  const { timeoutMs } = given
  requireOneOf('onDisconnect', onDisconnect, ['continue', 'cancel'])
  requireFunctions(given, ['onError'])
  requireClock(clock)
  if (timeoutMs !== undefined) requireDelay('timeoutMs', timeoutMs)
  return {
    ...{ onDisconnect, clock, timeoutMs },
    maxBodyBytes: requireWhole('maxBodyBytes', maxBodyBytes),
    maxRuns: requireWhole('maxRuns', maxRuns),
    onError: given.onError ?? ((error) => reportError(error, { during: 'A request of AG-UI failed' })),
  }
}
