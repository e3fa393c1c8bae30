/**
 * Output that readers have not taken: how many bytes wait for all sockets of a handler, and sockets that stall.
 *
 * @module
 */
import { elapsed, type Clock } from '../../runtime/clock.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import { shareOfHeap } from '../../runtime/environment.js'

/** The default of `stalledTimeoutMs`. */
export const STALLED_TIMEOUT_MS = 30_000

const MIN_BYTES = 33_554_432
const MAX_BYTES = 268_435_456

/** The default of `maxPendingBytes`: an eighth of the heap, from 32 to 256 MiB. */
export function defaultPendingBytes(): number {
  return Math.min(MAX_BYTES, Math.max(MIN_BYTES, shareOfHeap()))
}

/** The error of a body whose reader has stalled: no fault of the server. */
export class StalledReaderError extends Error {
  constructor() {
    super('The reader has taken nothing for "limits.stalledTimeoutMs"')
  }
}

/** A connection with output that its reader has not taken. */
export interface Output {
  /** How much the reader has yet to take; 0 once it has taken all. */
  left(): number
  /** Closes the connection. */
  drop(): void
}

/** Output that is counted. */
export interface HeldOutput {
  readonly output: Output
  readonly bytes: number
  left: number
  dueAt: number
}

export class PendingOutput {
  /** Half of `maxPendingBytes`. The other half is for texts that readers share. */
  readonly #max: number
  readonly #stalledMs: number
  readonly #clock: Clock
  /** All have the same time limit, so the first one of the set is due first. */
  readonly #held = new Set<HeldOutput>()
  /** Answers that wait for room, the first one first. */
  readonly #waiting = new Set<() => void>()
  #bytes = 0
  #isExpiring = false
  #disarm: (() => void) | undefined

  constructor(limits: { readonly maxPendingBytes: number; readonly stalledTimeoutMs: number }, clock: Clock) {
    this.#max = limits.maxPendingBytes / 2
    this.#stalledMs = limits.stalledTimeoutMs
    this.#clock = clock
  }

  /**
   * Counts output until it is released, and drops it when its reader takes nothing for `stalledTimeoutMs`. Where there is
   * no room for it, it is dropped at once.
   */
  hold(bytes: number, output: Output): HeldOutput | undefined {
    if (this.#bytes + bytes > this.#max && this.#held.size > 0) {
      output.drop()
      return undefined
    }
    const dueAt = elapsed(this.#clock) + this.#stalledMs
    const held: HeldOutput = { output, bytes, left: output.left(), dueAt }
    this.#bytes += bytes
    this.#held.add(held)
    if (this.#disarm === undefined && !this.#isExpiring) this.#arm(this.#stalledMs)
    return held
  }

  /** Whether `held` is still counted. */
  holds(held: HeldOutput): boolean {
    return this.#held.has(held)
  }

  /** Can be called again. */
  release(held: HeldOutput | undefined): void {
    if (held === undefined || !this.#held.delete(held)) return
    this.#bytes -= held.bytes
    if (this.#held.size === 0) this.#stop()
    this.wake()
  }

  /** Whether another piece of a large answer may be made. Half of the room is left to output that is made already. */
  get hasRoom(): boolean {
    return this.#held.size === 0 || this.#bytes < this.#max / 2
  }

  /** Resolves when there may be room. Its caller then takes the room, or calls {@link wake} for the next one. */
  room(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve)
    })
  }

  /** Lets the answer that has waited longest look for room. */
  wake(): void {
    if (!this.hasRoom) return
    for (const resolve of this.#waiting) {
      this.#waiting.delete(resolve)
      resolve()
      return
    }
  }

  #arm(delayMs: number): void {
    this.#disarm = this.#clock.schedule(() => void this.#expire(), delayMs)
  }

  #stop(): void {
    this.#disarm?.()
    this.#disarm = undefined
  }

  async #expire(): Promise<void> {
    this.#disarm = undefined
    this.#isExpiring = true
    // Where the process itself has stood still, readers may have taken all: sockets come after timers.
    await yieldToEventLoop()
    this.#isExpiring = false
    const now = elapsed(this.#clock)
    for (const held of this.#held) {
      if (held.dueAt > now) {
        this.#arm(held.dueAt - now)
        return
      }
      this.#check(held, now)
    }
  }

  #check(held: HeldOutput, now: number): void {
    const left = held.output.left()
    if (left > 0 && left < held.left) {
      this.#held.delete(held)
      held.left = left
      held.dueAt = now + this.#stalledMs
      this.#held.add(held)
      return
    }
    this.release(held)
    if (left > 0) held.output.drop()
  }
}
