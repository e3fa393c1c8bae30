/** Deliveries to webhooks of tasks that processes share: who tells, and from where he continues. */
import type { TaskStore } from 'a2a-tasks/durable'
import { describe, expect, test } from 'vitest'
import { faultyStore } from '../../support/faulty-store.js'
import {
  calm,
  generationsOf,
  healthAt,
  registered,
  sharedStore,
  stateIs,
  task,
  type PushReplica,
} from './support/push.js'
import { pass } from './support/replicas.js'
import { endOf, receiver, summariesOf, until } from '../push/support/push.js'

async function work({ tasks }: PushReplica, id: string): Promise<void> {
  await tasks.updateTask(id, { state: 'working' })
  await tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'one' }] })
  await tasks.updateTask(id, { state: 'completed' })
}

const WHOLE_RUN = ['task submitted', 'working', 'artifact one', 'completed']

describe('when the process that delivers to a webhook has died', () => {
  test('another one continues where it was', async () => {
    const { hook, a, b, id } = await registered({ replies: [204, 503] })
    await work(b, id)
    await stateIs(a, id, 'retrying')
    // From now on the clock of the first stands still.
    await pass(b.clock, () => hook.accepted.length === 4)
    expect(summariesOf(hook.accepted)).toEqual(WHOLE_RUN)
    expect(generationsOf(hook.received)).toEqual([1, 2, 2, 3, 4])
    expect(b.clock.now() - a.clock.now()).toBeGreaterThanOrEqual(30_000)
    await stateIs(b, id, 'done')
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('a delivery that it could not record is sent again, with the same id', async () => {
    const { hook, a, b, id } = await registered()
    a.store.fail('putDocument')
    await b.tasks.updateTask(id, { state: 'working' })
    await b.tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'one' }] })
    await hook.arrived(3)
    a.store.fail()
    await pass(b.clock, () => hook.received.length === 5)
    await b.tasks.updateTask(id, { state: 'completed' })
    await stateIs(b, id, 'done')
    expect(generationsOf(hook.received)).toEqual([1, 2, 3, 2, 3, 4])
    expect(summariesOf(hook.received.slice(3))).toEqual(WHOLE_RUN.slice(1))
    const [ids, again] = [hook.received.slice(1, 3), hook.received.slice(3, 5)].map((received) =>
      received.map(({ headers }) => headers['x-a2a-notification-id']),
    )
    expect(again).toEqual(ids)
  })

  test('a restart of the only one continues, too', async () => {
    const hook = await receiver(204)
    const world = sharedStore()
    const a = world.open()
    const id = await task(a)
    await a.create(id, { url: hook.url })
    await stateIs(a, id, 'idle')
    hook.replies.push(() => undefined)
    await a.tasks.updateTask(id, { state: 'working' })
    await hook.arrived(2)
    const again = world.open()
    await pass(again.clock, () => hook.accepted.length === 2)
    await again.tasks.updateTask(id, { state: 'completed' })
    await stateIs(again, id, 'done')
    expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'working', 'completed'])
  })

  test('only one of the others does', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b, c] = [world.open(), world.open(), world.open()]
    const id = await task(a)
    await a.create(id, { url: hook.url })
    await stateIs(b, id, 'idle')
    // What it wants to tell from now on does not reach the webhook.
    a.store.fail()
    const together = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 1_000) {
        b.clock.advance(1_000)
        c.clock.advance(1_000)
        await calm(10)
      }
    }
    a.clock.advance(29_000)
    await together(60_000)
    await work(c, id)
    await until(() => hook.received.length >= 4)
    await together(60_000)
    await calm()
    expect(generationsOf(hook.received)).toEqual([1, 2, 3, 4])
  })

  test('in a version that sends whole tasks, a delivered task is not sent again', async () => {
    const { hook, a, b, id } = await registered({ version: '0.3' })
    a.store.fail()
    for (let seconds = 0; seconds < 60; seconds += 1) {
      b.clock.advance(1_000)
      await calm(5)
    }
    expect(hook.received).toHaveLength(1)
    await work(b, id)
    await stateIs(b, id, 'done')
    const generations = generationsOf(hook.received)
    expect([...generations].sort()).toEqual(generations)
    expect(new Set(generations).size).toBe(generations.length)
    expect(hook.received.at(-1)?.body).toMatchObject({ status: { state: 'completed' }, artifacts: [{}] })
  })

  test('its failed attempts count', async () => {
    const hook = await receiver(503, 503, 503, 503, 503)
    const world = sharedStore()
    const push = { maxAttempts: 3 }
    const [a, b] = [world.open({ push }), world.open({ push })]
    const id = await task(a)
    await a.create(id, { url: hook.url })
    await stateIs(a, id, 'retrying')
    a.clock.advance(1_000)
    await hook.arrived(2)
    await stateIs(a, id, 'retrying')
    await calm()
    await pass(b.clock, async () => (await healthAt(b, id)).state === 'disabled')
    expect(hook.received).toHaveLength(3)
    expect(await healthAt(b, id)).toMatchObject({ attempts: 3, failure: { status: 503 } })
    expect(b.errors).toHaveLength(1)
  })
})

