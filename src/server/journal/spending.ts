/**
 * Amounts that code spends, as entries of the journal.
 *
 * @module
 */
import type { Spent } from '../../core/spending.js'
import { describe } from '../../runtime/describe.js'
import { requireObject } from '../../runtime/options.js'
import { requireAmount } from './amounts.js'
import type { SpentAmounts } from './call-types.js'
import type { Journal } from './journal.js'
import type { TurnPort } from './turn-port.js'

const MAX_MODEL = 200

/**
 * Records what code has spent, unless the journal has it. What is beyond the budget is recorded, too.
 *
 * @param step - The name of the step whose work calls. A replay does not call it again: its entries have no place in the order.
 */
export function recordSpending(
  { signal, budget }: Pick<TurnPort, 'signal' | 'budget'>,
  journal: Journal,
  given: SpentAmounts,
  step: string | undefined,
): void {
  const spent = toSpent(given)
  const name = step === undefined ? journal.nameOf('spend', 'spend') : ''
  const isRecorded = step === undefined && journal.pass('spend', name) !== undefined
  if (isRecorded || spent === undefined) return
  signal().throwIfAborted()
  journal.record({ kind: 'spend', ...(step === undefined ? { name } : { step }), ...spent })
  budget()?.spent(spent.units)
  signal().throwIfAborted()
}

/** @throws {TypeError | RangeError} naming the amount. */
function toSpent(given: SpentAmounts): Spent | undefined {
  requireObject('spent', given, '{ inputTokens: 120, cost: 0.02 }')
  const { model, ...amounts } = given
  if (model !== undefined) requireModel(model)
  const units = Object.entries(amounts).flatMap(([unit, amount]) =>
    amount === undefined ? [] : [[unit, requireAmount(unit, amount)] as const],
  )
  return units.length === 0
    ? undefined
    : { units: Object.fromEntries(units), ...(model !== undefined && { model }) }
}

function requireModel(model: unknown): void {
  if (typeof model !== 'string') throw new TypeError(`"model" must be a string, got ${describe(model)}`)
  if (model === '' || model === '__proto__' || model.length > MAX_MODEL)
    throw new RangeError(`"model" must be a name of 1 to ${MAX_MODEL} characters, got ${describe(model)}`)
}
