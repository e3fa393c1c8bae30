/** A client connects to an agent over HTTP, sends it a message, and answers its question. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AError } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

// The agent. Its card contains its URL, so the server listens first.
const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const handler = createRequestHandler({
  card: { name: 'Travel agent', url },
  async *execute(run) {
    const city = textOf(await run.requireInput('Where to?'))
    for (const street of ['Main Street', 'Station Road']) yield `Hotel in ${street}, ${city}. `
  },
})
server.on('request', toNodeListener(handler.fetch))

// The client. It needs only the URL.
const agent = await A2AClient.connect(url)
const { protocolBinding, protocolVersion } = agent.interface
console.log(`${agent.card.name} speaks A2A ${protocolVersion} over ${protocolBinding}`)

const result = await agent.run('A hotel', {
  onUpdate({ event }) {
    if (event.type === 'status') console.log(`  ${event.state}`)
    if (event.type === 'artifact') console.log(`  + ${textOf(event.artifact).trim()}`)
  },
  onInputRequired(task) {
    console.log(`  ? ${textOf(task.message ?? {})}`)
    return 'Rome'
  },
})
assert(result.type === 'completed')
assert.equal(result.text, 'Hotel in Main Street, Rome. Hotel in Station Road, Rome. ')
console.log(`${result.type}: ${result.text}`)

// The agent keeps the task, with its conversation.
const task = await agent.getTask(result.task.id)
assert.deepEqual(
  task.messages.map(({ role, parts }) => `${role}: ${parts[0]?.text}`),
  ['user: A hotel', 'agent: Where to?', 'user: Rome'],
)

// A request that the agent refuses throws an error with a code.
const refused = await agent.cancelTask(task.id).catch((error: unknown) => error)
assert(A2AError.is(refused, 'TASK_NOT_CANCELABLE'))
console.log(`${refused.code}: ${refused.message}`)

await handler.close()
server.close()
