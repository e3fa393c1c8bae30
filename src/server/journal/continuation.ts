/**
 * The end of a turn's journal, and the beginning of another one: `run.continueAs`.
 *
 * @module
 */
import { compact } from '../../runtime/compact.js'
import type { ContinuedMessage, TurnEntry } from '../../core/events.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { OpenTurn } from './open-turn.js'
import { requireMessage } from '../../core/validate.js'
import { derivedIds } from '../idempotency.js'

type Conversation = Pick<TaskSnapshot, 'messages'>

/**
 * The message that a journal begins with; `undefined` where the conversation lacks it.
 *
 * @throws {A2AError} `INVALID_PARAMS` for a saved journal that is none.
 */
export function startOf(
  { messageId, continued }: TurnEntry,
  { id, contextId, messages }: Pick<TaskSnapshot, 'id' | 'contextId' | 'messages'>,
): Message | undefined {
  if (continued === undefined) {
    const begun = messages.find((each) => each.role === 'user' && each.messageId === messageId)
    // Snapshots are frozen. Runs expose messages as read-only, so nothing writes to them.
    return begun as Message | undefined
  }
  // Histories that were saved are any JSON.
  const message: JsonValue = {
    ...(continued.message as unknown as JsonObject),
    role: 'user',
    taskId: id,
    contextId,
  }
  return requireMessage(message, 'continued.message')
}

/** The ids of the user's messages that the turn has read before the journal. */
export function readBy({ messageId, continued }: TurnEntry, task: Conversation): readonly string[] {
  const since = sentSince(messageId, task)
  const { readTo, read = [] } = continued ?? {}
  const first = readTo === undefined ? [] : since.slice(0, since.indexOf(readTo) + 1)
  return [messageId, ...first, ...read]
}

/** The ids of the user's messages from the one that began the turn. */
function sentSince(begun: string, { messages }: Conversation): readonly string[] {
  const ids = messages.filter(({ role }) => role === 'user').map(({ messageId }) => messageId)
  const index = ids.indexOf(begun)
  return index === -1 ? [] : ids.slice(index)
}

/** The turn after it has recorded the entry, which is the latest event of the task. */
export function beginAgain(entry: TurnEntry, task: TaskSnapshot): OpenTurn | undefined {
  const message = startOf(entry, task)
  const { id: taskId, generation, updatedAt: timestamp } = task
  if (message === undefined) return undefined
  return {
    ...{ message, origin: entry.messageId, attempt: 1, artifacts: new Map() },
    // Nothing writes to it.
    note: entry.note as JsonValue | undefined,
    read: new Set(readBy(entry, task)),
    journal: [{ type: 'journal', taskId, generation, timestamp, entry }],
  }
}

/** The entry that ends the journal of `turn` and begins the next one. Messages that are read in order take no room in it. */
export function continuedEntry(
  turn: TurnEntry,
  task: Conversation,
  message: Omit<ContinuedMessage, 'messageId'>,
  answers: readonly string[],
): TurnEntry {
  const { messageId: begun, note, origin, key, continued } = turn
  const round = (continued?.round ?? 0) + 1
  // The same in each attempt: ids of artifacts are made of it.
  const messageId = derivedIds('continued', `${begun}/${round}`).next().value
  const since = sentSince(begun, task)
  const known = new Set([...readBy(turn, task), ...answers])
  const end = since.findIndex((id) => !known.has(id))
  const inOrder = end === -1 ? since : since.slice(0, end)
  for (const id of inOrder) known.delete(id)
  const readTo = inOrder.length > 1 ? inOrder.at(-1) : undefined
  known.delete(begun)
  const next = compact({ round, message: { ...message, messageId }, readTo, read: [...known] })
  return compact({ kind: 'turn' as const, messageId: begun, note, origin, key, continued: next })
}
