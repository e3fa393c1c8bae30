/**
 * Documents beside the children of a task.
 *
 * @module
 */
import { CHILD_OF } from '../../runtime/document-kinds.js'
import { hashOf } from '../../runtime/hash.js'

/** The kind of the documents beside the children of a task, which may be one of another agent. */
export function childKind(parentId: string): string {
  // Parents are named by clients: the kind has a fixed length.
  return `${CHILD_OF}${hashOf(parentId).slice(0, 40)}`
}