describe('the process that delivers to a webhook', () => {
  test('continues to deliver, however long that takes', async () => {
    const { hook, world, a, b, id } = await registered()
    const claims = new Set<unknown>()
    for (let seconds = 0; seconds < 120; seconds += 1) {
      a.clock.advance(1_000)
      b.clock.advance(1_000)
      await calm(5)
      const [outbox] = await world.documents('push-outbox')
      claims.add((outbox?.value as { claim: { by: string } }).claim.by)
    }
    expect(claims.size).toBe(1)
    await work(b, id)
    await stateIs(b, id, 'done')
    expect(generationsOf(hook.received)).toEqual([1, 2, 3, 4])
  })

  test('sends nothing more when it was stopped for so long that another process delivers', async () => {
    const { hook, world, a, b, id } = await registered()
    const claimOf = async (): Promise<unknown> => {
      const [outbox] = await world.documents('push-outbox')
      return (outbox?.value as { claim: { by: string } }).claim.by
    }
    const first = await claimOf()
    await pass(b.clock, async () => (await claimOf()) !== first)
    // It wakes up, and receives the next change before it looks at its claims.
    a.clock.advance(2_000)
    await work(b, id)
    await stateIs(b, id, 'done')
    await calm()
    expect(generationsOf(hook.received)).toEqual([1, 2, 3, 4])
    expect(summariesOf(hook.accepted)).toEqual(WHOLE_RUN)
  })

  test('leaves only the configuration behind when all is delivered', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    const config = await a.create(id, { url: hook.url })
    await work(a, id)
    await stateIs(a, id, 'done')
    while ((await world.documents('push-outbox')).length > 0) await calm(1)
    expect(await world.documents('push')).toHaveLength(1)
    const health = { taskId: id, id: config.id, origin: new URL(hook.url).origin, state: 'done' }
    const expected = [{ ...health, delivered: hook.accepted.length, attempts: 0, recent: [] }]
    expect(await b.handler.push.health(id)).toEqual(expected)
    const recent = generationsOf(hook.accepted).map(
      (generation) => expect.objectContaining({ generation }) as object,
    )
    expect(await a.handler.push.health()).toEqual([{ ...expected[0], recent }])
    // No process delivers again.
    await pass(b.clock, () => b.clock.now() - a.clock.now() > 60_000)
    expect(hook.accepted.length).toBe(expected[0]?.delivered)
  })
})

