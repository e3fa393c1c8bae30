/**
 * A server of Debian that a test starts on a free port, with a folder of its own.
 *
 * @module
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestContext } from 'vitest'
import { freePort } from './free-port.js'

/** As `RedisServer` of the tests. */
export interface DebianServer {
  readonly url: string
  /** Ends it, at once and uncleanly. */
  halt(): Promise<void>
  /** Starts it again after `halt`: the same data and port. */
  start(): Promise<void>
  /** Ends it, and removes its data. */
  stop(): Promise<void>
}

interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export function hasProgram(program: string): boolean {
  const folders = process.env['PATH']?.split(delimiter) ?? []
  return folders.some((folder) => existsSync(join(folder, program)))
}

/** Skips the test where there is no such program, which has the name of its package. Where `CI` is set, it fails there. */
export function skipWithout(program: string): (context: TestContext) => void {
  return ({ skip }) => {
    if (hasProgram(program)) return
    const reason = `Not installed: ${program}. Run: apt-get install ${program}, and see that it does not start`
    if (process.env['CI']) throw new Error(reason)
    skip(reason)
  }
}

/** Starts the server, which outlives no test. Resolves when its port is open. */
export async function startServer(
  scheme: string,
  commandFor: (port: number, folder: string) => Command,
): Promise<DebianServer> {
  const folder = await mkdtemp(join(tmpdir(), 'engine-'))
  const port = await freePort()
  const url = `${scheme}://127.0.0.1:${port}`
  const command = commandFor(port, folder)
  let child: ChildProcess | undefined
  const halt = async (): Promise<void> => {
    if (child !== undefined) await end(child)
    child = undefined
  }
  const start = async (): Promise<void> => {
    child = launch(command, folder)
    await untilOpen(child, port)
  }
  await start()
  const stop = async (): Promise<void> => {
    await halt()
    await rm(folder, { recursive: true, force: true })
  }
  return { url, halt, start, stop }
}

function launch({ program, args, env }: Command, cwd: string): ChildProcess {
  // A process group, as a server may be a script that starts another program.
  const child = spawn(program, args, {
    ...{ cwd, env: { ...process.env, ...env }, detached: true },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = (): void => killGroup(child)
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}

async function untilOpen(child: ChildProcess, port: number): Promise<void> {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-10_000)))
  while (!(await isOpen(port))) {
    if (child.exitCode !== null) throw new Error(`The server has ended:\n${output}`)
    await delay(50)
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (isConnected: boolean) => (): void => {
      socket.destroy()
      resolve(isConnected)
    }
    socket.once('connect', settle(true)).once('error', settle(false))
  })
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('close', resolve))
  killGroup(child)
  await gone
}
