/** Plays one schedule: processes, users and faults in a world of its own. */
import { isTerminal } from 'a2a-tasks'
import { memoryStore } from 'a2a-tasks/durable'
import type { RequestHandler, Turn } from 'a2a-tasks/server'
import { faultsOf } from './check.js'
import { Ledger } from './ledger.js'
import { expectedOf } from './model.js'
import { Replica, secondAgent, USER, type Shared } from './replica.js'
import { Decisions, FAULTS_END_MS, type Mishap, type Schedule } from './schedule.js'
import { User } from './user.js'
import { fold, rpc, taskIn, type SeenTask } from './wire.js'
import { World } from './world.js'

export interface Outcome {
  /** What is wrong; empty if nothing is. */
  readonly faults: readonly string[]
  /** The names of the faults that happened. */
  readonly happened: readonly string[]
  readonly events: number
  /** In virtual ms. */
  readonly ms: number
  /** What the processes reported. */
  readonly errors: readonly string[]
  /** The log of the task, a line for each event; empty if nothing is wrong or traced. */
  readonly log: readonly string[]
}

/** In ms: a task that does not change for so long, after the last fault, hangs. */
const PATIENCE_MS = 90_000
/** A turn that was handed out a few times in vain is handed out again after 1, 2, 4 … minutes. */
const QUEUE_PATIENCE_MS = 600_000
const READ_MS = 60_000
const HORIZON_MS = 30 * 60_000

export async function simulate(schedule: Schedule, trace?: (line: string) => void): Promise<Outcome> {
  const { setImmediate: platform } = globalThis
  // The event loop has an order of its own: what waits for its next turn goes on with the next promises.
  globalThis.setImmediate = ((callback: () => void) => process.nextTick(callback)) as typeof setImmediate
  try {
    return await played(schedule, trace)
  } finally {
    globalThis.setImmediate = platform
  }
}

async function played(schedule: Schedule, trace: ((line: string) => void) | undefined): Promise<Outcome> {
  const city = new Simulation(schedule, trace)
  const expected = await expectedOf(schedule.program)
  const user = new User(city, expected.signals)
  await city.world.run(HORIZON_MS, () => (user.isDone && !city.isAgentAtWork) || city.hangs)
  const task = await city.read(user.task?.id)
  // A process that stood still may have begun a delegation since, and cancels it when it learns of the end.
  await city.world.run(city.world.now + PATIENCE_MS, () => !city.isAgentAtWork)
  const { errands, isAgentAtWork } = city
  const faults = faultsOf({ expected, schedule, ledger: city.ledger, user, task, errands, isAgentAtWork })
  city.end()
  const { world, decisions, errors } = city
  return {
    faults,
    happened: decisions.faults,
    events: world.events,
    ms: world.now,
    errors,
    log: city.ledger.lines,
  }
}

class Simulation {
  readonly world = new World()
  readonly decisions: Decisions
  readonly schedule: Schedule
  readonly ledger: Ledger
  /** The messages that the second agent has worked on, by their labels. */
  readonly errands: string[] = []
  readonly errors: string[] = []
  readonly replicas: Replica[] = []
  readonly #shared: Shared
  #agent: RequestHandler | undefined
  /** Mishaps that have not happened. */
  #ahead: readonly Mishap[]
  #lives = 0

