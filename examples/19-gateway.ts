/** One gateway for three agents: two functions and a remote A2A agent. The gateway can choose the agent for a message. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { A2AClient } from 'a2a-tasks/client'
import { a2a, A2AGateway, custom, gatewayRequestHandler, loadGatewayConfig } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'

// The remote agent, in memory. A real one needs no `fetch`.
const poet = fakeAgent(({ text }) => `O ${text}!`)

const config = await loadGatewayConfig(
  `
a2a:
  gateway: { task_timeout_seconds: 60, max_concurrent_tasks: 10 }
  agents:
    - id: counter
      provider: counting
      endpoint: { url: 'http://localhost' }
      capabilities: [{ name: counting, description: Counts to three }]
    - id: sleeper
      provider: sleeping
      endpoint: { url: 'http://localhost' }
      capabilities: [{ name: sleeping, description: Sleeps until it is canceled }]
    - id: poet
      provider: a2a
      endpoint: { url: '${poet.url}', auth: { type: bearer, token: '\${POET_TOKEN}' } }
      capabilities: [{ name: poems, description: Writes poems }]
`,
  { env: { POET_TOKEN: 'secret' }, providers: ['counting', 'sleeping', 'a2a'] },
)
const gateway = A2AGateway.fromConfig(config, {
  providers: {
    counting: custom(async function* () {
      for (const number of ['one ', 'two ', 'three']) yield await sleep(1, number)
    }),
    sleeping: custom((task, { signal }) => sleep(3_600_000, 'It is late', { signal })),
    a2a: a2a({ fetch: poet.fetch }),
  },
})

// Use the gateway as a library.
const counted = await gateway.sendTask('counter', 'Count')
assert.equal(counted.artifacts[0]?.parts?.map(({ text }) => text).join(''), 'one two three')
assert.equal(gateway.findAgentForTask('I need poems')?.id, 'poet')

// Serve the gateway as one agent.
const handler = createRequestHandler({
  card: { name: 'gateway', url: 'https://gateway.example' },
  tasks: gateway.tasks,
  execute: gatewayRequestHandler(gateway),
})
const client = new A2AClient({
  card: handler.card,
  fetch: (url, init) => handler.fetch(new Request(url, init)),
})
const poem = await client.run('Some poems about the sea, please')
assert(poem.ok)
console.log(poem.text)

// A cancellation by the client reaches the agent behind the gateway.
const naps = { parts: [{ text: 'Good night' }], metadata: { agentId: 'sleeper' } }
const canceling = new AbortController()
const nap = await client.run(naps, {
  signal: canceling.signal,
  onUpdate: ({ task }) => task.state === 'working' && canceling.abort(),
})
console.log(nap.type)
assert.equal(nap.type, 'canceled')
assert.equal(gateway.loadOf('sleeper'), 0)
await gateway.close()
await handler.close()
