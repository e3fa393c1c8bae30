/** One scheduler with virtual time: everything that takes time in a simulation is an event of its queue. */
import type { Clock } from 'a2a-tasks'

/** What an event happens to. An event of a dead owner does not happen; that of a paused one happens after the pause. */
export interface Owner {
  readonly name: string
  readonly isDead: boolean
  /** In ms of the world. */
  readonly pausedUntil: number
}

interface Event {
  at: number
  order: number
  readonly owner: Owner | undefined
  readonly what: string
  /** `undefined` once it is canceled. */
  run: (() => void) | undefined
}

const START = Date.UTC(2026, 0, 1)

export class World {
  /** Ms since the beginning. */
  now = 0
  /** How many events have happened. */
  events = 0
  /** Receives a line for each event. */
  trace: ((line: string) => void) | undefined
  readonly #queue: Event[] = []
  #order = 0

  /** Lets `run` happen to `owner` after `delayMs`. Returns a function that cancels it. */
  after(delayMs: number, what: string, run: () => void, owner?: Owner): () => void {
    const event: Event = { at: this.now + Math.max(0, delayMs), order: this.#order++, owner, what, run }
    this.#push(event)
    return () => {
      event.run = undefined
    }
  }

  /** The clock of one process, or of the world itself. */
  clockOf(owner?: Owner): Clock {
    return {
      now: () => START + this.now,
      monotonic: () => this.now,
      schedule: (callback, delayMs) => this.after(delayMs, 'timer', callback, owner),
    }
  }

  /** Resolves after `ms`, unless `owner` is dead by then. */
  pause(ms: number, owner?: Owner): Promise<void> {
    return new Promise((resolve) => this.after(ms, 'pause', resolve, owner))
  }

  /** Writes a line of the trace. */
  note(text: string): void {
    this.trace?.(`${this.now} ${text}`)
  }

  /** Lets events happen until `isOver`, or the time is `endMs`. */
  async run(endMs: number, isOver: () => boolean): Promise<void> {
    await settled()
    while (!isOver()) {
      const event = this.#queue[0]
      if (event === undefined || event.at > endMs) return
      this.#pop()
      if (this.#happen(event)) await settled()
    }
  }

  #happen(event: Event): boolean {
    const { run, owner, at, what } = event
    if (run === undefined || owner?.isDead === true) return false
    this.now = at
    if (owner !== undefined && owner.pausedUntil > at) {
      event.at = owner.pausedUntil
      event.order = this.#order++
      this.#push(event)
      return false
    }
    this.events += 1
    this.trace?.(`${at} ${owner?.name ?? 'world'} ${what}`)
    run()
    return true
  }

  /** The queue is a binary heap. */
  #push(event: Event): void {
    const queue = this.#queue
    let at = queue.length
    queue.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = queue[parent]
      if (above === undefined || isBefore(above, event)) break
      queue[at] = above
      at = parent
    }
    queue[at] = event
  }

  #pop(): void {
    const queue = this.#queue
    const last = queue.pop()
    if (last === undefined || queue.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      const [left, right] = [queue[child], queue[child + 1]]
      if (left === undefined) break
      if (right !== undefined && isBefore(right, left)) child += 1
      const least = queue[child]
      if (least === undefined || isBefore(last, least)) break
      queue[at] = least
      at = child
    }
    queue[at] = last
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Resolves when no promise is left that could go on without an event: Node calls `nextTick` after all microtasks. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
