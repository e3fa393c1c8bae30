/**
 * Events: the entries of a task's log, and the events of a manager.
 *
 * @module
 */
import type { TaskState } from './lifecycle.js'
import type { Artifact, DeepReadonly, Message, TaskSnapshot } from './task.js'
import type { JsonObject, JsonValue, ReadonlyJson } from './json-types.js'
import type { Amounts, Spent } from './spending.js'

interface EventBase {
  readonly taskId: string
  /** The generation of the task after this event. */
  readonly generation: number
  readonly timestamp: string
}

/** The first event of every task. */
export interface TaskCreated<S extends string = TaskState> extends EventBase {
  readonly type: 'created'
  readonly state: S
  readonly contextId: string
  readonly skill: string
  readonly input: DeepReadonly<JsonValue>
  readonly metadata: DeepReadonly<JsonObject>
  readonly referenceTaskIds?: readonly string[]
  readonly owner?: string
}

/** The task moved to another state. With equal states: it reported progress. */
export interface StatusChanged<S extends string = TaskState> extends EventBase {
  readonly type: 'status'
  readonly from: S
  readonly to: S
  /** The new status message; `null` when the message was removed. */
  readonly message?: string | DeepReadonly<Message> | null
  /** Changes of the task's metadata: each key has its new value, and one whose new value is `null` is removed. */
  readonly metadata?: DeepReadonly<JsonObject> | undefined
}

/** The task has another output, which replaces the earlier one. */
export interface OutputChanged extends EventBase {
  readonly type: 'output'
  readonly output: DeepReadonly<JsonValue>
}

/** An artifact, or a chunk of one. */
export interface ArtifactChanged extends EventBase {
  readonly type: 'artifact'
  readonly artifact: DeepReadonly<Artifact>
  /** `true`: `artifact` continues the one with the same `artifactId`. `false`: it is new, or replaces that one. */
  readonly append: boolean
  /** The producer declares that no chunk will follow. */
  readonly lastChunk: boolean
  /** The name of the step that wrote it, as in the journal. Absent for other code. */
  readonly step?: string | undefined
  /**
   * What an attempt that did not finish had written is undone: `true` if this is what is left of the artifact, `false` if nothing
   * is left and this is its first chunk.
   */
  readonly restored?: boolean | undefined
}

/** A message joined the conversation. */
export interface MessageAdded extends EventBase {
  readonly type: 'message'
  readonly message: DeepReadonly<Message>
}

/** An error that a step or an attempt ended with. */
export interface StepError {
  /** At most 100 characters. */
  readonly name: string
  /** At most 2,000 characters: the beginning of a longer one. */
  readonly message: string
  /** The `code` of the error, such as `'ECONNRESET'`. A text has at most 100 characters. */
  readonly code?: string | number | undefined
  /** The `data` of an `A2AError`, of at most 8 KiB. */
  readonly data?: ReadonlyJson | undefined
  /** Where it was made, with the option `recordStacks` of the handler: at most 4,000 characters, the beginning of a longer one. */
  readonly stack?: string | undefined
}

/** The properties of every entry. */
interface Recorded {
  /**
   * The name of the process that recorded it, where that has the option `replica`. Absent for the further entries that it has
   * recorded in a row.
   */
  readonly by?: string | undefined
}

/** The properties of an entry that the code of a run asks for. */
interface Asked {
  /** The name that the code gave, with its occurrence in the turn: `price#2` is the second `price`. */
  readonly name: string
  /** Whether the code waited for something else at the same time. */
  readonly isParallel?: boolean | undefined
}

/** An attempt of the turn has thrown. */
export interface AttemptEntry {
  readonly kind: 'attempt'
  /** 1 for the first attempt. */
  readonly number: number
  readonly error: StepError
  readonly step?: string | undefined
}

/** Why a task has failed for good. */
export interface FailureEntry {
  readonly kind: 'failure'
  /** `'error'`: `execute` threw in its last attempt. `'restarts'`: its processes died. */
  readonly reason: 'error' | 'restarts'
  /** The number of attempts, or of restarts in a row. */
  readonly count: number
  readonly error?: StepError | undefined
  /** The failed step whose error `execute` threw. */
  readonly step?: string | undefined
  /** What the process that died had noted about its work. */
  readonly note?: ReadonlyJson | undefined
  /** What kind of work the process did that died. Absent for that of a request handler. */
  readonly worker?: string | undefined
}

/** A message with which a turn continues, in place of the user's. */
export type ContinuedMessage = Pick<Message, 'messageId' | 'parts'> &
  Partial<Pick<Message, 'metadata' | 'extensions' | 'referenceTaskIds'>>

