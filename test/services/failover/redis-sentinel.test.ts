/** A master of Redis that dies under load, and the replica that Sentinel promotes: docs/operate/database.md. */
import { Redis } from 'ioredis'
import { createSentinel } from 'redis'
import { expect, it, onTestFinished } from 'vitest'
import { redisStore } from '../../../src/stores/redis/index.js'
import { MASTER, startSentinel } from '../../support/redis-sentinel.js'
import { skipWithoutRedis } from '../../support/redis-server.js'
import { ownRedis, whenRedis } from '../redis/clients.js'
import { underLoad } from './load.js'
import { adminOf, expectAlmostAll, HOST, replicates, TASKS, type Open } from './redis-replica.js'

it('redis-server is installed', (context) => skipWithoutRedis(context))

const CLIENTS: readonly [name: string, open: Open][] = [
  [
    'ioredis',
    (ports) => {
      const client = new Redis({
        ...{ sentinels: ports.map((port) => ({ host: HOST, port })), name: MASTER },
        ...{ retryStrategy: () => 100, sentinelRetryStrategy: () => 100 },
      }).on('error', () => undefined)
      onTestFinished(() => client.disconnect())
      return client
    },
  ],
  [
    'redis',
    async (ports) => {
      const client = createSentinel({
        ...{ name: MASTER, sentinelRootNodes: ports.map((port) => ({ host: HOST, port })) },
      }).on('error', () => undefined)
      onTestFinished(() => client.destroy())
      await client.connect()
      return client
    },
  ],
]

whenRedis('Redis with Sentinel', () => {
  it.each(CLIENTS)('goes on after a failover, over %s', { timeout: 150_000 }, async (_, open) => {
    const master = await ownRedis()
    const replica = await ownRedis('--replicaof', HOST, `${master.port}`)
    await replicates(adminOf(replica))
    const sentinel = await startSentinel(master.port)
    onTestFinished(() => sentinel.stop())
    const watcher = adminOf(sentinel)
    const known = async (): Promise<string> => String(await watcher.call('sentinel', 'replicas', MASTER))
    // It asks the master for its replicas every ten seconds.
    await expect.poll(known, { timeout: 20_000 }).toContain(`${replica.port}`)
    const stores = (await Promise.all([open([sentinel.port]), open([sentinel.port])])).map((client) =>
      redisStore(client),
    )
    await stores[0]?.migrate()
    const outcome = await underLoad({
      stores,
      during: async (more) => {
        await more(TASKS)
        await master.halt('SIGKILL')
        await more(TASKS)
      },
    })
    expectAlmostAll(outcome)
    expect(await adminOf(replica).info('replication')).toContain('role:master')
  })
})
