/** Durable functions whose processes are killed after three seconds each: all end right, and no step that is stored runs again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { expectAllRight } from './expect-right.js'

const TIMEOUT = { timeout: 600_000 }

it('end right over one PostgreSQL', TIMEOUT, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  try {
    await expectAllRight('postgres', server.url, 3)
  } finally {
    await server.stop()
  }
})

it('end right over one Redis', TIMEOUT, async (context) => {
  skipWithoutRedis(context)
  const server = await startRedis()
  try {
    await expectAllRight('redis', server.url, 3)
  } finally {
    await server.stop()
  }
})

it('end right in one process over a SQLite file', TIMEOUT, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'functions-'))
  try {
    // An end repeats the step that each of the 40 runs of the process is at, with three replicas those of a third of them. So
    // the only process ends a third as often. Ended each second, it repeats 12 % of all steps: 8 % are at work when it is killed.
    await expectAllRight('sqlite', join(folder, 'tasks.db'), 1)
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('end right with workers that take the turns from the store', TIMEOUT, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  try {
    await expectAllRight('postgres', server.url, 3, { work: 'store' })
  } finally {
    await server.stop()
  }
})
