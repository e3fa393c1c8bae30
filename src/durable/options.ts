/**
 * The options of a durable manager, checked, with their defaults.
 *
 * @module
 */
import type { A2AError } from '../core/errors.js'
import { describe, quote } from '../core/json.js'
import type { TaskState } from '../core/lifecycle.js'
import { refuseUnknownOptions, toSettings, type Settings, type TaskManagerOptions } from '../core/limits.js'
import type { TaskStore } from './task-store.js'

/** Which tasks of one final state are kept. */
export interface RetentionRule {
  /** How long after their end, in ms. Default is for ever. */
  readonly maxAgeMs?: number | undefined
  /** How many of the latest. Default is all. */
  readonly maxCount?: number | undefined
}

/** By final state; `default` is for the states that have no rule of their own. */
export type RetentionOptions<S extends string = TaskState> = {
  readonly [state in S | 'default']?: RetentionRule | undefined
}

export interface DurableTaskManagerOptions<S extends string = TaskState> extends Pick<
  TaskManagerOptions<S>,
  'maxInputSize' | 'taskTimeoutMs' | 'eventLogSize' | 'limits' | 'lifecycle' | 'clock' | 'generateId'
> {
  /** Where tasks live. It must have been set up: `await store.migrate()`. */
  readonly store: TaskStore
  /** Which tasks that have ended are removed, in batches. `false`: none. Default is those that ended 30 days ago. */
  readonly retention?: RetentionOptions<NoInfer<S>> | false | undefined
  /**
   * How long the lease of a task that is worked on outlives the process that holds it, in ms; it is renewed three
   * times as often. Default is `30_000` (30 seconds).
   */
  readonly leaseMs?: number | undefined
  /**
   * What becomes of a task whose process died. `'fail'`: it fails, which every replica's streams tell. `'restart'`: it
   * is worked on again, from its latest message on, by a process that has a handler for it: work may be done twice.
   * Default is `'fail'`.
   */
  readonly recover?: 'fail' | 'restart' | undefined
  /** How often to look for what other processes did, in ms. Default is `1_000`, and `5_000` where the store has hints. */
  readonly pollIntervalMs?: number | undefined
  /** How often to look for tasks to recover, to time out and to remove, in ms. Default is `10_000` (10 seconds). */
  readonly sweepIntervalMs?: number | undefined
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
  readonly restarts: boolean
  readonly pollIntervalMs: number
  readonly sweepIntervalMs: number
  readonly storeRetryMs: number
  readonly maxCached: number
  readonly onError: (error: A2AError<'STORE_FAILED'>) => void
}

const OWN_KEYS = [
  ...['store', 'retention', 'leaseMs', 'recover', 'pollIntervalMs', 'sweepIntervalMs', 'storeRetryMs'],
  ...['maxCached', 'onError'],
]
const CORE_KEYS = [
  ...['maxInputSize', 'taskTimeoutMs', 'eventLogSize', 'limits', 'lifecycle', 'clock', 'generateId'],
]
const STORE_METHODS = [
  ...['create', 'commit', 'get', 'heads', 'events', 'list', 'count', 'unended', 'ended', 'delete'],
  ...['acquire', 'renew', 'release', 'orphans', 'putDocument', 'deleteDocument', 'documents', 'allDocuments'],
] as const satisfies readonly (keyof TaskStore)[]

const THIRTY_DAYS_MS = 2_592_000_000
const MAX_DELAY_MS = 2 ** 31 - 1

/**
 * @throws {RangeError} when a number is not positive, or not whole where only a whole one makes sense.
 * @throws {TypeError} when an option is unknown or has the wrong type.
 */
export function toDurableSettings<S extends string>(
  options: DurableTaskManagerOptions<S>,
): DurableSettings<S> {
  refuseUnknownOptions(options, [...OWN_KEYS, ...CORE_KEYS])
  const { store, recover = 'fail', onError = () => undefined } = options
  const { maxInputSize, taskTimeoutMs, eventLogSize, limits, lifecycle, clock, generateId } = options
  requireStore(store)
  if (!['fail', 'restart'].includes(recover)) {
    throw new TypeError(`"recover" must be 'fail' or 'restart', got ${quote(recover)}`)
  }
  if (typeof onError !== 'function') throw new TypeError('"onError" must be a function')
  const settings = toSettings<S>({
    ...{ maxInputSize, taskTimeoutMs, eventLogSize, limits, lifecycle, clock, generateId },
  })
  return {
    ...settings,
    store,
    retention: toRetention(options.retention, settings.lifecycle.terminal),
    leaseMs: interval('leaseMs', options.leaseMs, 30_000),
    restarts: recover === 'restart',
    pollIntervalMs: interval('pollIntervalMs', options.pollIntervalMs, store.hints ? 5_000 : 1_000),
    sweepIntervalMs: interval('sweepIntervalMs', options.sweepIntervalMs, 10_000),
    storeRetryMs: interval('storeRetryMs', options.storeRetryMs, 10_000),
    maxCached: interval('maxCached', options.maxCached, 1_000),
    onError,
  }
}

function requireStore(store: unknown): void {
  if (typeof store !== 'object' || store === null) {
    throw new TypeError(`"store" must be a store of tasks, got ${describe(store)}`)
  }
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
  const options: RetentionOptions<string> = given ?? { default: { maxAgeMs: THIRTY_DAYS_MS } }
  requireObject('retention', options)
  refuseUnknownOptions(options, [...terminal, 'default'])
  const rules = terminal.map((state) => [state, options[state] ?? options['default'] ?? {}] as const)
  for (const [state, rule] of rules) {
    requireObject(`retention.${state}`, rule)
    refuseUnknownOptions(rule, ['maxAgeMs', 'maxCount'])
    requireRetained(`retention.${state}.maxAgeMs`, rule.maxAgeMs)
    requireRetained(`retention.${state}.maxCount`, rule.maxCount)
  }
  return new Map(rules.filter(([, rule]) => rule.maxAgeMs !== undefined || rule.maxCount !== undefined))
}

function requireObject(option: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new TypeError(`"${option}" must be an object, got ${describe(value)}`)
}

function requireRetained(option: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return
  throw new RangeError(`"${option}" must be an integer from 0, got ${quote(value)}`)
}

/** Of what a timer waits for, and the numbers that are like it. */
function interval(option: string, value: number | undefined, fallback: number): number {
  const given = value ?? fallback
  if (Number.isInteger(given) && given >= 1 && given <= MAX_DELAY_MS) return given
  throw new RangeError(`"${option}" must be an integer from 1 to 2^31 - 1, got ${quote(given)}`)
}
