/**
 * Colours, as marks in a text that a channel turns into the sequences of a terminal, or removes.
 *
 * The marks are noncharacters of Unicode, which texts of agents do not have. An agent that sends one can colour its own text
 * and nothing else.
 *
 * @module
 */

const END = '\ufdd0'
const SEQUENCES: Readonly<Record<string, string>> = {
  [END]: '\x1b[0m',
  '\ufdd1': '\x1b[1m',
  '\ufdd2': '\x1b[2m',
  '\ufdd3': '\x1b[31m',
  '\ufdd4': '\x1b[32m',
  '\ufdd5': '\x1b[33m',
  '\ufdd6': '\x1b[36m',
}
const MARKS = /[\ufdd0-\ufdd6]/g

export const bold = marked('\ufdd1')
export const dim = marked('\ufdd2')
export const red = marked('\ufdd3')
export const green = marked('\ufdd4')
export const yellow = marked('\ufdd5')
export const cyan = marked('\ufdd6')

function marked(mark: string): (text: string) => string {
  return (text) => `${mark}${text}${END}`
}

/** Turns the marks into sequences, or removes them. */
export function styled(text: string, hasColors: boolean): string {
  return text.replace(MARKS, (mark) => (hasColors ? (SEQUENCES[mark] ?? '') : ''))
}

type Environment = Readonly<Record<string, string | undefined>>

/** Whether to write colours: on a terminal, unless `NO_COLOR` or `FORCE_COLOR` say otherwise. */
export function wantsColors({ isTTY }: { readonly isTTY?: boolean }, env: Environment): boolean {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false
  return isTTY === true && env['TERM'] !== 'dumb'
}
