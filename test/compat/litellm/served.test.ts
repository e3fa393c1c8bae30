/** The dialect of LiteLLM-RS: the requests that its document builds, and their errors. */
import { randomUUID } from 'node:crypto'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { walk } from '../../support/manager.js'
import { newTask } from './support/litellm.js'
import { agent } from '../support/agent.js'
import { as, authenticate, gate, ORIGIN, post } from '../../server/spec/support/agent.js'
import { call, failure, listen, result, send } from '../../server/dialects/support/dialects.js'

/** What the document's constructors of `A2ARequest` make: the id is a UUID. */
const request = (method: string, params?: object) => ({
  jsonrpc: '2.0',
  id: randomUUID(),
  method,
  ...(params !== undefined && { params }),
})
const A2ARequest = {
  task_send: (task: object) => request('task_send', task),
  task_get: (taskId: string) => request('task_get', { task_id: taskId }),
  task_cancel: (taskId: string) => request('task_cancel', { task_id: taskId }),
}

const SECONDS = expect.any(Number) as unknown
const A_STRING = expect.any(String) as unknown
const saying = (text: string) => expect.stringContaining(text) as unknown

/** Works until it is stopped. */
const endless: Execute = (run) =>
  new Promise((_, reject) => {
    run.signal.addEventListener('abort', () => reject(run.signal.reason as Error))
  })

describe('A2ARequest::task_send(task)', () => {
  test('is answered with the task, when the work on it is done', async () => {
    const a = agent((run) => `Summary of: ${run.text}`)
    const task = newTask('Summarize this')
    const asked = A2ARequest.task_send(task)
    expect(await send(a, '/', asked)).toEqual({
      status: 200,
      body: {
        jsonrpc: '2.0',
        id: asked.id,
        result: {
          id: task.id,
          state: 'completed',
          input: task.input,
          output: { response: 'Summary of: Summarize this', artifacts: [] },
          metadata: { ...task.metadata, session_id: A_STRING },
          created_at: SECONDS,
          updated_at: SECONDS,
        },
      },
    })
  })

  test('gives the agent the context, the files, the session and the parent of the task', async () => {
    const a = agent((run) => {
      const [, context, ...files] = run.message.parts
      const { contextId, referenceTaskIds } = run.message
      run.artifact({
        parts: [{ data: { context: { ...context }, contextId, referenceTaskIds } }, ...files],
      })
    })
    const task = newTask()
    const file = { id: 'f', name: 'hi.bin', mime_type: 'application/octet-stream', content: 'aGk=' }
    const more = { session_id: 's', parent_task_id: 'p', tags: ['a'] }
    const sent = await result(a, 'task_send', {
      ...task,
      input: { ...task.input, context: { lines: 2 }, artifacts: [file] },
      metadata: { ...task.metadata, ...more },
    })
    expect(sent).toMatchObject({
      input: { context: { lines: 2 }, artifacts: [file] },
      output: {
        data: { context: { data: { lines: 2 } }, contextId: 's', referenceTaskIds: ['p'] },
        artifacts: [{ ...file, id: A_STRING }],
      },
      metadata: { ...task.metadata, ...more },
    })
  })

  test('needs no more than an instruction', async () => {
    const a = agent((run) => run.text)
    expect(await result(a, 'task_send', { input: { instruction: 'hi' } })).toMatchObject({
      id: A_STRING,
      state: 'completed',
      output: { response: 'hi' },
      metadata: { agent_id: 'default', provider: 'custom', tags: [] },
    })
  })
})

