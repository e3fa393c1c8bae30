/** Transactions whose processes are killed each second: each effect is there once, and has its step. */
import Database from 'libsql'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { expect, it } from 'vitest'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { openStore } from '../replicas/stores.js'
import { runUnderKills } from './kill.js'
import { SET_UP, TRANSFERS } from './transfer.js'

/** More where nothing is left out. */
const TASKS = Number(process.env['CHAOS_FUNCTIONS'] ?? (process.env['CI'] ? 500 : 150))
const TIMEOUT = { timeout: 600_000 }

/** @param keysOf - Reads the keys of all effects. */
async function expectOnce(
  name: string,
  url: string,
  replicas: number,
  keysOf: () => Promise<readonly string[]>,
): Promise<void> {
  const { ids } = await runUnderKills('transfer', { name, url, replicas, tasks: TASKS })
  const { store, close } = await openStore(name, url)
  const tasks = new DurableTaskManager({ store, sweepIntervalMs: false })
  // Tasks whose message was not acknowledged have effects too.
  const all = await tasks.listTasks()
  const steps: string[] = []
  const states = new Map<string, string>()
  for (const { id, state } of all) {
    states.set(id, state)
    for (const { entry } of await tasks.journal(id)) {
      if (entry.kind === 'step') steps.push(`${id}/${entry.name}`)
    }
  }
  const keys = await keysOf()
  await tasks.destroy()
  await close()
  expect([...keys].sort()).toEqual(steps.sort())
  expect(ids.filter((id) => states.get(id) !== 'completed')).toEqual([])
  expect(keys.length).toBeGreaterThanOrEqual(ids.length * TRANSFERS)
}

it('write once to one PostgreSQL', TIMEOUT, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  const pool = new Pool({ connectionString: server.url, max: 2 })
  const keys = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ k: string }>('SELECT k FROM effects')
    return rows.map(({ k }) => k)
  }
  try {
    await pool.query(SET_UP)
    await expectOnce('postgres', server.url, 3, keys)
  } finally {
    await pool.end()
    await server.stop()
  }
})

it('write once to a SQLite file', TIMEOUT, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'functions-'))
  const url = join(folder, 'tasks.db')
  const database = new Database(url)
  const keys = (): Promise<string[]> => {
    const rows = database.prepare('SELECT k FROM effects').all() as { readonly k: string }[]
    return Promise.resolve(rows.map(({ k }) => k))
  }
  try {
    database.exec('PRAGMA journal_mode = WAL')
    database.exec(SET_UP)
    await expectOnce('sqlite', url, 1, keys)
  } finally {
    database.close()
    await rm(folder, { recursive: true })
  }
})
