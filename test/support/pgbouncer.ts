/**
 * A real PgBouncer in transaction mode, from the package of Debian, before a PostgreSQL server of the tests.
 *
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { freePort } from './free-port.js'
import { serverUser, skipWithoutPostgres } from './postgres-server.js'

const PROGRAM = '/usr/sbin/pgbouncer'

/** Whether there is a pooler to start. */
export function hasPgBouncer(): boolean {
  return existsSync(PROGRAM)
}

/** Skips the test where PgBouncer or PostgreSQL is missing, and says how to get it. Where `CI` is set, it fails there. */
export function skipWithoutPgBouncer(context: TestContext): void {
  skipWithoutPostgres(context)
  if (hasPgBouncer()) return
  const reason = 'Not installed: PgBouncer. Run: apt-get install pgbouncer'
  if (process.env['CI']) throw new Error(reason)
  context.skip(reason)
}

export interface PgBouncer {
  /** As that of the server: the same user and database. */
  readonly url: string
  stop(): Promise<void>
}

/** Starts a pooler that shares four connections of the server on this port among all its clients. */
export async function startPgBouncer(serverPort: number): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    [
      '[databases]',
      `postgres = host=127.0.0.1 port=${serverPort} user=postgres`,
      '[pgbouncer]',
      ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
      ...['pool_mode = transaction', 'default_pool_size = 4', 'max_client_conn = 500'],
      // After a restart of the server, the default of 15 s lets clients wait.
      'server_login_retry = 1',
    ].join('\n'),
  )
  // It refuses to be run by root.
  await chmod(folder, 0o755)
  const child = spawn(PROGRAM, [file], { ...serverUser(), stdio: ['ignore', 'ignore', 'pipe'] })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      kill()
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  }
  let output = ''
  try {
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-10_000)
        if (output.includes('process up')) resolve()
      })
      child.once('error', reject)
      child.once('close', () => reject(new Error(`PgBouncer ended:\n${output}`)))
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, stop }
}
