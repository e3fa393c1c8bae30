/**
 * Text of messages and artifacts.
 *
 * @module
 */
import type { DeepReadonly, Part } from '../core/task.js'

/** The concatenated texts of a message or an artifact. Parts without text are ignored. */
export function textOf({ parts = [] }: { readonly parts?: readonly DeepReadonly<Part>[] }): string {
  return parts.map(({ text = '' }) => text).join('')
}
