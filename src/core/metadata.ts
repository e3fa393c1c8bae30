/**
 * Changes of a task's metadata: keys with their new values.
 *
 * @module
 */
import { invalidParams } from './errors.js'
import { jsonSize, tooLarge, type SizeLimit } from './json.js'
import type { JsonObject, ReadonlyJson } from './json-types.js'

/** Keys that begin with this belong to the library, which keeps data of its extensions under them. */
const OWN_KEYS = 'https://a2a-tasks.dev/extensions/'

type Metadata = { readonly [key: string]: ReadonlyJson }

/** `metadata` with `changes`: each key has its new value, and one whose new value is `null` is removed. */
export function mergedMetadata(metadata: Metadata, changes: Metadata): Metadata {
  const merged = new Map(Object.entries(metadata))
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) merged.delete(key)
    else merged.set(key, value)
  }
  return Object.fromEntries(merged)
}

/** @throws {A2AError} `INVALID_PARAMS` when a key is one of the library. */
export function refuseOwnKeys(metadata: JsonObject | undefined): void {
  const own = Object.keys(metadata ?? {}).find(isOwn)
  if (own !== undefined) throw invalidParams('metadata', `must not have ${own}, which the library writes`)
}

/**
 * Requires that input and metadata are together as small as those of a new task. What the library keeps in the metadata has
 * limits of its own.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED`.
 */
export function requireSmallMetadata(
  { input, metadata }: { readonly input: ReadonlyJson; readonly metadata: Metadata },
  changes: Metadata,
  limit: SizeLimit,
): void {
  if (Object.keys(changes).every(isOwn)) return
  const size = jsonSize(input) + jsonSize(withoutOwnKeys(mergedMetadata(metadata, changes)))
  if (size > limit.maxBytes) throw tooLarge(limit, size)
}

/** The metadata that the library does not write. */
function withoutOwnKeys(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !isOwn(key)))
}

function isOwn(key: string): boolean {
  return key.startsWith(OWN_KEYS)
}
