/**
 * `createSchedules`: begins tasks at given times, each once, however many processes do so.
 *
 * @module
 */
import { buildAgentCard } from '../agent-card/build.js'
import { isThenable } from '../core/emitter.js'
import { A2AError, invalidParams } from '../core/errors.js'
import type { JsonObject } from '../core/json-types.js'
import type { SharedTasks, TaskDocument } from '../core/managers.js'
import { portOf } from '../core/port.js'
import { keyOf, type TaskKey } from '../core/task.js'
import { withKeepAlive, type Clock } from '../runtime/clock.js'
import { describe } from '../runtime/describe.js'
import { SCHEDULE } from '../runtime/document-kinds.js'
import { suggestion } from '../runtime/known-names.js'
import { hasMethods, readOptions, requireDelay, requireObject, requireOneOf } from '../runtime/options.js'
import { reportError } from '../runtime/report.js'
import type { Principal } from './caller.js'
import { keptId } from './chosen-ids.js'
import { derivedId } from './idempotency.js'
import { guarded, type ErrorContext } from './options.js'
import { createProducer, type ProducedMessage, type Producer, type ProducerOptions } from './producer.js'
import { hasTime, timesUpTo, type MissedPolicy, type Times } from './schedule-times.js'
import { unavailable } from './unavailable.js'

interface CommonSchedule<P extends Principal> {
  /** What the message of each task says, or a function of the time that returns it: the same in all processes. */
  readonly message: ProducedMessage | ((at: Date) => ProducedMessage)
  /**
   * What becomes of times at which no process looked, within a minute: `'skip'` begins no task for them, `'last'` one for the
   * last, unless there are times of the last minute, `'all'` one for each of the last 100. Default is `'last'`.
   */
  readonly missed?: MissedPolicy | undefined
  /** The user whose tasks they are. Default is none. */
  readonly principal?: P | undefined
  readonly tenant?: string | undefined
  /** The conversation of all its tasks. Default is a new one for each. */
  readonly contextId?: string | undefined
}

/** When a schedule begins tasks, and which. */
export type Schedule<P extends Principal = Principal> = CommonSchedule<P> &
  (
    | {
        /** Has the times, such as a `Cron` of the package `croner`: `nextRun` returns the first one after a date, or `null`. */
        readonly cron: { nextRun(after: Date): Date | null }
        readonly everyMs?: undefined
      }
    | {
        /** The time between two tasks, in ms, from 1,000 on. The times are its multiples since 1970. */
        readonly everyMs: number
        readonly cron?: undefined
      }
  )

/** Options of {@link createSchedules}: those of a producer, and the schedules. */
export interface SchedulesOptions<P extends Principal = Principal> extends ProducerOptions {
  /** By name, of 1 to 200 characters; at most 1,000. All processes of the agent have the same. */
  readonly schedules: Readonly<Record<string, Schedule<P>>>
}

/** The state of a schedule. */
export interface ScheduleState {
  readonly name: string
  /** The next time at which a task begins. Absent where there is none, and while it is paused. */
  readonly next?: Date | undefined
  readonly isPaused: boolean
  /** What becomes of times that were missed. */
  readonly missed: MissedPolicy
}

/** Begins tasks at given times. */
export interface Schedules {
  /**
   * Begins tasks from now on, until {@link close}. Keeps the process alive.
   *
   * @throws {A2AError} `UNAVAILABLE` once it is closing: create another one.
   */
  readonly start: () => void
  /** All schedules of the options. */
  readonly list: () => Promise<ScheduleState[]>
  /**
   * From now on no process begins tasks of this schedule, also after a restart.
   *
   * @throws {A2AError} As a rejection: `INVALID_PARAMS` for a name that is not among the options; `STORE_FAILED`.
   */
  readonly pause: (name: string) => Promise<void>
  /** Ends a pause. The times within it count as skipped. Rejects as {@link pause}. */
  readonly resume: (name: string) => Promise<void>
  /** Resolves when nothing more begins. The manager is not closed. */
  readonly close: () => Promise<void>
}

const SCHEDULE_KEYS = ['cron', 'everyMs', 'message', 'missed', 'principal', 'tenant', 'contextId']
const MAX_SCHEDULES = 1_000
const MAX_NAME = 200
const MIN_EVERY_MS = 1_000
/** How often a process looks at least. */
const LOOK_MS = 60_000
/** The pause after a failure. */
const AGAIN_MS = 5_000
const MAX_ATTEMPTS = 20
/** Of no client: neither a principal nor a tenant can lead to it. */
const OWNER = '\n\nschedules'

/**
 * Creates schedules: at each time of one a task begins, which workers do, once over all processes.
 *
 * The store keeps, for each schedule, up to which time its tasks have begun, and whether it is paused. It does so in a task
 * without work, which no client sees: do not cancel it. A new schedule begins with its first time from now on.
 *
 * @throws {TypeError | RangeError | A2AError} naming the invalid option.
 * @example
 * const daily = new Cron('0 8 * * 1-5', { timezone: 'Europe/Berlin' }) // of the package croner
 * const schedules = createSchedules({ card, tasks, schedules: { report: { cron: daily, message: 'sales' } } })
 * schedules.start()
 */
