/**
 * Hints by Redis publish and subscribe.
 *
 * @module
 */
import { toHints } from '../../durable/hint-text.js'
import type { StoreHints } from '../../durable/task-store.js'
import type { Connection } from './client.js'

export function redisHints(connection: Connection, channel: string): StoreHints {
  return {
    async publish(hints) {
      if (hints.length === 0) return
      const pairs = hints.map(({ taskId, generation }) => [taskId, generation])
      await connection.command('publish', [channel, JSON.stringify(pairs)])
    },
    async listen(onHint, onGap, signal) {
      // Messages in flight arrive even after the connection is closed.
      let isListening = true
      const onMessage = (message: string): void => {
        for (const hint of toHints(message)) if (isListening) onHint(hint)
      }
      const onReconnect = (): void => {
        if (isListening) onGap()
      }
      const stop = await connection.listen(channel, onMessage, onReconnect, signal)
      return () => {
        isListening = false
        stop()
        return Promise.resolve()
      }
    },
  }
}
