/** What the server of the SDK 1.3.0 does with the executors that docs/migrate.md says behave differently behind ours. */
import { AgentCard, Message, SendMessageRequest, Task, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  ServerCallContext,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server'
import type * as wire from 'a2a-tasks/schemas'
import { expect, test } from 'vitest'
import type { Act } from './support/agent.js'
import { pause, Publisher, say } from './support/modern-executors.js'

interface Sdk {
  readonly send: (more?: object) => Promise<Partial<wire.Task> & Partial<wire.Message>>
  readonly get: (id: string) => Promise<wire.Task>
}

function sdk(act: Act): Sdk {
  const card = AgentCard.fromJSON({ name: 'Peer', capabilities: { streaming: true } })
  const store = new InMemoryTaskStore()
  const handler = new DefaultRequestHandler(card, store, {
    async execute(context: RequestContext, bus: ExecutionEventBus) {
      await act(new Publisher(context, bus), context, bus)
    },
    cancelTask: () => Promise.resolve(),
  })
  const call = new ServerCallContext()
  return {
    async send(more = {}) {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }], ...more }
      const sent = await handler.sendMessage(SendMessageRequest.fromJSON({ message }), call)
      return ('messageId' in sent ? Message.toJSON(sent) : Task.toJSON(sent)) as Awaited<
        ReturnType<Sdk['send']>
      >
    },
    get: async (id) => Task.toJSON(await handler.getTask({ tenant: '', id }, call)) as wire.Task,
  }
}

test('a step back to submitted is stored', async () => {
  const { send } = sdk((publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_WORKING)
    publish.status(TaskState.TASK_STATE_SUBMITTED)
  })
  expect((await send()).status?.state).toBe('TASK_STATE_SUBMITTED')
})

test('a task of another id is stored, and is the answer', async () => {
  const { send, get } = sdk((publish) => publish.task({ id: 'other' }))
  expect((await send()).id).toBe('other')
  expect((await get('other')).id).toBe('other')
})

test('an unknown state is stored', async () => {
  const { send } = sdk((publish) => {
    publish.task()
    publish.status(JSON.parse('999') as TaskState)
  })
  expect((await send()).status?.state).not.toMatch(/^TASK_STATE_(WORKING|SUBMITTED)$/)
})

test('an executor that returns leaves its task in the state in which it is', async () => {
  const { send, get } = sdk((publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_WORKING, 'At it')
  })
  const { id = '', status, history } = await send()
  expect(status?.state).toBe('TASK_STATE_WORKING')
  // Progress is part of the conversation.
  expect(history).toHaveLength(2)
  await pause()
  expect((await get(id)).status.state).toBe('TASK_STATE_WORKING')
})

test('a message after the task leaves the task as it is', async () => {
  const ids: string[] = []
  const { send, get } = sdk((publish, context, bus) => {
    ids.push(context.taskId)
    publish.task()
    bus.publish(AgentEvent.message(say('Done', context)))
  })
  expect((await send()).messageId).toEqual(expect.any(String))
  expect((await get(ids[0] ?? '')).status.state).toBe('TASK_STATE_SUBMITTED')
})

test('a task that ends as a whole can change to another end', async () => {
  const { send } = sdk((publish) => {
    publish.task({
      status: { state: TaskState.TASK_STATE_COMPLETED, message: undefined, timestamp: undefined },
    })
    publish.task({
      status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
    })
  })
  expect((await send()).status?.state).toBe('TASK_STATE_WORKING')
})

test('a second message begins a second execute at the same time', async () => {
  let working = 0
  let go: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  const ids: string[] = []
  const { send } = sdk(async (publish, context) => {
    ids.push(context.taskId)
    working += 1
    publish.task()
    await gate
    publish.status(TaskState.TASK_STATE_COMPLETED)
  })
  const first = send()
  await pause()
  const second = send({ taskId: ids[0] })
  await pause()
  expect(working).toBe(2)
  go()
  await Promise.all([first, second])
})
