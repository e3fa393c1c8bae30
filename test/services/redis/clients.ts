/** Stores by both clients, for the tests of them, which need a server. */
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, onTestFinished } from 'vitest'
import { redisStore, type RedisStore, type RedisStoreOptions } from 'a2a-tasks/stores/redis'
import { hasRedisServer, startRedis, type RedisServer } from '../../support/redis-server.js'

/** Without a server there are none of these tests: have one that `skipWithoutRedis` skips. */
export function whenRedis(name: string, body: () => void): void {
  if (hasRedisServer()) describe(name, body)
}

/** A server for one test, and stopped after it. */
export async function ownRedis(...settings: readonly string[]): Promise<RedisServer> {
  const server = await startRedis(...settings)
  onTestFinished(() => server.stop())
  return server
}

export interface Opened {
  readonly store: RedisStore
  readonly command: (...args: [string, ...string[]]) => Promise<unknown>
  readonly close: () => void
}

/** Closes the client after the test. */
export async function closedAfter(opening: Promise<Opened>): Promise<Opened> {
  const opened = await opening
  onTestFinished(opened.close)
  return opened
}

export interface Client {
  readonly name: string
  readonly open: (server: Pick<RedisServer, 'url'>, options?: RedisStoreOptions) => Promise<Opened>
}

export const CLIENTS: readonly Client[] = [
  { name: 'ioredis', open: openIoRedis },
  { name: 'redis', open: openNodeRedis },
]

export function openIoRedis({ url }: Pick<RedisServer, 'url'>, options?: RedisStoreOptions): Promise<Opened> {
  const client = new Redis(url, { retryStrategy: () => 10 })
  // While a server is restarted.
  client.on('error', () => undefined)
  return Promise.resolve({
    store: redisStore(client, options),
    command: (name, ...args) => client.call(name, args),
    close: () => client.disconnect(),
  })
}

export async function openNodeRedis(
  { url }: Pick<RedisServer, 'url'>,
  options?: RedisStoreOptions,
): Promise<Opened> {
  const client = createClient({ url, socket: { reconnectStrategy: () => 10 } })
  client.on('error', () => undefined)
  await client.connect()
  return {
    store: redisStore(client, options),
    command: (...args) => client.sendCommand(args),
    close: () => client.destroy(),
  }
}
