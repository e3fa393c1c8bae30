/** Selection of a gateway's agent for a message over HTTP. */
import { A2AError } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { JsonObject } from 'a2a-tasks/schemas'
import { createRequestHandler } from 'a2a-tasks/server'
import { describe, expect, it } from 'vitest'
import { SERVICE_FAILED } from '../../src/gateway/turns/turn.js'
import type { CustomRun } from '../../src/gateway/providers/custom.js'
import { gatewayRequestHandler } from '../../src/gateway/request-handler.js'
import { gate } from '../server/interop/support/agent.js'
import { setUp } from './support/gateway.js'
import { gatewayOf, rpc, scene, serveGateway } from './support/request-handler.js'

/** Says who it is. */
const named: CustomRun = (_task, { agent }) => `I am ${agent.id}`

const TWO = { alice: named, bob: named }

/** What the only result of `SendMessage` says. */
async function answer(url: string, params: JsonObject): Promise<string> {
  const { body } = await rpc(url, 'SendMessage', params, { 'a2a-version': '1.0' })
  const { result, error } = body as {
    result?: { task: { artifacts: { parts: { text: string }[] }[] } }
    error?: { message: string }
  }
  return result?.task.artifacts[0]?.parts[0]?.text ?? error?.message ?? 'nothing'
}

function message(text: string, metadata?: JsonObject): JsonObject {
  const messageId = 'm'
  return { messageId, role: 'ROLE_USER', parts: [{ text }], ...(metadata && { metadata }) }
}

