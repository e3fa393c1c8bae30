/** Budgets over windows that two replicas share, over each kind of store. */
import { DurableTaskManager, type TaskStore } from 'a2a-tasks/durable'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { redisStore } from 'a2a-tasks/stores/redis'
import { ManualClock } from 'a2a-tasks/testing'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { whenRedis } from '../../services/redis/clients.js'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'
import { skipWithoutPostgres, startPostgres, whenPostgres } from '../../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { DAY, serve, type Agent } from './support/spender.js'

/** How each replica of a test comes to the store that they share. */
type Share = () => (now: () => number) => Promise<TaskStore>

interface Pair {
  readonly a: Agent
  readonly b: Agent
  readonly clock: ManualClock
  /** What the replicas have written. */
  readonly written: () => Promise<readonly unknown[]>
}

let stores = 0

function sharesWindows(share: Share): void {
  const limits = {
    ownerBudget: { amounts: { cost: 1 }, perMs: DAY },
    agentBudget: { amounts: { cost: 2 }, perMs: DAY },
  }

  async function pair(): Promise<Pair> {
    const clock = new ManualClock(DAY)
    const open = share()
    const kinds = new Set<string>()
    const [a, b] = await Promise.all(
      [0, 1].map(async () => {
        const store = await open(() => clock.now())
        const put = store.putDocument.bind(store)
        const noted: TaskStore = Object.assign(store, {
          putDocument(...[document, version]: Parameters<typeof put>) {
            if (document.kind.startsWith('budget:')) kinds.add(document.kind)
            return put(document, version)
          },
        })
        // A day that passes at once is longer than a call of the store may take, and such calls are repeated.
        const onError = (): void => undefined
        const tasks = new DurableTaskManager({ store: noted, clock, onError })
        return { store, agent: serve(tasks, clock, { limits }) }
      }),
    )
    if (a === undefined || b === undefined) throw new Error('There are two')
    const written = async (): Promise<readonly unknown[]> => {
      const pages = await Promise.all([...kinds].map((kind) => a.store.allDocuments(kind, undefined, 10)))
      return pages.flat().map(({ value }) => value)
    }
    return { a: a.agent, b: b.agent, clock, written }
  }

  /** What a replica says of the owner when it has asked the others. */
  async function saidTo({ clock }: Pair, at: Agent, owner: string): Promise<string> {
    clock.advance(1_000)
    return JSON.stringify(await at.refusal(owner, '0'))
  }

  it('adds up what both spend, until the next window', async () => {
    const both = await pair()
    const { a, b, clock, written } = both
    expect((await a.say('ann', '0.6')).state).toBe('completed')
    // One document for the owner, one for the agent.
    await expect.poll(async () => (clock.advance(1_000), (await written()).length)).toBe(2)
    expect((await b.say('ann', '0.3 0.3')).state).toBe('failed')
    for (const at of [a, b])
      await expect.poll(() => saidTo(both, at, 'ann')).toContain('You have spent 1.2 cost of a budget of 1')
    expect((await b.say('bob', '0.5 0.4')).state).toBe('failed')
    await expect.poll(() => saidTo(both, a, 'eve')).toContain('The agent has spent its budget')
    clock.advance(DAY)
    expect((await a.say('ann', '0.9')).state).toBe('completed')
    expect([...a.errors, ...b.errors]).toHaveLength(2)
  })

  it('loses nothing that both spend at once', async () => {
    const both = await pair()
    const { a, b } = both
    const spent = [a, b, a, b].map((at) => at.say('ann', Array.from({ length: 25 }, () => '0.01').join(' ')))
    await Promise.all(spent)
    for (const at of [a, b])
      await expect.poll(() => saidTo(both, at, 'ann')).toContain('You have spent 1 cost of a budget of 1')
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  it('knows what a replica has spent that is gone', async () => {
    const { a, b } = await pair()
    await a.say('ann', '1')
    await a.handler.close({ graceMs: 1 })
    expect(JSON.stringify(await b.refusal('ann', '0'))).toContain('You have spent 1 cost')
  })
}

describe('SQLite', () => {
  sharesWindows(() => {
    const file = databaseFile()
    onTestFinished(() => file.remove())
    return (now) => file.open({ now })
  })
})

it('redis-server is installed', (context) => skipWithoutRedis(context))

whenRedis('Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>
  let client: Redis
  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.port)
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })
  sharesWindows(() => {
    const prefix = `window ${(stores += 1)}`
    return async (now) => {
      const store = redisStore(client, { prefix, now })
      await store.migrate()
      return store
    }
  })
})

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>
  let pool: Pool
  beforeAll(async () => {
    server = await startPostgres()
    pool = new Pool({ connectionString: server.url, max: 5 })
  }, 60_000)
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })
  sharesWindows(() => {
    const schema = `window_${(stores += 1)}`
    return async (now) => {
      const store = postgresStore(pool, { schema, now, listen: false })
      await store.migrate()
      return store
    }
  })
})
