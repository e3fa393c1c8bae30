/**
 * Version and extension negotiation.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { MaybePromise } from '../core/managers.js'
import type { JsonObject } from '../core/json-types.js'
import type { AgentCard } from '../schemas/agent-card.js'
import type { Dialect } from '../wire/dialect.js'
import { hintForVersion } from './unserved.js'

/** The dialects, the preferred one first. */
export type Dialects = readonly [Dialect, ...Dialect[]]

/**
 * The dialects that a request may be in: that of the version it names, or all if it names none. Patch versions are ignored
 * (A2A 1.0 §3.6).
 *
 * @throws {A2AError} `VERSION_NOT_SUPPORTED`.
 */
export function dialectsFor(dialects: Dialects, version: string | null | undefined): Dialects {
  const asked = version?.trim()
  if (!asked) return dialects
  const dialect = find(dialects, asked)
  if (dialect !== undefined) return [dialect]
  const supported = dialects.map((each) => each.version)
  throw new A2AError(
    'VERSION_NOT_SUPPORTED',
    `Version ${asked.slice(0, 20)} is not supported; supported are ${supported.join(', ')}${hintForVersion(dialects, asked)}`,
    { version: asked.slice(0, 20), supported },
  )
}

/** Whether {@link dialectsFor} finds the version. */
export function isSpoken(dialects: Dialects, version: string | null): boolean {
  const asked = version?.trim()
  return !asked || find(dialects, asked) !== undefined
}

function find(dialects: Dialects, version: string): Dialect | undefined {
  const exact = dialects.find((each) => each.version === version)
  if (exact !== undefined) return exact
  const [, majorMinor = version] = /^(\d+\.\d+)(?:\.\d+)?$/.exec(version) ?? []
  return dialects.find((each) => each.version === majorMinor)
}

/**
 * Chooses between dialects that all have the method or route of a request without a version: the dialect that recognizes
 * the parameters, otherwise the one in which the task was created, otherwise the preferred one.
 */
export function chooseDialect(
  candidates: Dialects,
  params: unknown,
  dialectOf: (taskId: string) => Promise<Dialect | undefined> | undefined,
): MaybePromise<Dialect> {
  const [first] = candidates
  if (candidates.length === 1 || !isObject(params)) return first
  // A dialect that was derived from another one comes after it, and recognizes its own requests better.
  const recognized = candidates.filter((dialect) => dialect.recognizes?.(params) ?? false).at(-1)
  if (recognized !== undefined) return recognized
  const { id } = params
  const origin = typeof id === 'string' ? dialectOf(id) : undefined
  return origin?.then((found) => candidates.find((dialect) => dialect === found) ?? first) ?? first
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `dialects` as a non-empty list; `undefined` if it is empty. */
export function nonEmpty(dialects: readonly Dialect[]): Dialects | undefined {
  const [first, ...others] = dialects
  return first === undefined ? undefined : [first, ...others]
}

/** The extensions in the client's header that the card lists, too (A2A 1.0 §3.2.6). */
export function knownExtensions({ capabilities }: AgentCard, header: string | null): readonly string[] {
  if (!header) return []
  const asked = new Set(header.split(',').map((uri) => uri.trim()))
  return (capabilities.extensions ?? []).flatMap(({ uri }) =>
    uri !== undefined && asked.has(uri) ? [uri] : [],
  )
}
