/**
 * Payloads of webhooks that receive whole tasks: encoded one at a time, and shared by webhooks that receive the same.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import { waitInQueue } from './concurrency.js'

/** How many characters may be encoded or sent per 1 ms of pause. */
const CHARACTERS_PER_MS = 100_000

interface Payload {
  readonly text: string
  users: number
}

/** The tasks of one owner whose webhooks wait for their turn. */
interface OwnerQueue {
  readonly waiting: Map<TaskPayloads, Set<() => void>>
  /** Characters that were encoded or sent since the latest pause. */
  load: number
}

/**
 * Limits the time that is spent on encoding whole tasks. The tasks of one owner are encoded one at a time, and after
 * each the owner's queue pauses in proportion to its size. Queues of different owners do not delay each other.
 */
export class PayloadQueue {
  readonly #clock: Clock
  readonly #queues = new Map<string | undefined, OwnerQueue>()
  readonly #pauses = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Waits for the turn of one task; all webhooks that wait for the same task get their turn together. Rejects with the
   * reason of `signal` when it aborts first.
   */
  turn(payloads: TaskPayloads, signal: AbortSignal): Promise<void> {
    return waitInQueue(signal, (grant) => {
      const { waiting } = this.#queueOf(payloads.owner)
      const grants = waiting.get(payloads) ?? new Set()
      waiting.set(payloads, grants.add(grant))
      return () => {
        grants.delete(grant)
        if (grants.size === 0 && waiting.get(payloads) === grants) waiting.delete(payloads)
      }
    })
  }

  /** Adds to what the owner's next pause makes up for. */
  addLoad(owner: string | undefined, characters: number): void {
    this.#queueOf(owner).load += characters
  }

  /** Stops all timers. Call it when no webhook waits any more. */
  close(): void {
    for (const stop of this.#pauses) stop()
    this.#pauses.clear()
    this.#queues.clear()
  }

  #queueOf(owner: string | undefined): OwnerQueue {
    const present = this.#queues.get(owner)
    if (present !== undefined) return present
    const queue: OwnerQueue = { waiting: new Map(), load: 0 }
    this.#queues.set(owner, queue)
    void this.#serve(owner, queue)
    return queue
  }

  async #serve(owner: string | undefined, queue: OwnerQueue): Promise<void> {
    for (;;) {
      await yieldToEventLoop()
      // The webhooks that had their turn have encoded their payloads by now.
      const pauseMs = queue.load / CHARACTERS_PER_MS
      queue.load = 0
      if (pauseMs >= 1) await this.#pause(pauseMs)
      const [first] = queue.waiting
      if (first === undefined && queue.load > 0) continue
      if (first === undefined) break
      const [payloads, grants] = first
      queue.waiting.delete(payloads)
      for (const grant of grants) grant()
    }
    if (this.#queues.get(owner) === queue) this.#queues.delete(owner)
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.#clock.schedule(() => {
        this.#pauses.delete(stop)
        resolve()
      }, delayMs)
      this.#pauses.add(stop)
    })
  }
}

/** The payloads of one task in one dialect. */
export class TaskPayloads {
  readonly owner: string | undefined
  readonly #queue: PayloadQueue
  /** By generation, while a webhook is sending it. */
  readonly #payloads = new Map<number, Payload>()

  constructor(queue: PayloadQueue, owner: string | undefined) {
    this.#queue = queue
    this.owner = owner
  }

  /** Waits until this task may be encoded. Rejects with the reason of `signal` when it aborts first. */
  turn(signal: AbortSignal): Promise<void> {
    return this.#queue.turn(this, signal)
  }

  /** The payload for the task at `generation`, encoded once while any webhook holds it. Call `release` after sending. */
  hold(generation: number, encode: () => string): { readonly text: string; readonly release: () => void } {
    const present = this.#payloads.get(generation)
    const payload = present ?? { text: encode(), users: 0 }
    payload.users += 1
    this.#payloads.set(generation, payload)
    // Encoding and sending count once each; a payload that is there is only sent.
    this.#queue.addLoad(this.owner, payload.text.length * (present === undefined ? 2 : 1))
    const release = (): void => {
      payload.users -= 1
      if (payload.users === 0) this.#payloads.delete(generation)
    }
    return { text: payload.text, release }
  }
}
