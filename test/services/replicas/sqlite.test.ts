/** One process over one SQLite file, killed again and again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { disturb } from './disturb.js'

/** Each takes about a second: 200 where nothing is left out, a few else; or `CHAOS_KILLS`. */
const KILLS = Number(process.env['CHAOS_KILLS'] ?? (process.env['CI'] ? 200 : 10))

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
