/** Tasks that a producer begins, continues and signals in transactions of the application, over a real PostgreSQL. */
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest'
import { DurableTaskManager } from 'a2a-tasks/durable'
import {
  createProducer,
  createWorker,
  textOf,
  type Execute,
  type Producer,
  type Turn,
} from 'a2a-tasks/server'
import { postgresStore, type PostgresClient } from 'a2a-tasks/stores/postgres'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { gate } from '../../server/spec/support/agent.js'
import { execute, serverForTests, type TransactionClient } from './support/drivers.js'

const card = { name: 'Shop', url: 'https://shop.example' }

interface Driver {
  readonly client: PostgresClient
  readonly end: () => Promise<void>
  /** Commits what `work` did, or rolls it back when it rejects. */
  readonly begin: <T>(work: (client: TransactionClient) => Promise<T>) => Promise<T>
}

function openPg(url: string): Driver {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  return {
    client: pool,
    end: () => pool.end(),
    begin: async (work) => {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const result = await work(client)
        await client.query('COMMIT')
        return result
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    },
  }
}

function openPostgresJs(url: string): Driver {
  const sql = postgres(url, { onnotice: () => undefined })
  const begin: Driver['begin'] = async (work) => {
    let result: Awaited<ReturnType<typeof work>> | undefined
    // The test uses what both kinds of clients have.
    await sql.begin(async (own) => (result = await work(own as object as TransactionClient)))
    return result as never
  }
  return { client: sql, end: () => sql.end({ timeout: 1 }), begin }
}

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('a producer in a transaction', () => {
  const server = serverForTests()
  let schemas = 0

  describe.each([
    { name: 'pg', open: openPg },
    { name: 'postgres', open: openPostgresJs },
  ])('of $name', ({ open }) => {
    let driver: Driver
    beforeAll(() => (driver = open(server().url)))
    afterAll(() => driver.end())

    interface Shop {
      readonly producer: Producer
      readonly tasks: DurableTaskManager
      readonly table: string
      readonly worker: (execute: Execute) => void
    }

    async function shop(dispatch?: (turn: Turn) => unknown): Promise<Shop> {
      const schema = `producer_${Math.random().toString(36).slice(2)}_${(schemas += 1)}`
      const store = postgresStore(driver.client, { schema })
      await store.migrate()
      await driver.begin((client) => execute(client, `CREATE TABLE ${schema}.orders (n int UNIQUE)`))
      const manager = (): DurableTaskManager => {
        const made = new DurableTaskManager({ store })
        onTestFinished(() => made.destroy())
        return made
      }
      const tasks = manager()
      return {
        producer: createProducer({ card, tasks, dispatch }),
        ...{ tasks, table: `${schema}.orders` },
        worker: (code) => {
          const worker = createWorker({
            ...{ card, tasks: manager(), execute: code, limits: { waitingRunMs: 1 } },
            principalOf: (id) => ({ id }),
          })
          onTestFinished(() => worker.close({ graceMs: 0 }))
          worker.start()
        },
      }
    }

    const done = async (tasks: DurableTaskManager, id: string): Promise<string> => {
      const { state, artifacts } = await tasks.waitFor(id)
      return [state, ...artifacts.map(({ parts = [] }) => textOf({ parts }))].join(' ')
    }

    test('begins a task if and only if the transaction commits', async () => {
      const { producer, tasks, table, worker } = await shop()
      const order = (n: number, fails: boolean): Promise<string> =>
        driver.begin(async (client) => {
          await execute(client, `INSERT INTO ${table} VALUES (${n})`)
          const { id } = await producer.send(`order ${n}`, { client, principal: { id: 'ada' } })
          if (fails) throw new Error('no money')
          return id
        })
      await expect(order(1, true)).rejects.toThrow('no money')
      expect(await tasks.size()).toBe(0)
      const id = await order(1, false)
      expect(await tasks.peekTask(id)).toMatchObject({ state: 'submitted', owner: 'ada' })
      let calls = 0
      worker((run) => `${run.text} ${(calls += 1)}`)
      expect(await done(tasks, id)).toBe('completed order 1 1')
      expect(await tasks.size()).toBe(1)
    })

    test('tells workers at the commit, and not before', async () => {
      const { producer, tasks, worker } = await shop()
      const begun: string[] = []
      worker((run) => {
        begun.push(run.text)
        return run.text
      })
      const sent = gate<string>()
      const commit = gate()
      const committing = driver.begin(async (client) => {
        sent.open((await producer.send('go', { client })).id)
        await commit.opened
      })
      const id = await sent.opened
      // Another task goes all the way meanwhile.
      expect(await done(tasks, (await producer.send('other')).id)).toBe('completed other')
      expect(await tasks.peekTask(id)).toBeNull()
      commit.open()
      await committing
      expect(await done(tasks, id)).toBe('completed go')
      expect(begun).toEqual(['other', 'go'])
    })

    test('with a messageId begins once, also by two transactions at a time', async () => {
      const { producer, tasks, worker } = await shop()
      let calls = 0
      worker(() => `${(calls += 1)}`)
      const send = (): Promise<string> =>
        driver.begin(async (client) => (await producer.send('go', { client, messageId: 'once' })).id)
      const ids = await Promise.all([send(), send(), send()])
      expect(new Set(ids).size).toBe(1)
      expect(await done(tasks, ids[0])).toBe('completed 1')
    })

    test('answers a question, and signals, if and only if it commits', async () => {
      const { producer, tasks, table, worker } = await shop()
      worker(async (run) => {
        const seat = textOf(await run.requireInput('Which seat?'))
        return `${seat} ${await run.waitFor<string>('paid')}`
      })
      const { id } = await producer.send('go')
      await tasks.waitFor(id, { until: 'interrupted' })
      const answer = (text: string, n: number): Promise<unknown> =>
        driver.begin(async (client) => {
          await producer.send(text, { taskId: id, client })
          await producer.signal(id, 'paid', text, { client })
          await execute(client, `INSERT INTO ${table} VALUES (${n}), (${n - 1})`)
        })
      await driver.begin((client) => execute(client, `INSERT INTO ${table} VALUES (1)`))
      await expect(answer('1A', 1)).rejects.toMatchObject({ code: '23505' })
      expect(await tasks.stateOf(id)).toBe('input-required')
      await answer('4A', 5)
      expect(await done(tasks, id)).toBe('completed 4A 4A')
    })

    test('begins later', async () => {
      const { producer, tasks } = await shop()
      const notBefore = new Date(Date.now() + 3_600_000)
      const { id } = await driver.begin((client) => producer.send('go', { client, notBefore }))
      expect(await tasks.stateOf(id)).toBe('submitted')
    })

    test('leaves handing out to a handler, which knows when it has committed', async () => {
      const turns: Turn[] = []
      const { producer } = await shop((turn) => turns.push(turn))
      await driver.begin((client) => producer.send('go', { client }))
      expect(turns).toEqual([])
      await producer.send('go')
      expect(turns).toHaveLength(1)
    })

    test('says at once that the transaction has failed', async () => {
      const { producer, table } = await shop()
      await expect(
        driver.begin(async (client) => {
          await execute(client, `INSERT INTO ${table} VALUES ('x')`).catch(() => undefined)
          await producer.send('go', { client })
        }),
      ).rejects.toMatchObject({ code: 'STORE_FAILED', message: /Your transaction has failed/ })
    })

    test('keeps the durability of the transaction', async () => {
      const { producer } = await shop()
      const setting = await driver.begin(async (client) => {
        await producer.send('go', { client })
        const text = `SELECT current_setting('synchronous_commit') AS s`
        const result = await execute(client, text)
        return JSON.stringify('rows' in (result as object) ? (result as pg.QueryResult).rows : result)
      })
      expect(setting).toContain('"on"')
    })

    test('takes no client that is in no transaction', async () => {
      const { producer } = await shop()
      for (const client of [driver.client, {}, 'client'])
        await expect(producer.send('go', { client })).rejects.toThrow(/"client" must be the client in which/)
    })
  })

  test('a client of pg takes no message before BEGIN and after COMMIT', async () => {
    const pool = new pg.Pool({ connectionString: server().url }).on('error', () => undefined)
    const store = postgresStore(pool, { schema: `shop_${schemas++}` })
    await store.migrate()
    const tasks = new DurableTaskManager({ store })
    const producer = createProducer({ card, tasks })
    const client = await pool.connect()
    onTestFinished(async () => {
      client.release()
      await tasks.destroy()
      await pool.end()
    })
    const refused = /got one without a transaction: await BEGIN first/
    await expect(producer.send('go', { client })).rejects.toThrow(refused)
    await client.query('BEGIN')
    await producer.send('go', { client })
    await client.query('COMMIT')
    await expect(producer.send('go', { client })).rejects.toThrow(refused)
    await expect(producer.signal('any', 'paid', 1, { client })).rejects.toThrow(refused)
    expect(await tasks.listTasks()).toHaveLength(1)
  })
})
