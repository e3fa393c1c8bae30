/** Plays tasks whose turns share keys: no moment has more of one key at work than may be, and each task ends. */
import { isTerminal, type Clock, type TaskSnapshot } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type Lease, type TaskStore } from 'a2a-tasks/durable'
import {
  createProducer,
  createRequestHandler,
  createWorker,
  textOf,
  type Dispatch,
  type Principal,
  type RequestHandler,
  type Run,
  type Turn,
  type TurnsPerKey,
  type Worker,
} from 'a2a-tasks/server'
import { hashOf, Random } from './random.js'
import { Decisions, FAULTS_END_MS, scheduleOf, type Mishap, type Schedule } from './schedule.js'
import { wayTo } from './store.js'
import { World, type Owner } from './world.js'

/** Schedules with seeds from here on are of keys. */
export const WITH_KEYS = 90_000_000

type Act =
  | { readonly act: 'step' | 'work' | 'sleep'; readonly ms: number }
  | { readonly act: 'ask' | 'signal' }
  | { readonly act: 'throw'; readonly times: number }

interface Job {
  readonly number: number
  readonly key: string
  readonly acts: readonly Act[]
  readonly atMs: number
  readonly signalAtMs: number
  readonly moreAtMs: number | undefined
  readonly cancelAtMs: number | undefined
}

interface City {
  readonly schedule: Schedule
  readonly jobs: readonly Job[]
  readonly perKey: Omit<TurnsPerKey, 'keyOf'>
  readonly concurrency: number
  /** How far the clocks of the processes are ahead, in ms: each in its turn. */
  readonly skews: readonly number[]
}

const CARD = { name: 'Simulated', url: 'https://simulated.test' }
const LEASE_MS = 3_000
const SWEEP_MS = 1_000
const HORIZON_MS = 60 * 60_000

function cityOf(seed: number): City {
  const random = new Random(hashOf(seed, 7))
  const schedule = scheduleOf(seed)
  const keys = random.pick([1, 1, 2, 3])
  const isCalm = schedule.mishaps.length === 0 && Object.values(schedule.rates).every((rate) => rate === 0)
  const max = random.pick([1, 1, 2, 3])
  return {
    schedule: {
      ...schedule,
      replicas: random.pick([2, 2, 3]),
      mishaps: schedule.mishaps.map((mishap) => ({ ...mishap, replica: random.whole(0, 1) })),
      work: random.pick(['store', 'store', 'queue']),
    },
    jobs: Array.from({ length: random.whole(2, 9) }, (_, number) => jobOf(random, number, keys)),
    perKey: {
      max,
      rate: random.chance(0.25)
        ? { max: random.pick([1, 2]), perMs: random.pick([500, 3_000, 20_000]) }
        : undefined,
    },
    concurrency: random.pick([1, 2, 10]),
    skews: isCalm ? [0] : [0, random.pick([0, 0, 3_000, 60_000]), random.pick([0, 0, -3_000, -60_000])],
  }
}

function jobOf(random: Random, number: number, keys: number): Job {
  return {
    number,
    key: `key ${random.whole(1, keys)}`,
    acts: Array.from({ length: random.whole(1, 4) }, () => actOf(random)),
    atMs: random.pick([0, 0, 0, random.whole(0, 3_000)]),
    signalAtMs: random.whole(0, 6_000),
    moreAtMs: random.chance(0.2) ? random.whole(0, 4_000) : undefined,
    cancelAtMs: random.chance(0.15) ? random.whole(0, 6_000) : undefined,
  }
}

function actOf(random: Random): Act {
  const act = random.pick(['step', 'step', 'work', 'work', 'sleep', 'ask', 'signal', 'throw'])
  if (act === 'ask' || act === 'signal') return { act }
  if (act === 'throw') return { act, times: random.whole(1, 2) }
  return { act, ms: random.pick([1, 50, 400, 2_500]) }
}

/** Code that is at work. */
interface Working {
  readonly process: Owner
  readonly taskId: string
  readonly key: string
  readonly leaseId: string | undefined
  readonly signal: AbortSignal
}

/** What all processes of a simulation share. */
class Yard {
  readonly world = new World()
  readonly decisions: Decisions
  readonly city: City
  readonly store: TaskStore = memoryStore({ now: () => this.world.now })
  readonly faults: string[] = []
  readonly errors: string[] = []
  readonly working = new Set<Working>()
  /** When turns began, by key. */
  readonly begun = new Map<string, number[]>()
  readonly thrown = new Map<string, number>()
  readonly #leases = new Map<string, { readonly id: string; readonly endsAt: number }>()

  constructor(seed: number, trace: ((line: string) => void) | undefined) {
    this.city = cityOf(seed)
    this.world.trace = trace
    this.decisions = new Decisions(this.city.schedule, () => this.world.now)
  }

