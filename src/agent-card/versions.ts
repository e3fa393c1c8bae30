/**
 * A card for the clients of more than one version.
 *
 * @module
 */
import type { AgentCard } from '../schemas/agent-card.js'
import type { JsonObject, JsonValue } from '../schemas/json.js'
import { toV03Card } from '../wire/v0-3/card.js'

/** What makes of a card the card of its version: a dialect of `a2a-tasks/wire` does. */
export interface CardEncoder {
  encodeCard(card: AgentCard): JsonObject
}

const BOTH: readonly CardEncoder[] = [
  // It is JSON already, under a type that says more.
  { encodeCard: (card) => ({ ...card }) },
  { encodeCard: toV03Card },
]

/**
 * A card that the clients of several versions read, each what it knows: old clients do not say which version they want.
 * Where two versions have something else to say under one name, the one whose encoder comes first speaks. Default is
 * 1.0, then 0.3.
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
