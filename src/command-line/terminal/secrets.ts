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

  /** The text, without an end that is at least half of a secret. */
  hideEnd(text: string): string {
    const end = text.slice(this.openAt(text))
    const isHalf = [...this.#values].some((value) => value.startsWith(end) && 2 * end.length >= value.length)
    return isHalf ? text.slice(0, text.length - end.length) + HIDDEN : text
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

/** Entries that wait for the rest of what may be a secret. With one more, all are shown. */
const MAX_HELD = 32

/**
 * Texts that come one after the other. A text that ends as a secret begins is held until the next one of the same source
 * says whether it is one. All are shown in the order in which they came.
 */
export class Redaction {
  readonly #secrets: Secrets
  #held: Held[] = []

  constructor(secrets: Secrets) {
    this.#secrets = secrets
  }

  /** `show` is called, now or later, with the texts as they may be shown. Texts of several sources make no secret together. */
  add(texts: readonly string[], show: (texts: readonly string[]) => void, source = ''): void {
    this.#held.push({ texts, show, source, isOpen: true })
    const group = this.#held.filter((each) => each.source === source)
    const hidden = this.#secrets.hideIn(group.flatMap((each) => each.texts))
    const open = this.#secrets.openAt(hidden.join(''))
    let [count, length] = [0, 0]
    for (const each of group) {
      each.texts = hidden.slice(count, (count += each.texts.length))
      length += each.texts.join('').length
      each.isOpen = length > open
    }
    if (this.#held.length > MAX_HELD) this.end()
    else this.#showFirst()
  }

  /** Shows what is held: nothing follows. */
  end(): void {
    for (const each of this.#held) {
      const last = each.texts.at(-1)
      if (each.isOpen && last !== undefined) {
        each.texts = [...each.texts.slice(0, -1), this.#secrets.hideEnd(last)]
      }
      each.isOpen = false
    }
    this.#showFirst()
  }

  #showFirst(): void {
    const open = this.#held.findIndex(({ isOpen }) => isOpen)
    const shown = open === -1 ? this.#held : this.#held.slice(0, open)
    this.#held = this.#held.slice(shown.length)
    for (const { show, texts } of shown) show(texts)
  }
}
