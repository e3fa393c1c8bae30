/**
 * A turn whose code is not in memory, and what its attempts have done.
 *
 * @module
 */
import type { JournalRecorded } from '../../core/events.js'
import type { Sent } from '../../core/history/sent.js'
import type { JsonValue } from '../../core/json-types.js'
import type { Artifact, DeepReadonly, Message } from '../../core/task.js'

/** What earlier attempts of a turn have done, when the turn continues. */
export interface EarlierAttempts {
  /** The number of the attempt that begins. */
  readonly attempt: number
  /** The journal of the turn, as far as the attempt replays it. */
  readonly journal: readonly JournalRecorded[]
  /**
   * The artifacts that the last attempt has written after the end of its journal, by id: what they held before;
   * `undefined` for those that it created.
   */
  readonly artifacts: ReadonlyMap<string, DeepReadonly<Artifact> | undefined>
  /** What the code outside of steps has sent before the end of its journal. Absent where the log does not tell. */
  readonly sent?: Sent | undefined
}

/** A turn whose code is not in memory. */
export interface OpenTurn extends EarlierAttempts {
  /** The message that began the turn, or with which it has continued. */
  readonly message: Message
  /** The id of the user's message that began the turn. */
  readonly origin: string
  /** What its request said beside the message. */
  readonly note: JsonValue | undefined
  /** The ids of the user's messages that the turn has read. */
  readonly read: ReadonlySet<string>
}
