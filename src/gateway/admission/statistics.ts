/**
 * Statistics of a gateway: how its turns have ended, and how long they took.
 *
 * @module
 */
import { elapsed, type Clock } from '../../runtime/clock.js'
import { added, MAX_UNITS, type Amounts } from '../../core/spending.js'
import type { TaskState } from '../../core/lifecycle.js'

/**
 * What agents have done for this gateway since it was created, in this process. Every number counts turns: from a message to
 * the end of its task or to a question. A task that asks counts once more with each answer.
 */
export interface GatewayStats {
  /** Turns that run now. */
  readonly load: number
  /** Turns that have begun. */
  readonly tasks: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly rejected: number
  /** Turns that ended with a question, or with a request for credentials. */
  readonly interrupted: number
  /** Turns that the gateway gave up: it was closed, another process has the task, the task was removed, or its next turn began. */
  readonly abandoned: number
  /** How long the ended turns took, in ms. `mean` is 0 before the first one has ended. */
  readonly durationMs: { readonly total: number; readonly mean: number; readonly max: number }
  /**
   * What the tasks that have ended have spent, by unit, as far as their agents tell: in the first 16 units that were seen. Tasks
   * of A2A agents tell it by `spendingOf`.
   */
  readonly spent: Amounts
}

type Result = 'completed' | 'failed' | 'canceled' | 'rejected' | 'interrupted' | 'abandoned'

const RESULTS: Readonly<Partial<Record<TaskState, Result>>> = {
  completed: 'completed',
  failed: 'failed',
  canceled: 'canceled',
  rejected: 'rejected',
  'input-required': 'interrupted',
  'auth-required': 'interrupted',
}

class Counts {
  readonly #results = { completed: 0, failed: 0, canceled: 0, rejected: 0, interrupted: 0, abandoned: 0 }
  #tasks = 0
  #totalMs = 0
  #maxMs = 0
  #spent: Amounts = {}

  begin(): void {
    this.#tasks += 1
  }

  end(result: Result, ms: number, spent: Amounts): void {
    this.#results[result] += 1
    for (const [unit, amount] of Object.entries(spent))
      if (Object.hasOwn(this.#spent, unit) || Object.keys(this.#spent).length < MAX_UNITS)
        this.#spent = added(this.#spent, { [unit]: amount })
    // A clock that is not monotonic may have been set back.
    this.#totalMs += Math.max(0, ms)
    this.#maxMs = Math.max(this.#maxMs, ms)
  }

  toStats(load: number): GatewayStats {
    const ended = Object.values(this.#results).reduce((sum, count) => sum + count)
    const mean = ended === 0 ? 0 : this.#totalMs / ended
    return {
      ...{ load, tasks: this.#tasks, ...this.#results },
      durationMs: { total: this.#totalMs, mean, max: this.#maxMs },
      spent: { ...this.#spent },
    }
  }
}

/** Counts the turns of all agents, and of each. An agent has a fixed number of counts, whatever it has done. */
export class Statistics {
  readonly #clock: Clock
  readonly #isRegistered: (agentId: string) => boolean
  readonly #total = new Counts()
  readonly #agents = new Map<string, Counts>()

  constructor(clock: Clock, isRegistered: (agentId: string) => boolean) {
    this.#clock = clock
    this.#isRegistered = isRegistered
  }

  /**
   * Counts a turn that begins. Call the returned function when it is over, with the state of its task, `null` for none, and with
   * what the task has spent, in all its turns.
   */
  begin(agentId: string): (state: TaskState | null, spent?: Amounts) => void {
    const all = [this.#total]
    // An agent that was unregistered has none, so that their number has a limit.
    if (this.#isRegistered(agentId)) all.push(this.#countsOf(agentId))
    for (const counts of all) counts.begin()
    const start = elapsed(this.#clock)
    return (state, spent = {}) => {
      const result = (state === null ? undefined : RESULTS[state]) ?? 'abandoned'
      const isOver = result !== 'interrupted' && result !== 'abandoned'
      for (const counts of all) counts.end(result, elapsed(this.#clock) - start, isOver ? spent : {})
    }
  }

  total(load: number): GatewayStats {
    return this.#total.toStats(load)
  }

  of(agentId: string, load: number): GatewayStats {
    return (this.#agents.get(agentId) ?? new Counts()).toStats(load)
  }

  /** Removes the counts of an agent that was unregistered. */
  forget(agentId: string): void {
    this.#agents.delete(agentId)
  }

  #countsOf(agentId: string): Counts {
    const counts = this.#agents.get(agentId) ?? new Counts()
    this.#agents.set(agentId, counts)
    return counts
  }
}
