/**
 * Steps of a run: work whose result the journal of the task keeps. The work of a transaction and its record are one change of
 * the database.
 *
 * @module
 */
import { JsonReader } from '../../core/json.js'
import type { JournalEntry, StepError } from '../../core/events.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import type { MaybePromise } from '../../core/managers.js'
import { observed, onAbort, raceAbort } from '../../runtime/abort.js'
import { elapsed, type Clock } from '../../runtime/clock.js'
import { readOptions, requireDelay, requireFunction } from '../../runtime/options.js'
import { isThenable } from '../../core/emitter.js'
import { A2AError } from '../../core/errors.js'
import type { StepFollower } from '../observers.js'
import { toRetrySettings, type RetrySettings } from '../retry.js'
import type { StepContext, StepOptions, StepOutput, TransactionWork } from './call-types.js'
import type { Journal } from './journal.js'
import { requireName } from './names.js'
import { toError, toStepError } from './step-errors.js'

/** What steps use of their run. */
export interface StepHost {
  readonly journal: Journal
  readonly clock: Clock
  readonly maxStepBytes: number
  readonly maxDepth: number
  readonly recordStacks: boolean
  /** @throws Once the run is over. */
  readonly requireRunning: () => void
  /** Resolves after `ms`, or when the run is over. */
  readonly pause: (ms: number) => Promise<void>
  /** The key of a step. Creates the task first where there is none. */
  readonly key: (label: string) => string
  readonly signal: () => AbortSignal
  /** Does the work of an attempt of a step. The next attempt undoes what it writes. */
  readonly attempt: <T>(label: string, work: () => T) => T
  /** The step is over: what its last attempt has written stays. */
  readonly settle: (label: string) => void
  /** Receives the error that the step of this name throws. */
  readonly onFailed: (name: string, error: unknown) => void
  /** Rejects when another process has the task by now. `undefined` where none can have it. */
  readonly lease: () => Promise<void> | undefined
  /** Resolves when everything so far is stored. */
  readonly stored: () => Promise<void> | undefined
  /** Follows a step, for telemetry. Returns `undefined` where nothing observes it. */
  readonly observe: (label: string, isReplayed: boolean) => StepFollower | undefined
  /** Does work in a transaction of the store, and records its entry there. Absent where there is none. */
  readonly transact: Transact | undefined
}

export type Transact = (
  entry: JournalEntry,
  work: (client: unknown) => JournalEntry | Promise<JournalEntry>,
) => Promise<JournalEntry>

/** Of the work of a transaction, where the options have none. A connection of the database is occupied while it works. */
const TRANSACTION_MS = 5_000
const OPTION_KEYS = ['retry', 'timeoutMs']

interface Settings {
  readonly retry: RetrySettings | undefined
  readonly timeoutMs: number | undefined
}

/** Does the work of a step, unless the journal has its result. See `Run.step`. */
export function runStep<T extends StepOutput>(
  run: StepHost,
  name: string,
  work: (step: StepContext) => T | Promise<T>,
  options: StepOptions = {},
): Promise<T> {
  const perform: Perform = async (step, timeoutMs) => {
    const { key, attempt, signal } = step
    const output = await run.attempt(step.label, () =>
      within(run.clock, signal, timeoutMs, (own) => work({ signal: own, key, attempt })),
    )
    const checked = readOutput(output, key, run)
    await record(run, step, { ...(checked !== undefined && { output: checked }) })
    return checked
  }
  return observed(runRecorded<T>(run, name, work, options, 'run.step', perform))
}