describe('a new task goes to the agent', () => {
  it.each<[string, JsonObject]>([
    ['metadata.agentId of its message', { message: message('hi', { agentId: 'bob' }) }],
    ['metadata.agent_id of its message', { message: message('hi', { agent_id: 'bob' }) }],
    ['metadata.agentId of its request', { message: message('hi'), metadata: { agentId: 'bob' } }],
    ['metadata.agent_id of its request', { message: message('hi'), metadata: { agent_id: 'bob' } }],
    ['its tenant', { message: message('hi'), tenant: 'bob' }],
    [
      'its message, whatever the request and the tenant say',
      {
        message: message('alice', { agentId: 'bob' }),
        metadata: { agentId: 'alice' },
        tenant: 'alice',
      },
    ],
    ['its text, by the name of a capability', { message: message('Ask Bob, please') }],
  ])('of %s', async (_, params) => {
    const { gateway } = gatewayOf(TWO)
    const { url } = await serveGateway(gateway)
    expect(await answer(url, params)).toBe('I am bob')
  })

  it('of the path of HTTP+JSON', async () => {
    const { gateway } = gatewayOf(TWO)
    const { url } = await serveGateway(gateway)
    const response = await fetch(`${url}/bob/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/a2a+json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: message('hi') }),
    })
    expect(await response.json()).toMatchObject({ task: { artifacts: [{ parts: [{ text: 'I am bob' }] }] } })
  })

  it('that the option chooses, or, where it chooses none, that can do it', async () => {
    const { gateway } = gatewayOf(TWO)
    const { url } = await serveGateway(gateway, {
      chooseAgent: ({ text, principal, metadata }) =>
        text.startsWith('!') && principal === undefined ? (metadata['to'] as string) : undefined,
    })
    expect(await answer(url, { message: message('!'), metadata: { to: 'bob' } })).toBe('I am bob')
    // The default is not asked any more.
    expect(await answer(url, { message: message('bob', { agentId: 'alice' }) })).toBe('I am bob')
  })

  it('whose turn it is, each message taking one turn', async () => {
    const { gateway } = gatewayOf({
      alice: { run: named, agent: { capabilities: ['talk'] } },
      bob: { run: named, agent: { capabilities: ['talk'] } },
    })
    const { url } = await serveGateway(gateway)
    const answers: string[] = []
    for (let turn = 0; turn < 4; turn += 1) answers.push(await answer(url, { message: message('talk') }))
    expect(answers).toEqual(['I am alice', 'I am bob', 'I am alice', 'I am bob'])
  })

  it('with the least load of those that are online', async () => {
    const [begun, go] = [gate(), gate()]
    const slow: CustomRun = async (_task, { agent }) => {
      if (agent.id === 'alice') {
        begun.open()
        await go.opened
      }
      return `I am ${agent.id}`
    }
    const talker = { run: slow, agent: { capabilities: ['talk'] } }
    const { gateway } = gatewayOf({ alice: talker, bob: talker, carol: talker })
    gateway.registry.updateStatus('carol', 'degraded')
    const { url } = await serveGateway(gateway)
    const first = answer(url, { message: message('talk', { agentId: 'alice' }) })
    await begun.opened
    expect(await answer(url, { message: message('talk') })).toBe('I am bob')
    expect(await answer(url, { message: message('talk') })).toBe('I am bob')
    go.open()
    expect(await first).toBe('I am alice')
  })
})

/** Asks, and answers with what it was answered. */
const asker: CustomRun = ({ text, ref }, { agent }) =>
  ref === undefined
    ? { ref: { at: agent.id }, state: 'input-required', message: `What, asks ${agent.id}` }
    : `${agent.id} received ${text} at ${ref['at'] as string}`

describe('a follow-up', () => {
  it('stays with the agent of its task, whatever it names', async () => {
    const { client } = await scene({ alice: asker, bob: asker })
    const asked = await client.run('bob?')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    const { id: taskId } = asked.task
    const metadata = { agentId: 'alice' }
    const more = { taskId, parts: [{ text: 'alice!' }], metadata }
    const answered = await client.run(more, { metadata })
    expect(answered).toMatchObject({ type: 'completed', text: 'bob received alice! at bob' })
  })

  it('to a busy agent leaves the task waiting, and may be sent again', async () => {
    const [begun, go] = [gate(), gate()]
    const { client, gateway, errors } = await scene({
      bob: {
        run: async (task, call) => {
          if (task.text.startsWith('bob, wait')) {
            begun.open()
            await go.opened
            return 'Done waiting'
          }
          return await asker(task, call)
        },
        agent: { maxConcurrentTasks: 1 },
      },
    })
    const asked = await client.run('bob?')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    const { id: taskId } = asked.task
    const waiting = client.run('bob, wait')
    await begun.opened
    const refused = await client.run('this', { taskId })
    expect(refused).toMatchObject({
      type: 'input-required',
      text: 'The agent is busy: send this again in 5 seconds',
      task: { id: taskId },
    })
    go.open()
    await waiting
    expect(await client.run('this', { taskId })).toMatchObject({ text: 'bob received this at bob' })
    expect([gateway.loadOf('bob'), errors]).toEqual([0, []])
  })

  it('beyond the rate limit leaves the task waiting, too', async () => {
    const { client } = await scene({ bob: asker }, { config: { rateLimit: { requests: 1, perMs: 60_000 } } })
    const asked = await client.run('bob?')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    expect(await client.run('this', { taskId: asked.task.id })).toMatchObject({
      type: 'input-required',
      text: 'The agent is busy: send this again in 60 seconds',
    })
  })

  it('to an agent that is not online leaves the task waiting until it is', async () => {
    const { client, gateway } = await scene({ bob: asker })
    const asked = await client.run('bob?')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    const { id: taskId } = asked.task
    gateway.registry.updateStatus('bob', 'maintenance')
    expect(await client.run('this', { taskId })).toMatchObject({ type: 'input-required' })
    gateway.registry.updateStatus('bob', 'online')
    expect(await client.run('this', { taskId })).toMatchObject({ type: 'completed' })
  })

  it('to an agent that is gone fails the task', async () => {
    const { gateway } = gatewayOf({ bob: asker })
    const { url, errors } = await serveGateway(gateway)
    const client = await A2AClient.connect(url)
    const asked = await client.run('bob?')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    gateway.registry.unregister('bob')
    expect(await client.run('this', { taskId: asked.task.id })).toMatchObject({
      type: 'failed',
      text: SERVICE_FAILED,
    })
    expect(errors.splice(0)).toMatchObject([{ code: 'AGENT_NOT_FOUND' }])
  })

  it('to a gateway that closes leaves the task waiting for the next', async () => {
    const { gateway } = gatewayOf({ bob: asker })
    const { url, errors } = await serveGateway(gateway)
    const client = await A2AClient.connect(url)
    const asked = await client.run('bob?')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    await gateway.close()
    const result = await client.run('this', { taskId: asked.task.id })
    expect([result.type, errors.splice(0).map(String)]).toEqual(['input-required', []])
  })
})

it('an agent that the caller may not have is refused by chooseAgent, before there is a task', async () => {
  const made = setUp()
  const handler = createRequestHandler({
    card: { name: 'gateway', url: 'http://gateway.example' },
    tasks: made.tasks,
    execute: gatewayRequestHandler(made.gateway, {
      chooseAgent() {
        throw new A2AError('PERMISSION_DENIED', 'This agent is not for you', {})
      },
    }),
  })
  const message = { role: 'ROLE_USER', messageId: 'm', parts: [{ text: 'hi' }] }
  const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  expect(await handler.dispatch(body)).toMatchObject({
    error: { message: 'This agent is not for you', data: [{ reason: 'PERMISSION_DENIED' }] },
  })
  expect(made.tasks.size()).toBe(0)
})
