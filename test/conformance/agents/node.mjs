/** The agents on Node's HTTP server. */

import { createServer } from 'node:http'
import { toNodeListener } from 'a2a-tasks/server/node'
import { createAgents } from './agent.mjs'

const { fetchFor } = createAgents()

const server = createServer((request, response) => {
  toNodeListener(fetchFor(request.url))(request, response)
})
server.listen(0, '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${server.address().port}`))
