/**
 * The parts of an artifact that comes in chunks.
 *
 * @module
 */

/** A part whose fields may be checked or not. */
interface AnyPart {
  readonly text?: unknown
}

interface TextPart {
  readonly text: string
}

/** In UTF-16 units. The longest text of some engines is twice as long. */
const MAX_JOINED = 134_217_728

/**
 * Appends the parts of a chunk to those of its artifact. A text that continues a text is one part with it, so that an answer
 * of 2,000 tokens is one part. The parts of one write stay apart: its writer has chosen them.
 *
 * Costs O(chunk): engines join texts by reference. `parts` changes in place, and its elements do not.
 */
export function appendParts<P extends AnyPart>(parts: (P | TextPart)[], chunk: readonly P[]): void {
  const text = continuation(parts, chunk)
  // A continued part is a text.
  if (text !== undefined) parts[parts.length - 1] = { text: `${String(parts.at(-1)?.text)}${text}` }
  // Not `push(...chunk)`: too many arguments overflow the stack.
  for (const part of text === undefined ? chunk : chunk.slice(1)) parts.push(part)
}

/** The artifact with each of its parts as a chunk of its own: it has no texts that continue each other. */
export function withJoinedTexts<A extends { readonly parts?: readonly AnyPart[] | undefined }>(
  artifact: A,
): A {
  if (artifact.parts === undefined) return artifact
  const parts: AnyPart[] = []
  for (const part of artifact.parts) appendParts(parts, [part])
  return { ...artifact, parts }
}

/** The text of a chunk with which it continues the last part of its artifact; `undefined` where it adds only parts. */
export function continuation(parts: readonly AnyPart[], chunk: readonly AnyPart[]): string | undefined {
  const last = textOf(parts.at(-1))
  const text = textOf(chunk[0])
  if (last === undefined || text === undefined) return undefined
  return last.length + text.length > MAX_JOINED ? undefined : text
}

/** The text of a part without metadata, file name or media type. */
function textOf(part: AnyPart | undefined): string | undefined {
  if (typeof part?.text !== 'string') return undefined
  for (const key in part) if (key !== 'text' && part[key as 'text'] !== undefined) return undefined
  return part.text
}
