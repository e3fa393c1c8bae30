/**
 * Handlers and workers over one store, and what their turns have done.
 *
 * @module
 */
import type { Task } from '../../core/task.js'
import { DurableTaskManager } from '../../durable/durable-task-manager.js'
import { memoryStore } from '../../durable/memory-store.js'
import type { TaskStore } from '../../durable/task-store.js'
import { elapsed, systemClock, type Clock } from '../../runtime/clock.js'
import { sleep } from '../../runtime/timers.js'
import type { Principal } from '../../server/caller.js'
import type { Turn } from '../../server/dispatch.js'
import type { Execute } from '../../server/execute.js'
import { createRequestHandler } from '../../server/request-handler.js'
import { createWorker } from '../../server/worker.js'
import { CrashingStore } from '../durable-functions/crashing-store.js'
import { ManualClock } from '../manual-clock.js'
import { equal } from '../task-store-suite/checks.js'
import type { DispatchKit, HandlerProcess, ProcessOptions, WorkerOptions, WorkerProcess } from './kit.js'
import type { QueueUnderTest } from './queue.js'

/** How long a condition may take, in ms of the machine. */
const LIMIT_MS = 60_000
/** How often a condition is looked at, in ms of the machine. */
const LOOK_MS = 1
/** By how much time goes on then, in ms: little while turns are done, as a queue has its own time. */
const BUSY_MS = 10
const QUIET_MS = 1_000
/** Steps of each turn. */
const STEPS = 3
const CARD = { name: 'Queue', url: 'https://agent.test' }
/** Messages that are sent at a time. */
const BATCH = 100

