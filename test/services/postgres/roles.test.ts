/** The roles of docs/operate/database.md on a real server: one migrates, the other one serves an agent. */
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { whenPostgres } from '../../support/postgres-server.js'
import { serverForTests } from './support/drivers.js'
import { read } from '../../support/repository.js'
import { serveOver } from '../serve-over.js'

whenPostgres('the roles of docs/operate/database.md', () => {
  const server = serverForTests()
  const pools: pg.Pool[] = []
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })

  function poolOf(user: string): pg.Pool {
    const pool = new pg.Pool({ connectionString: server().url.replace('postgres@', `${user}@`) })
    pools.push(pool)
    return pool
  }

  it('migrate, and serve an agent without the right to create anything', async () => {
    const [, sql = ''] = /^```sql\n([^]*?)^```$/m.exec(read('docs/operate/database.md')) ?? []
    const [once = '', afterMigration = ''] = sql.replace('DATABASE app', 'DATABASE postgres').split('\n\n')
    await poolOf('postgres').query(once)
    const migration = poolOf('agent_migration')
    await postgresStore(migration, { feedSize: 10 }).migrate()
    await migration.query(afterMigration)

    const pool = poolOf('agent')
    const store = postgresStore(pool, { feedSize: 10 })
    // The tables are current, so there is nothing that it lacks a right for.
    await store.migrate()
    await expect(pool.query('CREATE TABLE a2a_tasks.mine ()')).rejects.toThrow('permission denied')

    expect(await serveOver(store)).toEqual({ text: 'Hello Ada', removed: 1 })
    const { rows } = await pool.query('SELECT task FROM a2a_tasks.events')
    expect(rows).toEqual([])
  })
})
