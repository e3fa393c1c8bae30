/**
 * Cache of A2A clients, one per agent.
 *
 * @module
 */
import type { A2AClient } from '../../../client/a2a-client.js'
import type { Authenticator } from '../../../http/authenticator.js'
import type { ClientOptions } from '../../../client/options.js'
import { platformFetch } from '../../../runtime/fetch.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import { authFor } from '../../registry/registration.js'
import { recordingCredentials } from '../shared/credentials.js'
import { signing, type ServiceOptions } from '../shared/service.js'

/** Fetches the agent's card and returns a client for it. The signal aborts the request. */
export type Connect = (agent: RegisteredAgent, signal?: AbortSignal) => Promise<A2AClient>

/** Clients by endpoint object. An agent whose status alone has changed keeps its endpoint, and so its client. */
export class ClientCache {
  readonly #connect: Connect
  readonly #clients = new WeakMap<RegisteredAgent['endpoint'], Promise<A2AClient>>()

  constructor(connect: Connect) {
    this.#connect = connect
  }

  /**
   * Returns the agent's client. Concurrent calls share one request for the card. A failure rejects all of them and is
   * not cached.
   */
  get(agent: RegisteredAgent): Promise<A2AClient> {
    const { endpoint } = agent
    const cached = this.#clients.get(endpoint)
    if (cached !== undefined) return cached
    const client = this.#connect(agent)
    this.#clients.set(endpoint, client)
    client.catch(() => {
      if (this.#clients.get(endpoint) === client) this.#clients.delete(endpoint)
    })
    return client
  }

  /** Fetches the card again, and caches a new client for it. */
  async refresh(agent: RegisteredAgent, signal: AbortSignal): Promise<A2AClient> {
    const client = await this.#connect(agent, signal)
    this.#clients.set(agent.endpoint, Promise.resolve(client))
    return client
  }
}

/**
 * Adds no credentials. Its presence keeps the client from following redirects to another origin with signed requests.
 */
const SIGNED: Authenticator = { apply: () => undefined }

/** Returns the client's options for this agent, with its own credentials or with `authorize` in their place. */
export function toClientOptions(options: ServiceOptions, agent: RegisteredAgent): ClientOptions {
  const { fetch: given = platformFetch, authorize, urlGuard, clock } = options
  const fetch = recordingCredentials(given, agent)
  if (authorize === undefined) return { fetch, auth: authFor(agent, options), urlGuard, clock }
  return { fetch: signing(fetch, authorize, agent), auth: SIGNED, urlGuard, clock }
}
