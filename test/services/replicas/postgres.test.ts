/** Three processes over one PostgreSQL, killed at random, and the server with them. */
import { expect, it } from 'vitest'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { disturb, MIN_KILLS, TASKS } from './disturb.js'

it('loses, doubles and forgets nothing over one PostgreSQL', { timeout: 900_000 }, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  try {
    const outcome = await disturb({
      ...{ name: 'postgres', url: server.url, replicas: 3, killEveryMs: 600 },
      isEnough: ({ tasks, kills }) => tasks >= TASKS && kills >= MIN_KILLS,
      restart: () => server.restart(),
    })
    expect(outcome.faults).toEqual([])
    expect(outcome.kills).toBeGreaterThanOrEqual(MIN_KILLS)
  } finally {
    await server.stop()
  }
})
