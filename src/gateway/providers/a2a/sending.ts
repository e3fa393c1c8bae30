/**
 * Messages to A2A agents: sent once, also by a process that continues for one that has died.
 *
 * @module
 */
import { onAbort } from '../../../runtime/abort.js'
import type { A2AClient } from '../../../client/a2a-client.js'
import type { MessageContent } from '../../../client/message.js'
import { isOneOf, RunAbandoned } from '../../../client/run/run-errors.js'
import type { RunOptions } from '../../../client/run/run-types.js'
import type { JsonObject } from '../../../core/json-types.js'
import type { Part } from '../../../core/task.js'
import { compact } from '../../../runtime/compact.js'
import type { ProviderTask, TaskUpdate } from '../../provider.js'
import { toReplyUpdate, toTaskUpdate } from './updates.js'

/**
 * Builds the message for the agent. It gets an id of its own, since the ids of two users may be the same. Its task and
 * context ids are those of the agent. In a new conversation, a message that may be repeated brings a context id: a search
 * finds its task by it.
 */
export function toMessage(
  { message, ref, previous, sendId }: ProviderTask,
  { interface: { protocolVersion } }: Pick<A2AClient, 'interface'>,
): MessageContent {
  const { taskId } = ref ?? {}
  const known = (ref ?? previous)?.['contextId']
  // Agents of A2A 0.3 may replace a client's context id.
  const contextId = known === undefined && !protocolVersion.startsWith('0.') ? sendId : known
  const { metadata } = message
  return {
    // The client only reads the parts.
    parts: message.parts as readonly Part[],
    ...(sendId !== undefined && { messageId: sendId }),
    ...(typeof taskId === 'string' && { taskId }),
    ...(typeof contextId === 'string' && { contextId }),
    ...(metadata !== undefined && { metadata: metadata as JsonObject }),
  }
}

/** Sends a message, and without its context id where the agent refuses those of clients (A2A 1.0 §3.4.1). */
export async function sendOnce<T>(
  message: MessageContent,
  send: (message: MessageContent) => Promise<T>,
): Promise<T> {
  try {
    return await send(message)
  } catch (error) {
    if (!isOwnContext(message) || !isOneOf(error, ['INVALID_PARAMS', 'TASK_NOT_FOUND'])) throw error
    return await send({ ...message, contextId: undefined })
  }
}

/**
 * Finds the task of a message that may have been sent, and sends the message if the agent certainly does not have it.
 *
 * @returns The task as it is then; `undefined` if the agent refuses the context id that would find the task.
 */
export async function repeat(
  client: A2AClient,
  message: MessageContent,
  { signal, ...options }: Pick<RunOptions, 'lineage' | 'timeoutMs'> & { readonly signal: AbortSignal },
): Promise<TaskUpdate | undefined> {
  const { messageId = '', taskId, contextId } = message
  const controller = new AbortController()
  // The run leaves the task alone: the caller follows or cancels it.
  const abandon = (): void => controller.abort(new RunAbandoned(signal.reason))
  let update: TaskUpdate | undefined
  const ignore = onAbort(signal, abandon)
  try {
    const result = await client.run(message, {
      ...options,
      signal: controller.signal,
      repeats: compact({
        messageId,
        taskId,
        contextId,
        isOwnContext: isOwnContext(message) ? true : undefined,
      }),
      onStart(handle) {
        if (handle.contextId !== contextId) throw new ContextRefused()
      },
      onUpdate({ task }) {
        update ??= toTaskUpdate(structuredClone(task))
        abandon()
      },
    })
    if (update !== undefined) return update
    if (result.type === 'message') return toReplyUpdate(result.message)
    if ('error' in result) throw result.error
    return toTaskUpdate(result.task)
  } catch (error) {
    if (error instanceof ContextRefused) return undefined
    throw error
  } finally {
    ignore()
  }
}

/** Ends a run that would send the message without the context id that finds its task. */
class ContextRefused extends Error {}

function isOwnContext({ messageId, contextId }: MessageContent): boolean {
  return contextId !== undefined && contextId === messageId
}
