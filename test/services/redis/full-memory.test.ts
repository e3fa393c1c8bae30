/** A Redis whose memory is full: changes are refused whole, and work goes on when there is room. */
import { expect, it, onTestFinished } from 'vitest'
import { A2AClient } from '../../../src/client/index.js'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { A2AError } from '../../../src/index.js'
import { createRequestHandler } from '../../../src/server/index.js'
import { gate } from '../../support/faulty-store.js'
import { skipWithoutRedis } from '../../support/redis-server.js'
import { faultsOf } from '../replicas/chaos.js'
import { CLIENTS, closedAfter, ownRedis, whenRedis } from './clients.js'

it('redis-server is installed', (context) => skipWithoutRedis(context))

whenRedis('a Redis whose memory is full', () => {
  it.each(CLIENTS)(
    'refuses new tasks by $name, and a run waits for room',
    { timeout: 60_000 },
    async ({ open }) => {
      const server = await ownRedis('--maxmemory', '100mb', '--maxmemory-policy', 'noeviction')
      const { store, command } = await closedAfter(open(server))
      await store.migrate()
      const errors: unknown[] = []
      const tasks = new DurableTaskManager({
        ...{ store, storeRetryMs: 300, sweepIntervalMs: false },
        onError: (error) => errors.push(error.cause),
      })
      const [begun, full] = [gate(), gate()]
      const handler = createRequestHandler({
        card: { name: 'Worker', url: 'https://agent.example' },
        execute: async (run) => {
          const first = await run.step('first', () => 1)
          begun.open()
          await full.opened
          return `${first} ${await run.step('second', () => 2)}`
        },
        tasks,
        onError: () => undefined,
      })
      onTestFinished(async () => {
        await handler.close({ graceMs: 0 })
        await tasks.destroy()
      })
      const fetch = (url: string, init?: RequestInit): Promise<Response> =>
        handler.fetch(new Request(url, init))
      const client = await A2AClient.connect('https://agent.example', { fetch })
      const running = client.run('go')
      await begun.opened

      await command('config', 'set', 'maxmemory', '1')
      const refused = await tasks.createTask({ skill: 'test' }).catch((error: unknown) => error)
      expect(refused).toSatisfy((error) => A2AError.is(error, 'STORE_FAILED'))
      expect(refused).toMatchObject({ cause: { message: expect.stringContaining('OOM') as unknown } })
      full.open()
      const isFull = (cause: unknown): boolean => cause instanceof Error && cause.message.includes('OOM')
      await expect.poll(() => errors.some(isFull)).toBe(true)
      // Tasks can be read, and nothing was half written.
      expect(await store.count({})).toBe(1)
      const [stored] = await tasks.listTasks()
      if (stored === undefined) throw new Error('There is no task')
      expect(await faultsOf(store, stored)).toEqual([expect.stringContaining('has not ended')])

      await command('config', 'set', 'maxmemory', '100mb')
      expect(await running).toMatchObject({ type: 'completed', text: '1 2' })
      expect(await faultsOf(store, stored)).toEqual([])
      expect(await store.count({})).toBe(1)
    },
  )
})
