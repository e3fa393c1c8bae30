/** Mounts an agent at a path of a Fastify application. */
import assert from 'node:assert/strict'
import fastify, { type RouteHandlerMethod } from 'fastify'
import type { AgentCard, SendMessageResponse } from 'a2a-tasks/schemas'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

const handler = createRequestHandler({
  // The URL that clients use, which can be that of a proxy. The handler needs only its path.
  card: { name: 'Echo', url: 'https://agent.example/agent' },
  execute: (run) => `You said: ${run.text}`,
})
const listener = toNodeListener(handler.fetch)
const agent: RouteHandlerMethod = (request, reply) => {
  reply.hijack() // The listener sends the response.
  listener(request.raw, reply.raw)
}

const app = fastify()
app.get('/.well-known/agent-card.json', agent)
// A scope without body parsers, so the handler reads the body itself.
app.register((scope, _, done) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
  scope.all('/agent', agent)
  scope.all('/agent/*', agent)
  done()
})
app.post('/health', (request) => ({ tasks: handler.tasks.size(), body: request.body }))
const origin = await app.listen({ port: 0, host: '127.0.0.1' })

const card = (await (await fetch(`${origin}/.well-known/agent-card.json`)).json()) as AgentCard
const { pathname } = new URL(card.supportedInterfaces[0]?.url ?? '')
assert.equal(pathname, '/agent')

const headers = { 'content-type': 'application/json' }
function post(operation: string, text: string): Promise<Response> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  const body = JSON.stringify({ message })
  return fetch(`${origin}${pathname}/message:${operation}`, { method: 'POST', headers, body })
}

const { task } = (await (await post('send', 'one')).json()) as SendMessageResponse
assert.equal(task?.artifacts?.[0]?.parts[0]?.text, 'You said: one')

const stream = await post('stream', 'two')
assert.equal(stream.headers.get('content-type'), 'text/event-stream')
const events = await stream.text()
assert.match(events, /You said: two/)
console.log(events)

// The other routes of the application still parse bodies.
const health = await fetch(`${origin}/health`, { method: 'POST', headers, body: '{"how":"are you"}' })
assert.deepEqual(await health.json(), { tasks: 2, body: { how: 'are you' } })

await handler.close()
await app.close()
