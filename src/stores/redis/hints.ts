/**
 * Hints by publish and subscribe.
 *
 * @module
 */
import type { StoreHints } from '../../durable/index.js'
import type { Connection } from './client.js'

export function redisHints(connection: Connection, channel: string): StoreHints {
  return {
    async publish(taskIds) {
      if (taskIds.length > 0) await connection.command('publish', [channel, JSON.stringify(taskIds)])
    },
    async listen(onHint, onGap) {
      // What is on its way when a connection is closed still comes.
      let isListening = true
      const hear = (message: string): void => {
        for (const taskId of idsOf(message)) if (isListening) onHint(taskId)
      }
      const stop = await connection.listen(channel, hear, () => {
        if (isListening) onGap()
      })
      return () => {
        isListening = false
        stop()
        return Promise.resolve()
      }
    },
  }
}

/** Anybody may publish anything there. */
function idsOf(message: string): string[] {
  try {
    const ids: unknown = JSON.parse(message)
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}
