/**
 * Configuration of a gateway: its limits and its agents.
 *
 * @module
 */
import type { CircuitBreakerOptions } from '../admission/circuit-breaker.js'
import type { RateLimitOptions } from '../admission/rate-limit.js'
import type { AgentInput } from '../registry/agent.js'

/** What a gateway holds to. `loadGatewayConfig` reads it from a file. */
export interface GatewaySettings {
  /** How long a task may be worked on at a stretch, in ms: up to its end or a question. Default is 300,000. */
  readonly taskTimeoutMs?: number | undefined
  /** How many tasks may be worked on at a time. Default is 100. */
  readonly maxConcurrentTasks?: number | undefined
  /** How many tasks each owner may begin in how much time. Default is no limit. */
  readonly rateLimit?: RateLimitOptions | undefined
  /** After how many failures in a row an agent's service is left alone, and how long. Default is 5, and 30,000 ms; `false` for never. */
  readonly circuitBreaker?: CircuitBreakerOptions | false | undefined
  /** The first pause between two looks at a task that goes on, in ms; they grow to ten times that. Default is 1,000. */
  readonly pollIntervalMs?: number | undefined
  /** How long a service may take to cancel a task, in ms. Default is 10,000. */
  readonly cancelTimeoutMs?: number | undefined
}

/**
 * A configuration. Credentials under `auth` are not shown when it is printed or made JSON; a variable in `url`, `settings` or
 * any other value is.
 */
export interface GatewayConfig {
  /** Default is `true`. Where it is `false`, the rest is as it is by default. */
  readonly enabled: boolean
  readonly gateway: GatewaySettings & {
    /** How often `A2AGateway.fromConfig` has the agents' health checked, in ms. Default is 30,000. */
    readonly healthCheckIntervalMs: number
    readonly taskTimeoutMs: number
    readonly maxConcurrentTasks: number
  }
  readonly agents: readonly AgentInput[]
}
