/** Tasks of MCP: the extension `io.modelcontextprotocol/tasks`. The table of the page has each state. */
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { A2AClient } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { messagesIn, sceneOf, statelessRequest, TASKS as TASKS_KEY, type Json, type Reply } from './kit.js'
import { HOLD, IN_STATE, STATES } from './states.js'

const TASKS = { tasks: true, elicitation: { form: {}, url: {} } }
function sceneFor(execute: Execute, options: Parameters<typeof sceneOf>[1] = {}) {
  const scene = sceneOf(execute, options)
  const get = (taskId: string): Promise<Reply> => scene.ask('tasks/get', { taskId }, TASKS)
  const update = (taskId: string, inputResponses: unknown): Promise<Reply> =>
    scene.ask('tasks/update', { taskId, inputResponses }, TASKS)
  const begin = async (): Promise<string> => {
    const { result } = await scene.say('Go', TASKS)
    return String(result['taskId'])
  }
  return { ...scene, get, update, begin }
}

describe('the table of states', () => {
  it('has each state once', () => {
    expect(STATES.map(([state]) => state)).toEqual(Object.keys(IN_STATE))
  })

  it.each(STATES)('%s is %s: %s', async (state, status, result) => {
    // A task that another party has created, and that nobody works on yet, is submitted.
    const scene = sceneFor(IN_STATE[state] ?? HOLD, { waitMs: 0 })
    if (state === 'submitted') scene.tasks.createTask({ skill: 'default', contextId: 'c' })
    else await scene.say('Go', TASKS)
    const [task] = scene.tasks.listTasks()
    const taskId = task?.id ?? ''
    if (state !== 'submitted') await scene.tasks.waitFor(taskId, { until: (now) => now.state === state })
    const { result: seen } = await scene.get(taskId)
    expect(seen).toMatchObject({ resultType: 'complete', taskId, status })
    expect('inputRequests' in seen).toBe(result === 'the question')
    const isEnd = status === 'completed'
    expect('result' in seen).toBe(isEnd)
    if (isEnd) expect((seen['result'] as Json)['isError']).toBe(result.includes('`isError`'))
    expect(seen).not.toHaveProperty('error')
  })
})

describe('a call of a client with tasks', () => {
  it('becomes a task after waitMs, with the id that A2A has', async () => {
    const clock = new ManualClock()
    let begun = (): void => undefined
    const running = new Promise<void>((resolve) => (begun = resolve))
    const scene = sceneFor(
      (run) => {
        run.update('Looking')
        begun()
        return HOLD(run)
      },
      { clock, ttlMs: 60_000, pollIntervalMs: 250 },
    )
    const answered = scene.say('Go', TASKS)
    await running
    clock.advance(1_000)
    const { headers, result } = await answered
    expect(headers.get('content-type')).toBe('application/json')
    const [task] = scene.tasks.listTasks()
    expect(result).toMatchObject({ resultType: 'task', taskId: task?.id, ttlMs: 60_000, pollIntervalMs: 250 })
    // It goes on.
    const seen = (await scene.get(task?.id ?? '')).result
    expect(seen).toMatchObject({ status: 'working', statusMessage: 'Looking' })
    expect(seen['createdAt']).toBe(result['createdAt'])
    expect(task?.state).toBe('working')
  })

  it('never gets a task without the extension', async () => {
    const { say } = sceneFor(IN_STATE['input-required'] ?? HOLD)
    expect((await say('Go', { elicitation: {} })).result['resultType']).toBe('input_required')
    expect((await say('Go', TASKS)).result).toMatchObject({
      resultType: 'task',
      status: 'input_required',
      statusMessage: 'Which city?',
      ttlMs: null,
    })
  })

  it('has the result that the call would have had', async () => {
    const { begin, get, say, tasks } = sceneFor(async (run) => {
      run.artifact({ parts: [{ data: { n: 1 } }] })
      await run.requireInput('Which city?')
    })
    const taskId = await begin()
    await say('x')
    tasks.cancelTask(taskId)
    expect((await get(taskId)).result).toMatchObject({ status: 'cancelled' })
  })
})

