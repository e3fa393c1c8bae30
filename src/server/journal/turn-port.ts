/**
 * The port between the journal of a turn and the run that the turn belongs to.
 *
 * @module
 */
import type { JournalEntry } from '../../core/events.js'
import type { LineageSource } from '../../core/lineage/mark.js'
import type { DeepReadonly, Message, Part, TaskSnapshot } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import type { GenerateId } from '../../runtime/ids.js'
import type { ObservedStep, StepFollower } from '../observers.js'
import type { RetrySettings } from '../retry.js'
import type { WorkedTasks } from '../tasks.js'
import type { DelegationMarks } from './delegation-marks.js'
import type { JournalLimits } from './journal-size.js'
import type { EarlierAttempts } from './open-turn.js'

/** What replaying and recording use of the settings of a handler. */
export interface TurnSettings {
  readonly clock: Clock
  readonly generateId: GenerateId
  readonly retry?: RetrySettings | undefined
  readonly recordStacks: boolean
  readonly limits: JournalLimits & { readonly maxStepBytes: number; readonly maxDepth: number }
}

/** What replaying and recording use of their run. */
export interface TurnPort {
  readonly settings: TurnSettings
  readonly tasks: WorkedTasks
  /** The message that began the turn, or with which it has continued. */
  readonly message: Message
  /** The id of the user's message that began the turn. */
  readonly origin: string
  /** Absent for a new turn. */
  readonly earlier: EarlierAttempts | undefined
  /** Marks tasks that wait for other agents. Absent where tasks are in memory. */
  readonly marks: DelegationMarks | undefined
  /** Creates the task first where there is none. `peek` is `null` when the task is gone or held elsewhere. */
  readonly task: () => { readonly id: string; peek(): TaskSnapshot | null }
  /** The id of the task, which may not exist yet, or which this process has let go of. */
  readonly taskId: () => string
  readonly signal: () => AbortSignal
  /** @throws Once the run is over, whose code can record nothing more. */
  readonly requireRunning: () => void
  /** As {@link requireRunning}. Creates the task where there is none, and moves it to `working` unless it waits for the user. */
  readonly work: () => void
  /** Runs a change of the task. Throws the reason for which the run was ended in place of the error that results from it. */
  readonly change: <T>(change: () => T) => T
  /** Adds entries to the journal of the task. Absent where nothing is recorded. */
  readonly record: ((entries: readonly JournalEntry[]) => void) | undefined
  /** Resolves when everything so far is stored. `undefined` where tasks are in memory. */
  readonly stored: () => Promise<void> | undefined
  /** Asks the user. */
  readonly ask: (prompt: string) => Promise<{ readonly parts: readonly DeepReadonly<Part>[] }>
  /** The lineage of a message to another agent. */
  readonly lineageTo: LineageSource['lineageTo']
  /** Follows a step, for telemetry. Returns `undefined` where nothing observes the handler. */
  readonly onStep: ((step: ObservedStep) => StepFollower | undefined) | undefined
}
