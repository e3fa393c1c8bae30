/**
 * The texts within a block of markdown: emphasis, code and links. What is none of them stays text, HTML too.
 *
 * @module
 */
import { Work } from './work.js'

export type Inline =
  | string
  | { readonly type: 'em' | 'strong' | 'del'; readonly content: readonly Inline[] }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'a'; readonly href: string; readonly content: readonly Inline[] }

/** Bounds the work for a text that opens much and closes nothing. */
const MAX_SPAN = 500
const MAX_DEPTH = 8

const ESCAPE = /\\([!-/:-@[-`{-~])/y
const LINK = /!?\[([^[\]]{0,500})\]\(\s{0,9}<?([^\s<>()]{1,2000})>?(?:\s{1,9}"[^"]{0,500}")?\s{0,9}\)/y
const AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y
/** What ends a sentence is not part of an address. */
const ADDRESS = /https?:\/\/[^\s<>"'`*|\])]{0,2000}[^\s<>"'`*|\]).,;:!?_~]/y
const MARKS = [
  ['***', 'strong'],
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
] as const
/** Where something other than text may begin. */
const SPECIAL = /[\\`!<[*_~]|https?:\/\//g

/**
 * @param isLinked - The text of a link has no links.
 * @throws {TooMuchWork}
 */
export function inlineOf(text: string, work = new Work(), isLinked = false, depth = 0): Inline[] {
  const all: Inline[] = []
  const add = (part: Inline): void => {
    const last = all.at(-1)
    if (typeof part === 'string' && typeof last === 'string') all[all.length - 1] = last + part
    else if (part !== '') all.push(part)
  }
  for (let at = 0; at < text.length;) {
    const found = depth < MAX_DEPTH ? next(SPECIAL, text, at) : text.length
    add(text.slice(at, found))
    if (found === text.length) break
    const [part, end] = spanAt(text, found, work, isLinked, depth) ?? [text.charAt(found), found + 1]
    add(part)
    at = end
  }
  return all
}

type Span = readonly [part: Inline, end: number]

function spanAt(text: string, at: number, work: Work, isLinked: boolean, depth: number): Span | undefined {
  work.spend()
  const escaped = match(ESCAPE, text, at)
  if (escaped?.[1] !== undefined) return [escaped[1], at + 2]
  if (text[at] === '`') return codeAt(text, at)
  return (isLinked ? undefined : linkAt(text, at, work, depth)) ?? markedAt(text, at, work, isLinked, depth)
}

function codeAt(text: string, at: number): Span {
  const [run = ''] = /^`+/.exec(text.slice(at, at + MAX_SPAN)) ?? []
  const start = at + run.length
  const end = text.indexOf(run, start)
  if (end === -1) return [run, start]
  const code = text.slice(start, end).replace(/\n/g, ' ')
  const isPadded = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== ''
  return [{ type: 'code', text: isPadded ? code.slice(1, -1) : code }, end + run.length]
}

function linkAt(text: string, at: number, work: Work, depth: number): Span | undefined {
  const link = match(LINK, text, at)
  if (link !== null) {
    const [whole, label = '', url = ''] = link
    const href = hrefOf(url)
    // The source shows where it would have led.
    if (href === undefined) return [whole, at + whole.length]
    return [{ type: 'a', href, content: inlineOf(label || url, work, true, depth + 1) }, at + whole.length]
  }
  const [whole, inner] = match(AUTOLINK, text, at) ?? match(ADDRESS, text, at) ?? []
  const url = inner ?? whole
  const href = url === undefined ? undefined : hrefOf(url)
  if (whole === undefined || url === undefined || href === undefined) return undefined
  return [{ type: 'a', href, content: [url] }, at + whole.length]
}

/** The address of a link that may be followed; `undefined` for all but those of the web and of mail. */
function hrefOf(url: string): string | undefined {
  if (!/^(https?:\/\/|mailto:)/i.test(url) || !URL.canParse(url)) return undefined
  const { protocol, href } = new URL(url)
  return ['http:', 'https:', 'mailto:'].includes(protocol) ? href : undefined
}

function markedAt(text: string, at: number, work: Work, isLinked: boolean, depth: number): Span | undefined {
  const [mark, type] = MARKS.find(([each]) => text.startsWith(each, at)) ?? []
  if (mark === undefined) return undefined
  const start = at + mark.length
  const isWordBefore = /\w/.test(text.charAt(at - 1))
  if (/^(\s|$)/.test(text.charAt(start)) || (mark.startsWith('_') && isWordBefore)) return [mark, start]
  const window = text.slice(start, start + MAX_SPAN)
  const length = closing(window, mark)
  if (length === -1) return [mark, start]
  const content = inlineOf(window.slice(0, length), work, isLinked, depth + 1)
  const inner: readonly Inline[] = mark === '***' ? [{ type: 'em', content }] : content
  return [{ type, content: inner }, start + length + mark.length]
}

/** Where the mark closes: after a character that is no space, and, of underscores, not within a word. */
function closing(window: string, mark: string): number {
  for (let at = window.indexOf(mark, 1); at !== -1; at = window.indexOf(mark, at + 1)) {
    // Of a longer run, the end closes this mark, and what is before it closes an inner one.
    while (mark.length > 1 && window.startsWith(mark, at + 1)) at += 1
    const after = at + mark.length
    if (/[\s\\]/.test(window.charAt(at - 1))) continue
    if (mark.startsWith('_') && /\w/.test(window.charAt(after))) continue
    // A longer run of the same character is another mark.
    if (mark.length === 1 && (window[at - 1] === mark || window[after] === mark)) continue
    return at
  }
  return -1
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function next(pattern: RegExp, text: string, at: number): number {
  return match(pattern, text, at)?.index ?? text.length
}