/** What the tests of the suite use, with a clock of its own. */
export class House implements DispatchKit {
  readonly #queue: QueueUnderTest
  readonly #clock = new ManualClock()
  readonly #open = new Set<() => Promise<unknown>>()
  readonly #runs = new Map<string, number>()
  /** How many messages {@link beginOne} has sent. */
  #begun = 0
  /** How much work has run. */
  #count = 0
  readonly store = memoryStore({ now: () => this.#clock.now() })
  readonly tasks: DurableTaskManager
  /** What handlers and workers have reported. */
  readonly errors: unknown[] = []

  constructor(queue: QueueUnderTest) {
    this.#queue = queue
    this.tasks = this.#manager(this.store, this.#clock, { sweepIntervalMs: false })
  }

  /** Does {@link STEPS} steps, each of which notes that it runs. Returns how often each had run by then. */
  readonly work: Execute = async (run) => {
    const counts: number[] = []
    for (let step = 0; step < STEPS; step += 1) {
      counts.push(await run.step('work', ({ key }) => this.ran(key)))
    }
    return counts.join(' ')
  }

  ran(key: string): number {
    const count = (this.#runs.get(key) ?? 0) + 1
    this.#runs.set(key, count)
    this.#count += 1
    return count
  }

  handler(
    dispatch: QueueUnderTest['dispatch'] = this.#queue.dispatch,
    options: ProcessOptions = {},
  ): HandlerProcess {
    const { crashing, clock, tasks, die } = this.#process(options)
    const handler = createRequestHandler<Principal, DurableTaskManager>({
      ...{ card: CARD, anonymous: 'shared', tasks, clock, onError: this.#onError },
      // A process that has died calls nothing.
      dispatch: async (turn) => {
        if (!crashing.isCrashed) await dispatch(turn)
      },
    })
    this.#open.add(async () => {
      if (!crashing.isCrashed) await handler.close({ graceMs: 0 })
    })
    const send: HandlerProcess['send'] = async (text, more = {}) => {
      const message = { messageId: text, role: 'ROLE_USER', parts: [{ text }], ...more }
      const request = new Request(`${CARD.url}/message:send`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' } },
        body: JSON.stringify({ message, configuration: { returnImmediately: true } }),
      })
      const response = await crashing.survive(handler.fetch(request))
      const answer = response && (await crashing.survive(response.text()))
      if (answer === undefined) return undefined
      // The answer of this library's own handler.
      const { task } = JSON.parse(answer) as { readonly task?: { readonly id: string } }
      if (task === undefined) throw new Error(`The handler answered ${answer}`)
      return task.id
    }
    return { send, die }
  }

  async worker(options: WorkerOptions = {}): Promise<WorkerProcess> {
    const { execute = this.work, deliver } = options
    const { crashing, clock, tasks } = this.#process(options)
    const worker = createWorker({ card: CARD, tasks, clock, onError: this.#onError, execute })
    const run = async (turn: Turn): Promise<void> => {
      const done = await crashing.survive(worker.run(turn).then(() => true))
      if (done === undefined) throw new Error('The worker has died')
    }
    const consumer = await this.#queue.consume((turn) => deliver?.(run, turn) ?? run(turn))
    const close = async (): Promise<void> => {
      this.#open.delete(close)
      await Promise.all([crashing.isCrashed || worker.close({ graceMs: 0 }), consumer.close()])
    }
    this.#open.add(close)
    return { isDead: () => crashing.isCrashed, close: () => this.#ended(close()) }
  }

  async begin(handler: HandlerProcess, texts: readonly string[]): Promise<string[]> {
    const ids: string[] = []
    for (let at = 0; at < texts.length; at += BATCH) {
      const batch = texts.slice(at, at + BATCH).map((text) => handler.send(text))
      ids.push(...(await Promise.all(batch)).filter((id) => id !== undefined))
    }
    return ids
  }

  async beginOne(handler: HandlerProcess): Promise<string> {
    this.#begun += 1
    const id = await handler.send(`message ${this.#begun}`)
    if (id === undefined) throw new Error('The handler has not answered')
    return id
  }

  async until(what: string, condition: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
    const end = elapsed(systemClock) + limitMs
    while (!(await condition())) {
      if (elapsed(systemClock) > end)
        throw new Error(`${what}: not within ${limitMs / 1_000} s`, { cause: this.errors.at(-1) })
      const count = this.#count
      await sleep(LOOK_MS)
      this.#clock.advance(count === this.#count ? QUIET_MS : BUSY_MS)
    }
  }

  async pass(ms: number): Promise<void> {
    const end = this.#clock.now() + ms
    await this.until('time goes on', () => this.#clock.now() >= end)
  }

  async allDone(ids: readonly string[], limitMs?: number): Promise<void> {
    await this.#allEnded(ids, limitMs)
    for (const id of ids) {
      const { state, artifacts } = await this.task(id)
      const said = artifacts.map(({ parts = [] }) => parts.map(({ text }) => text).join('')).join()
      const ran = [...this.#runs].filter(([key]) => key.startsWith(`${id}/`)).map(([, count]) => count)
      equal(`task ${id}`, { state, said }, { state: 'completed', said: ran.join(' ') })
    }
  }

  async allDoneOnce(ids: readonly string[], limitMs?: number): Promise<void> {
    await this.#allEnded(ids, limitMs)
    const repeated = [...this.#runs].filter(([, count]) => count > 1)
    equal('what ran more than once', repeated, [])
    const states = await Promise.all(ids.map(async (id) => (await this.task(id)).state))
    equal(
      'tasks that are not completed',
      states.filter((state) => state !== 'completed'),
      [],
    )
    equal('steps that ran', this.#runs.size, STEPS * ids.length)
  }

  async #allEnded(ids: readonly string[], limitMs?: number): Promise<void> {
    const left = new Set(ids)
    const isOver = async (): Promise<boolean> => {
      for (const id of left) {
        const { state } = await this.task(id)
        if (state !== 'completed' && state !== 'failed') return false
        left.delete(id)
      }
      return true
    }
    await this.until('all tasks end', isOver, limitMs)
  }

  async task(id: string): Promise<Task> {
    const task = await this.tasks.getTask(id)
    if (task === null) throw new Error(`The task ${id} is gone`)
    return task
  }

  async close(): Promise<void> {
    for (const close of [...this.#open].reverse()) await this.#ended(close())
  }

  /** Lets time go on until the promise is settled: parts close within a time of the clock. */
  async #ended(closing: Promise<unknown>): Promise<void> {
    let isOver = false
    const over = closing.finally(() => (isOver = true))
    over.catch(() => undefined)
    await this.until('it closes', () => isOver)
    await over
  }

  #process({ point, store = this.store }: ProcessOptions): {
    readonly crashing: CrashingStore
    readonly clock: Clock
    readonly tasks: DurableTaskManager
    readonly die: () => void
  } {
    const crashing = new CrashingStore(store, point, () => undefined)
    let isDead = false
    const clock: Clock = {
      now: () => this.#clock.now(),
      monotonic: () => this.#clock.monotonic(),
      schedule: (callback, delayMs) =>
        this.#clock.schedule(() => {
          if (!isDead && !crashing.isCrashed) callback()
        }, delayMs),
    }
    const tasks = this.#manager(crashing.asStore, clock, {}, () => isDead || crashing.isCrashed)
    return { crashing, clock, tasks, die: () => void (isDead = true) }
  }

  #manager(
    store: TaskStore,
    clock: Clock,
    options: { readonly sweepIntervalMs?: false },
    isDead = (): boolean => false,
  ): DurableTaskManager {
    // Tasks whose workers die again and again do not fail.
    const given = { store, clock, maxRestarts: 1_000_000, onError: this.#onError, ...options }
    const tasks = new DurableTaskManager(given)
    this.#open.add(async () => {
      if (!isDead()) await tasks.destroy()
    })
    return tasks
  }

  readonly #onError = (error: unknown): void => {
    this.errors.push(error)
  }
}
