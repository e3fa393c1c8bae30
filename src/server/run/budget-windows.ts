/**
 * Budgets of owners, and of the whole agent, over windows of time.
 *
 * Each process adds up what its own runs spend. Over a store it keeps its sum as a document beside one of the owner's tasks,
 * which no other process writes, and reads those of all others: at most once a second for each owner, however much is spent.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { MaybePromise, TaskDocuments } from '../../core/managers.js'
import { added, amountsOf, type Amounts } from '../../core/spending.js'
import { keyOf, type TaskKey } from '../../core/task.js'
import { allDocuments } from '../../runtime/all-documents.js'
import type { Clock } from '../../runtime/clock.js'
import { BUDGET_WINDOW } from '../../runtime/document-kinds.js'
import { hashOf } from '../../runtime/hash.js'
import { randomId } from '../../runtime/ids.js'
import { readOptions, requireWhole } from '../../runtime/options.js'
import { isRecord } from '../../runtime/unread.js'
import { toAmounts } from '../journal/amounts.js'

/** What may be spent within a window of time. */
export interface WindowBudget {
  /** In at most 16 units: `{ cost: 5 }`. */
  readonly amounts: Amounts
  /**
   * The length of a window, in ms, from 10,000 (10 seconds). Windows follow each other, the first one begins at the epoch: one of
   * `86_400_000` is a day in UTC.
   */
  readonly perMs: number
}

/** One unit of a budget. */
export interface WindowLimit {
  readonly unit: string
  /** With what was added to it. */
  readonly max: number
  readonly spent: number
}

/** The budget of one owner, or of all, for a run. */
export interface OwnedWindow {
  /** The option that sets it. */
  readonly option: string
  readonly limits: () => readonly WindowLimit[]
  readonly spend: (task: TaskKey, amounts: Amounts) => void
  readonly grant: (task: TaskKey, amounts: Amounts) => void
  readonly retryAfterMs: () => number
}

export const OWNER_BUDGET = 'limits.ownerBudget'
export const AGENT_BUDGET = 'limits.agentBudget'

/** @throws {TypeError | RangeError} naming the option. */
export function toWindowBudget(option: string, given: WindowBudget | undefined): WindowBudget | undefined {
  if (given === undefined) return undefined
  const example = 'an object: { amounts: { cost: 5 }, perMs: 86_400_000 }'
  const { amounts, perMs } = readOptions(given, ['amounts', 'perMs'], 'createRequestHandler', option, example)
  requireWhole(`${option}.perMs`, perMs)
  if (perMs < MIN_WINDOW_MS)
    throw new RangeError(`"${option}.perMs" must be at least ${MIN_WINDOW_MS}, got ${perMs}`)
  return { amounts: toAmounts(`${option}.amounts`, amounts), perMs }
}

interface Options {
  readonly ownerBudget: WindowBudget | undefined
  readonly agentBudget: WindowBudget | undefined
}

interface Host {
  readonly clock: Clock
  /** Absent for tasks in memory. */
  readonly documents: TaskDocuments | undefined
  readonly onError: (error: unknown) => void
}

/** How long a process waits until it tells, and asks, others again. */
const EXCHANGE_MS = 1_000
/** The most owners that are remembered. Beyond it, the one that was not seen for longest is forgotten. */
const MAX_OWNERS = 10_000
const PAGE = 100
/** Shorter windows would be over before all processes know what is spent in them. */
const MIN_WINDOW_MS = 10_000

/** What some processes have spent, and what was added. */
type Sum = { readonly spent: Amounts; readonly granted: Amounts }

const NOTHING: Sum = { spent: {}, granted: {} }

/** One owner in one window. */
class OwnerWindow {
  readonly period: number
  readonly #kind: string
  /** Other processes have others, and so has this one after it has forgotten the owner. */
  readonly #id = randomId()
  readonly #host: Host
  #own = NOTHING
  #others = NOTHING
  #written = NOTHING
  #exchangedAt = -Infinity
  #exchanging: Promise<void> | undefined
  #stopTimer: (() => void) | undefined
  /** The task that has spent last. */
  #latest: TaskKey | undefined
  /** The document of this process. It goes with its task, and is then written beside another one. */
  #stored: { readonly key: TaskKey; readonly version: number } | undefined
  #isClosed = false

