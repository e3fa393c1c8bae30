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

type Notify = (text: string, payloads: string) => Promise<unknown>

export function hintsOf(channel: string, notify: Notify, listener: Connection): StoreHints {
  // A hint that a crash of the database loses costs nothing, so this transaction does not wait for the disk.
  const text = notifying(channel, `, set_config('synchronous_commit', 'off', true)`)
  return {
    publish: (hints) => publish(hints, text, notify),
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

/** As {@link hintsOf}, in a transaction of the application: hints arrive when it commits. Nobody listens in it. */
export function joinedHints(channel: string, notify: Notify): StoreHints {
  const text = notifying(channel)
  return {
    publish: (hints) => publish(hints, text, notify),
    listen: () => Promise.resolve(() => Promise.resolve()),
  }
}

function notifying(channel: string, also = ''): string {
  return `SELECT pg_notify('${channel}', payload)::text${also} FROM unnest($1::text::text[]) AS payload`
}

async function publish(hints: readonly Hint[], text: string, notify: Notify): Promise<void> {
  const payloads = payloadsOf(hints)
  if (payloads.length > 0) await notify(text, toArray(payloads))
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
