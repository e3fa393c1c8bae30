/**
 * The option `perKey` of workers: the turns of each key, in documents that all workers of the store change.
 *
 * A document has the turns of many keys, by a hash, so that their number is bounded. A turn that has begun counts until the
 * worker removes it, or its task has lost the lease under which it began. The latter is looked at by the turn that comes next,
 * and when its own task is recovered.
 *
 * @module
 */
import { isThenable } from '../../core/emitter.js'
import type { JsonValue } from '../../core/json-types.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { LeasedTasks, MaybePromise, SharedTasks } from '../../core/managers.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import { describe } from '../../runtime/describe.js'
import { KEY_SLOTS } from '../../runtime/document-kinds.js'
import { hashOf } from '../../runtime/hash.js'
import { KeyedQueue } from '../../runtime/keyed-queue.js'
import { priorityFor, type PriorityOf } from '../dispatch.js'
import { keeperOf } from '../keeper.js'
import type { TurnsPerKey } from '../per-key.js'
import { unavailable } from '../unavailable.js'
import type { NextStep, TurnSlots } from './turn-slots.js'
import { entered, forgotten, freed, isEmpty, NO_SLOTS, tidied, told, untold } from './slots.js'
import type { Slots, Waiter } from './slots.js'

interface SlotsContext {
  readonly perKey: TurnsPerKey
  readonly tasks: SharedTasks
  readonly leased: LeasedTasks
  readonly clock: Clock
  /** The name of the agent. */
  readonly agent: string
  readonly priorityOf?: PriorityOf | undefined
  readonly onError: (
    error: unknown,
    context: { readonly during: 'dispatch'; readonly taskId: string },
  ) => void
}

/** A turn of this process. */
interface Mine {
  /** `undefined` for one that is not limited. */
  readonly key: string | undefined
  readonly leaseId: string
  isOver: boolean
}

interface Made {
  readonly slots: Slots
}

type Make<M extends Made> = (slots: Slots, now: number) => M

const MAX_KEY = 200
/** Each failure is the success of another worker. */
const MAX_ATTEMPTS = 100
const ID = 'keys'

export class KeySlots implements TurnSlots {
  readonly #context: SlotsContext
  readonly #mine = new Map<string, Mine>()
  /** One change of a document at a time. */
  readonly #jobs = new KeyedQueue()
  #keeper: TaskKey | undefined

  constructor(context: SlotsContext) {
    this.#context = context
  }

  isOut(taskId: string): boolean {
    return !this.#mine.has(taskId)
  }

  isOver(taskId: string): boolean {
    return this.#mine.get(taskId)?.isOver === true
  }

  ended(taskId: string): void {
    const mine = this.#mine.get(taskId)
    if (mine !== undefined) mine.isOver = true
  }

  async enter(task: TaskSnapshot, wait: (ms: number) => MaybePromise<NextStep>): Promise<NextStep> {
    const { leased } = this.#context
    const { id } = task
    const leaseId = leased.leaseOf(id)
    if (leaseId === undefined) return 'again'
    const key = this.#keyOf(task)
    const mine = { key, leaseId, isOver: false }
    const waitMs = key === undefined ? 0 : await this.#enter(task, key, leaseId)
    if (waitMs > 0) {
      const step = await wait(waitMs)
      // What a turn that has ended in between has told could not reach it.
      if (step === 'left') await this.#changeSafely(key, (slots) => ({ slots: untold(slots, task) }), id)
      return step
    }
    // The process may have lost the task by now.
    if (leased.leaseOf(id) === leaseId) this.#mine.set(id, mine)
    else await this.#free(id, mine)
    return 'again'
  }

  async leave(taskId: string): Promise<'again'> {
    const mine = this.#mine.get(taskId)
    this.#mine.delete(taskId)
    if (mine !== undefined) await this.#free(taskId, mine)
    return 'again'
  }