  constructor(host: Host, period: number, kind: string) {
    this.#host = host
    this.period = period
    this.#kind = kind
  }

  get sum(): Sum {
    return plus(this.#own, this.#others)
  }

  add(task: TaskKey, sum: Sum): void {
    this.#own = plus(this.#own, sum)
    this.#latest = keyOf(task)
    this.#exchangeSoon()
  }

  /** Reads what others have spent, unless that is known for the last second. */
  refresh(): Promise<void> | undefined {
    if (this.#host.documents === undefined || this.#waitMs() > 0) return undefined
    return this.#exchange(this.#host.documents)
  }

  /** The window is over, or the process ends: writes what is not written. */
  async close(isOver: boolean): Promise<void> {
    const { documents, onError } = this.#host
    const kind = this.#kind
    this.#isClosed = true
    this.#stopTimer?.()
    if (documents === undefined) return
    await this.#exchanging?.catch(() => undefined)
    try {
      if (!isOver) await this.#write(documents)
      else if (this.#stored !== undefined)
        await documents.deleteDocument({ ...this.#stored, kind, id: this.#id })
    } catch (error) {
      onError(error)
    }
  }

  #waitMs(): number {
    return Math.max(0, this.#exchangedAt + EXCHANGE_MS - this.#host.clock.now())
  }

  #exchangeSoon(): void {
    const { documents, clock, onError } = this.#host
    if (documents === undefined || this.#exchanging !== undefined || this.#isClosed) return
    this.#stopTimer ??= clock.schedule(() => {
      this.#stopTimer = undefined
      this.#exchange(documents).catch(onError)
    }, this.#waitMs())
  }

  #exchange(documents: TaskDocuments): Promise<void> {
    this.#exchanging ??= this.#writeAndRead(documents).finally(() => {
      this.#exchanging = undefined
      if (this.#own !== this.#written) this.#exchangeSoon()
    })
    return this.#exchanging
  }

  async #writeAndRead(documents: TaskDocuments): Promise<void> {
    this.#exchangedAt = this.#host.clock.now()
    await this.#write(documents)
    const kind = this.#kind
    let others = NOTHING
    for await (const { id, value } of allDocuments(documents, kind, PAGE))
      if (id !== this.#id) others = plus(others, toSum(value))
    this.#others = others
  }

  async #write(documents: TaskDocuments): Promise<void> {
    const own = this.#own
    const latest = this.#latest
    const kind = this.#kind
    if (own === this.#written || latest === undefined) return
    const put = async (key: TaskKey, version: number): Promise<boolean> => {
      const document = { key, kind, id: this.#id, value: own }
      const isWritten = await documents.putDocument(document, version)
      if (isWritten) this.#stored = { key, version: version + 1 }
      return isWritten
    }
    const { key, version } = this.#stored ?? { key: latest, version: 0 }
    if (!(await put(key, version))) {
      // The task is gone, or a write that seemed to fail has been done.
      const found = await documents.documents(key, kind)
      const same = found.find(({ id }) => id === this.#id)
      await put(same === undefined ? latest : key, same?.version ?? 0)
    }
    // Where the latest task is gone, too, the next one keeps it.
    this.#written = own
  }
}

/** The windows of one budget. */
class BudgetWindow {
  readonly option: string
  readonly #budget: WindowBudget
  readonly #host: Host
  /** By owner, the one that was seen last coming last. */
  readonly #owners = new Map<string, OwnerWindow>()
  #period = 0

  constructor(option: string, budget: WindowBudget, host: Host) {
    this.option = option
    this.#budget = budget
    this.#host = host
  }

  of(owner: string): OwnerWindow {
    const known = this.#owners.get(owner)
    const { perMs } = this.#budget
    // A clock that is set back does not open a window again.
    this.#period = Math.max(this.#period, Math.floor(this.#host.clock.now() / perMs))
    const kind = `${BUDGET_WINDOW}${hashOf(JSON.stringify([this.option, perMs, this.#period, owner])).slice(0, 40)}`
    const isOver = known?.period !== this.#period
    const own = known === undefined || isOver ? new OwnerWindow(this.#host, this.#period, kind) : known
    if (known !== own) void known?.close(true)
    this.#owners.delete(owner)
    this.#owners.set(owner, own)
    const [[oldest, forgotten] = []] = this.#owners
    if (this.#owners.size > MAX_OWNERS && oldest !== undefined) {
      this.#owners.delete(oldest)
      void forgotten?.close(forgotten.period !== this.#period)
    }
    return own
  }

  limits(owner: string): WindowLimit[] {
    const { spent, granted } = this.of(owner).sum
    const { amounts } = this.#budget
    const all = added(amounts, granted)
    return Object.keys(amounts).map((unit) => ({ unit, max: all[unit] ?? 0, spent: spent[unit] ?? 0 }))
  }

  /** The time until the next window. */
  retryAfterMs(): number {
    return Math.max(1, (this.#period + 1) * this.#budget.perMs - this.#host.clock.now())
  }

  async close(): Promise<void> {
    await Promise.all([...this.#owners.values()].map((each) => each.close(each.period !== this.#period)))
  }
}

/** The budgets of a handler over windows. All callers without a principal are one owner. */
export class BudgetWindows {
  readonly #all: readonly BudgetWindow[]

  constructor({ ownerBudget, agentBudget }: Options, host: Host) {
    this.#all = [
      ...(ownerBudget === undefined ? [] : [new BudgetWindow(OWNER_BUDGET, ownerBudget, host)]),
      ...(agentBudget === undefined ? [] : [new BudgetWindow(AGENT_BUDGET, agentBudget, host)]),
    ]
  }

  /** Those that limit the tasks of an owner. */
  of(owner: string | null): readonly OwnedWindow[] {
    return this.#all.map((each) => {
      const own = (): OwnerWindow => each.of(keyFor(each, owner))
      return {
        option: each.option,
        limits: () => each.limits(keyFor(each, owner)),
        spend: (task, spent) => own().add(task, { spent, granted: {} }),
        grant: (task, granted) => own().add(task, { spent: {}, granted }),
        retryAfterMs: () => each.retryAfterMs(),
      }
    })
  }

  /**
   * Requires that something is left for new work of an owner. Nothing has to be awaited over a manager in memory, nor where a
   * process has asked the others within the last second.
   *
   * @throws {A2AError} `BUDGET_EXCEEDED`; `STORE_FAILED`. As a rejection where something has to be awaited.
   */
  requireLeft(owner: string | null): MaybePromise<void> {
    const reading = this.#all.flatMap((each) => each.of(keyFor(each, owner)).refresh() ?? [])
    if (reading.length > 0) return Promise.all(reading).then(() => this.#requireLeft(owner))
    this.#requireLeft(owner)
  }

  /** Writes what is not written. Never rejects. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.close()))
  }

  #requireLeft(owner: string | null): void {
    for (const { option, limits, retryAfterMs } of this.of(owner))
      for (const limit of limits())
        if (limit.spent >= limit.max) throw windowSpent(option, limit, retryAfterMs())
  }
}

/** @param taskId - The task that fails. Absent for new work that is refused. */
export function windowSpent(
  limit: string,
  { unit, max, spent }: WindowLimit,
  retryAfterMs: number,
  taskId?: string,
): A2AError<'BUDGET_EXCEEDED'> {
  const seconds = Math.ceil(retryAfterMs / 1_000)
  // What all have spent is not for one of them to know.
  const what =
    limit === AGENT_BUDGET
      ? `The agent has spent its budget of ${unit} for now`
      : `You have spent ${spent} ${unit} of a budget of ${max} for now`
  return new A2AError('BUDGET_EXCEEDED', `${what}: retry after ${seconds} seconds`, {
    ...(taskId !== undefined && { taskId }),
    ...{ limit, unit, max, spent, retryAfterMs },
  })
}

function keyFor({ option }: BudgetWindow, owner: string | null): string {
  return option === OWNER_BUDGET ? (owner ?? '') : ''
}

function plus(sum: Sum, { spent, granted }: Sum): Sum {
  return { spent: added(sum.spent, spent), granted: added(sum.granted, granted) }
}

/** What another process has written, or an earlier version. */
function toSum(value: unknown): Sum {
  const { spent, granted } = isRecord(value) ? value : {}
  return { spent: amountsOf(spent) ?? {}, granted: amountsOf(granted) ?? {} }
}
