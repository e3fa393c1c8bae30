/**
 * Hints by LISTEN and NOTIFY.
 *
 * @module
 */
import { toHints } from '../../durable/hint-text.js'
import type { Hint, StoreHints } from '../../durable/task-store.js'
import type { Connection } from './statements.js'
import { toArray } from './text.js'

/** In bytes. PostgreSQL accepts payloads of less than 8,000. */
const MAX_PAYLOAD_BYTES = 7_900

export function hintsOf(
  channel: string,
  notify: (text: string, payloads: string) => Promise<unknown>,
  listener: Connection,
): StoreHints {
  // A hint that a crash of the database loses costs nothing, so this transaction does not wait for the disk.
  const text = `SELECT pg_notify('${channel}', payload)::text, set_config('synchronous_commit', 'off', true)
    FROM unnest($1::text::text[]) AS payload`
  return {
    async publish(hints) {
      const payloads = payloadsOf(hints)
      if (payloads.length > 0) await notify(text, toArray(payloads))
    },
    async listen(onHint, onGap, signal) {
      const onPayload = (payload: string): void => {
        for (const hint of toHints(payload)) onHint(hint)
      }
      const stop = await listener.listen(channel, onPayload, onGap, signal)
      return async () => {
        await stop()
      }
    },
  }
}

/** Encodes lists of `[task id, generation]` as JSON in ASCII. Even the longest id fits into one payload. */
function payloadsOf(hints: readonly Hint[]): string[] {
  const payloads: string[] = []
  let list = ''
  for (const { taskId, generation } of hints) {
    const text = JSON.stringify([taskId, generation]).replace(/[^ -~]/g, escape)
    if (list !== '' && list.length + text.length + 3 > MAX_PAYLOAD_BYTES) {
      payloads.push(`[${list}]`)
      list = ''
    }
    list += list === '' ? text : `,${text}`
  }
  if (list !== '') payloads.push(`[${list}]`)
  return payloads
}

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
