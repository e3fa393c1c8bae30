/**
 * The clients of A2A agents, one for each.
 *
 * @module
 */
import type { A2AClient } from '../../../client/a2a-client.js'
import type { Authenticator } from '../../../http/auth.js'
import type { ClientOptions } from '../../../client/options.js'
import { platformFetch } from '../../../runtime/fetch.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import { recordingCredentials } from '../shared/credentials.js'
import { signing, type ServiceOptions } from '../shared/service.js'

/** Fetches the agent's card, and gives a client for it. The signal ends that. */
export type Connect = (agent: RegisteredAgent, signal?: AbortSignal) => Promise<A2AClient>

/** Clients by what they are made of: an agent whose status alone has changed has the same endpoint, and the same client. */
export class ClientCache {
  readonly #connect: Connect
  readonly #clients = new WeakMap<RegisteredAgent['endpoint'], Promise<A2AClient>>()

  constructor(connect: Connect) {
    this.#connect = connect
  }

  /** The agent's client. Who asks meanwhile waits for the same card; a failure is everybody's, and is not kept. */
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

  /** A client by the card as it is now; from now on it is the agent's. */
  async refresh(agent: RegisteredAgent, signal: AbortSignal): Promise<A2AClient> {
    const client = await this.#connect(agent, signal)
    this.#clients.set(agent.endpoint, Promise.resolve(client))
    return client
  }
}

/** It adds nothing. That it is there keeps a client from following redirects to elsewhere with what is signed. */
const SIGNED: Authenticator = { apply: () => undefined }

/** The options of a client for this agent: its credentials, or who signs in their place. */
export function toClientOptions(
  { fetch: given = platformFetch, authorize, urlGuard, clock }: ServiceOptions,
  agent: RegisteredAgent,
): ClientOptions {
  const fetch = recordingCredentials(given, agent)
  if (authorize === undefined) return { fetch, auth: agent.endpoint.auth, urlGuard, clock }
  return { fetch: signing(fetch, authorize, agent), auth: SIGNED, urlGuard, clock }
}
