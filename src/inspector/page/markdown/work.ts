/**
 * The work that the page does to render markdown, which is bounded.
 *
 * @module
 */
/** For one text. */
const MAX_WORK = 5_000
/** For all texts that are shown at a time. */
const MAX_SHOWN = 20_000

let shown = 0

/** Thrown where the work is used up. */
export class TooMuchWork extends Error {}

/** Each element of the document is one unit of work, and so is each place where one might have begun. */
export class Work {
  #used = 0
  readonly #most: number

  constructor(most = MAX_WORK) {
    this.#most = most
  }

  /** @throws {TooMuchWork} */
  spend(units = 1): void {
    this.#used += units
    if (this.#used > this.#most) throw new TooMuchWork()
  }

  get used(): number {
    return this.#used
  }
}

/** The work of one text, within that of all texts that are shown. It is given back when the text is shown no more. */
export class Share {
  #used = 0

  /** @returns What `render` returns; `undefined` where that is too much work. */
  render<T>(render: (work: Work) => T): T | undefined {
    this.release()
    const work = new Work(Math.min(MAX_WORK, MAX_SHOWN - shown))
    try {
      const rendered = render(work)
      this.#used = work.used
      shown += this.#used
      return rendered
    } catch (error) {
      if (error instanceof TooMuchWork) return undefined
      throw error
    }
  }

  release(): void {
    shown -= this.#used
    this.#used = 0
  }
}
