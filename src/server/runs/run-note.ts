/**
 * What a lease says of the request that is worked on, for whoever has to do the work again.
 *
 * @module
 */
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { Queued } from './question.js'
import type { Principal } from '../caller.js'

/** A message, and what came with it. */
export interface RunNote {
  readonly messageId?: string
  /** How many messages there were before it, where it may not have joined them. */
  readonly after?: number
  readonly metadata?: JsonObject
  readonly acceptedOutputModes?: readonly string[]
  readonly extensions?: readonly string[]
  readonly tenant?: string
  /** The principal's id. */
  readonly principal?: string
}

export function toNote<P extends Principal>({ request, caller }: Queued<P>, after?: number): JsonValue {
  const { message, metadata, acceptedOutputModes, tenant } = request
  const { extensions, principal } = caller
  return {
    messageId: message.messageId,
    ...(after !== undefined && { after }),
    ...(metadata && { metadata }),
    acceptedOutputModes: [...acceptedOutputModes],
    extensions: [...extensions],
    ...(tenant !== undefined && { tenant }),
    ...(principal && { principal: principal.id }),
  }
}

export function fromNote(note: JsonValue | undefined): RunNote {
  const isNote = typeof note === 'object' && note !== null && !Array.isArray(note)
  // Leases have no other notes than those that `toNote` makes.
  return isNote ? note : {}
}
