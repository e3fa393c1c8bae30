/**
 * The option `perKey` of workers: how many turns with one key may be under way, or begin.
 *
 * @module
 */
import type { TaskSnapshot } from '../core/task.js'
import { readOptions, requireFunction, requireWhole } from '../runtime/options.js'

/** How many turns with one key are done at a time, over all workers of a store: one for each customer, three for each model. */
export interface TurnsPerKey {
  /**
   * The key of a task: 1 to 200 characters, or `undefined` for one that is not limited. Called without await, each time that a
   * turn would begin, so it should depend on what stays: the owner, the first message. When it throws, or returns anything else,
   * `onError` receives that, and the turn shares one key with all others of this kind.
   */
  readonly keyOf: (task: TaskSnapshot) => string | undefined
  /** How many turns with one key are under way at a time: 1 to 1,000. */
  readonly max: number
  /** How many turns with one key begin within a time. Default is no limit. */
  readonly rate?: TurnRate | undefined
}

/** How many turns begin within any time of this length. */
export interface TurnRate {
  /** From 1 to 1,000. */
  readonly max: number
  /** In ms, from 1 to 86,400,000 (a day), by the clocks of the workers. */
  readonly perMs: number
}

/** The most turns of a key, and starts that are counted. */
const MAX = 1_000
const DAY_MS = 86_400_000

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toPerKey(given: TurnsPerKey): TurnsPerKey {
  const where = 'createWorker'
  const example = 'an object: { keyOf: ({ owner }) => owner, max: 1 }'
  const perKey = readOptions(given, ['keyOf', 'max', 'rate'], where, 'perKey', example)
  requireFunction('perKey.keyOf', perKey.keyOf)
  requireWhole('perKey.max', perKey.max, 1, MAX)
  if (perKey.rate === undefined) return perKey
  const rate = readOptions(perKey.rate, ['max', 'perMs'], where, 'perKey.rate')
  requireWhole('perKey.rate.max', rate.max, 1, MAX)
  requireWhole('perKey.rate.perMs', rate.perMs, 1, DAY_MS)
  return { ...perKey, rate }
}
