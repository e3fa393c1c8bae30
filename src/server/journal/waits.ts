/**
 * Waits of a turn for times and signals: recorded, so that the turn needs no process while it waits.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { JournalEntry } from '../../core/events.js'
import { restored } from '../../core/tagged-json.js'
import { receivedEntry, signalNameOf } from '../../core/evolve.js'
import { observed, onAbort } from '../../runtime/abort.js'
import { MAX_DELAY_MS, withKeepAlive, type Clock } from '../../runtime/clock.js'
import { quote } from '../../runtime/describe.js'
import { readOptions } from '../../runtime/options.js'
import { sleep } from '../../runtime/timers.js'
import { linesOf, requireSchema, type StandardSchema } from '../standard-schema.js'
import type { SignalOptions, SleepOptions } from './call-types.js'
import type { Journal } from './journal.js'
import { requireName } from './names.js'
import type { ExpireQuestion, QuestionTimer, SignalWait, TurnPort } from './turn-port.js'

const SLEEPS = `run.sleep('pause', { ms: 60_000 }) or run.sleep('pause', { until: new Date(…) })`

/** The latest time of a `Date`, in ms. */
const MAX_TIME = 8_640_000_000_000_000

/** One wait that is open in this process. */
interface OpenWait {
  /** `Infinity` for a wait for a signal. */
  readonly dueAt: number
  readonly reject: (reason: Error) => void
  /** Cancels the timer. */
  readonly stop: () => void
  /** For a wait for a signal: its label, and what ends it. */
  readonly label?: string
  readonly receive?: (value: unknown) => void
}

type ReceivedEntry = Extract<JournalEntry, { readonly kind: 'received' }>

type NewWait<T> = (resolve: (value: T) => void) => Omit<OpenWait, 'reject'>

class Timer implements QuestionTimer {
  readonly dueAt: string
  isDue = false
  isOver = false
  onStop = (): void => {}

  constructor(dueAt: string) {
    this.dueAt = dueAt
  }

  /** The question was withdrawn. */
  end(): void {
    this.isDue = true
    this.isOver = true
  }

  readonly stop = (): void => {
    if (this.isOver) return
    this.isOver = true
    this.onStop()
  }
}

class SignalBeside implements SignalWait {
  received: SignalWait['received']
  error: Error | undefined
  isOver = false
  onStop = (): void => {}

  receive(value: unknown): void {
    this.isOver = true
    this.received = { value }
  }

  readonly stop = (): void => {
    if (this.isOver) return
    this.isOver = true
    this.onStop()
  }
}

export class Waits {
  readonly #port: TurnPort
  readonly #journal: Journal
  readonly #open = new Set<OpenWait>()
  /** Ends pauses. */
  #over: AbortController | undefined

  constructor(port: TurnPort, journal: Journal) {
    this.#port = port
    this.#journal = journal
  }

  /** How many waits are open. */
  get count(): number {
    return this.#open.size
  }

