/**
 * Admission of tasks: concurrency limits, rate limits and circuit breakers.
 *
 * @module
 */
import { rateLimited } from '../../core/errors.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { CircuitBreaker, type CircuitBreakerOptions } from './circuit-breaker.js'
import { RateLimiter, type RateLimitOptions } from '../../runtime/rate-limit.js'
import { agentBusy } from './refusals.js'
import { requireWhole } from '../../runtime/options.js'

export interface AdmissionOptions {
  readonly clock?: Clock | undefined
  /** Number of tasks that may run at the same time over all agents, or `Infinity`. Default is 100. */
  readonly maxConcurrentTasks?: number | undefined
  /** Circuit breaker per agent, or `false` for none. */
  readonly circuitBreaker?: CircuitBreakerOptions | false | undefined
  /** Rate limit per owner. Default is none. */
  readonly rateLimit?: RateLimitOptions | undefined
}

export interface AdmissionRequest {
  readonly agent: Pick<RegisteredAgent, 'id' | 'maxConcurrentTasks'>
  /** The owner of the task. Tasks without an owner share one rate limit. */
  readonly owner?: string | undefined
}

interface AgentState {
  running: number
  readonly breaker: CircuitBreaker | undefined
}

/** Counts running tasks, and refuses those beyond a limit. */
export class Admission {
  readonly #clock: Clock
  readonly #maxConcurrentTasks: number
  readonly #breakerOptions: CircuitBreakerOptions | false
  readonly #limiter: RateLimiter | undefined
  readonly #agents = new Map<string, AgentState>()
  #running = 0

  /** @throws {TypeError | RangeError} for an option with an invalid value. The error names the option. */
  constructor(options: AdmissionOptions = {}) {
    const { clock = systemClock, maxConcurrentTasks = 100, circuitBreaker = {}, rateLimit } = options
    this.#clock = clock
    this.#maxConcurrentTasks =
      maxConcurrentTasks === Infinity ? Infinity : requireWhole('maxConcurrentTasks', maxConcurrentTasks)
    this.#breakerOptions = circuitBreaker
    this.#limiter = rateLimit === undefined ? undefined : new RateLimiter(rateLimit, 'A2AGateway', clock)
    // Validates the options of the circuit breaker now, not with the first task.
    this.#newState()
  }

  /**
   * Admits a task, and returns the function that releases its capacity. Calls of it after the first have no effect.
   *
   * @throws {A2AError} `AGENT_BUSY`, `RATE_LIMITED`. A refusal changes nothing: it counts no task and consumes no
   *   token.
   */
  admit(request: AdmissionRequest): () => void {
    this.check(request)
    this.#limiter?.consume(ownerOf(request))
    return this.count(request.agent.id)
  }

  /** Counts a task that was admitted in another process. Returns the function that releases its capacity. */
  count(agentId: string): () => void {
    const state = this.#agents.get(agentId) ?? this.#newState()
    this.#agents.set(agentId, state)
    return this.#reserve(state)
  }

  /** Throws what {@link admit} would throw, without admitting. */
  check(request: AdmissionRequest): void {
    const { id, maxConcurrentTasks = Infinity } = request.agent
    if (this.#running >= this.#maxConcurrentTasks) throw agentBusy(id, 'the gateway has too much to do')
    if (this.loadOf(id) >= maxConcurrentTasks) throw agentBusy(id, 'it has too much to do')
    const openMs = this.waitMsOf(id)
    if (openMs > 0) throw agentBusy(id, 'its service keeps failing', openMs)
    const limitedMs = this.#limiter?.waitMs(ownerOf(request)) ?? 0
    if (limitedMs > 0) throw rateLimited(limitedMs)
  }

  /** Whether the agent has capacity. Ignores the limits of the gateway and of the owner. */
  hasRoom({ id, maxConcurrentTasks = Infinity }: AdmissionRequest['agent']): boolean {
    return this.loadOf(id) < maxConcurrentTasks && this.waitMsOf(id) === 0
  }

  /** The number of running tasks of all agents. */
  get load(): number {
    return this.#running
  }

  /** Returns the number of the agent's running tasks. */
  loadOf(agentId: string): number {
    return this.#agents.get(agentId)?.running ?? 0
  }

  /** Returns the time for which the circuit breaker of the agent admits no task, in ms. */
  waitMsOf(agentId: string): number {
    return this.#agents.get(agentId)?.breaker?.waitMs ?? 0
  }

  /** Records a success of the agent's service. Call it before the capacity is released. */
  succeeded(agentId: string): void {
    this.#agents.get(agentId)?.breaker?.succeeded()
  }

  /** Records a response of the agent's service. */
  answered(agentId: string): void {
    this.#agents.get(agentId)?.breaker?.answered()
  }

  /** Records a failure of the agent's service. Call it before the capacity is released. */
  failed(agentId: string): void {
    this.#agents.get(agentId)?.breaker?.failed()
  }

  /** Removes the state of an agent that was unregistered. Its running tasks count only for the gateway from then on. */
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

/** No owner has an empty name, so it is the key of all tasks without an owner. */
function ownerOf({ owner = '' }: AdmissionRequest): string {
  return owner
}
