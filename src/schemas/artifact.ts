/**
 * Artifact: a result of a task.
 *
 * @module
 */
import { JsonObjectSchema } from './json.js'
import { PartSchema } from './part.js'
import { STRICT, type Rules } from './rules.js'
import { list, nonEmptyString, object, optional, string, strings } from './scalars.js'
import type { Infer } from './schema.js'

export function defineArtifact(part: typeof PartSchema, { whenNoParts }: Rules) {
  return object({
    artifactId: nonEmptyString,
    name: optional(string),
    description: optional(string),
    parts: list(part, whenNoParts),
    metadata: optional(JsonObjectSchema),
    extensions: optional(strings),
  })
}

/** A2A 1.0 §4.1.7. */
export const ArtifactSchema = defineArtifact(PartSchema, STRICT)
export type Artifact = Infer<typeof ArtifactSchema>
