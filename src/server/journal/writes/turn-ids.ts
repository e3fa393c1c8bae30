/**
 * Ids of what a turn makes: the same in each attempt, with and without restarts.
 *
 * @module
 */
import type { TurnEntry } from '../../../core/events.js'
import { derivedId, fittingId } from '../../idempotency.js'
import { stepKey } from '../names.js'
import type { TurnPort } from '../turn-port.js'
import type { StepScope } from './step-scopes.js'

export type MadeKind = 'artifact' | 'message'

/** What a turn has of its journal. */
interface Recorded {
  readonly journal: { readonly isRepeating: boolean }
  readonly writes: { isFree(artifactId: string): boolean }
}

/**
 * An id comes from what makes it: within the work of a step from the name of the step and a count of its own, which each attempt
 * begins again; elsewhere from a count of the turn, which steps leave alone, because a replay does not call them.
 */
export class TurnIds {
  readonly #port: TurnPort
  readonly #recorded: () => Recorded | undefined
  readonly #counts = { artifact: 0, message: 0 }
  #first: string | undefined

  /** @param recorded - `undefined` while the turn can have recorded nothing. */
  constructor(port: TurnPort, recorded: () => Recorded | undefined) {
    this.#port = port
    this.#recorded = recorded
  }

  /** The entry with which the journal begins, in a turn that continues. */
  get begun(): TurnEntry | undefined {
    const first = this.#port.earlier?.journal[0]?.entry
    return first?.kind === 'turn' ? first : undefined
  }

  /** The first id of an artifact, if it was made before the turn recorded anything. */
  get first(): string | undefined {
    return this.#first
  }

  /** @param scope - The attempt of a step whose work makes the id; `undefined` for other code. */
  next(kind: MadeKind, scope: StepScope | undefined): string {
    const { tasks, settings } = this.#port
    if (tasks.recordJournal === undefined) return settings.generateId()
    if (scope !== undefined) return this.#derived(scope.count(kind), kind, scope.label)
    for (;;) {
      const count = this.#counts[kind]++
      if (kind === 'message') return this.#isOnlyAttempt ? settings.generateId() : this.#derived(count, kind)
      const id = this.#artifactId(count)
      // Code that lost the context of its step, or a step that an older version has done, may have taken it.
      if (this.#isFree(id)) return id
    }
  }

  /** The id of the message that asks the question of this name. */
  ofQuestion(name: string): string {
    return this.#isOnlyAttempt ? this.#port.settings.generateId() : this.#derived(0, 'question', name)
  }

  /** The key of the step of this name. */
  keyOf(step: string): string {
    return this.#keyOf(this.begun?.key ?? this.#port.task().id, step)
  }

  /** The id of the message of a delegation. */
  ofDelegation(name: string): string {
    return fittingId(this.#keyOf(this.#port.task().id, name))
  }

  /** The id for clients of the question of this name, unique in the task. */
  ofAnswer(name: string): string {
    return this.#keyOf('', name).slice(1)
  }

  #keyOf(taskId: string, name: string): string {
    const { task, origin } = this.#port
    const { messages = [] } = task().peek() ?? {}
    return stepKey(taskId, name, { messages, origin, round: this.begun?.continued?.round })
  }

  /** Whether an artifact with this id is not there yet. */
  #isFree(artifactId: string): boolean {
    const recorded = this.#recorded()
    if (this.#port.earlier === undefined || recorded === undefined) return true
    return recorded.journal.isRepeating || recorded.writes.isFree(artifactId)
  }

  /** Whether the task is in memory and has no journal. Most turns are so: their ids are not derived, which takes time. */
  get #isPlain(): boolean {
    return this.#port.tasks.finish === undefined && this.#recorded() === undefined
  }

  /** Whether no attempt of the turn comes before or after this one. */
  get #isOnlyAttempt(): boolean {
    const { tasks, settings, earlier } = this.#port
    if (tasks.recordJournal === undefined) return true
    return tasks.finish === undefined && settings.retry === undefined && earlier === undefined
  }

  #derived(count: number, kind: string, ...label: readonly string[]): string {
    const { message, task } = this.#port
    const taskId = this.begun?.origin ?? task().id
    return derivedId(count, kind, `${taskId}/${message.messageId}`, ...label)
  }

  #artifactId(count: number): string {
    if (this.#isPlain) this.#first ??= this.#port.settings.generateId()
    const first = this.begun?.ids ?? this.#first
    if (first === undefined) return this.#derived(count, 'artifact')
    return count === 0 ? first : derivedId(count - 1, 'artifact', first)
  }
}
