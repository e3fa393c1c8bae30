/**
 * A Redis server for a test: the one of Debian's package `redis-server`, on a free port of loopback, with a folder of
 * its own. Nothing is installed: without it the tests that need it say so, and are skipped.
 *
 * @module
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'vitest'
import { freePort } from './free-port.js'

const COMMAND = 'redis-server'

/** Whether there is a `redis-server` to start. Where there is none: have a test that {@link skipWithoutRedis} skips. */
export function hasRedisServer(): boolean {
  const folders = process.env['PATH']?.split(delimiter) ?? []
  return folders.some((folder) => existsSync(join(folder, COMMAND)))
}

/** Skips the test where there is no server, and says how to get one. Where `CI` is set, it fails there. */
export function skipWithoutRedis({ skip }: TestContext): void {
  if (hasRedisServer()) return
  const reason =
    'Not installed: redis-server. Run: apt-get install redis-server, and see that it does not start'
  if (process.env['CI']) throw new Error(reason)
  skip(reason)
}

export interface RedisServer {
  readonly port: number
  readonly url: string
  /** Ends the process, by SIGTERM where it is not said otherwise, and starts another with the same data and port. */
  restart(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Ends it without starting another. */
  halt(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Starts it again after `halt`. */
  start(): Promise<void>
  /** Ends it, and removes its data. */
  stop(): Promise<void>
}

/**
 * What is acknowledged outlives the server, and not the machine: `appendfsync no`, where the settings do not say otherwise.
 * They are as on the command line: `--maxmemory 1mb`.
 */
export async function startRedis(...settings: readonly string[]): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-'))
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    child = await launch(folder, port, settings)
  }
  const halt = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    await end(child, signal)
  }
  try {
    await start()
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    restart: async (signal) => {
      await halt(signal)
      await start()
    },
    halt,
    start,
    stop: async () => {
      await halt('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Resolves when the server says that it takes connections. */
async function launch(folder: string, port: number, settings: readonly string[]): Promise<ChildProcess> {
  const child = spawn(
    COMMAND,
    [
      ...['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--daemonize', 'no'],
      ...['--appendonly', 'yes', '--appendfsync', 'no', '--save', '', ...settings],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const said: string[] = []
  // Nothing outlives the tests, even if they are ended.
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`redis-server did not start:\n${said.join('\n')}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      said.push(line)
      if (line.includes('Ready to accept connections')) resolve()
    })
  })
  return child
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await ended
}
