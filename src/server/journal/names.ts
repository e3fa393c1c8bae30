/**
 * Names that code gives to entries of the journal, and keys made of them.
 *
 * @module
 */
import { MAX_ENTRY_NAME } from '../../core/commands.js'
import type { Message } from '../../core/task.js'
import { describe } from '../../runtime/describe.js'

/**
 * @param example - A right call, for errors.
 * @throws {TypeError}
 */
export function requireName(subject: string, name: unknown, example?: string): void {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_ENTRY_NAME) return
  const got = typeof name === 'string' ? name.length : describe(name)
  const use = example === undefined ? '' : `: use ${example}`
  throw new TypeError(
    `The name of a ${subject} must be a text of 1 to ${MAX_ENTRY_NAME} characters, got ${got}${use}`,
  )
}

type Messages = readonly Pick<Message, 'role' | 'messageId'>[]

/** The position of the user's message with this id; -1 when there is none. */
export function placeOf(messages: Messages, id: string): number {
  return messages.findIndex(({ role, messageId }) => role === 'user' && messageId === id)
}

/** The place of a turn in its task. */
interface TurnPlace {
  readonly messages: Messages
  /** The id of the user's message that the turn began with. */
  readonly origin: string
  readonly round: number | undefined
}

/** Keys of later turns have the place of their message, and those of continued ones the round. Ids may have slashes. */
export function stepKey(taskId: string, label: string, { messages, origin, round }: TurnPlace): string {
  const place = placeOf(messages, origin)
  const key = `${encodeURIComponent(taskId)}/${label}`
  if (round !== undefined) return `${key}@${place}.${round}`
  return place > 0 ? `${key}@${place}` : key
}