  get isCalm(): boolean {
    return this.city.skews.length === 1
  }

  /** The store has done what it was asked to. */
  onEffect(method: string, given: readonly unknown[], result: unknown): void {
    const leases = this.#leases
    const now = this.world.now
    if (method === 'acquire') {
      const [key, lease] = given as readonly [{ id: string }, Lease]
      if ((result as { leaseId: string } | undefined)?.leaseId === lease.id)
        leases.set(key.id, { id: lease.id, endsAt: now + lease.ttlMs })
    } else if (method === 'renew') {
      const [all, ttlMs] = given as readonly [readonly { key: { id: string }; id: string }[], number]
      for (const { key, id } of all)
        if ((result as string[]).includes(id)) leases.set(key.id, { id, endsAt: now + ttlMs })
    } else if (method === 'release') {
      const [key, id, , next] = given as readonly [{ id: string }, string, unknown, Lease | undefined]
      if (result !== true || leases.get(key.id)?.id !== id) return
      if (next === undefined) leases.delete(key.id)
      else leases.set(key.id, { id: next.id, endsAt: now + next.ttlMs })
    } else if (method === 'commit' && result === 'committed') {
      const [{ key, head }] = given as readonly [{ key: { id: string }; head: { hasEnded: boolean } }]
      if (head.hasEnded) leases.delete(key.id)
    }
    this.check()
  }

  /** At no time are more turns of a key at work than may be. */
  check(): void {
    const counts = new Map<string, number>()
    for (const { process, taskId, key, leaseId, signal } of this.working) {
      const lease = this.#leases.get(taskId)
      const isLive = lease !== undefined && lease.id === leaseId && lease.endsAt > this.world.now
      if (process.isDead || signal.aborted || !isLive) continue
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    for (const [key, count] of counts) {
      if (count <= this.city.perKey.max || this.faults.length > 0) continue
      const names = [...this.working].map(({ process, taskId }) => `${process.name} ${taskId}`)
      this.faults.push(
        `${count} turns of ${key} at ${this.world.now} ms, at most ${this.city.perKey.max}: ${names.join()}`,
      )
    }
  }
}

class Process implements Owner {
  readonly name: string
  isDead = false
  isClosing = false
  pausedUntil = 0
  readonly tasks: DurableTaskManager
  readonly handler: RequestHandler<Principal, DurableTaskManager>
  readonly worker: Worker
  readonly #yard: Yard

  constructor(
    yard: Yard,
    number: number,
    dispatch: Dispatch,
    onCall: (n: number, when: 'before' | 'after') => void,
  ) {
    this.#yard = yard
    this.name = `p${number}`
    const { world, decisions, city } = yard
    const { schedule, perKey, skews, concurrency } = city
    const platform = world.clockOf(this)
    const skewMs = skews[number % skews.length] ?? 0
    // It is set right, or wrong, at some time.
    const clock: Clock = { ...platform, now: () => platform.now() + (world.now < 7_000 ? skewMs : 0) }
    const store = wayTo(yard.store, {
      ...{ world, decisions, owner: this, delayMs: schedule.storeMs, onCall },
      onEffect: (...effect) => yard.onEffect(...effect),
    })
    const generateId = idsOf(this.name)
    const onError = (error: unknown): void =>
      void yard.errors.push(`${world.now} ${this.name}: ${String(error)}`)
    this.tasks = new DurableTaskManager({
      ...{ store, clock, onError, generateId, maxRestarts: 1_000, retention: false },
      ...{ leaseMs: LEASE_MS, sweepIntervalMs: SWEEP_MS, pollIntervalMs: 1_000, storeRetryMs: 10_000 },
    })
    const common = { card: CARD, tasks: this.tasks, clock, generateId, onError }
    this.handler = createRequestHandler<Principal, DurableTaskManager>({ ...common, dispatch })
    this.worker = createWorker<Principal, DurableTaskManager>({
      ...{ ...common, concurrency, pollMs: SWEEP_MS },
      perKey: { ...perKey, keyOf: (task) => yard.city.jobs[numberIn(task)]?.key },
      retry: { attempts: 50, backoff: { initialMs: 500, maxMs: 2_000 } },
      execute: (run) => this.#play(run),
    })
    if (dispatch === 'store') this.worker.start()
  }

  async close(): Promise<void> {
    this.isClosing = true
    const { graceMs } = this.#yard.city.schedule
    await Promise.all([this.handler.close({ graceMs }), this.worker.close({ graceMs })])
    await this.tasks.destroy()
    this.isDead = true
  }