/** See `Run.transaction`. */
export function runTransaction<T extends StepOutput, C>(
  run: StepHost,
  name: string,
  work: TransactionWork<T, C>,
  options: StepOptions = {},
): Promise<T> {
  const { transact, journal } = run
  if (transact === undefined) {
    const error =
      'run.transaction() needs a store with transactions: SQLite or PostgreSQL. The tasks of this agent are in memory, or in ' +
      'another store: use run.step(), whose key makes the effect idempotent'
    return Promise.reject(new TypeError(error))
  }
  const perform: Perform = async (step, given) => {
    const { label: entryName, attempt: attempts } = step
    const unfinished: JournalEntry = { kind: 'step', name: entryName, attempts }
    journal.begin()
    const stored = await transact(unfinished, (client) => {
      const toEntry = (output: T): JournalEntry => {
        const checked = readOutput(output, step.key, run)
        // Others may have begun since.
        const parallel = Math.max(step.others, journal.inFlight - 1)
        return journal.complete(
          {
            ...unfinished,
            ...(checked !== undefined && { output: checked }),
            ...tookSince(step.startedAt, run.clock),
          },
          parallel,
        )
      }
      // Its type is up to the caller, who knows the driver of the store.
      const doWork = (own: StepContext): T | Promise<T> => work(client as C, own)
      return limited(
        run,
        step,
        given ?? TRANSACTION_MS,
        (own) => run.attempt(entryName, () => doWork(own)),
        toEntry,
      )
    })
    run.settle(entryName)
    journal.count(stored)
    return stored.kind === 'step' ? stored.output : undefined
  }
  return observed(runRecorded<T>(run, name, work, options, 'run.transaction', perform))
}

/** One attempt of a step. */
interface StepAttempt extends StepContext {
  /** The name of its entry. */
  readonly label: string
  /** How many other steps, questions and waits were under way when the step began. */
  readonly others: number
  /** When its first attempt in this process began, as `elapsed` gives it. */
  readonly startedAt: number
}

/** Does the work of an attempt, and stores its output, which it resolves to. */
type Perform = (attempt: StepAttempt, timeoutMs: number | undefined) => Promise<ReadonlyJson | undefined>

/**
 * Returns what the journal has of the step, or performs its attempts.
 *
 * @param method - The method that was called, for errors.
 */
async function runRecorded<T extends StepOutput>(
  run: StepHost,
  name: string,
  work: unknown,
  options: StepOptions,
  method: string,
  perform: Perform,
): Promise<T> {
  requireName('step', name)
  requireFunction('work', work)
  const { retry, timeoutMs } = toSettings(options, method)
  const { journal } = run
  const label = journal.nameOf('step', name)
  run.requireRunning()
  const key = run.key(label)
  const recorded = await journal.next('step', label)
  const follower = run.observe(label, recorded !== undefined)
  if (recorded?.error !== undefined) {
    const error = toError(recorded.error)
    follower?.end({ error })
    run.onFailed(label, error)
    throw error
  }
  if (recorded !== undefined) {
    follower?.end()
    // The work of an earlier attempt returned it.
    return recorded.output as T
  }
  journal.beginStep()
  const others = journal.inFlight
  const leave = journal.enter()
  try {
    const step = { label, key, others, signal: run.signal(), startedAt: elapsed(run.clock) }
    const all = (): Promise<ReadonlyJson | undefined> =>
      attempts(run, step, retry, (count) => perform({ ...step, attempt: count }, timeoutMs))
    // The copy that the journal keeps, as in a replay.
    return (await (follower === undefined ? all() : followed(follower, all))) as T
  } finally {
    leave()
  }
}

async function followed<T>(follower: StepFollower, work: () => Promise<T>): Promise<T> {
  try {
    const output = await follower.within(work)
    follower.end()
    return output
  } catch (error) {
    follower.end({ error })
    throw error
  }
}

async function attempts<T>(
  run: StepHost,
  step: Omit<StepAttempt, 'attempt'>,
  retry: RetrySettings | undefined,
  perform: (count: number) => Promise<T>,
): Promise<T> {
  const { signal, label } = step
  for (let count = 1; ; count += 1) {
    let failure: unknown
    try {
      signal.throwIfAborted()
      await run.lease()
      // Another process may have ended the task.
      signal.throwIfAborted()
      return await perform(count)
    } catch (error) {
      failure = error
    }
    // The run is over: whether the step succeeds is up to the next attempt of the turn.
    if (signal.aborted) throw failure
    if (retry === undefined || count >= retry.attempts || !retry.isRetryable(failure)) {
      await record(run, { ...step, attempt: count }, { error: toStepError(failure, run.recordStacks) })
      run.onFailed(label, failure)
      throw failure
    }
    await run.pause(retry.pauseMs(count))
    run.requireRunning()
  }
}

