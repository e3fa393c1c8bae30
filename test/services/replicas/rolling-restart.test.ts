/** A rolling restart under load: every replica hands its work over, and another one starts in its place. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { disturb } from './disturb.js'

const RESTARTS = 12

/** Rolls three replicas over one store, and expects that nothing is lost, doubled or failed. */
async function roll(name: string, url: string): Promise<void> {
  const { faults, kills, ends } = await disturb({
    ...{ name, url, replicas: 3, end: 'stop', killEveryMs: 600 },
    isEnough: (counts) => counts.tasks >= 300 && counts.kills >= RESTARTS,
  })
  expect(faults).toEqual([])
  expect(kills).toBeGreaterThanOrEqual(RESTARTS)
  expect(Object.keys(ends).filter((end) => end.startsWith('failed'))).toEqual([])
  expect(ends['completed']).toBeGreaterThan(100)
}

it('loses and fails nothing over one SQLite file', { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rolling-'))
  try {
    await roll('sqlite', join(folder, 'tasks.db'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

it('loses and fails nothing over one PostgreSQL', { timeout: 300_000 }, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  try {
    await roll('postgres', server.url)
  } finally {
    await server.stop()
  }
})

it('loses and fails nothing over one Redis', { timeout: 300_000 }, async (context) => {
  skipWithoutRedis(context)
  const server = await startRedis()
  try {
    await roll('redis', server.url)
  } finally {
    await server.stop()
  }
})