  async #play(run: Run): Promise<string> {
    const { world, city, begun } = this.#yard
    const job = city.jobs[numberIn(run)]
    if (job === undefined) throw new Error('The task is of no job')
    world.note(`${this.name} begins a turn of job ${job.number}: ${run.text}`)
    begun.set(job.key, [...(begun.get(job.key) ?? []), world.now])
    if (run.text === 'more') await this.#work(run, job, 50)
    else for (const [at, act] of job.acts.entries()) await this.#perform(run, job, act, `${at}`)
    return 'done'
  }

  async #perform(run: Run, job: Job, act: Act, name: string): Promise<void> {
    const { thrown } = this.#yard
    if (act.act === 'step') await run.step(name, () => this.#work(run, job, act.ms))
    else if (act.act === 'work') await this.#work(run, job, act.ms)
    else if (act.act === 'sleep') await run.sleep(name, { ms: act.ms })
    else if (act.act === 'ask') textOf(await run.requireInput(`${name}?`))
    else if (act.act === 'signal') await run.waitFor(`go ${name}`)
    else if ('times' in act) {
      const place = `${job.number} ${name}`
      const times = (thrown.get(place) ?? 0) + 1
      thrown.set(place, times)
      if (times <= act.times) throw new Error(`Thrown at ${place}`)
    }
  }

  async #work(run: Run, { key }: Job, ms: number): Promise<void> {
    const { taskId, signal } = run
    const leaseId = this.tasks.leasesOf(taskId)?.leaseOf(taskId)
    const working = { process: this, taskId, key, leaseId, signal }
    this.#yard.working.add(working)
    this.#yard.check()
    await this.#yard.world.pause(ms, this)
    this.#yard.working.delete(working)
  }
}

/** The job of a task, by its first message. */
function numberIn({ messages }: Pick<TaskSnapshot, 'messages'> | Pick<Run, 'messages'>): number {
  const [first] = messages
  return first === undefined ? -1 : Number(textOf(first))
}

function idsOf(prefix: string): () => string {
  let count = 0
  return () => `${prefix}-${++count}`
}

class KeysSimulation {
  readonly yard: Yard
  readonly #processes: Process[] = []
  readonly #client: DurableTaskManager
  #ahead: readonly Mishap[]
  #lives = 0
  /** The tasks of the jobs, as they were read last. */
  readonly seen = new Map<number, TaskSnapshot>()

  constructor(seed: number, trace?: (line: string) => void) {
    this.yard = new Yard(seed, trace)
    const { world, city, store } = this.yard
    const { schedule } = city
    const tracked = new Proxy(store, {
      get: (target, name): unknown => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function' || typeof name !== 'string') return value
        return async (...given: unknown[]): Promise<unknown> => {
          const result: unknown = await Reflect.apply(value, target, given)
          this.yard.onEffect(name, given, result)
          return result
        }
      },
    })
    const generateId = idsOf('client')
    const clock = world.clockOf()
    this.#client = new DurableTaskManager({ store: tracked, clock, generateId, sweepIntervalMs: false })
    this.#ahead = schedule.mishaps
    for (let slot = 0; slot < schedule.replicas; slot += 1) this.#start(slot)
    for (const mishap of schedule.mishaps) {
      const { at } = mishap
      if ('ms' in at) world.after(at.ms, mishap.kind, () => this.#happen(mishap))
    }
    for (const job of city.jobs) world.after(job.atMs, `job ${job.number}`, () => void this.#live(job))
  }

  get isDone(): boolean {
    const { jobs } = this.yard.city
    return jobs.every(({ number }) => {
      const task = this.seen.get(number)
      return task !== undefined && isTerminal(task.state)
    })
  }

  get #dispatch(): Dispatch {
    return this.yard.city.schedule.work === 'queue' ? (turn) => this.#enqueue(turn) : 'store'
  }

