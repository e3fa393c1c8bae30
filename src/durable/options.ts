/**
 * Options of a durable manager: their checks and defaults.
 *
 * @module
 */
import { requireBound, requireFunction, requireKnown, requireWhole } from '../runtime/options.js'
import { MAX_DELAY_MS } from '../runtime/clock.js'
import type { A2AError } from '../core/errors.js'
import { describe, quote } from '../runtime/describe.js'
import type { TaskState } from '../core/lifecycle.js'
import { toSettings, type Settings, type TaskManagerOptions } from '../core/options.js'
import type { TaskStore } from './task-store.js'

/** Limits for the tasks in one final state. A task beyond either limit is removed. */
export interface RetentionRule {
  /** How long a task is kept after its end, in ms. Default is `Infinity`. */
  readonly maxAgeMs?: number | undefined
  /** How many tasks are kept, those that ended latest. Default is `Infinity`. */
  readonly maxCount?: number | undefined
}

/**
 * Retention rules by final state. `default` applies to the final states without a rule of their own, and is
 * `{ maxAgeMs: 2_592_000_000 }` (30 days) unless given.
 */
export type RetentionOptions<S extends string = TaskState> = {
  readonly [state in FinalState<S> | 'default']?: RetentionRule | undefined
}

/** The type of a custom lifecycle does not show which states are final, so every state is allowed there. */
type FinalState<S extends string> = TaskState extends S ? Exclude<S, LiveState> : S
type LiveState = 'submitted' | 'working' | 'input-required' | 'auth-required'

export interface DurableTaskManagerOptions<S extends string = TaskState> extends Pick<
  TaskManagerOptions<S>,
  'maxInputSize' | 'taskTimeoutMs' | 'eventLogSize' | 'limits' | 'lifecycle' | 'clock' | 'generateId'
> {
  /** The store of the tasks. Its schema must be up to date: `await store.migrate()`. */
  readonly store: TaskStore
  /**
   * How long ended tasks are kept. `false` keeps all of them. Default is 30 days for every final state. A rule for one state
   * leaves the default for the others: `{ failed: { maxAgeMs: 90 * 86_400_000 } }` keeps failed tasks for 90 days.
   */
  readonly retention?: RetentionOptions<NoInfer<S>> | false | undefined
  /**
   * How long a lease lasts without a renewal, in ms. Leases are renewed after a third of this time. Another process can
   * recover the tasks of a dead process once their leases have expired. Default is `30_000` (30 seconds).
   */
  readonly leaseMs?: number | undefined
  /**
   * What happens to a task whose process has died. `'fail'`: it fails, and the streams of every process show that.
   * `'restart'`: a process that has a handler, and room for one more run, starts the work again, so work may be done twice.
   * All processes of the store must then run the same agent. Default is `'fail'`.
   */
  readonly recover?: 'fail' | 'restart' | undefined
  /**
   * How often `recover: 'restart'` restarts the work of one turn. When the process dies once more, the task fails. Each turn
   * has a count of its own. `0` fails the task at once. Default is `3`.
   */
  readonly maxRestarts?: number | undefined
  /** Interval of polling for the changes of other processes, in ms. Default is `1_000`, or `5_000` when the store has hints. */
  readonly pollIntervalMs?: number | undefined
  /**
   * Interval of the sweeps that recover, time out and remove tasks, in ms. `false` leaves sweeps to other processes, as a
   * script that only reads should. Default is `10_000` (10 seconds).
   */
  readonly sweepIntervalMs?: number | false | undefined
  /** How long a call is retried while the store fails, in ms. Default is `10_000` (10 seconds). */
  readonly storeRetryMs?: number | undefined
  /** How many tasks are cached in memory. Tasks in use are cached beyond this limit. Default is `1_000`. */
  readonly maxCached?: number | undefined
  /** Receives the errors of background calls to the store. Default is to ignore them: such calls are repeated. */
  readonly onError?: ((error: A2AError<'STORE_FAILED'>) => void) | undefined
}

/** {@link DurableTaskManagerOptions} with defaults applied. */
export interface DurableSettings<S extends string = TaskState> extends Settings<S> {
  readonly store: TaskStore
  readonly retention: ReadonlyMap<S, RetentionRule>
  readonly leaseMs: number
  /** 0 with `recover: 'fail'`. */
  readonly maxRestarts: number
  readonly pollIntervalMs: number
  readonly sweepIntervalMs: number | false
  readonly storeRetryMs: number
  readonly maxCached: number
  readonly onError: (error: A2AError<'STORE_FAILED'>) => void
}

