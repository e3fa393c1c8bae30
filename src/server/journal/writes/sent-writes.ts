/**
 * Writes of the code outside of steps that earlier attempts of a turn have sent.
 *
 * @module
 */
import type { Sent } from '../../../core/history/sent.js'
import type { JsonObject } from '../../../core/json-types.js'
import type { ArtifactInput } from '../../../core/params.js'
import type { Artifact, DeepReadonly } from '../../../core/task.js'
import { differenceAt } from '../../idempotency.js'

/**
 * Where the code is in a replay:
 *
 * - `'before'`: one entry of the journal follows the other. What the code writes was sent before the next entry.
 * - `'among'`: entries of other branches are left. What the code writes may come after them.
 * - `'past'`: no entry is left. The code may be slower than before, and write what was sent.
 */
export type Whereabouts = 'before' | 'among' | 'past'

/** Takes each write that an attempt makes again from those that were sent. */
export class SentWrites {
  /** The latest one first. */
  readonly #artifacts: Map<string, DeepReadonly<Artifact>[] | undefined>
  readonly #metadata: DeepReadonly<JsonObject>[]
  /** How many artifacts were written to. */
  readonly count: number

  constructor({ artifacts, metadata }: Sent) {
    this.#artifacts = new Map([...artifacts].map(([id, writes]) => [id, writes?.toReversed()]))
    this.#metadata = [...metadata]
    this.count = artifacts.size
  }

  /** Whether the write was sent. Writes to one artifact are made in the same order. */
  take(artifactId: string, artifact: ArtifactInput, where: Whereabouts): boolean {
    const sent = this.#artifacts.get(artifactId)
    if (sent === undefined)
      return where === 'before' || (where === 'among' && this.#artifacts.has(artifactId))
    if (where !== 'past') return sent.pop() !== undefined || where === 'before'
    const isNext = isSame(sent.pop(), artifact)
    // The code is not what it was.
    if (!isNext) this.#artifacts.delete(artifactId)
    return isNext
  }

  /** The id of an artifact without an id of its own that was sent with this content. */
  idOf(artifact: ArtifactInput, mayBe: (artifactId: string) => boolean): string | undefined {
    for (const [artifactId, sent] of this.#artifacts)
      if (isSame(sent?.at(-1), artifact) && mayBe(artifactId)) return artifactId
    return undefined
  }

  /** Whether the change of the metadata was sent. */
  takeMetadata(changes: object, where: Whereabouts): boolean {
    const at = this.#metadata.findIndex((each) => differenceAt(each, changes) === undefined)
    if (at !== -1) this.#metadata.splice(at, 1)
    return where === 'before' || (where === 'among' && at !== -1)
  }
}

/** Whether an artifact without its id is what was sent. */
function isSame(sent: DeepReadonly<Artifact> | undefined, artifact: ArtifactInput): boolean {
  const withId = { ...artifact, artifactId: sent?.artifactId }
  return sent !== undefined && differenceAt(sent, withId) === undefined
}
