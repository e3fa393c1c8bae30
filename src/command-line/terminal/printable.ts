/**
 * Text of agents in a form that a terminal shows and does not obey.
 *
 * @module
 */

/**
 * Control characters (C0, DEL, C1), which move the cursor, write to the clipboard and make links; the controls of
 * bidirectional text, which show a text in another order than it has; separators of lines; and tags, which nothing shows.
 * Tabs and line feeds are left.
 */
const UNSAFE =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** The text with its unsafe characters escaped as in JavaScript, and with line ends of one kind. */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSAFE, escapeCharacter)
}

/** The text on one line, cut to `max` characters. */
export function printableLine(text: string, max = 300): string {
  // A text of megabytes is not read to its end for one line of it.
  const line = printable(text.slice(0, 4 * max))
    .replace(/\s+/g, ' ')
    .trim()
  const characters = Array.from(line)
  const isCut = characters.length > max || text.length > 4 * max
  return isCut ? `${characters.slice(0, max - 1).join('')}…` : line
}

/** JSON without unsafe characters, which a reader of JSON reads as the same value. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(UNSAFE, (character) =>
    [...utf16Of(character)].map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join(''),
  )
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  return code <= 0xffff ? `\\u${code.toString(16)}` : `\\u{${code.toString(16)}}`
}

function* utf16Of(text: string): Generator<number> {
  for (let index = 0; index < text.length; index += 1) yield text.charCodeAt(index)
}
