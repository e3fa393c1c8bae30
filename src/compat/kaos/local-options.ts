/**
 * Options of `LocalTaskManager`, with their checks and defaults.
 *
 * @module
 */
import {
  readOptions,
  requireBound,
  requireClock,
  requireDelay,
  requireFunction,
  requireFunctions,
} from '../../runtime/options.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import { reportError } from '../../runtime/report.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { TaskManager } from '../../core/task-manager.js'
import { FAILED } from '../../server/run/failure-texts.js'
import { guarded, type ErrorContext } from '../../server/options.js'
import { requireTasks, type AnyTasks, type ServedTasks } from '../../server/tasks.js'

/** The context of the work on one text. */
export interface ProcessContext {
  /** The conversation of the text: the task's `contextId`. Clients choose it, so it does not identify a user. */
  readonly sessionId: string
  readonly taskId: string
  /** The metadata of the message. */
  readonly metadata: { readonly [key: string]: ReadonlyJson }
  /** The task's owner: with `authenticate`, the id of the principal. */
  readonly owner: string | undefined
  /**
   * Aborts when the task is canceled, times out or expires, and when the manager shuts down. Over a `DurableTaskManager`
   * also when another process takes the task over (`LEASE_LOST`), or the store fails for too long.
   */
  readonly signal: AbortSignal
}

/** The agent's work on one text. Returns the answer, whole or in chunks. When it throws, the task fails. */
export type ProcessFn = (
  text: string,
  context: ProcessContext,
) => string | AsyncIterable<string> | Promise<string | AsyncIterable<string>>

/** Options of {@link LocalTaskManager}. */
export interface LocalTaskManagerOptions {
  /**
   * Stores the tasks: a `TaskManager`, or a `DurableTaskManager` that no other handler uses. Its lifecycle must have every
   * state and step of `A2A_LIFECYCLE`. Default is a new `TaskManager` that holds `maxTasks` tasks for 24 hours. When it is
   * full, it removes the tasks that ended longest ago.
   */
  readonly tasks?: AnyTasks | undefined
  /**
   * How many tasks this process works on at the same time. Further texts are refused with `TASK_LIMIT_REACHED`. Default is
   * `10_000`.
   */
  readonly maxTasks?: number | undefined
  /**
   * Returns the status message of a task whose `processFn` threw. Clients read it; `String` exposes the whole error. Default
   * is always `The agent could not finish this task`.
   */
  readonly describeError?: ((error: unknown) => string) | undefined
  /** Receives what `processFn` throws. Default is a process warning, where the runtime has them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
  /** How long `shutdown` waits for aborted work to end, in ms. Default is `10_000` (10 seconds). */
  readonly graceMs?: number | undefined
  /** Default is the runtime's clock. `tasks` uses its own clock. */
  readonly clock?: Clock | undefined
}

/** {@link LocalTaskManagerOptions} with defaults. */
export interface LocalSettings {
  readonly processFn: ProcessFn
  readonly tasks: ServedTasks
  readonly maxTasks: number
  readonly describeError: (error: unknown) => string
  readonly onError: (error: unknown, context: ErrorContext) => void
  readonly graceMs: number
  readonly clock: Clock
}

export const OPTION_KEYS = ['tasks', 'maxTasks', 'describeError', 'onError', 'graceMs', 'clock']
const MAX_TASKS = 10_000

/** @throws {TypeError | RangeError} naming the option that is wrong. */
export function toLocalSettings(processFn: ProcessFn, options: LocalTaskManagerOptions): LocalSettings {
  const given = readOptions(options, OPTION_KEYS, 'LocalTaskManager')
  const { describeError = () => FAILED, clock = systemClock, onError } = given
  requireFunction('processFn', processFn)
  requireFunction('describeError', describeError)
  requireFunctions(given, ['onError'])
  requireClock(clock)
  const maxTasks = requireBound('maxTasks', given.maxTasks ?? MAX_TASKS)
  const graceMs = requireDelay('graceMs', given.graceMs ?? 10_000)
  return {
    processFn,
    tasks:
      given.tasks === undefined
        ? new TaskManager({ maxTasks, whenFull: 'evict-terminal', clock })
        : requireTasks(given.tasks),
    maxTasks,
    describeError,
    onError: onError === undefined ? reportError : guarded(onError),
    graceMs,
    clock,
  }
}
