/**
 * Steps whose effect is in the database of the tasks: effect and record are one transaction.
 *
 * @module
 */
import type { JournalEntry } from '../../core/events.js'
import type { MaybePromise } from '../../core/managers.js'
import { observed, raceAbort } from '../../runtime/abort.js'
import { limitOf, outputOf, readOutput, runRecorded, tookSince, type Perform } from './steps.js'
import type { StepAttempt, StepContext, StepHost, StepOptions, TransactionWork } from './steps.js'
import { isThenable } from '../../core/emitter.js'

/** Of the work, where the options have none. A connection of the database is occupied while it works. */
const TIMEOUT_MS = 5_000

/** See `Run.transaction`. */
export function runTransaction<T, C>(
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
        const result = readOutput(output, step.key, run)
        // Others may have begun since.
        const parallel = Math.max(step.others, journal.inFlight - 1)
        return journal.complete(
          {
            ...unfinished,
            ...result,
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
        given ?? TIMEOUT_MS,
        (own) => run.attempt(entryName, () => doWork(own)),
        toEntry,
      )
    })
    run.settle(entryName)
    journal.count(stored)
    return stored.kind === 'step' ? outputOf(stored) : undefined
  }
  return observed(runRecorded<T>(run, name, work, options, 'run.transaction', perform))
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
