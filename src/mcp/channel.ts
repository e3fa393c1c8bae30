/**
 * Messages to clients as streams of server-sent events.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import type { Source } from '../server/streams/source.js'
import type { Frame } from '../server/streams/sse.js'

const END = { done: true, value: undefined } as const

export interface Channel {
  /** With the id of its event. Without effect after the end. */
  readonly write: (message: JsonObject, eventId?: string) => void
  /** As `write`, in place of the latest message of this kind that has not been read. */
  readonly tell: (message: JsonObject, eventId?: string) => void
  /** Tells the id of an event without a message, if there is one. */
  readonly mark: (eventId: string | undefined) => void
  readonly end: () => void
  readonly frames: Source<Frame>
}

/** @param onLeave Called when the reader leaves before the end, or does not keep up. */
export type OpenChannel = (onLeave: () => void) => Channel

/** A message that has not been read. */
interface Waiting {
  data: string
  id: string | undefined
}

function lengthOf({ data, id = '' }: Waiting): number {
  return data.length + id.length
}

interface Lagging {
  waiting: number
  readonly leave: () => void
}

/**
 * Channels of one handler.
 *
 * @param max The most characters that wait for all readers. Beyond it, the reader with most of them is left.
 */
export function channels(max: number): OpenChannel {
  const lagging = new Set<Lagging>()
  let total = 0

  const count = (channel: Lagging, length: number): void => {
    channel.waiting += length
    total += length
    if (channel.waiting > 0) lagging.add(channel)
    else lagging.delete(channel)
    while (total > max)
      [...lagging].reduce((most, each) => (each.waiting > most.waiting ? each : most)).leave()
  }

  return (onLeave) => {
    const queue: Waiting[] = []
    let isOpen = true
    let told: Waiting | undefined
    let wake = (): void => undefined
    const close = (): void => {
      isOpen = false
      wake()
    }
    const leave = (): void => {
      queue.length = 0
      told = undefined
      count(channel, -channel.waiting)
      if (!isOpen) return
      close()
      onLeave()
    }
    const channel: Lagging = { waiting: 0, leave }
    const add = (data: string, id: string | undefined): Waiting | undefined => {
      if (!isOpen) return undefined
      const waiting = { data, id }
      queue.push(waiting)
      // An event before this one must not get an id that tells of it.
      told = undefined
      count(channel, lengthOf(waiting))
      wake()
      return waiting
    }
    const frames: Source<Frame> = {
      async next() {
        while (isOpen && queue.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        const first = queue.shift()
        if (first === undefined) return END
        if (first === told) told = undefined
        count(channel, -lengthOf(first))
        return { done: false, value: { json: null, ...first } }
      },
      return() {
        leave()
        return Promise.resolve(END)
      },
      [Symbol.asyncIterator]: () => frames,
    }
    return {
      frames,
      write: (message, id) => void add(JSON.stringify(message), id),
      mark(id) {
        if (id !== undefined) add('', id)
      },
      tell(message, id) {
        if (!isOpen) return
        if (told === undefined) {
          told = add(JSON.stringify(message), id)
          return
        }
        const before = lengthOf(told)
        Object.assign(told, { data: JSON.stringify(message), id })
        count(channel, lengthOf(told) - before)
      },
      end: close,
    }
  }
}
