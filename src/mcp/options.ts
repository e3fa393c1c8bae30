/**
 * Options of `createMcpHandler`, and their checks.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import type { MaybePromise } from '../core/managers.js'
import { systemClock, type Clock } from '../runtime/clock.js'
import {
  readOptions,
  requireBoolean,
  requireClock,
  requireDelay,
  requireFunctions,
  requireObject,
  requireStrings,
  requireWhole,
} from '../runtime/options.js'
import { reportError } from '../runtime/report.js'
import { parseUrl } from '../runtime/url.js'
import { quote } from '../runtime/describe.js'
import type { AgentCard } from '../schemas/agent-card.js'
import type { HandlerFetch } from '../server/binding/fetch.js'
import { toTool, type McpTool } from './tools.js'

/** What is used of a client. */
export type McpAgent = Pick<
  A2AClient,
  'card' | 'run' | 'resume' | 'send' | 'getTask' | 'listTasks' | 'subscribe' | 'cancelTask'
>

/** What is used of a request handler: that of an agent, or that of a gateway. */
export interface ServedAgent {
  readonly card: AgentCard
  readonly fetch: HandlerFetch<never>
}

/**
 * The agent behind the tools: a request handler of this process, or a client.
 *
 * A request handler gets the headers of each request, and the principal of `fetch(request, { principal })`, so that callers of
 * MCP own tasks as those of A2A do. A client is for all callers, or a promise of one is. A function returns the client for one
 * request, with the credentials of its user, or a response that refuses the request. It must not read the body.
 */
export type McpSource =
  ServedAgent | McpAgent | PromiseLike<McpAgent> | ((request: Request) => MaybePromise<McpAgent | Response>)

/** Options of `createMcpHandler`. */
export interface McpOptions {
  /** What tools have beside their skills, by the ids of the skills. A skill of the card is needed for each. Default is none. */
  readonly tools?: Readonly<Record<string, McpTool>> | undefined
  /**
   * Whether results end with a text that tells the model the `contextId` with which its next call continues the conversation. They
   * have it in `_meta` too, which hosts do not show to models. Default is `false`.
   */
  readonly tellContext?: boolean | undefined
  /**
   * The time that a call may take to be answered at once, in ms. After it the call becomes a task, or a stream where the client
   * does not declare the extension for tasks. Default is 1,000.
   */
  readonly waitMs?: number | undefined
  /** How often clients should ask for a task, in ms. Default is 1,000. */
  readonly pollIntervalMs?: number | undefined
  /** The time from its beginning for which a task can be asked for, in ms: that of your retention. Default is no limit. */
  readonly ttlMs?: number | undefined
  /**
   * The public URL of this server. With it, and a card that names a server of OAuth 2 or OpenID Connect, the handler answers `GET`
   * of `/.well-known/oauth-protected-resource` and of paths below it, and a refusal of credentials names that address. Default is
   * none.
   */
  readonly url?: string | undefined
  /**
   * Origins whose pages may call, such as `https://app.example`. Pages of this machine may always. Requests from all others are
   * answered with 403; clients that are no browsers send no origin. Default is none.
   */
  readonly origins?: readonly string[] | undefined
  /** The largest body of a request, in bytes. Larger ones are answered with 413. Default is 4,194,304 (4 MiB). */
  readonly maxBodyBytes?: number | undefined
  /**
   * The most calls, notifications and subscriptions at a time. More are answered with 503, and so is what would leave less than
   * half of them to other users, or less than a quarter to requests without a stream. Default is 1,000.
   */
  readonly maxCalls?: number | undefined
  /** Receives errors that clients get only as a fixed text. Default is a warning of the process. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Default is the platform's clock. */
  readonly clock?: Clock | undefined
}

/** Options that were checked. */
export interface Settings {
  readonly tools: Readonly<Record<string, McpTool>>
  readonly tellContext: boolean
  readonly waitMs: number
  readonly pollIntervalMs: number
  readonly ttlMs: number | null
  readonly url: string | undefined
  readonly origins: readonly string[]
  readonly maxBodyBytes: number
  readonly maxCalls: number
  readonly onError: (error: unknown) => void
  readonly clock: Clock
}

const KEYS = [
  ...['tools', 'tellContext', 'waitMs', 'pollIntervalMs', 'ttlMs', 'url', 'origins'],
  ...['maxBodyBytes', 'maxCalls', 'onError', 'clock'],
]

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toSettings(options: McpOptions): Settings {
  const given = readOptions(options, KEYS, 'createMcpHandler')
  const {
    tools = {},
    tellContext = false,
    waitMs = 1_000,
    pollIntervalMs = 1_000,
    ttlMs,
    origins = [],
  } = given
  const { maxBodyBytes = 4_194_304, maxCalls = 1_000, clock = systemClock } = given
  requireObject('tools', tools, 'createMcpHandler')
  requireBoolean('tellContext', tellContext)
  requireStrings('origins', origins)
  requireFunctions(given, ['onError'])
  requireClock(clock)
  return {
    ...{ origins: origins.map(originOf), tellContext, clock, url: given.url && urlOf(given.url) },
    tools: Object.fromEntries(Object.entries(tools).map(([id, tool]) => [id, toTool(id, tool)])),
    waitMs: requireDelay('waitMs', waitMs, 0),
    pollIntervalMs: requireDelay('pollIntervalMs', pollIntervalMs),
    ttlMs: ttlMs === undefined ? null : requireWhole('ttlMs', ttlMs),
    maxBodyBytes: requireWhole('maxBodyBytes', maxBodyBytes),
    maxCalls: requireWhole('maxCalls', maxCalls),
    onError: given.onError ?? ((error) => reportError(error, { during: 'A request of MCP failed' })),
  }
}

function urlOf(given: string): string {
  const { protocol = '', search, hash } = (typeof given === 'string' && parseUrl(given)) || {}
  if (/^https?:$/.test(protocol) && search === '' && hash === '') return given
  throw new TypeError(
    `"url" must be an http or https URL without a query, such as 'https://agent.example/mcp', got ${quote(given)}`,
  )
}

function originOf(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url?.origin === given && given !== 'null') return given
  throw new TypeError(`"origins" must be origins, such as 'https://app.example', got "${given}"`)
}
