/**
 * Steps of a run: work whose result the journal of the task keeps.
 *
 * @module
 */
import { JsonReader } from '../../core/json.js'
import type { JournalEntry, StepError } from '../../core/events.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { restored, TAGS } from '../../core/tagged-json.js'
import { observed, onAbort, raceAbort } from '../../runtime/abort.js'
import { elapsed, type Clock } from '../../runtime/clock.js'
import { readOptions, requireDelay, requireFunction } from '../../runtime/options.js'
import { A2AError } from '../../core/errors.js'
import type { StepFollower } from '../observers.js'
import { toRetrySettings, type RetryOptions, type RetrySettings } from '../retry.js'
import type { Journal } from './journal.js'
import { requireName } from './names.js'
import { toError, toStepError } from './step-errors.js'
import type { StepOutput, Unknown } from './step-output.js'

/** The work of a step. */
export interface StepWork<T> {
  (step: StepContext): T | Promise<T>
}

/** The work of a transaction, with the client of the store. */
export interface TransactionWork<T, C> {
  (client: C, step: StepContext): T | Promise<T>
}

/** See `Run.step`. The second form is for work that returns `unknown`. */
export interface StepMethod {
  <T extends StepOutput>(name: string, work: StepWork<T>, options?: StepOptions): Promise<T>
  <T>(name: string, work: StepWork<T> & Unknown<T>, options?: StepOptions): Promise<T>
}

/** See `Run.transaction`. As {@link StepMethod}. */
export interface TransactionMethod {
  <T extends StepOutput, C = unknown>(
    name: string,
    work: TransactionWork<T, C>,
    options?: StepOptions,
  ): Promise<T>
  <T, C = unknown>(name: string, work: TransactionWork<T, C> & Unknown<T>, options?: StepOptions): Promise<T>
}

/** What the work of a step receives. */
export interface StepContext {
  /** Aborts when the run's signal aborts, or `timeoutMs` has passed. */
  readonly signal: AbortSignal
  /**
   * The same for each attempt of this step, in every process: pass it to services as their idempotency key. Made of the task's
   * id: an id that is used again after its task was removed has the same keys again.
   */
  readonly key: string
  /** `1` for the first attempt of this process. */
  readonly attempt: number
}

/** Options of `run.step`. */
export interface StepOptions {
  /**
   * When and how often a step that throws is tried again. Default is one attempt. If the process dies, the next one begins
   * with the first attempt at once.
   */
  readonly retry?: RetryOptions | undefined
  /** The time limit of each attempt, in ms. Default is no limit. */
  readonly timeoutMs?: number | undefined
}

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

const OPTION_KEYS = ['retry', 'timeoutMs']

interface Settings {
  readonly retry: RetrySettings | undefined
  readonly timeoutMs: number | undefined
}

/** Does the work of a step, unless the journal has its result. See `Run.step`. */
export function runStep<T>(
  run: StepHost,
  name: string,
  work: StepWork<T>,
  options: StepOptions = {},
): Promise<T> {
  const perform: Perform = async (step, timeoutMs) => {
    const { key, attempt, signal } = step
    const output = await run.attempt(step.label, () =>
      within(run.clock, signal, timeoutMs, (own) => work({ signal: own, key, attempt })),
    )
    const result = readOutput(output, key, run)
    await record(run, step, result)
    return outputOf(result)
  }
  return observed(runRecorded<T>(run, name, work, options, 'run.step', perform))
}

/** One attempt of a step. */
export interface StepAttempt extends StepContext {
  /** The name of its entry. */
  readonly label: string
  /** How many other steps, questions and waits were under way when the step began. */
  readonly others: number
  /** When its first attempt in this process began, as `elapsed` gives it. */
  readonly startedAt: number
}

/** Does the work of an attempt, and stores its output, which it resolves to. */
export type Perform = (attempt: StepAttempt, timeoutMs: number | undefined) => Promise<unknown>

/**
 * Returns what the journal has of the step, or performs its attempts.
 *
 * @param method - The method that was called, for errors.
 */
export async function runRecorded<T>(
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
    return outputOf(recorded) as T
  }
  journal.beginStep()
  const others = journal.inFlight
  const leave = journal.enter()
  try {
    const step = { label, key, others, signal: run.signal(), startedAt: elapsed(run.clock) }
    const all = (): Promise<unknown> =>
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
  result: StepResult | { readonly error: StepError },
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
export function tookSince(startedAt: number, clock: Clock): { readonly durationMs?: number } {
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
export function limitOf(
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

/** Work that throws at once becomes a rejection. */
async function start<T>(work: () => T | Promise<T>): Promise<T> {
  return await work()
}

/** What an entry has of the output of its step. Both are absent for `undefined`. */
export interface StepResult {
  readonly output?: ReadonlyJson | undefined
  readonly tagged?: true | undefined
}

/** The copy of the output that the code receives. */
export function outputOf({ output, tagged }: StepResult): unknown {
  return output === undefined ? undefined : restored(output, tagged, 'output')
}

export function readOutput(output: unknown, key: string, { maxStepBytes, maxDepth }: StepHost): StepResult {
  if (output === undefined) return {}
  const limit = { subject: `Output of step ${key}`, option: 'limits.maxStepBytes', maxBytes: maxStepBytes }
  const reader = new JsonReader(limit, maxDepth, TAGS)
  const { json, tagged } = reader.readTagged(output, 'output')
  reader.check(json)
  return { output: json, ...(tagged && { tagged }) }
}

function toSettings(options: StepOptions, method: string): Settings {
  const { retry, timeoutMs } = readOptions(options, OPTION_KEYS, method)
  if (timeoutMs !== undefined) requireDelay('timeoutMs', timeoutMs)
  return { retry: toRetrySettings(retry, method), timeoutMs }
}
