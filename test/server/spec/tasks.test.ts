import { saveTasks } from 'a2a-tasks'
import type { TaskManager } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { walk } from '../../support/manager.js'
import { agent, as, authenticate, BINDINGS, call, refused, stateName, taskOf, user } from './support/agent.js'
import type { TestAgent, TestAgentOptions } from './support/agent.js'

const idle = (options?: TestAgentOptions): TestAgent => agent(() => 'done', options)

/** A task with so many messages: `1`, `2`, … */
function withHistory(tasks: TaskManager, count: number): string {
  const { id } = tasks.createTask({ skill: 'test' })
  for (let index = 1; index <= count; index++) {
    tasks.addMessage(id, { messageId: `${index}`, role: 'user', parts: [{ text: `${index}` }] })
  }
  return id
}

const idsOf = (history: readonly { messageId: string }[] | undefined) =>
  history?.map(({ messageId }) => messageId)

describe.each(BINDINGS)('$name: Get Task', (binding) => {
  test('47. the task as it is: state, artifacts, history', async () => {
    const a = agent((run) => {
      run.artifact('text')
      run.complete('done')
    })
    const sent = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    const { result } = await call(binding, a, 'GetTask', { id: sent.id })
    expect(result).toEqual(sent)
    expect(result?.history?.map(({ parts }) => parts[0]?.text)).toEqual(['go', 'done'])
  })

  test('49, 50, 51, 53. the history is the latest messages, oldest first, as many as are asked for', async () => {
    const a = idle()
    const id = withHistory(a.tasks, 4)
    const { result: whole } = await call(binding, a, 'GetTask', { id })
    expect(idsOf(whole?.history)).toEqual(['1', '2', '3', '4'])
    expect(whole?.history?.[0]).toMatchObject({ role: 'ROLE_USER', parts: [{ text: '1' }] })
    for (const [historyLength, ids] of [
      [2, ['3', '4']],
      [4, ['1', '2', '3', '4']],
      [9, ['1', '2', '3', '4']],
    ] as const) {
      const { result } = await call(binding, a, 'GetTask', { id, historyLength })
      expect(idsOf(result?.history)).toEqual(ids)
    }
    const { result: none } = await call(binding, a, 'GetTask', { id, historyLength: 0 })
    expect(none).not.toHaveProperty('history')
  })

  test('49, 50. so it is in the answer to a message, and in a list', async () => {
    const a = agent((run) => run.complete('done'))
    for (const [historyLength, count] of [
      [0, 0],
      [1, 1],
      [2, 2],
    ] as const) {
      const params = { message: user('go'), configuration: { historyLength } }
      expect(taskOf(await call(binding, a, 'SendMessage', params)).history ?? []).toHaveLength(count)
      const { result } = await call(binding, a, 'ListTasks', { historyLength, pageSize: 1 })
      expect(result?.tasks[0]?.history ?? []).toHaveLength(count)
    }
  })

  test('52. a negative length of history is refused', async () => {
    const a = idle()
    const id = withHistory(a.tasks, 1)
    for (const [operation, params, field] of [
      ['GetTask', { id, historyLength: -1 }, 'historyLength'],
      ['ListTasks', { historyLength: -1 }, 'historyLength'],
      [
        'SendMessage',
        { message: user('go'), configuration: { historyLength: -1 } },
        'configuration.historyLength',
      ],
    ] as const) {
      const error = await refused(binding, a, operation, params)
      expect(error.reason).toBe('INVALID_PARAMS')
      expect(error.details[1]).toMatchObject({ fieldViolations: [{ field }] })
    }
    expect(a.tasks.size()).toBe(1)
  })

  test('68. asking changes nothing', async () => {
    const a = idle()
    const id = withHistory(a.tasks, 2)
    const before = JSON.stringify(saveTasks(a.tasks))
    await call(binding, a, 'GetTask', { id })
    await call(binding, a, 'ListTasks', {})
    expect(JSON.stringify(saveTasks(a.tasks))).toBe(before)
  })
})

/** Five tasks, a millisecond apart: `task-1` is the oldest. */
function five(options?: TestAgentOptions): TestAgent {
  const a = idle(options)
  for (let count = 0; count < 5; count++) {
    const { id } = a.tasks.createTask({ skill: 'test', contextId: count % 2 === 0 ? 'even' : 'odd' })
    a.tasks.updateTask(id, { state: 'working', artifacts: [{ artifactId: 'a', parts: [{ text: id }] }] })
    a.clock.advance(1)
  }
  return a
}

const names = (tasks: readonly { id: string }[] | undefined) => tasks?.map(({ id }) => id)

