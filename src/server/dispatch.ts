/**
 * Handing turns out to workers: the option `dispatch` of `createRequestHandler`.
 *
 * @module
 */
import { isThenable } from '../core/emitter.js'
import type { TaskSnapshot } from '../core/task.js'
import { describe } from '../runtime/describe.js'

/** A turn of a task: what the agent does from one message, or from what its code waited for, until the next. It is JSON. */
export interface Turn {
  /**
   * The same each time that this turn is handed out, so that a queue recognizes a repetition. Has letters, digits, `-`, `_`
   * and `.`, unless the id of the task has others.
   */
  readonly id: string
  readonly taskId: string
  /** The owner of the task. Absent for a task without one. */
  readonly owner?: string
  /** What `priorityOf` has returned, in ms: the higher, the sooner. 0 without it. */
  readonly priority: number
}

/**
 * The priority of the turns of a task: a head start, in ms, from 0 to 2,592,000,000 (30 days). A turn with a head start of
 * `60_000` comes before those that wait for less than a minute longer, so none waits for ever. Called without await, each time
 * that a turn of the task is handed out, so it should depend on what stays: the owner, the first message. The skill is the same
 * for all tasks of an agent. When it throws, or returns anything else, `onError` receives that, and the turn has no head start.
 */
export type PriorityOf = (task: TaskSnapshot) => number

/**
 * Who does the turns of a handler that runs nothing itself.
 *
 * - `'store'`: workers that have been started, which find the turns in the store of the tasks.
 * - a function: puts the turn into a queue of your choice, from which a worker takes it with `worker.run(turn)`. It is called
 *   after the message is stored. When it throws or rejects, `onError` receives the error, and it is called again after a
 *   minute. It is also called again for a turn whose worker has died, and for one that no worker has begun: after 1 minute, 2
 *   more, 4 more, up to an hour each. Handing a turn out twice is harmless, because one worker at a time has the lease of the
 *   task.
 */
export type Dispatch = 'store' | ((turn: Turn) => unknown)

/** When a turn is handed out again that no worker has begun, in ms: the first time, and whenever the queue has not taken it. */
const AGAIN_MS = 60_000

type OnError = (error: unknown, context: { readonly during: 'dispatch'; readonly taskId: string }) => void

/** The longest head start, in ms. */
const MAX_PRIORITY = 2_592_000_000

/** The head start of a task, in ms. Never throws. */
export function priorityFor(
  task: TaskSnapshot,
  priorityOf: PriorityOf | undefined,
  onError: OnError,
): number {
  try {
    const priority: unknown = priorityOf?.(task) ?? 0
    if (typeof priority === 'number' && priority >= 0 && priority <= MAX_PRIORITY) return Math.round(priority)
    if (isThenable(priority)) priority.then(undefined, () => undefined)
    const got = typeof priority === 'number' ? priority : describe(priority)
    throw new RangeError(`priorityOf() must return a number of ms from 0 to ${MAX_PRIORITY}, got ${got}`)
  } catch (error) {
    onError(error, { during: 'dispatch', taskId: task.id })
    return 0
  }
}

/** Hands turns out as the option says. */
export class TurnDispatcher {
  readonly #dispatch: Dispatch
  readonly #onError: OnError
  /** The calls that have not ended. */
  readonly #calls = new Set<Promise<unknown>>()

  constructor(dispatch: Dispatch, onError: OnError) {
    this.#dispatch = dispatch
    this.#onError = onError
  }

  /** The argument of `handOut` of the leases. */
  dueInMs(priority: number): number {
    return this.#dispatch === 'store' ? 0 - priority : AGAIN_MS
  }

  /** Whether this process looks for turns that are due, to hand them out. */
  get findsTurns(): boolean {
    return this.#dispatch !== 'store'
  }

  /**
   * Never throws.
   *
   * @param again - Has the turn handed out again in so many ms. Needed for a turn that was handed out before.
   */
  send(
    { id: taskId, generation, owner }: TaskSnapshot,
    priority: number,
    again?: (inMs: number) => Promise<void>,
  ): void {
    const dispatch = this.#dispatch
    if (dispatch === 'store') return
    const turn: Turn = {
      ...{ id: `${taskId}-${generation}`, taskId },
      ...(owner !== undefined && { owner }),
      priority,
    }
    const report = (error: unknown): void => this.#onError(error, { during: 'dispatch', taskId })
    const call = async (): Promise<unknown> => await dispatch(turn)
    const calling = call()
      .catch((error: unknown) => {
        report(error)
        return again?.(AGAIN_MS)
      })
      .catch(report)
      .finally(() => this.#calls.delete(calling))
    this.#calls.add(calling)
  }

  /** Resolves when the function has done all that it was called for. */
  async settled(): Promise<void> {
    await Promise.all(this.#calls)
  }
}

/** @throws {TypeError} */
export function requireDispatch(dispatch: unknown): void {
  if (dispatch !== 'store' && typeof dispatch !== 'function')
    throw new TypeError(`"dispatch" must be 'store' or a function, got ${describe(dispatch)}`)
}
