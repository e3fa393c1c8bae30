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
      const onMessage = (message: string): void => {
        for (const hint of toHints(message)) onHint(hint)
      }
      const stop = await connection.listener.listen(channel, { onMessage, onGap }, signal)
      return () => {
        stop()
        return Promise.resolve()
      }
    },
  }
}
