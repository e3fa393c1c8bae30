/**
 * Options of a manager: validation and defaults.
 *
 * @module
 */
import {
  requireBound,
  requireFunction,
  requireKnown,
  requirePositive,
  requireWhole,
} from '../runtime/options.js'
import type { SizeLimit } from './json.js'
import { quote } from '../runtime/describe.js'
import { randomId, type GenerateId } from '../runtime/ids.js'
import { systemClock, type Clock } from '../runtime/clock.js'
import { A2A_LIFECYCLE, canTransition, isLifecycle, type Lifecycle, type TaskState } from './lifecycle.js'

/** Default of `maxTasks`. */
export const MAX_TASKS = 1000
/** Default of `expiryMs`: 24 hours. */
export const DEFAULT_EXPIRY_MS = 86_400_000
/** Default of `maxInputSize`: 1 MiB. */
export const DEFAULT_MAX_INPUT_SIZE = 1_048_576

/** Limits on the size of one task. Sizes are bytes of UTF-8 JSON. Limits are inclusive. */
export interface LimitOptions {
  /** Size of the output. Default is `1_048_576` (1 MiB). */
  readonly maxOutputSize?: number | undefined
  /** Size of all artifacts together. Default is `67_108_864` (64 MiB). */
  readonly maxArtifactsSize?: number | undefined
  /** Number of artifacts. Default is `1_000`. */
  readonly maxArtifacts?: number | undefined
  /** Size of all messages of the conversation together, and of one status message. Default is `16_777_216` (16 MiB). */
  readonly maxMessagesSize?: number | undefined
  /** Number of messages. Default is `10_000`. */
  readonly maxMessages?: number | undefined
  /** Number of states in the task's history. A task at the limit can only end. Default is `10_000`. */
  readonly maxHistory?: number | undefined
  /** Nesting depth of JSON, at most 1000; `{}` has depth 1. Default is `100`. */
  readonly maxDepth?: number | undefined
}

export interface TaskManagerOptions<S extends string = TaskState> {
  /** Number of tasks that the manager holds, terminal ones included. Default is `1_000`. */
  readonly maxTasks?: number | undefined
  /** Age in ms at which a task is removed, whatever its state. Default is `86_400_000` (24 hours). */
  readonly expiryMs?: number | undefined
  /** Size of a task's input and metadata together, in bytes of UTF-8 JSON. Default is `1_048_576` (1 MiB). */
  readonly maxInputSize?: number | undefined
  /**
   * Age in ms at which a task that has not ended fails with `Task timed out`. Time that the task waits for input
   * counts. Default is never.
   */
  readonly taskTimeoutMs?: number | undefined
  /**
   * The behaviour of `createTask` at `maxTasks`. `'reject'` throws `TASK_LIMIT_REACHED`. `'evict-terminal'` removes the
   * tasks that ended first, a tenth of `maxTasks` but at most 100 at a time, and throws when no task has ended. Default
   * is `'reject'`.
   */
  readonly whenFull?: 'reject' | 'evict-terminal' | undefined
  /**
   * Interval in ms of the timer that removes expired tasks. Without it only `createTask` and `prune` remove them.
   * Default is no timer.
   */
  readonly pruneIntervalMs?: number | undefined
  /** Number of latest events that each task keeps for replay, at most 4 MiB of them. Default is `1_000`. */
  readonly eventLogSize?: number | undefined
  readonly limits?: LimitOptions | undefined
  /** Default is {@link A2A_LIFECYCLE}. */
  readonly lifecycle?: Lifecycle<S> | undefined
  /** Default is the platform's clock. */
  readonly clock?: Clock | undefined
  /** Generates the ids of tasks, messages and artifacts. Default is UUID v4. */
  readonly generateId?: GenerateId | undefined
}

/** {@link LimitOptions} with defaults. */
export interface Limits {
  readonly input: SizeLimit
  readonly output: SizeLimit
  readonly artifacts: SizeLimit
  readonly messages: SizeLimit
  readonly maxArtifacts: number
  readonly maxMessages: number
  readonly maxHistory: number
  readonly maxDepth: number
}

/** {@link TaskManagerOptions} with defaults. */
export interface Settings<S extends string = TaskState> {
  readonly maxTasks: number
  readonly expiryMs: number
  /** `Infinity` without a timeout. */
  readonly taskTimeoutMs: number
  readonly evictWhenFull: boolean
  /** `Infinity` without a timer. */
  readonly pruneIntervalMs: number
  readonly eventLogSize: number
  readonly limits: Limits
  readonly lifecycle: Lifecycle<S>
  readonly clock: Clock
  readonly generateId: GenerateId
}

