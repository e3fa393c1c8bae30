/**
 * Differences between the strict schemas of requests and the lenient schemas of agents' responses.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { hasBase64Digits } from '../runtime/base64.js'
import { nonEmptyString, refine, string } from './scalars.js'
import type { Schema } from './schema.js'

/** The schemas that a definition leaves open. */
export interface Rules {
  /** File names, media types, URLs of parts, and ids of referenced tasks. */
  readonly text: Schema<z.ZodMiniType<string, string>>
  /** The error text for an empty list of parts. `undefined` allows one. */
  readonly whenNoParts: string | undefined
  readonly base64: Schema<z.ZodMiniType<string, string>>
}

const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/

/** ProtoJSON accepts either alphabet, with padding or without. */
export function isBase64(text: string): boolean {
  const digitsOver = text.length % 4
  return (
    (text.endsWith('=') ? digitsOver === 0 : digitsOver !== 1) && (STANDARD.test(text) || URL_SAFE.test(text))
  )
}

const base64 = refine(string, isBase64, 'must be base64')

export const STRICT: Rules = {
  text: nonEmptyString,
  whenNoParts: 'must have at least one part',
  base64,
}

/** Rules for responses: a result with a clear meaning is accepted although its form is invalid. */
export const LENIENT: Rules = {
  text: string,
  whenNoParts: undefined,
  base64: refine(string, hasBase64Digits, 'must be base64'),
}
