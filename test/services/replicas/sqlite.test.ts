/** One process over one SQLite file, killed 200 times. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { disturb } from './disturb.js'

/** 200, or `CHAOS_KILLS`. */
const KILLS = Number(process.env['CHAOS_KILLS'] ?? 200)

it('loses, doubles and forgets nothing in a SQLite file', { timeout: 900_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sqlite-'))
  try {
    const outcome = await disturb({
      ...{ name: 'sqlite', url: join(folder, 'tasks.db'), replicas: 1, killEveryMs: 400 },
      isEnough: ({ kills }) => kills >= KILLS,
    })
    expect(outcome.faults).toEqual([])
    expect(outcome.kills).toBeGreaterThanOrEqual(KILLS)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