export function createSchedules<P extends Principal = Principal>(options: SchedulesOptions<P>): Schedules {
  const keys = ['card', 'tasks', 'dispatch', 'priorityOf', 'onError', 'schedules']
  const { schedules, ...given } = readOptions(options, keys, 'createSchedules')
  const producer = createProducer<P>(given)
  const { tasks, card, onError } = given
  const clock = portOf(tasks)?.settings.clock
  if (clock === undefined) throw new TypeError('"tasks" must be a DurableTaskManager')
  if (tasks.taskTimeoutMs !== undefined && tasks.taskTimeoutMs !== Infinity)
    throw new TypeError(
      '"tasks" of createSchedules must have no "taskTimeoutMs", which would end its schedules',
    )
  const running = new Running<P>({
    ...{ tasks, producer, clock: withKeepAlive(clock) },
    agent: buildAgentCard(card).name,
    onError: onError === undefined ? reportError : guarded(onError),
    schedules: toSchedules(schedules),
  })
  return {
    start: running.start,
    list: running.list,
    pause: (name) => running.set(name, true),
    resume: (name) => running.set(name, false),
    close: running.close,
  }
}

type Checked<P extends Principal> = CommonSchedule<P> & Times & { readonly name: string }

function toSchedules<P extends Principal>(given: SchedulesOptions<P>['schedules']): readonly Checked<P>[] {
  requireObject('schedules', given, 'createSchedules')
  const entries = Object.entries(given)
  if (entries.length === 0 || entries.length > MAX_SCHEDULES)
    throw new RangeError(`"schedules" must have 1 to ${MAX_SCHEDULES} schedules, got ${entries.length}`)
  return entries.map(([name, schedule]) => {
    if (name === '' || name.length > MAX_NAME)
      throw new RangeError(`The name of a schedule must have 1 to ${MAX_NAME} characters, got ${name.length}`)
    const path = `schedules.${name}`
    const {
      cron,
      everyMs,
      missed = 'last',
      ...common
    } = readOptions(schedule, SCHEDULE_KEYS, 'createSchedules', path)
    requireOneOf(`${path}.missed`, missed, ['skip', 'last', 'all'])
    if ((cron === undefined) === (everyMs === undefined))
      throw new TypeError(`"${path}" must have one of "cron" and "everyMs"`)
    // JavaScript callers may forget it.
    if ((common.message as unknown) === undefined) throw new TypeError(`"${path}.message" is missing`)
    return { ...common, name, missed, next: nextOf(path, cron, everyMs) }
  })
}

function nextOf(path: string, cron: unknown, everyMs: unknown): (after: number) => number | undefined {
  if (cron === undefined) {
    const ms = requireDelay(`${path}.everyMs`, everyMs, MIN_EVERY_MS)
    return (after) => (Math.floor(after / ms) + 1) * ms
  }
  if (!hasMethods(cron, 'nextRun'))
    throw new TypeError(
      `"${path}.cron" must have the method nextRun, as new Cron('0 8 * * *') of the package "croner" has, got ${describe(cron)}`,
    )
  // A method of this name takes and returns dates.
  const times = cron as { nextRun(after: Date): Date | null }
  return (after) => {
    const next = times.nextRun(new Date(after))
    if (next === null) return undefined
    const at = next.getTime()
    if (at > after) return at
    throw new TypeError(
      `"${path}.cron" has returned a time that is not after ${new Date(after).toISOString()}`,
    )
  }
}

/** What the store has of a schedule. */
interface Stored {
  /** Tasks have begun for all times up to this one, in ms. */
  readonly at: number
  readonly isPaused: boolean
  /** 0 for none. */
  readonly version: number
}

interface RunningContext<P extends Principal> {
  readonly tasks: SharedTasks
  readonly producer: Producer<P>
  readonly clock: Clock
  readonly agent: string
  readonly onError: (error: unknown, context: ErrorContext) => void
  readonly schedules: readonly Checked<P>[]
}

class Running<P extends Principal> {
  readonly #context: RunningContext<P>
  #isStarted = false
  #isClosing = false
  #stopTimer = (): void => {}
  #looking: Promise<void> = Promise.resolve()

  constructor(context: RunningContext<P>) {
    this.#context = context
  }

