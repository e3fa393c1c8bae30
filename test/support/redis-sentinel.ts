/**
 * A Redis Sentinel of the tests, from Debian's package `redis-sentinel`, or the same program of `redis-server`.
 *
 * @module
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startServer } from './debian-server.js'

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
  const server = await startServer('redis', (port, folder) => {
    const file = join(folder, 'sentinel.conf')
    const lines = [
      ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
      `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 1`,
      ...[`sentinel down-after-milliseconds ${MASTER} 1000`, `sentinel failover-timeout ${MASTER} 3000`],
    ]
    writeFileSync(file, lines.join('\n'))
    return { program: 'redis-server', args: [file, '--sentinel'] }
  })
  return { port: Number(new URL(server.url).port), stop: () => server.stop() }
}
