/**
 * Inputs and callbacks of one run, and the port between it and its turn.
 *
 * @module
 */
import type { A2AError } from '../../core/errors.js'
import type { Amounts } from '../../core/spending.js'
import type { JournalEntry } from '../../core/events.js'
import type { Lifecycle, TaskState } from '../../core/lifecycle.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { OnBudget } from './budget.js'
import type { OwnedWindow } from './budget-windows.js'
import type { MessageQueues, QueuedMessage } from './message-queue.js'
import type { ConversationOptions, ConversationPage, Say } from './run.js'
import type { StandardSchema } from '../standard-schema.js'
import type { DelegationMarks } from '../journal/delegation-marks.js'
import type { EarlierAttempts, OpenTurn } from '../journal/open-turn.js'
import type { TurnPort, TurnSettings, WorkedTasks } from '../journal/turn-port.js'
import type { ObservedStep, StepFollower } from '../observers.js'
import type { Principal } from '../caller.js'

/** The ids of a run's task, which may not exist yet. */
export interface RunIds {
  readonly taskId: string
  readonly contextId: string
}

export interface RunContext<P extends Principal> {
  readonly settings: TurnSettings & {
    readonly card: AgentCard
    readonly tasks: { readonly lifecycle: Lifecycle; readonly taskTimeoutMs?: number }
    readonly output?: StandardSchema | undefined
    readonly limits: { readonly maxDelegationDepth: number; readonly budget: Amounts | undefined }
    readonly onBudget: OnBudget | undefined
    readonly windows?: { of(owner: string | null): readonly OwnedWindow[] } | undefined
    readonly onError: (error: unknown, context: { readonly during: string; readonly taskId?: string }) => void
  }
  /** Absent for a new turn. */
  readonly earlier?: EarlierAttempts | undefined
  /** Whether the task keeps its state until the code has passed its earlier attempts. Default is `false`. */
  readonly staysWaiting?: boolean | undefined
  readonly tasks: WorkedTasks
  readonly message: QueuedMessage<P>
  /** Marks tasks that wait for other agents. Absent where tasks are in memory. */
  readonly marks?: DelegationMarks | undefined
  /** The tasks that the message refers to and its owner may read. */
  readonly referenceTasks: () => readonly TaskSnapshot[]
  /** Reads a page of the earlier tasks of the context. */
  readonly conversation: (of: RunIds, options?: ConversationOptions) => Promise<ConversationPage>
  /** Resolves when all changes of the task so far are stored. Absent where tasks are in memory. */
  readonly stored: (taskId: string) => Promise<void> | undefined
  /** When the task has to end because of a message, in ms since 1970. */
  readonly deadlineOf: () => number | undefined
  /** Ends the run if its deadline has passed, and throws the reason. */
  readonly requireInTime?: () => void
  /** Receives the task as soon as the run has created it. */
  readonly onTask: (task: TaskKey) => void
  /** Listens to signals until the returned function is called. Absent where the run is told of each. */
  readonly listen?: (() => () => void) | undefined
  readonly queues: Pick<MessageQueues<P>, 'has' | 'shift' | 'unshift'>
  /** The run now works on this message. */
  readonly assigned: (taskId: string, message: QueuedMessage<P>) => void
  /** The task has spent more than it may: fails it, and aborts the run with this reason. Absent where no code runs. */
  readonly onExceeded?: (reason: A2AError<'BUDGET_EXCEEDED'>) => void
  /** Follows a step, for telemetry. Returns `undefined` where nothing observes the handler. */
  readonly onStep?: ((step: ObservedStep) => StepFollower | undefined) | undefined
  /** The code has left this run for another one, which begins the turn again. */
  readonly onContinued: (again: OpenTurn | undefined) => void
  /** Called when the run begins or stops to wait for the user: `runTimeoutMs` does not count this time. */
  readonly onWaiting: (isWaiting: boolean) => void
}

export type AskingState = 'input-required' | 'auth-required'

/** What a question says. */
export interface Prompt {
  readonly say: Say
  readonly messageId: string
}

/** What a turn uses of its run. */
export interface RunPort<P extends Principal> extends TurnPort {
  readonly context: RunContext<P>
  /** As that of the journal. `show` throws when there is no task to show. */
  readonly task: () => ReturnType<TurnPort['task']> & { show(reason: Error | undefined): TaskSnapshot }
  /** Moves the task, with `say` as a message of the conversation, in one change with the entries. */
  readonly move: (state: TaskState, entries: readonly JournalEntry[], say?: Prompt) => void
  /** Shows a question that the conversation has, unless the task shows it. */
  readonly showAgain: (state: AskingState, prompt: Prompt) => void
}
