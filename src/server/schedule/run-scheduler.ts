/**
 * The port between the run manager and the order in which a task's messages get their runs.
 *
 * Two implementations: {@link LocalRuns} queues messages in memory, {@link ReplicaRuns} shares tasks with other processes
 * under leases. Both call the manager back by one function, {@link SchedulePort.begin}.
 *
 * @module
 */
import type { MaybePromise } from '../../core/managers.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { SendRequest } from '../../wire/dialect.js'
import type { AcceptedMessage, AcceptedTask, ActiveRun } from './active-run.js'
import type { QueuedMessage } from '../run/message-queue.js'
import type { DelegationMarks } from '../journal/delegation-marks.js'
import type { EarlierAttempts } from '../journal/open-turn.js'
import type { RunFailures } from './run-failures.js'
import type { RunRegistry } from './run-registry.js'
import type { Settings } from '../options.js'
import type { WorkedTasks } from '../journal/turn-port.js'
import type { Principal } from '../caller.js'

/** What a scheduler uses of the run manager. */
export interface SchedulePort<P extends Principal> {
  readonly settings: Settings<P>
  readonly registry: RunRegistry<P>
  readonly failures: RunFailures<P>
  /**
   * Begins a run for a message: of a new task, or of `options.task`.
   *
   * @throws What the task manager throws when an existing task cannot move to `working`.
   */
  readonly begin: (message: QueuedMessage<P>, options: BeginOptions) => ActiveRun<P>
}

export interface BeginOptions {
  /** The task, where it exists already. */
  readonly task?: TaskKey
  /** Whether the client reads the task as it was before any work. Default is `false`. */
  readonly isStream?: boolean
  /** The tasks that the message refers to, where they were read before. */
  readonly references?: readonly TaskSnapshot[] | undefined
  /** The earlier attempts of the turn that the message began, where it continues. */
  readonly earlier?: EarlierAttempts | undefined
  /** Whether the task waits for the user and keeps its state: the turn continues because of something else. */
  readonly staysWaiting?: boolean
  /** Whether the lease's note names the message already, perhaps with more of its request than this process knows. */
  readonly isNoted?: boolean
}

export interface RunScheduler<P extends Principal> {
  /** The tasks that runs change. */
  readonly tasks: WorkedTasks
  /** Marks tasks that wait for other agents. Absent where tasks are in memory. */
  readonly marks?: DelegationMarks
  /** Listens to signals, for runs, until the returned function is called. Absent where runs are told of each. */
  readonly listen?: () => () => void
  /** Whether another process restarts the work that is unfinished at {@link close}. */
  readonly handsOver: boolean

  /**
   * Accepts a message with `accept`. When a task with the id that the client has chosen appears at the same time, the
   * message becomes a follow-up of that task. Absent where tasks are in memory, where none appears.
   */
  acceptChosen?(
    accept: () => Promise<AcceptedMessage>,
    taskId: string,
    ownerOf: () => OwnerFilter,
  ): Promise<AcceptedMessage>
  /**
   * Accepts a message to an existing task.
   *
   * @throws {A2AError} At once or as a rejection: as `Acceptance.accept`.
   */
  followUp(taskId: string, message: QueuedMessage<P>): MaybePromise<AcceptedTask>

  /** Reads the tasks that a message refers to, before its run begins. Absent where tasks are in memory. */
  loadReferences?(request: SendRequest, owner: OwnerFilter): Promise<readonly TaskSnapshot[]> | undefined
  /** The tasks that a message refers to, where none were read before. */
  referencesOf(request: SendRequest, owner: OwnerFilter): readonly TaskSnapshot[]
  /** Resolves when the task that a run has created is stored. Absent where tasks are in memory. */
  stored?(taskId: string): Promise<void> | undefined

  /** A run that is under way now works on this message: its lease notes it. Absent where tasks have no leases. */
  assigned?(taskId: string, message: QueuedMessage<P>): void
  /** The task's run has ended: the next queued message gets its run, or the task is released. */
  runEnded(taskId: string, active: ActiveRun<P>): void
  /**
   * Does the turn of a task, unless another process does. Resolves when this process has left the task. Absent where tasks are
   * in memory.
   *
   * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `TASK_TERMINAL`; `STORE_FAILED`.
   */
  take?(taskId: string): Promise<void>
  /** Looks for turns that no process does. Absent where tasks are in memory. */
  takeDue?(): void
  /** Resolves when everything is stored and no run will begin. */
  close(): Promise<void>
}