describe('tasks/update', () => {
  const ask: Execute = async (run) => {
    const answers = await run.ask({
      city: { message: 'Which city?', schema: z.string() },
      days: { message: 'How many days?', schema: z.number() },
    })
    return JSON.stringify(answers)
  }
  const accepted = (value: unknown): object => ({ action: 'accept', content: { value } })

  it('answers questions together, or one by one, by ids that stay the same', async () => {
    const { begin, get, update, tasks } = sceneFor(ask)
    const taskId = await begin()
    const { inputRequests } = (await get(taskId)).result
    const [city = '', days = ''] = Object.keys(inputRequests as Json)
    const done = await update(taskId, { [city]: accepted('Rome') })
    expect(done.last['result']).toEqual({ resultType: 'complete', _meta: expect.anything() as unknown })
    const left = (await get(taskId)).result
    expect(left).toMatchObject({ status: 'input_required' })
    expect(left['inputRequests']).toEqual({ [days]: (inputRequests as Json)[days] })
    await update(taskId, { [days]: accepted(3), [city]: accepted('Paris'), other: accepted(1) })
    await tasks.waitFor(taskId)
    expect((await get(taskId)).result).toMatchObject({
      status: 'completed',
      result: { content: [{ text: '{"city":"Rome","days":3}' }], isError: false },
    })
    // It comes late.
    expect((await update(taskId, { [days]: accepted(4) })).last).toHaveProperty('result')
  })

  it('refuses what does not fit, and the task waits on', async () => {
    const { begin, get, update } = sceneFor(ask)
    const taskId = await begin()
    const [, days = ''] = Object.keys((await get(taskId)).result['inputRequests'] as Json)
    expect((await update(taskId, { [days]: accepted('three') })).last['error']).toMatchObject({
      code: -32602,
      message: `inputResponses.${days}.content must be a number`,
    })
    expect((await update(taskId, 1)).last['error']).toMatchObject({ code: -32602 })
    expect((await get(taskId)).result).toMatchObject({ status: 'input_required' })
  })

  it('has no requests for what the client has not declared', async () => {
    const { ask: send, begin } = sceneFor(ask)
    const taskId = await begin()
    const { result } = await send('tasks/get', { taskId }, { tasks: true })
    expect(result).toMatchObject({ status: 'input_required', inputRequests: {} })
  })
})

describe('a method of tasks', () => {
  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s needs the extension and a task',
    async (method) => {
      const { ask } = sceneFor(() => 'Done')
      const params = { taskId: 'x', inputResponses: {} }
      const refused = await ask(method, params)
      expect([refused.status, refused.last['error']]).toEqual([
        400,
        {
          code: -32021,
          message: 'Missing required client capability',
          data: { requiredCapabilities: { extensions: { [TASKS_KEY]: {} } } },
        },
      ])
      for (const taskId of ['x', 1, undefined])
        expect((await ask(method, { ...params, taskId }, TASKS)).last['error']).toMatchObject({
          code: -32602,
        })
    },
  )

  it('tasks/cancel cancels, and leaves a task that has ended alone', async () => {
    const { begin, ask, get, tasks } = sceneFor(IN_STATE['input-required'] ?? HOLD)
    const taskId = await begin()
    for (let count = 0; count < 2; count += 1)
      expect((await ask('tasks/cancel', { taskId }, TASKS)).result).toMatchObject({ resultType: 'complete' })
    expect(tasks.getTask(taskId)?.state).toBe('canceled')
    expect((await get(taskId)).result).toMatchObject({ status: 'cancelled' })
  })

  it('is for the tasks of A2A clients too, and theirs for those of MCP', async () => {
    const { handler, begin, get, update } = sceneFor(async (run) => {
      const city = await run.requireInput('Which city?', { schema: z.string() })
      return `City: ${city}`
    })
    const client = new A2AClient({
      card: handler.card,
      fetch: (url, init) => handler.fetch(new Request(url, init)),
    })
    // Begun by MCP, answered by A2A.
    const taskId = await begin()
    const answered = await client.run({ taskId, parts: [{ text: 'Rome' }] })
    expect(answered).toMatchObject({ type: 'completed', text: 'City: Rome' })
    expect((await get(taskId)).result).toMatchObject({ result: { content: [{ text: 'City: Rome' }] } })
    // Begun by A2A, answered by MCP.
    const asked = await client.run('Go')
    const { id = '' } = asked.task ?? {}
    const [key = ''] = Object.keys((await get(id)).result['inputRequests'] as Json)
    await update(id, { [key]: { action: 'accept', content: { value: 'Paris' } } })
    const done = await client.resume({ taskId: id, messageId: 'm' })
    expect(done).toMatchObject({ type: 'completed', text: 'City: Paris' })
  })
})

