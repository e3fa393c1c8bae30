/** Failures specific to Redis: restarts, full memory, missing scripts, other layouts. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { createClient, RESP_TYPES } from 'redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStore, type Creation, type Hint } from 'a2a-tasks/durable'
import { redisStore } from 'a2a-tasks/stores/redis'
import { change, creation, put } from '../../../src/testing/task-store-suite/samples.js'
import { keyOf } from '../../../src/core/task.js'
import { skipWithoutRedis, startRedis, type RedisServer } from '../../support/redis-server.js'
import {
  CLIENTS,
  closedAfter,
  openIoRedis,
  openNodeRedis,
  ownRedis,
  whenRedis,
  type Opened,
} from './clients.js'

const LATER = '2027-01-01T00:00:00.000Z'

it('redis-server is installed', (context) => skipWithoutRedis(context))

whenRedis('a store in Redis', () => {
  let server: RedisServer
  let opened: Opened
  let stores = 0

  beforeAll(async () => {
    server = await startRedis()
    opened = await openIoRedis(server)
  })
  afterAll(async () => {
    opened.close()
    await server.stop()
  })

  /** Of its own, over ioredis. */
  async function openStore(): Promise<Omit<Opened, 'close'> & { readonly prefix: string }> {
    stores += 1
    const prefix = `store-${stores}`
    const { store, command } = await closedAfter(openIoRedis(server, { prefix }))
    await store.migrate()
    return { store, command, prefix }
  }

  it('runs leases by the clock of Redis where it is given none', async () => {
    const { store } = await openStore()
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 60_000 } })
    expect(await store.acquire(keyOf(task), { id: 'm', ttlMs: 1 })).toMatchObject({ leaseId: 'l' })
    expect(await store.orphans(10)).toEqual([])
    await store.renew([{ key: keyOf(task), id: 'l' }], 0)
    expect(await store.orphans(10)).toEqual([{ key: keyOf(task), leaseId: 'l', note: undefined }])
  })

  it('leaves nothing behind of a task that is deleted', async () => {
    const { store, command, prefix } = await openStore()
    const { task } = await put(store, 'a', { owner: 'o', lease: { id: 'l', ttlMs: 1 } })
    await store.commit(change(task))
    for (const kind of ['push', '3:x']) {
      await store.putDocument({ key: keyOf(task), kind, id: '1:2', value: { a: 1 } }, 0)
    }
    expect(await store.delete([keyOf(task)])).toEqual([keyOf(task)])
    expect(await store.count({})).toBe(0)
    expect(await command('keys', `{${prefix}}*`)).toEqual([`{${prefix}}:layout`])
  })

  it('keeps nothing of tasks that changed, ended, and were deleted, without a list', async () => {
    const { store, command, prefix } = await openStore()
    const lagging = () => command('smembers', `{${prefix}}:lagging`)
    const [a, b] = [change((await put(store, 'a')).task), change((await put(store, 'b')).task)]
    for (const changed of [a, b])
      await store.commit({ ...changed, head: { ...changed.head, updatedAt: LATER } })
    expect(await lagging()).toHaveLength(2)
    expect(await store.delete([b.key])).toEqual([b.key])
    expect(await lagging()).toEqual(['a'])
    expect(await store.commit(change(a.task, { state: 'completed' }))).toBe('committed')
    expect(await lagging()).toEqual([])
    expect(await store.count({ state: 'completed' })).toBe(1)
  })

  it.each([
    ['of a command in a script', ['~*', '+@all', '-xadd']],
    ['of its keys', ['~other*', '+@all']],
  ])('says that a right is missing: that %s', async (_, rights) => {
    const { command, prefix } = await openStore()
    await command('acl', 'setuser', 'reader', 'reset', 'on', 'nopass', ...rights)
    const url = server.url.replace('//', '//reader:any@')
    const { store } = await closedAfter(openNodeRedis({ url }, { prefix }))
    await expect(store.create(creation('a'))).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('lacks a right') as unknown,
      data: { operation: 'create' },
    })
  })

  it('finds all others when the key of a task was deleted by hand', async () => {
    const { store, command, prefix } = await openStore()
    const [gone, here] = [
      await put(store, 'a', { lease: { id: 'l', ttlMs: 0 } }),
      await put(store, 'b', { lease: { id: 'm', ttlMs: 0 } }),
    ]
    await store.commit(change(gone.task))
    await command('del', `{${prefix}}:task:a`)
    expect((await store.list({ limit: 10 })).map(({ checkpoint }) => checkpoint.id)).toEqual(['b'])
    expect(await store.unended(LATER, 10)).toEqual([keyOf(here.task)])
    expect((await store.orphans(10)).map(({ leaseId }) => leaseId)).toEqual(['m'])
  })

  it('continues when Redis has forgotten its scripts', async () => {
    const { store, command } = await openStore()
    const second = change((await put(store, 'a')).task)
    await store.commit(second)
    await command('script', 'flush')
    expect(await store.commit(change(second.task))).toBe('committed')
    expect(await store.heads(['a'])).toEqual([{ ...second.key, generation: 3 }])
  })

  it('lists and counts as a store in memory does, however many tasks it has to look at', async () => {
    const { store } = await openStore()
    const model = memoryStore()
    const make = (n: number): Creation =>
      creation(`task ${String(n).padStart(5, '0')}`, {
        ...{ state: n % 10 === 0 ? 'submitted' : 'working', owner: n % 1_000 === 7 ? 'a' : 'b' },
        ...{ updatedAt: new Date(1_800_000_000_000 + n).toISOString(), contextId: n < 6_500 ? 'x' : 'y' },
      })
    const creations = Array.from({ length: 7_000 }, (_, n) => make(n))
    for (const each of creations) await model.create(each)
    await Promise.all(creations.map((each) => store.create(each)))
    for (const filter of [
      {},
      { state: 'submitted', contextId: 'x' },
      { state: 'working', contextId: 'x', owner: 'b' },
      { state: 'working', contextId: 'y', owner: 'a' },
      { owner: 'a', updatedSince: new Date(1_800_000_004_000).toISOString() },
      { owner: null, state: 'working' },
    ]) {
      expect(await store.count(filter)).toBe(await model.count(filter))
      const [listed, expected] = [store, model].map((each) => each.list({ ...filter, limit: 3_000 }))
      expect(await listed).toEqual(await expected)
    }
  }, 60_000)

  it('lists more tasks than one answer may hold', async () => {
    const { store } = await openStore()
    const input = 'x'.repeat(1_500_000)
    for (const id of ['a', 'b', 'c', 'd', 'e']) await put(store, id, { input })
    const listed = await store.list({ limit: 10 })
    expect(listed.map(({ checkpoint }) => checkpoint.id).sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('lists tasks where they belong after thousands changed', async () => {
    const { store } = await openStore()
    const creations = Array.from({ length: 1_200 }, (_, n) => creation(`task ${n}`, { owner: 'o' }))
    await Promise.all(creations.map((each) => store.create(each)))
    const changes = creations.map(({ task }, n) =>
      change(task, {
        ...{ state: 'input-required', updatedAt: new Date(1_800_000_000_000 + n).toISOString() },
      }),
    )
    await Promise.all(changes.map((each) => store.commit(each)))
    const [latest, next] = await store.list({ state: 'input-required', limit: 2 })
    expect([latest?.checkpoint.id, next?.checkpoint.id]).toEqual(['task 1199', 'task 1198'])
    await Promise.all(changes.map(({ task }) => store.commit(change(task, { state: 'working' }))))
    expect(await store.count({ state: 'input-required' })).toBe(0)
    expect(await store.count({ state: 'working', owner: 'o' })).toBe(1_200)
  })

  it('keeps an event from being appended twice, even by a client that bypasses it', async () => {
    const { store, command, prefix } = await openStore()
    const { task } = await put(store, 'a')
    await command('hset', `{${prefix}}:task:a`, 'generation', '0')
    const again = { ...change(task), expectedGeneration: 0, events: creation('a').events }
    await expect(store.commit(again)).rejects.toThrow('equal or smaller')
  })

  it('works on one slot, as Redis Cluster demands', async () => {
    const cluster = await ownRedis('--cluster-enabled', 'yes')
    const { store, command } = await closedAfter(openIoRedis(cluster))
    await command('cluster', 'addslotsrange', '0', '16383')
    await expect.poll(async () => String(await command('cluster', 'info'))).toContain('cluster_state:ok')
    await store.migrate()
    const { task } = await put(store, 'a}b', { owner: 'o', lease: { id: 'l', ttlMs: 1_000 } })
    await store.putDocument({ key: keyOf(task), kind: 'push', id: '1', value: null }, 0)
    expect(await store.commit(change(task, { state: 'completed', leaseId: 'l' }))).toBe('committed')
    expect(await store.list({ owner: 'o', state: 'completed', limit: 1 })).toHaveLength(1)
    expect(await store.delete([keyOf(task)])).toEqual([keyOf(task)])
  }, 120_000)

  it('serves clients that are set to prefix keys, or to answer with bytes', async () => {
    const prefixed = new Redis(server.url, { keyPrefix: 'app:' })
    const bytes = await createClient({
      url: server.url,
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    }).connect()
    for (const [client, prefix] of [[prefixed, 'p'] as const, [bytes, 'b'] as const]) {
      const store = redisStore(client, { prefix })
      await store.migrate()
      const { task } = await put(store, 'ä')
      await store.putDocument({ key: keyOf(task), kind: 'push', id: '1', value: 'ö' }, 0)
      expect((await store.list({ limit: 2 })).map(({ checkpoint }) => checkpoint)).toEqual([task])
      expect(await store.documents(keyOf(task), 'push')).toMatchObject([{ value: 'ö', version: 1 }])
      expect(await store.commit(change(task))).toBe('committed')
    }
    expect(await opened.command('exists', 'app:{p}:task:ä')).toBe(1)
    prefixed.disconnect()
    bytes.destroy()
  })

  it.each(CLIENTS)(
    'learns by $name of a gap when Redis was restarted',
    async ({ open }) => {
      const own = await ownRedis()
      const { store, command } = await closedAfter(open(own))
      const received: Hint[] = []
      let gaps = 0
      const stop = await store.hints.listen(
        (hint) => received.push(hint),
        () => (gaps += 1),
      )
      await command('publish', '{a2a-tasks}:hints', 'no JSON')
      await command('publish', '{a2a-tasks}:hints', '{}')
      await command('publish', '{a2a-tasks}:hints', '["a", 1, null, ["a"], [1, "a"]]')
      const hints = [
        { taskId: 'a', generation: 1 },
        { taskId: 'b\u0000', generation: 2 },
        { taskId: 'c', generation: 3 },
      ]
      await store.hints.publish(hints.slice(0, 2))
      await expect.poll(() => received.length).toBe(2)
      expect(gaps).toBe(0)
      await own.restart()
      await expect.poll(() => gaps).toBeGreaterThan(0)
      await store.hints.publish(hints.slice(2))
      await expect.poll(() => received.length).toBe(3)
      expect(received).toEqual(hints)
      await stop()
    },
    30_000,
  )

  it.each(CLIENTS)(
    'has by $name what it acknowledged before Redis was killed',
    async ({ open }) => {
      const own = await ownRedis()
      const { store } = await closedAfter(open(own))
      await store.migrate()
      const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 60_000 } })
      const second = change(task)
      expect(await store.commit(second)).toBe('committed')
      await own.restart('SIGKILL')
      expect(await store.commit(second)).toBe('committed')
      expect(await store.get('a')).toEqual({ checkpoint: task, events: second.events })
      expect(await store.acquire(keyOf(task), { id: 'm', ttlMs: 1 })).toMatchObject({ leaseId: 'l' })
    },
    30_000,
  )

  it('changes nothing when the memory is full, and can be read and emptied then', async () => {
    const own = await ownRedis('--maxmemory', '6mb')
    const { store, command } = await closedAfter(openNodeRedis(own))
    await store.migrate()
    const { task } = await put(store, 'a')
    const second = change(task)
    await store.commit(second)
    await command('config', 'set', 'maxmemory', '1')
    await expect(store.commit(change(second.task))).rejects.toThrow('OOM')
    await expect(store.create(creation('b'))).rejects.toThrow('OOM')
    expect(await store.list({ limit: 10 })).toEqual([{ checkpoint: task, events: second.events }])
    expect(await store.events(keyOf(task), 0, 10)).toHaveLength(2)
    expect(await store.delete([keyOf(task)])).toEqual([keyOf(task)])
  }, 120_000)

  it('refuses a Redis whose policy evicts any key, and no other', async () => {
    const own = await ownRedis('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru')
    const { store, command } = await closedAfter(openIoRedis(own))
    await expect(store.migrate()).rejects.toThrow('maxmemory-policy allkeys-lru')
    await expect(store.get('a')).rejects.toThrow('Call migrate() first')
    await command('config', 'set', 'maxmemory-policy', 'volatile-lru')
    await store.migrate()
    // Who may not ask is not refused.
    await command('config', 'set', 'maxmemory-policy', 'allkeys-lru')
    await command('acl', 'setuser', 'default', '-info')
    await store.migrate()
  }, 120_000)

  it('treats a call that a client repeats after a lost answer as the same call', async () => {
    const { store: direct, prefix } = await openStore()
    const { task } = await put(direct, 'a')
    const proxy = await losingProxy(server.port)
    const { store } = await closedAfter(openIoRedis(proxy, { prefix }))
    const document = { key: keyOf(task), kind: 'push', id: '1', value: 1 }
    await store.putDocument({ ...document, id: 'first' }, 0)
    proxy.loseNext()
    expect(await store.putDocument(document, 0)).toBe(true)
    expect(proxy.lost()).toBe(1)
    expect(await direct.putDocument(document, 0)).toBe(false)
    proxy.close()
  })
})

interface LosingProxy {
  readonly url: string
  /** The next answer is lost, and the connection with it. */
  loseNext(): void
  lost(): number
  close(): void
}

async function losingProxy(target: number): Promise<LosingProxy> {
  const sockets = new Set<Socket>()
  let isLosing = false
  let lost = 0
  const server: Server = createServer((socket) => {
    const upstream = connect(target, '127.0.0.1')
    for (const each of [socket, upstream]) sockets.add(each.on('error', () => undefined))
    socket.pipe(upstream)
    upstream.on('data', (data) => {
      if (!isLosing) return void socket.write(data)
      isLosing = false
      lost += 1
      upstream.destroy()
      socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server of TCP that listens has one.
  const { port } = server.address() as AddressInfo
  return {
    url: `redis://127.0.0.1:${port}`,
    loseNext: () => {
      isLosing = true
    },
    lost: () => lost,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
