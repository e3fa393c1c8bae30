/**
 * Options of a manager: validation and defaults.
 *
 * @module
 */
import {
  requireBound,
  requireFunction,
  requireKnown,
  requireOneOf,
  requirePositive,
  requireWhole,
} from '../runtime/options.js'
import type { SizeLimit } from './json.js'
import { heapLimitBytes } from '../runtime/environment.js'
import { randomId, type GenerateId } from '../runtime/ids.js'
import { systemClock, type Clock } from '../runtime/clock.js'
import { A2A_LIFECYCLE, canTransition, isLifecycle, type Lifecycle, type TaskState } from './lifecycle.js'

/** Default of `maxTasks`: 1,000. */
export const MAX_TASKS = 1000
/** Default of `expiryMs`: 24 hours. */
export const DEFAULT_EXPIRY_MS = 86_400_000
/** Default of `maxInputSize`: 1 MiB. */
export const DEFAULT_MAX_INPUT_SIZE = 1_048_576

/** Share of the heap that is the default of `maxTotalBytes`. */
const SHARE_OF_HEAP = 1 / 4
/** Default of `maxTotalBytes` on runtimes that do not report their heap. It may be 128 MB, as Cloudflare's is. */
const DEFAULT_TOTAL_BYTES = 33_554_432

/** Limits on sizes. Those of one task are bytes of UTF-8 JSON. Limits are inclusive. */
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
  /**
   * Bytes of heap that all tasks of the manager take together, with their events. They are estimated from the values: JSON of
   * many small values takes up to 30 times its size, or more. A new task beyond the limit throws `TASK_LIMIT_REACHED`, a change
   * `LIMIT_EXCEEDED`; `whenFull` can make room for both. A task can always end. Default is a quarter of the heap's limit;
   * 33_554_432 (32 MiB) on runtimes that do not report it.
   */
  readonly maxTotalBytes?: number | undefined
}

/** The behaviour of a manager that is full. */
export type WhenFull = 'reject' | 'evict-terminal' | 'evict'

/** Options of `TaskManager`. An unknown option throws a `TypeError`. */
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
   * The behaviour at `maxTasks` and `limits.maxTotalBytes`. `'reject'` throws. `'evict-terminal'` removes ended tasks, and
   * throws when none may go. They are those of the owner that holds most, of its tasks those that ended first: at `maxTasks` a
   * tenth of it but at most 100 at a time. For an owner that holds more than half of the limit only its own ended tasks go.
   * `'evict'` also cancels and removes tasks that wait for the client: the first one of the owner that holds most, in favour of
   * owners that hold less than half as much. They go when no ended task may go; when their owner holds more than half of the
   * limit, before ended tasks of others. When none of these may go, the owner that needs room loses its own task that waits
   * longest. Tasks without an owner count as those of one owner. Default is `'reject'`.
   */
  readonly whenFull?: WhenFull | undefined
  /**
   * Interval in ms of the timer that removes expired tasks. Without it only `createTask` and `prune` remove them.
   * Default is no timer.
   */
  readonly pruneIntervalMs?: number | undefined
  /** Number of latest events that each task keeps for replay, at most 4 MiB of them. Default is `1_000`. */
  readonly eventLogSize?: number | undefined
  /** Number of latest entries, at least, from which `feed` continues. Default is `0`: `feed` is refused. */
  readonly feedSize?: number | undefined
  /** Limits on the size of each task, and of all tasks together. Defaults are those of `LimitOptions`. */
  readonly limits?: LimitOptions | undefined
  /** The states and transitions of the tasks. Default is {@link A2A_LIFECYCLE}. */
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
  readonly total: SizeLimit
}

/** {@link TaskManagerOptions} with defaults. */
export interface Settings<S extends string = TaskState> {
  readonly maxTasks: number
  readonly expiryMs: number
  /** `Infinity` without a timeout. */
  readonly taskTimeoutMs: number
  readonly whenFull: WhenFull
  /** `Infinity` without a timer. */
  readonly pruneIntervalMs: number
  readonly eventLogSize: number
  readonly feedSize: number
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
  'feedSize',
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
  'maxTotalBytes',
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
  requireOneOf('whenFull', whenFull, ['reject', 'evict-terminal', 'evict'])
  if (typeof clock.now !== 'function' || typeof clock.schedule !== 'function') {
    throw new TypeError('"clock" must have the methods now and schedule')
  }
  requireFunction('generateId', generateId)
  return {
    maxTasks: requireBound('maxTasks', options.maxTasks ?? MAX_TASKS),
    expiryMs: requirePositive('expiryMs', options.expiryMs ?? DEFAULT_EXPIRY_MS),
    taskTimeoutMs: requirePositive('taskTimeoutMs', taskTimeoutMs ?? Infinity),
    whenFull,
    pruneIntervalMs: requirePositive('pruneIntervalMs', options.pruneIntervalMs ?? Infinity),
    eventLogSize: requireBound('eventLogSize', options.eventLogSize ?? 1_000),
    feedSize: requireWhole('feedSize', options.feedSize ?? 0, 0),
    limits: toLimits(options.maxInputSize, options.limits ?? {}, where),
    lifecycle: toLifecycle(options),
    clock,
    generateId,
  }
}

function toLifecycle<S extends string>({ lifecycle, taskTimeoutMs }: TaskManagerOptions<S>): Lifecycle<S> {
  // Without a lifecycle of the caller, S is TaskState, the default of every type that has it.
  const own = lifecycle ?? (A2A_LIFECYCLE as Lifecycle<string> as Lifecycle<S>)
  if (!isLifecycle(own)) throw new TypeError('"lifecycle" must be made by defineLifecycle()')
  if (taskTimeoutMs !== undefined) requireFailure(own)
  return own
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
    total: size('All tasks', 'maxTotalBytes', defaultTotalBytes()),
    maxDepth: requireWhole('limits.maxDepth', limits.maxDepth ?? 100, 1, 1_000),
  }
}

function defaultTotalBytes(): number {
  const heap = heapLimitBytes()
  return heap === undefined ? DEFAULT_TOTAL_BYTES : Math.floor(heap * SHARE_OF_HEAP)
}

function requireFailure(lifecycle: Lifecycle<string>): void {
  for (const state of lifecycle.states) {
    if (lifecycle.terminal.includes(state) || canTransition(state, 'failed', lifecycle)) continue
    throw new TypeError(`"taskTimeoutMs" needs a step from "${state}" to "failed" in the lifecycle`)
  }
}
