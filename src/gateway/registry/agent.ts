/**
 * Agents, as a gateway knows them.
 *
 * @module
 */
import type { Authenticator } from '../../http/auth.js'
import type { JsonObject } from '../../core/json-types.js'

export const AGENT_STATUSES = ['online', 'offline', 'degraded', 'maintenance'] as const

/** Only `online` agents get tasks. `maintenance` is an operator's word: no health check changes it. */
export type AgentStatus = (typeof AGENT_STATUSES)[number]

/** What an agent can do. */
export interface Capability {
  readonly name: string
  readonly description: string
  /** JSON Schemas. */
  readonly inputSchema?: Readonly<JsonObject>
  readonly outputSchema?: Readonly<JsonObject>
}

/** Credentials as a configuration has them. */
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

/** An agent, as it is registered. */
export interface AgentInput {
  readonly id: string
  /** Default is the id. */
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** A name in the gateway's `providers`. Other spellings of the known ones are taken: `langchain`, `VertexAI`. */
  readonly provider: string
  /** At least one; a text is a capability's name. */
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
    /** Of the service: what its provider says. */
    readonly url: string
    /** Credentials: a configuration's, or any `Authenticator` of `a2a-tasks/client`. Nothing shows them again. */
    readonly auth?: EndpointAuth | Authenticator | undefined
    /** How long one answer of the service may take, in ms; of a stream, until it begins. Default is 300,000. */
    readonly timeoutMs?: number | undefined
  }
  /** How many of its tasks may run at once. Default is as many as the gateway lets. */
  readonly maxConcurrentTasks?: number | undefined
  /** Default is `online`. */
  readonly status?: AgentStatus | undefined
  /** What its provider wants to know: `assistantId`, `region` … */
  readonly settings?: Readonly<JsonObject> | undefined
  readonly metadata?:
    | {
        readonly version?: string | undefined
        readonly tags?: readonly string[] | undefined
        readonly extra?: Readonly<JsonObject> | undefined
      }
    | undefined
}

/** An agent, as the registry gives it: frozen. Another of the same id takes its place when anything changes. */
export interface RegisteredAgent {
  readonly id: string
  readonly name: string
  readonly description: string
  /** In its usual spelling: `vertex_ai`. */
  readonly provider: string
  readonly capabilities: readonly Capability[]
  readonly endpoint: {
    readonly url: string
    /** Shows no secret when it is printed or made JSON. */
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
    /** When its status was last set or seen. */
    readonly lastSeenAt: string
    readonly tags: readonly string[]
    readonly extra: Readonly<JsonObject>
  }
}