describe('subscriptions/listen', () => {
  it('follows tasks until they end', async () => {
    const { begin, mcp, update, get } = sceneFor(async (run) => {
      const city = await run.requireInput('Which city?', { schema: z.string() })
      return `City: ${city}`
    })
    const taskId = await begin()
    const params = { notifications: { taskIds: [taskId, 'foreign'], toolsListChanged: true } }
    const response = await mcp(statelessRequest('s', 'subscriptions/listen', params, TASKS))
    const [key = ''] = Object.keys((await get(taskId)).result['inputRequests'] as Json)
    await update(taskId, { [key]: { action: 'accept', content: { value: 'Rome' } } })
    const messages = messagesIn(await response.text())
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 's' }
    expect(messages[0]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] }, _meta },
    })
    const told = messages.slice(1, -1).map(({ params: each }) => each as Json)
    expect(told[0]).toMatchObject({ taskId, status: 'input_required', _meta })
    expect(told.at(-1)).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'City: Rome' }] },
      _meta,
    })
    expect(messages.at(-1)).toMatchObject({ id: 's', result: { resultType: 'complete', _meta } })
  })

  it('leaves the tasks alone when the client leaves', async () => {
    const { begin, mcp, get } = sceneFor(IN_STATE['input-required'] ?? HOLD)
    const taskId = await begin()
    const params = { notifications: { taskIds: [taskId] } }
    const response = await mcp(statelessRequest(1, 'subscriptions/listen', params, TASKS))
    await response.body?.cancel()
    expect((await get(taskId)).result).toMatchObject({ status: 'input_required' })
  })

  it('needs the extension for tasks, and at most 100 of them', async () => {
    const { ask } = sceneFor(() => 'Done')
    const listen = (taskIds: unknown, declared = {}): Promise<Reply> =>
      ask('subscriptions/listen', { notifications: { taskIds } }, declared)
    expect((await listen([])).last['error']).toMatchObject({ code: -32021 })
    for (const taskIds of ['x', [1], Array.from({ length: 101 }, String)])
      expect((await listen(taskIds, TASKS)).last['error']).toMatchObject({ code: -32602 })
    expect((await ask('subscriptions/listen')).messages).toHaveLength(2)
  })
})

it('the status of a task has the amount that is done', async () => {
  let report: string | { readonly message?: string; readonly current: number; readonly total?: number } = 'x'
  const texts: unknown[] = []
  const { say, ask } = sceneOf(
    (run) => {
      run.update(report)
      return new Promise<never>(() => undefined)
    },
    { waitMs: 0 },
  )
  for (report of [{ message: 'Sorting', current: 3, total: 10 }, { current: 3, total: 10 }, { current: 3 }]) {
    const { taskId } = (await say('Go', { tasks: true })).result
    const get = async (): Promise<unknown> =>
      (await ask('tasks/get', { taskId }, { tasks: true })).result['statusMessage']
    await expect.poll(get).toEqual(expect.any(String))
    texts.push(await get())
  }
  expect(texts).toEqual(['Sorting (3 of 10)', '3 of 10', '3'])
})
