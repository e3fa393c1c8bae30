/**
 * Limits of a handler, with their checks and defaults.
 *
 * @module
 */
import {
  readOptions,
  requireBound,
  requireDelay,
  requireFinite,
  requirePositive,
  requireWhole,
} from '../runtime/options.js'
import { MAX_DEPTH } from '../core/lineage/lineage.js'
import type { Amounts } from '../core/spending.js'
import { shareOfHeap } from '../runtime/environment.js'
import { toAmounts } from './journal/amounts.js'
import { AGENT_BUDGET, OWNER_BUDGET, toWindowBudget, type WindowBudget } from './run/budget-windows.js'
import { defaultPendingBytes, STALLED_TIMEOUT_MS } from './binding/pending-output.js'

/** The default of `bodyTimeoutMs`. */
const BODY_TIMEOUT_MS = 30_000

/** The default of `maxNodes`. The handler checks and copies so many in less than 50 ms if all are different keys. */
const MAX_NODES = 25_000

/** The default of `maxBodyBytesInFlight`, for bodies before they are parsed: an eighth of the heap, within 2 to 64 bodies of the largest size. */
function defaultBytesInFlight(maxBodyBytes: number): number {
  const share = shareOfHeap()
  // A runtime that does not report its heap may have 128 MB, as Cloudflare's has.
  const wanted = share === 0 ? 8 * maxBodyBytes : share
  return Math.min(64 * maxBodyBytes, Math.max(2 * maxBodyBytes, wanted))
}

/** The limits on bodies of a handler that has only the option `maxBodyBytes`. */
export function bodyLimits(
  maxBodyBytes: number,
): Pick<CompleteLimits, 'maxBodyBytes' | 'bodyTimeoutMs' | 'maxBodyBytesInFlight' | 'maxNodes'> {
  const maxBodyBytesInFlight = defaultBytesInFlight(maxBodyBytes)
  return { maxBodyBytes, bodyTimeoutMs: BODY_TIMEOUT_MS, maxBodyBytesInFlight, maxNodes: MAX_NODES }
}

