import type { TaskState } from 'a2a-tasks'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { walk } from '../../support/manager.js'
import {
  agent,
  BINDINGS,
  call,
  gate,
  open,
  ORIGIN,
  refused,
  stateName,
  taskOf,
  textsOf,
  user,
} from './support/agent.js'

const ENDS: readonly [TaskState, ...TaskState[]][] = [
  ['completed', 'working', 'completed'],
  ['failed', 'failed'],
  ['canceled', 'canceled'],
  ['rejected', 'rejected'],
]

/** Does nothing that the tests of a refused message could mistake for its being accepted. */
const idle = (): void => {}

describe.each(BINDINGS)('$name: Send Message', (binding) => {
  test('1. the result is a task, or else a message', async () => {
    const withTask = await call(
      binding,
      agent(() => 'done'),
      'SendMessage',
      { message: user('go') },
    )
    expect(Object.keys(withTask.result ?? {})).toEqual(['task'])
    const replying = agent((run) => run.reply('hello'))
    const withMessage = await call(binding, replying, 'SendMessage', { message: user('go') })
    expect(Object.keys(withMessage.result ?? {})).toEqual(['message'])
    expect(withMessage.result?.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hello' }] })
    expect(replying.tasks.size()).toBe(0)
  })

  describe.each(ENDS)('a task that is %s', (state, ...path) => {
    test.each(['SendMessage', 'SendStreamingMessage'] as const)(
      '2, 3. takes no message: %s is unsupported, the task unchanged',
      async (operation) => {
        const a = agent(idle)
        const { id } = a.tasks.createTask({ skill: 'test' })
        walk(a.tasks, id, ...path)
        const before = a.tasks.getTask(id)
        const params = { message: user('more', { taskId: id }) }
        expect(await refused(binding, a, operation, params)).toMatchObject({
          reason: 'UNSUPPORTED_OPERATION',
          message: expect.stringContaining(state) as string,
        })
        expect(a.tasks.getTask(id)).toEqual(before)
        expect(a.tasks.size()).toBe(1)
      },
    )
  })

  test('4, 15. an unknown taskId is not found, and creates no task', async () => {
    const a = agent(() => 'done')
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      const error = await refused(binding, a, operation, { message: user('go', { taskId: 'mine' }) })
      expect(error.reason).toBe('TASK_NOT_FOUND')
    }
    expect(a.tasks.size()).toBe(0)
  })

  test('5. a part of a media type that no card lists is refused, if the agent wants that', async () => {
    const skill = { id: 's', name: 'S', description: 'S', tags: ['s'], inputModes: ['image/*'] }
    const card = { name: 'Test', url: ORIGIN, defaultInputModes: ['text/plain'], skills: [skill] }
    for (const [mediaType, isTaken] of [
      [undefined, true],
      ['text/plain', true],
      ['Text/Plain; charset=utf-8', true],
      ['image/png', true],
      ['application/pdf', false],
      ['text/html', false],
    ] as const) {
      const parts = [{ text: 'hi' }, { raw: 'aGk=', ...(mediaType && { mediaType }) }]
      const params = { message: user('', { parts }) }
      const a = agent(() => 'done', { card, checkInputModes: true })
      const { result, error } = await call(binding, a, 'SendMessage', params)
      expect([mediaType, error?.reason]).toEqual([
        mediaType,
        isTaken ? undefined : 'CONTENT_TYPE_NOT_SUPPORTED',
      ])
      expect(a.tasks.size()).toBe(isTaken ? 1 : 0)
      expect(result === undefined).toBe(!isTaken)
      const liberal = await call(
        binding,
        agent(() => 'done', { card }),
        'SendMessage',
        params,
      )
      expect(taskOf(liberal).status.state).toBe('TASK_STATE_COMPLETED')
    }
  })

  test.each([
    ['returnImmediately is false', { configuration: { returnImmediately: false } }],
    ['returnImmediately is not set', { configuration: {} }],
    ['there is no configuration', {}],
  ])('6. the answer waits for the end when %s', async (_, more) => {
    const order: string[] = []
    const { opened, open: finish } = gate()
    const began = gate()
    const a = agent(async (run) => {
      run.start()
      began.open()
      await opened
      order.push('finished')
    })
    const answer = call(binding, a, 'SendMessage', { message: user('go'), ...more })
    void answer.then(() => order.push('answered'))
    await began.opened
    a.clock.advance(60_000)
    finish()
    expect(taskOf(await answer).status.state).toBe('TASK_STATE_COMPLETED')
    expect(order).toEqual(['finished', 'answered'])
  })

  test('7. the answer has all artifacts and the status', async () => {
    const a = agent((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'one ' }] })
      run.artifact({ artifactId: 'a', parts: [{ text: 'two' }] })
      run.artifact('three')
      run.complete('That is all')
    })
    const task = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(textsOf(task)).toEqual(['one two', 'three'])
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'That is all' }] },
      timestamp: '2026-01-01T00:00:00.000Z',
    })
  })

  test.each([
    ['TASK_STATE_INPUT_REQUIRED', (run: Run) => run.requireInput('Which?')],
    ['TASK_STATE_AUTH_REQUIRED', (run: Run) => run.requireAuth('Log in')],
  ] as const)('8. the answer waits no longer than until %s', async (state, ask) => {
    const a = agent(async (run) => {
      await ask(run)
    })
    const task = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(task.status.state).toBe(state)
    expect(task.status.message?.role).toBe('ROLE_AGENT')
    await a.handler.close()
  })

  test('9, 11. returnImmediately answers with the task as it is; the work continues, and is stored', async () => {
    const { opened, open: finish } = gate()
    const a = agent(async (run) => {
      run.start()
      await opened
      return 'late'
    })
    const params = { message: user('go'), configuration: { returnImmediately: true } }
    const { id, status } = taskOf(await call(binding, a, 'SendMessage', params))
    expect(status.state).toBe('TASK_STATE_WORKING')
    finish()
    await a.tasks.waitFor(id)
    const { result } = await call(binding, a, 'GetTask', { id })
    expect(result && textsOf(result)).toEqual(['late'])
    expect(result?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('9. returnImmediately answers even if the agent has not touched its task', async () => {
    const { opened, open: finish } = gate()
    const began = gate()
    const a = agent(async () => {
      began.open()
      await opened
    })
    const params = { message: user('go'), configuration: { returnImmediately: true } }
    const answer = call(binding, a, 'SendMessage', params)
    await began.opened
    a.clock.advance(1)
    expect(taskOf(await answer).status.state).toBe('TASK_STATE_WORKING')
    finish()
    await a.handler.close()
  })

  test('10. returnImmediately changes nothing for a message, a stream, and a push configuration', async () => {
    const configuration = {
      returnImmediately: true,
      taskPushNotificationConfig: { url: 'https://client.example/hook' },
    }
    const { opened, open: answerNow } = gate<string>()
    const began = gate()
    const resolve = (): Promise<string[]> => Promise.resolve(['93.184.215.14'])
    const push = { resolve, fetch: () => Promise.resolve(new Response()) }
    const replying = agent(
      (run) => {
        began.open()
        return run.reply(opened)
      },
      { push },
    )
    const answer = call(binding, replying, 'SendMessage', { message: user('go'), configuration })
    await began.opened
    replying.clock.advance(60_000)
    answerNow('after a while')
    expect((await answer).result?.message?.parts).toEqual([{ text: 'after a while' }])

    expect(await replying.handler.push.health()).toEqual([])

    const streaming = agent(() => 'done', { push })
    const params = { message: user('go'), configuration }
    const last = (await (await open(binding, streaming, 'SendStreamingMessage', params)).rest()).at(-1)
    expect(last?.value.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(await streaming.handler.push.health()).toMatchObject([{ origin: 'https://client.example' }])
  })

  test('11. a client that disconnects while the agent works does not stop the result', async () => {
    const { opened, open: finish } = gate()
    const began = gate<string>()
    const a = agent(async (run) => {
      began.open(run.task.id)
      await opened
      return 'nothing is read'
    })
    const leaving = new AbortController()
    const request = binding.request('SendMessage', { message: user('go') }, { signal: leaving.signal })
    const answer = a.handler.fetch(request)
    const id = await began.opened
    leaving.abort()
    expect((await answer).status).toBe(503)
    finish()
    const task = await a.tasks.waitFor(id)
    expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: 'nothing is read' }] }] })
  })

  test('13. a contextId of the client is kept, whether task or message', async () => {
    const message = user('go', { contextId: 'mine' })
    const task = taskOf(
      await call(
        binding,
        agent(() => 'done'),
        'SendMessage',
        { message },
      ),
    )
    expect(task.contextId).toBe('mine')
    expect(task.history?.map(({ contextId }) => contextId)).toEqual(['mine'])
    const replying = agent((run) => run.reply('hi'))
    const { result } = await call(binding, replying, 'SendMessage', { message })
    expect(result?.message?.contextId).toBe('mine')
  })
})

