/**
 * Conversions of a task that all dialects share. The core has more kinds of artifacts and messages than A2A.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { ArtifactChanged, OutputChanged } from '../core/events.js'
import type { Artifact, DeepReadonly, Message, Part, TaskSnapshot } from '../core/task.js'
import type { JsonValue, ReadonlyJson } from '../core/json-types.js'
import { toStandardBase64 } from '../runtime/base64.js'

/** Narrows the type. The JSON is only read from here on, so frozen objects of the core need no copy. */
export function json(value: DeepReadonly<JsonValue> | DeepReadonly<object>): JsonValue {
  return value as JsonValue
}

/**
 * Narrows a result to a task. Versions without direct replies request a task, which a server might ignore.
 *
 * @throws {A2AError} `INVALID_AGENT_RESPONSE`.
 */
export function notReply<T extends { readonly type: string }>(
  answer: T,
): Exclude<T, { readonly type: 'message' }> {
  // TypeScript does not narrow a generic type.
  if (answer.type !== 'message') return answer as Exclude<T, { readonly type: 'message' }>
  const reason = 'This version knows no answer without a task'
  throw new A2AError('INVALID_AGENT_RESPONSE', reason, { reason })
}

/** An artifact with all fields that A2A requires. */
export type CompleteArtifact = DeepReadonly<Artifact> & {
  readonly artifactId: string
  readonly parts: readonly DeepReadonly<Part>[]
}

/** The artifact id of a task's `output`, which A2A can only show as an artifact. */
export const OUTPUT_ID = 'output'

export function artifactsOf({ artifacts, output }: TaskSnapshot): readonly CompleteArtifact[] {
  const complete = artifacts.every(isComplete)
    ? artifacts
    : artifacts.map((artifact, index) => completeArtifact(artifact, `artifact-${index + 1}`))
  if (output === null || complete.some(({ artifactId }) => artifactId === OUTPUT_ID)) return complete
  return [...complete, outputArtifact(output)]
}

const ARTIFACT_KEYS = new Set(['artifactId', 'name', 'description', 'parts', 'metadata', 'extensions'])
const PART_KEYS = new Set(['text', 'raw', 'url', 'data', 'metadata', 'filename', 'mediaType'])
const MESSAGE_KEYS = new Set([
  ...['messageId', 'role', 'parts', 'contextId', 'taskId', 'metadata', 'extensions', 'referenceTaskIds'],
])

/**
 * Returns whether the artifact has all required fields and no unknown ones, as the closed schemas of the protocol
 * demand.
 */
function isComplete(artifact: DeepReadonly<Artifact>): artifact is CompleteArtifact {
  const { artifactId, parts } = artifact
  if (artifactId === undefined || parts === undefined || parts.length === 0) return false
  return hasOnly(artifact, ARTIFACT_KEYS) && parts.every((part) => hasOnly(part, PART_KEYS))
}

function hasOnly(value: object, keys: ReadonlySet<string>): boolean {
  for (const key in value) if (!keys.has(key)) return false
  return true
}

function only<T extends object>(value: T, keys: ReadonlySet<string>): T {
  const entries = Object.entries(value).filter(([key]) => keys.has(key))
  // Removes only fields that the type does not have.
  return Object.fromEntries(entries) as T
}

/** Completes an artifact. Any other JSON object becomes an artifact with that object as its data. */
export function completeArtifact(artifact: DeepReadonly<Artifact>, fallbackId: string): CompleteArtifact {
  if (isComplete(artifact)) return artifact
  const { artifactId = fallbackId, parts = [], name, description, metadata, extensions } = artifact
  return {
    artifactId,
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
    ...(metadata !== undefined && { metadata }),
    ...(Array.isArray(extensions) && { extensions }),
    parts:
      parts.length > 0
        ? parts.map((part) => only(part, PART_KEYS))
        : // The artifact is JSON, although its type does not cover its unknown fields.
          [{ data: artifact as { readonly [key: string]: ReadonlyJson } }],
  }
}

/** A message without fields that A2A does not have. */
export function completeMessage(message: DeepReadonly<Message>): DeepReadonly<Message> {
  const isPure = hasOnly(message, MESSAGE_KEYS) && message.parts.every((part) => hasOnly(part, PART_KEYS))
  if (isPure) return message
  return { ...only(message, MESSAGE_KEYS), parts: knownParts(message.parts) }
}

/** Parts without fields that A2A does not have. */
export function knownParts(parts: DeepReadonly<Part[]>): DeepReadonly<Part>[] {
  return parts.map((part) => only(part, PART_KEYS))
}

/** Base64 in the alphabet and with the padding that every peer reads (A2A 1.0 §4.1.6). */
export function standardBase64<T extends { readonly raw?: string | undefined }>(part: T): T {
  const { raw } = part
  if (raw === undefined) return part
  const standard = toStandardBase64(raw)
  return standard === raw ? part : { ...part, raw: standard }
}

function outputArtifact(output: DeepReadonly<JsonValue>): CompleteArtifact {
  return { artifactId: OUTPUT_ID, parts: [typeof output === 'string' ? { text: output } : { data: output }] }
}

/** An event for the artifact that represents the output. */
export function outputEvent({ taskId, generation, timestamp, output }: OutputChanged): ArtifactChanged {
  const artifact = outputArtifact(output)
  return { type: 'artifact', taskId, generation, timestamp, artifact, append: false, lastChunk: true }
}

/** Events that set each artifact of `task` as a whole, at `generation`. */
export function artifactEvents(
  task: TaskSnapshot,
  generation: number,
  lastChunk: boolean,
): ArtifactChanged[] {
  const { id: taskId, updatedAt: timestamp } = task
  return artifactsOf(task).map((artifact) => ({
    ...{ type: 'artifact', taskId, generation, timestamp },
    ...{ artifact, append: false, lastChunk },
  }))
}

/** The latest `length` messages. */
export function historyOf(
  { messages }: TaskSnapshot,
  length: number | undefined,
): readonly DeepReadonly<Message>[] {
  if (length === undefined || length >= messages.length) return messages
  return length === 0 ? [] : messages.slice(-length)
}

/**
 * Converts a status message that is only a text to a message of the agent. The same text always results in the same
 * message id.
 */
export function statusMessage(
  message: string | DeepReadonly<Message>,
  taskId: string,
  contextId: string,
): DeepReadonly<Message> {
  if (typeof message !== 'string') return message
  return {
    messageId: `${taskId}/${hash(message)}`,
    role: 'agent',
    parts: [{ text: message }],
    contextId,
    taskId,
  }
}

/** FNV-1a, 32 bits, which suffices to distinguish the few texts of one task. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return (value >>> 0).toString(16)
}
