/** Webhooks of tasks that processes share: what one registers, every other one knows. */
import { setImmediate as turn } from 'node:timers/promises'
import type { TaskStore } from 'a2a-tasks/durable'
import { describe, expect, test } from 'vitest'
import {
  calm,
  sharedStore,
  stateIs,
  task,
  type Made,
  type PushReplica,
  type SharedStore,
} from './support/push.js'
import { receiver, summariesOf } from '../push/support/push.js'
import { samples } from '../../support/samples.js'

const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go' }] }

function outcomeOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'taken',
    (error: unknown) => String(error),
  )
}

/** Two processes whose webhooks all answer with 204, wherever they are. */
function quiet(world: SharedStore, options: { maxPerTask?: number } = {}): [PushReplica, PushReplica] {
  const fetch = (): Promise<Response> => Promise.resolve(new Response(null, { status: 204 }))
  return [world.open({ push: { fetch, ...options } }), world.open({ push: { fetch, ...options } })]
}

describe('a webhook that one process has registered, at another', () => {
  test('is read, listed and deleted', async () => {
    const world = sharedStore()
    const [a, b] = quiet(world)
    const id = await task(a)
    const config = {
      url: 'http://127.0.0.1:9999/',
      token: 't',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    }
    const one = await a.create(id, { ...config, id: 'one' })
    const two = await b.create(id, { ...config, id: 'two' })
    expect(await a.list(id)).toEqual(['one', 'two'])
    expect(await b.list(id)).toEqual(['one', 'two'])
    const get = 'GetTaskPushNotificationConfig'
    expect(await b.call<Made>(get, { taskId: id, id: 'one' })).toEqual(one)
    expect(await a.call<Made>(get, { taskId: id, id: 'two' })).toEqual(two)
    await b.remove(id, 'one')
    await b.remove(id, 'one')
    expect(await a.list(id)).toEqual(['two'])
    await expect(a.call(get, { taskId: id, id: 'one' })).rejects.toThrow('-32001')
    expect(await world.documents('push-outbox')).toHaveLength(1)
  })

  test('is on one page or the next', async () => {
    const [a, b] = quiet(sharedStore())
    const id = await task(a)
    for (const name of ['one', 'two', 'three'])
      await (name === 'two' ? b : a).create(id, { url: 'http://127.0.0.1:9999/', id: name })
    // Replaced, it stays where it was.
    await b.create(id, { url: 'http://127.0.0.1:9999/other', id: 'one' })
    const page = (at: PushReplica, pageToken: string): Promise<{ configs: Made[]; nextPageToken: string }> =>
      at.call('ListTaskPushNotificationConfigs', { taskId: id, pageSize: 2, pageToken })
    const first = await page(b, '')
    expect(first.configs.map((made) => made.id)).toEqual(['one', 'two'])
    const second = await page(a, first.nextPageToken)
    expect(second.configs.map((made) => made.id)).toEqual(['three'])
    expect(second.nextPageToken).toBe('')
  })

  test('receives nothing more once it was deleted there', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    await a.create(id, { url: hook.url, id: 'c' })
    await stateIs(a, id, 'idle')
    await b.remove(id, 'c')
    a.clock.advance(1_001)
    await b.tasks.updateTask(id, { state: 'working' })
    await calm()
    expect(summariesOf(hook.received)).toEqual(['task submitted'])
    expect(await world.documents('push-outbox')).toEqual([])
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('that is replaced there receives nothing more, and the new one does', async () => {
    const [old, young] = [await receiver(), await receiver()]
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    await a.create(id, { url: old.url, id: 'c' })
    await stateIs(a, id, 'idle')
    await b.create(id, { url: young.url, id: 'c' })
    a.clock.advance(1_001)
    await a.tasks.updateTask(id, { state: 'working' })
    await young.arrived(2)
    await calm()
    expect(summariesOf(old.received)).toEqual(['task submitted'])
    expect(summariesOf(young.received)).toEqual(['task submitted', 'working'])
    expect(await a.list(id)).toEqual(['c'])
  })

  test('is the same when it is sent again', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    const config = { url: hook.url, token: 't', id: 'c' }
    await a.create(id, config)
    await stateIs(a, id, 'idle')
    await b.create(id, config)
    await calm()
    expect(hook.received).toHaveLength(1)
    expect(await b.list(id)).toEqual(['c'])
    expect(await world.documents('push-outbox')).toHaveLength(1)
  })

  test('receives the task once more when it is created again after the end', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const id = await task(a)
    await a.create(id, { url: hook.url, id: 'c' })
    await a.tasks.cancelTask(id)
    await stateIs(b, id, 'done')
    await b.create(id, { url: hook.url, id: 'c' })
    await stateIs(a, id, 'done')
    expect(summariesOf(hook.received).at(-1)).toBe('task canceled')
    expect(await b.list(id)).toEqual(['c'])
  })
})

