/** An agent identifies its users, asks a question, and takes a correction while it works. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { SendMessageResponse, StreamResponse } from 'a2a-tasks/schemas'
import { createRequestHandler, type Principal } from 'a2a-tasks/server'

interface User extends Principal {
  readonly name: string
}
/** Replaces your table of tokens. */
const users = new Map<string, User>([
  ['token-a', { id: 'user-1', name: 'Ada' }],
  ['token-b', { id: 'user-2', name: 'Bob' }],
])

const handler = createRequestHandler<User>({
  card: {
    name: 'Travel agent',
    url: 'https://travel.example',
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  },
  authenticate(request) {
    const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '') ?? []
    return users.get(token) ?? null
  },
  // While the agent works, it reads this message at once. Any other message waits for the next run.
  onFollowUp: ({ parts }) => (parts[0]?.text === 'no more hotels' ? 'steer' : 'queue'),
  async execute(run) {
    const answer = await run.requireInput(`Where to, ${run.principal?.name}?`)
    const where = answer.parts[0]?.text
    for (let n = 1; run.messages.at(-1)?.parts[0]?.text !== 'no more hotels'; n++) {
      run.artifact({ artifactId: 'hotels', parts: [{ text: `Hotel ${n} in ${where}` }] })
      await turn()
      run.signal.throwIfAborted()
    }
    run.complete('As you wish')
  },
})

function request(path: string, token?: string, body?: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  return handler.fetch(new Request(`https://travel.example${path}`, init))
}
function message(text: string, taskId?: string): object {
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], taskId } }
}

// A request without a token is refused, and the response names the scheme.
const refused = await request('/message:send', undefined, message('A trip'))
assert.equal(refused.status, 401)
assert.equal(refused.headers.get('www-authenticate'), 'Bearer realm="Travel agent"')

// The response to a message arrives when the task has ended, or waits for the user.
const sent = await request('/message:send', 'token-a', message('A trip'))
const { task } = (await sent.json()) as SendMessageResponse
assert.equal(task?.status.state, 'TASK_STATE_INPUT_REQUIRED')
assert.equal(task.status.message?.parts[0]?.text, 'Where to, Ada?')

// Another user cannot see the task.
assert.equal((await request(`/tasks/${task.id}`, 'token-b')).status, 404)

// Send the answer, then a correction while the agent lists hotels.
const stream = await request('/message:stream', 'token-a', message('Rome', task.id))
let hotels = 0
for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
  const { artifactUpdate } = JSON.parse(/data: (.*)/.exec(chunk)?.[1] ?? '{}') as StreamResponse
  if (artifactUpdate !== undefined) hotels++
  if (hotels === 2) await request('/message:send', 'token-a', message('no more hotels', task.id))
}
const ended = (await (await request(`/tasks/${task.id}`, 'token-a')).json()) as typeof task
assert.equal(ended.status.message?.parts[0]?.text, 'As you wish')
console.log(ended.artifacts?.[0]?.parts.map(({ text }) => text).join('\n'))

await handler.close()
