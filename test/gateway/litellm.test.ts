/** A gateway as LiteLLM-RS' clients know one: its requests by hand, over HTTP. */
import { A2AClient } from 'a2a-tasks/client'
import type { JsonObject } from 'a2a-tasks/schemas'
import { describe, expect, it } from 'vitest'
import { SERVICE_FAILED } from '../../src/gateway/turns/turn.js'
import { providerError } from '../../src/gateway/providers/shared/service.js'
import { gate, serve } from '../server/interop/support/agent.js'
import { gatewayRequestHandler } from '../../src/gateway/request-handler.js'
import {
  gatewayOf,
  rpc,
  rpcStream,
  serveGateway,
  untilAborted,
  type TestAgent,
} from './support/request-handler.js'
import { EVERY } from '../compat/support/agent.js'

/** What `Task::new(agent_id, provider, instruction)` of the document becomes as JSON, with a given id. */
function newTask(id: string, agentId: string, instruction: string): JsonObject {
  return {
    id,
    state: 'pending',
    input: { instruction, context: null, artifacts: [] },
    metadata: { agent_id: agentId, provider: 'langgraph', tags: ['t'] },
    created_at: 1_767_225_600,
    updated_at: 1_767_225_600,
  }
}

async function served(agents: Readonly<Record<string, TestAgent>>) {
  const made = gatewayOf(agents)
  return { ...made, url: (await serveGateway(made.gateway)).url }
}

async function result(url: string, method: string, params: JsonObject): Promise<JsonObject> {
  const { body } = await rpc(url, method, params)
  expect(body).toHaveProperty('result')
  return body['result'] as JsonObject
}

const METADATA = {
  agent_id: 'research-agent',
  provider: 'langgraph',
  tags: ['t'],
  session_id: expect.any(String) as unknown,
}

describe('task_send', () => {
  it('is answered with the task of the agent that it names, when that is done', async () => {
    const { url } = await served({
      'research-agent': ({ text, message }, { agent }) => ({
        state: 'completed',
        artifacts: [
          { artifactId: 'a', parts: [{ text: `${agent.id}: ${text}` }, { data: message.parts.length }] },
        ],
      }),
      'other-agent': () => 'Not me',
    })
    const task = newTask('1', 'research-agent', 'Find it')
    expect(await result(url, 'task_send', task)).toEqual({
      ...task,
      state: 'completed',
      output: { response: 'research-agent: Find it', data: 1, artifacts: [] },
      metadata: METADATA,
      created_at: expect.any(Number) as unknown,
      updated_at: expect.any(Number) as unknown,
    })
  })

  it('has an error when the service fails, which says whether it is worth a retry', async () => {
    const { url } = await served({
      'research-agent': ({ text }, { agent }) => {
        throw providerError('langgraph', agent, 'LangGraph error: s3cret', { retryable: text === 'again' })
      },
    })
    const errors = []
    for (const text of ['again', 'never']) {
      const { state, error } = await result(url, 'task_send', newTask(text, 'research-agent', text))
      errors.push([state, error])
    }
    expect(errors).toEqual([
      ['failed', { code: 'PROVIDER_ERROR', message: SERVICE_FAILED, retryable: true }],
      ['failed', { code: 'PROVIDER_ERROR', message: SERVICE_FAILED, retryable: false }],
    ])
  })

  it('is asked, and sent again as the answer, under the id that the client chose', async () => {
    const refs: unknown[] = []
    const { url, gateway } = await served({
      'research-agent': ({ text, ref }) => {
        refs.push(ref)
        return ref === undefined
          ? { ref: { thread: 1 }, state: 'input-required', message: 'Which one?' }
          : `Found ${text}`
      },
    })
    const asked = await result(url, 'task_send', newTask('1', 'research-agent', 'Find it'))
    expect(asked).toMatchObject({ state: 'input_required', output: { response: 'Which one?' } })
    const answered = await result(url, 'task_send', newTask('1', 'research-agent', 'the first'))
    expect(answered).toMatchObject({
      id: '1',
      state: 'completed',
      input: { instruction: 'Find it' },
      output: { response: 'Found the first' },
    })
    expect([refs, gateway.tasks.size()]).toEqual([[undefined, { thread: 1 }], 1])
  })
})