describe('a webhook that comes with a message', () => {
  test('is known everywhere, and receives the task', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const [a, b] = [world.open(), world.open()]
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    const { task: made } = await a.call<{ task: { id: string } }>('SendMessage', {
      message: MESSAGE,
      configuration,
    })
    expect(await b.list(made.id)).toHaveLength(1)
    await stateIs(b, made.id, 'done')
    expect(summariesOf(hook.accepted).at(-1)).toMatch(/completed$/)
  })

  test('is one, however many messages of whichever process it comes with', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const execute = async (run: { requireInput: (text: string) => Promise<unknown> }): Promise<string> => {
      await run.requireInput('And?')
      return 'done'
    }
    const [a, b] = [world.open({ execute }), world.open({ execute })]
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    const { task: made } = await a.call<{ task: { id: string } }>('SendMessage', {
      message: MESSAGE,
      configuration,
    })
    const more = { ...MESSAGE, messageId: 'n', taskId: made.id }
    await b.call('SendMessage', { message: more, configuration })
    await stateIs(b, made.id, 'done')
    expect(await b.list(made.id)).toHaveLength(1)
    const summaries = summariesOf(hook.accepted)
    expect(summaries.filter((word) => word === 'completed')).toHaveLength(1)
  })
})

describe('how many a task may have', () => {
  test('counts for all processes together, also when all register at once', async () => {
    const [a, b] = quiet(sharedStore(), { maxPerTask: 3 })
    const id = await task(a)
    const names = ['1', '2', '3', '4', '5', '6', '7', '8']
    const outcomes = await Promise.all(
      names.map((name, index) =>
        outcomeOf((index % 2 ? a : b).create(id, { url: `http://127.0.0.1:9999/${name}` })),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(3)
    for (const outcome of outcomes) expect(outcome).toMatch(/^taken$|at most 3/)
    expect(await b.list(id)).toHaveLength(3)
    await expect(b.create(id, { url: 'http://127.0.0.1:9999/more' })).rejects.toThrow('at most 3')
  })

  test('leaves nothing behind of those that were too many', async () => {
    const world = sharedStore()
    const [a, b] = quiet(world, { maxPerTask: 1 })
    const id = await task(a)
    const url = 'http://127.0.0.1:9999/'
    await Promise.all([outcomeOf(a.create(id, { url })), outcomeOf(b.create(id, { url }))])
    expect(await a.list(id)).toHaveLength(1)
    expect(await world.documents('push-outbox')).toHaveLength(1)
  })
})

describe('processes that register and delete at the same time', () => {
  test.each(Array.from({ length: samples(25) }, (_, seed) => seed))('agree in the end: %i', async (seed) => {
    const random = randomOf(seed)
    const world = sharedStore((store) => slow(store, random))
    const [a, b] = quiet(world, { maxPerTask: 4 })
    const id = await task(a)
    const jobs = Array.from({ length: 24 }, () => {
      const at = random() < 0.5 ? a : b
      const name = `c${Math.floor(random() * 5)}`
      if (random() < 0.3) return () => at.remove(id, name)
      return () => at.create(id, { url: `http://127.0.0.1:9999/${Math.floor(random() * 3)}`, id: name })
    })
    for (const outcome of await Promise.all(jobs.map((job) => outcomeOf(job())))) {
      expect(outcome).toMatch(/^taken$|at most 4/)
    }
    const listed = await a.list(id)
    expect(new Set(listed).size).toBe(listed.length)
    expect(listed.length).toBeLessThanOrEqual(4)
    const outboxes = await world.documents('push-outbox')
    const [all] = await world.documents('push')
    const { list } = (all?.value ?? { list: [] }) as { list: { outbox: string; number: number }[] }
    expect(outboxes.map((document) => document.id).sort()).toEqual(list.map(({ outbox }) => outbox).sort())
    expect(new Set(list.map(({ number }) => number)).size).toBe(list.length)
    // Each webhook is notified of further events, by one process.
    const before = await Promise.all(outboxes.map(({ id: outbox }) => deliveredTo(world, outbox)))
    expect(before).not.toContain(undefined)
    await a.tasks.cancelTask(id)
    while ((await world.documents('push-outbox')).length > 0) await turn()
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  async function deliveredTo(world: SharedStore, outbox: string): Promise<number | undefined> {
    const found = (await world.documents('push-outbox')).find(({ id }) => id === outbox)
    return (found?.value as { delivered: number } | undefined)?.delivered
  }

  function randomOf(seed: number): () => number {
    let state = seed + 1
    return () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    }
  }

  /** Each step takes a while, before and after it was taken. */
  function slow(store: TaskStore, random: () => number): TaskStore {
    const wait = async (): Promise<void> => {
      for (let turns = Math.floor(random() * 4); turns > 0; turns -= 1) await turn()
    }
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return async (...given: unknown[]) => {
          await wait()
          const result: unknown = await Reflect.apply(value, target, given)
          await wait()
          return result
        }
      },
    })
  }
})

describe('while the store is away', () => {
  test('nothing is registered, and what fails may be tried again', async () => {
    const hook = await receiver()
    const world = sharedStore()
    const a = world.open({ manager: { storeRetryMs: 1 } })
    const id = await task(a)
    for (const method of ['documents', 'putDocument']) {
      a.store.fail(method)
      await expect(a.create(id, { url: hook.url, id: 'c' })).rejects.toThrow(/-32603/)
    }
    a.store.mend()
    expect(await a.list(id)).toEqual([])
    await a.create(id, { url: hook.url, id: 'c' })
    await hook.arrived(1)
    a.store.fail('deleteDocument')
    await expect(a.remove(id, 'c')).rejects.toThrow(/-32603/)
    a.store.mend()
    await a.remove(id, 'c')
    expect([await a.list(id), await world.documents('push-outbox')]).toEqual([[], []])
  })
})