describe('the same id, sent twice', () => {
  test('is an answer where the task waits for one', async () => {
    const a = agent(async (run) => {
      const { parts } = await run.requireInput('What is your name?')
      return `Hello ${parts[0]?.text ?? ''}`
    })
    expect(await result(a, 'task_send', newTask('Greet me'))).toMatchObject({
      state: 'input_required',
      output: { response: 'What is your name?' },
    })
    expect(await result(a, 'task_send', newTask('Ada'))).toMatchObject({
      state: 'completed',
      input: { instruction: 'Greet me' },
      output: { response: 'Hello Ada' },
    })
    expect(a.tasks.size()).toBe(1)
  })

  test('is refused where the task has ended, and changes nothing', async () => {
    const a = agent(() => 'done')
    const sent = await result(a, 'task_send', newTask())
    expect(await failure(a, 'task_send', newTask('more'))).toMatchObject({ code: -32602 })
    expect(await result(a, 'task_get', { task_id: newTask().id })).toEqual(sent)
  })

  test('at once is one task', async () => {
    const a = agent(endless)
    const both = [result(a, 'task_send', newTask()), result(a, 'task_send', newTask())]
    const stream = await listen(a, 'task_send_subscribe', newTask('more'))
    expect(a.tasks.size()).toBe(1)
    await result(a, 'task_cancel', { task_id: newTask().id })
    expect(await Promise.all(both)).toMatchObject([{ state: 'cancelled' }, { state: 'cancelled' }])
    expect((await stream.results()).at(-1)).toMatchObject({ state: 'cancelled' })
  })

  test('by another owner is another task, whatever has become of the first', async () => {
    const a = agent((run) => (run.text === 'wait' ? void run.requireInput('Secret question') : 'Done'), {
      authenticate,
    })
    const waiting = { ...newTask('wait'), id: 'waiting' }
    await result(a, 'task_send', { ...newTask(), id: 'ended' }, as('ann'))
    await result(a, 'task_send', waiting, as('ann'))
    const answer = async (id: string) => {
      const task = await result(a, 'task_send', { ...newTask('mine'), id }, as('bob'))
      expect(await result(a, 'task_get', { task_id: id }, as('bob'))).toEqual(task)
      return { ...task, id: '', created_at: 0, updated_at: 0, metadata: {} }
    }
    expect(await answer('waiting')).toEqual(await answer('ended'))
    expect(await answer('free')).toEqual(await answer('other'))
    expect(await result(a, 'task_get', { task_id: 'waiting' }, as('ann'))).toMatchObject({
      id: 'waiting',
      state: 'input_required',
    })
    expect(a.errors).toEqual([])
    // The ids of 0.1 are the same.
    const message = { role: 'user', parts: [{ type: 'text', text: 'mine' }] }
    const error = await failure(a, 'tasks/send', { id: 'ended', message }, as('bob'))
    expect(error['code']).toBe(-32009)
  })
})

describe('A2ARequest::task_get(task_id)', () => {
  test('answers with the task as it is', async () => {
    const [begun, go] = [gate(), gate()]
    const a = agent(async (run) => {
      run.update('Reading')
      begun.open()
      await go.opened
      return 'done'
    })
    const sending = result(a, 'task_send', newTask())
    await begun.opened
    const { body } = await send(a, '/', A2ARequest.task_get(newTask().id))
    expect(body['result']).toMatchObject({ id: newTask().id, state: 'running' })
    expect(body['result']).not.toHaveProperty('output')
    go.open()
    expect(await sending).toEqual(await result(a, 'task_get', { task_id: newTask().id }))
  })

  test('shows tasks of every version', async () => {
    const a = agent(() => 'done')
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const { task } = (await result(a, 'SendMessage', { message })) as { task: { id: string } }
    expect(await result(a, 'task_get', { task_id: task.id })).toMatchObject({
      id: task.id,
      state: 'completed',
      input: { instruction: 'hi' },
      output: { response: 'done' },
    })
  })

  test.each<[string, Execute, object]>([
    ['fails', (run) => run.fail('No such file'), { code: 'TASK_FAILED', message: 'No such file' }],
    ['is rejected', (run) => run.reject('Not today'), { code: 'TASK_REJECTED', message: 'Not today' }],
    [
      'is broken off by an error, whose text stays inside',
      () => {
        throw new Error('secret')
      },
      { code: 'TASK_FAILED', message: 'The agent could not finish this task' },
    ],
  ])('reports what went wrong with one that %s', async (_, execute, error) => {
    const a = agent(execute)
    await result(a, 'task_send', newTask())
    const got = await result(a, 'task_get', { task_id: newTask().id })
    expect(got).toMatchObject({ state: 'failed', error: { ...error, retryable: false } })
    expect(got).not.toHaveProperty('output')
  })
})

