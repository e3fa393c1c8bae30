/** Turns of executors that meet something else: a message that waits, another end of the task, many chunks. */
import { TaskState } from '@a2a-js/sdk'
import { AgentEvent } from '@a2a-js/sdk/server'
import { TaskManager } from 'a2a-tasks'
import { expect, test, vi } from 'vitest'
import { agent } from './support/agent.js'
import { pause, say, type Publisher } from './support/modern-executors.js'

test('the text of a question that a waiting message answers is a status message', async () => {
  let go: () => void = () => {}
  const seen: unknown[] = []
  const { send } = agent(async (publish, { task }) => {
    seen.push(task?.status?.message?.parts[0]?.content)
    publish.task()
    if (task !== undefined) {
      publish.status(TaskState.TASK_STATE_COMPLETED)
      return
    }
    await new Promise<void>((resolve) => {
      go = resolve
    })
    publish.status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which?')
  })
  const { task } = await send({}, { returnImmediately: true })
  const second = send({ taskId: task?.id })
  await pause()
  go()
  await second
  expect(seen).toEqual([undefined, { $case: 'text', value: 'Which?' }])
})

test('a question may be followed by one of the other kind', async () => {
  const { send, tasks, errors } = agent((publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Name?')
    publish.status(TaskState.TASK_STATE_AUTH_REQUIRED, 'Log in')
  })
  const { task } = await send()
  expect(task?.status).toMatchObject({
    state: 'TASK_STATE_AUTH_REQUIRED',
    message: { parts: [{ text: 'Log in' }] },
  })
  expect(tasks.peekTask(task?.id ?? '')?.history.map(({ state }) => state)).toEqual([
    ...['submitted', 'working', 'input-required', 'working', 'auth-required'],
  ])
  expect(errors).toEqual([])
})

test('a message after the end is late', async () => {
  const { send, ignored, errors } = agent((publish, context, bus) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_COMPLETED)
    bus.publish(AgentEvent.message(say('Bye', context)))
  })
  const { task } = await send()
  expect(task?.history).toHaveLength(1)
  expect(ignored).toMatchObject([{ reason: 'late', event: { kind: 'message' } }])
  expect(errors).toEqual([])
})

test.each(['artifact', 'progress'])('%s for a task that others have ended is no fault', async (what) => {
  const tasks = new TaskManager()
  const { send, errors, ignored } = agent(
    (publish, { taskId }) => {
      publish.task()
      publish.status(TaskState.TASK_STATE_WORKING)
      tasks.patchTask(taskId, { state: 'completed' })
      if (what === 'artifact') publish.artifact('late')
      else publish.status(TaskState.TASK_STATE_WORKING, 'late')
    },
    { tasks },
  )
  const { task } = await send()
  expect(task?.status.state).toBe('TASK_STATE_COMPLETED')
  expect([errors, ignored]).toEqual([[], []])
})

test('a task that a listener cancels as its turn begins does not call the executor', async () => {
  const tasks = new TaskManager()
  const never = new Promise<void>(() => undefined)
  let calls = 0
  const { send } = agent(
    (publish) => {
      calls += 1
      publish.task()
      if (calls > 1) return never
      publish.status(TaskState.TASK_STATE_INPUT_REQUIRED)
      return undefined
    },
    { tasks, limits: { maxRuns: 1 } },
  )
  const { task } = await send()
  tasks.on('task:stateChange', ({ taskId, to }) => {
    if (to === 'working' && taskId === task?.id) tasks.patchTask(taskId, { state: 'canceled' })
  })
  expect((await send({ taskId: task?.id })).task?.status.state).toBe('TASK_STATE_CANCELED')
  expect(calls).toBe(1)
  // `maxRuns` is 1: the canceled turn has left its place.
  await send({}, { returnImmediately: true })
  expect(calls).toBe(2)
})

test.each([
  ['chunk', (publish: Publisher) => publish.artifact('x', { append: true })],
  ['progress', (publish: Publisher) => publish.status(TaskState.TASK_STATE_WORKING, 'x')],
])('a %s does not read the task, which would copy all chunks before it', async (_name, act) => {
  const tasks = new TaskManager()
  const reads = vi.spyOn(tasks, 'peekTask')
  const readsOf = async (times: number): Promise<number> => {
    const { send } = agent(
      (publish) => {
        publish.task()
        for (let index = 0; index < times; index += 1) act(publish)
        publish.status(TaskState.TASK_STATE_COMPLETED)
      },
      { tasks },
    )
    reads.mockClear()
    await send()
    return reads.mock.calls.length
  }
  const few = await readsOf(2)
  expect(few).toBeGreaterThan(0)
  expect(await readsOf(20)).toBe(few)
})
