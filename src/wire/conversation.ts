/**
 * A task's conversation for those who look for the answer there: their versions have no artifacts, or few of their
 * clients read them.
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { DeepReadonly, Message, Part, TaskSnapshot } from '../core/task.js'
import { textOf } from './text.js'
import { artifactsOf, statusMessage } from './view.js'

const BAD_ENDS: readonly TaskState[] = ['failed', 'rejected', 'canceled']

/**
 * The messages, oldest first. That of a task that is completed ends with a message of the agent's that says what its
 * artifacts hold; that of a task that ended otherwise, with why, where only its status says it.
 */
export function conversationOf(task: TaskSnapshot): readonly DeepReadonly<Message>[] {
  const { id, contextId, state, message, messages } = task
  if (BAD_ENDS.includes(state) && typeof message === 'string') {
    return [...messages, statusMessage(message, id, contextId)]
  }
  const text = state === 'completed' ? artifactText(task) : ''
  return text === '' ? messages : [...messages, statusMessage(text, id, contextId)]
}

/** What the artifacts hold, as text: data as JSON, files not at all. One line break between two artifacts. */
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

/** What the latest status message says; nothing where there is none. */
export function statusText({ message }: TaskSnapshot): string | undefined {
  if (message === undefined || typeof message === 'string') return message
  return textOf(message)
}
