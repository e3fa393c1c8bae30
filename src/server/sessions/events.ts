/**
 * What a session's events say of its task.
 *
 * @module
 */

/** A text for the conversation, or the state that the task ends in. */
export type SessionNews =
  { readonly text: string; readonly ends?: never } | { readonly ends: 'completed' | 'failed' }

/** `undefined` where the event says nothing of the task. */
export function toNews(event: unknown): SessionNews | undefined {
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

/** The content as it is, or the text of the first block that has one: thoughts and calls of tools have none. */
function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  for (const block of content) {
    const { text } = fieldsOf(block)
    if (typeof text === 'string' && text !== '') return text
  }
  return ''
}

/** A session may cut its text within a character, and no text is lost for that. */
function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDFFF]/gu, '\uFFFD')
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  // Of an object that nothing is known of, each property may be anything.
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
