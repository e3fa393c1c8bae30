/**
 * Options of a durable manager: their checks and defaults.
 *
 * @module
 */
import {
  requireBound,
  requireFunction,
  requireKnown,
  requireObject,
  requireText,
  requireWhole,
  hasMethods,
} from '../runtime/options.js'
import { elapsed, MAX_DELAY_MS, type Clock } from '../runtime/clock.js'
import { reportError } from '../runtime/report.js'
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
 * Retention rules by final state. `default` applies to the final states without their own rule, and is
 * `{ maxAgeMs: 2_592_000_000 }` (30 days) unless given.
 */
export type RetentionOptions<S extends string = TaskState> = {
  readonly [state in FinalState<S> | 'default']?: RetentionRule | undefined
}

/** `NoInfer`, which TypeScript has since 5.4. */
type Uninferred<S> = [S][S extends unknown ? 0 : never]

/** The type of a custom lifecycle does not show which states are final, so every state is allowed there. */
type FinalState<S extends string> = TaskState extends S ? Exclude<S, LiveState> : S
type LiveState = 'submitted' | 'working' | 'input-required' | 'auth-required'

/** Options of `DurableTaskManager`. Only `store` is required. An unknown option throws a `TypeError`. */
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
  readonly retention?: RetentionOptions<Uninferred<S>> | false | undefined
  /**
   * How long a lease lasts without a renewal, in ms. Leases are renewed after a third of this time. Another process can
   * recover the tasks of a dead process once their leases have expired. Default is `30_000` (30 seconds).
   */
  readonly leaseMs?: number | undefined
  /**
   * What happens to a task whose process has died. `'resume'`: a process that has a handler, and room for one more run, calls
   * `execute` again. Steps that are done return what they returned, questions that were answered their answers; all other
   * code runs again. All processes of the store must run the same agent. A process that closes hands its unfinished tasks
   * over in the same way, at once. `'fail'`: the task fails, and the streams of every process show that. Default is
   * `'resume'`.
   */
  readonly recover?: 'fail' | 'resume' | undefined
  /**
   * How often `recover: 'resume'` resumes a turn in a row, without a new entry in its journal. When the process dies once
   * more, the task fails. `0` fails the task at once. Default is `3`.
   */
  readonly maxRestarts?: number | undefined
  /** Interval of polling for the changes of other processes, in ms. Default is `1_000`, or `5_000` when the store has hints. */
  readonly pollIntervalMs?: number | undefined
  /**
   * Interval of the sweeps that recover, time out and remove tasks, in ms. `false` leaves sweeps to other processes, as a
   * script that only reads should. Default is `10_000` (10 seconds).
   */
  readonly sweepIntervalMs?: number | false | undefined
  /**
   * The name of this process, such as that of its host: 1 to 128 characters. It is kept in the journal of tasks, with the first
   * entry that the process records under each lease, so that the inspector shows which process has done what. Clients of the
   * protocol do not receive it. Default is none.
   */
  readonly replica?: string | undefined
  /** How long a call is retried while the store fails, in ms. Default is `10_000` (10 seconds). */
  readonly storeRetryMs?: number | undefined
  /**
   * How many tasks are cached in memory. Together they take at most about `limits.maxTotalBytes`. Tasks in use are cached
   * beyond both limits, and count in them. Default is `1_000`.
   */
  readonly maxCached?: number | undefined
  /**
   * Receives the errors of background calls to the store, which are repeated. Default is to emit a process warning on Node,
   * Bun and Deno, at most one a minute.
   */
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
  readonly replica: string | undefined
  readonly storeRetryMs: number
  readonly maxCached: number
  readonly onError: (error: A2AError<'STORE_FAILED'>) => void
}

/** The options of `DurableTaskManager` without `store`. */
export const OPTION_KEYS = [
  'retention',
  'leaseMs',
  'recover',
  'maxRestarts',
  'pollIntervalMs',
  'sweepIntervalMs',
  'replica',
  'storeRetryMs',
  'maxCached',
  'onError',
  'maxInputSize',
  'taskTimeoutMs',
  'eventLogSize',
  'limits',
  'lifecycle',
  'clock',
  'generateId',
]
const FEED_EXAMPLE = 'new DurableTaskManager({ store: memoryStore({ feedSize: 10_000 }) })'
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
  if (hasMethods(options, ...STORE_METHODS))
    throw new TypeError('Options must be an object: pass the store as { store }')
  requireObject(undefined, options, 'DurableTaskManager')
  if ('feedSize' in options) throw new TypeError(`"feedSize" is an option of the store: ${FEED_EXAMPLE}`)
  requireKnown(options, ['store', ...OPTION_KEYS], 'DurableTaskManager')
  const { store, recover = 'resume', maxRestarts = 3, onError } = options
  const { maxInputSize, taskTimeoutMs, eventLogSize, limits, lifecycle, clock, generateId } = options
  requireStore(store)
  if (!['fail', 'resume'].includes(recover)) {
    throw new TypeError(`"recover" must be 'fail' or 'resume', got ${quote(recover)}`)
  }
  requireWhole('maxRestarts', maxRestarts, 0)
  if (onError !== undefined) requireFunction('onError', onError)
  const settings = toSettings<S>(
    { maxInputSize, taskTimeoutMs, eventLogSize, limits, lifecycle, clock, generateId },
    'DurableTaskManager',
  )
  return {
    ...settings,
    store,
    retention: toRetention(options.retention, settings.lifecycle.terminal),
    leaseMs: interval('leaseMs', options.leaseMs, 30_000),
    maxRestarts: recover === 'resume' ? maxRestarts : 0,
    pollIntervalMs: interval('pollIntervalMs', options.pollIntervalMs, store.hints ? 5_000 : 1_000),
    sweepIntervalMs:
      options.sweepIntervalMs !== false && interval('sweepIntervalMs', options.sweepIntervalMs, 10_000),
    replica: options.replica === undefined ? undefined : requireName(options.replica),
    storeRetryMs: interval('storeRetryMs', options.storeRetryMs, 10_000),
    maxCached: interval('maxCached', options.maxCached, 1_000),
    onError: onError ?? warnSometimes(settings.clock),
  }
}

/** Reports the first of many errors, so that an outage of the store does not flood the log. */
function warnSometimes(clock: Clock): (error: A2AError<'STORE_FAILED'>) => void {
  let nextAt = -Infinity
  return (error) => {
    const now = elapsed(clock)
    if (now < nextAt) return
    nextAt = now + WARNING_MS
    reportError(error, { during: 'DurableTaskManager' }, ADVICE)
  }
}

const MAX_NAME = 128
/** The pause between warnings, in ms. */
const WARNING_MS = 60_000
const ADVICE =
  'The call is repeated. Pass "onError" to handle such errors; others within a minute are not shown'

export function requireStore(store: unknown): void {
  if (typeof store !== 'object' || store === null) {
    throw new TypeError(`"store" must be a store of tasks, such as memoryStore(), got ${describe(store)}`)
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

/** @throws {TypeError | RangeError} */
function requireName(replica: string): string {
  requireText('replica', replica)
  if (replica.length > MAX_NAME)
    throw new RangeError(`"replica" must have at most ${MAX_NAME} characters, got ${replica.length}`)
  return replica
}

/** A delay in ms, or a count with the same range. */
function interval(option: string, value: number | undefined, fallback: number): number {
  return requireWhole(option, value ?? fallback, 1, MAX_DELAY_MS)
}
