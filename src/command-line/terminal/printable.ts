/**
 * Text from outside in a form that a terminal shows and does not obey.
 *
 * @module
 */

/** Scripts that join and part their letters by invisible characters: ZWNJ and ZWJ. */
const JOINING = [
  ...['Arab', 'Beng', 'Deva', 'Gujr', 'Guru', 'Knda', 'Mlym'],
  ...['Mong', 'Orya', 'Sinh', 'Syrc', 'Taml', 'Telu', 'Thaa'],
]
  .map((script) => `\\p{sc=${script}}`)
  .join('')

/**
 * What a text may contain of the characters below: those of emoji, and those within words of some scripts. A text of
 * other letters is not searched for emoji, which takes 40 times as long.
 */
const HARMLESS = String.raw`(?=\p{Emoji})\p{RGI_Emoji}|(?<=[${JOINING}])[\u200c\u200d](?=[${JOINING}])`

/**
 * Control characters (C0, DEL, C1), which move the cursor, write to the clipboard and make links; separators of lines; and
 * all that is invisible: controls of bidirectional text, which show a text in another order than it has, characters without
 * a width, fillers, variation selectors and tags. Tabs and line feeds are left.
 */
const UNSAFE = String.raw`[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]`

/** The `v` flag, which emoji need, is newer than the target of the compiler. */
const PATTERN = new RegExp(`${HARMLESS}|(${UNSAFE})`, 'gv')

/** The text with its unsafe characters escaped as in JavaScript, and with line ends of one kind. */
export function printable(text: string): string {
  return escaped(text.replaceAll('\r\n', '\n'), escapeCharacter)
}

/** The text on one line, cut to `max` characters. */
export function printableLine(text: string, max = 300): string {
  // A text of megabytes is not read to its end for one line of it. A blank of Braille is no space of Unicode.
  const line = printable(text.slice(0, 4 * max))
    .replace(/[\s\u2800]+/g, ' ')
    .trim()
  const characters = Array.from(line)
  const isCut = characters.length > max || text.length > 4 * max
  return isCut ? `${characters.slice(0, max - 1).join('')}…` : line
}

/** Lines of a text, each with an indentation that sets them apart from lines of the program. */
export function printableLines(text: string): string[] {
  return printable(text)
    .split('\n')
    .map((line) => `  ${line}`)
}

/** The text of a JSON document with its unsafe characters as escapes, which a reader reads as the same values. */
export function printableJson(json: string): string {
  return escaped(json, (character) =>
    [...utf16Of(character)].map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join(''),
  )
}

function escaped(text: string, escape: (character: string) => string): string {
  return text.replace(PATTERN, (match: string, unsafe?: string) =>
    unsafe === undefined ? match : escape(match),
  )
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}

function* utf16Of(text: string): Generator<number> {
  for (let index = 0; index < text.length; index += 1) yield text.charCodeAt(index)
}
