/** Runs that know the ids of their task before it exists, take an announced reply back, and cancel their task. */
import { setImmediate as turn } from 'node:timers/promises'
import { A2AError, TaskManager } from 'a2a-tasks'
import { expect, test } from 'vitest'
import { agent, params, type Answer } from '../support/faults.js'
import type { SendMessageResponse } from 'a2a-tasks/schemas'

test('the ids of a task can be read before it exists, and do not create it', async () => {
  const read: string[][] = []
  const { send, result, tasks } = agent(async (run) => {
    read.push([run.taskId, run.contextId])
    if (run.text === 'reply') return run.reply(`of ${run.contextId}`)
    read.push([run.task.id, run.task.contextId, run.taskId, run.contextId])
    return undefined
  })
  const { message } = await result<SendMessageResponse>('SendMessage', params('reply'))
  expect(tasks.size()).toBe(0)
  const [[, replied] = []] = read.splice(0)
  expect(message).toMatchObject({ contextId: replied, parts: [{ text: `of ${replied}` }] })

  const task = await send('task')
  const ids = [task.id, task.contextId]
  expect(read.splice(0)).toEqual([ids, [...ids, ...ids]])
  const other = await send('task', { contextId: 'mine' })
  expect(read).toEqual([
    [other.id, 'mine'],
    [other.id, 'mine', other.id, 'mine'],
  ])
})

test('an announced reply that is taken back leaves a task, which clients get while the run waits', async () => {
  let go: () => void = () => {}
  const { result, get } = agent(async (run) => {
    const nothing = turn().then(() => undefined)
    await run.reply(nothing)
    await new Promise<void>((resolve) => {
      go = resolve
    })
    return 'done'
  })
  const configuration = { returnImmediately: true }
  const { task } = await result<SendMessageResponse>('SendMessage', params('hi', { configuration }))
  expect(task?.status.state).toBe('TASK_STATE_WORKING')
  go()
  await turn()
  expect((await get(task?.id ?? '')).status.state).toBe('TASK_STATE_COMPLETED')
})

test('a run cancels its task, which aborts its signal', async () => {
  const reasons: unknown[] = []
  const { send } = agent((run) => {
    run.signal.addEventListener('abort', () => reasons.push(run.signal.reason))
    run.cancel('The user has left')
    expect(() => run.start()).toThrow()
    return undefined
  })
  const { status } = await send('hi')
  expect(status).toMatchObject({
    state: 'TASK_STATE_CANCELED',
    message: { parts: [{ text: 'The user has left' }] },
  })
  await turn()
  expect(reasons).toMatchObject([{ code: 'TASK_CANCELED' }])
})

test('a run whose task the full manager refuses is aborted', async () => {
  const reasons: unknown[] = []
  const { handler, clock, call } = agent(
    async (run) => {
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      reasons.push(run.signal.reason)
    },
    { tasks: (options) => new TaskManager({ ...options, maxTasks: 1 }) },
  )
  const configuration = { returnImmediately: true }
  const send = async (text: string): Promise<Answer> => {
    const sent = call('SendMessage', params(text, { configuration }))
    await turn()
    clock.advance(1)
    return await sent
  }
  await send('first')
  expect(handler.stats().runs.working).toBe(1)

  const { error } = await send('second')
  expect(error?.message).toBe('Maximum task limit reached: 1')
  await turn()
  expect(reasons).toMatchObject([{ message: 'Maximum task limit reached: 1' }])
  expect(handler.stats().runs.working).toBe(1)
})

test.each([undefined, { attempts: 3 }])(
  'a message that the full manager refuses is no error of the agent, with retry %j',
  async (retry) => {
    const { call, clock, errors } = agent(
      async (run) => {
        run.start()
        await new Promise(() => {})
      },
      { retry, tasks: (options) => new TaskManager({ ...options, maxTasks: 1 }) },
    )
    const send = async (text: string): Promise<Answer> => {
      const sent = call('SendMessage', params(text, { configuration: { returnImmediately: true } }))
      await turn()
      clock.advance(1)
      return await sent
    }
    await send('first')
    expect((await send('second')).error?.message).toBe('Maximum task limit reached: 1')
    expect(errors).toEqual([])
  },
)

test('an error of the agent that is like one of a full manager is tried again', async () => {
  let attempts = 0
  const { send, errors, clock } = agent(
    () => {
      attempts += 1
      if (attempts === 1)
        throw new A2AError('LIMIT_EXCEEDED', 'Too large', { limit: 'own', max: 1, actual: 2 })
      return 'done'
    },
    { retry: { attempts: 2, isRetryable: () => true } },
  )
  const sent = send('hi')
  await turn()
  clock.advance(60_000)
  expect((await sent).status.state).toBe('TASK_STATE_COMPLETED')
  expect(attempts).toBe(2)
  expect(errors.splice(0)).toHaveLength(1)
})