async function record(
  { clock, journal, stored, settle }: StepHost,
  { label, attempt, startedAt, others }: StepAttempt,
  result: { readonly output?: ReadonlyJson; readonly error?: StepError },
): Promise<void> {
  settle(label)
  // Others may have begun since.
  const parallel = Math.max(others, journal.inFlight - 1)
  const entry = {
    kind: 'step',
    name: label,
    attempts: attempt,
    ...result,
    ...tookSince(startedAt, clock),
  } as const
  journal.record(entry, parallel)
  await stored()
}

/** How long a step took, for its entry. */
function tookSince(startedAt: number, clock: Clock): { readonly durationMs?: number } {
  const durationMs = Math.round(elapsed(clock) - startedAt)
  return durationMs > 0 ? { durationMs } : {}
}

/** The result of `work`; rejects with `REQUEST_TIMED_OUT` after `timeoutMs`, and with the reason when `signal` aborts. */
async function within<T>(
  clock: Clock,
  signal: AbortSignal,
  timeoutMs: number | undefined,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const limit = limitOf(clock, signal, timeoutMs)
  try {
    return await raceAbort(
      limit.signal,
      start(() => work(limit.signal)),
    )
  } finally {
    limit.stop()
  }
}

/** A signal that aborts with `signal`, and with `REQUEST_TIMED_OUT` after `timeoutMs`, until it is stopped. */
function limitOf(
  clock: Clock,
  signal: AbortSignal,
  timeoutMs: number | undefined,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  if (timeoutMs === undefined) return { signal, stop: () => undefined }
  const controller = new AbortController()
  const cancel = clock.schedule(() => {
    controller.abort(
      new A2AError('REQUEST_TIMED_OUT', `The step took longer than ${timeoutMs} ms`, { timeoutMs }),
    )
  }, timeoutMs)
  const leave = onAbort(signal, () => controller.abort(signal.reason))
  const stop = (): void => {
    cancel()
    leave()
  }
  return { signal: controller.signal, stop }
}

/** Over a synchronous driver the work returns no promise, and is not limited. */
function limited<T, R>(
  { clock }: StepHost,
  { signal, key, attempt }: StepAttempt,
  timeoutMs: number,
  work: (step: StepContext) => T | Promise<T>,
  then: (output: T) => R,
): MaybePromise<R> {
  const limit = limitOf(clock, signal, timeoutMs)
  let output: T | Promise<T>
  try {
    output = work({ signal: limit.signal, key, attempt })
  } catch (error) {
    limit.stop()
    throw error
  }
  if (isThenable(output))
    return raceAbort(limit.signal, Promise.resolve(output)).then(then).finally(limit.stop)
  limit.stop()
  return then(output)
}

/** Work that throws at once becomes a rejection. */
async function start<T>(work: () => T | Promise<T>): Promise<T> {
  return await work()
}

function readOutput(
  output: unknown,
  key: string,
  { maxStepBytes, maxDepth }: StepHost,
): ReadonlyJson | undefined {
  if (output === undefined) return undefined
  const limit = { subject: `Output of step ${key}`, option: 'limits.maxStepBytes', maxBytes: maxStepBytes }
  const reader = new JsonReader(limit, maxDepth)
  const read = reader.read(output, 'output')
  reader.check(read)
  return read
}

function toSettings(options: StepOptions, method: string): Settings {
  const { retry, timeoutMs } = readOptions(options, OPTION_KEYS, method)
  if (timeoutMs !== undefined) requireDelay('timeoutMs', timeoutMs)
  return { retry: toRetrySettings(retry, method), timeoutMs }
}
