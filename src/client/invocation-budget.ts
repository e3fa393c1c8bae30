/**
 * Budget of invocations that one session of an agent may make.
 *
 * @module
 */
import { elapsed, systemClock, type Clock } from '../runtime/clock.js'
import { readOptions, requireClock, requireDelay, requireWhole } from '../runtime/options.js'
import { trimSlashes } from '../http/url.js'

/** Options of {@link InvocationBudget}. */
export interface InvocationBudgetOptions {
  /** How many invocations there may be in all. Default is `10`. */
  readonly maxInvocations?: number | undefined
  /** How many different agents may be invoked. Default is `3`. */
  readonly maxAgents?: number | undefined
  /** The least time between two invocations, in ms; `0` for none. Default is `5_000` (5 seconds). */
  readonly cooldownMs?: number | undefined
  /** Default is the platform's clock. */
  readonly clock?: Clock | undefined
}

/** Whether an agent may be invoked now, or why not. */
export type BudgetCheck =
  | { readonly allowed: true }
  | {
      readonly allowed: false
      readonly reason: 'INVOCATION_LIMIT' | 'UNIQUE_AGENT_LIMIT' | 'COOLDOWN'
      /** For the operator: a model that reads it would wait for the moment. */
      readonly detail: string
    }

const KEYS = ['maxInvocations', 'maxAgents', 'cooldownMs', 'clock']

/**
 * Bounds what one session, such as a conversation with a model, sends to other agents by `invokeRemoteAgent`. Make one for
 * each session.
 *
 * @throws {TypeError | RangeError} from the constructor, naming the option that is wrong.
 * @example
 * const budget = new InvocationBudget({ maxInvocations: 5 })
 * await invokeRemoteAgent('https://agent.example', 'Summarize this', { budget })
 */
export class InvocationBudget {
  readonly #maxInvocations: number
  readonly #maxAgents: number
  readonly #cooldownMs: number
  readonly #clock: Clock
  readonly #agents = new Set<string>()
  #invocations = 0
  #last: number | undefined

  constructor(options: InvocationBudgetOptions = {}) {
    const given = readOptions(options, KEYS, 'InvocationBudget')
    const { maxInvocations = 10, maxAgents = 3, cooldownMs = 5_000, clock = systemClock } = given
    this.#maxInvocations = requireWhole('maxInvocations', maxInvocations)
    this.#maxAgents = requireWhole('maxAgents', maxAgents)
    this.#cooldownMs = requireDelay('cooldownMs', cooldownMs, 0)
    requireClock(clock)
    this.#clock = clock
  }

  /** How many invocations were counted. */
  get invocations(): number {
    return this.#invocations
  }

  /** How many different agents were invoked. */
  get agents(): number {
    return this.#agents.size
  }

  /** Whether the agent at this URL may be invoked now. Counts nothing. */
  check(agentUrl: string): BudgetCheck {
    if (this.#invocations >= this.#maxInvocations) {
      return refuse('INVOCATION_LIMIT', `Session invocation limit reached (${this.#maxInvocations}).`)
    }
    if (!this.#agents.has(trimSlashes(agentUrl)) && this.#agents.size >= this.#maxAgents) {
      return refuse('UNIQUE_AGENT_LIMIT', `Unique agent limit reached (${this.#maxAgents}).`)
    }
    const restMs = this.#last === undefined ? 0 : this.#last + this.#cooldownMs - elapsed(this.#clock)
    if (restMs <= 0) return { allowed: true }
    return refuse('COOLDOWN', `Cooldown active. Retry after ${Math.ceil(restMs)}ms.`)
  }

  /** Counts an invocation of the agent, if it is allowed. `invokeRemoteAgent` does so before it sends anything. */
  spend(agentUrl: string): BudgetCheck {
    const checked = this.check(agentUrl)
    if (!checked.allowed) return checked
    this.#invocations += 1
    this.#agents.add(trimSlashes(agentUrl))
    this.#last = elapsed(this.#clock)
    return checked
  }
}

function refuse(reason: 'INVOCATION_LIMIT' | 'UNIQUE_AGENT_LIMIT' | 'COOLDOWN', detail: string): BudgetCheck {
  return { allowed: false, reason, detail }
}