const OWN_KEYS = [
  'store',
  'retention',
  'leaseMs',
  'recover',
  'maxRestarts',
  'pollIntervalMs',
  'sweepIntervalMs',
  'storeRetryMs',
  'maxCached',
  'onError',
]
const CORE_KEYS = [
  'maxInputSize',
  'taskTimeoutMs',
  'eventLogSize',
  'limits',
  'lifecycle',
  'clock',
  'generateId',
]
const STORE_METHODS = [
  ...['create', 'commit', 'get', 'heads', 'events', 'list', 'count', 'unended', 'ended', 'delete'],
  ...['acquire', 'renew', 'release', 'orphans', 'putDocument', 'deleteDocument', 'documents', 'allDocuments'],
] as const satisfies readonly (keyof TaskStore)[]

const THIRTY_DAYS_MS = 2_592_000_000

/**
 * @throws {RangeError} when a number is not positive, or not whole where only a whole one makes sense.
 * @throws {TypeError} when an option is unknown or has the wrong type.
 */
export function toDurableSettings<S extends string>(
  options: DurableTaskManagerOptions<S>,
): DurableSettings<S> {
  if (isStore(options)) throw new TypeError('Options must be an object: pass the store as { store }')
  requireKnown(options, [...OWN_KEYS, ...CORE_KEYS], 'DurableTaskManager')
  const { store, recover = 'fail', maxRestarts = 3, onError = () => undefined } = options
  const { maxInputSize, taskTimeoutMs, eventLogSize, limits, lifecycle, clock, generateId } = options
  requireStore(store)
  if (!['fail', 'restart'].includes(recover)) {
    throw new TypeError(`"recover" must be 'fail' or 'restart', got ${quote(recover)}`)
  }
  requireWhole('maxRestarts', maxRestarts, 0)
  requireFunction('onError', onError)
  const settings = toSettings<S>(
    { maxInputSize, taskTimeoutMs, eventLogSize, limits, lifecycle, clock, generateId },
    'DurableTaskManager',
  )
  return {
    ...settings,
    store,
    retention: toRetention(options.retention, settings.lifecycle.terminal),
    leaseMs: interval('leaseMs', options.leaseMs, 30_000),
    maxRestarts: recover === 'restart' ? maxRestarts : 0,
    pollIntervalMs: interval('pollIntervalMs', options.pollIntervalMs, store.hints ? 5_000 : 1_000),
    sweepIntervalMs:
      options.sweepIntervalMs !== false && interval('sweepIntervalMs', options.sweepIntervalMs, 10_000),
    storeRetryMs: interval('storeRetryMs', options.storeRetryMs, 10_000),
    maxCached: interval('maxCached', options.maxCached, 1_000),
    onError,
  }
}

/** @throws {TypeError} when a method is missing. */
function isStore(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return STORE_METHODS.every((method) => typeof Reflect.get(value, method) === 'function')
}

export function requireStore(store: unknown): void {
  if (typeof store !== 'object' || store === null) {
    throw new TypeError(`"store" must be a store of tasks, got ${describe(store)}`)
  }
  if (store instanceof Promise)
    throw new TypeError('"store" must be a store of tasks, got a promise: await it')
  for (const method of STORE_METHODS) {
    if (typeof Reflect.get(store, method) === 'function') continue
    throw new TypeError(`"store" must be a store of tasks: it has no method "${method}"`)
  }
}

function toRetention<S extends string>(
  given: RetentionOptions<S> | false | undefined,
  terminal: readonly S[],
): ReadonlyMap<S, RetentionRule> {
  if (given === false) return new Map()
  const options: RetentionOptions<string> = given ?? {}
  requireKnown(options, [...terminal, 'default'], 'DurableTaskManager', 'retention')
  const ruleOf = (state: string): RetentionRule | undefined => {
    const rule = options[state]
    return rule === undefined ? undefined : toRule(`retention.${state}`, rule)
  }
  const others = ruleOf('default') ?? { maxAgeMs: THIRTY_DAYS_MS }
  return new Map(terminal.map((state) => [state, ruleOf(state) ?? others]))
}

/** A rule whose infinite limits are `undefined`. */
function toRule(path: string, rule: RetentionRule): RetentionRule {
  requireKnown(rule, ['maxAgeMs', 'maxCount'], 'DurableTaskManager', path)
  const { maxAgeMs, maxCount } = rule
  return { maxAgeMs: bound(`${path}.maxAgeMs`, maxAgeMs), maxCount: bound(`${path}.maxCount`, maxCount) }
}

function bound(option: string, value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  const most = requireBound(option, value, 0)
  return most === Infinity ? undefined : most
}

/** A delay in ms, or a count with the same range. */
function interval(option: string, value: number | undefined, fallback: number): number {
  return requireWhole(option, value ?? fallback, 1, MAX_DELAY_MS)
}