describe('A2ARequest::task_cancel(task_id)', () => {
  test('stops the work, and answers with the task', async () => {
    const a = agent(endless)
    const sending = result(a, 'task_send', newTask())
    const stream = await listen(a, 'task_send_subscribe', newTask('more'))
    const { body } = await send(a, '/', A2ARequest.task_cancel(newTask().id))
    expect(body['result']).toMatchObject({ id: newTask().id, state: 'cancelled' })
    expect(await sending).toEqual(body['result'])
    await stream.leave()
  })

  test('of a task that has ended is refused, in the words of the document', async () => {
    const a = agent(() => 'done')
    await result(a, 'task_send', newTask())
    expect(await failure(a, 'task_cancel', { task_id: newTask().id })).toEqual({
      code: -32602,
      message: 'Cannot cancel a completed task',
    })
  })

  test('twice is once', async () => {
    const a = agent((run) => void run.requireInput('Really?'))
    await result(a, 'task_send', newTask())
    const canceled = await result(a, 'task_cancel', { task_id: newTask().id })
    expect(await result(a, 'task_cancel', { task_id: newTask().id })).toEqual(canceled)
  })
})

test('task_send_subscribe streams the updates of the document', async () => {
  const a = agent((run) => {
    run.update({ message: 'Reading', current: 1, total: 4 })
    run.artifact({ artifactId: 'a', parts: [{ text: 'one ' }] })
    run.artifact({ artifactId: 'a', parts: [{ text: 'two' }] })
    run.artifact({ parts: [{ raw: 'aGk=', filename: 'hi.bin' }] })
    run.complete('There you are')
  })
  const stream = await listen(a, 'task_send_subscribe', newTask())
  const update = (state: string, more: object = {}) => ({ task_id: newTask().id, state, ...more })
  const partial = (response: string, artifacts: unknown[] = []) => ({
    partial_output: { response, artifacts },
  })
  const file = { name: 'hi.bin', mime_type: 'application/octet-stream', content: 'aGk=' }
  expect(await stream.results()).toEqual([
    update('pending'),
    update('running'),
    update('running', { message: 'Reading', progress: 0.25 }),
    update('running', partial('one ')),
    update('running', partial('two')),
    update('running', partial('', [{ ...file, id: A_STRING }])),
    update('completed', { message: 'There you are' }),
  ])
})

test('task_send_subscribe ends where the task waits for credentials, which reads the same', async () => {
  const a = agent(async (run) => {
    await run.requireAuth('Log in')
    return 'Thanks'
  })
  const asked = await (await listen(a, 'task_send_subscribe', newTask())).results()
  expect(asked.at(-1)).toMatchObject({ state: 'input_required', message: 'Log in' })
  const answered = await (await listen(a, 'task_send_subscribe', newTask('Done'))).results()
  expect(answered.at(-1)).toMatchObject({ state: 'completed' })
})

test('task_send_subscribe ends where the task waits, and continues with its answer', async () => {
  const a = agent(async (run) => {
    await run.requireInput('Really?')
    return 'done'
  })
  const asked = await (await listen(a, 'task_send_subscribe', newTask())).results()
  expect(asked.at(-1)).toMatchObject({ state: 'input_required', message: 'Really?' })
  const answered = await (await listen(a, 'task_send_subscribe', newTask('Yes'))).results()
  expect(answered.map(({ state }) => state).at(-1)).toBe('completed')
  expect(answered).toContainEqual(
    expect.objectContaining({ partial_output: { response: 'done', artifacts: [] } }),
  )
})

describe('what concerns no task', () => {
  const skills = [
    { id: 'web_search', name: 'Search', description: 'Search the web for information', tags: ['web'] },
    { id: 'summarize', name: 'Summarize', description: 'Summarize documents and content', tags: ['text'] },
  ]

  test('agent_capabilities are the skills of the card', async () => {
    const a = agent(() => 'done', { card: { name: 'Test', url: ORIGIN, skills } })
    const asked = request('agent_capabilities')
    expect((await send(a, '/', asked)).body).toEqual({
      jsonrpc: '2.0',
      id: asked.id,
      result: { capabilities: skills.map(({ id, description }) => ({ name: id, description })) },
    })
  })

  test('ping is answered by an agent that is there', async () => {
    const a = agent(() => 'done')
    expect(await result(a, 'ping')).toEqual({ status: 'online' })
    expect(await result(a, 'ping', {}, { headers: { 'a2a-version': 'litellm' } })).toEqual({
      status: 'online',
    })
    expect(a.tasks.size()).toBe(0)
  })

  test('is unknown to a client of another version', async () => {
    const a = agent(() => 'done')
    expect(await failure(a, 'ping', {}, { headers: { 'a2a-version': '1.0' } })).toMatchObject({
      code: -32601,
    })
  })
})

