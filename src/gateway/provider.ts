/**
 * Interface between the gateway and a service that runs agents.
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { ArtifactInput, PartInput } from '../core/params.js'
import type { Amounts } from '../core/spending.js'
import type { DeepReadonly, Message } from '../core/task.js'
import type { JsonObject, JsonValue } from '../core/json-types.js'
import type { AgentStatus, RegisteredAgent } from './registry/agent.js'

/** The service's own ids of a task as plain JSON, such as those of a thread and a run. */
export type TaskRef = Readonly<JsonObject>

/** A message to an agent, with its task. */
export interface ProviderTask {
  /** Id of the gateway's task. */
  readonly id: string
  /** The conversation. Clients may choose it, so that it is unique only together with `owner`. */
  readonly contextId: string
  /** The principal that the task belongs to. Absent for a task without an owner. */
  readonly owner?: string | undefined
  /** The user's current message. */
  readonly message: DeepReadonly<Message>
  /** The texts of that message, concatenated. */
  readonly text: string
  /** The task at the service. Present when the message answers an interrupted task. */
  readonly ref?: TaskRef | undefined
  /** The agent's previous task in the same context: the conversation to continue. */
  readonly previous?: TaskRef | undefined
  /**
   * Identifies this message, and no other: {@link AgentProvider.repeatTask} gets the same id. Absent where the tasks of the
   * gateway are in memory, since no other process can repeat the message.
   */
  readonly sendId?: string | undefined
}

/** Arguments that every call has. */
export interface ProviderCall {
  /** Aborts when the result is no longer wanted. The call then rejects with the signal's reason. */
  readonly signal: AbortSignal
}

/** A change of a task, as its service reports it. An absent field is unchanged. */
export interface TaskUpdate {
  /**
   * The task at the service. Report it as early as it is known: without it the task can be neither polled nor canceled.
   */
  readonly ref?: TaskRef | undefined
  readonly state?: TaskState | undefined
  /** The agent's text for this state: its question, or why it failed. Clients read it. */
  readonly message?: string | { readonly parts: readonly PartInput[] } | undefined
  /** Complete artifacts. One with a known `artifactId` replaces that artifact. */
  readonly artifacts?: readonly ArtifactInput[] | undefined
  /** A part of an artifact: its parts are appended to the artifact with this `artifactId`. */
  readonly chunk?: ArtifactInput | undefined
  /** The task's result, as the service returns it. */
  readonly output?: JsonValue | undefined
  /** What the task has spent so far, by unit: `{ cost: 0.02 }`. `gateway.stats()` counts it when the task ends. */
  readonly spent?: Amounts | undefined
  /** Progress of the work, from 0 to 1. */
  readonly progress?: number | undefined
  /** Only for a failed task. */
  readonly failure?: TaskFailure | undefined
}

/** Machine-readable reason of a failure. */
export interface TaskFailure {
  /** The service's own code, such as `rate_limit_exceeded`. */
  readonly code: string
  /** Whether the same task may succeed later. */
  readonly retryable: boolean
}

/**
 * Adapter for one kind of service. It stores nothing about a task: everything that finds the task again is in its
 * `ref`.
 *
 * Calls reject with `PROVIDER_ERROR` when the service fails or its answer is not understood, with `TASK_NOT_FOUND` when
 * the service does not have the task, and with `UNSUPPORTED_OPERATION` for an operation that the service does not have.
 * An unknown state is an error, never a guess.
 */
export interface AgentProvider {
  /**
   * `false` for services that keep no tasks: aborting the `signal` of a request ends its work at once. Default is
   * `true`: a request that is aborted may have arrived, so the gateway waits for its `ref` and cancels the task.
   */
  readonly keepsTasks?: boolean
  /**
   * Validates the agent's settings. Called before the agent gets a task.
   *
   * @throws {A2AError} `INVALID_PARAMS` with the path, such as `settings.assistantId`.
   */
  checkAgent?(agent: RegisteredAgent): void
  /** Sends the message. Resolves when the service has answered, or has accepted the task and returned its `ref`. */
  sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate>
  /** Returns the current state of the task. */
  getTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate>
  /** Requests cancellation. A service that only begins to cancel returns a `state` that is not terminal. */
  cancelTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate>
  /**
   * Sends the message, and yields updates as they happen. When the stream ends or breaks before the task is terminal or
   * interrupted, the gateway continues with {@link getTask}, provided that a `ref` is known.
   */
  streamTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): AsyncIterable<TaskUpdate>
  /**
   * Sends a message that a process which has died may have sent already: returns its task if the service has it, and sends
   * the message only if the service certainly does not have it. Rejects if that cannot be found out. Without this method,
   * the gateway sends nothing and fails the task.
   */
  repeatTask?(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate>
  /**
   * Returns the agent's health. A service that cannot be reached is `offline`; the promise does not reject because of
   * it.
   */
  healthCheck(agent: RegisteredAgent, call: ProviderCall): Promise<AgentStatus>
}
