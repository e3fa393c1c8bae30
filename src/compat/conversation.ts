/**
 * Conversation of a task, with the text of its artifacts, for dialects whose clients do not read artifacts.
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { DeepReadonly, Message, Part, TaskSnapshot } from '../core/task.js'
import { textOf } from '../wire/text.js'
import { artifactsOf, statusMessage } from '../wire/view.js'

export const BAD_ENDS: readonly TaskState[] = ['failed', 'rejected', 'canceled']

/**
 * The messages, oldest first. For a completed task a last message of the agent contains the text of the artifacts. For
 * a task that ended otherwise it contains the reason, if only the status has it.
 */
export function conversationOf(task: TaskSnapshot): readonly DeepReadonly<Message>[] {
  const { id, contextId, state, message, messages } = task
  if (BAD_ENDS.includes(state) && typeof message === 'string') {
    return [...messages, statusMessage(message, id, contextId)]
  }
  const text = state === 'completed' ? artifactText(task) : ''
  return text === '' ? messages : [...messages, statusMessage(text, id, contextId)]
}

/** The artifacts as text: data as JSON, without files. A line break separates artifacts. */
export function artifactText(task: TaskSnapshot): string {
  return artifactsOf(task)
    .map(({ parts }) => parts.map(partText).join(''))
    .filter((text) => text !== '')
    .join('\n')
}

function partText({ text, data }: DeepReadonly<Part>): string {
  if (text !== undefined) return text
  return data === undefined ? '' : JSON.stringify(data)
}

/** The text of the latest status message, if there is one. */
export function statusText({ message }: TaskSnapshot): string | undefined {
  if (message === undefined || typeof message === 'string') return message
  return textOf(message)
}
