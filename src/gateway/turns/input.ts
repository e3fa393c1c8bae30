/**
 * Messages to agents: the caller's input, and its form for providers.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../core/errors.js'
import { readParams } from '../../core/validate.js'
import { describe } from '../../runtime/describe.js'
import { requireMethods } from '../../runtime/options.js'
import type { JsonObject } from '../../core/json-types.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import { withLineage, type LineageSource } from '../../core/lineage/mark.js'
import type { SyncTasks } from '../../core/managers.js'
import type { MessageInput, PartInput } from '../../core/params.js'
import type { DeepReadonly, Message, TaskSnapshot } from '../../core/task.js'
import { textOf } from '../../wire/text.js'
import type { ProviderTask, TaskRef } from '../provider.js'
import type { HandleContents } from './handle.js'

/** Input of `sendTask`: a text, or parts. */
export type TaskInput = string | TaskContent

/** A message to an agent of the gateway. */
export interface TaskContent {
  readonly parts: readonly PartInput[]
  /** The interrupted task that this message answers. */
  readonly taskId?: string | undefined
  /** The conversation to continue. Default is a new one. */
  readonly contextId?: string | undefined
  /** Ids of tasks that this one refers to. */
  readonly referenceTaskIds?: readonly string[] | undefined
  readonly metadata?: Readonly<JsonObject> | undefined
}

/** Options of `A2AGateway.sendTask` and `streamTask`. */
export interface SendTaskOptions {
  /** Id of the new task. Default is a generated one. */
  readonly id?: string | undefined
  /** The principal that the task belongs to, and the key of the rate limit. Tasks without one share one limit. */
  readonly owner?: string | undefined
  /** Resolves without waiting for the end of the task. Default is `false`. */
  readonly returnImmediately?: boolean | undefined
  /** Cancels the task when it aborts. */
  readonly signal?: AbortSignal | undefined
  /**
   * What the message is sent for: the `run` of a request handler, whose task is then the parent of the gateway's. Agents on
   * A2A receive the lineage of the gateway's task in any case.
   */
  readonly lineage?: LineageSource | undefined
}

/** A turn on a task that is in the gateway's `tasks`. */
export interface WorkOptions {
  /** Creates the task, or returns the id of an existing one. Called once, after the agent has been admitted. */
  readonly open: () => string
  /** Key of the rate limit. Without it the task counts for the limit that all unowned tasks share. */
  readonly owner?: string | undefined
  /** Follows this task of the service instead of sending the message. */
  readonly handle?: HandleContents | undefined
  /** Aborts when the task is no longer wanted. */
  readonly signal: AbortSignal
  /** Called once with the task's id, as soon as `A2AGateway.handleOf` can return a handle. */
  readonly onPlaced?: ((taskId: string) => void) | undefined
}

const KEYS = ['parts', 'taskId', 'contextId', 'referenceTaskIds', 'metadata']
export const SEND_KEYS = ['id', 'owner', 'returnImmediately', 'signal', 'lineage']

/** Builds the user's message. The manager validates its content. */
export function toMessage(input: TaskInput, method: string): MessageInput {
  if (typeof input === 'string') return { role: 'user', parts: [{ text: input }] }
  if (typeof (input as unknown) !== 'object')
    throw invalidParams('input', `must be a text, or { parts }, got ${describe(input)}`)
  const { parts, taskId, contextId, ...others } = readParams(input, KEYS, method)
  if (!Array.isArray(parts))
    throw invalidParams('parts', 'is missing: pass a text, or { parts: [{ text: … }] }')
  return {
    ...others,
    role: 'user',
    parts,
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
  }
}

/**
 * The message with the lineage of what it is sent for.
 *
 * @param agent - The URL of the agent, or its id where it has none.
 * @throws {A2AError} `LIMIT_EXCEEDED`; `UNSUPPORTED_OPERATION`.
 * @throws {TypeError} when `lineage` is none.
 */
export function marked(
  message: MessageInput,
  lineage: LineageSource | undefined,
  agent: string,
): MessageInput {
  if (lineage === undefined) return message
  requireMethods('lineage', lineage, ['lineageTo'], 'be the run of a request handler')
  // A lineage is plain JSON.
  return withLineage(message, lineage.lineageTo(agent))
}

export function toProviderTask(
  { id, contextId, owner }: Pick<TaskSnapshot, 'id' | 'contextId' | 'owner'>,
  message: DeepReadonly<Message>,
  ref: TaskRef | undefined,
  previous: TaskRef | undefined,
  sendId?: string,
): ProviderTask {
  return { id, contextId, owner, message, text: textOf(message), ref, previous, sendId }
}

/**
 * Returns the interrupted task that a message answers.
 *
 * @throws {A2AError} `TASK_NOT_FOUND`, `TASK_TERMINAL`, `UNSUPPORTED_OPERATION`.
 */
export function requireInterrupted(task: TaskSnapshot | null, taskId: string): TaskSnapshot {
  if (task === null) throw taskNotFound(taskId)
  const { state } = task
  if (isTerminal(state)) {
    const text = `Cannot send a message to a task in terminal state: ${state}`
    throw new A2AError('TASK_TERMINAL', text, { taskId, state })
  }
  if (isInterrupted(state)) return task
  throw takesNoMessage()
}

export function takesNoMessage(): A2AError<'UNSUPPORTED_OPERATION'> {
  return new A2AError(
    'UNSUPPORTED_OPERATION',
    'The agent is working on the task and accepts no message now',
    {
      operation: 'sendTask',
    },
  )
}

/** @throws {TypeError} when the task is in a manager other than the gateway's. */
export function requireTask(tasks: SyncTasks | undefined, taskId: string): TaskSnapshot {
  const task = tasks?.peekTask(taskId) ?? null
  if (task !== null) return task
  throw new TypeError(
    "The task is not in the gateway's tasks: pass createRequestHandler({ tasks: gateway.tasks })",
  )
}
