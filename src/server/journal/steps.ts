/**
 * Steps of a run: work whose result the journal of the task keeps. The work of a transaction and its record are one change of
 * the database.
 *
 * @module
 */
import { JsonReader } from '../../core/json.js'
import type { JournalEntry, StepError } from '../../core/events.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { restored, TAGS } from '../../core/tagged-json.js'
import type { MaybePromise } from '../../core/managers.js'
import { observed, onAbort, raceAbort } from '../../runtime/abort.js'
import { elapsed, type Clock } from '../../runtime/clock.js'
import { readOptions, requireDelay, requireFunction } from '../../runtime/options.js'
import { isThenable } from '../../core/emitter.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import type { StepFollower } from '../observers.js'
import { toRetrySettings, type RetrySettings } from '../retry.js'
import type {
  StepContext,
  StepMethod,
  StepOptions,
  StepWork,
  TransactionMethod,
  TransactionWork,
} from './call-types.js'
import type { Journal } from './journal.js'
import { requireName } from './names.js'
import { causeOf, toError, toStepError, type FailedStep } from './step-errors.js'
import type { TurnPort } from './turn-port.js'
import type { Waits } from './waits.js'
import type { StepWrites } from './writes/step-writes.js'
import type { TurnIds } from './writes/turn-ids.js'

/** Of the work of a transaction, where the options have none. A connection of the database is occupied while it works. */
const TRANSACTION_MS = 5_000
const OPTION_KEYS = ['retry', 'timeoutMs']

interface Settings {
  readonly retry: RetrySettings | undefined
  readonly timeoutMs: number | undefined
}

/** One attempt of a step. */
interface StepAttempt extends StepContext {
  /** The name of its entry. */
  readonly label: string
  /** How many other steps, questions and waits were under way when the step began. */
  readonly others: number
  /** How many of all of them had begun by then. */
  readonly begun: number
  /** When its first attempt in this process began, as `elapsed` gives it. */
  readonly startedAt: number
}

/** Does the work of an attempt, and stores its output, which it resolves to. */
type Perform = (attempt: StepAttempt, timeoutMs: number | undefined) => Promise<unknown>

/** What steps use of the other parts of their turn. */
interface Parts {
  readonly journal: Journal
  readonly waits: Pick<Waits, 'pause'>
  readonly writes: StepWrites
  readonly ids: TurnIds
}

/** The steps of one turn. */
export class Steps {
  readonly #port: TurnPort
  readonly #parts: Parts
  /** The latest error of a failed step. */
  #failed: FailedStep | undefined

  constructor(port: TurnPort, parts: Parts) {
    this.#port = port
    this.#parts = parts
  }

  /** Does the work of a step, unless the journal has its result. See `Run.step`. */
  readonly step: StepMethod = <T>(name: string, work: StepWork<T>, options: StepOptions = {}): Promise<T> => {
    const { clock, limits } = this.#port.settings
    const perform: Perform = async (step, timeoutMs) => {
      const { key, attempt, signal } = step
      const output = await this.#parts.writes.attempt(step.label, () =>
        within(clock, signal, timeoutMs, (own) => work({ signal: own, key, attempt })),
      )
      const result = readOutput(output, key, limits)
      await this.#record(step, result)
      return outputOf(result)
    }
    return observed(this.#runRecorded<T>(name, work, options, 'step', perform))
  }

  /** See `Run.transaction`. */
  readonly transaction: TransactionMethod = <T, C>(
    name: string,
    work: TransactionWork<T, C>,
    options: StepOptions = {},
  ): Promise<T> => {
    const { tasks, task, settings } = this.#port
    const { clock, limits } = settings
    const { transact } = tasks
    const { journal, writes } = this.#parts
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
      const stored = await transact(task().id, unfinished, (client) => {
        const toEntry = (output: T): JournalEntry => {
          const result = readOutput(output, step.key, limits)
          const parallel = besideOf(step, journal)
          return journal.complete(
            {
              ...unfinished,
              ...result,
              ...tookSince(step.startedAt, clock),
            },
            parallel,
          )
        }
        // Its type is up to the caller, who knows the driver of the store.
        const doWork = (own: StepContext): T | Promise<T> => work(client as C, own)
        return limited(
          clock,
          step,
          given ?? TRANSACTION_MS,
          (own) => writes.attempt(entryName, () => doWork(own)),
          toEntry,
        )
      })
      writes.settle(entryName)
      journal.count(stored)
      return stored.kind === 'step' ? outputOf(stored) : undefined
    }
    return observed(this.#runRecorded<T>(name, work, options, 'transaction', perform))
  }

