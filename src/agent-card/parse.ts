/**
 * Agent cards of all versions, read as cards of A2A 1.0.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { AgentCardSchema, AgentInterfaceSchema, type AgentCard } from '../schemas/agent-card.js'
import { list, object } from '../schemas/scalars.js'
import type { SchemaOf } from '../schemas/schema.js'
import { validate } from '../wire/check.js'
import { normalize, type Spelling } from '../wire/normalize.js'
import { plain } from './plain.js'
import { CARD, LOCAL_CARD } from './spellings.js'

/** Every request goes through the whole of its URL, and more than once. Real ones are a tenth of that. */
const MAX_URL_LENGTH = 2048

const LocalCardSchema = object({ ...AgentCardSchema.shape, supportedInterfaces: list(AgentInterfaceSchema) })

/**
 * Reads a card of any version of A2A (1.0, both forms of 0.3, 0.2, and cards derived from these) and returns it as a card
 * of 1.0. Fields that 1.0 does not define are removed.
 *
 * Missing fields get defaults: texts are empty, the name of a skill is its id, its tags are `['general']`, and the modes
 * are text. Of several OAuth flows, the first in the order of A2A 1.0 §4.5.7 is used.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first invalid field, as in 1.0: `card.skills[0].id …`. Throws
 *   no other error, whatever the JSON.
 */
export function parseAgentCard(json: unknown): AgentCard {
  return read(json, CARD, AgentCardSchema)
}

/** As {@link parseAgentCard}. A card that does not say where the agent is has no interfaces. */
export function readAgentCard(json: unknown): AgentCard {
  return read(json, LOCAL_CARD, LocalCardSchema)
}

function read(json: unknown, spelling: Spelling, schema: SchemaOf<AgentCard>): AgentCard {
  const card = validate(schema, normalize(plain(json), spelling, 'card'), 'card')
  card.supportedInterfaces.forEach(({ url }, index) => {
    if (url.length <= MAX_URL_LENGTH) return
    throw invalidParams(
      `card.supportedInterfaces[${index}].url`,
      `must be at most ${MAX_URL_LENGTH} characters`,
    )
  })
  return card
}
