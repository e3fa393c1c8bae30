/**
 * The texts of whole tasks: made one after the other, with a rest after each, and shared by those who send the same.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import { yieldToEventLoop } from '../../runtime/timers.js'

/** Characters that are made or sent, for which there is a rest of 1 ms. */
const CHARACTERS_PER_MS = 100_000

interface Held {
  readonly text: string
  users: number
}

/** Those who wait for their turn, for one owner of tasks. */
interface Line {
  readonly waiting: Map<TaskTexts, Set<() => void>>
  /** Characters that were made or sent since the latest rest. */
  load: number
}

/**
 * Whose turn it is. Texts of one owner's tasks are made one at a time; after each, everything else goes on for as long
 * as it was long. What one owner's tasks take does not hold up those of another.
 */
export class Texts {
  readonly #clock: Clock
  readonly #lines = new Map<string | undefined, Line>()
  readonly #rests = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits for the turn of `texts`, which all who wait for it have together. Rejects with the reason of `signal`. */
  turn(texts: TaskTexts, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      // Whoever aborts gives an error.
      const fail = (): void => reject(signal.reason as Error)
      if (signal.aborted) {
        fail()
        return
      }
      const { waiting } = this.#lineOf(texts.owner)
      const members = waiting.get(texts) ?? new Set()
      const onAbort = (): void => {
        members.delete(grant)
        if (members.size === 0 && waiting.get(texts) === members) waiting.delete(texts)
        fail()
      }
      const grant = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      waiting.set(texts, members.add(grant))
    })
  }

  /** What is made or sent has to be made up for. */
  load(owner: string | undefined, characters: number): void {
    this.#lineOf(owner).load += characters
  }

  /** Nobody waits any more. */
  close(): void {
    for (const stop of this.#rests) stop()
    this.#rests.clear()
    this.#lines.clear()
  }

  #lineOf(owner: string | undefined): Line {
    const present = this.#lines.get(owner)
    if (present !== undefined) return present
    const line: Line = { waiting: new Map(), load: 0 }
    this.#lines.set(owner, line)
    void this.#serve(owner, line)
    return line
  }

  async #serve(owner: string | undefined, line: Line): Promise<void> {
    for (;;) {
      await yieldToEventLoop()
      // What was granted before has been made by now.
      const restMs = line.load / CHARACTERS_PER_MS
      line.load = 0
      if (restMs >= 1) await this.#rest(restMs)
      const [first] = line.waiting
      if (first === undefined && line.load > 0) continue
      if (first === undefined) break
      const [texts, members] = first
      line.waiting.delete(texts)
      for (const grant of members) grant()
    }
    if (this.#lines.get(owner) === line) this.#lines.delete(owner)
  }

  #rest(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.#clock.schedule(() => {
        this.#rests.delete(stop)
        resolve()
      }, delayMs)
      this.#rests.add(stop)
    })
  }
}

/** The texts of one task in one version. */
export class TaskTexts {
  readonly owner: string | undefined
  readonly #texts: Texts
  /** By generation, for as long as somebody sends it. */
  readonly #held = new Map<number, Held>()

  constructor(texts: Texts, owner: string | undefined) {
    this.#texts = texts
    this.owner = owner
  }

  turn(signal: AbortSignal): Promise<void> {
    return this.#texts.turn(this, signal)
  }

  /** The text of the task at `generation`. `release` says that it was sent. */
  hold(generation: number, make: () => string): { readonly text: string; readonly release: () => void } {
    const present = this.#held.get(generation)
    const held = present ?? { text: make(), users: 0 }
    held.users += 1
    this.#held.set(generation, held)
    this.#texts.load(this.owner, held.text.length * (present === undefined ? 2 : 1))
    const release = (): void => {
      held.users -= 1
      if (held.users === 0) this.#held.delete(generation)
    }
    return { text: held.text, release }
  }
}
