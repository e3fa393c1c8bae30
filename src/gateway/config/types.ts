/**
 * Configuration of a gateway: its limits and its agents.
 *
 * @module
 */
import type { CircuitBreakerOptions } from '../admission/circuit-breaker.js'
import type { RateLimitOptions } from '../../runtime/rate-limit.js'
import type { AgentInput } from '../registry/agent.js'

/** Limits and timeouts of a gateway. `loadGatewayConfig` reads them from a file. */
export interface GatewaySettings {
  /** Time limit of a turn, in ms: from a message to the end of the task or to a question. Default is 300,000. */
  readonly taskTimeoutMs?: number | undefined
  /** Number of tasks that may run at the same time, or `Infinity`. Default is 100. */
  readonly maxConcurrentTasks?: number | undefined
  /** Rate limit per owner. Default is none. */
  readonly rateLimit?: RateLimitOptions | undefined
  /** Circuit breaker per agent, or `false` for none. Default opens after 5 consecutive failures, for 30,000 ms. */
  readonly circuitBreaker?: CircuitBreakerOptions | false | undefined
  /** First pause between two polls of a running task, in ms. Pauses grow up to ten times that. Default is 1,000. */
  readonly pollIntervalMs?: number | undefined
  /** Time limit for a service to cancel a task, in ms. Default is 10,000. */
  readonly cancelTimeoutMs?: number | undefined
}

/**
 * A configuration, as `loadGatewayConfig` returns it. Credentials under `auth` are hidden when it is printed or
 * serialized; variables in `url`, `settings` or any other value are not.
 */
export interface GatewayConfig {
  /** Default is `true`. With `false` the other fields have their defaults. */
  readonly enabled: boolean
  readonly gateway: GatewaySettings & {
    /** Interval of the health checks that `A2AGateway.fromConfig` starts, in ms. Default is 30,000. */
    readonly healthCheckIntervalMs: number
    readonly taskTimeoutMs: number
    readonly maxConcurrentTasks: number
  }
  readonly agents: readonly AgentInput[]
}
