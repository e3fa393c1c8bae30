/**
 * The port between the journal of a turn and the run that the turn belongs to.
 *
 * @module
 */
import type { JournalEntry } from '../../core/events.js'
import type { LineageSource } from '../../core/lineage/mark.js'
import type { LeasedTasks, LocalTasks, SyncTasks } from '../../core/managers.js'
import type { Amounts } from '../../core/spending.js'
import type { DeepReadonly, Message, Part, TaskKey, TaskSnapshot } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import type { GenerateId } from '../../runtime/ids.js'
import type { ObservedStep, StepFollower } from '../observers.js'
import type { RetrySettings } from '../retry.js'
import type { JournalLimits } from './journal-size.js'
import type { EarlierAttempts } from './open-turn.js'

/** The tasks that runs work on: all those of a local manager, or those that this process holds leases of. */
export interface WorkedTasks extends SyncTasks {
  /** Lets a new task be discarded. Only over a shared store, where a task is stored before its code runs. */
  readonly propose?: LeasedTasks['propose']
  readonly confirm?: LeasedTasks['confirm']
  readonly discard?: LeasedTasks['discard']
  /** Requires the lease of the task, before work that must not be done twice. Only over a shared store. */
  readonly requireLease?: LeasedTasks['requireLease']
  /** Adds entries to the journal of the task's turn. */
  readonly recordJournal?: LeasedTasks['recordJournal']
  /** Does work in a transaction of the store, with its entry in the journal. Only over stores that have transactions. */
  readonly transact?: LeasedTasks['transact']
  /** Receives a signal. Only over a manager in memory, whose journal is not recorded. */
  readonly receive?: LocalTasks['receive']
  /** As `patchTask`, but changes nothing if another process changes the task first. Only over a shared store. */
  readonly finish?: LeasedTasks['finish']
}

/** What replaying and recording use of the settings of a handler. */
export interface TurnSettings {
  readonly clock: Clock
  readonly generateId: GenerateId
  readonly retry?: RetrySettings | undefined
  readonly recordStacks: boolean
  readonly limits: JournalLimits & { readonly maxStepBytes: number; readonly maxDepth: number }
}

/** Marks on tasks that wait for other agents: see `DelegationMarks`. */
export interface TaskMarks {
  put(task: TaskKey): Promise<void>
  remove(task: TaskKey): Promise<void>
}

/** What a task may spend. */
export interface TaskBudget {
  /** What is left, by unit. */
  readonly left: Amounts
  /** Call it after each entry that spends. */
  spent(amounts: Amounts): void
  /** Await it before the code begins something that may spend. Rejects with the reason of the run's signal. */
  pass(): Promise<void>
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
  readonly marks: TaskMarks | undefined
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
  /** Listens to signals until the returned function is called. Absent where the run is told of each. */
  readonly listen: (() => () => void) | undefined
  /** Adds entries to the journal of the task. Absent where nothing is recorded. */
  readonly record: ((entries: readonly JournalEntry[]) => void) | undefined
  /** Resolves when everything so far is stored. `undefined` where tasks are in memory. */
  readonly stored: () => Promise<void> | undefined
  /** Asks the user. */
  readonly ask: (prompt: string) => Promise<{ readonly parts: readonly DeepReadonly<Part>[] }>
  /** The lineage of a message to another agent. */
  readonly lineageTo: LineageSource['lineageTo']
  /** `undefined` where the task has no budget. */
  readonly budget: () => TaskBudget | undefined
  /** Follows a step, for telemetry. Returns `undefined` where nothing observes the handler. */
  readonly onStep: ((step: ObservedStep) => StepFollower | undefined) | undefined
}

/** The time limit of a question. */
export interface QuestionTimer {
  /** In ISO 8601. */
  readonly dueAt: string
  /** Whether the time has passed. */
  readonly isDue: boolean
  /** The question needs no limit any more. */
  readonly stop: () => void
}

/**
 * Withdraws a question in one change with the entries. Returns `false` when none is open, or its answer has arrived. Without
 * entries, an earlier attempt has withdrawn it.
 */
export type ExpireQuestion = (entries?: () => readonly JournalEntry[]) => boolean

/** A wait for a signal beside a question. */
export interface SignalWait {
  /** The value of the signal. Absent while there is none: it may be `undefined`. */
  readonly received?: { readonly value: unknown } | undefined
  /** Why the signal could not be received. */
  readonly error?: Error | undefined
  /** The code wants no signal any more: the next wait gets it. */
  readonly stop: () => void
}

/** Begins a wait for a signal. Calls `onEnd` when it comes later, or cannot be received. */
export type AwaitSignal = (name: string, onEnd: () => void) => Promise<SignalWait>

/** Begins the time limit of a question. */
export type LimitQuestion = (name: string, ms: number, expire: ExpireQuestion) => Promise<QuestionTimer>
