/**
 * Types of the options for signing and verifying, and their checks.
 *
 * @module
 */
import { MAX_DELAY_MS } from '../runtime/clock.js'
import { requireKnown } from '../runtime/options.js'
import { describe, quote } from '../runtime/describe.js'

/** The required type of an option, in words and as a predicate. */
export interface Rule {
  readonly wanted: string
  readonly isMet: (value: unknown) => boolean
}

/** A rule for every option. */
export type Rules<T> = { readonly [K in keyof T]-?: Rule }

export const TEXT: Rule = { wanted: 'a text', isMet: (value) => typeof value === 'string' }
export const FLAG: Rule = { wanted: 'a boolean', isMet: (value) => typeof value === 'boolean' }
export const FUNCTION: Rule = { wanted: 'a function', isMet: (value) => typeof value === 'function' }
export const TEXTS: Rule = {
  wanted: 'a list of texts',
  isMet: (value) => Array.isArray(value) && value.every(TEXT.isMet),
}
export const DELAY: Rule = {
  wanted: `from 1 to ${MAX_DELAY_MS} ms`,
  isMet: (value) => typeof value === 'number' && value >= 1 && value <= MAX_DELAY_MS,
}

/** @throws {TypeError | RangeError} for an unknown option, and for one that breaks its rule. */
export function requireOptions<T extends object>(options: T, rules: Rules<T>, where: string): void {
  requireKnown(options, Object.keys(rules), where)
  for (const [name, { wanted, isMet }] of Object.entries<Rule>(rules)) {
    const value: unknown = Reflect.get(options, name)
    if (value === undefined || isMet(value)) continue
    // A text may be a key, so texts are not quoted.
    const got = typeof value === 'number' ? quote(value) : describe(value)
    const Misuse = typeof value === 'number' && isMet(1) ? RangeError : TypeError
    throw new Misuse(`"${name}" must be ${wanted}, got ${got}`)
  }
}
