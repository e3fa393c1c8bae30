/**
 * Splitter for the streams of Agent Engine: JSON documents in lines, concatenated, in server-sent events or in an
 * array.
 *
 * @module
 */

/** Finds the JSON objects and strings in a text that arrives in pieces, and skips everything between them. */
export class JsonDocuments {
  /** Text of the incomplete document. */
  #text = ''
  #depth = 0
  #isQuoted = false
  #isEscaped = false

  /** Size of the incomplete document, in characters. */
  get size(): number {
    return this.#text.length
  }

  /** Returns the documents that this piece completes. */
  add(piece: string): string[] {
    const documents: string[] = []
    let start = 0
    for (let at = 0; at < piece.length; at += 1) {
      const wasInside = this.#isInside
      this.#step(piece.charAt(at))
      if (this.#isInside === wasInside) continue
      if (!wasInside) start = at
      else {
        documents.push(this.#text + piece.slice(start, at + 1))
        this.#text = ''
      }
    }
    if (this.#isInside) this.#text += piece.slice(start)
    return documents
  }

  get #isInside(): boolean {
    return this.#isQuoted || this.#depth > 0
  }

  #step(char: string): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (this.#isQuoted) {
      this.#isEscaped = char === '\\'
      this.#isQuoted = char !== '"'
    } else if (char === '"') this.#isQuoted = true
    else if (char === '{') this.#depth += 1
    else if (char === '}' && this.#depth > 0) this.#depth -= 1
  }
}
