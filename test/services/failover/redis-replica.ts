/** Servers of Redis with a replica, for tests that kill their master under load. */
import { Redis } from 'ioredis'
import { expect, onTestFinished } from 'vitest'
import type { RedisClient } from '../../../src/stores/redis/index.js'
import type { RedisServer } from '../../support/redis-server.js'
import type { Outcome } from './load.js'

export const HOST = '127.0.0.1'
/** How many tasks end before the failover, and after it. */
export const TASKS = 20
/** The clients of the load, each of which has one task at a time. */
const AT_A_TIME = 12

/** Opens a client of the servers at these ports, which the test closes. */
export type Open = (ports: readonly number[]) => Promise<RedisClient> | RedisClient

/** An admin's connection to one server. */
export function adminOf({ port }: Pick<RedisServer, 'port'>): Redis {
  const admin = new Redis(port, { retryStrategy: () => null }).on('error', () => undefined)
  onTestFinished(() => admin.disconnect())
  return admin
}

/** Resolves when the replica has all that its master has. */
export async function replicates(replica: Redis): Promise<void> {
  await expect.poll(() => replica.info('replication'), { timeout: 15_000 }).toContain('master_link_status:up')
}

/** Replication is asynchronous: what was under way when the master died can be lost, and nothing else. */
export function expectAlmostAll({ faults, lost, errors, ended }: Outcome): void {
  expect(faults).toEqual([])
  expect([...lost, ...errors].length, [...lost, ...errors].join('\n')).toBeLessThanOrEqual(AT_A_TIME)
  expect(ended).toBeGreaterThanOrEqual(2 * TASKS)
}
