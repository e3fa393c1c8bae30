/** Steps whose effect is in the database of the tasks. */
import type { Transaction } from '@electric-sql/pglite'
import type { Run } from 'a2a-tasks/server'
import type Database from 'libsql'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS, PGLITE, SQLITE, textsOf } from './support/managers.js'

type Client = Database.Database | Transaction

const SQL = [SQLITE, PGLITE]
const OTHERS = MANAGERS.filter((each) => !SQL.includes(each))

/** Does statements, in the way of the driver. */
function does(client: Client, text: string): Promise<void> | undefined {
  if ('query' in client) return client.exec(text).then(() => undefined)
  client.exec(text)
  return undefined
}

async function numbers(run: Run, table: string): Promise<readonly number[]> {
  return await run.transaction('read', (client: Client) => {
    const text = `SELECT n FROM ${table} ORDER BY n`
    if ('query' in client) return client.query<{ n: number }>(text).then(({ rows }) => rows.map(({ n }) => n))
    const rows = client.prepare(text).all() as { readonly n: number }[]
    return rows.map(({ n }) => n)
  })
}

let tables = 0
/** Creates a table, in a transaction of its own. */
async function newTable(run: Run): Promise<string> {
  const table = await run.step('table', () => `numbers_${(tables += 1)}`)
  await run.transaction('create', (client: Client) =>
    does(client, `CREATE TABLE ${table} (n INTEGER UNIQUE)`),
  )
  return table
}

describe.each(SQL)('over %s', (_, open) => {
  test('rows that the work writes are stored with its output', async () => {
    const keys: string[] = []
    const { say, reaches, journal } = await agent(open, async (run) => {
      const table = await newTable(run)
      const added = await run.transaction('add', (client: Client, { key }) => {
        keys.push(key)
        const doing = does(client, `INSERT INTO ${table} VALUES (1)`)
        return doing === undefined ? 'added' : doing.then(() => 'added')
      })
      return `${added} ${(await numbers(run, table)).join()}`
    })
    const id = await say('go')
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['added 1'])
    expect(keys).toEqual([`${id}/add#1`])
    const entries = (await journal(id)).map(({ entry }) => entry)
    expect(
      entries.filter(({ kind }) => kind === 'step').map((entry) => 'name' in entry && entry.name),
    ).toEqual([...['table#1', 'create#1', 'add#1', 'read#1']])
    const entry = { kind: 'step', name: 'add#1', attempts: 1, output: 'added' }
    expect(entries).toContainEqual(expect.objectContaining(entry))
  })

  test('rows of failed work are undone, and its error is recorded', async () => {
    const { say, reaches, journal } = await agent(open, async (run) => {
      const table = await newTable(run)
      const fails = (client: Client): Promise<never> | undefined => {
        const fail = (): never => {
          throw new RangeError('No')
        }
        const doing = does(client, `INSERT INTO ${table} VALUES (1)`)
        return doing === undefined ? fail() : doing.then(fail)
      }
      const error = await run.transaction('add', fails).catch(String)
      return `${error} ${(await numbers(run, table)).length}`
    })
    const id = await say('go')
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['RangeError: No 0'])
    const error = { name: 'RangeError', message: 'No' }
    const entry = { kind: 'step', name: 'add#1', attempts: 1, error }
    expect((await journal(id)).map((each) => each.entry)).toContainEqual(expect.objectContaining(entry))
  })

  test('a statement that the database refuses fails the work, and later work succeeds', async () => {
    const { say, reaches } = await agent(open, async (run) => {
      const table = await newTable(run)
      const add = (client: Client): Promise<void> | undefined =>
        does(client, `INSERT INTO ${table} VALUES (1)`)
      await run.transaction('add', add)
      const refused = await run.transaction('add', add).catch(() => 'refused')
      await run.transaction('add', (client: Client) => does(client, `INSERT INTO ${table} VALUES (2)`))
      return `${String(refused)} ${(await numbers(run, table)).join()}`
    })
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['refused 1,2'])
  })

  test('work is tried again, and each attempt undoes the one before', async () => {
    const { say, reaches } = await agent(open, async (run) => {
      const table = await newTable(run)
      await run.transaction(
        'add',
        (client: Client, { attempt }) => {
          const fail = (): void => {
            if (attempt < 3) throw new Error('Not yet')
          }
          const doing = does(client, `INSERT INTO ${table} VALUES (${attempt})`)
          if (doing !== undefined) return doing.then(fail)
          fail()
          return undefined
        },
        { retry: { attempts: 3, backoff: { initialMs: 1 } } },
      )
      return (await numbers(run, table)).join()
    })
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['3'])
  })

  test('an output that is too large undoes the work', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        const table = await newTable(run)
        const error = await run
          .transaction('add', (client: Client) => {
            const doing = does(client, `INSERT INTO ${table} VALUES (1)`)
            const large = 'x'.repeat(1_000)
            return doing === undefined ? large : doing.then(() => large)
          })
          .catch((thrown: unknown) => (thrown as { code: string }).code)
        return `${error} ${(await numbers(run, table)).length}`
      },
      { limits: { maxStepBytes: 500 } },
    )
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['LIMIT_EXCEEDED 0'])
  })

  test('transactions in parallel, and what is shown beside them, are stored one after the other', async () => {
    const { say, reaches } = await agent(open, async (run) => {
      const table = await newTable(run)
      const add = (n: number): Promise<unknown> =>
        run.transaction(`add ${n}`, (client: Client) => does(client, `INSERT INTO ${table} VALUES (${n})`))
      const adding = [1, 2, 3].map(add)
      run.artifact('shown')
      await Promise.all([...adding, run.step('beside', () => 1)])
      return (await numbers(run, table)).join()
    })
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['shown', '1,2,3'])
  })
})

