/**
 * Agents: their registration, and their form in the registry.
 *
 * @module
 */
import type { Authenticator } from '../../http/authenticator.js'
import type { JsonObject } from '../../core/json-types.js'

export const AGENT_STATUSES = ['online', 'offline', 'degraded', 'maintenance'] as const

/** Health of an agent. Only `online` agents get tasks. Operators set `maintenance`, and no health check changes it. */
export type AgentStatus = (typeof AGENT_STATUSES)[number]

/** A capability of an agent. */
export interface Capability {
  readonly name: string
  readonly description: string
  /** JSON Schema. */
  readonly inputSchema?: Readonly<JsonObject>
  readonly outputSchema?: Readonly<JsonObject>
}

/** Credentials in the form of a configuration file. */
export type EndpointAuth =
  | { readonly type: 'bearer'; readonly token: string }
  | { readonly type: 'api_key'; readonly header: string; readonly key: string }
  | {
      readonly type: 'oauth2'
      readonly clientId: string
      readonly clientSecret: string
      readonly tokenUrl: string
      readonly scope?: string | undefined
    }

/** Registration of an agent. */
export interface AgentInput {
  readonly id: string
  /** Default is the id. */
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** Name in the gateway's `providers`. Known providers have aliases, such as `langchain` and `VertexAI`. */
  readonly provider: string
  /** At least one. A string is the name of a capability. */
  readonly capabilities: readonly (
    | string
    | {
        readonly name: string
        readonly description?: string | undefined
        readonly inputSchema?: Readonly<JsonObject> | undefined
        readonly outputSchema?: Readonly<JsonObject> | undefined
      }
  )[]
  readonly endpoint: {
    /** URL of the service. Its meaning depends on the provider. */
    readonly url: string
    /**
     * Credentials: in the form of a configuration file, or any `Authenticator` of `a2a-tasks/client`. They are hidden
     * from then on.
     */
    readonly auth?: EndpointAuth | Authenticator | undefined
    /** Time limit for a response, in ms; for a stream, until it begins. Default is 300,000. */
    readonly timeoutMs?: number | undefined
  }
  /** Number of its tasks that may run at the same time. Default is no limit of its own. */
  readonly maxConcurrentTasks?: number | undefined
  /** Default is `online`. */
  readonly status?: AgentStatus | undefined
  /** Settings for the provider, such as `assistantId` or `region`. */
  readonly settings?: Readonly<JsonObject> | undefined
  readonly metadata?:
    | {
        readonly version?: string | undefined
        readonly tags?: readonly string[] | undefined
        readonly extra?: Readonly<JsonObject> | undefined
      }
    | undefined
}

/** An agent in the registry. Frozen: every change creates another object. */
export interface RegisteredAgent {
  readonly id: string
  readonly name: string
  readonly description: string
  /** Canonical name, such as `vertex_ai`. */
  readonly provider: string
  readonly capabilities: readonly Capability[]
  readonly endpoint: {
    readonly url: string
    /** Hides its credentials when it is printed or serialized. */
    readonly auth?: Authenticator
    readonly timeoutMs: number
  }
  readonly maxConcurrentTasks?: number
  readonly status: AgentStatus
  readonly settings: Readonly<JsonObject>
  readonly metadata: {
    readonly version: string
    /** ISO 8601, UTC. */
    readonly createdAt: string
    /** Time when its status was last set or observed. */
    readonly lastSeenAt: string
    readonly tags: readonly string[]
    readonly extra: Readonly<JsonObject>
  }
}
