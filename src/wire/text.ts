/**
 * Text of messages and artifacts.
 *
 * @module
 */
import type { DeepReadonly, Part } from '../core/task.js'

/** The texts of a message or an artifact, one after the other; its other parts say nothing here. */
export function textOf({ parts = [] }: { readonly parts?: readonly DeepReadonly<Part>[] }): string {
  return parts.map(({ text = '' }) => text).join('')
}
