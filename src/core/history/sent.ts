/**
 * Writes of a turn outside of steps that were sent.
 *
 * @module
 */
import type { JsonObject } from '../json-types.js'
import type { Artifact, DeepReadonly } from '../task.js'

/** What a turn has sent outside of steps, as far as the next attempt does not send it again. Oldest first. */
export interface Sent {
  /** By the id of the artifact. `undefined` for one whose writes cannot be told apart. */
  readonly artifacts: ReadonlyMap<string, readonly DeepReadonly<Artifact>[] | undefined>
  /** Changes of the metadata. Those that steps have made are among them. */
  readonly metadata: readonly DeepReadonly<JsonObject>[]
}
