/** Webhooks of tasks that processes share, when something goes: the process, the store, the task. */
import { describe, expect, test } from 'vitest'
import { calm, generationsOf, healthAt, registered, sharedStore, stateIs, task } from './support/push.js'
import { pass } from './support/replicas.js'
import { faultyStore, gate } from '../../support/faulty-store.js'
import { endOf, receiver, summariesOf, until } from '../push/support/push.js'

describe('a process that closes', () => {
  test('releases its claims at once', async () => {
    const { hook, world, a, b, id } = await registered()
    const start = a.clock.now()
    await a.handler.close()
    expect(a.clock.now()).toBe(start)
    expect(await world.documents('push-outbox')).toMatchObject([{ value: { cursor: 1, claim: null } }])
    await b.tasks.updateTask(id, { state: 'working' })
    await pass(b.clock, () => hook.received.length === 2)
    expect(b.clock.now() - start).toBeLessThan(10_000)
    expect(summariesOf(hook.received)).toEqual(['task submitted', 'working'])
    await b.tasks.updateTask(id, { state: 'completed' })
    await stateIs(b, id, 'done')
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('delivers earlier events', async () => {
    const world = sharedStore()
    const a = world.open()
    const id = await task(a)
    let answer = (): void => undefined
    const hook = await receiver(204, (response) => {
      answer = () => response.writeHead(204).end()
    })
    await a.create(id, { url: hook.url })
    await stateIs(a, id, 'idle')
    await a.tasks.updateTask(id, { state: 'working' })
    await hook.arrived(2)
    await a.tasks.updateTask(id, { state: 'completed' })
    const closed = a.handler.close({ graceMs: 2_000 })
    await calm()
    answer()
    await endOf(closed, a.clock)
    expect(summariesOf(hook.received)).toEqual(['task submitted', 'working', 'completed'])
    expect(await world.documents('push-outbox')).toEqual([])
  })

  test('leaves a webhook that is away to the others, without waiting for it', async () => {
    const { hook, a, b } = await registered({ replies: [503], state: 'retrying' })
    await a.handler.close({ graceMs: 60_000 })
    await pass(b.clock, () => hook.accepted.length === 1)
    expect(b.clock.now() - a.clock.now()).toBeLessThan(10_000)
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('ends in time where a webhook hangs', async () => {
    const hook = await receiver(() => undefined)
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    await a.create(id, { url: hook.url })
    await hook.arrived(1)
    const start = a.clock.now()
    await endOf(a.handler.close({ graceMs: 500 }), a.clock)
    expect(a.clock.now() - start).toBeLessThan(600)
    await pass(b.clock, () => hook.accepted.length === 1)
    expect(b.clock.now() - start).toBeLessThan(10_000)
  })

  test('registers nothing more', async () => {
    const world = sharedStore()
    const a = world.open()
    const id = await task(a)
    await a.handler.close()
    await expect(a.create(id, { url: 'http://127.0.0.1:9999/' })).rejects.toThrow('UNAVAILABLE')
    expect(await world.documents('push')).toEqual([])
    expect(a.clock.pending).toBeLessThanOrEqual(2)
  })

  test('leaves what it registers at that moment to others', async () => {
    for (let moment = 0; moment < 30; moment += 1) {
      const hook = await receiver()
      const world = sharedStore()
      const [a, b] = [world.open(), world.open()]
      const id = await task(a)
      const made = a.create(id, { url: hook.url }).catch(String)
      for (let count = 0; count < moment; count += 1) await Promise.resolve()
      await endOf(a.handler.close({ graceMs: 1 }), a.clock)
      const isRefused = typeof (await made) === 'string'
      if (isRefused) expect(await b.list(id)).toEqual([])
      else {
        const start = b.clock.now()
        await pass(b.clock, () => hook.accepted.length > 0)
        expect(b.clock.now() - start).toBeLessThan(10_000)
      }
    }
  })
})

test('a webhook that is registered on a closed process is left to others', async () => {
  const hook = await receiver()
  const held = gate()
  let isHeld = false
  const world = sharedStore((store) =>
    faultyStore(store, {
      async before(step, [document]) {
        if (step !== 'putDocument' || (document as { kind: string }).kind !== 'push') return
        isHeld = true
        await held.opened
      },
    }),
  )
  const [a, b] = [world.open(), world.open()]
  const id = await task(a)
  const made = a.create(id, { url: hook.url })
  await until(() => isHeld)
  await endOf(a.handler.close({ graceMs: 1 }), a.clock)
  held.open()
  await made
  await calm()
  expect(await world.documents('push-outbox')).toMatchObject([{ value: { claim: null } }])
  const start = b.clock.now()
  await pass(b.clock, () => hook.accepted.length > 0)
  expect(b.clock.now() - start).toBeLessThan(10_000)
})

describe('a store that fails', () => {
  test('for a while holds deliveries up, and nothing is lost', async () => {
    const { hook, a, b, id } = await registered()
    a.clock.advance(2_000)
    a.store.fail()
    await b.tasks.updateTask(id, { state: 'working' })
    await b.tasks.updateTask(id, { state: 'completed' })
    await calm()
    a.clock.advance(3_000)
    await calm()
    a.store.mend()
    await pass(a.clock, () => hook.received.length === 3)
    await stateIs(a, id, 'done')
    expect(generationsOf(hook.received)).toEqual([1, 2, 3])
    expect(a.errors).toEqual([])
  })

  test('for longer is reported to onError, and then it continues by itself', async () => {
    const { hook, a, b, id } = await registered()
    a.store.fail()
    await b.tasks.updateTask(id, { state: 'working' })
    for (let seconds = 0; seconds < 60; seconds += 1) {
      a.clock.advance(1_000)
      await calm(5)
    }
    expect(a.errors.map(({ error }) => String(error))).toContainEqual(
      expect.stringContaining('The store failed'),
    )
    expect(a.errors.every(({ context }) => context.during === 'push')).toBe(true)
    a.store.mend()
    await b.tasks.updateTask(id, { state: 'completed' })
    await pass(a.clock, async () => (await healthAt(b, id)).state === 'done')
    expect([...new Set(generationsOf(hook.accepted))]).toEqual([1, 2, 3])
  })

  test('to give the log of a task disables no webhook', async () => {
    let answer = (): void => undefined
    const hook = await receiver(204, (response) => {
      answer = () => response.writeHead(204).end()
    })
    const world = sharedStore()
    const [a, b] = [world.open({ manager: { eventLogSize: 1, storeRetryMs: 1 } }), world.open()]
    const id = await task(a)
    await a.create(id, { url: hook.url })
    await stateIs(b, id, 'idle')
    await a.tasks.updateTask(id, { state: 'working' })
    await hook.arrived(2)
    for (const text of ['1', '2', '3']) {
      await a.tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text }] })
    }
    a.store.fail('events')
    answer()
    await until(() => a.errors.length > 0)
    expect(a.errors).toMatchObject([
      { error: { code: 'STORE_FAILED' }, context: { during: 'push', taskId: id } },
    ])
    expect(await b.handler.push.deadLetters()).toEqual([])
    await pass(b.clock, () => hook.received.length === 5)
    expect(generationsOf(hook.received)).toEqual([1, 2, 3, 4, 5])
  })

  test('after it has carried out the call changes nothing', async () => {
    const hook = await receiver()
    const lost = new Set<string>()
    const world = sharedStore((store) => ({
      ...bound(store),
      async putDocument(...given) {
        const isPut = await store.putDocument(...given)
        const [{ kind, value }] = given
        const text = JSON.stringify([kind, value])
        if (lost.has(text)) return isPut
        lost.add(text)
        throw new Error('The connection is gone')
      },
    }))
    const a = world.open()
    const id = await task(a)
    const made = a.create(id, { url: hook.url, id: 'c' })
    await endOf(made, a.clock)
    await a.tasks.updateTask(id, { state: 'working' })
    await a.tasks.updateTask(id, { state: 'completed' })
    await pass(a.clock, async () => (await world.documents('push-outbox')).length === 0)
    expect(summariesOf(hook.received)).toEqual(['task submitted', 'working', 'completed'])
    expect(await a.list(id)).toEqual(['c'])
    expect(a.errors).toEqual([])
  })

  function bound<T extends object>(store: T): T {
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
      ownKeys: () => METHODS,
      getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
    })
  }
  const METHODS = [
    ...[
      'create',
      'commit',
      'get',
      'heads',
      'events',
      'list',
      'count',
      'unended',
      'ended',
      'delete',
      'acquire',
      'renew',
    ],
    ...['release', 'orphans', 'putDocument', 'deleteDocument', 'documents', 'allDocuments', 'hints'],
  ]
})