/** Limits on requests, runs and streams of one handler. */
export interface HandlerLimits {
  /**
   * What each task may spend by `run.spend`, in at most 16 units: `{ cost: 0.5, outputTokens: 20_000 }`. What the tasks spend
   * that it delegates to by `run.delegate` counts, too. A task that has spent more fails with `BUDGET_EXCEEDED`, unless `onBudget`
   * adds to its budget. Default is no limit.
   */
  readonly budget?: Amounts | undefined
  /**
   * What the tasks of each owner may spend together within a window: `{ amounts: { cost: 5 }, perMs: 86_400_000 }`. All callers
   * without a principal are one owner. When it is spent, further messages of the owner are refused with `BUDGET_EXCEEDED` and the
   * time to wait, and a task that spends more fails with it, unless `onBudget` adds to the budget of this window. Over a store,
   * all processes count together, and tell each other once a second. Default is no limit.
   */
  readonly ownerBudget?: WindowBudget | undefined
  /** As `ownerBudget`, for the tasks of all owners together. Clients do not learn its amounts. Default is no limit. */
  readonly agentBudget?: WindowBudget | undefined
  /** The largest body of a request, in bytes. Default is `4_194_304` (4 MiB). */
  readonly maxBodyBytes?: number | undefined
  /** How long a body may take to arrive, in ms; after that the request gets 408. Default is `30_000` (30 seconds). */
  readonly bodyTimeoutMs?: number | undefined
  /**
   * The bytes of all bodies that are being received, together. Requests beyond it get 503 with `Retry-After`. At least
   * `maxBodyBytes`. Default is an eighth of the heap's limit, but from 2 to 64 times `maxBodyBytes`; 8 times where the
   * runtime does not report its heap.
   */
  readonly maxBodyBytesInFlight?: number | undefined
  /**
   * How many JSON values a body may have. They are counted before the body is parsed; a body with more gets 413. Default is
   * `25_000`: a request blocks the process for about 50 ms at most.
   */
  readonly maxNodes?: number | undefined
  /** The deepest nesting of JSON in a request, at most 1000. Default is `100`. */
  readonly maxDepth?: number | undefined
  /**
   * The bytes of answers and events that may wait for all sockets, together. Half of them are texts that readers of the same
   * task share. Beyond it, large answers wait until readers have taken others, and a small answer that its reader does not
   * take closes the connection. Default is an eighth of the heap's limit, but from 32 to 256 MiB.
   */
  readonly maxPendingBytes?: number | undefined
  /**
   * How long a client may read nothing of an answer or event that waits for it, in ms; after that its connection is closed.
   * Default is `30_000` (30 seconds).
   */
  readonly stalledTimeoutMs?: number | undefined
  /** How long a run may work until it ends or waits, in ms; after that its task fails. Default is no limit. */
  readonly runTimeoutMs?: number | undefined
  /** How many delegations a chain of agents may have, including that of `run.delegate`. Default is `8`. */
  readonly maxDelegationDepth?: number | undefined
  /** The largest output of a step of a run, in bytes of JSON. Default is `1_048_576` (1 MiB). */
  readonly maxStepBytes?: number | undefined
  /** How many steps one turn of work may have. Further ones throw `LIMIT_EXCEEDED`. Default is `10_000`. */
  readonly maxSteps?: number | undefined
  /**
   * The largest journal of one turn of work, in bytes of JSON: its steps, questions, answers and values. A further entry throws
   * `LIMIT_EXCEEDED`. Default is `67_108_864` (64 MiB).
   */
  readonly maxJournalBytes?: number | undefined
  /**
   * How long a run that waits for the user, a signal or another agent stays in memory, in ms. Over a `DurableTaskManager`
   * its turn continues from its journal when the answer arrives. A run over a `TaskManager` stays. Default is `60_000`
   * (1 minute).
   */
  readonly waitingRunMs?: number | undefined
  /** How many runs may work at a time. Further messages are refused with `UNAVAILABLE`. Default is `10_000`. */
  readonly maxRuns?: number | undefined
  /** How many streams may be open at a time. Further ones are refused with `UNAVAILABLE`. Default is `100_000`. */
  readonly maxStreams?: number | undefined
  /**
   * How many tasks of the manager may wait for the user. Beyond it, tasks are canceled: of the owner that has most of them, the
   * one that waits longest. Over a store, all processes count together, once a minute. Default is `10_000`.
   */
  readonly maxWaitingTasks?: number | undefined
  /**
   * How long a task may wait for the user, in ms since its last change; after that it is canceled. It is checked once a minute,
   * or ten times within a shorter limit. `Infinity` is no limit. Default is `86_400_000` (24 hours) over a `TaskManager`, whose
   * tasks expire then, and `604_800_000` (7 days) over a store.
   */
  readonly waitingTimeoutMs?: number | undefined
  /**
   * How many live tasks one owner may have. Messages that would begin further ones are refused with `RATE_LIMITED`. Over a
   * store, all processes count together. Default is no limit.
   */
  readonly maxTasksPerOwner?: number | undefined
  /** As `maxRuns`, for each owner, with `RATE_LIMITED`. Default is no limit. */
  readonly maxRunsPerOwner?: number | undefined
  /** As `maxStreams`, for each owner, with `RATE_LIMITED`. Default is no limit. */
  readonly maxStreamsPerOwner?: number | undefined
}

/** Limits on the code of the agent, which a handler with `dispatch` does not run. */
export const CODE_LIMITS = [
  ...['budget', 'runTimeoutMs', 'maxDelegationDepth', 'maxSteps', 'maxJournalBytes', 'waitingRunMs'],
  ...['maxRuns', 'maxRunsPerOwner'],
] as const

/** Limits on requests, which a worker does not get. */
export const REQUEST_LIMITS = [
  ...['maxBodyBytes', 'bodyTimeoutMs', 'maxBodyBytesInFlight', 'maxNodes', 'maxPendingBytes'],
  ...['stalledTimeoutMs', 'maxStreams', 'maxStreamsPerOwner'],
] as const

type Budgets = 'budget' | 'ownerBudget' | 'agentBudget'

export type CompleteLimits = { readonly [L in keyof Omit<HandlerLimits, Budgets>]-?: number } & {
  readonly [B in Budgets]: HandlerLimits[B]
}

