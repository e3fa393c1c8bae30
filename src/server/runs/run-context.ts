/**
 * Inputs and callbacks of one run.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { GenerateId } from '../../runtime/ids.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { QueuedMessage } from './message-queue.js'
import type { WorkedTasks } from '../tasks.js'
import type { Principal } from '../caller.js'

export interface RunContext<P extends Principal> {
  readonly settings: { readonly card: AgentCard; readonly generateId: GenerateId }
  readonly tasks: WorkedTasks
  readonly message: QueuedMessage<P>
  /** The note for the lease of a new task. Absent where tasks have no leases. */
  readonly note?: JsonValue | undefined
  /** The tasks that the message refers to and its owner may read. */
  readonly referenceTasks: () => readonly TaskSnapshot[]
  /** Receives the task as soon as the run has created it. */
  readonly onTask: (task: TaskKey) => void
  /** Removes and returns the next queued message of the task. */
  readonly nextMessage: (taskId: string) => QueuedMessage<P> | undefined
  /** Called when the run begins or stops to wait for the user: `runTimeoutMs` does not count this time. */
  readonly onWaiting: (isWaiting: boolean) => void
}
