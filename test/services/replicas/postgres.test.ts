/** Three processes over one PostgreSQL, killed at random, and the server with them. */
import { expect, it } from 'vitest'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { disturb, TASKS } from './disturb.js'

it('loses, doubles and forgets nothing over one PostgreSQL', { timeout: 900_000 }, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  try {
    const outcome = await disturb({
      ...{ name: 'postgres', url: server.url, replicas: 3, killEveryMs: 1_200 },
      isEnough: ({ tasks }) => tasks >= TASKS,
      restart: () => server.restart(),
    })
    expect(outcome.faults).toEqual([])
    expect(outcome.kills).toBeGreaterThan(TASKS / 200)
  } finally {
    await server.stop()
  }
})