describe.each(BINDINGS)('$name: a message to a task that there is', (binding) => {
  /** Asks once, and repeats the answer. */
  const asking = async (run: Run): Promise<string> => {
    const answer = await run.requireInput('Which?')
    return `You said ${answer.parts.map(({ text }) => text).join('')}`
  }

  test('17. is refused with the contextId of another, the task unchanged', async () => {
    const a = agent(asking)
    const { id } = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    const before = a.tasks.getTask(id)
    const message = user('this one', { taskId: id, contextId: 'another' })
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      const error = await refused(binding, a, operation, { message })
      expect(error.reason).toBe('INVALID_PARAMS')
      expect(error.details[1]).toMatchObject({ fieldViolations: [{ field: 'message.contextId' }] })
    }
    expect(a.tasks.getTask(id)).toEqual(before)
    await a.handler.close()
  })

  test('18. a contextId without a taskId begins another task in that context', async () => {
    const a = agent(() => 'done')
    const first = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    const message = user('again', { contextId: first.contextId ?? '' })
    const second = taskOf(await call(binding, a, 'SendMessage', { message }))
    expect(second.contextId).toBe(first.contextId)
    expect(second.id).not.toBe(first.id)
  })

  test('19. what the agent says has the contextId, and a taskId where there is a task', async () => {
    const a = agent((run) => run.complete('done'))
    const task = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(task.status.message).toMatchObject({ contextId: task.contextId, taskId: task.id })
    expect(task.history?.at(-1)).toMatchObject({ contextId: task.contextId, taskId: task.id })
    const replying = agent((run) => run.reply('hi'))
    const { result } = await call(binding, replying, 'SendMessage', { message: user('go') })
    expect(result?.message).toHaveProperty('contextId')
    expect(result?.message).not.toHaveProperty('taskId')
  })

  test('21. is taken while the task waits for credentials', async () => {
    const a = agent(async (run) => {
      await run.requireAuth('Log in')
      return 'in'
    })
    const { id, status } = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(stateName(status.state)).toBe('auth-required')
    const done = taskOf(await call(binding, a, 'SendMessage', { message: user('I have', { taskId: id }) }))
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('23. the same messageId again is another message of another task, and the same one of its own', async () => {
    const a = agent(() => 'done')
    const message = user('go')
    const first = taskOf(await call(binding, a, 'SendMessage', { message }))
    const second = taskOf(await call(binding, a, 'SendMessage', { message }))
    expect(second.id).not.toBe(first.id)

    const asked = agent(async (run) => {
      for (;;) await run.requireInput('More?')
    })
    const { id } = taskOf(await call(binding, asked, 'SendMessage', { message }))
    await call(binding, asked, 'SendMessage', { message: { ...message, taskId: id } })
    const { history } = taskOf(
      await call(binding, asked, 'SendMessage', { message: { ...message, taskId: id } }),
    )
    expect(history?.filter(({ messageId }) => messageId === message.messageId)).toHaveLength(1)
    const other = { ...message, taskId: id, parts: [{ text: 'other' }] }
    const { error } = await call(binding, asked, 'SendMessage', { message: other })
    expect(error?.message).toContain('message.parts[0].text differs')
    await asked.handler.close()
  })
})
