/**
 * Reads of tasks, and large answers, within the memory of the process: a task may have many times the size of the request for it.
 *
 * @module
 */
import { LargeText } from '../server/binding/large-texts.js'
import { yieldToEventLoop } from '../runtime/timers.js'
import { shareOfHeap } from '../runtime/environment.js'
import { unavailable } from '../server/unavailable.js'

/** The characters of an answer that is written at once. */
const MAX_SMALL = 32_768
/** The bytes of a piece. */
const PIECE = 65_536
/** The heap for one read at a time: a task of 4 MiB as it is received, read, and made into an answer. */
const READ_BYTES = 16_777_216

export interface Reads {
  /** Reads when there is room for another task. Reads that came before are first. */
  readonly read: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * The body of an answer.
   *
   * @throws {A2AError} `UNAVAILABLE` when answers that are not taken leave no room for it.
   */
  readonly bodyOf: (text: string) => string | LargeText
}

/** How many reads there may be at a time: for a quarter of the heap, and two where the runtime does not report it. */
export function defaultReads(): number {
  return Math.max(2, Math.floor((2 * shareOfHeap()) / READ_BYTES))
}

/** @param maxBytes The bytes of large answers that readers have not taken. Reads leave half of them to other answers. */
export function toReads(maxReads: number, maxBytes: number): Reads {
  const queue = new Set<() => void>()
  let reads = 0
  let bytes = 0

  const hasRoom = (): boolean => reads < maxReads && bytes < maxBytes / 2
  const next = (): void => {
    for (const begin of queue) {
      if (!hasRoom()) return
      queue.delete(begin)
      reads += 1
      begin()
    }
  }
  return {
    async read(work) {
      await new Promise<void>((resolve) => {
        queue.add(resolve)
        next()
      })
      try {
        return await work()
      } finally {
        reads -= 1
        // What was read becomes an answer first, and is counted as one.
        void yieldToEventLoop().then(next)
      }
    },
    bodyOf(text) {
      if (text.length <= MAX_SMALL) return text
      if (bytes > 0 && bytes + text.length > maxBytes) throw unavailable('has no room for a large answer')
      const encoded = new TextEncoder().encode(text)
      bytes += encoded.byteLength
      return new LargeText(piecesOf(encoded), () => {
        bytes -= encoded.byteLength
        next()
      })
    },
  }
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array, undefined> {
  for (let at = 0; at < bytes.byteLength; at += PIECE) yield bytes.subarray(at, at + PIECE)
}