test('the end of a task is delivered even when only the delivery needs the task in memory', async () => {
  const hook = await receiver(204, 503, 503)
  const a = sharedStore().open({ manager: { maxCached: 1 } })
  const id = await task(a)
  await a.create(id, { url: hook.url })
  await stateIs(a, id, 'idle')
  await a.tasks.cancelTask(id)
  await stateIs(a, id, 'retrying')
  const start = a.clock.now()
  for (let count = 0; count < 20; count += 1) await task(a)
  expect(a.tasks.lastSeen(id)).toBe(undefined)
  await pass(a.clock, () => hook.accepted.length === 2)
  expect(a.clock.now() - start).toBeLessThan(5_000)
  expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'canceled'])
})

describe('a task that is removed', () => {
  const retention = { default: { maxAgeMs: 1_000 } }

  test('removes its webhooks, and undelivered notifications are dropped', async () => {
    const hook = await receiver(204, 503, 503, 503, 503, 503, 503)
    const world = sharedStore()
    const [a, b] = [world.open({ manager: { retention } }), world.open({ manager: { retention } })]
    const id = await task(a)
    const { id: configId } = await a.create(id, { url: hook.url })
    await stateIs(a, id, 'idle')
    await a.tasks.cancelTask(id)
    await stateIs(a, id, 'retrying')
    b.clock.advance(5_000)
    expect(await b.tasks.prune()).toBe(1)
    expect([await world.documents('push'), await world.documents('push-outbox')]).toEqual([[], []])
    await pass(a.clock, () => a.errors.length > 0)
    const count = hook.received.length
    expect(a.errors).toMatchObject([
      { error: { code: 'EXTERNAL_SERVICE_ERROR' }, context: { during: 'push', taskId: id, configId } },
    ])
    expect(String(a.errors[0]?.error)).toContain('is dropped: its task has expired')
    for (let seconds = 0; seconds < 60; seconds += 1) {
      a.clock.advance(1_000)
      await calm(5)
    }
    expect(hook.received).toHaveLength(count)
    expect(await a.handler.push.health()).toEqual([])
  })

  test('reports no webhook that had nothing to deliver', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b] = [world.open({ manager: { retention } }), world.open({ manager: { retention } })]
    const id = await task(a)
    await a.create(id, { url: hook.url })
    await a.tasks.cancelTask(id)
    await stateIs(b, id, 'done')
    b.clock.advance(5_000)
    await b.tasks.prune()
    for (const at of [a, b]) at.clock.advance(60_000)
    await calm()
    expect([...a.errors, ...b.errors]).toEqual([])
    expect(await b.handler.push.health(id)).toEqual([])
  })

  test('leaves its id to another, which has no webhooks', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b] = [world.open({ manager: { retention } }), world.open({ manager: { retention } })]
    await a.tasks.createTask({ id: 'same', skill: 'test' })
    await a.create('same', { url: hook.url })
    await a.tasks.cancelTask('same')
    await stateIs(b, 'same', 'done')
    const before = hook.received.length
    b.clock.advance(5_000)
    await b.tasks.prune()
    await b.tasks.createTask({ id: 'same', skill: 'test' })
    expect([await a.list('same'), await b.list('same')]).toEqual([[], []])
    await b.tasks.updateTask('same', { state: 'working' })
    await calm()
    expect(hook.received).toHaveLength(before)
  })
})

test('a manager that is destroyed before its handler is closed leaves its webhooks to others', async () => {
  const { hook, a, b, id } = await registered()
  await endOf(a.tasks.destroy(), a.clock)
  await b.tasks.cancelTask(id)
  await pass(b.clock, () => hook.received.length === 2)
  expect(generationsOf(hook.received)).toEqual([1, 2])
  expect(a.errors).toEqual([])
})
