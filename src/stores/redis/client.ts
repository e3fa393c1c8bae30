/**
 * One interface to Redis over both supported clients.
 *
 * @module
 */
import {
  listenerOf,
  type ListeningSession,
  type OpenListening,
  type SharedListener,
} from '../../durable/shared-listener.js'
import { onAbort } from '../../runtime/abort.js'
import { describe } from '../../runtime/describe.js'
import { hasMethods } from '../../runtime/options.js'

/** The options of a client that change the keys of its commands. */
interface ClientOptions {
  readonly keyPrefix?: unknown
}

/** The used part of a `Redis` of `ioredis`. */
export interface IoRedisClient {
  readonly options?: ClientOptions | undefined
  call(command: string, args: string[]): Promise<unknown>
  duplicate(override: {
    enableOfflineQueue: boolean
    autoResubscribe: boolean
    lazyConnect: boolean
  }): IoRedisSubscriber
}

interface IoRedisSubscriber {
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
  on(event: 'ready', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  disconnect(): void
}

/** The used part of a client of `redis`, which must be connected. */
export interface NodeRedisClient {
  readonly options?: ClientOptions | undefined
  sendCommand(args: readonly string[]): Promise<unknown>
  duplicate(): NodeRedisSubscriber
}

interface NodeRedisSubscriber {
  on(event: 'ready' | 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  destroy(): void
}

/** One interface to both clients. */
export interface Connection {
  readonly command: (name: string, args: string[]) => Promise<unknown>
  /** What commands do not put before keys by themselves. */
  readonly keyPrefix: string
  readonly channelPrefix: string
  /** Listens over its own connection. */
  readonly listener: SharedListener
}

const WANTED = '"client" must be a Redis of ioredis, or the result of createClient() of redis'

/** @throws {TypeError} when it is neither of the two clients, or has options that the store cannot serve. */
export function toConnection(client: IoRedisClient | NodeRedisClient): Connection {
  refuseMany(client)
  if (hasMethods(client, 'call', 'duplicate')) {
    // Only ioredis has `call`.
    const ioRedis = client as IoRedisClient
    const open: OpenListening = (...given) => Promise.resolve(listenByIoRedis(ioRedis, ...given))
    return {
      // The client puts it before the keys of a script itself.
      ...{ keyPrefix: '', channelPrefix: keyPrefixOf(ioRedis) },
      command: (name, args) => ioRedis.call(name, args),
      listener: listenerOf(client, open),
    }
  }
  if (hasMethods(client, 'sendCommand', 'duplicate', 'subscribe')) {
    // A client without `call` is not ioredis.
    const nodeRedis = client as NodeRedisClient
    const keyPrefix = keyPrefixOf(nodeRedis)
    return {
      ...{ keyPrefix, channelPrefix: keyPrefix },
      command: (name, args) => nodeRedis.sendCommand([name, ...args]),
      listener: listenerOf(client, (...given) => listenByNodeRedis(nodeRedis, ...given)),
    }
  }
  throw new TypeError(`${WANTED}; got ${describe(client)}`)
}

/** Clients of several nodes take other parameters, and send the commands of a script to nodes that do not have it. */
function refuseMany(client: unknown): void {
  const isCluster = hasMethods(client, 'nodes') || hasMethods(client, 'nodeClient')
  const isSentinel = hasMethods(client, 'getSentinelNode')
  if (!isCluster && !isSentinel) return
  throw new TypeError(`${WANTED}, of one node; got a client of ${isCluster ? 'a cluster' : 'sentinels'}`)
}

function keyPrefixOf({ options }: IoRedisClient | NodeRedisClient): string {
  const prefix: unknown = options?.keyPrefix ?? ''
  if (typeof prefix === 'string') return prefix
  throw new TypeError(
    '"keyPrefix" of the client must be a text, so that the store can put it before its keys',
  )
}

function listenByIoRedis(
  client: IoRedisClient,
  onMessage: (channel: string, message: string) => void,
  onGap: () => void,
  signal: AbortSignal,
): ListeningSession {
  const subscriber = client.duplicate({
    enableOfflineQueue: true,
    autoResubscribe: true,
    lazyConnect: false,
  })
  ignoreErrors(subscriber)
  subscriber.on('message', onMessage)
  onAbort(signal, () => subscriber.disconnect())
  const channels = new Set<string>()
  // ioredis subscribes again by itself without reporting when it has. Once these second subscriptions resolve, that has
  // happened.
  const onReady = (): void => {
    Promise.all([...channels].map((channel) => subscriber.subscribe(channel))).then(onGap, () => undefined)
  }
  let wasReady = false
  return {
    async add(channel) {
      // Now, because it may be removed before it is confirmed.
      channels.add(channel)
      await subscriber.subscribe(channel)
      if (!wasReady) subscriber.on('ready', onReady)
      wasReady = true
    },
    remove(channel) {
      channels.delete(channel)
      return subscriber.unsubscribe(channel)
    },
  }
}

async function listenByNodeRedis(
  client: NodeRedisClient,
  onMessage: (channel: string, message: string) => void,
  onGap: () => void,
  signal: AbortSignal,
): Promise<ListeningSession> {
  const subscriber = client.duplicate()
  ignoreErrors(subscriber)
  onAbort(signal, () => subscriber.destroy())
  await subscriber.connect()
  // Emitted when the client has subscribed again.
  subscriber.on('ready', onGap)
  const channels = new Map<string, Promise<unknown>>()
  return {
    add(channel) {
      // Each subscription of a channel would receive its messages once more.
      const added =
        channels.get(channel) ?? subscriber.subscribe(channel, (message) => onMessage(channel, message))
      channels.set(channel, added)
      return added
    },
    remove(channel) {
      channels.delete(channel)
      return subscriber.unsubscribe(channel)
    },
  }
}

/** Both clients reconnect by themselves, and an `error` event without a listener would end the process. */
function ignoreErrors(subscriber: { on(event: 'error', listener: () => void): unknown }): void {
  subscriber.on('error', () => undefined)
}
