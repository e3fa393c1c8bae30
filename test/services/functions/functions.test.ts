/** Durable functions whose processes are killed each second: all end right, and no step that is stored runs again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { bookUnderKills } from './kill.js'

/** 500 where nothing is left out, fewer else; or `CHAOS_FUNCTIONS`. */
const TASKS = Number(process.env['CHAOS_FUNCTIONS'] ?? (process.env['CI'] ? 500 : 150))
const TIMEOUT = { timeout: 600_000 }

async function expectAllRight(name: string, url: string, replicas: number, most: number): Promise<void> {
  const { faults, kills, stepsRun, stepsNeeded, doubled } = await bookUnderKills({
    ...{ name, url, replicas, tasks: TASKS },
  })
  const ratio = stepsRun / stepsNeeded
  // Vitest shows what a console says only where a test fails.
  const steps = `${stepsRun} steps run, ${stepsNeeded} needed: ${ratio.toFixed(4)}`
  process.stderr.write(`${name}: ${kills} kills, ${steps}\n`)
  expect({ faults, doubled }).toEqual({ faults: [], doubled: 0 })
  expect(kills).toBeGreaterThanOrEqual(3)
  expect(ratio).toBeLessThan(most)
}

it('end right over one PostgreSQL', TIMEOUT, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  try {
    await expectAllRight('postgres', server.url, 3, 1.05)
  } finally {
    await server.stop()
  }
})

it('end right over one Redis', TIMEOUT, async (context) => {
  skipWithoutRedis(context)
  const server = await startRedis()
  try {
    await expectAllRight('redis', server.url, 3, 1.05)
  } finally {
    await server.stop()
  }
})

it('end right in one process over a SQLite file', TIMEOUT, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'functions-'))
  try {
    // A kill repeats a step of each task, and the time in which they work is short: each process waits for leases.
    await expectAllRight('sqlite', join(folder, 'tasks.db'), 1, 1.25)
  } finally {
    await rm(folder, { recursive: true })
  }
})
