/**
 * Text of messages and artifacts.
 *
 * @module
 */
import type { DeepReadonly, Part } from '../core/task.js'

/**
 * The concatenated texts of a message or an artifact. Parts without text are ignored.
 *
 * @throws {TypeError} for a promise.
 */
export function textOf(message: { readonly parts?: readonly DeepReadonly<Part>[] }): string {
  // A promise has no parts, so a forgotten `await` would become an empty text.
  if ('then' in message) throw new TypeError('textOf() got a promise: await it')
  const { parts = [] } = message
  return parts.map(({ text = '' }) => text).join('')
}