describe('a webhook that is disabled', () => {
  test('stays disabled over restarts, and continues when any process enables it', async () => {
    const hook = await receiver(204, 410)
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    const config = await a.create(id, { url: hook.url })
    await stateIs(a, id, 'idle')
    await work(a, id)
    await stateIs(b, id, 'disabled')
    await endOf(a.handler.close({ graceMs: 1 }), a.clock)
    const c = world.open()
    for (let minutes = 0; minutes < 5; minutes += 1) {
      for (const at of [b, c]) at.clock.advance(60_000)
      await calm(20)
    }
    expect(hook.received).toHaveLength(2)
    const { origin } = new URL(hook.url)
    const failure = { reason: 'HTTP 410', status: 410 }
    const about = { taskId: id, id: config.id, origin, attempts: 1, failure }
    expect(await c.handler.push.health(id)).toEqual([
      { ...about, state: 'disabled', delivered: 1, recent: [] },
    ])
    expect(await b.handler.push.deadLetters()).toEqual([
      {
        ...{ ...about, notificationId: `${id}/${config.id}/2` },
        notification: { statusUpdate: expect.objectContaining({ taskId: id }) as object },
      },
    ])
    expect([a.errors.length, b.errors.length, c.errors.length]).toEqual([1, 0, 0])
    expect(a.errors[0]).toMatchObject({ context: { during: 'push', taskId: id, configId: config.id } })
    expect(await b.handler.push.redeliver(id, 'another')).toBe(false)
    expect(await c.handler.push.redeliver('another', config.id)).toBe(false)
    expect(await c.handler.push.redeliver(id, config.id)).toBe(true)
    expect(await b.handler.push.redeliver(id, config.id)).toBe(false)
    await stateIs(b, id, 'done')
    expect(summariesOf(hook.accepted)).toEqual(WHOLE_RUN)
    expect(await b.handler.push.deadLetters()).toEqual([])
  })

  test('continues when it is registered once more, at another process', async () => {
    const hook = await receiver(410)
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    await a.create(id, { url: hook.url, id: 'c' })
    await stateIs(b, id, 'disabled')
    await b.create(id, { url: hook.url, id: 'c' })
    await stateIs(b, id, 'idle')
    expect(summariesOf(hook.accepted)).toEqual(['task submitted'])
  })

  test('has a dead letter with the whole task as it is then, in a version that sends whole tasks', async () => {
    const hook = await receiver(204, 410)
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    const { id: configId } = await a
      .create(id, { url: hook.url }, '0.3')
      .then(() => a.handler.push.health(id))
      .then(([health]) => health ?? { id: '' })
    await stateIs(a, id, 'idle')
    await a.tasks.updateTask(id, { state: 'working' })
    await stateIs(b, id, 'disabled')
    await b.tasks.updateTask(id, { state: 'completed' })
    expect(await b.handler.push.deadLetters()).toMatchObject([
      { notificationId: `${id}/${configId}/3`, notification: { status: { state: 'completed' } } },
    ])
  })

  test('may be enabled by the listener that receives its failure', async () => {
    const hook = await receiver(410)
    const enabled: Promise<boolean>[] = []
    const onError = (): void => void enabled.push(a.handler.push.redeliver(id, 'c'))
    const slow = (store: TaskStore): TaskStore =>
      faultyStore(store, { before: (step) => (step === 'putDocument' ? calm(50) : undefined) })
    const a = sharedStore(slow).open({ onError })
    const id = await task(a)
    await a.create(id, { url: hook.url, id: 'c' })
    await until(() => enabled.length === 1)
    expect(await Promise.all(enabled)).toEqual([true])
    await hook.arrived(2)
  })
})

test('a handler that sends no notifications has deliveries that are empty', async () => {
  const { createRequestHandler } = await import('a2a-tasks/server')
  const { tasks } = sharedStore().open()
  const { push } = createRequestHandler({
    card: { name: 'A', url: 'https://a.example' },
    execute: () => 'x',
    tasks,
  })
  expect([await push.health(), await push.deadLetters(), await push.redeliver('a', 'b')]).toEqual([
    [],
    [],
    false,
  ])
})
