/**
 * A real PostgreSQL server, from the packages of Debian, over loopback.
 *
 * @module
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'vitest'
import { freePort } from './free-port.js'

const PACKAGES = '/usr/lib/postgresql'
const READY = /database system is ready to accept (read-only )?connections/

/** Whether there is a server to start. */
export function hasPostgresServer(): boolean {
  return programs() !== undefined
}

/** Tests that need a server. Without one there are none: have one that {@link skipWithoutPostgres} skips. */
export function whenPostgres(name: string, body: () => void): void {
  if (hasPostgresServer()) describe(name, body)
}

/** Skips the test where there is no server, and says how to get one. Where `CI` is set, it fails there. */
export function skipWithoutPostgres({ skip }: TestContext): void {
  if (hasPostgresServer()) return
  const reason = 'Not installed: PostgreSQL. Run: apt-get install postgresql'
  if (process.env['CI']) throw new Error(reason)
  skip(reason)
}

export interface PostgresServer {
  readonly port: number
  /** `postgres://postgres@127.0.0.1:<port>/postgres`. It asks for no password. */
  readonly url: string
  /** Ends it, at once and uncleanly where it is not said otherwise, and starts it again: the same data and port. */
  restart(signal?: Ending): Promise<void>
  /** Ends it without starting it again. */
  halt(signal?: Ending): Promise<void>
  /** Starts it again after `halt`. */
  start(): Promise<void>
  /** Ends it, and removes its data. */
  stop(): Promise<void>
}

/** SIGINT ends all that runs, and then the server. SIGQUIT ends the server, which recovers when it starts again. */
type Ending = 'SIGINT' | 'SIGQUIT'

/**
 * Starts a server with an empty database. What is acknowledged outlives the server, and not the machine: `fsync` is off
 * where the settings do not say otherwise.
 *
 * @param primary - Starts a standby instead, which replicates this server by streaming, and reads only until it is promoted.
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  primary?: Pick<PostgresServer, 'port'>,
): Promise<PostgresServer> {
  const bin = programs()
  if (bin === undefined) throw new Error('PostgreSQL is not installed')
  const user = serverUser()
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid)
    const data = join(folder, 'data')
    const [program, ...given] =
      primary === undefined ? ['initdb', ...INITIAL] : ['pg_basebackup', ...COPY, '-p', `${primary.port}`]
    execFileSync(join(bin, program), ['-D', data, ...given], { ...user, cwd: folder, stdio: 'pipe' })
    const port = await freePort()
    const options = Object.entries({ ...SETTINGS, port: String(port), ...settings })
    const launch = (): Promise<ChildProcess> => {
      const args = ['-D', data, ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
      return ready(spawn(join(bin, 'postgres'), args, { ...user, cwd: folder, stdio: 'pipe' }))
    }
    let child = await launch()
    const start = async (): Promise<void> => {
      child = await launch()
    }
    const halt = (signal: Ending = 'SIGQUIT'): Promise<void> => end(child, signal)
    return {
      port,
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      restart: (signal) => halt(signal).then(start),
      halt,
      start,
      stop: () => halt().then(remove),
    }
  } catch (error) {
    await remove()
    throw error
  }
}

const INITIAL = [
  ...['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'],
  // A collation that is none of bytes: what must sort so has to say so.
  ...['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'],
]

/** `-R` makes the copy a standby. */
const COPY = ['-R', '-X', 'stream', '-c', 'fast', '--no-sync', '-h', '127.0.0.1', '-U', 'postgres']

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  max_connections: '200',
}

/** The folder of the newest version. */
function programs(): string | undefined {
  if (!existsSync(PACKAGES)) return undefined
  const versions = readdirSync(PACKAGES).sort((a, b) => Number(b) - Number(a))
  return versions
    .map((version) => join(PACKAGES, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
}

/** Who runs it: it refuses to be run by root. */
export function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (option: string): number =>
    Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Resolves when it takes connections. Rejects with what it wrote if it ends before. */
async function ready(server: ChildProcess): Promise<ChildProcess> {
  // Nothing outlives the tests, even if they are ended.
  const kill = (): void => void server.kill('SIGQUIT')
  process.once('exit', kill)
  server.once('exit', () => process.off('exit', kill))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    server.stderr?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000)
      if (READY.test(output)) resolve()
    })
    server.once('error', reject)
    server.once('close', () => reject(new Error(`PostgreSQL ended:\n${output}`)))
  })
  return server
}

async function end(server: ChildProcess, signal: Ending): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill(signal)
  await ended
}
