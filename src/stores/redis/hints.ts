/**
 * Hints by Redis publish and subscribe.
 *
 * @module
 */
import type { Hint, StoreHints } from '../../durable/task-store.js'
import type { Connection } from './client.js'

export function redisHints(connection: Connection, channel: string): StoreHints {
  return {
    async publish(hints) {
      if (hints.length === 0) return
      const pairs = hints.map(({ taskId, generation }) => [taskId, generation])
      await connection.command('publish', [channel, JSON.stringify(pairs)])
    },
    async listen(onHint, onGap, signal) {
      // What is on its way when a connection is closed still comes.
      let isListening = true
      const hear = (message: string): void => {
        for (const hint of toHints(message)) if (isListening) onHint(hint)
      }
      const gap = (): void => {
        if (isListening) onGap()
      }
      const stop = await connection.listen(channel, hear, gap, signal)
      return () => {
        isListening = false
        stop()
        return Promise.resolve()
      }
    },
  }
}

/** Anybody may publish anything there. */
function toHints(message: string): Hint[] {
  try {
    const list: unknown = JSON.parse(message)
    return Array.isArray(list) ? list.flatMap(toHint) : []
  } catch {
    return []
  }
}

function toHint(pair: unknown): Hint[] {
  // Whatever they are.
  const [taskId, generation] = (Array.isArray(pair) ? pair : []) as unknown[]
  return typeof taskId === 'string' && typeof generation === 'number' ? [{ taskId, generation }] : []
}
