/**
 * One interface to Redis over all supported clients.
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

/** The used part of a `Cluster` of `ioredis`. */
export interface IoRedisCluster {
  readonly options?: ClientOptions | undefined
  call(command: string, args: string[]): Promise<unknown>
  duplicate(
    nodes: never[],
    override: { enableOfflineQueue: boolean; lazyConnect: boolean },
  ): IoRedisSubscriber
  nodes(): unknown
}

/** The used part of a client of `redis`, which must be connected. */
export interface NodeRedisClient {
  readonly options?: ClientOptions | undefined
  sendCommand(args: readonly string[]): Promise<unknown>
  duplicate(): NodeRedisSubscriber
}

/** The used part of what `createCluster()` of `redis` returns, which must be connected. */
export interface NodeRedisCluster {
  readonly _keyPrefix?: unknown
  sendCommand(firstKey: string | undefined, isReadonly: boolean | undefined, args: string[]): Promise<unknown>
  duplicate(override: { minimizeConnections: boolean }): NodeRedisSubscriber
  nodeClient(node: never): unknown
}

/** The used part of what `createSentinel()` of `redis` returns, which must be connected. */
export interface NodeRedisSentinel {
  readonly _keyPrefix?: unknown
  sendCommand(isReadonly: boolean | undefined, args: string[]): Promise<unknown>
  duplicate(): NodeRedisSubscriber
  getSentinelNode(): unknown
}

interface NodeRedisSubscriber {
  on(event: 'ready' | 'node-ready' | 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  destroy(): unknown
}

/** The clients of Redis that {@link redisStore} accepts. */
export type RedisClient =
  IoRedisClient | IoRedisCluster | NodeRedisClient | NodeRedisCluster | NodeRedisSentinel

/** One interface to all clients. */
export interface Connection {
  readonly command: (name: string, args: string[]) => Promise<unknown>
  /** What commands do not put before keys by themselves. */
  readonly keyPrefix: string
  readonly channelPrefix: string
  /** Listens over its own connection. */
  readonly listener: SharedListener
}

const WANTED =
  '"client" must be a Redis or a Cluster of ioredis, or the result of createClient(), createCluster() or createSentinel() of redis'

/** @throws {TypeError} when it is none of these clients, or has options that the store cannot serve. */
export function toConnection(client: RedisClient): Connection {
  if (hasMethods(client, 'call', 'duplicate')) {
    // Only ioredis has `call`, and only its clusters have `nodes`.
    return ofIoRedis(client as IoRedisClient | IoRedisCluster)
  }
  if (!hasMethods(client, 'sendCommand', 'duplicate', 'subscribe'))
    throw new TypeError(`${WANTED}; got ${describe(client)}`)
  // Only clusters of `redis` have `nodeClient`, and only sentinels `getSentinelNode`.
  if (hasMethods(client, 'nodeClient')) return ofCluster(client as NodeRedisCluster)
  if (hasMethods(client, 'getSentinelNode')) return ofSentinel(client)
  // What is left is a client of one node.
  const nodeRedis = client as NodeRedisClient
  return ofNodeRedis(client, {
    command: (name, args) => nodeRedis.sendCommand([name, ...args]),
    keyPrefix: nodeRedis.options?.keyPrefix,
    subscriber: () => nodeRedis.duplicate(),
  })
}

function ofIoRedis(client: IoRedisClient | IoRedisCluster): Connection {
  const always = { enableOfflineQueue: true, lazyConnect: false }
  const subscriber = (): IoRedisSubscriber =>
    'nodes' in client ? client.duplicate([], always) : client.duplicate({ ...always, autoResubscribe: true })
  const open: OpenListening = (...given) => Promise.resolve(listenByIoRedis(subscriber(), ...given))
  return {
    // The client puts it before the keys of a script itself.
    ...{ keyPrefix: '', channelPrefix: textOf(client.options?.keyPrefix) },
    command: (name, args) => client.call(name, args),
    listener: listenerOf(client, open),
  }
}

/** Each script names the root of all keys, which leads to the node that has them. Other commands go to any node. */
function ofCluster(client: NodeRedisCluster): Connection {
  return ofNodeRedis(client, {
    command: (name, args) =>
      client.sendCommand(name.startsWith('eval') ? args[2] : undefined, false, [name, ...args]),
    keyPrefix: client._keyPrefix,
    subscriber: () => client.duplicate({ minimizeConnections: true }),
  })
}

function ofSentinel(client: NodeRedisSentinel): Connection {
  return ofNodeRedis(client, {
    command: (name, args) => client.sendCommand(false, [name, ...args]),
    keyPrefix: client._keyPrefix,
    subscriber: () => client.duplicate(),
  })
}

interface NodeRedisParts {
  readonly command: Connection['command']
  readonly keyPrefix: unknown
  readonly subscriber: () => NodeRedisSubscriber
}

function ofNodeRedis(client: object, parts: NodeRedisParts): Connection {
  const keyPrefix = textOf(parts.keyPrefix)
  return {
    ...{ keyPrefix, channelPrefix: keyPrefix, command: parts.command },
    listener: listenerOf(client, (...given) => listenByNodeRedis(parts.subscriber(), ...given)),
  }
}

function textOf(keyPrefix: unknown = ''): string {
  if (typeof keyPrefix === 'string') return keyPrefix
  throw new TypeError(
    '"keyPrefix" of the client must be a text, so that the store can put it before its keys',
  )
}

function listenByIoRedis(
  subscriber: IoRedisSubscriber,
  onMessage: (channel: string, message: string) => void,
  onGap: () => void,
  signal: AbortSignal,
): ListeningSession {
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
  subscriber: NodeRedisSubscriber,
  onMessage: (channel: string, message: string) => void,
  onGap: () => void,
  signal: AbortSignal,
): Promise<ListeningSession> {
  ignoreErrors(subscriber)
  onAbort(signal, () => void subscriber.destroy())
  await subscriber.connect()
  // Emitted when the client has subscribed again. A cluster has an event for each of its nodes instead.
  for (const event of ['ready', 'node-ready'] as const) subscriber.on(event, onGap)
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

/** All clients reconnect by themselves, and an `error` event without a listener would end the process. */
function ignoreErrors(subscriber: { on(event: 'error', listener: () => void): unknown }): void {
  subscriber.on('error', () => undefined)
}
