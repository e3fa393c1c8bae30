/** Behaviour of corvid-agent beyond its document, and the differences of this library. */
import type { A2AMessage, A2ATask, A2ATaskSendRequest, A2ATaskState } from 'a2a-tasks/server'
import type { RemoteInvocationResult } from 'a2a-tasks/client'
import { corvid } from 'a2a-tasks/wire'
import { expect, expectTypeOf, test } from 'vitest'
import { agent, get } from '../spec/support/agent.js'
import { fetched, send } from './support/dialects.js'

test('the types are those of the document', () => {
  expectTypeOf<A2ATaskState>().toEqualTypeOf<'submitted' | 'working' | 'completed' | 'failed'>()
  expectTypeOf<A2AMessage>().toEqualTypeOf<{
    role: 'user' | 'agent'
    parts: { type: 'text'; text: string }[]
  }>()
  expectTypeOf<A2ATask>().toEqualTypeOf<{
    id: string
    state: A2ATaskState
    messages: A2AMessage[]
    sessionId: string | null
    createdAt: string
    updatedAt: string
  }>()
  expectTypeOf<{ message: string; skill: string; timeoutMs: number }>().toExtend<
    A2ATaskSendRequest['params']
  >()
  expectTypeOf<{ message: string }>().toExtend<A2ATaskSendRequest['params']>()
  expectTypeOf<RemoteInvocationResult>().toEqualTypeOf<{
    readonly success: boolean
    readonly taskId: string
    readonly responseText: string | null
    readonly error: string | null
  }>()
})

test('a task that asks is shown as working to clients that know four states', async () => {
  const a = agent(async (run) => `You said ${String((await run.requireInput('Which one?')).parts[0]?.text)}`)
  const { body } = await send(a, '/a2a/tasks/send', { message: 'Hello' })
  const { id } = body as { id: string }
  await a.tasks.waitFor(id, { until: 'input-required' })
  expect((await fetched(a, `/a2a/tasks/${id}`)).body).toMatchObject({ state: 'working' })
  await a.handler.close()
})

test.each(['/a2a/tasks', '/a2a/tasks/1/more', '/api/agents/1/agent-card'])(
  '%s is not found',
  async (path) => {
    expect(
      await fetched(
        agent(() => 'done', { dialects: [corvid()] }),
        path,
      ),
    ).toEqual({
      status: 404,
      body: { error: `Nothing is served at GET ${path}` },
    })
  },
)

test('a limit of time may be any, and a depth is passed over', async () => {
  const a = agent(() => 'done', { dialects: [corvid()] })
  for (const more of [{ timeoutMs: 1 }, { timeoutMs: 86_400_000 }, { depth: 99, sourceAgent: 'other' }]) {
    const { status } = await send(a, '/a2a/tasks/send', { params: { message: 'Hello', ...more } })
    expect(status).toBe(200)
  }
})

test('the card is compact JSON, for 5 minutes, and not for scripts of other sites', async () => {
  const a = agent(() => 'done', { dialects: [corvid()] })
  const response = await a.handler.fetch(get('/.well-known/agent-card.json'))
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
  expect(response.headers.has('access-control-allow-origin')).toBe(false)
  const text = await response.text()
  expect(text).toBe(JSON.stringify(JSON.parse(text)))
})
