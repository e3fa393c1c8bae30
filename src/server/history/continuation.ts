/**
 * The end of a turn's history, and the beginning of another one: `run.continueAs`.
 *
 * @module
 */
import { compact } from '../../runtime/compact.js'
import type { ContinuedMessage, TurnEntry } from '../../core/events.js'
import { JsonReader } from '../../core/json.js'
import { readLineage } from '../../core/lineage/lineage.js'
import { withLineage } from '../../core/lineage/mark.js'
import type { MessageInput, PartInput } from '../../core/params.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { OpenTurn } from '../runs/run-context.js'
import { refuseUnknownKeys, requireMessage } from '../../core/validate.js'
import { derivedIds } from '../idempotency.js'
import { toMessage } from '../runs/agent-message.js'

/** With what a turn continues: a text, parts, or a message without what the run sets. */
export type ContinuedInput =
  string | readonly PartInput[] | Pick<MessageInput, 'parts' | 'metadata' | 'extensions' | 'referenceTaskIds'>

interface Limits {
  readonly maxStepBytes: number
  readonly maxDepth: number
}

/**
 * Checks and copies what a turn continues with. The lineage of the message before stays, with its deadline.
 *
 * @throws {TypeError} for what is neither a text nor parts nor a message.
 * @throws {A2AError} `INVALID_PARAMS` with the path below `input`; `LIMIT_EXCEEDED`.
 */
export function toContinued(
  input: ContinuedInput,
  before: Message,
  { maxStepBytes, maxDepth }: Limits,
): Omit<ContinuedMessage, 'messageId'> {
  // The lists of arrays are told from messages.
  const given = toMessage(Array.isArray(input) ? { parts: input as readonly PartInput[] } : (input as string))
  const lineage = readLineage(before.metadata)
  const whole = { ...(lineage === undefined ? given : withLineage(given, lineage)), messageId: 'input' }
  const limit = {
    option: 'limits.maxStepBytes',
    subject: 'Input of run.continueAs()',
    maxBytes: maxStepBytes,
  }
  const reader = new JsonReader(limit, maxDepth)
  const read = reader.readObject(whole, 'input')
  reader.check(read)
  const message = requireMessage(read, 'input')
  refuseUnknownKeys(message, 'input')
  const { parts, metadata, extensions, referenceTaskIds } = message
  return compact({ parts, metadata, extensions, referenceTaskIds })
}

/**
 * The message that a history begins with; `undefined` where the conversation lacks it.
 *
 * @throws {A2AError} `INVALID_PARAMS` for a saved history that is none.
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

/** The ids of the user's messages that the turn has read before the history. */
export function readBy({ messageId, continued }: TurnEntry): readonly string[] {
  return [messageId, ...(continued?.read ?? [])]
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
    read: new Set(readBy(entry)),
    history: [{ type: 'history', taskId, generation, timestamp, entry }],
  }
}

/** The entry that ends the history of `turn` and begins the next one. */
export function continuedEntry(
  { messageId: begun, note, origin, key, continued }: TurnEntry,
  message: Omit<ContinuedMessage, 'messageId'>,
  answers: readonly string[],
): TurnEntry {
  const round = (continued?.round ?? 0) + 1
  // The same in each attempt: ids of artifacts are made of it.
  const messageId = derivedIds('continued', `${begun}/${round}`).next().value
  const read = [...(continued?.read ?? []), ...answers]
  const next = { round, message: { ...message, messageId }, read }
  return compact({ kind: 'turn' as const, messageId: begun, note, origin, key, continued: next })
}
