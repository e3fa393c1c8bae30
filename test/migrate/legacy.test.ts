/** Executors of the SDK 0.3: the form of what they receive, and turns that continue after `execute` has returned. */
import type { Message, Part, Task } from 'a2a-sdk-v0-3'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from 'a2a-sdk-v0-3/server'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { fromAgentExecutor } from 'a2a-tasks/migrate'
import type { SendMessageResponse } from 'a2a-tasks/schemas'
import { createRequestHandler } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'
import { Publisher } from './support/legacy-executors.js'
import { pause } from './support/modern-executors.js'

type Act = (publish: Publisher, context: RequestContext, bus: ExecutionEventBus) => void | Promise<void>

function agent(act: Act, tasks: TaskManager | DurableTaskManager = new TaskManager()) {
  const errors: unknown[] = []
  const canceled: string[] = []
  const executor: AgentExecutor = {
    async execute(context, bus) {
      await act(new Publisher(context, bus), context, bus)
    },
    cancelTask(taskId) {
      canceled.push(taskId)
      return Promise.resolve()
    },
  }
  const handler = createRequestHandler<{ id: string }, TaskManager | DurableTaskManager>({
    card: { name: 'Legacy', url: 'https://legacy.example' },
    execute: fromAgentExecutor(executor, { version: '0.3' }),
    ...{ tasks, onError: (error: unknown) => errors.push(error) },
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    if (tasks instanceof DurableTaskManager) await tasks.destroy()
  })
  const call = async (method: string, params: object): Promise<unknown> => {
    const answer = await handler.dispatch({ jsonrpc: '2.0', id: 1, method, params })
    expect(answer).toHaveProperty('result')
    return (answer as { result: unknown }).result
  }
  const send = async (more: object = {}): Promise<SendMessageResponse> => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }], ...more }
    return (await call('SendMessage', { message })) as SendMessageResponse
  }
  return { send, call, errors, canceled }
}

test('the context has the objects of 0.3, and files in both directions keep their content', async () => {
  const seen: { message: Message; task: Task | undefined }[] = []
  const { send } = agent((publish, { userMessage, task, taskId, contextId }, bus) => {
    seen.push({ message: userMessage, task })
    publish.task()
    if (task === undefined) {
      publish.status('input-required', 'More?')
      bus.finished()
      return
    }
    const parts: Part[] = [
      { kind: 'file', file: { bytes: 'AAEC', name: 'a.bin', mimeType: 'application/x' } },
      { kind: 'file', file: { uri: 'https://files.example/a' } },
      { kind: 'data', data: { a: 1 } },
    ]
    bus.publish({ kind: 'artifact-update', taskId, contextId, artifact: { artifactId: 'files', parts } })
    publish.status('completed')
  })
  const { task } = await send({ parts: [{ raw: 'AAEC', mediaType: 'application/x' }] })
  const ended = await send({ taskId: task?.id })
  expect(seen[0]).toMatchObject({
    message: {
      ...{ kind: 'message', role: 'user', taskId: task?.id, contextId: task?.contextId },
      parts: [{ kind: 'file', file: { bytes: 'AAEC', mimeType: 'application/x' } }],
    },
    task: undefined,
  })
  expect(seen[1]?.task).toMatchObject({
    kind: 'task',
    status: { state: 'input-required', message: { role: 'agent', parts: [{ kind: 'text', text: 'More?' }] } },
    history: [{ role: 'user' }, { role: 'agent' }, { role: 'user' }],
  })
  expect(ended.task?.artifacts?.[0]?.parts).toEqual([
    { raw: 'AAEC', filename: 'a.bin', mediaType: 'application/x' },
    { url: 'https://files.example/a' },
    { data: { a: 1 } },
  ])
})

test('a turn continues after execute has returned, until its final state', async () => {
  const { send, errors } = agent((publish) => {
    publish.task()
    void pause().then(() => {
      publish.artifact('from the background')
      publish.status('completed')
    })
  })
  const { task } = await send()
  expect(task?.status.state).toBe('TASK_STATE_COMPLETED')
  expect(task?.artifacts?.[0]?.parts).toEqual([{ text: 'from the background' }])
  expect(errors).toEqual([])
})

test.each([
  ['finished()', (_publish: Publisher, bus: ExecutionEventBus) => bus.finished()],
  ['a final status that is not final', (publish: Publisher) => publish.status('working', 'At it', true)],
])('%s ends the turn, and the task that it leaves working fails', async (_name, end) => {
  const { send, errors } = agent((publish, _context, bus) => {
    publish.task()
    end(publish, bus)
  })
  expect((await send()).task?.status.state).toBe('TASK_STATE_FAILED')
  expect(errors.map(String)).toEqual([expect.stringMatching(/ended its turn without a final state/)])
})

test('an event of 1.x is refused', async () => {
  const { send, errors } = agent((_publish, _context, bus) => {
    bus.publish({ kind: 'task', data: { id: '1' } } as never)
  })
  expect((await send()).task?.status.state).toBe('TASK_STATE_FAILED')
  expect(errors.map(String)).toEqual([expect.stringMatching(/publishes events of @a2a-js\/sdk 1\.0/)])
})

test.each([
  ['TaskManager', () => new TaskManager(), 1],
  ['DurableTaskManager', () => new DurableTaskManager({ store: memoryStore() }), 0],
])('over a %s, the cancel of a task that waits for the user', async (_name, manager, calls) => {
  const { send, call, canceled } = agent((publish, _context, bus) => {
    publish.task()
    publish.status('input-required', 'Name?')
    bus.finished()
  }, manager())
  const { task } = await send()
  // The lease of a task that waits is released after the answer.
  await pause()
  expect(await call('CancelTask', { id: task?.id })).toMatchObject({
    status: { state: 'TASK_STATE_CANCELED' },
  })
  await pause()
  expect(canceled).toHaveLength(calls)
})
