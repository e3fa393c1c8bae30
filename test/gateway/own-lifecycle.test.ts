/** A gateway over a manager with a table of states of its own. */
import { defineLifecycle, TaskManager, VALID_TRANSITIONS, type Lifecycle, type TaskState } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { A2AGateway } from '../../src/gateway/gateway.js'
import type { TaskUpdate } from '../../src/gateway/provider.js'
import { custom } from '../../src/gateway/providers/custom.js'
import { gatewayRequestHandler } from '../../src/gateway/request-handler.js'
import { createRequestHandler } from '../../src/server/request-handler.js'
import { gate } from '../server/interop/support/agent.js'
import { untilAborted } from './support/request-handler.js'

type State = TaskState | 'review'

const { working, ...others } = VALID_TRANSITIONS
/** From `review`, a task can only go back to work, or end without a result. */
const STRICT: Lifecycle<State> = defineLifecycle({
  submitted: others.submitted,
  working: [...working, 'review'],
  'input-required': others['input-required'],
  'auth-required': others['auth-required'],
  review: ['working', 'failed', 'canceled'],
  ...{ completed: [], failed: [], canceled: [], rejected: [] },
})

const MANAGERS = [
  ['in memory', () => new TaskManager({ lifecycle: STRICT, eventLogSize: 100 })],
  ['over a store', () => new DurableTaskManager({ store: memoryStore(), lifecycle: STRICT })],
] as const

describe.each(MANAGERS)('a gateway with a state of its own, %s,', (_name, open) => {
  /** An agent that is reviewed while it works, and then reports `updates`. */
  function reviewed(...updates: (TaskUpdate | Error)[]) {
    const tasks = open()
    const canceled = gate()
    const agent = custom({
      async *run({ id }, { signal }) {
        yield { ref: { id }, state: 'working' }
        await tasks.updateTask(id, { state: 'review' })
        for (const update of updates) {
          if (update instanceof Error) throw update
          yield update
        }
        if (updates.length === 0) await untilAborted(signal)
      },
      getTask: () => ({ state: 'working' }),
      cancelTask: () => {
        canceled.open()
        return {}
      },
    })
    const gateway = new A2AGateway({ tasks, providers: { own: agent }, onError: () => undefined })
    onTestFinished(async () => {
      await gateway.close({ graceMs: 0 })
      await tasks.destroy()
    })
    const capabilities = ['x']
    gateway.registry.register({ id: 'a', provider: 'own', capabilities, endpoint: { url: 'http://a.test' } })
    const states = async (id: string): Promise<State[]> =>
      (await tasks.events(id)).flatMap((event) =>
        event.type === 'status' && event.from !== event.to ? [event.to] : [],
      )
    return { gateway, tasks, canceled, states }
  }

  it.each<[string, (TaskUpdate | Error)[], State[]]>([
    ['a result', [{ state: 'completed' }], ['working', 'completed']],
    ['a question', [{ state: 'input-required', message: 'Which?' }], ['working', 'input-required']],
    ['a failure', [{ state: 'failed' }], ['failed']],
    ['an error', [new Error('Broken')], ['failed']],
    ['a cancellation', [{ state: 'canceled' }], ['canceled']],
    ['work', [{ state: 'working' }, { state: 'submitted' }, { state: 'failed' }], ['failed']],
    ['progress', [{ progress: 0.5 }, { message: 'Half' }, { state: 'failed' }], ['failed']],
  ])('walks from it to %s', async (_what, updates, path) => {
    const { gateway, tasks, states } = reviewed(...updates)
    const { id } = await gateway.sendTask('a', 'Hi', { returnImmediately: true })
    const until = path.at(-1) ?? 'working'
    const { messages } = await tasks.waitFor(id, { until })
    expect(await states(id)).toEqual(['working', 'review', ...path])
    const texts = messages.map(({ parts }) => parts[0]?.text)
    expect([texts.includes('Which?'), texts.includes('50 %'), texts.includes('Half')]).toEqual([
      until === 'input-required',
      false,
      false,
    ])
  })

  it('takes what the service streams in it', async () => {
    const chunk = (text: string) => ({ artifactId: 'a', parts: [{ text }] })
    const { gateway, tasks, states } = reviewed(
      { chunk: chunk('One') },
      { artifacts: [{ artifactId: 'b', parts: [{ text: 'Two' }] }] },
      { state: 'completed' },
    )
    const { id } = await gateway.sendTask('a', 'Hi', { returnImmediately: true })
    const task = await tasks.waitFor(id)
    expect(task.artifacts).toMatchObject([chunk('One'), { artifactId: 'b' }])
    expect((await states(task.id)).at(-1)).toBe('completed')
  })

  it('cancels at the service', async () => {
    const { gateway, tasks, canceled } = reviewed()
    const { id } = await gateway.sendTask('a', 'Hi', { returnImmediately: true })
    await tasks.waitFor(id, { until: 'review' })
    expect(await gateway.cancelTask(id)).toMatchObject({ state: 'canceled' })
    await canceled.opened
  })

  it('shows clients the task as working, also when it closes', async () => {
    const { gateway, tasks } = reviewed()
    const handler = createRequestHandler({
      card: { name: 'gateway', url: 'https://gateway.test' },
      tasks,
      execute: gatewayRequestHandler(gateway),
    })
    onTestFinished(() => handler.close({ graceMs: 0 }))
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }], metadata: { agentId: 'a' } }
    const params = { message, configuration: { returnImmediately: true } }
    const sent = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    const { id } = (sent as { result: { task: { id: string } } }).result.task
    await tasks.waitFor(id, { until: 'review' })
    await gateway.close({ graceMs: 0 })
    const got = await handler.dispatch({ jsonrpc: '2.0', id: 2, method: 'GetTask', params: { id } })
    expect(got).toMatchObject({ result: { status: { state: 'TASK_STATE_WORKING' } } })
    expect((await tasks.getTask(id))?.state).toBe('review')
  })
})