  /** The time at which the first wait is over, in ms; `Infinity` where none is open, or all are for signals. */
  get dueAt(): number {
    let first = Infinity
    for (const { dueAt } of this.#open) first = Math.min(first, dueAt)
    return first
  }

  /** The names of the signals that the code waits for. */
  get signals(): readonly string[] {
    return [...this.#open].flatMap(({ label }) => (label === undefined ? [] : [signalNameOf(label)]))
  }

  /** See `Run.sleep`. */
  readonly sleep = (name: string, options: SleepOptions): Promise<void> => {
    requireName('sleep', name, SLEEPS)
    return observed(this.#sleep(name, readSleep(options)))
  }

  /**
   * A sleep beside a question. When it is over, `expire` withdraws the question in one change with the entry `wake`. If there is
   * nothing to withdraw, and if the question needs no limit any more, the entry is recorded when the timer is stopped. So an
   * entry `wake` that a replay reads before the end of the question means that it was withdrawn.
   *
   * @returns Resolves when the sleep has begun.
   */
  async limit(name: string, ms: number, expire: ExpireQuestion): Promise<QuestionTimer> {
    const { settings, work, signal } = this.#port
    const { clock } = settings
    const journal = this.#journal
    work()
    const label = journal.nameOf('sleep', name)
    const begun = journal.pass('sleep', label)
    if (begun === undefined) {
      // Code whose run is over begins nothing new.
      await journal.next('wake', label)
      signal().throwIfAborted()
    }
    const dueAt = begun?.dueAt ?? new Date(Math.min(clock.now() + ms, MAX_TIME)).toISOString()
    if (begun === undefined) journal.record({ kind: 'sleep', name: label, dueAt })
    const timer = new Timer(dueAt)
    if (journal.take('wake', label) !== undefined) {
      timer.end()
      return timer
    }
    void observed(this.#limit(label, timer, begun !== undefined, expire))
    return timer
  }

  async #limit(label: string, timer: Timer, isBegun: boolean, expire: ExpireQuestion): Promise<void> {
    const { settings, signal } = this.#port
    const { clock } = settings
    const journal = this.#journal
    if (isBegun && (await journal.next('wake', label)) !== undefined) {
      if (timer.isOver) return
      timer.end()
      expire()
      return
    }
    const wake = { kind: 'wake', name: label } as const
    if (timer.isOver) this.#recordEnd(wake)
    if (timer.isOver || signal().aborted) return
    const leave = journal.enter()
    const dueAt = Date.parse(timer.dueAt)
    const wait = { dueAt, reject: leave, stop: (): void => {} }
    const over = (): void => {
      wait.stop()
      if (this.#open.delete(wait)) leave()
    }
    const wakeUp = (): void => {
      // The clock may have been set back.
      if (dueAt > clock.now()) {
        wait.stop = scheduleAt(clock, dueAt, wakeUp)
        return
      }
      over()
      timer.isDue = true
      timer.isOver = expire(() => journal.entriesFor(wake))
    }
    this.#open.add(wait)
    timer.onStop = () => {
      over()
      this.#recordEnd(wake)
    }
    wakeUp()
  }

  /**
   * A wait for a signal beside a question. If the question ends without it, the entry `received` says so, so that the signal is
   * left to a later wait. A signal that has come before is received at once, and `onEnd` is not called.
   *
   * @returns Resolves when the wait has begun.
   */
  async beside(name: string, onEnd: () => void): Promise<SignalWait> {
    const { work, signal } = this.#port
    const journal = this.#journal
    work()
    const label = journal.nameOf('wait', name)
    const isBegun = journal.pass('wait', label) !== undefined
    if (!isBegun) {
      await journal.next('received', label)
      // Code whose run is over begins nothing new.
      signal().throwIfAborted()
      journal.record({ kind: 'wait', name: label })
    }
    const wait = new SignalBeside()
    const known = journal.take('received', label)
    if (known !== undefined) endBy(wait, known)
    else if (journal.isReplaying || !this.#receiveBeside(label, wait))
      void observed(this.#watchBeside(label, wait, onEnd))
    return wait
  }

  async #watchBeside(label: string, wait: SignalBeside, onEnd: () => void): Promise<void> {
    const journal = this.#journal
    const known = await journal.next('received', label)
    if (known !== undefined) {
      endBy(wait, known)
      if (wait.received !== undefined) onEnd()
      return
    }
    const isAborted = this.#port.signal().aborted
    if (wait.isOver) this.#recordEnd(withdrawnWait(label))
    if (wait.isOver || isAborted) return
    if (this.#receiveBeside(label, wait)) {
      onEnd()
      return
    }
    const leave = journal.enter()
    const stop = this.#port.listen?.() ?? ((): void => {})
    const over = (): void => {
      stop()
      if (this.#open.delete(open)) leave()
    }
    const open: OpenWait = {
      ...{ dueAt: Infinity, label, stop },
      receive: (value) => {
        over()
        wait.receive(value)
        onEnd()
      },
      reject: (reason) => {
        over()
        wait.isOver = true
        wait.error = reason
        onEnd()
      },
    }
    this.#open.add(open)
    wait.onStop = () => {
      over()
      this.#recordEnd(withdrawnWait(label))
    }
  }

  /** Whether the signal has come, or cannot be received. */
  #receiveBeside(label: string, wait: SignalBeside): boolean {
    const value = this.#receive(label)
    if (value !== undefined) wait.receive(value)
    return wait.isOver
  }

  /** Of a run that is over, the next attempt asks the question again, and needs its limit. */
  #recordEnd(wake: JournalEntry): void {
    if (this.#port.signal().aborted) return
    try {
      this.#journal.record(wake)
    } catch {
      // The task has ended, or its journal is full. A replay comes here again.
    }
  }

  /** Resolves after `ms`, or when the run is over. Nothing is recorded. */
  pause(ms: number): Promise<void> {
    const over = (this.#over ??= new AbortController())
    const leave = onAbort(this.#port.signal(), () => over.abort())
    return sleep(ms, over.signal, withKeepAlive(this.#port.settings.clock)).finally(leave)
  }

  /** See `Run.waitFor`. */
  readonly waitFor = <T = unknown>(name: string, options: SignalOptions<T> = {}): Promise<T> => {
    requireName('signal', name)
    const { schema } = readOptions(options, ['schema'], 'run.waitFor')
    if (schema !== undefined) requireSchema(schema, 'schema')
    return observed(this.#waitFor(name, schema))
  }

  /** A signal has come. Waits whose signal cannot be recorded reject. */
  onSignal(): void {
    for (const wait of this.#open) {
      if (wait.label === undefined) continue
      try {
        const value = this.#receive(wait.label, this.#journal.inFlight - 1)
        if (value === undefined) continue
        wait.receive?.(value)
      } catch (error) {
        wait.reject(error as Error)
      }
      this.#open.delete(wait)
    }
  }

  /** Forgets all waits, and those for the journal. Their promises reject, or stay pending without a reason. */
  drop(reason?: Error): void {
    this.#journal.drop(reason)
    this.#over?.abort()
    for (const wait of this.#open) {
      wait.stop()
      if (reason !== undefined) wait.reject(reason)
    }
    this.#open.clear()
  }

  async #sleep(name: string, dueAtOf: (now: number) => number): Promise<void> {
    const journal = this.#journal
    const { settings, tasks, work, signal } = this.#port
    const { clock } = settings
    journal.scopes.requireOutside('sleep')
    work()
    const label = journal.nameOf('sleep', name)
    const begun = journal.pass('sleep', label)
    if ((await journal.next('wake', label)) !== undefined) return
    // Code whose run is over begins nothing new.
    if (begun === undefined) signal().throwIfAborted()
    const dueAt = begun === undefined ? dueAtOf(clock.now()) : Date.parse(begun.dueAt)
    if (begun === undefined)
      journal.record({ kind: 'sleep', name: label, dueAt: new Date(dueAt).toISOString() })
    // Without a store, only this process can continue the task.
    const timers = tasks.finish === undefined ? withKeepAlive(clock) : clock
    // The clock may have been set back when the timer fires.
    while (dueAt > clock.now())
      await this.#until((wake) => ({ dueAt, stop: scheduleAt(timers, dueAt, () => wake(undefined)) }))
    journal.record({ kind: 'wake', name: label })
  }

  async #waitFor<T>(name: string, schema: StandardSchema<unknown, T> | undefined): Promise<T> {
    const journal = this.#journal
    const { work, signal } = this.#port
    journal.scopes.requireOutside('waitFor')
    work()
    const label = journal.nameOf('wait', name)
    const begun = journal.pass('wait', label)
    const received = await journal.next('received', label)
    if (received === undefined && begun === undefined) signal().throwIfAborted()
    if (received === undefined && begun === undefined) journal.record({ kind: 'wait', name: label })
    const value = received === undefined ? await this.#signal(label) : valueOf(received)
    // Without a schema, the caller says what the value is.
    return schema === undefined ? (value as T) : await validSignal(schema, name, value)
  }

  async #signal(label: string): Promise<unknown> {
    const known = this.#receive(label)
    // It may be `null`.
    if (known !== undefined) return known
    const stop = this.#port.listen?.() ?? ((): void => {})
    return await this.#until((receive) => ({ dueAt: Infinity, stop, label, receive }))
  }

  /** The value of the next signal for this wait, if it has come. */
  #receive(label: string, others?: number): unknown {
    const journal = this.#journal
    const { tasks, task: taskOf } = this.#port
    if (!journal.isRecording) return tasks.receive?.(taskOf().id, label)
    const task = taskOf().peek()
    const entry = task === null ? undefined : receivedEntry(task, label)
    if (entry !== undefined) journal.record(entry, others)
    return entry && valueOf(entry)
  }

  async #until<T>(begin: NewWait<T>): Promise<T> {
    let wait: OpenWait | undefined
    const over = new Promise<T>((resolve, reject: (reason: Error) => void) => {
      wait = { ...begin(resolve), reject }
      this.#open.add(wait)
    })
    const leave = this.#journal.enter()
    try {
      // Creates the signal where there is none: from now on it reports the end of the task.
      this.#port.signal().throwIfAborted()
      return await over
    } finally {
      if (wait !== undefined) {
        wait.stop()
        this.#open.delete(wait)
      }
      leave()
    }
  }
}

function endBy(wait: SignalBeside, entry: ReceivedEntry): void {
  wait.isOver = true
  if (entry.isWithdrawn !== true) wait.receive(valueOf(entry))
}

function withdrawnWait(name: string): JournalEntry {
  return { kind: 'received', name, value: null, isWithdrawn: true }
}

function valueOf({ value, tagged }: ReceivedEntry): unknown {
  return restored(value, tagged, 'signal')
}

/**
 * The value of a signal, as the schema of the code that waits for it returns it.
 *
 * @throws {A2AError} As a rejection: `INVALID_PARAMS` with the path `signal`.
 */
async function validSignal<T>(schema: StandardSchema<unknown, T>, name: string, value: unknown): Promise<T> {
  const checked = await schema['~standard'].validate(value)
  if (checked.issues === undefined) return checked.value
  throw invalidParams('signal', `"${name}" does not match the schema: ${linesOf(checked.issues)}`)
}

/** Calls `callback` at a time that may be further away than timers allow. */
export function scheduleAt(clock: Clock, time: number, callback: () => void): () => void {
  let cancel = (): void => {}
  const schedule = (): void => {
    const left = time - clock.now()
    cancel = clock.schedule(
      left > MAX_DELAY_MS ? schedule : callback,
      Math.min(Math.max(0, left), MAX_DELAY_MS),
    )
  }
  schedule()
  return () => cancel()
}

/** @returns The due time of a sleep that begins now. */
function readSleep(options: SleepOptions): (now: number) => number {
  const wanted = `an object after the name, as in ${SLEEPS}`
  const { ms, until } = readOptions(options, ['ms', 'until'], 'run.sleep', undefined, wanted)
  if ((ms === undefined) === (until === undefined)) {
    throw new TypeError(`run.sleep() takes one of "ms" and "until", as in ${SLEEPS}`)
  }
  const time = until instanceof Date ? until.getTime() : until
  const isTime = (value: unknown): boolean => typeof value === 'number' && Math.abs(value) <= MAX_TIME
  if (ms !== undefined && !(isTime(ms) && ms >= 0))
    throw new RangeError(`"ms" must be the milliseconds of the sleep, 0 or more, got ${quote(ms)}`)
  if (ms === undefined && !isTime(time))
    throw new RangeError(`"until" must be a Date or milliseconds since 1970, got ${quote(until)}`)
  return (now) => Math.min(Math.floor(time ?? now + (ms ?? 0)), MAX_TIME)
}
