/** A master of a Redis cluster that dies under load, and the replica that takes over: docs/operate/database.md. */
import { Cluster, type Redis } from 'ioredis'
import { createCluster } from 'redis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { redisStore } from '../../../src/stores/redis/index.js'
import { freePort } from '../../support/free-port.js'
import { skipWithoutRedis, type RedisServer } from '../../support/redis-server.js'
import { ownRedis, whenRedis } from '../redis/clients.js'
import { underLoad } from './load.js'
import { adminOf, expectAlmostAll, HOST, replicates, TASKS, type Open } from './redis-replica.js'

it('redis-server is installed', (context) => skipWithoutRedis(context))

const CLIENTS: readonly [name: string, open: Open][] = [
  [
    'ioredis',
    (ports) => {
      const client = new Cluster(ports.map((port) => ({ host: HOST, port }))).on('error', () => undefined)
      onTestFinished(() => client.disconnect())
      return client
    },
  ],
  [
    'redis',
    async (ports) => {
      const client = createCluster({
        rootNodes: ports.map((port) => ({ url: `redis://${HOST}:${port}` })),
        defaults: { disableOfflineQueue: true },
        topologyRefreshOnReconnectionAttemptStrategy: 200,
      }).on('error', () => undefined)
      onTestFinished(() => client.destroy())
      await client.connect()
      return client
    },
  ],
]

interface Node {
  readonly server: RedisServer
  readonly admin: Redis
  readonly busPort: number
}

async function startNode(): Promise<Node> {
  const busPort = await freePort()
  const server = await ownRedis(
    ...['--cluster-enabled', 'yes', '--cluster-port', `${busPort}`, '--cluster-node-timeout', '1000'],
  )
  return { server, admin: adminOf(server), busPort }
}

/** Three masters, and a replica of the one that has the store. */
async function startCluster(): Promise<{ readonly owner: Node; readonly ports: readonly number[] }> {
  const nodes = await Promise.all([startNode(), startNode(), startNode(), startNode()])
  const [first, , , replica] = nodes
  const ranges = [0, 5_461, 10_923, 16_384]
  for (const [index, { admin }] of nodes.slice(0, 3).entries()) {
    await admin.call('cluster', 'set-config-epoch', `${index + 1}`)
    await admin.call('cluster', 'addslotsrange', `${ranges[index]}`, `${Number(ranges[index + 1]) - 1}`)
  }
  for (const { server, busPort } of nodes.slice(1))
    await first.admin.call('cluster', 'meet', HOST, `${server.port}`, `${busPort}`)
  const slot = Number(await first.admin.call('cluster', 'keyslot', '{a2a-tasks}'))
  const owner = nodes[ranges.findLastIndex((start) => start <= slot)]
  if (owner === undefined) throw new Error('No node has the slot')
  const ownerId = String(await owner.admin.call('cluster', 'myid'))
  await expect
    .poll(async () => String(await replica.admin.call('cluster', 'nodes')), { timeout: 15_000 })
    .toContain(ownerId)
  await replica.admin.call('cluster', 'replicate', ownerId)
  await replicates(replica.admin)
  for (const { admin } of nodes)
    await expect
      .poll(async () => String(await admin.call('cluster', 'info')), { timeout: 15_000 })
      .toMatch(/cluster_state:ok[^]*cluster_known_nodes:4/)
  return { owner, ports: nodes.map(({ server }) => server.port) }
}

whenRedis('Redis in a cluster of three masters', () => {
  describe.each(CLIENTS)('over %s', (_, open) => {
    it(
      'keeps the whole store at one of them, and goes on after its failover',
      { timeout: 150_000 },
      async () => {
        const { owner, ports } = await startCluster()
        const stores = (await Promise.all([open(ports), open(ports)])).map((client) => redisStore(client))
        await Promise.all(stores.map((store) => store.migrate()))
        expect(await owner.admin.exists('{a2a-tasks}:layout')).toBe(1)
        const outcome = await underLoad({
          stores,
          during: async (more) => {
            await more(TASKS)
            await owner.server.halt('SIGKILL')
            await more(TASKS)
          },
        })
        expectAlmostAll(outcome)
        await hears(stores)
      },
    )
  })
})

/** One store hears the hints of the other, also after a failover. */
async function hears([a, b]: readonly ReturnType<typeof redisStore>[]): Promise<void> {
  if (a === undefined || b === undefined) throw new Error('There are no stores')
  const heard = new Set<string>()
  const stop = await b.hints.listen(
    ({ taskId }) => heard.add(taskId),
    () => undefined,
  )
  const hear = async (): Promise<string[]> => {
    await a.hints.publish([{ taskId: 'hinted', generation: 1 }])
    return [...heard]
  }
  await expect.poll(hear, { timeout: 10_000 }).toContain('hinted')
  await stop()
}
