/**
 * Ids of what a turn makes: the same in each attempt, with and without restarts.
 *
 * @module
 */
import type { TurnEntry } from '../../../core/events.js'
import { derivedId } from '../../idempotency.js'
import type { RunContext } from '../../run/run-context.js'
import type { Principal } from '../../caller.js'
import type { StepScope } from './step-scopes.js'

export type MadeKind = 'artifact' | 'message'

interface Host {
  /** Creates the task first where there is none. */
  readonly taskId: () => string
  /** The entry with which the journal begins, in a turn that continues. */
  readonly begun: () => TurnEntry | undefined
  /** Whether the turn may have recorded something. */
  readonly hasJournal: () => boolean
  /** Whether an artifact with this id is not there yet. */
  readonly isFree: (artifactId: string) => boolean
}

/**
 * An id comes from what makes it: within the work of a step from the name of the step and a count of its own, which each attempt
 * begins again; elsewhere from a count of the turn, which steps leave alone, because a replay does not call them.
 */
export class TurnIds<P extends Principal> {
  readonly #context: RunContext<P>
  readonly #host: Host
  readonly #counts = { artifact: 0, message: 0 }
  #first: string | undefined

  constructor(context: RunContext<P>, host: Host) {
    this.#context = context
    this.#host = host
  }

  /** The first id of an artifact, if it was made before the turn recorded anything. */
  get first(): string | undefined {
    return this.#first
  }

  /** @param scope - The attempt of a step whose work makes the id; `undefined` for other code. */
  next(kind: MadeKind, scope: StepScope | undefined): string {
    const { tasks, settings } = this.#context
    if (tasks.recordJournal === undefined) return settings.generateId()
    if (scope !== undefined) return this.#derived(scope.count(kind), kind, scope.label)
    for (;;) {
      const count = this.#counts[kind]++
      if (kind === 'message') return this.#isOnlyAttempt ? settings.generateId() : this.#derived(count, kind)
      const id = this.#artifactId(count)
      // Code that lost the context of its step, or a step that an older version has done, may have taken it.
      if (this.#host.isFree(id)) return id
    }
  }

  /** The id of the message that asks the question of this name. */
  ofQuestion(name: string): string {
    return this.#isOnlyAttempt ? this.#context.settings.generateId() : this.#derived(0, 'question', name)
  }

  /** Whether the task is in memory and has no journal. Most turns are so: their ids are not derived, which takes time. */
  get #isPlain(): boolean {
    return this.#context.tasks.finish === undefined && !this.#host.hasJournal()
  }

  /** Whether no attempt of the turn comes before or after this one. */
  get #isOnlyAttempt(): boolean {
    const { tasks, settings, earlier } = this.#context
    if (tasks.recordJournal === undefined) return true
    return tasks.finish === undefined && settings.retry === undefined && earlier === undefined
  }

  #derived(count: number, kind: string, ...label: readonly string[]): string {
    const { messageId } = this.#context.message.request.message
    const taskId = this.#host.begun()?.origin ?? this.#host.taskId()
    return derivedId(count, kind, `${taskId}/${messageId}`, ...label)
  }

  #artifactId(count: number): string {
    if (this.#isPlain) this.#first ??= this.#context.settings.generateId()
    const first = this.#host.begun()?.ids ?? this.#first
    if (first === undefined) return this.#derived(count, 'artifact')
    return count === 0 ? first : derivedId(count - 1, 'artifact', first)
  }
}