describe('errors have the codes of the document', () => {
  test('an agent that has too much to do says when to come back', async () => {
    const a = agent(endless, { limits: { maxRuns: 1 } })
    const stream = await listen(a, 'task_send_subscribe', newTask())
    const body = A2ARequest.task_send({ ...newTask(), id: 'other' })
    const response = await a.handler.fetch(post('/', body))
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: body.id,
      error: { code: -32003, message: A_STRING, data: { retry_after: 5, retryable: true } },
    })
    expect(a.tasks.size()).toBe(1)
    await stream.leave()
  })

  test.each([
    ['an unknown task', 'task_get', { task_id: 'x' }, -32001, 'Task not found: x'],
    ['an unknown task to cancel', 'task_cancel', { task_id: 'x' }, -32001, 'Task not found: x'],
    ['no id', 'task_get', { id: 'x' }, -32602, saying('task_id')],
    ['no parameters', 'task_send', undefined, -32602, saying('input')],
    ['no instruction', 'task_send', { input: {} }, -32602, saying('input.instruction')],
    ['a stream of nothing', 'task_send_subscribe', {}, -32602, saying('input')],
  ])('%s', async (_, method, params, code, message) => {
    const a = agent(() => 'done')
    expect(await call(a, method, params)).toEqual({ jsonrpc: '2.0', id: 1, error: { code, message } })
    expect([a.tasks.size(), a.errors]).toEqual([0, []])
  })

  test('a stream of an agent that has none', async () => {
    const a = agent(() => 'done', { card: { name: 'Test', url: ORIGIN, capabilities: { streaming: false } } })
    expect(await failure(a, 'task_send_subscribe', newTask())).toMatchObject({ code: -32005 })
  })

  test('an unknown method, where LiteLLM-RS is preferred', async () => {
    const a = agent(() => 'done', { defaultDialect: 'litellm' })
    expect(await failure(a, 'task_delete', {})).toMatchObject({ code: -32601 })
  })
})

describe('authentication', () => {
  test.each(['task_send', 'task_get', 'ping', 'agent_capabilities'])('%s needs it', async (method) => {
    const a = agent(() => 'done', { authenticate })
    expect((await a.handler.fetch(post('/', request(method, newTask())))).status).toBe(401)
    expect(a.tasks.size()).toBe(0)
  })

  test('tasks of another owner are not found', async () => {
    const a = agent((run) => void run.requireInput('Really?'), { authenticate })
    await result(a, 'task_send', newTask(), as('ann'))
    const { id } = newTask()
    for (const method of ['task_get', 'task_cancel']) {
      const asked = { code: -32001, message: `Task not found: ${id}` }
      expect(await failure(a, method, { task_id: id }, as('bob'))).toEqual(asked)
    }
    expect(await result(a, 'task_get', { task_id: id }, as('ann'))).toMatchObject({ state: 'input_required' })
  })
})

test.each([7, 'request-7'])('a request may have the id %j, which comes back', async (id) => {
  const a = agent(() => 'done')
  const asked = { jsonrpc: '2.0', id, method: 'task_send', params: newTask() }
  const { body } = await send(a, '/', asked)
  expect(Object.keys(body).sort()).toEqual(['id', 'jsonrpc', 'result'])
  expect(body['id']).toBe(id)
})

test('a submitted task may fail, and so may one that waits for input', async () => {
  const a = agent(() => 'done')
  for (const path of [[], ['working', 'input-required']] as const) {
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, ...path)
    a.tasks.updateTask(id, { state: 'failed', message: 'No' })
    expect(await result(a, 'task_get', { task_id: id })).toMatchObject({
      state: 'failed',
      error: { code: 'TASK_FAILED', message: 'No', retryable: false },
    })
  }
})