  /** Begins the task of a job, and does all that its user does. */
  async #live(job: Job): Promise<void> {
    const { world } = this.yard
    const tasks = this.#client
    const producer = createProducer({ card: CARD, tasks, dispatch: this.#dispatch })
    const { id } = await producer.send(`${job.number}`)
    const at = (ms: number | undefined, what: string, deed: () => Promise<unknown>): void => {
      if (ms !== undefined) world.after(ms, what, () => void deed().catch(() => undefined))
    }
    for (const [number, { act }] of job.acts.entries())
      if (act === 'signal') at(job.signalAtMs, 'signal', () => tasks.signal(id, `go ${number}`))
    at(job.moreAtMs, 'more', () => producer.send('more', { taskId: id }))
    at(job.cancelAtMs, 'cancel', () => tasks.cancelTask(id))
    for (;;) {
      const task = await tasks.peekTask(id)
      if (task !== null) this.seen.set(job.number, task)
      if (task === null || isTerminal(task.state)) return
      if (task.state === 'input-required') {
        const messageId = `${id} ${task.history.length}`
        await producer.send('answer', { taskId: id, messageId }).catch(() => undefined)
      }
      await world.pause(200)
    }
  }

  /** A queue between the processes: it loses turns, and delivers them twice, late and to any worker. */
  #enqueue(turn: Turn): void {
    const { decisions, city, world } = this.yard
    if (decisions.fails('network', `queue ${turn.taskId}`)) return
    const copies = decisions.fails('twice', `queue ${turn.taskId}`) ? 2 : 1
    for (let copy = 0; copy < copies; copy += 1)
      world.after(decisions.delay('queue', city.schedule.networkMs * 4), 'turn', () => this.#deliver(turn))
  }

  #deliver(turn: Turn): void {
    const { world, decisions } = this.yard
    const open = this.#processes.filter(({ isDead, isClosing }) => !isDead && !isClosing)
    const again = (): void => void world.after(500, 'turn again', () => this.#deliver(turn))
    const taker = open[decisions.choose('worker', open.length)]
    if (taker === undefined) again()
    else taker.worker.run(turn).catch(again)
  }

  #start(slot: number): void {
    this.#lives += 1
    const onCall = (n: number, when: 'before' | 'after'): void => {
      for (const mishap of this.#ahead) {
        const { at, replica } = mishap
        if (replica === slot && 'call' in at && at.call === n && at.when === when) this.#happen(mishap)
      }
    }
    this.#processes[slot] = new Process(this.yard, this.#lives, this.#dispatch, onCall)
  }

  #happen(mishap: Mishap): void {
    const { world, faults } = this.yard
    const process = this.#processes[mishap.replica]
    if (!this.#ahead.includes(mishap)) return
    this.#ahead = this.#ahead.filter((each) => each !== mishap)
    if (process === undefined || process.isDead || process.isClosing || world.now > FAULTS_END_MS) return
    const { kind, ms } = mishap
    world.note(`${process.name} ${kind}`)
    const restart = (): void => void world.after(ms, 'restart', () => this.#start(mishap.replica))
    if (kind === 'pause') process.pausedUntil = world.now + ms
    else if (kind === 'kill') {
      process.isDead = true
      restart()
    } else
      process.close().then(restart, (error: unknown) => void faults.push(`close fails: ${String(error)}`))
  }

  end(): void {
    for (const process of this.#processes) process.isDead = true
  }
}

/** What is wrong, in words. */
export async function faultsOfKeys(seed: number, trace?: (line: string) => void): Promise<readonly string[]> {
  const { setImmediate: platform } = globalThis
  // As in `simulate`.
  globalThis.setImmediate = ((callback: () => void) => process.nextTick(callback)) as typeof setImmediate
  try {
    const simulation = new KeysSimulation(seed, trace)
    const { yard } = simulation
    await yard.world.run(HORIZON_MS, () => simulation.isDone || yard.faults.length > 0)
    simulation.end()
    for (const { number, cancelAtMs } of yard.city.jobs) {
      const state = simulation.seen.get(number)?.state
      const isRight = state === 'completed' || (state === 'canceled' && cancelAtMs !== undefined)
      if (!isRight && yard.faults.length === 0)
        yard.faults.push(`job ${number} is ${String(state)} at the end`)
    }
    yard.faults.push(...tooOften(yard), ...tooLate(yard))
    if (yard.faults.length > 0) yard.faults.push(JSON.stringify(yard.city), ...yard.errors.slice(0, 20))
    return yard.faults
  } finally {
    globalThis.setImmediate = platform
  }
}

/** Where nothing goes wrong, no more turns of a key begin within a time than may. */
function tooOften({ isCalm, begun, city }: Yard): string[] {
  const { rate } = city.perKey
  if (!isCalm || rate === undefined) return []
  return [...begun].flatMap(([key, times]) =>
    times.flatMap((at, index) => {
      const before = times[index - rate.max]
      // A turn begins some calls after it was let in.
      const isTooOften = before !== undefined && at - before < rate.perMs - 1_000
      return isTooOften ? [`turns of ${key} begin at ${before} and ${at} ms`] : []
    }),
  )
}

/** Where nothing goes wrong, turns that wait begin soon: the whole takes not much longer than the work does one by one. */
function tooLate({ isCalm, world, city, begun }: Yard): string[] {
  if (!isCalm || city.perKey.rate !== undefined || city.schedule.work === 'queue') return []
  const turns = [...begun.values()].flat().length
  const workMs = city.jobs
    .flatMap(({ acts }) => acts)
    .reduce((sum, act) => sum + ('ms' in act ? act.ms : 0), 0)
  const mostMs = 12_000 + workMs + 2_500 * turns
  return world.now > mostMs ? [`all is done at ${world.now} ms, expected by ${mostMs} ms`] : []
}
