/**
 * Positions in the streams of calls (2025-11-25): each event has one as its id, by which any process goes on with the stream.
 *
 * Nothing is kept for it. A position names the task, and what its client has been told of it: what has come since is read from the
 * task, whose owner is checked as for every request.
 *
 * @module
 */
import { recordOf } from '../runtime/unread.js'
import { Refusal } from './refusal.js'
import { isId, type RequestId } from './request-id.js'

/** What the client of a call has been told. */
export interface Told {
  /** The last amount of progress, which has to increase. Absent for none. */
  progress?: number | undefined
  /** The id of the message whose questions it has. Absent for none. */
  asked?: string | undefined
  /** How many messages have asked so far. */
  rounds: number
}

export interface Position {
  /** Of the call. */
  readonly id: RequestId
  readonly taskId: string
  readonly progressToken?: RequestId | undefined
  /** Whether the client waits for the result of a task. */
  readonly isRelated: boolean
  readonly told: Told
}

/**
 * The id of the last event of a stream. Official clients ask for the rest of a stream that has ended with an error, again and again:
 * there is none.
 */
export const LAST_EVENT = 'end'

/** The most characters of the id of an event. */
const MAX_EVENT_ID = 4_096

/** The id of an event; `undefined` where ids of the agent make it too long: the client cannot go on from there. */
export function eventIdOf(position: Position): string | undefined {
  const eventId = encodeURIComponent(JSON.stringify(position))
  return eventId.length > MAX_EVENT_ID ? undefined : eventId
}

/** @throws {Refusal} for an id that is of no event. */
export function positionIn(eventId: string): Position {
  const { id, taskId, progressToken, isRelated, told } = recordOf(parse(eventId)) ?? {}
  const { progress, asked, rounds } = recordOf(told) ?? {}
  if (!isId(id) || typeof taskId !== 'string' || !Number.isSafeInteger(rounds))
    throw new Refusal('request', 'Last-Event-ID must be the id of an event of this server', { status: 400 })
  return {
    ...{ id, taskId, isRelated: isRelated === true },
    ...(isId(progressToken) && { progressToken }),
    told: {
      rounds: Number(rounds),
      ...(typeof progress === 'number' && { progress }),
      ...(typeof asked === 'string' && { asked }),
    },
  }
}

function parse(eventId: string): unknown {
  if (eventId.length > MAX_EVENT_ID) return undefined
  try {
    return JSON.parse(decodeURIComponent(eventId))
  } catch {
    return undefined
  }
}
