/**
 * The agents on Workers, in a Durable Object. Tasks outlive requests, and of a Worker alone neither memory nor promises
 * and timers do.
 */

import { createAgents } from './agent.mjs'

export class Agents {
  #agents = createAgents()

  fetch(request) {
    return this.#agents.fetch(request)
  }
}

export default {
  fetch: (request, { AGENTS }) => AGENTS.get(AGENTS.idFromName('agents')).fetch(request),
}
