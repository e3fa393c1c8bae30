import { bearerAuth } from 'a2a-tasks/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { vertexAI } from '../../../../src/gateway/providers/vertex/provider.js'
import { startVertexStub, type A2AStep, type VertexStub } from '../../../services/vertex/vertex-stub.js'
import { agentAt, asked, calling, collect, fault, follow, textsOf } from '../a2a/support/a2a.js'

let stub: VertexStub
beforeAll(async () => {
  stub = await startVertexStub()
})
afterAll(() => stub.stop())

const provider = vertexAI()

function at(settings: object = {}) {
  const made = agentAt(stub.url, { settings: { resource: stub.name, protocol: 'a2a', ...settings } })
  return { ...made, endpoint: { ...made.endpoint, auth: bearerAuth(stub.token) } }
}

const last = () => stub.requests.at(-1)

describe('an A2A agent on Agent Engine', () => {
  it('accepts a task, and is asked for it', async () => {
    stub.a2a({ state: 'WORKING' }, { artifact: 'Hello' }, { state: 'COMPLETED' })
    const agent = at()
    const sent = await provider.sendTask(agent, asked('hello'), calling())
    expect(sent.state).toBe('submitted')
    expect(last()).toMatchObject({
      path: `/v1beta1/${stub.name}/a2a/v1/message:send`,
      body: { message: { role: 'ROLE_USER', content: [{ text: 'hello' }] } },
    })
    const done = await follow(provider, agent, sent)
    expect(done).toMatchObject({ state: 'completed', ref: sent.ref })
    expect(textsOf(done)).toEqual(['Hello'])
  })

  it('asks, and is answered in the same task', async () => {
    stub.a2a({ state: 'INPUT_REQUIRED', says: 'Which?' })
    const agent = at()
    const sent = await provider.sendTask(agent, asked('hello'), calling())
    const waiting = await follow(provider, agent, sent)
    expect(waiting).toMatchObject({ state: 'input-required', message: { parts: [{ text: 'Which?' }] } })
    const { ref = {} } = waiting
    await provider.sendTask(agent, asked('This', { ref }), calling())
    expect(last()?.body).toMatchObject({ message: { taskId: ref['taskId'], contextId: ref['contextId'] } })
  })

  it('streams', async () => {
    stub.a2a({ state: 'WORKING' }, { artifact: 'Hello' }, { state: 'COMPLETED' })
    const updates = await collect(provider.streamTask(at(), asked('hello'), calling()))
    expect(updates.map(({ state }) => state)).toEqual(['submitted', 'working', undefined, 'completed'])
    expect(updates.flatMap(textsOf)).toEqual(['Hello'])
  })

  it('is sent the task where it has no streams', async () => {
    const updates = await collect(provider.streamTask(at({ streaming: false }), asked('hello'), calling()))
    expect(updates).toMatchObject([{ state: 'submitted' }])
  })

  it('is canceled', async () => {
    stub.a2a({ state: 'WORKING' }, new Promise(() => {}))
    const agent = at()
    const { ref = {} } = await provider.sendTask(agent, asked('hello'), calling())
    expect((await provider.cancelTask(agent, ref, calling())).state).toBe('canceled')
    expect((await provider.getTask(agent, ref, calling())).state).toBe('canceled')
  })

  it.each<[A2AStep, object]>([
    [
      { state: 'REJECTED', says: 'No' },
      { state: 'rejected', message: { parts: [{ text: 'No' }] } },
    ],
    [{ state: 'AUTH_REQUIRED', says: 'Who?' }, { state: 'auth-required' }],
    [{ state: 'FAILED' }, { state: 'failed' }],
  ])('comes to an end: %j', async (step, update) => {
    stub.a2a(step)
    const agent = at()
    const sent = await provider.sendTask(agent, asked('hello'), calling())
    expect(await follow(provider, agent, sent)).toMatchObject(update)
  })

  it('knows no other tasks', async () => {
    expect(await fault(provider.getTask(at(), { taskId: 'other' }, calling()))).toMatchObject({
      code: 'TASK_NOT_FOUND',
      data: { taskId: 'other' },
    })
  })

  it('is given tokens of Google if it has no other credentials', async () => {
    const credentials = { getAccessToken: () => Promise.resolve(stub.token) }
    const bare = agentAt(stub.url, { settings: { resource: stub.name, protocol: 'a2a' } })
    const own = vertexAI({ credentials })
    expect((await own.sendTask(bare, asked('hello'), calling())).state).toBe('submitted')
    expect(await own.healthCheck(bare, calling())).toBe('online')
    expect(last()).toMatchObject({ method: 'GET', path: `/v1/${stub.name}` })
  })
})