const DAY_MS = 86_400_000
const LIMITS = {
  maxBodyBytes: 4_194_304,
  bodyTimeoutMs: BODY_TIMEOUT_MS,
  /** Depends on `maxBodyBytes`: see {@link toLimits}. */
  maxBodyBytesInFlight: 0,
  maxNodes: MAX_NODES,
  maxDepth: 100,
  /** Depends on the heap: see {@link toLimits}. */
  maxPendingBytes: 0,
  stalledTimeoutMs: STALLED_TIMEOUT_MS,
  runTimeoutMs: Infinity,
  maxDelegationDepth: MAX_DEPTH,
  maxStepBytes: 1_048_576,
  maxSteps: 10_000,
  maxJournalBytes: 67_108_864,
  waitingRunMs: 60_000,
  maxRuns: 10_000,
  maxStreams: 100_000,
  maxWaitingTasks: 10_000,
  /** Depends on the manager: see {@link toLimits}. */
  waitingTimeoutMs: 0,
  maxTasksPerOwner: Infinity,
  maxRunsPerOwner: Infinity,
  maxStreamsPerOwner: Infinity,
}
/** The other limits are positive numbers. */
const CHECKS: Readonly<Record<string, (option: string, value: unknown) => number>> = {
  bodyTimeoutMs: requireDelay,
  maxBodyBytesInFlight: requirePositive,
  maxNodes: requireWhole,
  maxDepth: requireWhole,
  maxPendingBytes: requirePositive,
  stalledTimeoutMs: requireDelay,
  runTimeoutMs: requireDelay,
  maxDelegationDepth: requireWhole,
  maxStepBytes: requireWhole,
  maxSteps: requireWhole,
  maxJournalBytes: requireWhole,
  waitingRunMs: requireDelay,
  maxRuns: requireWhole,
  maxStreams: requireWhole,
  maxWaitingTasks: requireBound,
  waitingTimeoutMs: requirePositive,
  maxTasksPerOwner: requireBound,
  maxRunsPerOwner: requireBound,
  maxStreamsPerOwner: requireBound,
}

/** The first of `names` among the limits that were given, with its path. */
export function givenLimit(limits: unknown, names: readonly (keyof HandlerLimits)[]): string | undefined {
  if (typeof limits !== 'object' || limits === null) return undefined
  const name = names.find((each) => Reflect.get(limits, each) !== undefined)
  return name && `limits.${name}`
}

/** @throws {TypeError} for a limit that neither a handler with `dispatch` nor a worker holds. */
export function requireHeldByWorkers(limits: unknown): void {
  const name = givenLimit(limits, ['maxRunsPerOwner'])
  if (name !== undefined) throw new TypeError(`Workers do not hold "${name}": leave it out`)
}

/** @param isShared Whether the tasks are in a store, where they may wait for longer. */
export function toLimits(
  limits: HandlerLimits = {},
  where: string,
  known: readonly string[] = ['budget', 'ownerBudget', 'agentBudget', ...Object.keys(LIMITS)],
  isShared = false,
): CompleteLimits {
  const {
    budget: units,
    ownerBudget: ofOwner,
    agentBudget: ofAgent,
    ...given
  } = readOptions(limits, known, where, 'limits', 'an object: { maxBodyBytes: 1_000_000 }')
  const budget = units === undefined ? undefined : toAmounts('limits.budget', units)
  const ownerBudget = toWindowBudget(OWNER_BUDGET, ofOwner)
  const agentBudget = toWindowBudget(AGENT_BUDGET, ofAgent)
  const checked: Record<string, number> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const require = CHECKS[name] ?? requireFinite
    checked[name] = require(`limits.${name}`, value)
  }
  const waitingTimeoutMs = isShared ? 7 * DAY_MS : DAY_MS
  const complete: CompleteLimits = {
    ...LIMITS,
    waitingTimeoutMs,
    ...checked,
    budget,
    ownerBudget,
    agentBudget,
  }
  const { maxDepth, maxBodyBytes } = complete
  if (maxDepth > 1000) throw new RangeError('"limits.maxDepth" must be at most 1000')
  const maxBodyBytesInFlight = checked['maxBodyBytesInFlight'] ?? defaultBytesInFlight(maxBodyBytes)
  if (maxBodyBytesInFlight < maxBodyBytes) {
    throw new RangeError(
      `"limits.maxBodyBytesInFlight" must be at least "limits.maxBodyBytes" (${maxBodyBytes}), got ${maxBodyBytesInFlight}`,
    )
  }
  const maxPendingBytes = checked['maxPendingBytes'] ?? defaultPendingBytes()
  return { ...complete, maxBodyBytesInFlight, maxPendingBytes }
}
