/**
 * The step that the calling code belongs to: `run` is one object, and steps run in parallel.
 *
 * @module
 */
import { isThenable } from '../../../core/emitter.js'
import { builtin } from '../../../runtime/environment.js'
import { Halves } from './halves.js'

/** One attempt of a step. */
export class StepScope {
  /** The name of the step's entry. */
  readonly label: string
  readonly steps: StepScopes
  /** Whether the attempt is over, and its step is done by another one, or not at all. */
  hasFailed = false
  readonly halves = new Halves()
  readonly #counts = new Map<string, number>()

  constructor(label: string, steps: StepScopes) {
    this.label = label
    this.steps = steps
  }

  /** How many ids of this kind the attempt has made before. */
  count(kind: string): number {
    const count = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, count + 1)
    return count
  }
}

/** A value for the code that `work` leads to. */
interface Context {
  run<R>(value: StepScope, work: () => R): R
  getStore(): StepScope | undefined
}

/** Knows the code that runs before the first `await` of the work alone. */
class SyncContext implements Context {
  #value: StepScope | undefined

  run<R>(value: StepScope, work: () => R): R {
    const before = this.#value
    this.#value = value
    try {
      return work()
    } finally {
      this.#value = before
    }
  }

  getStore(): StepScope | undefined {
    return this.#value
  }
}

let known: { readonly context: Context; readonly isExact: boolean } | undefined

/** `AsyncLocalStorage` where the platform has it: Node, Bun, Deno, and Workers with `nodejs_compat`. */
function contextOf(): NonNullable<typeof known> {
  if (known !== undefined) return known
  const { AsyncLocalStorage } = (builtin('node:async_hooks') ?? {}) as {
    readonly AsyncLocalStorage?: new () => Context
  }
  const isExact = AsyncLocalStorage !== undefined
  return (known = { context: isExact ? new AsyncLocalStorage() : new SyncContext(), isExact })
}

/** The steps of one turn whose work is under way. */
export class StepScopes {
  readonly #open = new Set<StepScope>()

  /** The attempts whose work is under way. */
  get open(): ReadonlySet<StepScope> {
    return this.#open
  }

  /** Does the work of an attempt. All that it leads to belongs to it. */
  attempt<T>(label: string, work: () => T): T {
    const scope = new StepScope(label, this)
    this.#open.add(scope)
    const end = (hasFailed: boolean): void => {
      scope.hasFailed = hasFailed
      this.#open.delete(scope)
    }
    let result: T
    try {
      result = contextOf().context.run(scope, work)
    } catch (error) {
      end(true)
      throw error
    }
    if (isThenable(result))
      result.then(
        () => end(false),
        () => end(true),
      )
    else end(false)
    return result
  }

  /**
   * The attempt whose code calls; `undefined` for other code. Without `AsyncLocalStorage`, code after an `await` belongs to the
   * step if it is the only one that is under way.
   */
  get current(): StepScope | undefined {
    const [only] = this.#open
    return this.certain ?? (!contextOf().isExact && this.#open.size === 1 ? only : undefined)
  }

  /** As {@link current}, without a guess: without `AsyncLocalStorage`, `undefined` after an `await`. */
  get certain(): StepScope | undefined {
    const scope = contextOf().context.getStore()
    // An agent that works within the step of another one has steps of its own.
    return scope?.steps === this ? scope : undefined
  }

  /**
   * @throws {TypeError} with the code `CALLED_IN_STEP` in the work of a step: a replay does not call it, so nothing would ask for
   *   the entry of what it calls.
   */
  requireOutside(method: string): void {
    const step = this.certain
    if (step === undefined) return
    const text =
      `run.${method}() was called in the work of step "${step.label}". After a crash, a step that is done is not called again: ` +
      `call run.${method}() before the step, and let the work use what it returns. A tool that calls it must be left out of ai.tools()`
    throw Object.assign(new TypeError(text), { code: 'CALLED_IN_STEP' })
  }

  /**
   * As {@link current}. Without `AsyncLocalStorage`, code after an `await` counts as that of any step under way: a replay must not
   * look for what the work of a step has recorded.
   */
  get likely(): StepScope | undefined {
    const [any] = this.#open
    return this.current ?? (contextOf().isExact ? undefined : any)
  }
}
