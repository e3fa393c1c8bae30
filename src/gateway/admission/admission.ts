/**
 * Whether an agent takes one more task now.
 *
 * @module
 */
import { systemClock, type Clock } from '../../runtime/clock.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { CircuitBreaker, type CircuitBreakerOptions } from './circuit-breaker.js'
import { RateLimiter, type RateLimitOptions } from './rate-limit.js'
import { agentBusy, rateLimited } from './refusals.js'
import { requireWhole } from '../require.js'

export interface AdmissionOptions {
  readonly clock?: Clock | undefined
  /** How many tasks of all agents may run at once, or `Infinity`. Default is 100. */
  readonly maxConcurrentTasks?: number | undefined
  /** For each agent. `false` for none. */
  readonly circuitBreaker?: CircuitBreakerOptions | false | undefined
  /** For each owner. Default is none. */
  readonly rateLimit?: RateLimitOptions | undefined
}

export interface AdmissionRequest {
  readonly agent: Pick<RegisteredAgent, 'id' | 'maxConcurrentTasks'>
  /** Whose task it is. All that are nobody's share one rate limit. */
  readonly owner?: string | undefined
}

interface AgentState {
  running: number
  readonly breaker: CircuitBreaker | undefined
}

/** Counts what runs, and refuses what would be too much. */
export class Admission {
  readonly #clock: Clock
  readonly #maxConcurrentTasks: number
  readonly #breakerOptions: CircuitBreakerOptions | false
  readonly #limiter: RateLimiter | undefined
  readonly #agents = new Map<string, AgentState>()
  #running = 0

  /** @throws {TypeError | RangeError} naming the option that makes no sense. */
  constructor(options: AdmissionOptions = {}) {
    const { clock = systemClock, maxConcurrentTasks = 100, circuitBreaker = {}, rateLimit } = options
    this.#clock = clock
    this.#maxConcurrentTasks =
      maxConcurrentTasks === Infinity ? Infinity : requireWhole('maxConcurrentTasks', maxConcurrentTasks)
    this.#breakerOptions = circuitBreaker
    this.#limiter = rateLimit === undefined ? undefined : new RateLimiter(rateLimit, clock)
    // What makes no sense is told now, not with the first task.
    this.#newState()
  }

  /**
   * Lets a task begin. Whoever is let in calls what is returned when the task has ended, once or more.
   *
   * @throws {A2AError} `AGENT_BUSY`, `RATE_LIMITED`. Nothing has changed then: nothing counts, no token is spent.
   */
  admit(request: AdmissionRequest): () => void {
    this.check(request)
    const { id } = request.agent
    this.#limiter?.consume(ownerOf(request))
    const state = this.#agents.get(id) ?? this.#newState()
    this.#agents.set(id, state)
    return this.#reserve(state)
  }

  /** Throws what {@link admit} would throw. */
  check(request: AdmissionRequest): void {
    const { id, maxConcurrentTasks = Infinity } = request.agent
    if (this.#running >= this.#maxConcurrentTasks) throw agentBusy(id, 'the gateway has too much to do')
    const state = this.#agents.get(id)
    if (this.loadOf(id) >= maxConcurrentTasks) throw agentBusy(id, 'it has too much to do')
    const openMs = state?.breaker?.waitMs ?? 0
    if (openMs > 0) throw agentBusy(id, 'its service keeps failing', openMs)
    const limitedMs = this.#limiter?.waitMs(ownerOf(request)) ?? 0
    if (limitedMs > 0) throw rateLimited(limitedMs)
  }

  /** Whether {@link admit} would let somebody in who is not limited himself. */
  hasRoom({ id, maxConcurrentTasks = Infinity }: AdmissionRequest['agent']): boolean {
    return this.loadOf(id) < maxConcurrentTasks && (this.#agents.get(id)?.breaker?.waitMs ?? 0) === 0
  }

  /** How many tasks the agent has. */
  loadOf(agentId: string): number {
    return this.#agents.get(agentId)?.running ?? 0
  }

  /** The agent's service did what it was asked. To be told before the task leaves. */
  succeeded(agentId: string): void {
    this.#agents.get(agentId)?.breaker?.succeeded()
  }

  /** The agent's service has answered: it is there. */
  answered(agentId: string): void {
    this.#agents.get(agentId)?.breaker?.answered()
  }

  /** The agent's service failed, and may well fail the next. To be told before the task leaves. */
  failed(agentId: string): void {
    this.#agents.get(agentId)?.breaker?.failed()
  }

  /** For an agent that is gone. Its tasks that still run count for the gateway only. */
  forget(agentId: string): void {
    this.#agents.delete(agentId)
  }

  #newState(): AgentState {
    const options = this.#breakerOptions
    return { running: 0, breaker: options === false ? undefined : new CircuitBreaker(options, this.#clock) }
  }

  #reserve(state: AgentState): () => void {
    const releaseBreaker = state.breaker?.enter()
    state.running += 1
    this.#running += 1
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      state.running -= 1
      this.#running -= 1
      releaseBreaker?.()
    }
  }
}

/** Nobody is called so: what is nobody's shares one limit. */
function ownerOf({ owner = '' }: AdmissionRequest): string {
  return owner
}
