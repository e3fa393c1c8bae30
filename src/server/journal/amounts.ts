/**
 * Checks of amounts, each in the unit of its name.
 *
 * @module
 */
import { MAX_UNITS, type Amounts } from '../../core/spending.js'
import { describe } from '../../runtime/describe.js'
import { requireObject } from '../../runtime/options.js'

const UNIT = /^[a-z][\w.-]{0,63}$/i

/**
 * Amounts that an option or a callback gives.
 *
 * @throws {TypeError | RangeError} naming the amount.
 */
export function toAmounts(option: string, given: unknown): Amounts {
  requireObject(option, given, '{ cost: 0.5, outputTokens: 20_000 }')
  const amounts = Object.entries(given).filter(([, amount]) => amount !== undefined)
  if (amounts.length > MAX_UNITS)
    throw new RangeError(`"${option}" must have at most ${MAX_UNITS} units, got ${amounts.length}`)
  return Object.fromEntries(amounts.map(([unit, amount]) => [unit, requireAmount(unit, amount, option)]))
}

export function requireAmount(unit: string, amount: unknown, option?: string): number {
  const name = option === undefined ? unit : `${option}.${unit}`
  if (!UNIT.test(unit))
    throw new RangeError(
      `The name of a unit must begin with a letter and have at most 64 letters, digits, "_", "-" and ".", got ${describe(unit)}`,
    )
  if (typeof amount !== 'number') throw new TypeError(`"${name}" must be a number, got ${describe(amount)}`)
  if (amount >= 0 && amount < Infinity) return amount
  throw new RangeError(`"${name}" must be a number of 0 or more, got ${amount}`)
}
