/**
 * Differences between requests, which are checked strictly, and answers of other agents, which are read leniently.
 *
 * @module
 */
import * as z from 'zod/mini'
import { nonEmptyString, string, timestamp } from './scalars.js'

type Text = z.ZodMiniType<string, string>

/** The schemas that a definition leaves open. */
export interface Rules {
  /** Texts that say something: names, URLs, ids of other tasks. */
  readonly text: Text
  /** What is wrong with an empty list of parts; `undefined` where that is allowed. */
  readonly whenNoParts: string | undefined
  readonly timestamp: Text
  readonly base64: Text
}

const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/

/** ProtoJSON takes either alphabet, with padding or without. */
function isBase64(text: string): boolean {
  const digitsOver = text.length % 4
  return (
    (text.endsWith('=') ? digitsOver === 0 : digitsOver !== 1) && (STANDARD.test(text) || URL_SAFE.test(text))
  )
}

export const base64 = string.check(z.refine(isBase64, 'must be base64'))

export const STRICT: Rules = {
  text: nonEmptyString,
  whenNoParts: 'must have at least one part',
  timestamp,
  base64,
}

const EITHER_ALPHABET = /^[A-Za-z0-9+/_-]*={0,2}$/

/** What is meant is clear, so the agent's work is not thrown away. */
export const LENIENT: Rules = {
  text: string,
  whenNoParts: undefined,
  timestamp: string,
  base64: string.check(z.refine((text) => EITHER_ALPHABET.test(text), 'must be base64')),
}
