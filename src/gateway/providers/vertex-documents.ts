/**
 * Agent Engine writes the events of a stream on lines, one right after the other, as server-sent events, or in an array.
 *
 * @module
 */

/** Finds the JSON objects and texts in a text that comes in pieces, whatever stands between them. */
export class JsonDocuments {
  #text = ''
  #at = 0
  /** Where the document that is not whole yet begins. */
  #start = -1
  #depth = 0
  #isQuoted = false

  /** How much is kept of a document that is not whole yet, in characters. */
  get size(): number {
    return this.#text.length
  }

  /** The documents that are whole with this piece. */
  add(piece: string): string[] {
    this.#text += piece
    const documents: string[] = []
    for (; this.#at < this.#text.length; this.#at += 1) {
      if (!this.#step(this.#text.charAt(this.#at))) continue
      documents.push(this.#text.slice(this.#start, this.#at + 1))
      this.#start = -1
    }
    const kept = this.#start === -1 ? this.#text.length : this.#start
    this.#text = this.#text.slice(kept)
    this.#at -= kept
    if (this.#start !== -1) this.#start = 0
    return documents
  }

  /** Whether a document ends here. */
  #step(char: string): boolean {
    if (this.#isQuoted) {
      // The next character, whatever it is, ends nothing; it may come with the next piece.
      if (char === '\\') this.#at += 1
      if (char === '"') this.#isQuoted = false
      return char === '"' && this.#depth === 0
    }
    if (this.#depth === 0 && (char === '"' || char === '{')) this.#start = this.#at
    if (char === '"') this.#isQuoted = true
    if (char === '{') this.#depth += 1
    if (char !== '}' || this.#depth === 0) return false
    this.#depth -= 1
    return this.#depth === 0
  }
}
