/** Durable functions whose processes are killed after three seconds each: all end right, and no step that is stored runs again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { skipMissing } from '../installed.js'
import { bookUnderKills } from './kill.js'

/** 500 where nothing is left out, fewer else; or `CHAOS_FUNCTIONS`. */
const TASKS = Number(process.env['CHAOS_FUNCTIONS'] ?? (process.env['CI'] ? 500 : 150))
const TIMEOUT = { timeout: 600_000 }

async function expectAllRight(
  name: string,
  url: string,
  replicas: number,
  by: { readonly work?: string; readonly queueUrl?: string } = {},
): Promise<void> {
  const { faults, kills, stepsRun, stepsNeeded, doubled } = await bookUnderKills({
    // Those with workers are half as many, so that all take no longer.
    ...{ name, url, replicas, tasks: by.work === undefined ? TASKS : TASKS / 2, ...by },
  })
  const ratio = stepsRun / stepsNeeded
  const counts = `${kills} kills, ${stepsRun} steps run, ${stepsNeeded} needed: ${ratio.toFixed(4)}`
  // Vitest shows what a console says only where a test fails.
  process.stderr.write(`${name} ${by.work ?? ''}: ${counts}\n`)
  expect({ faults, doubled }, counts).toEqual({ faults: [], doubled: 0 })
  expect(ratio, counts).toBeLessThan(1.05)
}

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

it('end right with workers that BullMQ gives the turns to', TIMEOUT, async (context) => {
  skipWithoutPostgres(context)
  skipWithoutRedis(context)
  skipMissing(context, 'bullmq')
  const [server, queue] = await Promise.all([startPostgres(), startRedis()])
  try {
    await expectAllRight('postgres', server.url, 3, { work: 'bullmq', queueUrl: queue.url })
  } finally {
    await Promise.all([server.stop(), queue.stop()])
  }
})
