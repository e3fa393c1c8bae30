/** One process of the agent under test, and the second agent. */
import { TaskManager, type Clock } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, type TaskStore } from 'a2a-tasks/durable'
import {
  createProducer,
  createRequestHandler,
  createWorker,
  textOf,
  type Execute,
  type Principal,
  type Producer,
  type RequestHandler,
  type Turn,
  type Worker,
} from 'a2a-tasks/server'
import type { Errand } from './functions.js'
import { fetchOf, type Network } from './network.js'
import { errandText } from './model.js'
import { play, type Outside } from './play.js'
import { wayTo, type OnEffect } from './store.js'
import type { Owner } from './world.js'

export const USER: Principal = { id: 'user' }
const LEASE_MS = 3_000
const SWEEP_MS = 1_000

/** What all processes of a simulation share. */
export interface Shared extends Network {
  readonly store: TaskStore
  readonly agent: () => RequestHandler
  readonly onEffect: (replica: Replica) => OnEffect
  readonly onStep: (replica: Replica, key: string, when: 'begins' | 'does') => void
  readonly onCall: (replica: Replica, n: number, when: 'before' | 'after') => void
  readonly onError: (replica: Replica, error: unknown) => void
  /** Puts a turn into the queue. */
  readonly enqueue: (turn: Turn) => void
  readonly failsNow: Outside['failsNow']
}

export class Replica implements Owner {
  readonly name: string
  readonly slot: number
  isDead = false
  isClosing = false
  pausedUntil = 0
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>
  readonly tasks: DurableTaskManager
  readonly handler: RequestHandler<Principal, DurableTaskManager>
  readonly worker: Worker | undefined
  readonly producer: Producer | undefined
  readonly #shared: Shared
  #onGone: () => void = () => undefined

  /** @param number - Of all lives of all processes. No two of them make the same ids. */
  constructor(shared: Shared, slot: number, life: number, number: number) {
    const { world, decisions, schedule, program } = { ...shared, ...shared.schedule }
    this.#shared = shared
    this.slot = slot
    this.name = `${'abc'[slot] ?? '?'}${life}`
    this.gone = new Promise((resolve) => (this.#onGone = resolve))
    const clock = world.clockOf(this)
    const ids = idsOf(`${'abc'[slot] ?? '?'}${number}`)
    const store = wayTo(shared.store, {
      ...{ world, decisions, owner: this, delayMs: schedule.storeMs },
      onCall: (n, when) => shared.onCall(this, n, when),
      onEffect: shared.onEffect(this),
    })
    const onError = (error: unknown): void => shared.onError(this, error)
    this.tasks = new DurableTaskManager({
      ...{ store, clock, onError, generateId: ids, maxRestarts: 1_000, replica: this.name, retention: false },
      ...{ leaseMs: LEASE_MS, sweepIntervalMs: SWEEP_MS, pollIntervalMs: 1_000, storeRetryMs: 10_000 },
    })
    const outside = this.#outside(clock, ids)
    const common = {
      ...{ card: { name: 'Simulated', url: 'https://simulated.test' }, tasks: this.tasks },
      ...{ clock, generateId: ids, onError, onFollowUp: schedule.onFollowUp },
    }
    const code = {
      principalOf: () => USER,
      limits: { waitingRunMs: schedule.waitingRunMs },
      retry: {
        attempts: 50,
        backoff: { initialMs: 20, maxMs: 100 },
        isRetryable: (error: unknown) => !String(error).includes('The end'),
      },
      execute: ((run) => play(run, program, outside)) satisfies Execute,
    }
    const { work, replicas, isFirstWithoutWorker, priorityMs } = schedule
    const priorityOf = (): number => priorityMs
    const http = { authenticate: () => USER }
    if (work === 'here') {
      this.handler = createRequestHandler<Principal, DurableTaskManager>({ ...common, ...http, ...code })
      return
    }
    const dispatch = work === 'store' ? work : shared.enqueue
    this.handler = createRequestHandler<Principal, DurableTaskManager>({
      ...{ ...common, ...http, dispatch, priorityOf },
    })
    const { card, tasks } = common
    if (schedule.hasProducers) this.producer = createProducer({ card, tasks, dispatch, onError })
    if (slot === 0 && replicas > 1 && isFirstWithoutWorker) return
    this.worker = createWorker<Principal, DurableTaskManager>({
      ...{ ...common, ...code, priorityOf, pollMs: SWEEP_MS },
    })
    if (work === 'store') this.worker.start()
  }

  /** The process is gone, with all that it was about to do. */
  die(): void {
    if (this.isDead) return
    this.isDead = true
    this.#shared.world.note(`${this.name} dies`)
    this.#onGone()
  }

  /** Closes as a process that is replaced: it hands its work over. */
  async close(): Promise<void> {
    this.isClosing = true
    const { graceMs } = this.#shared.schedule
    await Promise.all([this.handler.close({ graceMs }), this.worker?.close({ graceMs })])
    this.#shared.world.note(`${this.name} has closed its handler`)
    await this.tasks.destroy()
    this.die()
  }

  #outside(clock: Clock, generateId: () => string): Outside {
    const { world, agent, onStep, failsNow } = this.#shared
    let client: A2AClient | undefined
    const connect = (): A2AClient =>
      new A2AClient({
        ...{ card: agent().card, clock, generateId, random: () => 0.5 },
        fetch: fetchOf(this.#shared, this, agent),
      })
    return {
      agent: () => (client ??= connect()),
      failsNow,
      onStep: (key, when) => onStep(this, key, when),
      pause: (ms) => world.pause(ms, this),
    }
  }
}

function idsOf(prefix: string): () => string {
  let count = 0
  return () => `${prefix}-${++count}`
}

/** The agent that others delegate to. It never dies. */
export function secondAgent(
  { world }: Pick<Network, 'world'>,
  onErrand: (label: string) => void,
): RequestHandler {
  const clock = world.clockOf()
  const ids = idsOf('agent')
  const execute: Execute = async (run) => {
    // Programs send it.
    const { ms, asks, fails, label } = JSON.parse(run.text) as Errand & { readonly label: string }
    onErrand(label)
    run.start()
    await world.pause(ms)
    if (run.signal.aborted) return undefined
    const answer = asks ? textOf(await run.requireInput(`agent ${label}?`)) : ''
    if (fails) throw new Error('The errand fails')
    return asks ? `errand ${label} ${answer}` : errandText(label, false)
  }
  return createRequestHandler({
    ...{ card: { name: 'Second', url: 'https://second.test' }, execute, clock, generateId: ids },
    tasks: new TaskManager({ clock, generateId: ids, whenFull: 'evict' }),
    authenticate: () => USER,
    onError: () => undefined,
  })
}