/** A turn of work has begun, or has ended its journal and begun another one. */
export interface TurnEntry {
  readonly kind: 'turn'
  /** The user's message that the turn works on. */
  readonly messageId: string
  /** The data of the request that are not in the message. */
  readonly note?: ReadonlyJson | undefined
  /** The first artifact id that the turn has made, from which the others follow. */
  readonly ids?: string | undefined
  /** The id of the task in which the turn began, for a fork. Absent for this task. */
  readonly origin?: string | undefined
  /** What the code has begun again with, by `run.continueAs`. Absent for the first journal of a turn. */
  readonly continued?:
    | {
        /** 1 for the second journal of the turn, one more for each further one. */
        readonly round: number
        readonly message: DeepReadonly<ContinuedMessage>
        /** The turn has read the user's messages from its first one up to the one with this id. Absent for only the first. */
        readonly readTo?: string | undefined
        /** The ids of later messages of the user that the turn has read. */
        readonly read: readonly string[]
      }
    | undefined
  /** The task in whose name the steps of the turn call services, for a redriven task. Absent for this task. */
  readonly key?: string | undefined
}

/** The value of a signal. */
interface Sent {
  readonly value: ReadonlyJson
  readonly tagged?: true | undefined
}

/** What the work of a step has spent. */
export interface SpentInStep extends Spent {
  readonly kind: 'spend'
  /** The name of the step, as in its entry. */
  readonly step: string
}

/**
 * One entry of a journal.
 *
 * - `turn`: a turn of work began with the user's message `messageId`, in this task or in the one that it is a fork of. With
 *   `continued`, the turn continues with a new journal.
 * - `step`: a step is done, with its output or, after all its attempts, its error.
 * - `question`: the user was asked.
 * - `answer`: the user's message `messageId` answered the question of this name.
 * - `sleep`: the code waits until `dueAt`.
 * - `wake`: the sleep of this name is over.
 * - `signal`: a value was sent to the code.
 * - `wait`: the code waits for a signal.
 * - `received`: the wait of this name is over: the code received this value. With `isWithdrawn`, it wants none any more, and the
 *   signal stays for the next wait.
 * - `delegate`: the code is about to send a message to another agent, whose run has this handle.
 * - `handle`: the other agent has answered, with its task.
 * - `delegated`: the other agent's task has ended, or waits.
 * - `value`: the code received a time, a random number or an id; or, with the name of a question that has a schema, what its
 *   answer was found to be.
 * - `change`: the code takes the new way at a change of its version.
 * - `spend`: the code has spent this. Within the work of a step, the entry has the name of the step in place of its own: a replay
 *   does not pass it.
 * - `grant`: the option `onBudget` of the handler has added this to the budget of the task.
 * - `read`: the code read the conversation, which had this many messages.
 * - `attempt`: `execute` threw, and is called again. `step`: the failed step whose error it threw.
 * - `failure`: the task fails for good, after all attempts of `execute` or all restarts.
 * - `end`: the turn is over, and the task is not. `unread` are the ids of answers that the code has not read: they begin
 *   their own turns.
 *
 * With `tagged`, the output or value holds what JSON does not have, with a tag: `{ "$Date": "2026-01-31T09:00:00.000Z" }`.
 */
export type JournalEntry = Recorded &
  (
    | TurnEntry
    | (Asked & {
        readonly kind: 'step'
        readonly output?: ReadonlyJson | undefined
        readonly tagged?: true | undefined
        readonly error?: StepError | undefined
        readonly attempts: number
        /**
         * How long the step took in the process that ended it, with all attempts there and the pauses between them, in ms. Absent
         * for less than one.
         */
        readonly durationMs?: number | undefined
      })
    | (Asked & { readonly kind: 'question' })
    | (Asked & { readonly kind: 'answer'; readonly messageId: string })
    | (Asked & { readonly kind: 'withdrawn' })
    | (Asked & { readonly kind: 'sleep'; readonly dueAt: string })
    | (Asked & { readonly kind: 'wake' })
    | (Sent & { readonly kind: 'signal'; readonly name: string })
    | (Asked & { readonly kind: 'wait' })
    | (Asked & Sent & { readonly kind: 'received'; readonly isWithdrawn?: true | undefined })
    | (Asked & {
        readonly kind: 'delegate'
        readonly handle: ReadonlyJson
        /** The URL of the agent, or its name. */
        readonly agent?: string | undefined
        /** What was left of the task's budget: the agent's task may spend so much. Absent without a budget. */
        readonly budget?: Amounts | undefined
      })
    | (Asked & { readonly kind: 'handle'; readonly handle: ReadonlyJson })
    | (Asked & {
        readonly kind: 'delegated'
        readonly result: ReadonlyJson
        /** What the agent's task has spent for this message, in the units of the task's budget. Absent for nothing. */
        readonly spent?: Amounts | undefined
      })
    | (Asked & { readonly kind: 'value'; readonly value: ReadonlyJson })
    | (Asked & { readonly kind: 'change' })
    | (Asked & Spent & { readonly kind: 'spend' })
    | SpentInStep
    | { readonly kind: 'grant'; readonly units: Amounts }
    | { readonly kind: 'read'; readonly count: number }
    | AttemptEntry
    | FailureEntry
    | { readonly kind: 'end'; readonly unread?: readonly string[] | undefined }
  )

