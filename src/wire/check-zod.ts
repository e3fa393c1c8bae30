/**
 * Validation of JSON by a schema of zod, for dialects that users write.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { invalidParams } from '../core/errors.js'
import { reasonOf } from '../schemas/texts.js'
import { hasDefaults, withoutDefaults } from './check.js'
import { pathText } from './normalize.js'

/** Error texts of schemas without their own. They take precedence over a locale that the process has set. */
const TEXTS = { error: reasonOf }

/**
 * Returns `value` as `schema` defines it, without unknown fields.
 *
 * As in ProtoJSON, a property that is `null` and an id that is empty count as absent, except within free JSON.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first fault, after `root`: `message.parts[0].text …`.
 */
export function check<T>(schema: z.ZodMiniType<T>, value: unknown, root = ''): T {
  const first = schema.safeParse(value)
  if (first.success) return first.data
  const second = schema.safeParse(hasDefaults(value) ? withoutDefaults(value) : value, TEXTS)
  if (second.success) return second.data
  const { path = [], message = 'is invalid' } = second.error.issues[0] ?? {}
  throw invalidParams(pathText(path, root), message)
}
