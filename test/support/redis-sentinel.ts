/**
 * A Redis Sentinel of the tests, from Debian's package `redis-sentinel`, or the same program of `redis-server`.
 *
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from './free-port.js'

interface RedisSentinel {
  readonly port: number
  stop(): Promise<void>
}

/** The name under which it knows the master. */
export const MASTER = 'tasks'

/**
 * Watches the master at this port, and promotes a replica a second after the master has died. It decides alone: several sentinels
 * can split their votes, and try again only after `failover-timeout`.
 */
export async function startSentinel(masterPort: number): Promise<RedisSentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'sentinel-'))
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  await writeFile(
    file,
    [
      ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
      `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 1`,
      ...[`sentinel down-after-milliseconds ${MASTER} 1000`, `sentinel failover-timeout ${MASTER} 3000`],
    ].join('\n'),
  )
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said: string[] = []
  // Nothing outlives the tests, even if they are ended.
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
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', () => reject(new Error(`The sentinel did not start:\n${said.join('\n')}`)))
      createInterface({ input: child.stdout }).on('line', (line) => {
        said.push(line)
        if (line.includes('+monitor master')) resolve()
      })
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { port, stop }
}
