/**
 * What an agent says, as a message.
 *
 * @module
 */
import { requireMessage } from '../core/intake.js'
import { JsonTaker } from '../core/json.js'
import type { MessageInput } from '../core/params.js'
import type { Message } from '../core/task.js'
import type { Say } from './run.js'

/** What a task's conversation may hold by default. */
const MAX_REPLY = { option: 'reply', subject: 'Reply', maxBytes: 16_777_216 }
const MAX_DEPTH = 100

export function toMessage(say: Say): MessageInput {
  const message = typeof say === 'string' ? { parts: [{ text: say }] } : say
  return { ...message, role: 'agent' }
}

/**
 * A message that belongs to no task, so that no manager looks at it: checked and copied here.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path below `reply`; `LIMIT_EXCEEDED`.
 */
export function toReply(say: Say, messageId: string, contextId: string): Message {
  const given = { messageId, ...toMessage(say), contextId }
  return requireMessage(new JsonTaker(MAX_REPLY, MAX_DEPTH).takeObject(given, 'reply'), 'reply')
}
