/** Rules of a gateway that need care where its tasks are in a store. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import {
  A2AGateway,
  custom,
  type CustomHandlers,
  type GatewaySettings,
  type ProviderTask,
  type TaskUpdate,
} from 'a2a-tasks/gateway'
import { ManualClock } from 'a2a-tasks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { collectStates } from '../support/gateway.js'

interface Given extends CustomHandlers {
  readonly config?: GatewaySettings
  readonly clock?: ManualClock
}

/** A gateway with the agent `a`, over its own store. */
function gatewayOf({ config, clock, ...handlers }: Given) {
  const store = memoryStore(clock && { now: () => clock.now() })
  const tasks = new DurableTaskManager({ store, clock, pollIntervalMs: 10 })
  onTestFinished(() => tasks.destroy())
  const errors: unknown[] = []
  const gateway = new A2AGateway({
    tasks,
    providers: { own: custom(handlers) },
    config: { pollIntervalMs: 5, ...config },
    onError: (error) => errors.push(error),
    ...(clock && { clock }),
  })
  const endpoint = { url: 'https://service.test' }
  gateway.registry.register({ id: 'a', provider: 'own', capabilities: ['all'], endpoint })
  onTestFinished(() => gateway.close({ graceMs: 1 }))
  return { gateway, tasks, errors }
}

const positions = async ({ documents }: DurableTaskManager): Promise<number> =>
  (await documents.allDocuments('gateway', undefined, 10)).length

test('a later task of the same context and owner continues the conversation', async () => {
  const given: ProviderTask[] = []
  const { gateway } = gatewayOf({
    run: (task) => {
      given.push(task)
      return { state: 'completed', ref: { task: given.length } }
    },
  })
  const parts = [{ text: 'x' }]
  const { contextId } = await gateway.sendTask('a', { parts }, { owner: 'ann' })
  await gateway.sendTask('a', { parts, contextId }, { owner: 'bob' })
  await gateway.sendTask('a', { parts, contextId }, { owner: 'ann' })
  await gateway.sendTask('a', { parts }, { owner: 'ann' })
  expect(given.map(({ previous }) => previous)).toEqual([undefined, undefined, { task: 1 }, undefined])
})

test('a question that was answered elsewhere is noticed by getTask', async () => {
  let state: 'input-required' | 'completed' = 'input-required'
  const { gateway, tasks } = gatewayOf({
    run: () => ({ state: 'input-required', message: '?', ref: { r: 1 } }),
    getTask: () => ({ state, message: 'Now' }),
  })
  const { id } = await gateway.sendTask('a', 'x')
  await expect.poll(() => gateway.agentOf(id)).toBe(null)
  expect((await gateway.getTask(id)).state).toBe('input-required')
  state = 'completed'
  await gateway.getTask(id)
  expect((await tasks.waitFor(id)).state).toBe('completed')
  await expect.poll(() => positions(tasks)).toBe(0)
})

test('an id that is in use is refused, and nothing is sent', async () => {
  let runs = 0
  const { gateway, tasks } = gatewayOf({
    run: () => {
      runs += 1
      return 'done'
    },
  })
  await tasks.createTask({ id: 'taken', skill: 's' })
  const refusal = { code: 'INVALID_PARAMS', data: { path: 'id' } }
  await expect(gateway.sendTask('a', 'x', { id: 'taken' })).rejects.toMatchObject(refusal)
  const events = gateway.streamTask('a', 'x', { id: 'taken' })
  await expect(events.next()).rejects.toMatchObject(refusal)
  expect(await events.return()).toEqual({ done: true, value: undefined })
  expect([runs, gateway.loadOf('a'), (await tasks.getTask('taken'))?.state]).toEqual([0, 0, 'submitted'])
})

test('an answer through streamTask, and a signal that cancels', async () => {
  const canceled: unknown[] = []
  const { gateway } = gatewayOf({
    run: ({ ref }): TaskUpdate =>
      ref === undefined
        ? { state: 'input-required', message: '?', ref: { r: 1 } }
        : { state: 'working', ref: { r: 1 } },
    getTask: () => ({ state: 'working' }),
    cancelTask: (ref) => {
      canceled.push(ref)
      return { state: 'canceled' }
    },
  })
  const { id } = await gateway.sendTask('a', 'x')
  const controller = new AbortController()
  const { signal } = controller
  const events = gateway.streamTask('a', { taskId: id, parts: [{ text: 'y' }] }, { signal })
  const first = await events.next()
  expect(first.value).toMatchObject({ type: 'snapshot', task: { state: 'working' } })
  controller.abort()
  expect(await collectStates(events)).toEqual(['canceled'])
  await expect.poll(() => canceled).toEqual([{ r: 1 }])
  const aborted = await gateway.sendTask('a', 'x', { signal })
  expect([aborted.state, canceled.length]).toEqual(['canceled', 1])
})

test('a cancellation that fails at the service is repeated until it succeeds', async () => {
  const clock = new ManualClock()
  let attempts = 0
  const { gateway, tasks, errors } = gatewayOf({
    clock,
    run: () => ({ state: 'working', ref: { r: 1 } }),
    getTask: () => ({ state: 'working' }),
    cancelTask: () => {
      attempts += 1
      if (attempts < 3) throw new Error('busy')
      return { state: 'canceled' }
    },
  })
  const { id } = await gateway.sendTask('a', 'x', { returnImmediately: true })
  await gateway.handleOf(id)
  await gateway.cancelTask(id)
  expect([attempts, errors.length, await positions(tasks)]).toEqual([1, 1, 1])
  await expect
    .poll(async () => {
      clock.advance(5_000)
      return await positions(tasks)
    })
    .toBe(0)
  expect(attempts).toBe(3)
})

test('a task that takes too long fails, and is canceled at its service', async () => {
  const canceled: unknown[] = []
  const { gateway, tasks } = gatewayOf({
    config: { taskTimeoutMs: 50 },
    run: () => ({ state: 'working', ref: { r: 1 } }),
    getTask: () => ({ state: 'working' }),
    cancelTask: (ref) => {
      canceled.push(ref)
      return { state: 'canceled' }
    },
  })
  const { message, state } = await gateway.sendTask('a', 'x')
  expect([state, message]).toMatchObject([
    'failed',
    { metadata: { code: 'TASK_TIMED_OUT', retryable: true } },
  ])
  await expect.poll(() => positions(tasks)).toBe(0)
  expect(canceled).toEqual([{ r: 1 }])
})
