/**
 * A result of a task.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { JsonObjectSchema } from './json.js'
import { PartSchema } from './part.js'
import { list, nonEmptyString, object, optional, string, strings } from './scalars.js'

/** A2A 1.0 §4.1.7. */
export const ArtifactSchema = object({
  artifactId: nonEmptyString,
  name: optional(string),
  description: optional(string),
  parts: list(PartSchema, 'must have at least one part'),
  metadata: optional(JsonObjectSchema),
  extensions: optional(strings),
})
export type Artifact = z.infer<typeof ArtifactSchema>
