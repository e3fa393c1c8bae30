/**
 * One interface to Redis over both supported clients.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { describe } from '../../runtime/describe.js'
import { hasMethods } from '../../runtime/options.js'

/** The used part of a `Redis` of `ioredis`. */
export interface IoRedisClient {
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
  disconnect(): void
}

/** The used part of a client of `redis`, which must be connected. */
export interface NodeRedisClient {
  sendCommand(args: readonly string[]): Promise<unknown>
  duplicate(): NodeRedisSubscriber
}

interface NodeRedisSubscriber {
  on(event: 'ready' | 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  destroy(): void
}

/** One interface to both clients. */
export interface Connection {
  readonly command: (name: string, args: string[]) => Promise<unknown>
  /**
   * Subscribes to a channel over its own connection. `onGap` is called when the subscription is active again after
   * an interruption. Resolves once the subscription is active, to a function that ends it. `signal` ends it earlier,
   * also while no server is available.
   */
  readonly listen: (
    channel: string,
    onMessage: (message: string) => void,
    onGap: () => void,
    signal: AbortSignal | undefined,
  ) => Promise<() => void>
}

/** @throws {TypeError} when it is neither of the two clients. */
export function toConnection(client: IoRedisClient | NodeRedisClient): Connection {
  if (hasMethods(client, 'call', 'duplicate')) {
    // Only ioredis has `call`.
    const ioRedis = client as IoRedisClient
    return {
      command: (name, args) => ioRedis.call(name, args),
      listen: (...subscription) => listenByIoRedis(ioRedis, ...subscription),
    }
  }
  if (hasMethods(client, 'sendCommand', 'duplicate')) {
    // A client without `call` is not ioredis.
    const nodeRedis = client as NodeRedisClient
    return {
      command: (name, args) => nodeRedis.sendCommand([name, ...args]),
      listen: (...subscription) => listenByNodeRedis(nodeRedis, ...subscription),
    }
  }
  throw new TypeError(
    `"client" must be a Redis of ioredis, or the result of createClient() of redis; got ${describe(client)}`,
  )
}

async function listenByIoRedis(
  client: IoRedisClient,
  channel: string,
  onMessage: (message: string) => void,
  onGap: () => void,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  const subscriber = client.duplicate({
    enableOfflineQueue: true,
    autoResubscribe: true,
    lazyConnect: false,
  })
  ignoreErrors(subscriber)
  subscriber.on('message', (_channel, message) => onMessage(message))
  const end = callOnce(() => subscriber.disconnect())
  onAbort(signal, end)
  try {
    await subscriber.subscribe(channel)
  } catch (error) {
    end()
    throw error
  }
  // ioredis subscribes again by itself without reporting when it has. Once this second subscription resolves, that has
  // happened.
  subscriber.on('ready', () => void subscriber.subscribe(channel).then(onGap, () => undefined))
  return end
}

async function listenByNodeRedis(
  client: NodeRedisClient,
  channel: string,
  onMessage: (message: string) => void,
  onGap: () => void,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  const subscriber = client.duplicate()
  ignoreErrors(subscriber)
  const end = callOnce(() => subscriber.destroy())
  onAbort(signal, end)
  try {
    await subscriber.connect()
    await subscriber.subscribe(channel, onMessage)
  } catch (error) {
    end()
    throw error
  }
  // Emitted when the client has subscribed again.
  subscriber.on('ready', onGap)
  return end
}

/** Closing a client twice throws. */
function callOnce(close: () => void): () => void {
  let isClosed = false
  return () => {
    if (!isClosed) close()
    isClosed = true
  }
}

/** Both clients reconnect by themselves, and an `error` event without a listener would end the process. */
function ignoreErrors(subscriber: { on(event: 'error', listener: () => void): unknown }): void {
  subscriber.on('error', () => undefined)
}
