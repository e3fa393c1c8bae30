/**
 * Hybrid cards for clients of several protocol versions.
 *
 * @module
 */
import type { AgentCard } from '../schemas/agent-card.js'
import type { JsonObject, JsonValue } from '../schemas/json.js'
import { toV03Card } from '../wire/v0-3/card.js'

/** Encodes a card for its protocol version. The dialects of `a2a-tasks/wire` implement it. */
export interface CardEncoder {
  encodeCard(card: AgentCard): JsonObject
}

const BOTH: readonly CardEncoder[] = [
  // The card is JSON already; its type is narrower.
  { encodeCard: (card) => ({ ...card }) },
  { encodeCard: toV03Card },
]

/**
 * Returns a card that clients of several versions can read, for old clients that do not state their version. When two
 * versions use one name for different values, the first encoder wins. Default is 1.0, then 0.3.
 */
export function toHybridCard(card: AgentCard, encoders: readonly CardEncoder[] = BOTH): JsonObject {
  const [first, ...others] = encoders.map((encoder) => encoder.encodeCard(card))
  return others.reduce(merge, first ?? {})
}

function merge(preferred: JsonObject, other: JsonObject): JsonObject {
  const merged: JsonObject = { ...other, ...preferred }
  for (const [key, value] of Object.entries(other)) merged[key] = mergeValues(preferred[key], value)
  return merged
}

function mergeValues(preferred: JsonValue | undefined, other: JsonValue): JsonValue {
  if (preferred === undefined) return other
  if (Array.isArray(preferred)) {
    const isAlike = Array.isArray(other) && other.length === preferred.length
    return isAlike ? preferred.map((value, index) => mergeValues(value, other[index] ?? value)) : preferred
  }
  const areObjects = typeof preferred === 'object' && typeof other === 'object'
  return areObjects && preferred !== null && other !== null && !Array.isArray(other)
    ? merge(preferred, other)
    : preferred
}
