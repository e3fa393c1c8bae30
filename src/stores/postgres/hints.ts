/**
 * Where to look, told by NOTIFY.
 *
 * @module
 */
import type { StoreHints } from '../../durable/index.js'
import type { Connection } from './connection.js'
import { toArray } from './text.js'

/** PostgreSQL takes payloads of less than 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_900

export function hintsOf(channel: string, publisher: Connection, listener: Connection): StoreHints {
  return {
    async publish(taskIds) {
      const payloads = payloadsOf(taskIds)
      if (payloads.length === 0) return
      const text = `SELECT pg_notify('${channel}', payload)::text FROM unnest($1::text::text[]) AS payload`
      await publisher.rows(text, [toArray(payloads)])
    },
    listen: (onHint, onGap) =>
      listener.listen(
        channel,
        (payload) => {
          for (const taskId of idsOf(payload)) onHint(taskId)
        },
        onGap,
      ),
  }
}

/** Lists of ids as JSON, in ASCII. The longest id takes less than one payload. */
function payloadsOf(taskIds: readonly string[]): string[] {
  const payloads: string[] = []
  let list = ''
  for (const taskId of taskIds) {
    const text = JSON.stringify(taskId).replace(/[^ -~]/g, escape)
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

/** Anybody may notify: what is no list of ids is none of ours. */
function idsOf(payload: string): string[] {
  try {
    const ids: unknown = JSON.parse(payload)
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}