describe.each(BINDINGS)('$name: List Tasks', (binding) => {
  test('58, 59. pages show each task once, the latest first', async () => {
    const a = five()
    const seen: string[] = []
    let pageToken = ''
    do {
      const { result } = await call(binding, a, 'ListTasks', { pageSize: 2, ...(pageToken && { pageToken }) })
      seen.push(...(names(result?.tasks) ?? []))
      pageToken = result?.nextPageToken ?? ''
    } while (pageToken !== '')
    expect(seen).toEqual(['task-5', 'task-4', 'task-3', 'task-2', 'task-1'])
    a.tasks.updateTask('task-1', { message: 'still there' })
    const { result } = await call(binding, a, 'ListTasks', {})
    expect(names(result?.tasks)).toEqual(['task-1', 'task-5', 'task-4', 'task-3', 'task-2'])
    const times = result?.tasks.map(({ status }) => status.timestamp ?? '') ?? []
    expect(times).toEqual([...times].sort().reverse())
  })

  test('60. a page has 50 tasks unless 1 to 100 are asked for', async () => {
    const a = idle()
    for (let count = 0; count < 101; count++) a.tasks.createTask({ skill: 'test' })
    for (const [pageSize, size] of [
      [undefined, 50],
      [1, 1],
      [100, 100],
    ] as const) {
      const { result } = await call(binding, a, 'ListTasks', pageSize === undefined ? {} : { pageSize })
      expect(result).toMatchObject({ pageSize: size, tasks: { length: size } })
    }
    for (const pageSize of [0, -1, 101, 1.5, 'many']) {
      expect((await refused(binding, a, 'ListTasks', { pageSize })).reason).toBe('INVALID_PARAMS')
    }
  })

  test('61. filters: context, state, time of the last change, and all of them', async () => {
    const a = five()
    walk(a.tasks, 'task-3', 'completed')
    const at = (ms: number) => new Date(Date.parse('2026-01-01T00:00:00.000Z') + ms).toISOString()
    for (const [params, ids] of [
      [{ contextId: 'odd' }, ['task-4', 'task-2']],
      [{ status: 'TASK_STATE_COMPLETED' }, ['task-3']],
      [{ status: 'TASK_STATE_UNSPECIFIED', contextId: 'odd' }, ['task-4', 'task-2']],
      [{ statusTimestampAfter: at(3) }, ['task-3', 'task-5', 'task-4']],
      [{ statusTimestampAfter: '2026-01-01T01:00:00.003+01:00' }, ['task-3', 'task-5', 'task-4']],
      [{ statusTimestampAfter: at(3), contextId: 'even', status: 'TASK_STATE_WORKING' }, ['task-5']],
      [{ contextId: 'none' }, []],
    ] as const) {
      const { result } = await call(binding, a, 'ListTasks', params)
      expect(names(result?.tasks)).toEqual(ids)
      expect(result?.totalSize).toBe(ids.length)
    }
  })

  test('62. an invalid state, time or boolean is refused', async () => {
    for (const [name, value] of [
      ['status', 'running'],
      ['status', 'TASK_STATE_RUNNING'],
      ['statusTimestampAfter', 'yesterday'],
      ['includeArtifacts', 'yes'],
    ] as const) {
      const error = await refused(binding, five(), 'ListTasks', { [name]: value })
      expect(error.details[1]).toMatchObject({ fieldViolations: [{ field: name }] })
    }
  })

  test("63. the caller's tasks only, also with no filter", async () => {
    const a = idle({ authenticate })
    const mine = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }, as('me')))
    await call(binding, a, 'SendMessage', { message: user('go') }, as('you'))
    const { result } = await call(binding, a, 'ListTasks', {}, as('me'))
    expect(result).toMatchObject({ tasks: [{ id: mine.id }], totalSize: 1 })
    const since = { statusTimestampAfter: '2025-01-01T00:00:00Z' }
    expect((await call(binding, a, 'ListTasks', since, as('me'))).result?.totalSize).toBe(1)
    expect((await call(binding, a, 'ListTasks', {}, as('unknown'))).result?.totalSize).toBe(0)
  })
})

describe.each(BINDINGS)('$name: Cancel Task', (binding) => {
  test.each([
    ['submitted', []],
    ['working', ['working']],
    ['input-required', ['working', 'input-required']],
    ['auth-required', ['working', 'auth-required']],
  ] as const)('64. a task that is %s is canceled, and so it is answered', async (_state, path) => {
    const a = idle()
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, ...path)
    a.tasks.updateTask(id, { message: 'Reading' })
    const { result } = await call(binding, a, 'CancelTask', { id })
    expect(result?.id).toBe(id)
    expect(stateName(result?.status.state ?? '')).toBe('canceled')
    expect(result?.status).not.toHaveProperty('message')
  })

  test('64. the signal of the agent aborts', async () => {
    const reasons: unknown[] = []
    const a = agent(async (run) => {
      await run.requireInput('Which?').catch((error: unknown) => reasons.push(error))
      reasons.push(run.signal.reason)
    })
    const { id } = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    await call(binding, a, 'CancelTask', { id })
    await a.handler.close()
    expect(reasons).toMatchObject([{ code: 'TASK_CANCELED' }, { code: 'TASK_CANCELED' }])
    expect(a.errors).toEqual([])
  })

  test.each([
    ['completed', 'working', 'completed'],
    ['failed', 'failed'],
    ['rejected', 'rejected'],
  ] as const)('65. a task that is %s is not cancelable', async (_state, ...path) => {
    const a = idle()
    const { id } = a.tasks.createTask({ skill: 'test' })
    walk(a.tasks, id, ...path)
    const before = a.tasks.getTask(id)
    expect((await refused(binding, a, 'CancelTask', { id })).reason).toBe('TASK_NOT_CANCELABLE')
    expect(a.tasks.getTask(id)).toEqual(before)
  })

  test('67. an unknown task is not found', async () => {
    expect((await refused(binding, idle(), 'CancelTask', { id: 'none' })).reason).toBe('TASK_NOT_FOUND')
  })

  test('66. canceling again answers the same, and changes nothing', async () => {
    const a = idle()
    const { id } = a.tasks.createTask({ skill: 'test' })
    const { result: first } = await call(binding, a, 'CancelTask', { id })
    const before = a.tasks.getTask(id)
    a.clock.advance(1000)
    const { result: second } = await call(binding, a, 'CancelTask', { id, metadata: { again: true } })
    expect(second).toEqual(first)
    expect(a.tasks.getTask(id)).toEqual(before)
  })
})
