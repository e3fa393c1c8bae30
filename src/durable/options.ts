/**
 * The options of a durable manager, checked, with their defaults.
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

/** Which tasks of one final state are kept. */
export interface RetentionRule {
  /** How long after their end, in ms. Default is `Infinity`: for ever. */
  readonly maxAgeMs?: number | undefined
  /** How many of the latest. Default is `Infinity`: all. */
  readonly maxCount?: number | undefined
}

/**
 * By final state; `default` is for the states that have no rule of their own, and is itself, where it is not given,
 * `{ maxAgeMs: 2_592_000_000 }` (30 days).
 */
export type RetentionOptions<S extends string = TaskState> = {
  readonly [state in FinalState<S> | 'default']?: RetentionRule | undefined
}

/** Of a lifecycle of one's own the type does not say which states are final. */
type FinalState<S extends string> = TaskState extends S ? Exclude<S, LiveState> : S
type LiveState = 'submitted' | 'working' | 'input-required' | 'auth-required'

export interface DurableTaskManagerOptions<S extends string = TaskState> extends Pick<
  TaskManagerOptions<S>,
  'maxInputSize' | 'taskTimeoutMs' | 'eventLogSize' | 'limits' | 'lifecycle' | 'clock' | 'generateId'
> {
  /** Where tasks live. It must have been set up: `await store.migrate()`. */
  readonly store: TaskStore
  /**
   * Which tasks that have ended are removed, in batches. `false`: none. Default is those that ended 30 days ago, also of
   * the states that it has no rule for: `{ failed: { maxAgeMs: 90 * 86_400_000 } }` leaves that to all others.
   */
  readonly retention?: RetentionOptions<NoInfer<S>> | false | undefined
  /**
   * How long the lease of a task that is worked on outlives the process that holds it, in ms; it is renewed three
   * times as often. Default is `30_000` (30 seconds).
   */
  readonly leaseMs?: number | undefined
  /**
   * What becomes of a task whose process died. `'fail'`: it fails, which every replica's streams tell. `'restart'`: it
   * is worked on again, by a process that has a handler and room for it: work may be done twice. One agent per store then.
   * Default is `'fail'`.
   */
  readonly recover?: 'fail' | 'restart' | undefined
  /**
   * How often `recover: 'restart'` has a task begun again that comes no further: one that has killed so many processes
   * fails. A turn that is begun counts anew. `0`: never. Default is `3`.
   */
  readonly maxRestarts?: number | undefined
  /** How often to look for what other processes did, in ms. Default is `1_000`, and `5_000` where the store has hints. */
  readonly pollIntervalMs?: number | undefined
  /**
   * How often to look for tasks to recover, to time out and to remove, in ms. `false`: this manager leaves that to
   * others, as a script should that only looks. Default is `10_000` (10 seconds).
   */
  readonly sweepIntervalMs?: number | false | undefined
  /** How long a change is tried again while the store fails, in ms. Default is `10_000` (10 seconds). */
  readonly storeRetryMs?: number | undefined
  /** How many tasks are kept in memory beside those in use. Default is `1_000`. */
  readonly maxCached?: number | undefined
  /** Is told what fails where no caller is there to hear it: in the background. Default is that nobody is. */
  readonly onError?: ((error: A2AError<'STORE_FAILED'>) => void) | undefined
}

/** {@link DurableTaskManagerOptions}, complete. */
export interface DurableSettings<S extends string = TaskState> extends Settings<S> {
  readonly store: TaskStore
  readonly retention: ReadonlyMap<S, RetentionRule>
  readonly leaseMs: number
  /** 0 where a task whose process died fails. */
  readonly maxRestarts: number
  readonly pollIntervalMs: number
  readonly sweepIntervalMs: number | false
  readonly storeRetryMs: number
  readonly maxCached: number
  readonly onError: (error: A2AError<'STORE_FAILED'>) => void
}

const OWN_KEYS = [
  ...['store', 'retention', 'leaseMs', 'recover', 'maxRestarts', 'pollIntervalMs', 'sweepIntervalMs'],
  ...['storeRetryMs', 'maxCached', 'onError'],
]
const CORE_KEYS = [
  ...['maxInputSize', 'taskTimeoutMs', 'eventLogSize', 'limits', 'lifecycle', 'clock', 'generateId'],
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
    {
      ...{ maxInputSize, taskTimeoutMs, eventLogSize, limits, lifecycle, clock, generateId },
    },
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

/** Only what bounds anything. */
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
