/**
 * The parts of a Markdown page that can be wrong: its programs, its links, its anchors.
 *
 * @module
 */
export interface Program {
  /** Where it begins, as `file:line`. */
  readonly at: string
  readonly language: 'ts' | 'js'
  readonly code: string
  /** What it says that it prints: the ` ```text ` block right after it. */
  readonly output: string | undefined
}

const FENCE = /^(`{3,})([^\n`]*)\n([^]*?)^\1 *$/gm

/** Not multiline: `^` is the end of the program before it. */
const OUTPUT = /^\s*```text\n([^]*?)\n```/

/** The blocks marked as a whole program: ` ```ts run ` and ` ```js run `, or with another mark. */
export function programsOf(file: string, text: string, mark = 'run'): Program[] {
  return [...text.matchAll(FENCE)].flatMap(({ 0: block, 2: info = '', 3: code = '', index }) => {
    const [language, marked] = info.trim().split(/\s+/)
    if ((language !== 'ts' && language !== 'js') || marked !== mark) return []
    const at = `${file}:${text.slice(0, index).split('\n').length}`
    const [, output] = OUTPUT.exec(text.slice(index + block.length)) ?? []
    return [{ at, language, code, output }]
  })
}

/** Whether a program printed what it says. `…` stands for anything within a line: an id, a time. */
export function isPrinted(printed: string, documented: string): boolean {
  const literal = documented.trimEnd().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('…', '.*')}$`).test(printed.trimEnd())
}

/** Where its links lead, outside code. */
export function linksOf(text: string): string[] {
  const prose = text.replace(FENCE, '').replace(/`[^`\n]*`/g, '')
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)/g)]
  const named = [...prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)]
  return [...inline, ...named].map(([, target = '']) => target)
}

/** The anchors of its headings, as GitHub makes them, and those set by hand. */
export function anchorsOf(text: string): string[] {
  const prose = text.replace(FENCE, '')
  const seen = new Map<string, number>()
  const headings = [...prose.matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = '']) => {
    const slug = toSlug(heading)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
  return [...headings, ...[...prose.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id)]
}

function toSlug(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}
