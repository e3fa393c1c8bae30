/**
 * What a benchmark needs and this machine lacks.
 */
import { existsSync } from 'node:fs'
import { MODULES } from '../frameworks/installed.js'
import { isInstalled } from '../services/installed.js'
import { hasPostgresServer } from '../support/postgres-server.js'
import { hasRedisServer } from '../support/redis-server.js'

class Missing extends Error {}

/** Says in one line which rows are left out, and how to get them. Throws any other error again. */
export function leaveOut(rows: string, error: unknown): void {
  if (!(error instanceof Missing)) throw error
  console.error(`Left out: ${rows}. Not installed: ${error.message}`)
}

export function needPostgres(): void {
  if (!hasPostgresServer()) throw new Missing('PostgreSQL. Run: apt-get install postgresql')
}

export function needRedis(): void {
  if (!hasRedisServer()) throw new Missing('redis-server. Run: apt-get install redis-server')
}

/** A package of `test/services`. */
export function needPackage(name: string): void {
  if (!isInstalled(name)) throw new Missing(`${name}. Run: npm ci --prefix test/services`)
}

/** A package of `test/frameworks`. */
export function needFramework(name: string): void {
  if (!existsSync(`${MODULES}${name}/package.json`))
    throw new Missing(`${name}. Run: npm ci --prefix test/frameworks`)
}