describe('task_send_subscribe', () => {
  it('streams what the agent says and how far it is, to the end', async () => {
    const read = gate()
    const { url } = await served({
      'research-agent': async function* () {
        yield { state: 'working', progress: 0.25, message: 'Reading' }
        yield 'Half '
        await read.opened
        yield 'and half'
      },
    })
    const updates: unknown[] = []
    for await (const update of rpcStream(url, 'task_send_subscribe', newTask('1', 'research-agent', 'x'))) {
      const {
        state,
        progress,
        message,
        partial_output: output,
      } = update as {
        [key: string]: unknown
        partial_output?: { response: string }
      }
      updates.push([state, progress, message, output?.response])
      if (output?.response === 'Half ') read.open()
    }
    expect(updates).toEqual([
      ['pending', undefined, undefined, undefined],
      ['running', undefined, undefined, undefined],
      ['running', 0.25, 'Reading', undefined],
      ['running', undefined, undefined, 'Half '],
      ['running', undefined, undefined, 'and half'],
      ['completed', undefined, undefined, undefined],
    ])
  })

  it('ends with a question', async () => {
    const { url } = await served({
      'research-agent': () => ({ ref: { at: 1 }, state: 'input-required', message: 'Which one?' }),
    })
    const states: unknown[] = []
    for await (const update of rpcStream(url, 'task_send_subscribe', newTask('1', 'research-agent', 'x')))
      states.push([update['state'], update['message']])
    expect(states.at(-1)).toEqual(['input_required', 'Which one?'])
  })
})

describe('task_get and task_cancel', () => {
  it('show the task as it is, and stop it at its service', async () => {
    const [begun, aborted] = [gate(), gate()]
    const canceled: unknown[] = []
    const { url, gateway } = await served({
      'research-agent': {
        run: async function* (_task, { signal }) {
          yield { ref: { run: 'r' }, state: 'working', progress: 0.5 }
          signal.addEventListener('abort', () => aborted.open())
          begun.open()
          await untilAborted(signal)
        },
        getTask: () => ({ state: 'working' }),
        cancelTask: (ref) => {
          canceled.push(ref)
          return {}
        },
      },
    })
    const sent = result(url, 'task_send', newTask('1', 'research-agent', 'Find it'))
    await begun.opened
    const task_id = '1'
    expect(await result(url, 'task_get', { task_id })).toMatchObject({
      id: '1',
      state: 'running',
      metadata: METADATA,
    })
    expect(await result(url, 'task_cancel', { task_id })).toMatchObject({ id: '1', state: 'cancelled' })
    expect(await sent).toMatchObject({ state: 'cancelled' })
    await aborted.opened
    await gateway.close()
    expect(canceled).toEqual([{ run: 'r' }])
  })

  it('refuse an unknown task, and an ended one', async () => {
    const { url } = await served({ 'research-agent': () => 'done' })
    await result(url, 'task_send', newTask('1', 'research-agent', 'x'))
    const errors = []
    for (const [method, task_id] of [
      ['task_get', '2'],
      ['task_cancel', '2'],
      ['task_cancel', '1'],
    ] as const)
      errors.push((await rpc(url, method, { task_id })).body['error'])
    expect(errors).toEqual([
      { code: -32001, message: 'Task not found: 2' },
      { code: -32001, message: 'Task not found: 2' },
      { code: -32602, message: 'Cannot cancel a completed task' },
    ])
  })
})

describe('a task that was not sent in this dialect shows its agent', () => {
  it('when the gateway itself has sent it, and the provider', async () => {
    const { url, gateway } = await served({ 'research-agent': ({ text }) => text })
    const { id } = await gateway.sendTask('research-agent', 'Find it')
    expect(await result(url, 'task_get', { task_id: id })).toMatchObject({
      state: 'completed',
      input: { instruction: 'Find it' },
      metadata: { agent_id: 'research-agent', provider: 'research-agent' },
    })
  })

  it.each([
    [{ agentId: 'research-agent' }, 'research-agent'],
    [{ agent_id: 'research-agent', provider: 'langgraph' }, 'research-agent'],
    [{}, 'default'],
  ])('when it came over A2A with %j: %s', async (metadata, agentId) => {
    const { url } = await served({ 'research-agent': ({ text }) => text })
    const client = await A2AClient.connect(url)
    const sent = await client.send({ parts: [{ text: 'research agent' }], metadata })
    if (sent.type !== 'task') throw new Error('There is no task')
    expect(await result(url, 'task_get', { task_id: sent.task.id })).toMatchObject({
      metadata: { agent_id: agentId },
    })
  })
})

describe('what is of no task', () => {
  it('agent_capabilities are the skills of the card, and ping finds the gateway online', async () => {
    const { gateway } = gatewayOf({
      'research-agent': { run: () => '', agent: { capabilities: ['web_search'] } },
    })
    const skills = gateway.registry
      .list()
      .flatMap(({ capabilities }) =>
        capabilities.map(({ name, description }) => ({ id: name, name, description, tags: ['agent'] })),
      )
    const { url } = await serve({
      execute: gatewayRequestHandler(gateway),
      tasks: gateway.tasks,
      dialects: EVERY,
      card: () => ({ skills }),
    })
    expect(await result(url, 'agent_capabilities', {})).toEqual({
      capabilities: [{ name: 'web_search', description: '' }],
    })
    expect(await result(url, 'ping', {})).toEqual({ status: 'online' })
  })
})