  /** What is stored of an error that `execute` threw: with the name of the failed step, if it threw the error of that. */
  causeOf(error: unknown): ReturnType<typeof causeOf> {
    return causeOf(error, this.#failed, this.#port.settings.recordStacks)
  }

  /**
   * Returns what the journal has of the step, or performs its attempts.
   *
   * @param method - The method that was called, for errors.
   */
  async #runRecorded<T>(
    name: string,
    work: unknown,
    options: StepOptions,
    method: string,
    perform: Perform,
  ): Promise<T> {
    requireName('step', name)
    requireFunction('work', work)
    requireNoGenerator(work)
    const { retry, timeoutMs } = toSettings(options, `run.${method}`)
    const { requireRunning, task, onStep, signal, settings } = this.#port
    const { journal, ids } = this.#parts
    journal.scopes.requireOutside(method)
    const label = journal.nameOf('step', name)
    requireRunning()
    const key = ids.keyOf(label)
    const recorded = await journal.next('step', label)
    const follower = onStep?.({ taskId: task().id, name: label, isReplayed: recorded !== undefined })
    if (recorded?.error !== undefined) {
      const error = toError(recorded.error)
      follower?.end({ error })
      this.#failed = { step: label, error }
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
      const { begun } = journal
      const step = { label, key, others, begun, signal: signal(), startedAt: elapsed(settings.clock) }
      const all = (): Promise<unknown> =>
        this.#attempts(step, retry, (count) => perform({ ...step, attempt: count }, timeoutMs))
      // The copy that the journal keeps, as in a replay.
      return (await (follower === undefined ? all() : followed(follower, all))) as T
    } finally {
      leave()
    }
  }

  async #attempts<T>(
    step: Omit<StepAttempt, 'attempt'>,
    retry: RetrySettings | undefined,
    perform: (count: number) => Promise<T>,
  ): Promise<T> {
    const { signal, label } = step
    const { tasks, task, requireRunning, settings, budget } = this.#port
    for (let count = 1; ; count += 1) {
      let failure: unknown
      try {
        signal.throwIfAborted()
        // Rejects when another process has the task by now.
        await tasks.requireLease?.(task().id)
        await budget()?.pass()
        // Another process may have ended the task.
        signal.throwIfAborted()
        return await perform(count)
      } catch (error) {
        failure = error
      }
      // The run is over: whether the step succeeds is up to the next attempt of the turn.
      if (signal.aborted) throw failure
      if (retry === undefined || count >= retry.attempts || !retry.isRetryable(failure)) {
        const error = toStepError(failure, settings.recordStacks)
        await this.#record({ ...step, attempt: count }, { error })
        this.#failed = { step: label, error: failure }
        throw failure
      }
      await this.#parts.waits.pause(retry.pauseMs(count))
      requireRunning()
    }
  }

  async #record(step: StepAttempt, result: StepResult | { readonly error: StepError }): Promise<void> {
    const { settings, stored } = this.#port
    const { journal, writes } = this.#parts
    const { label, attempt, startedAt } = step
    writes.settle(label)
    const parallel = besideOf(step, journal)
    const entry = {
      kind: 'step',
      name: label,
      attempts: attempt,
      ...result,
      ...tookSince(startedAt, settings.clock),
    } as const
    journal.record(entry, parallel)
    await stored()
  }
}

/** How many steps, questions and waits were under way when the step began, or have begun since. */
function besideOf({ others, begun }: StepAttempt, journal: Journal): number {
  return others + journal.begun - begun
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
  clock: Clock,
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

/** What an entry has of the output of its step: nothing for `undefined`. */
interface StepResult {
  readonly output?: ReadonlyJson | undefined
  readonly tagged?: true | undefined
}

/** The copy of the output that the code receives. */
function outputOf({ output, tagged }: StepResult): unknown {
  return output === undefined ? undefined : restored(output, tagged, 'output')
}

function readOutput(
  output: unknown,
  key: string,
  { maxStepBytes, maxDepth }: TurnPort['settings']['limits'],
): StepResult {
  if (output === undefined) return {}
  const limit = { subject: `Output of step ${key}`, option: 'limits.maxStepBytes', maxBytes: maxStepBytes }
  const reader = new JsonReader(limit, maxDepth, false, TAGS)
  const { json, tagged } = reader.readTagged(output, 'output')
  reader.check(json)
  return { output: json, ...(tagged && { tagged }) }
}

/** A generator begins its work only when something reads it. */
function requireNoGenerator(work: unknown): void {
  if (/Generator/.test(Object.prototype.toString.call(work)))
    throw invalidParams('work', 'must return data, and is a generator: collect what it yields')
}

function toSettings(options: StepOptions, method: string): Settings {
  const { retry, timeoutMs } = readOptions(options, OPTION_KEYS, method)
  if (timeoutMs !== undefined) requireDelay('timeoutMs', timeoutMs)
  return { retry: toRetrySettings(retry, method), timeoutMs }
}
