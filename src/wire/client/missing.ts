/**
 * Kinds and ids of objects, for agents of A2A 0.3 that leave them out.
 *
 * @module
 */
import type { Unread } from '../../runtime/unread.js'
import type { Path } from '../normalize.js'

/** The kind of an object that is not in an envelope: the one that it names, or the one of its shape. */
export function bareKindOf(object: Unread): unknown {
  const { kind, status, taskId, id, artifact, role, parts, content = parts } = object
  if (kind != null) return kind
  if (status != null) return taskId != null && id == null ? 'status-update' : 'task'
  if (artifact != null) return 'artifact-update'
  return role != null && content != null ? 'message' : undefined
}

/** An id for a message without one: the same for the same text, wherever the message is. */
export function withMessageId(message: Unread): Unread {
  const { messageId, role, parts, content = parts } = message
  if (messageId != null && messageId !== '') return message
  return { ...message, messageId: `message-${digestOf(JSON.stringify([role, content]))}` }
}

/** An id for an artifact without one: by its place among the artifacts. Chunks without an id are of the first artifact. */
export function withArtifactId(artifact: Unread, path: Path): Unread {
  const { artifactId } = artifact
  if (artifactId != null && artifactId !== '') return artifact
  const index = path.at(-1)
  return { ...artifact, artifactId: `artifact-${typeof index === 'number' ? index + 1 : 1}` }
}

/** A short hash (FNV-1a, in two halves). It names things, and protects nothing. */
function digestOf(text: string): string {
  let [low, high] = [0x811c9dc5, 0x01000193]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code, 0x85ebca6b) ^ low
  }
  return [low, high].map((half) => (half >>> 0).toString(36)).join('-')
}
