/**
 * Conversion and checks of the messages, progress and artifacts that an executor passes to its run.
 *
 * @module
 */
import { refuseUnknownKeys, requireMessage } from '../../core/validate.js'
import type { ContinuedMessage } from '../../core/events.js'
import { JsonReader } from '../../core/json.js'
import { readLineage } from '../../core/lineage/lineage.js'
import { withLineage } from '../../core/lineage/mark.js'
import { compact } from '../../runtime/compact.js'
import { describe } from '../../runtime/describe.js'
import { requireKnown } from '../../runtime/options.js'
import type { ArtifactInput, MessageInput, PartInput } from '../../core/params.js'
import type { Message } from '../../core/task.js'
import { withoutAnswerers } from './marks.js'
import type { ContinuedInput, Progress, Say } from './run.js'

/** The default limit of a task's conversation. */
const MAX_REPLY = { option: 'reply', subject: 'Reply', maxBytes: 16_777_216 }
const MAX_DEPTH = 100

/** @throws {TypeError} when `say` is neither a text nor a message. */
export function toMessage(say: Say): MessageInput {
  if (typeof say !== 'string' && !Array.isArray((say as Partial<MessageInput> | undefined)?.parts)) {
    throw new TypeError(`A message of a run must be a text, or an object with parts, got ${describe(say)}`)
  }
  const message = typeof say === 'string' ? { parts: [{ text: say }] } : withoutAnswerers(say)
  return { ...message, role: 'agent' }
}

/** @throws {TypeError} for a prompt that is no message, and for a further argument: it would be ignored. */
export function toPrompt(
  state: 'input-required' | 'auth-required',
  [prompt, other]: readonly [Say, unknown?],
): Say {
  toMessage(prompt)
  if (other === undefined) return prompt
  throw takesOne(state === 'input-required' ? 'requireInput' : 'requireAuth', other)
}

function takesOne(method: string, other: unknown): TypeError {
  return new TypeError(`run.${method}() takes one argument and no options, got ${describe(other)}`)
}

/**
 * @param other - What was passed besides. `forEach` passes a number.
 * @throws {TypeError} when `report` has neither a message nor a number; for an unknown property, and for options.
 */
export function toProgress(report: string | Progress, other?: unknown): Say {
  if (typeof other === 'object') throw takesOne('update', other)
  if (typeof report === 'string') return report
  requireKnown(report, ['message', 'current', 'total'], 'run.update')
  const { message, current, total } = report
  if (message === undefined && current === undefined) {
    throw new TypeError('run.update() takes a text, or an object with "message" or "current"')
  }
  const text = toMessage(message ?? (total === undefined ? `${current}` : `${current} of ${total}`))
  if (current === undefined) return text
  return {
    ...text,
    metadata: { ...text.metadata, progress: { current, ...(total !== undefined && { total }) } },
  }
}

/** @throws {TypeError} when `artifact` is neither a text nor has parts. */
export function toArtifact(artifact: string | ArtifactInput): ArtifactInput {
  if (typeof artifact === 'string') return { parts: [{ text: artifact }] }
  if ((artifact as Partial<ArtifactInput> | undefined)?.parts?.length) return artifact
  throw new TypeError('run.artifact() takes a text, or an artifact with at least one part')
}

/**
 * Checks and copies a reply. No manager does it, because a reply belongs to no task.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path below `reply`; `LIMIT_EXCEEDED`.
 */
export function toReply(say: Say, messageId: string, contextId: string): Message {
  const given = { messageId, ...toMessage(say), contextId }
  const message = requireMessage(new JsonReader(MAX_REPLY, MAX_DEPTH).readObject(given, 'reply'), 'reply')
  refuseUnknownKeys(message, 'reply')
  return message
}

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
  // An array is a list of parts, and not a message.
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
