/** A webhook receives the changes of a task, while no client is connected. Failed deliveries are sent again. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AClient, NotificationError, verifyNotification } from 'a2a-tasks/client'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

// The receiver: it checks the token, and ignores a delivery that it already has.
const token = crypto.randomUUID()
const received: string[] = []
const seen = new Set<string>()
let failures = 2
let end = (): void => {}
const ended = new Promise<void>((resolve) => (end = resolve))

async function receive(request: Request): Promise<Response> {
  try {
    const { event, taskId, id = '' } = await verifyNotification(request, { token, isExpected: () => true })
    if (failures-- > 0) return new Response(null, { status: 503 })
    const isNew = !seen.has(`${taskId} ${id}`)
    seen.add(`${taskId} ${id}`)
    if (isNew) {
      if (event.type === 'artifact') received.push(textOf(event.artifact))
      else if (event.type !== 'message') received.push(event.type === 'task' ? event.task.state : event.state)
      if (received.at(-1) === 'completed') end()
    }
    return new Response(null, { status: 204 })
  } catch (error) {
    return new Response(null, { status: error instanceof NotificationError ? error.statusCode : 500 })
  }
}
const hook = createServer(toNodeListener(receive))
const hookUrl = await listen(hook)

// The agent. It sends webhooks to a private network only if `allow` names the host.
const server = createServer()
const agentUrl = await listen(server)
const handler = createRequestHandler({
  card: { name: 'Weather', url: agentUrl },
  async execute(run) {
    const city = textOf(await run.requireInput('Which city?'))
    return `Sun in ${city}`
  },
  push: { allow: ['127.0.0.1'], retryMinMs: 20 },
})
server.on('request', toNodeListener(handler.fetch))

async function listen(one: Server): Promise<string> {
  await once(one.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(one.address() as AddressInfo).port}`
}

// The client: it sends a message and an answer, and does not wait for the result.
const agent = await A2AClient.connect(agentUrl)
const asked = await agent.send('The weather')
assert(asked.type === 'task')
const taskId = asked.task.id
await agent.createPushConfig(taskId, { url: hookUrl, token })
await agent.send({ parts: [{ text: 'Rome' }], taskId }, { returnImmediately: true })

await ended
assert.deepEqual(received, ['input-required', 'working', 'Sun in Rome', 'completed'])

// A request without the right token is refused.
const headers = { 'content-type': 'application/json', 'x-a2a-notification-token': 'a guess' }
assert.equal((await fetch(hookUrl, { method: 'POST', headers, body: '{}' })).status, 401)

await handler.close()
const [health] = await handler.push.health(taskId)
console.log(`${health?.delivered} delivered, ${health?.state}`)
for (const one of [server, hook]) one.close()
