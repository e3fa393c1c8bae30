/**
 * Colours, as marks in a text that a channel turns into the sequences of a terminal, or removes.
 *
 * @module
 */
import { randomBytes } from 'node:crypto'

/** Each process has marks of its own, so that no text from outside has one. */
const MARK = `\ufdd0${randomBytes(9).toString('base64url')}`
const MARKS = new RegExp(`${MARK}(\\d+)\ufdd1`, 'g')

export const bold = marked('1')
export const dim = marked('2')
export const red = marked('31')
export const green = marked('32')
export const yellow = marked('33')
export const cyan = marked('36')

/** `code` is that of the sequence which begins the style. */
function marked(code: string): (text: string) => string {
  return (text) => `${MARK}${code}\ufdd1${text}${MARK}0\ufdd1`
}

/** Turns the marks into sequences, or removes them. */
export function styled(text: string, hasColors: boolean): string {
  return text.replace(MARKS, (_, code: string) => (hasColors ? `\x1b[${code}m` : ''))
}

type Environment = Readonly<Record<string, string | undefined>>

/** Whether to write colours: on a terminal, unless `NO_COLOR` or `FORCE_COLOR` say otherwise. */
export function wantsColors({ isTTY }: { readonly isTTY?: boolean }, env: Environment): boolean {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false
  return isTTY === true && env['TERM'] !== 'dumb'
}
