/**
 * Messages to a client as a stream of server-sent events.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import type { Source } from '../server/streams/source.js'
import type { Frame } from '../server/streams/sse.js'

/** The most characters of messages that wait for a reader. A reader with more of them is left. */
const MAX_WAITING = 16_777_216
const END = { done: true, value: undefined } as const

export interface Channel {
  /** Without effect after the end. */
  readonly write: (message: JsonObject) => void
  readonly end: () => void
  readonly frames: Source<Frame>
}

/** @param onLeave Called when the reader leaves before the end, or does not keep up. */
export function openChannel(onLeave: () => void): Channel {
  let isOpen = true
  let waiting = 0
  let controller: ReadableStreamDefaultController<Frame & { readonly data: string }> | undefined
  const reader = new ReadableStream<Frame & { readonly data: string }>({
    start(given) {
      controller = given
    },
  }).getReader()
  const leave = (): void => {
    if (!isOpen) return
    isOpen = false
    controller?.close()
    onLeave()
  }
  const frames: Source<Frame> = {
    async next() {
      const { value } = await reader.read()
      if (value === undefined) return END
      waiting -= value.data.length
      return { done: false, value }
    },
    return() {
      leave()
      return Promise.resolve(END)
    },
    [Symbol.asyncIterator]: () => frames,
  }
  return {
    frames,
    write(message) {
      if (!isOpen) return
      const data = JSON.stringify(message)
      waiting += data.length
      if (waiting > MAX_WAITING) leave()
      else controller?.enqueue({ json: null, data })
    },
    end() {
      if (isOpen) controller?.close()
      isOpen = false
    },
  }
}
