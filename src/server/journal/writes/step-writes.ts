/**
 * Writes of a turn to artifacts, by its steps: each attempt of a step undoes those of the one before.
 *
 * @module
 */
import { ArtifactLedger, type Content, type PlannedWrite } from '../../../core/history/artifact-ledger.js'
import { findArtifact } from '../../../core/evolve.js'
import { isThenable } from '../../../core/emitter.js'
import type { ArtifactChanged } from '../../../core/events.js'
import type { AppendArtifactOptions, ArtifactInput } from '../../../core/params.js'
import type { TurnPort } from '../turn-port.js'
import type { StepScope, StepScopes } from './step-scopes.js'

/** Adds an artifact to the task, or a chunk of one. */
export function append(
  { task, tasks, change }: TurnPort,
  artifact: ArtifactInput,
  options: AppendArtifactOptions | undefined,
): ArtifactChanged {
  const { id } = task()
  return change(() => tasks.appendArtifact(id, artifact, options))
}

export class StepWrites {
  readonly scopes: StepScopes
  readonly #ledger: ArtifactLedger
  readonly #port: TurnPort

  constructor(port: TurnPort, scopes: StepScopes) {
    this.#port = port
    this.scopes = scopes
    this.#ledger = new ArtifactLedger(port.earlier?.artifacts)
  }

  attempt<T>(label: string, work: () => T): T {
    this.#ledger.undo(label)
    const end = (): void => {
      const { current } = this.scopes
      if (current !== undefined) this.#endChunks(current)
    }
    return this.scopes.attempt(label, () => {
      const result = work()
      if (isThenable(result)) result.then(end, () => undefined)
      else end()
      return result
    })
  }

  /** The turn writes no more chunks. */
  endChunks(): void {
    for (const scope of this.scopes.open) this.#endChunks(scope)
  }

  /** The step is over: what its last attempt has written stays, and nothing else. */
  settle(label: string): void {
    for (const artifactId of this.#ledger.settle(label))
      for (const write of this.#ledger.planRestored(artifactId)) this.#make(write)
  }

  /** Adds an artifact to the task, or a chunk of one. An attempt that has failed adds nothing. */
  write(
    artifact: ArtifactInput,
    options: AppendArtifactOptions | undefined,
    scope = this.scopes.current,
  ): void {
    if (scope?.hasFailed === true) return
    const own = scope === undefined ? options : { ...options, step: scope.label }
    for (const write of this.#ledger.plan({ artifact, options: own })) this.#make(write)
  }

  /** Whether a new artifact may have this id: the task has none with it, or shows what was undone of it. */
  isFree(artifactId: string): boolean {
    return this.#ledger.isStale(artifactId) || this.#find(artifactId) === undefined
  }

  #endChunks(scope: StepScope): void {
    try {
      for (const chunk of scope.halves.end()) this.write(chunk, undefined, scope)
    } catch {
      // The task has ended, or has no room: the text ends without the half.
    }
  }

  #make({ artifact, options, isSettled }: PlannedWrite): void {
    const { step, restored, ...plain } = options ?? {}
    const { artifactId } = artifact
    const isTracked = this.#ledger.tracks(artifactId, step)
    const before = isTracked && !this.#ledger.has(artifactId) ? this.#find(artifactId) : undefined
    const event = append(this.#port, artifact, this.#port.record === undefined ? plain : options)
    if (isTracked) this.#ledger.add({ ...event, step, restored }, before, isSettled)
  }

  /** The artifact as it is. */
  #find(artifactId: string | undefined): Content {
    const { artifacts = [] } = this.#port.task().peek() ?? {}
    return artifacts[findArtifact(artifacts, artifactId)]
  }
}
