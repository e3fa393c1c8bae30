/** The agents, as Bun and Deno serve whatever has a `fetch`. Of Deno, the command says on which port. */

import { createAgents } from './agent.mjs'

const { fetch } = createAgents()

export default { fetch, port: 0, hostname: '127.0.0.1' }
