/**
 * A result of a task.
 *
 * @module
 */
import * as z from 'zod'
import { JsonObjectSchema } from './json.js'
import { PartSchema } from './part.js'
import { list, nonEmptyString, optional, strings } from './scalars.js'

/** A2A 1.0 §4.1.7. */
export const ArtifactSchema = z.object({
  artifactId: nonEmptyString,
  name: optional(z.string()),
  description: optional(z.string()),
  parts: list(PartSchema, 'must have at least one part'),
  metadata: optional(JsonObjectSchema),
  extensions: optional(strings),
})
export type Artifact = z.infer<typeof ArtifactSchema>
