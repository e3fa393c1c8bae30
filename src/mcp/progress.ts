/**
 * Progress of an agent, as notifications for the client of a call, and as the status of a task.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import type { Message } from '../core/task.js'
import { elapsed, type Clock } from '../runtime/clock.js'
import { recordOf } from '../runtime/unread.js'
import type { RunUpdate } from '../client/run/run-types.js'
import { textOf } from '../wire/text.js'
import type { Told } from './positions.js'
import type { Call } from './protocol.js'

/** The most characters of a status message. */
const MAX_STATUS = 4_096
/** The least time between two notifications that say only that there is some progress, in ms. */
const PROGRESS_MS = 1_000
/** What progress grows by where the agent says no amount, or none that is larger. */
const STEP = 0.001

interface Amount {
  readonly current: number
  readonly total?: number
}

/** The amount that `run.update` has reported by this message. */
export function amountIn({ metadata }: Pick<Message, 'metadata'>): Amount | undefined {
  const { current, total } = recordOf(metadata?.['progress']) ?? {}
  if (typeof current !== 'number') return undefined
  return { current, ...(typeof total === 'number' && { total }) }
}

/** The text of a status, with its amount. */
export function statusOf(message: Message): string {
  const text = textOf(message).slice(0, MAX_STATUS)
  const { current, total } = amountIn(message) ?? {}
  if (current === undefined) return text
  const amount = total === undefined ? `${current}` : `${current} of ${total}`
  return text === amount ? text : `${text} (${amount})`
}

/** Notifications of progress: what the agent says, and now and then that it makes something. Progress always increases: `told` has the last. */
export function progress(
  { progressToken }: Call,
  told: Told,
  clock: Clock,
  write: (message: JsonObject) => void,
): (update: RunUpdate) => void {
  if (progressToken === undefined) return () => undefined
  let total: number | undefined
  let lastAt = elapsed(clock)
  return ({ event }) => {
    const said = event.type === 'status' && event.state === 'working' ? event.message : undefined
    const text = said === undefined ? '' : textOf(said).slice(0, MAX_STATUS)
    const isMade = event.type === 'artifact' && elapsed(clock) - lastAt >= PROGRESS_MS
    if (text === '' && !isMade) return
    const amount = said && amountIn(said)
    if (amount !== undefined) total = amount.total
    const { progress: last = -Infinity } = told
    const next = nextAfter(last, amount?.current)
    // Beyond what numbers can tell apart.
    if (!(next > last)) return
    told.progress = next
    lastAt = elapsed(clock)
    const params = {
      ...{ progressToken, progress: next },
      ...(total !== undefined && { total }),
      ...(text !== '' && { message: text }),
    }
    write({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }
}

/** The amount, or a little more than the last one, where there is none that is larger. */
function nextAfter(last: number, current = -Infinity): number {
  return current > last ? current : Math.round(1_000 * (Math.max(last, 0) + STEP)) / 1_000
}