test('over SQLite, work that is not done when it returns, or ends the transaction, is refused', async () => {
  const { say, reaches } = await agent(SQLITE[1], async (run) => {
    const table = await newTable(run)
    const late = await run
      .transaction('late', async (client: Database.Database) => {
        client.exec(`INSERT INTO ${table} VALUES (1)`)
        await Promise.resolve()
      })
      .catch(String)
    const ended = await run
      .transaction('ended', (client: Database.Database) => {
        client.exec('ROLLBACK')
      })
      .catch(String)
    return `${String(late)}; ${String(ended)}; ${(await numbers(run, table)).length}`
  })
  expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual([
    'TypeError: The work of a transaction over SQLite must not return a promise: do all of it before it returns; ' +
      'TypeError: The work must not end its transaction: leave COMMIT and ROLLBACK to the store; 0',
  ])
})

test('over PGlite, work that takes longer than its limit is undone', async () => {
  const { say, reaches, clock } = await agent(PGLITE[1], async (run) => {
    const table = await newTable(run)
    const late = await run
      .transaction('late', async (client: Transaction) => {
        await client.exec(`INSERT INTO ${table} VALUES (1)`)
        await new Promise(() => undefined)
      })
      .catch(String)
    return `${String(late)}; ${(await numbers(run, table)).length}`
  })
  const id = await say('go')
  let isOver = false
  const hasEnded = (): boolean => isOver
  const reached = reaches(id, 'completed').finally(() => {
    isOver = true
  })
  // What waits for the database cannot let the time pass.
  while (!hasEnded()) {
    await turn()
    clock.advance(20)
  }
  expect(textsOf(await reached)).toEqual(['RequestTimedOutError: The step took longer than 5000 ms; 0'])
})

describe.each(OTHERS)('over %s', (_, open) => {
  test('a transaction is refused, and the error says what to do', async () => {
    const { say, reaches, kinds } = await agent(open, async (run) => {
      return await run.transaction('add', () => 'done').catch(String)
    })
    const id = await say('go')
    expect(textsOf(await reaches(id, 'completed'))).toEqual([
      'TypeError: run.transaction() needs a store with transactions: SQLite or PostgreSQL. The tasks of this agent are in ' +
        'memory, or in another store: use run.step(), whose key makes the effect idempotent',
    ])
    expect(await kinds(id)).toEqual([])
  })
})
