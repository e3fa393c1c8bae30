/**
 * Tasks at the agent: found, answered, canceled, and waited for.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { isTerminal } from '../core/lifecycle.js'
import { onAbort } from '../runtime/abort.js'
import type { JsonValue } from '../core/json-types.js'
import type { Unread } from '../runtime/unread.js'
import { fittingId } from '../server/idempotency.js'
import type { MessageContent } from '../client/message.js'
import { resultOf } from '../client/run/remote-task.js'
import type { RunOptions, RunResult } from '../client/run/run-types.js'
import type { RemoteTask, SendResult } from '../wire/client/dialect.js'
import { textOf } from '../wire/text.js'
import type { McpAgent, Settings } from './options.js'
import type { RequestId } from './request-id.js'
import { questionIn } from './question-ids.js'
import { answerTo, type Answer } from './questions.js'
import type { Reads } from './reads.js'
import { Refusal } from './refusal.js'

/** What reads tasks. */
interface Reading {
  readonly agent: McpAgent
  readonly read: Reads['read']
}

/**
 * Takes the answer of a client with a session. Late answers, and answers to nothing, have no effect. Such a client hears nothing of
 * an answer that does not fit: the agent gets it as words, asks again, and says what it wants.
 */
export async function takeResponse(scene: Reading, id: RequestId, result: Unread | undefined): Promise<void> {
  const question = questionIn(String(id))
  if (question === undefined) return
  const { taskId, key } = question
  const task = await knownTask(scene, taskId)
  const response = result ?? { action: 'cancel' }
  try {
    await deliver(scene.agent, task, answerTo(task, { [key]: response }))
  } catch (error) {
    if (!A2AError.is(error, 'INVALID_PARAMS')) throw error
    const messageId = fittingId(`${task.message?.messageId ?? task.id}/unfit`)
    // The body is JSON.
    const parts = [{ data: (response['content'] ?? null) as JsonValue }]
    await scene.agent.send({ taskId, messageId, parts }, { returnImmediately: true })
  }
}

/** Sends the answers to the agent. A question that the user does not answer ends the task. */
export async function deliver(agent: McpAgent, { id }: RemoteTask, answer: Answer): Promise<void> {
  if (answer.isGivenUp) await cancel(agent, id)
  else if (answer.parts.length > 0) {
    const { messageId, parts, extensions } = answer
    try {
      await agent.send({ taskId: id, messageId, parts, extensions }, { returnImmediately: true })
    } catch (error) {
      if (!(await isLate(agent, id, answer))) throw error
    }
  }
}

/**
 * Sends a message to an agent of this process, which answers as soon as it has stored it, and follows the task if it has not ended by
 * then. The request is not aborted: its answer has the id of the task to cancel.
 */
export async function sendAndFollow(
  agent: McpAgent,
  message: MessageContent,
  options: RunOptions,
): Promise<RunResult> {
  let sent: SendResult
  try {
    sent = await agent.send(message, { returnImmediately: true })
  } catch (error) {
    if (!A2AError.is(error)) throw error
    const handle = { messageId: message.messageId ?? '' }
    return { ok: false, type: 'error', text: error.message, error, handle }
  }
  if (sent.type === 'message') return { ok: true, ...sent, text: textOf(sent.message) }
  const { task } = sent
  if (isTerminal(task.state)) return resultOf(task)
  const handle = { taskId: task.id, messageId: message.messageId ?? task.id }
  options.onUpdate?.({ event: sent, task, handle })
  return await agent.resume(handle, options)
}

/** Whether the agent has refused this answer because it has another one to the same question. */
export async function isLate(agent: McpAgent, taskId: string, { messageId }: Answer): Promise<boolean> {
  try {
    const { state, messages } = await agent.getTask(taskId)
    return isTerminal(state) || messages.some((message) => message.messageId === messageId)
  } catch (error) {
    // A user who answers for the owner no longer sees the task once its question is answered.
    return A2AError.is(error, 'TASK_NOT_FOUND')
  }
}

/** A task that has ended is left as it is. */
export async function cancel(agent: McpAgent, id: string): Promise<void> {
  try {
    await agent.cancelTask(id)
  } catch (error) {
    if (!A2AError.is(error, 'TASK_NOT_CANCELABLE')) throw error
  }
}

/** @throws {Refusal} for a task that is unknown, or of another owner. */
export async function knownTask({ agent, read }: Reading, id: string): Promise<RemoteTask> {
  try {
    return await read(() => agent.getTask(id))
  } catch (error) {
    if (A2AError.is(error, 'TASK_NOT_FOUND') || A2AError.is(error, 'INVALID_PARAMS'))
      throw new Refusal('params', 'Task not found')
    throw error
  }
}

/** The reason for which a run leaves its task alone. */
export function left(): A2AError {
  return new A2AError('LEASE_LOST', 'The client follows the task itself', { taskId: '' })
}

/**
 * Waits until the task has another state, or another status message. Returns early if the signal aborts.
 *
 * @throws {A2AError} `UNAVAILABLE` when the agent shuts down; `RATE_LIMITED` when it has too many streams of the user.
 */
export async function untilChanged(
  { agent, read, settings }: Reading & { readonly settings: Settings },
  task: Seen,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (isTerminal(task.state)) return
  const isSame = ({ state, message }: Pick<Seen, 'state' | 'message'>): boolean =>
    state === task.state && message?.messageId === task.message?.messageId
  for (;;) {
    try {
      for await (const event of agent.subscribe(task.id, { signal })) {
        const now = event.type === 'task' ? event.task : event
        if ('state' in now && !isSame(now)) return
      }
    } catch (error) {
      if (A2AError.is(error, 'UNAVAILABLE') || A2AError.is(error, 'RATE_LIMITED')) throw error
      // The agent has no streams, or the task has ended.
    }
    if (signal?.aborted === true || !isSame(await read(async () => seen(await agent.getTask(task.id)))))
      return
    const next = deferred()
    const disarm = settings.clock.schedule(next.resolve, settings.pollIntervalMs)
    const ignore = onAbort(signal, next.resolve)
    await next.promise
    disarm()
    ignore()
  }
}

/** What tells whether a task has changed. The whole task would take memory for as long as it is followed. */
export interface Seen {
  readonly id: string
  readonly state: RemoteTask['state']
  readonly message?: { readonly messageId: string } | undefined
}

export function seen({ id, state, message }: RemoteTask): Seen {
  return { id, state, message: message && { messageId: message.messageId } }
}

export interface Deferred {
  readonly promise: Promise<undefined>
  readonly resolve: () => void
}

export function deferred(): Deferred {
  let resolve = (): void => undefined
  const promise = new Promise<undefined>((settle) => {
    resolve = () => settle(undefined)
  })
  return { promise, resolve }
}
