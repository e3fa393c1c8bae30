/**
 * The budget of a run's task: checked after each spending, and before the code begins something that may spend more.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JournalEntry } from '../../core/events.js'
import { added, allSpent, spendingOf, type Amounts, type Spending } from '../../core/spending.js'
import type { TaskSnapshot } from '../../core/task.js'
import { toAmounts } from '../journal/amounts.js'
import { windowSpent, type OwnedWindow, type WindowLimit } from './budget-windows.js'

/** What the option `onBudget` of a handler receives. */
export interface BudgetExceeded {
  readonly task: TaskSnapshot
  /** The option of the budget: `limits.budget`, `limits.ownerBudget` or `limits.agentBudget`. */
  readonly limit: string
  /** The unit of which more has been spent than the budget has. */
  readonly unit: string
  /** The budget in this unit, with what was added before. */
  readonly max: number
  /** With what the tasks have spent that the task has delegated to. For a budget over a window: what all its tasks have spent in it. */
  readonly spent: number
}

/**
 * Returns what to add to the budget of which more is spent: at least as much as is spent beyond it. Anything else, also an error,
 * fails the task.
 */
export type OnBudget = (exceeded: BudgetExceeded) => Amounts | undefined | Promise<Amounts | undefined>

/** What a budget uses of its run. */
export interface BudgetPort {
  /** The option `limits.budget`. */
  readonly own: Amounts | undefined
  /** What the lineage of the task's first message leaves of the budget of the task that has delegated it. */
  readonly inherited: Amounts | undefined
  /** The budgets over windows to which the task belongs. */
  readonly windows: readonly OwnedWindow[]
  readonly onBudget: OnBudget | undefined
  /** `null` where there is no task, or it is gone. */
  readonly peek: () => TaskSnapshot | null
  readonly signal: () => AbortSignal
  readonly record: (entry: JournalEntry) => void
  readonly stored: () => Promise<void> | undefined
  /** Fails the task, and aborts the run with this reason. */
  readonly exceed: (reason: A2AError<'BUDGET_EXCEEDED'>) => void
  /** Reports what `onBudget` has thrown. */
  readonly onError: (error: unknown) => void
}

/**
 * Only the process that holds the task changes its spending: the checks of the task's own budget are exact, whichever process
 * continues.
 */
export class RunBudget {
  readonly #port: BudgetPort
  /** Pending while `onBudget` decides. */
  #deciding: Promise<void> | undefined

  constructor(port: BudgetPort) {
    this.#port = port
  }

  /** What the task may still spend, by unit. */
  get left(): Amounts {
    const left = new Map<string, number>()
    for (const { unit, max, spent } of [...this.#limitsOf(this.#spending)].reverse())
      left.set(unit, Math.max(0, Math.min(left.get(unit) ?? Infinity, max - spent)))
    return Object.fromEntries(left)
  }

  /** The journal has an entry with these amounts: counts them in the windows, and checks. */
  spent(amounts: Amounts): void {
    const { windows, peek } = this.#port
    const task = peek()
    if (task !== null) for (const each of windows) each.spend(task, amounts)
    this.check()
  }

  /** Something was spent: fails the task at once if that is too much, unless `onBudget` is there to decide. */
  check(): void {
    const { onBudget, signal, exceed } = this.#port
    const exceeded = this.#exceeded()
    if (exceeded === undefined || this.#deciding !== undefined || signal().aborted) return
    if (onBudget === undefined || exceeded.grant === undefined) exceed(toError(exceeded))
    else this.#deciding = this.#decide(exceeded, onBudget).finally(() => (this.#deciding = undefined))
  }

  /**
   * Resolves when the code may begin what may spend more.
   *
   * @throws The reason of the run's signal, as a rejection.
   */
  async pass(): Promise<void> {
    this.check()
    await this.#deciding
    this.#port.signal().throwIfAborted()
  }

  /** Asks until the budget is enough for what was spent meanwhile. */
  async #decide(first: Exceeded, onBudget: OnBudget): Promise<void> {
    const { signal, stored, exceed, onError } = this.#port
    for (let exceeded: Exceeded | undefined = first; exceeded !== undefined; exceeded = this.#exceeded()) {
      let granted: Amounts = {}
      try {
        const { grant, task, limit, unit, max, spent } = exceeded
        const given = grant && (await onBudget({ task, limit, unit, max, spent }))
        granted = given === undefined ? {} : toAmounts('onBudget', given)
      } catch (error) {
        onError(error)
      }
      if (signal().aborted) return
      if (exceeded.max + (granted[exceeded.unit] ?? 0) < exceeded.spent) {
        exceed(toError(exceeded))
        return
      }
      try {
        exceeded.grant?.(granted)
        await stored()
      } catch {
        // The run is over, or this process has lost the task: its next attempt asks.
        return
      }
    }
  }

  get #spending(): Spending | undefined {
    return spendingOf(this.#port.peek() ?? undefined)
  }

  /** What cannot be added to comes first. */
  *#limitsOf(spending: Spending | undefined): Generator<Limit> {
    const { own = {}, inherited = {}, windows, record, peek } = this.#port
    const spent = allSpent(spending)
    const { granted = {} } = spending ?? {}
    for (const [unit, max] of Object.entries(inherited))
      yield { limit: INHERITED, unit, max, spent: spent[unit] ?? 0 }
    const grant = (units: Amounts): void => record({ kind: 'grant', units })
    const sums = added(own, granted)
    for (const unit of Object.keys(own))
      yield { limit: OWN, unit, max: sums[unit] ?? Infinity, spent: spent[unit] ?? 0, grant }
    for (const { option, limits, grant: add, retryAfterMs } of windows) {
      const grantAll = (units: Amounts): void => {
        const task = peek()
        if (task !== null) add(task, units)
      }
      for (const limit of limits())
        yield { limit: option, ...limit, grant: grantAll, retryAfterMs: retryAfterMs() }
    }
  }

  #exceeded(): Exceeded | undefined {
    const task = this.#port.peek()
    if (task === null) return undefined
    for (const limit of this.#limitsOf(this.#spending)) if (limit.spent > limit.max) return { ...limit, task }
    return undefined
  }
}

const OWN = 'limits.budget'
const INHERITED = 'the budget of the task that has delegated it'

interface Limit extends WindowLimit {
  readonly limit: string
  /** Absent for what cannot be added to. */
  readonly grant?: (units: Amounts) => void
  /** The time until the next window, for a budget that has one. */
  readonly retryAfterMs?: number
}

interface Exceeded extends Limit {
  readonly task: TaskSnapshot
}

function toError(exceeded: Exceeded): A2AError<'BUDGET_EXCEEDED'> {
  const { task, limit, unit, max, spent, retryAfterMs } = exceeded
  if (retryAfterMs !== undefined) return windowSpent(limit, exceeded, retryAfterMs, task.id)
  const text = `The task has spent ${spent} ${unit}, more than its budget of ${max}`
  return new A2AError('BUDGET_EXCEEDED', text, { taskId: task.id, limit, unit, max, spent })
}
