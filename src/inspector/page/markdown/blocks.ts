/**
 * The blocks of a markdown text, as data: a page makes elements of them, and never HTML.
 *
 * @module
 */
import { Work } from './work.js'
import { inlineOf, type Inline } from './inline.js'

type Row = readonly (readonly Inline[])[]

export type Block =
  | { readonly type: 'paragraph'; readonly content: readonly Inline[] }
  /** Its depth among the headings around it, from 1: without gaps, whatever the text has. */
  | { readonly type: 'heading'; readonly depth: number; readonly content: readonly Inline[] }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'quote'; readonly blocks: readonly Block[] }
  | { readonly type: 'list'; readonly start?: number; readonly items: readonly (readonly Block[])[] }
  | { readonly type: 'table'; readonly head: Row; readonly rows: readonly Row[] }
  | { readonly type: 'rule' }

const MAX_DEPTH = 8
const FENCE = /^ {0,3}(`{3,}(?!.*`)|~{3,})/
const HEADING = /^ {0,3}(#{1,6})(?: (.*))?$/
const RULE = /^ {0,3}([-*_]) *(?:\1 *){2,}$/
const QUOTE = /^ {0,3}> ?/
const ITEM = /^ {0,3}([-*+]|\d{1,9}[.)])(?: +|$)/
const TABLE_RULE = /^[ :|-]+$/
/** Something that looks other when it is rendered. */
const MARKUP =
  /^ {0,3}(#{1,6} |[-*+] |\d{1,9}[.)] |> |```|~~~)|\*\*\S|(?<![\w*_])([*_])\w[^*_\n]{0,200}\2(?!\w)|`[^`\n]+`|\]\([^)\s]|^\|.*\|/m

export function hasMarkup(text: string): boolean {
  return MARKUP.test(text)
}

/** @throws {TooMuchWork} */
export function blocksOf(text: string, work = new Work()): Block[] {
  const lines = text.replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n')
  return parse(lines, { work, depth: 0, open: [] })
}

/** What blocks are within. */
interface Around {
  readonly work: Work
  readonly depth: number
  /** The levels of the headings around a block. */
  readonly open: number[]
}

/** The lines of a block and the position after them. */
type Read = readonly [block: Block, end: number]

function parse(lines: readonly string[], around: Around): Block[] {
  const blocks: Block[] = []
  for (let at = 0; at < lines.length;) {
    if (lineAt(lines, at).trim() === '') {
      at += 1
      continue
    }
    around.work.spend()
    const [block, end] = blockAt(lines, at, around) ?? paragraphAt(lines, at, around)
    blocks.push(block)
    at = end
  }
  return blocks
}

function lineAt(lines: readonly string[], at: number): string {
  return lines[at] ?? ''
}

function blockAt(lines: readonly string[], at: number, around: Around): Read | undefined {
  const line = lineAt(lines, at)
  const [, hashes, title = ''] = HEADING.exec(line) ?? []
  if (hashes !== undefined) return [headingOf(hashes.length, title, around), at + 1]
  const [, fence] = FENCE.exec(line) ?? []
  if (fence !== undefined) return codeAt(lines, at, fence)
  if (RULE.test(line)) return [{ type: 'rule' }, at + 1]
  if (isTable(lines, at)) return tableAt(lines, at, around)
  if (around.depth >= MAX_DEPTH) return undefined
  const within = { ...around, depth: around.depth + 1 }
  if (QUOTE.test(line)) return quoteAt(lines, at, within)
  return ITEM.test(line) ? listAt(lines, at, within) : undefined
}

function headingOf(level: number, title: string, { open, work }: Around): Block {
  while ((open.at(-1) ?? 0) >= level) open.pop()
  open.push(level)
  const text = title.trim().replace(/ #{1,6}$/, '')
  return { type: 'heading', depth: open.length, content: inlineOf(text, work) }
}

/** Code without an end is that of a text that still grows. */
function codeAt(lines: readonly string[], at: number, fence: string): Read {
  let end = at + 1
  while (end < lines.length && !(lineAt(lines, end).trim().startsWith(fence) && isMark(lineAt(lines, end))))
    end += 1
  return [{ type: 'code', text: lines.slice(at + 1, end).join('\n') }, end + 1]
}

function isMark(line: string): boolean {
  return /^ *(`+|~+) *$/.test(line)
}

function quoteAt(lines: readonly string[], at: number, within: Around): Read {
  let end = at
  while (QUOTE.test(lineAt(lines, end))) end += 1
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''))
  return [{ type: 'quote', blocks: parse(inner, within) }, end]
}

function listAt(lines: readonly string[], at: number, within: Around): Read {
  const kind = bulletOf(lineAt(lines, at)).slice(-1)
  const items: Block[][] = []
  let end = at
  while (kind === bulletOf(lineAt(lines, end)).slice(-1)) {
    const [mark = ''] = ITEM.exec(lineAt(lines, end)) ?? []
    const inner = [lineAt(lines, end).slice(mark.length)]
    for (end += 1; end < lines.length && /^( {2}| *$)/.test(lineAt(lines, end)); end += 1) {
      inner.push(unindented(lineAt(lines, end), mark.length))
    }
    within.work.spend()
    items.push(parse(inner.map(withBox), within))
  }
  const start = Number.parseInt(bulletOf(lineAt(lines, at)), 10)
  return [{ type: 'list', items, ...(Number.isNaN(start) ? {} : { start }) }, end]
}

/** `-`, `*`, `+`, or a number and what follows it. Empty where no item begins. */
function bulletOf(line: string): string {
  return RULE.test(line) ? '' : (ITEM.exec(line)?.[1] ?? '')
}

function unindented(line: string, indent: number): string {
  const spaces = line.length - line.trimStart().length
  return line.slice(Math.min(spaces, indent))
}

/** A task of a list, as people read it. */
function withBox(line: string, index: number): string {
  return index === 0 ? line.replace(/^\[ \] /, '☐ ').replace(/^\[[xX]\] /, '☑ ') : line
}

function isTable(lines: readonly string[], at: number): boolean {
  const rule = lineAt(lines, at + 1)
  return lineAt(lines, at).includes('|') && rule.includes('-') && rule.includes('|') && TABLE_RULE.test(rule)
}

function tableAt(lines: readonly string[], at: number, { work }: Around): Read {
  let end = at + 2
  while (lineAt(lines, end).includes('|')) end += 1
  const head = cellsOf(lineAt(lines, at), work)
  const rows = lines.slice(at + 2, end).map((line) => cellsOf(line, work).slice(0, head.length))
  return [{ type: 'table', head, rows }, end]
}

function cellsOf(line: string, work: Work): Row {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '')
  const cells = inner.split(/(?<!\\)\|/)
  work.spend(cells.length)
  return cells.map((cell) => inlineOf(cell.trim().replace(/\\\|/g, '|'), work))
}

function paragraphAt(lines: readonly string[], at: number, { work }: Around): Read {
  let end = at + 1
  while (end < lines.length && !endsParagraph(lines, end)) end += 1
  const text = lines.slice(at, end).map((line) => line.trim())
  return [{ type: 'paragraph', content: inlineOf(text.join('\n'), work) }, end]
}

function endsParagraph(lines: readonly string[], at: number): boolean {
  const line = lineAt(lines, at)
  const begins = [HEADING, FENCE, RULE, QUOTE, ITEM].some((pattern) => pattern.test(line))
  return line.trim() === '' || begins || isTable(lines, at)
}
