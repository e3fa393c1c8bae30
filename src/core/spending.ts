/**
 * The amounts that a task has spent, in units, in all and by model, in the metadata of the task.
 *
 * @module
 */
import { recordOf } from '../runtime/unread.js'
import { A2AError } from './errors.js'
import type { JsonObject } from './json-types.js'

/** The extension, and its key in `task.metadata`. */
export const SPENDING = 'https://a2a-tasks.dev/extensions/spending/v1'

/** Amounts, each in the unit of its name. */
export type Amounts = { readonly [unit: string]: number }

/** What a task has spent. */
export interface Spending {
  /** All amounts. */
  readonly total: Amounts
  /** The amounts that were spent with the name of a model, by its name. */
  readonly models: { readonly [model: string]: Amounts }
  /**
   * What the tasks of other agents have spent that the task has delegated to, in the units of its budget. It counts towards the
   * budget, and is not in `total`. Absent for nothing.
   */
  readonly delegated?: Amounts
  /** What `onBudget` has added to the budget of the task. Absent for nothing. */
  readonly granted?: Amounts
}

/** What code has spent at once. */
export interface Spent {
  readonly units: Amounts
  readonly model?: string | undefined
}

/** An entry of the journal that changes what a task has spent, or may spend. */
export type SpendingEntry =
  | ({ readonly kind: 'spend' } & Spent)
  | { readonly kind: 'delegated'; readonly spent: Amounts }
  | { readonly kind: 'grant'; readonly units: Amounts }

/** The most units of a task and of a budget, and the most models. */
export const MAX_UNITS = 16
const MAX_MODELS = 32

const NOTHING: Spending = { total: {}, models: {} }

/**
 * Reads what a task has spent, so far, from its metadata: of any task, that of an agent's response included.
 *
 * @returns `undefined` for a task whose agent does not tell, or tells it in another form.
 * @example
 * const result = await client.run('Summarize this')
 * console.log('task' in result && spendingOf(result.task)?.total.cost)
 */
export function spendingOf(
  task: { readonly metadata?: object | undefined } | undefined,
): Spending | undefined {
  const found = recordOf(recordOf(task?.metadata)?.[SPENDING])
  const total = amountsOf(found?.['total'])
  if (total === undefined) return undefined
  const models = Object.entries(recordOf(found?.['models']) ?? {}).flatMap(([model, given]) => {
    const amounts = amountsOf(given)
    return amounts === undefined ? [] : [[model, amounts] as const]
  })
  const [delegated, granted] = [amountsOf(found?.['delegated']), amountsOf(found?.['granted'])]
  return {
    ...{ total, models: Object.fromEntries(models) },
    ...(delegated !== undefined && { delegated }),
    ...(granted !== undefined && { granted }),
  }
}

/** What a task has spent with the tasks that it has delegated to. */
export function allSpent({ total, delegated = {} }: Spending = NOTHING): Amounts {
  return added(total, delegated)
}

export function isSpending<E extends { readonly kind: string }>(entry: E): entry is E & SpendingEntry {
  return entry.kind === 'spend' || entry.kind === 'grant' || (entry.kind === 'delegated' && 'spent' in entry)
}

/**
 * The change of the task's metadata after these entries.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED` for too many units or models.
 */
export function changeAfter(
  task: { readonly metadata: object },
  entries: readonly SpendingEntry[],
): JsonObject {
  const after = entries.reduce(plus, spendingOf(task) ?? NOTHING)
  const { total, models, delegated, granted } = after
  requireAtMost('Units of the spending', MAX_UNITS, Object.keys(total).length)
  requireAtMost('Models of the spending', MAX_MODELS, Object.keys(models).length)
  const changed = {
    total,
    ...(Object.keys(models).length > 0 && { models }),
    ...(delegated !== undefined && { delegated }),
    ...(granted !== undefined && { granted }),
  }
  // Amounts are JSON.
  return { [SPENDING]: changed }
}

function plus(before: Spending, entry: SpendingEntry): Spending {
  const { total, models, delegated = {}, granted = {} } = before
  if (entry.kind === 'delegated') return { ...before, delegated: added(delegated, entry.spent) }
  const { units } = entry
  if (entry.kind === 'grant') return { ...before, granted: added(granted, units) }
  const sum = added(total, units)
  const { model } = entry
  if (model === undefined) return { ...before, total: sum }
  const known = Object.hasOwn(models, model) ? models[model] : {}
  return { ...before, total: sum, models: { ...models, [model]: added(known ?? {}, units) } }
}

/** The sum of amounts, unit by unit: at most the largest number, because JSON has no infinity. */
export function added(amounts: Amounts, others: Amounts): Amounts {
  const sum = new Map(Object.entries(amounts))
  for (const [unit, amount] of Object.entries(others))
    sum.set(unit, Math.min(exact((sum.get(unit) ?? 0) + amount), Number.MAX_VALUE))
  return Object.fromEntries(sum)
}

/** Without the last digits, which fractions of ten do not have: 0.1 + 0.2 is 0.3. */
function exact(amount: number): number {
  return Number.isInteger(amount) ? amount : Number(amount.toPrecision(15))
}

/** `undefined` for what is not an object of amounts. */
export function amountsOf(value: unknown): Amounts | undefined {
  const amounts = recordOf(value)
  if (amounts === undefined) return undefined
  const isAmount = (amount: unknown): boolean =>
    typeof amount === 'number' && amount >= 0 && amount < Infinity
  return Object.values(amounts).every(isAmount) ? (amounts as Amounts) : undefined
}

function requireAtMost(subject: string, max: number, actual: number): void {
  if (actual <= max) return
  const text = `${subject} (${actual}) exceed what a task keeps (${max})`
  throw new A2AError('LIMIT_EXCEEDED', text, { limit: 'spending', max, actual })
}