const LITELLM = {
  pending: ['running', 'cancelled'],
  running: ['completed', 'failed', 'cancelled', 'input_required'],
  input_required: ['running', 'cancelled'],
  ...{ completed: [], failed: [], cancelled: [] },
}
const NAMED = {
  submitted: ['working', 'canceled'],
  working: ['completed', 'failed', 'canceled', 'input-required'],
  'input-required': ['working', 'canceled'],
  ...{ completed: [], failed: [], canceled: [] },
}

test('is that of a manager: the table of LiteLLM-RS', () => {
  const lifecycle = defineLifecycle<Record<string, string[]>>(NAMED)
  const tasks = new TaskManager({ lifecycle })
  const { id } = tasks.createTask({ skill: 'x' })
  expect(() => tasks.updateTask(id, { state: 'failed' })).toThrow(
    'Invalid transition from submitted to failed',
  )
  expect(tasks.updateTask(id, { state: 'working' }).state).toBe('working')
  expect(tasks.updateTask(id, { state: 'failed' }).state).toBe('failed')
})

describe('a gateway refuses at once', () => {
  it.each([
    ['the table of LiteLLM-RS', LITELLM, 'begins with "pending"'],
    ['that table in the names of A2A', NAMED, 'lacks the step from "submitted" to "failed"'],
    [
      'a state in which work ends',
      { ...STRICT.transitions, review: [] },
      'ends in "review", which no client knows',
    ],
  ])('%s, with the reason', (_name, table, reason) => {
    const lifecycle = defineLifecycle<Record<string, readonly string[]>>(table)
    for (const tasks of [
      new TaskManager({ lifecycle }),
      new DurableTaskManager({ store: memoryStore(), lifecycle }),
    ]) {
      expect(() => new A2AGateway({ tasks, providers: {} })).toThrow(
        `The lifecycle of "tasks" ${reason}. A gateway needs every state and step of A2A_LIFECYCLE`,
      )
      void tasks.destroy()
    }
  })
})