  readonly start = (): void => {
    if (this.#isClosing) throw unavailable()
    if (this.#isStarted) return
    this.#isStarted = true
    this.#looking = this.#look()
  }

  readonly close = async (): Promise<void> => {
    this.#isClosing = true
    this.#stopTimer()
    await this.#looking
  }

  readonly list = async (): Promise<ScheduleState[]> => {
    const { schedules, clock } = this.#context
    const { states } = await this.#read()
    const now = clock.now()
    return schedules.map((schedule) => {
      const { name, missed } = schedule
      const { isPaused = false, at = now } = states.get(name) ?? {}
      const next = isPaused ? undefined : schedule.next(Math.max(now, at))
      return { name, ...(next !== undefined && { next: new Date(next) }), isPaused, missed }
    })
  }

  async set(name: string, isPaused: boolean): Promise<void> {
    const names = this.#context.schedules.map((schedule) => schedule.name)
    if (!names.includes(name)) {
      const given =
        typeof name === 'string' ? `"${name.slice(0, MAX_NAME)}"${suggestion(name, names)}` : describe(name)
      throw invalidParams('name', `is of no schedule: ${given}`)
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { key, states } = await this.#read()
      const { isPaused: wasPaused = false, version = 0 } = states.get(name) ?? {}
      if (wasPaused === isPaused && version > 0) return
      if (await this.#put(key, name, { at: this.#context.clock.now(), isPaused, version })) return
    }
    throw unavailable('cannot change this schedule, which others change')
  }

  /** Begins what is due. Never rejects. */
  async #look(): Promise<void> {
    const { schedules, clock, onError } = this.#context
    let waitMs = LOOK_MS
    try {
      const { key, states } = await this.#read()
      for (const schedule of schedules) {
        if (this.#isClosing) return
        try {
          const next = await this.#beginDue(key, schedule, states.get(schedule.name))
          if (next !== undefined) waitMs = Math.min(waitMs, next - clock.now())
        } catch (error) {
          onError(error, { during: 'schedule' })
          waitMs = Math.min(waitMs, AGAIN_MS)
        }
      }
    } catch (error) {
      onError(error, { during: 'schedule' })
      waitMs = AGAIN_MS
    }
    if (this.#isClosing) return
    const again = (): void => {
      this.#looking = this.#look()
    }
    this.#stopTimer = clock.schedule(again, Math.max(1, Math.ceil(waitMs)))
  }

  /** Returns the next time. */
  async #beginDue(
    key: TaskKey,
    schedule: Checked<P>,
    stored: Stored | undefined,
  ): Promise<number | undefined> {
    const now = this.#context.clock.now()
    const { name, next } = schedule
    if (stored?.isPaused === true) return undefined
    if (stored === undefined) await this.#put(key, name, { at: now, isPaused: false, version: 0 })
    // A process whose clock is ahead has been here.
    const times = stored === undefined || stored.at >= now ? [] : timesUpTo(schedule, stored.at, now)
    for (const at of times) await this.#begin(schedule, at)
    const last = times.at(-1)
    // Without tasks too, lest a time that was skipped be looked at again.
    if (stored !== undefined && (last !== undefined || hasTime(schedule, stored.at, now)))
      await this.#put(key, name, { ...stored, at: now })
    return next(now)
  }

  async #begin({ name, message, ...of }: Checked<P>, at: number): Promise<void> {
    const { producer } = this.#context
    const time = new Date(at)
    const iso = time.toISOString()
    const { principal, tenant, contextId } = of
    const said = typeof message === 'function' ? message(time) : message
    // `send` refuses it.
    if (isThenable(said)) said.then(undefined, () => undefined)
    try {
      await producer.send(said, {
        ...{ principal, tenant, contextId, messageId: `schedule ${name} ${iso}` },
        metadata: { schedule: { name, at: iso } },
      })
    } catch (error) {
      // The next attempt would fail too, or another process has begun it with another message.
      if (!A2AError.is(error, 'INVALID_PARAMS') && !A2AError.is(error, 'LIMIT_EXCEEDED')) throw error
      this.#context.onError(error, { during: 'schedule' })
    }
  }

  async #read(): Promise<{ readonly key: TaskKey; readonly states: ReadonlyMap<string, Stored> }> {
    const key = await this.#keeper()
    const documents = await this.#context.tasks.documents.documents(key, SCHEDULE)
    return { key, states: new Map(documents.map((document) => [document.id, toStored(document)])) }
  }

  #put(key: TaskKey, id: string, { version, at, isPaused }: Stored): Promise<boolean> {
    const value: JsonObject = { at: new Date(at).toISOString(), isPaused }
    return this.#context.tasks.documents.putDocument({ key, kind: SCHEDULE, id, value }, version)
  }

  /** The task that keeps the schedules of this agent. */
  async #keeper(): Promise<TaskKey> {
    const { tasks, agent } = this.#context
    // No client can choose this id.
    const id = keptId({ owner: OWNER }, derivedId(0, agent, OWNER))
    const known = await tasks.peekTask(id)
    if (known !== null) return keyOf(known)
    try {
      return keyOf(await tasks.createTask({ id, skill: 'schedules', owner: OWNER }))
    } catch (error) {
      const other = await tasks.peekTask(id)
      if (other === null) throw error
      return keyOf(other)
    }
  }
}

function toStored({ value, version }: TaskDocument): Stored {
  // `#put` made it.
  const { at, isPaused } = value as { readonly at: string; readonly isPaused: boolean }
  return { at: Date.parse(at), isPaused, version }
}
