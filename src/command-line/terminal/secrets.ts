/**
 * Credentials that no output contains, neither in one text nor in several that follow each other.
 *
 * @module
 */

const HIDDEN = '***'
/** Shorter values occur by chance. */
const MIN_SECRET = 6

type Range = readonly [start: number, end: number]

/** Values that no output contains. */
export class Secrets {
  readonly #values = new Set<string>()

  add(value: string): void {
    if (value.length < MIN_SECRET) return
    this.#values.add(value)
    this.#values.add(JSON.stringify(value).slice(1, -1))
  }

  hide(text: string): string {
    return this.hideIn([text]).join('')
  }

  /** The texts without the secrets that are in one of them, or begin in one and end in a later one. */
  hideIn(texts: readonly string[]): readonly string[] {
    const ranges = this.#rangesOf(texts.join(''))
    if (ranges.length === 0) return texts
    let [offset, index] = [0, 0]
    return texts.map((text) => {
      let shown = ''
      const end = offset + text.length
      let at = offset
      for (let range = ranges[index]; range !== undefined && range[0] < end; range = ranges[index]) {
        shown += text.slice(at - offset, Math.max(0, range[0] - offset))
        if (range[0] >= offset) shown += HIDDEN
        at = Math.min(end, range[1])
        if (range[1] > end) break
        index += 1
      }
      shown += text.slice(at - offset)
      offset = end
      return shown
    })
  }

  /** Where the longest end of `text` begins that is the beginning of a secret. */
  openAt(text: string): number {
    let open = text.length
    for (const value of this.#values) {
      const first = value.charAt(0)
      let at = text.indexOf(first, Math.max(0, text.length - value.length + 1))
      while (at !== -1 && at < open) {
        if (value.startsWith(text.slice(at))) open = at
        else at = text.indexOf(first, at + 1)
      }
    }
    return open
  }

  /** Whether `text` is at least half of a secret, from its beginning on. */
  isMost(text: string): boolean {
    return [...this.#values].some((value) => value.startsWith(text) && 2 * text.length >= value.length)
  }

  /** Ranges that do not overlap, in their order. */
  #rangesOf(text: string): Range[] {
    const found: Range[] = []
    for (const value of this.#values) {
      for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length)) {
        found.push([at, at + value.length])
      }
    }
    found.sort(([a], [b]) => a - b)
    const merged: Range[] = []
    for (const [start, end] of found) {
      const last = merged.at(-1)
      if (last === undefined || start >= last[1]) merged.push([start, end])
      else merged[merged.length - 1] = [last[0], Math.max(last[1], end)]
    }
    return merged
  }
}

interface Held {
  readonly source: string
  readonly show: (texts: readonly string[]) => void
  texts: readonly string[]
  isOpen: boolean
}

/** Entries that wait for the rest of what may be a secret. With one more, all are shown, without what may be one. */
const MAX_HELD = 32
/** Sources whose last text may be the beginning of a secret. */
const MAX_SOURCES = 10_000

/**
 * Texts that come one after the other. A text that ends as a secret begins is held until the next one of the same source
 * says whether it is one. All are shown in the order in which they came.
 */
export class Redaction {
  readonly #secrets: Secrets
  #held: Held[] = []
  /** Of each source, the end of what was shown, or hidden, that may be the beginning of a secret. */
  readonly #ends = new Map<string, string>()

  constructor(secrets: Secrets) {
    this.#secrets = secrets
  }

  /** `show` is called, now or later, with the texts as they may be shown. Texts of several sources make no secret together. */
  add(texts: readonly string[], show: (texts: readonly string[]) => void, source = ''): void {
    this.#held.push({ texts, show, source, isOpen: true })
    const group = this.#groupOf(source)
    const before = this.#ends.get(source) ?? ''
    const [first = '', ...hidden] = this.#secrets.hideIn([before, ...group.flatMap((each) => each.texts)])
    const open = this.#secrets.openAt(first + hidden.join(''))
    setTexts(group, hidden)
    let { length } = first
    for (const each of group) {
      length += each.texts.join('').length
      each.isOpen = length > open
    }
    if (open >= first.length) this.#ends.delete(source)
    if (this.#held.length > MAX_HELD) this.#close((end) => end.length >= MIN_SECRET)
    else this.#showFirst()
  }

  /** Shows what is held, without an end that is at least half of a secret. */
  end(): void {
    this.#close((end) => this.#secrets.isMost(end))
  }

  /** @param isHidden - Whether this beginning of a secret is hidden. What follows it is hidden in any case if it becomes one. */
  #close(isHidden: (end: string) => boolean): void {
    for (const source of new Set(this.#held.map((each) => each.source))) {
      const group = this.#groupOf(source)
      const texts = group.flatMap((each) => each.texts)
      const whole = (this.#ends.get(source) ?? '') + texts.join('')
      const end = whole.slice(this.#secrets.openAt(whole))
      if (end !== '' && isHidden(end)) setTexts(group, withoutEnd(texts, end.length))
      for (const each of group) each.isOpen = false
      this.#ends.delete(source)
      if (end !== '' && this.#ends.size < MAX_SOURCES) this.#ends.set(source, end)
    }
    this.#showFirst()
  }

  #groupOf(source: string): readonly Held[] {
    return this.#held.filter((each) => each.source === source)
  }

  #showFirst(): void {
    const open = this.#held.findIndex(({ isOpen }) => isOpen)
    const shown = open === -1 ? this.#held : this.#held.slice(0, open)
    this.#held = this.#held.slice(shown.length)
    for (const { show, texts } of shown) show(texts)
  }
}

/** Gives the entries their texts, of which each has as many as before. */
function setTexts(group: readonly Held[], texts: readonly string[]): void {
  let count = 0
  for (const each of group) each.texts = texts.slice(count, (count += each.texts.length))
}

/** The texts without their last `length` characters, which may be in several, or before all of them. */
function withoutEnd(texts: readonly string[], length: number): readonly string[] {
  let left = Math.max(0, texts.join('').length - length)
  let isCut = false
  return texts.map((text) => {
    const shown = text.slice(0, left)
    left -= shown.length
    if (isCut || (shown === text && text !== '') || text === '') return shown
    isCut = true
    return shown + HIDDEN
  })
}