  async #free(taskId: string, { key, leaseId }: Mine): Promise<void> {
    await this.#changeSafely(key, (slots) => ({ slots: freed(slots, [leaseId]) }), taskId)
  }

  async #changeSafely(key: string | undefined, make: (slots: Slots) => Made, taskId: string): Promise<void> {
    try {
      if (key !== undefined) await this.#change(key, make)
    } catch (error) {
      this.#report(error, taskId)
    }
  }

  async #enter(task: TaskSnapshot, key: string, leaseId: string): Promise<number> {
    const { perKey, clock, leased, priorityOf, onError } = this.#context
    const { id, createdAt } = task
    const since = clock.now() - priorityFor(task, priorityOf, onError)
    const turn = { id, createdAt, leaseId, since }
    const { waitMs, before } = await this.#change(key, (slots, now) => entered(slots, turn, perKey, now))
    const dead: string[] = []
    for (const holder of before) if (!(await leased.isHeld(holder, holder.leaseId))) dead.push(holder.leaseId)
    if (dead.length === 0) return waitMs
    await this.#change(key, (slots) => ({ slots: freed(slots, dead) }))
    return await this.#enter(task, key, leaseId)
  }

  /** Changes the turns of a key, and tells those that may begin by then. */
  async #change<M extends Made>(key: string, make: Make<M>): Promise<M> {
    const { made, news } = await this.#jobs.run(bucketOf(key), () => this.#store(key, make))
    const gone: string[] = []
    for (const waiter of news) if (!(await this.#tell(waiter))) gone.push(waiter.id)
    if (gone.length > 0) await this.#change(key, (slots) => ({ slots: forgotten(slots, gone) }))
    return made
  }

  async #store<M extends Made>(
    key: string,
    make: Make<M>,
  ): Promise<{ readonly made: M; readonly news: readonly Waiter[] }> {
    const { perKey, clock, tasks, agent } = this.#context
    const { documents } = tasks
    const kind = `${KEY_SLOTS}${bucketOf(key)}`
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const keeper = (this.#keeper ??= await keeperOf(tasks, agent, 'keys'))
      const [document] = await documents.documents(keeper, kind)
      const now = clock.now()
      const all = toKeys(document?.value)
      const made = make(all.get(key) ?? NO_SLOTS, now)
      const { slots, news } = told(tidied(made.slots, perKey, now), perKey, now)
      all.set(key, slots)
      const value = toValue(all, (each) => isEmpty(tidied(each, perKey, now)))
      if (JSON.stringify(value) === JSON.stringify(document?.value ?? [])) return { made, news }
      const { version = 0 } = document ?? {}
      if (await documents.putDocument({ key: keeper, kind, id: ID, value }, version)) return { made, news }
      // Another worker was first, or the keeper is gone.
      this.#keeper = undefined
    }
    throw unavailable('cannot change the turns of this key, which others change')
  }

  /** Lets a sweep find the turn now, at its place among all that wait. `false` if its task has ended or is gone. */
  async #tell({ id, createdAt, since }: Waiter): Promise<boolean> {
    const { leased, tasks, clock } = this.#context
    try {
      if (await leased.handOutSoon({ id, createdAt }, Math.min(0, since - clock.now()))) return true
      // A process may have it, which is about to enter.
      const task = await tasks.peekTask(id)
      return task?.createdAt === createdAt && !isTerminal(task.state)
    } catch (error) {
      // It looks again by itself.
      this.#report(error, id)
      return true
    }
  }

  #keyOf(task: TaskSnapshot): string | undefined {
    try {
      const key: unknown = this.#context.perKey.keyOf(task)
      if (key === undefined) return key
      if (typeof key === 'string' && key !== '' && key.length <= MAX_KEY) return key
      if (isThenable(key)) key.then(undefined, () => undefined)
      const got = typeof key === 'string' ? `${key.length} characters` : describe(key)
      throw new TypeError(`perKey.keyOf() must return undefined, or 1 to ${MAX_KEY} characters, got ${got}`)
    } catch (error) {
      this.#report(error, task.id)
      return ''
    }
  }

  #report(error: unknown, taskId: string): void {
    this.#context.onError(error, { during: 'dispatch', taskId })
  }
}

/** One of 256. */
function bucketOf(key: string): string {
  return hashOf(key).slice(0, 2)
}

function toKeys(value: JsonValue | undefined): Map<string, Slots> {
  // `toValue` made it.
  return new Map(value as unknown as [string, Slots][] | undefined)
}

function toValue(all: ReadonlyMap<string, Slots>, isOver: (slots: Slots) => boolean): JsonValue {
  // Slots are JSON.
  return [...all].filter(([, slots]) => !isOver(slots)) as unknown as JsonValue
}
