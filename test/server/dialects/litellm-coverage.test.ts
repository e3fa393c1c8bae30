/** LiteLLM-RS' gateway, read as acceptance cases: the requests of its document through a handler that speaks everything. */
import type { JsonObject } from 'a2a-tasks/schemas'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { newTask } from '../../wire/litellm-support.js'
import { agent, gate, ORIGIN, post, SseReader } from '../spec/support.js'
import { call, result, send } from './support.js'

test('task_send works the whole task, and answers with it; nothing stands where there is nothing', async () => {
  const a = agent((run) => `Summary of ${run.text}`)
  const params = newTask()
  for (const id of [7, '5b0f8a4e-0a3c-4f0e-8d55-3f0f5c1f9e10']) {
    const task = { ...params, id: `${params.id}-${id}` }
    const { body } = await send(a, '/', { jsonrpc: '2.0', id, method: 'task_send', params: task })
    expect(body).toEqual({
      jsonrpc: '2.0',
      id,
      result: {
        ...task,
        state: 'completed',
        output: { response: 'Summary of Summarize this', artifacts: [] },
        metadata: { ...task.metadata, session_id: expect.any(String) },
      },
    })
  }
})

test('task_get and task_cancel take a task_id', async () => {
  const began = gate()
  const a = agent((run) => {
    run.start()
    began.open()
    return new Promise(() => {})
  })
  const task_id = newTask().id
  const sending = result(a, 'task_send', newTask())
  await began.opened
  expect(await result(a, 'task_get', { task_id })).toMatchObject({ id: task_id, state: 'running' })
  expect(await result(a, 'task_cancel', { task_id })).toMatchObject({ id: task_id, state: 'cancelled' })
  expect(await sending).toMatchObject({ id: task_id, state: 'cancelled' })
})

test('task_send_subscribe streams updates until the end', async () => {
  const a = agent((run) => {
    run.update('Reading')
    run.artifact('It says hello')
  })
  const request = { jsonrpc: '2.0', id: 1, method: 'task_send_subscribe', params: newTask() }
  const reader = new SseReader(await a.handler.fetch(post('/', request)))
  const updates: unknown[] = []
  for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
    if ('data' in event) updates.push((JSON.parse(event.data) as JsonObject)['result'])
  }
  const { id } = newTask()
  expect(updates).toMatchObject([
    { task_id: id, state: 'pending' },
    { task_id: id, state: 'running' },
    { task_id: id, state: 'running', message: 'Reading' },
    { task_id: id, state: 'running', partial_output: { response: 'It says hello' } },
    { task_id: id, state: 'completed' },
  ])
})

test('agent_capabilities and ping are answered from the card', async () => {
  const skills = [{ id: 'web_search', name: 'Web search', description: 'Search the web', tags: ['web'] }]
  const a = agent(() => 'done', { card: { name: 'Test', url: ORIGIN, skills } })
  expect(await result(a, 'agent_capabilities')).toEqual({
    capabilities: [{ name: 'web_search', description: 'Search the web' }],
  })
  expect(await result(a, 'ping')).toEqual({ status: 'online' })
})

describe('an error', () => {
  test.each(['task_get', 'task_cancel'])('of %s says of which task', async (method) => {
    expect(
      await call(
        agent(() => 'done'),
        method,
        { task_id: 'nobody' },
      ),
    ).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32001, message: 'Task not found: nobody' },
    })
  })

  test.each([
    ['completed', () => 'done'],
    ['failed', (run: Run) => run.fail('No')],
  ])('comes of canceling a task that is %s', async (state, execute) => {
    const a = agent(execute)
    const { id } = await result(a, 'task_send', newTask())
    expect(await result(a, 'task_get', { task_id: id })).toMatchObject({ state })
    expect((await call(a, 'task_cancel', { task_id: id }))['error']).toEqual({
      code: -32602,
      message: 'Cannot cancel a completed task',
    })
  })
})

test('a task that the agent does not begin may fail, and one that asks, too', async () => {
  const error = { code: 'TASK_FAILED', message: 'No', retryable: false }
  const failing = agent((run) => run.fail('No'))
  expect(await result(failing, 'task_send', newTask())).toMatchObject({ state: 'failed', error })
  const asking = agent(async (run) => {
    await run.requireInput('Which one?')
  })
  const { id } = await result(asking, 'task_send', newTask())
  expect(await result(asking, 'task_get', { task_id: id })).toMatchObject({ state: 'input_required' })
  asking.tasks.updateTask(String(id), { state: 'failed', message: 'No' })
  expect(await result(asking, 'task_get', { task_id: id })).toMatchObject({ state: 'failed', error })
})

test('a task without an id gets one', async () => {
  const a = agent(() => 'done', { tasks: { generateId: () => 'made' } })
  expect(await result(a, 'task_send', { input: { instruction: 'go' } })).toMatchObject({
    id: 'made',
    state: 'completed',
    input: { instruction: 'go', context: null, artifacts: [] },
    metadata: { agent_id: 'default', provider: 'custom' },
  })
})
