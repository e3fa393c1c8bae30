/**
 * Options that are what they should be: in what decides whose word is taken, a slip must not go unheard.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { isRecord } from './plain.js'

/** What the value of an option must be, and whether one is. */
export interface Rule {
  readonly wanted: string
  readonly isMet: (value: unknown) => boolean
}

/** One for each option that there is. */
export type Rules<T> = { readonly [K in keyof T]-?: Rule }

export const TEXT: Rule = { wanted: 'a text', isMet: (value) => typeof value === 'string' }
export const FLAG: Rule = { wanted: 'a boolean', isMet: (value) => typeof value === 'boolean' }
export const FUNCTION: Rule = { wanted: 'a function', isMet: (value) => typeof value === 'function' }
export const TEXTS: Rule = {
  wanted: 'a list of texts',
  isMet: (value) => Array.isArray(value) && value.every(TEXT.isMet),
}
/** Timers take 31 bits. */
export const DELAY: Rule = {
  wanted: 'a number of ms from 1 to 2147483647',
  isMet: (value) => typeof value === 'number' && value >= 1 && value <= 2_147_483_647,
}

/**
 * @throws {TypeError} naming the options that there are, where one of `options` is none.
 * @throws {A2AError} `INVALID_PARAMS` with the path of one that is something else than its rule wants.
 */
export function requireOptions<T extends object>(options: T, rules: Rules<T>, where: string): void {
  if (!isRecord(options)) throw invalidParams('options', 'must be an object')
  const known = new Map<string, Rule>(Object.entries(rules))
  for (const [name, value] of Object.entries(options)) {
    const rule = known.get(name)
    if (rule === undefined) {
      throw new TypeError(`Unknown option "${name}" of ${where}; known are ${[...known.keys()].join(', ')}`)
    }
    if (value !== undefined && !rule.isMet(value)) {
      throw invalidParams(`options.${name}`, `must be ${rule.wanted}`)
    }
  }
}
