/** Serves an agent with `node:http`, then requests its card, a message and a stream over HTTP. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentCard, SendMessageResponse, StreamResponse } from 'a2a-tasks/schemas'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

// With a fixed port, one line is enough: `createServer(toNodeListener(handler.fetch)).listen(3000)`.
const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const handler = createRequestHandler({
  card: { name: 'Poet', description: 'Writes about the flower that you name', url },
  async *execute(run) {
    yield 'Roses are red, '
    await sleep(20, null, { signal: run.signal })
    yield `${run.text} are blue`
  },
})
server.on('request', toNodeListener(handler.fetch))

function post(path: string, text: string): Promise<Response> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  })
}

// The card lists the URLs of the agent, with their versions and bindings.
const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as AgentCard
assert.equal(card.name, 'Poet')
assert.equal(card.supportedInterfaces[0]?.url, url)

// The response to a message is the task, after it has ended.
const { task } = (await (await post('/message:send', 'violets')).json()) as SendMessageResponse
assert.equal(task?.status.state, 'TASK_STATE_COMPLETED')
assert.equal(task.artifacts?.[0]?.parts.map((part) => part.text).join(''), 'Roses are red, violets are blue')

// Stream the task of another message. An empty line ends an event; a network chunk can end anywhere.
let buffer = ''
const shown: (string | undefined)[] = []
const { body } = await post('/message:stream', 'cornflowers')
for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
  const events = (buffer + chunk).split('\n\n')
  buffer = events.pop() ?? ''
  for (const event of events) {
    const data = event.split('\n').find((line) => line.startsWith('data: '))
    if (data === undefined) continue // a heartbeat
    const { task, statusUpdate, artifactUpdate } = JSON.parse(data.slice('data: '.length)) as StreamResponse
    shown.push(artifactUpdate?.artifact.parts[0]?.text ?? (task ?? statusUpdate)?.status.state)
  }
}
assert.deepEqual(shown, [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'Roses are red, ',
  'cornflowers are blue',
  'TASK_STATE_COMPLETED',
])
console.log(shown.join('\n'))

await handler.close()
server.close()