const OPTION_KEYS = [
  'maxTasks',
  'expiryMs',
  'maxInputSize',
  'taskTimeoutMs',
  'whenFull',
  'pruneIntervalMs',
  'eventLogSize',
  'limits',
  'lifecycle',
  'clock',
  'generateId',
]
const LIMIT_KEYS = [
  'maxOutputSize',
  'maxArtifactsSize',
  'maxArtifacts',
  'maxMessagesSize',
  'maxMessages',
  'maxHistory',
  'maxDepth',
]

/**
 * @throws {RangeError} when a number is not positive, or not an integer where one is required.
 * @throws {TypeError} when an option is unknown or has the wrong type.
 */
export function toSettings<S extends string>(
  options: TaskManagerOptions<S>,
  where = 'TaskManager',
): Settings<S> {
  requireKnown(options, OPTION_KEYS, where)
  const { taskTimeoutMs } = options
  const whenFull = options.whenFull ?? 'reject'
  const clock = options.clock ?? systemClock
  const generateId = options.generateId ?? randomId
  if (!['reject', 'evict-terminal'].includes(whenFull)) {
    throw new TypeError(`"whenFull" must be 'reject' or 'evict-terminal', got ${quote(whenFull)}`)
  }
  if (typeof clock.now !== 'function' || typeof clock.schedule !== 'function') {
    throw new TypeError('"clock" must have the methods now and schedule')
  }
  requireFunction('generateId', generateId)
  // Without a lifecycle of the caller, S is TaskState, the default of every type that has it.
  const lifecycle = options.lifecycle ?? (A2A_LIFECYCLE as Lifecycle<string> as Lifecycle<S>)
  if (!isLifecycle(lifecycle)) throw new TypeError('"lifecycle" must be made by defineLifecycle()')
  if (taskTimeoutMs !== undefined) requireFailure(lifecycle)
  return {
    maxTasks: requireBound('maxTasks', options.maxTasks ?? MAX_TASKS),
    expiryMs: requirePositive('expiryMs', options.expiryMs ?? DEFAULT_EXPIRY_MS),
    taskTimeoutMs: requirePositive('taskTimeoutMs', taskTimeoutMs ?? Infinity),
    evictWhenFull: whenFull === 'evict-terminal',
    pruneIntervalMs: requirePositive('pruneIntervalMs', options.pruneIntervalMs ?? Infinity),
    eventLogSize: requireBound('eventLogSize', options.eventLogSize ?? 1_000),
    limits: toLimits(options.maxInputSize, options.limits ?? {}, where),
    lifecycle,
    clock,
    generateId,
  }
}

function toLimits(maxInputSize: number | undefined, limits: LimitOptions, where: string): Limits {
  requireKnown(limits, LIMIT_KEYS, where, 'limits')
  const bound = (option: keyof LimitOptions, fallback: number): number =>
    requireBound(`limits.${option}`, limits[option] ?? fallback)
  const size = (subject: string, option: keyof LimitOptions, fallback: number): SizeLimit => ({
    subject,
    option,
    maxBytes: bound(option, fallback),
  })
  return {
    input: {
      subject: 'Input',
      option: 'maxInputSize',
      maxBytes: requireBound('maxInputSize', maxInputSize ?? DEFAULT_MAX_INPUT_SIZE),
    },
    output: size('Output', 'maxOutputSize', 1_048_576),
    artifacts: size('Artifacts', 'maxArtifactsSize', 67_108_864),
    messages: size('Messages', 'maxMessagesSize', 16_777_216),
    maxArtifacts: bound('maxArtifacts', 1_000),
    maxMessages: bound('maxMessages', 10_000),
    maxHistory: bound('maxHistory', 10_000),
    maxDepth: requireWhole('limits.maxDepth', limits.maxDepth ?? 100, 1, 1_000),
  }
}

function requireFailure(lifecycle: Lifecycle<string>): void {
  for (const state of lifecycle.states) {
    if (lifecycle.terminal.includes(state) || canTransition(state, 'failed', lifecycle)) continue
    throw new TypeError(`"taskTimeoutMs" needs a step from "${state}" to "failed" in the lifecycle`)
  }
}