/** The journal of the task's turn has another entry. Clients of the protocol do not receive this event. */
export interface JournalRecorded extends EventBase {
  readonly type: 'journal'
  readonly entry: JournalEntry
}

/** Whether a value was sent to the code of the task. */
export function isSignal(event: TaskEvent<string>): boolean {
  return event.type === 'journal' && event.entry.kind === 'signal'
}

/** An entry of a task's log. Folding all entries with `evolve` results in the task. */
export type TaskEvent<S extends string = TaskState> =
  TaskCreated<S> | StatusChanged<S> | OutputChanged | ArtifactChanged | MessageAdded | JournalRecorded

/** The events of a new task, which begin with its creation. */
export type NewLog<S extends string = TaskState> = readonly [TaskCreated<S>, ...TaskEvent<S>[]]

/**
 * The whole task in place of events: the first entry of a subscription without a cursor (`snapshot`), or sent because
 * the events after the cursor are no longer held (`resync`). Continue from its `generation`; it replaces all earlier
 * events.
 */
export type TaskCaughtUp<S extends string = TaskState> =
  TaskCaughtUpAs<'snapshot', S> | TaskCaughtUpAs<'resync', S>

interface TaskCaughtUpAs<T extends string, S extends string> extends EventBase {
  readonly type: T
  readonly task: TaskSnapshot<S>
}

/** An entry that `subscribe` yields. */
export type TaskStreamEvent<S extends string = TaskState> = TaskCaughtUp<S> | TaskEvent<S>

/** The payload of `task:stateChange`. */
export interface StateChange<S extends string = TaskState> {
  readonly taskId: string
  readonly from: S
  readonly to: S
  readonly timestamp: string
  readonly generation: number
}

/** What a listener threw, or its promise rejected with. */
export interface ListenerFailure {
  readonly error: unknown
  /** The event whose listener failed. */
  readonly event: string
}

/**
 * The events of a `TaskManager`. Each is emitted after the change is stored. For one change the order is:
 * `task:stateChange`; then, entry by entry, `task:event` with `task:artifact` or `task:message`; then `task:updated`.
 * Events of different changes do not mix. Payloads are frozen and shared by all listeners.
 */
export interface TaskEvents<S extends string = TaskState> {
  'task:created': (task: TaskSnapshot<S>) => void
  /** The task entered another state. Not emitted for progress within a state. */
  'task:stateChange': (change: StateChange<S>) => void
  /** The task after any change. Not emitted when a task is created, or only its journal has grown. */
  'task:updated': (task: TaskSnapshot<S>) => void
  /** An artifact, or a chunk of one, was added. */
  'task:artifact': (event: ArtifactChanged) => void
  /** A message was added to the conversation. */
  'task:message': (event: MessageAdded) => void
  /** The task exceeded `expiryMs`, or was deleted, and was removed. */
  'task:expired': (task: TaskSnapshot<S>) => void
  /** The task was removed to make room, as `whenFull` says. */
  'task:evicted': (task: TaskSnapshot<S>) => void
  /** Every entry of every task's log. */
  'task:event': (event: TaskEvent<S>) => void
  /** A listener threw, or its promise rejected. Without a listener for this event the error becomes an uncaught one. */
  'listener:error': (failure: ListenerFailure) => void
}

/** The properties of a task that never change. */
type NewTask = Pick<TaskSnapshot, 'id' | 'contextId' | 'skill' | 'input' | 'metadata'> & {
  readonly referenceTaskIds?: readonly string[] | undefined
  readonly owner?: string | undefined
}

/** The first event of a task, from the command that creates the task or from the task itself. */
export function createdEvent<S extends string>(source: NewTask, state: S, timestamp: string): TaskCreated<S> {
  const { id, contextId, skill, input, metadata, referenceTaskIds, owner } = source
  const event = {
    type: 'created',
    taskId: id,
    generation: 1,
    timestamp,
    state,
    contextId,
    skill,
    input,
    metadata,
  } as const
  if (referenceTaskIds === undefined && owner === undefined) return event
  return { ...event, ...(referenceTaskIds && { referenceTaskIds }), ...(owner !== undefined && { owner }) }
}
