/**
 * Ids of what a turn makes: the same in each attempt, with and without restarts.
 *
 * @module
 */
import type { TurnEntry } from '../../../core/events.js'
import type { ArtifactInput } from '../../../core/params.js'
import { derivedId, fittingId } from '../../idempotency.js'
import { stepKey } from '../names.js'
import type { TurnPort } from '../turn-port.js'
import type { SentWrites, Whereabouts } from './sent-writes.js'
import type { StepScope } from './step-scopes.js'

export type MadeKind = 'artifact' | 'message'

/** What a turn has of its journal. */
interface Recorded {
  readonly journal: { readonly whereabouts: Whereabouts }
  readonly sent: SentWrites | undefined
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
  /** Ids of artifacts that this attempt has made, if it has earlier ones. */
  readonly #made = new Set<string>()
  /** The first ids of artifacts, in their order. */
  readonly #ordered = new Set<string>()
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

  /**
   * @param scope - The attempt of a step whose work makes the id; `undefined` for other code.
   * @param artifact - For an artifact that an earlier attempt may have sent.
   */
  next(kind: MadeKind, scope: StepScope | undefined, artifact?: ArtifactInput): string {
    const { tasks, settings } = this.#port
    if (tasks.recordJournal === undefined) return settings.generateId()
    if (scope !== undefined) return this.#derived(scope.count(kind), kind, scope.label)
    if (kind === 'message')
      return this.#isOnlyAttempt ? settings.generateId() : this.#derived(this.#counts.message++, kind)
    return this.#sentBefore(artifact) ?? this.#nextArtifact()
  }

  /** Branches of parallel code may write in another order than before: an artifact has the id with which it was sent. */
  #sentBefore(artifact: ArtifactInput | undefined): string | undefined {
    const { journal, sent } = this.#recorded() ?? {}
    if (artifact === undefined || sent === undefined || journal?.whereabouts === 'before') return undefined
    const id = sent.idOf(artifact, (given) => !this.#made.has(given) && this.#mayBeOurs(given, sent))
    if (id !== undefined) this.#made.add(id)
    return id
  }

  /** Whether an earlier attempt may have made the id outside of steps. */
  #mayBeOurs(artifactId: string, sent: SentWrites): boolean {
    // One for each artifact, and one for what the code yields.
    const most = this.#counts.artifact + sent.count + 1
    while (this.#ordered.size < most) this.#ordered.add(this.#artifactId(this.#ordered.size))
    return this.#ordered.has(artifactId)
  }

  #nextArtifact(): string {
    for (;;) {
      const id = this.#artifactId(this.#counts.artifact++)
      // Another branch may have sent it in an earlier attempt, or code that lost the context of its step has taken it.
      if (this.#made.has(id) || !this.#isFree(id)) continue
      if (this.#port.earlier !== undefined) this.#made.add(id)
      return id
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
    const { whereabouts } = recorded.journal
    const wasMade = recorded.sent === undefined ? whereabouts !== 'past' : whereabouts === 'before'
    return wasMade || recorded.writes.isFree(artifactId)
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
