/**
 * Conversion of tasks and events of an A2A agent to updates.
 *
 * @module
 */
import type { RemoteEvent, RemoteTask } from '../../../wire/client/dialect.js'
import { isInterrupted, type TaskState } from '../../../core/lifecycle.js'
import type { ArtifactInput } from '../../../core/params.js'
import { allSpent, spendingOf } from '../../../core/spending.js'
import type { Message } from '../../../core/task.js'
import { compact } from '../../../runtime/compact.js'
import type { TaskUpdate } from '../../provider.js'

export function toTaskUpdate(task: RemoteTask): TaskUpdate {
  const { id: taskId, contextId, state, artifacts, messages } = task
  // Some agents put their result or question in the conversation only.
  const isAnswer = isInterrupted(state) || (state === 'completed' && artifacts.length === 0)
  const last = isAnswer ? messages.findLast(({ role }) => role === 'agent') : undefined
  return {
    ref: compact({ taskId, contextId }),
    ...(artifacts.length > 0 && { artifacts }),
    ...toStateUpdate(state, task.message ?? last, artifacts.length > 0),
    ...spentOf(task),
  }
}

function spentOf(task: { readonly metadata?: object | undefined }): Pick<TaskUpdate, 'spent'> {
  const spending = spendingOf(task)
  return spending === undefined ? {} : { spent: allSpent(spending) }
}

/** A reply without a task is a complete result. Its conversation can be continued. */
export function toReplyUpdate(reply: Message): TaskUpdate {
  const { contextId } = reply
  return {
    ...(contextId !== undefined && { ref: { contextId } }),
    state: 'completed',
    artifacts: [toArtifact(reply)],
  }
}

/** Returns a function that translates the events of one stream. */
export function toUpdates(): (event: RemoteEvent) => TaskUpdate {
  let contextId: string | undefined
  let hasArtifacts = false
  return (event) => {
    if (event.type === 'message') return toReplyUpdate(event.message)
    if (event.type === 'task') {
      contextId = event.task.contextId
      hasArtifacts ||= event.task.artifacts.length > 0
      return toTaskUpdate(event.task)
    }
    contextId = event.contextId ?? contextId
    const ref = compact({ taskId: event.taskId, contextId })
    if (event.type === 'status')
      return { ref, ...toStateUpdate(event.state, event.message, hasArtifacts), ...spentOf(event) }
    const { artifact, append } = event
    hasArtifacts = true
    return append ? { ref, chunk: artifact } : { ref, artifacts: [artifact] }
  }
}

/** The message of a task that completes without artifacts is its result. */
function toStateUpdate(state: TaskState, message: Message | undefined, hasArtifacts: boolean): TaskUpdate {
  if (message === undefined || message.parts.length === 0) return { state }
  if (state === 'completed' && !hasArtifacts) return { state, artifacts: [toArtifact(message)] }
  return { state, message: { parts: message.parts } }
}

function toArtifact({ messageId: artifactId, parts }: Message): ArtifactInput {
  return { artifactId, parts }
}
