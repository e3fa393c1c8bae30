/**
 * Message: one turn of a conversation.
 *
 * @module
 */
import { JsonObjectSchema } from './json.js'
import { PartSchema } from './part.js'
import { STRICT, type Rules } from './rules.js'
import { list, nonEmptyString, object, oneOf, optional, strings } from './scalars.js'
import type { Infer } from './schema.js'

/** A2A 1.0 §4.1.5, without `ROLE_UNSPECIFIED`, which means that the role is missing. */
export const RoleSchema = oneOf(['ROLE_USER', 'ROLE_AGENT'])
export type Role = Infer<typeof RoleSchema>

export function defineMessage(part: typeof PartSchema, { text, whenNoParts }: Rules) {
  return object({
    messageId: nonEmptyString,
    role: RoleSchema,
    parts: list(part, whenNoParts),
    contextId: optional(nonEmptyString),
    taskId: optional(nonEmptyString),
    metadata: optional(JsonObjectSchema),
    extensions: optional(strings),
    referenceTaskIds: optional(list(text)),
  })
}

/** A2A 1.0 §4.1.4. */
export const MessageSchema = defineMessage(PartSchema, STRICT)
export type Message = Infer<typeof MessageSchema>
