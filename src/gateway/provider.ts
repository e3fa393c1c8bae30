/**
 * What stands between the gateway and a service that runs agents.
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { ArtifactInput, PartInput } from '../core/params.js'
import type { DeepReadonly, Message } from '../core/task.js'
import type { JsonObject, JsonValue } from '../core/json-types.js'
import type { AgentStatus, RegisteredAgent } from './registry/agent.js'

/** Where a service keeps a task: its own ids, as plain JSON, such as those of a thread and a run. */
export type TaskRef = Readonly<JsonObject>

/** What is asked of an agent. */
export interface ProviderTask {
  /** Of the gateway's task. */
  readonly id: string
  /** The conversation. Clients may choose it: with `owner` it is one's own. */
  readonly contextId: string
  /** To whom the task belongs; absent for nobody. */
  readonly owner?: string | undefined
  /** What the user says now. */
  readonly message: DeepReadonly<Message>
  /** The texts of that message, one after the other. */
  readonly text: string
  /** Where the service keeps this task already: the message answers what the agent asked. */
  readonly ref?: TaskRef | undefined
  /** Of the task before this one in the same context and of the same agent: the conversation to go on with. */
  readonly previous?: TaskRef | undefined
}

/** What every call has. */
export interface ProviderCall {
  /** Aborts when nobody waits for the answer any more. The call rejects then, with its reason. */
  readonly signal: AbortSignal
}

/** What a service tells of a task. What is absent has not changed. */
export interface TaskUpdate {
  /** Where the service keeps the task. Told as soon as it is known: without it the task can neither be asked for nor canceled. */
  readonly ref?: TaskRef | undefined
  readonly state?: TaskState | undefined
  /** What the agent says of the state: what it asks, or why it failed. Clients read it. */
  readonly message?: string | { readonly parts: readonly PartInput[] } | undefined
  /** Results, as they are now. One of a known `artifactId` takes that one's place. */
  readonly artifacts?: readonly ArtifactInput[] | undefined
  /** More of a result: its parts are added to those of the artifact of this `artifactId`. */
  readonly chunk?: ArtifactInput | undefined
  /** What comes of the task, as the service says it. */
  readonly output?: JsonValue | undefined
  /** How far the work is, from 0 to 1. */
  readonly progress?: number | undefined
  /** Of a task that failed. */
  readonly failure?: TaskFailure | undefined
}

/** Why a task failed, for programs. */
export interface TaskFailure {
  /** The service's own word, such as `rate_limit_exceeded`. */
  readonly code: string
  /** Whether the same task may well succeed later. */
  readonly retryable: boolean
}

/**
 * Speaks to one kind of service. It keeps nothing of a task: what finds the task again is in its `ref`.
 *
 * Rejects with `PROVIDER_ERROR` where the service fails or says what is not known, with `TASK_NOT_FOUND` where it has no
 * such task, and with `UNSUPPORTED_OPERATION` for what it cannot do at all. A state that is not known is an error, never a guess.
 */
export interface AgentProvider {
  /**
   * `false` for services that keep no tasks: what is asked of them ends with its `signal`, at once. Default is `true`: a task
   * that is canceled while it is being sent may have arrived, and is canceled as soon as its `ref` is known.
   */
  readonly keepsTasks?: boolean
  /**
   * What is wrong with the agent's settings, before it gets a task.
   *
   * @throws {A2AError} `INVALID_PARAMS` with the path, such as `settings.assistantId`.
   */
  checkAgent?(agent: RegisteredAgent): void
  /** Sends the message. Settles when the service has answered, or has accepted the task and gives its `ref`. */
  sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate>
  /** The task as it is now. */
  getTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate>
  /** Asks the service to stop. It may say that it is about to: a `state` that has not ended. */
  cancelTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate>
  /**
   * Sends the message, and tells what happens as it happens. A stream that is over, or breaks, before the task has ended or asks
   * something is no end: the gateway goes on with {@link getTask}, where there is a `ref`.
   */
  streamTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): AsyncIterable<TaskUpdate>
  /** How the agent is. Does not reject because of the service: one that cannot be reached is `offline`. */
  healthCheck(agent: RegisteredAgent, call: ProviderCall): Promise<AgentStatus>
}
