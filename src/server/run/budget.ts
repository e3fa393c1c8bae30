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

/** What the option `onBudget` of a handler receives. */
export interface BudgetExceeded {
  readonly task: TaskSnapshot
  /** The unit of which more has been spent than the budget has. */
  readonly unit: string
  /** The budget in this unit, with what was added before. */
  readonly max: number
  /** With what the tasks have spent that the task has delegated to. */
  readonly spent: number
}

/**
 * Returns what to add to the budget of a task that has spent more: at least as much as it has spent beyond it. Anything else, also
 * an error, fails the task.
 */
export type OnBudget = (exceeded: BudgetExceeded) => Amounts | undefined | Promise<Amounts | undefined>

/** What a budget uses of its run. */
export interface BudgetPort {
  /** The option `limits.budget`. */
  readonly own: Amounts | undefined
  /** What the lineage of the task's first message leaves of the budget of the task that has delegated it. */
  readonly inherited: Amounts | undefined
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

/** Nobody but the process that holds the task changes its spending: the checks are exact, whichever process continues. */
export class RunBudget {
  readonly #port: BudgetPort
  /** Pending while `onBudget` decides. */
  #deciding: Promise<void> | undefined

  constructor(port: BudgetPort) {
    this.#port = port
  }

  /** What the task may still spend, by unit. */
  get left(): Amounts {
    const spending = this.#spending
    const spent = allSpent(spending)
    const limits = [...this.#limitsOf(spending)].reverse().map(({ max, unit }) => [unit, max] as const)
    const left = new Map<string, number>()
    for (const [unit, max] of limits)
      left.set(unit, Math.max(0, Math.min(left.get(unit) ?? Infinity, max - (spent[unit] ?? 0))))
    return Object.fromEntries(left)
  }

  /** Something was spent: fails the task at once if that is too much, unless `onBudget` is there to decide. */
  check(): void {
    const { onBudget, signal, exceed } = this.#port
    const exceeded = this.#exceeded()
    if (exceeded === undefined || this.#deciding !== undefined || signal().aborted) return
    if (onBudget === undefined || exceeded.limit !== OWN) exceed(toError(exceeded))
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
    const { signal, record, stored, exceed, onError } = this.#port
    for (let exceeded: Exceeded | undefined = first; exceeded !== undefined; exceeded = this.#exceeded()) {
      let granted: Amounts = {}
      try {
        const { task, unit, max, spent } = exceeded
        const given = exceeded.limit === OWN ? await onBudget({ task, unit, max, spent }) : undefined
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
        record({ kind: 'grant', units: granted })
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
    const { own = {}, inherited = {} } = this.#port
    for (const [unit, max] of Object.entries(inherited)) yield { limit: INHERITED, unit, max }
    const { granted = {} } = spending ?? {}
    const sums = added(own, granted)
    for (const unit of Object.keys(own)) yield { limit: OWN, unit, max: sums[unit] ?? Infinity }
  }

  #exceeded(): Exceeded | undefined {
    const task = this.#port.peek()
    const spending = this.#spending
    if (task === null || spending === undefined) return undefined
    const spent = allSpent(spending)
    for (const limit of this.#limitsOf(spending)) {
      const { [limit.unit]: sum = 0 } = spent
      if (sum > limit.max) return { ...limit, task, spent: sum }
    }
    return undefined
  }
}

const OWN = 'limits.budget'
const INHERITED = 'the budget of the task that has delegated it'

interface Limit {
  readonly limit: string
  readonly unit: string
  readonly max: number
}

interface Exceeded extends Limit {
  readonly task: TaskSnapshot
  readonly spent: number
}

function toError({ task, limit, unit, max, spent }: Exceeded): A2AError<'BUDGET_EXCEEDED'> {
  const text = `The task has spent ${spent} ${unit}, more than its budget of ${max}`
  return new A2AError('BUDGET_EXCEEDED', text, { taskId: task.id, limit, unit, max, spent })
}