  constructor(schedule: Schedule, trace: ((line: string) => void) | undefined) {
    const { world } = this
    world.trace = trace
    this.schedule = schedule
    this.decisions = new Decisions(schedule, () => world.now)
    this.ledger = new Ledger(() => world.now)
    this.#ahead = schedule.mishaps
    this.#shared = this.#sharedOf()
    for (let slot = 0; slot < schedule.replicas; slot += 1) this.#start(slot)
    for (const mishap of schedule.mishaps) {
      const { at } = mishap
      if ('ms' in at) world.after(at.ms, mishap.kind, () => this.#happen(mishap))
    }
  }

  #sharedOf(): Shared {
    const { world, decisions, schedule, ledger } = this
    return {
      world,
      decisions,
      schedule,
      store: memoryStore({ now: () => world.now }),
      agent: () => (this.#agent ??= secondAgent({ world }, (label) => this.errands.push(label))),
      onEffect: (replica) => (method, given, result) => ledger.onEffect(replica.name, method, given, result),
      onStep: (replica, key, when) => {
        world.note(`${replica.name} ${when} ${key}`)
        ledger.onStep(key, when)
      },
      onCall: (replica, n, when) => this.#onCall(replica, n, when),
      onError: (replica, error) => {
        this.errors.push(`${world.now} ${replica.name}: ${String(error)}`)
        world.note(`${replica.name} reports ${String(error)}`)
      },
      failsNow: (place, times) => ledger.failsNow(place, times),
      enqueue: (turn) => this.#enqueue(turn),
    }
  }

  /** A queue between the processes: it loses turns, and delivers them twice, late and to any worker. */
  #enqueue(turn: Turn): void {
    const { decisions, schedule } = this
    if (decisions.fails('network', `queue ${turn.taskId}`)) return
    const copies = decisions.fails('twice', `queue ${turn.taskId}`) ? 2 : 1
    for (let copy = 0; copy < copies; copy += 1) {
      this.world.after(decisions.delay('queue', schedule.networkMs * 4), 'turn', () => this.#deliver(turn))
    }
  }

  #deliver(turn: Turn): void {
    const { world, decisions, replicas } = this
    const open = replicas.filter(({ worker, isDead, isClosing }) => worker && !isDead && !isClosing)
    const taker = open[decisions.choose('worker', open.length)]
    const again = (): void => void world.after(500, 'turn again', () => this.#deliver(turn))
    if (taker?.worker === undefined) again()
    else {
      world.note(`${taker.name} gets ${turn.id}`)
      taker.worker.run(turn).catch(again)
    }
  }

  signaled = (name: string): number => this.ledger.signaled.get(name) ?? 0

  /** Whether the second agent has a task that has not ended. */
  get isAgentAtWork(): boolean {
    const tasks = this.#agent?.tasks.listTasks() ?? []
    return tasks.some(({ state }) => !isTerminal(state))
  }

  get hangs(): boolean {
    const patienceMs = this.schedule.work === 'queue' ? QUEUE_PATIENCE_MS : PATIENCE_MS
    return this.world.now > Math.max(this.ledger.grownAt, FAULTS_END_MS) + patienceMs
  }

  /** The task as a process reads it at the end. */
  async read(id: string | undefined): Promise<SeenTask | undefined> {
    const { world } = this
    this.#ahead = []
    const find = (): Replica | undefined =>
      this.replicas.find(({ isDead, isClosing }) => !isDead && !isClosing)
    await world.run(world.now + READ_MS, () => find() !== undefined)
    let answer: object | undefined
    void find()
      ?.handler.dispatch(rpc('GetTask', { id }), { principal: USER })
      .then((given) => (answer = given))
    await world.run(world.now + READ_MS, () => answer !== undefined)
    return fold(undefined, taskIn(answer))
  }

  /** Nothing happens any more. */
  end(): void {
    for (const replica of this.replicas) replica.isDead = true
  }

  #start(slot: number): void {
    this.#lives += 1
    const life = Math.ceil(this.#lives / this.schedule.replicas)
    this.replicas[slot] = new Replica(this.#shared, slot, life, this.#lives)
    this.world.note(`${this.replicas[slot].name} starts`)
  }

  #onCall({ slot }: Replica, n: number, when: 'before' | 'after'): void {
    for (const mishap of this.#ahead) {
      const { at, replica } = mishap
      if (replica === slot && 'call' in at && at.call === n && at.when === when) this.#happen(mishap)
    }
  }

  #happen(mishap: Mishap): void {
    const { world, replicas } = this
    const replica = replicas[mishap.replica]
    if (!this.#ahead.includes(mishap)) return
    this.#ahead = this.#ahead.filter((each) => each !== mishap)
    if (replica === undefined || replica.isDead || replica.isClosing || world.now > FAULTS_END_MS) return
    const { kind, ms } = mishap
    world.note(`${replica.name} ${kind}`)
    if (kind === 'pause') {
      replica.pausedUntil = world.now + ms
      return
    }
    if (kind === 'kill') replica.die()
    else
      void replica.close().catch((error: unknown) => this.ledger.faults.push(`close fails: ${String(error)}`))
    void replica.gone.then(() => world.after(ms, 'restart', () => this.#start(mishap.replica)))
  }
}
