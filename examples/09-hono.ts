/** Mounts an agent at a path of a Hono application, which also runs on Bun, Deno and Workers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import type { AgentCard, SendMessageResponse } from 'a2a-tasks/schemas'
import { createRequestHandler } from 'a2a-tasks/server'

const app = new Hono()
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
await once(server, 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const handler = createRequestHandler({
  card: { name: 'Echo', url: `${origin}/agent` },
  execute: (run) => `You said: ${run.text}`,
})

app.all('/agent/*', (context) => handler.fetch(context.req.raw))
// Clients that know only the host request the card here.
app.get('/.well-known/agent-card.json', (context) => handler.fetch(context.req.raw))
app.get('/health', (context) => context.json({ tasks: handler.tasks.size() }))

const card = (await (await fetch(`${origin}/.well-known/agent-card.json`)).json()) as AgentCard
const url = card.supportedInterfaces[0]?.url ?? ''
assert.equal(url, `${origin}/agent`)

function post(operation: string, text: string): Promise<Response> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  return fetch(`${url}/message:${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  })
}

const { task } = (await (await post('send', 'one')).json()) as SendMessageResponse
assert.equal(task?.artifacts?.[0]?.parts[0]?.text, 'You said: one')

const stream = await post('stream', 'two')
assert.equal(stream.headers.get('content-type'), 'text/event-stream')
const events = await stream.text()
assert.match(events, /You said: two/)
assert.deepEqual(await (await fetch(`${origin}/health`)).json(), { tasks: 2 })
console.log(events)

await handler.close()
server.close()
