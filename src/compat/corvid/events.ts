/**
 * Reading of session events: the text or the end that they report for a task.
 *
 * @module
 */
import { wellFormed } from '../../core/json.js'

/** A text for the conversation, or the state in which the task ends. */
export type SessionUpdate =
  { readonly text: string; readonly ends?: never } | { readonly ends: 'completed' | 'failed' }

/** `undefined` for events that do not concern the task. */
export function readSessionEvent(event: unknown): SessionUpdate | undefined {
  const { type, message } = fieldsOf(event)
  switch (type) {
    case 'assistant': {
      const text = textIn(fieldsOf(message)['content'])
      return text === '' ? undefined : { text: wellFormed(text) }
    }
    case 'session_exited':
    case 'session_stopped':
      return { ends: 'completed' }
    case 'error':
      return { ends: 'failed' }
    default:
      return undefined
  }
}

/** The content itself, or the text of its first text block. Blocks of thinking and of tool calls have no text. */
function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  for (const block of content) {
    const { text } = fieldsOf(block)
    if (typeof text === 'string' && text !== '') return text
  }
  return ''
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  // Every property of an unchecked object is unknown.
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
