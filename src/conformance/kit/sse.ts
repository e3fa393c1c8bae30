/** Server-sent events, read by the rules of the HTML standard: `data`, `event` and `id` of each, and its text. */

export interface SseEvent {
  readonly text: string
  readonly type: string
  readonly id: string | undefined
  readonly data: string
}

type Chunk = { readonly done: false; readonly value: Uint8Array } | { readonly done: true }

/** @param read returns the next chunk of bytes, as the reader of a stream does. */
export async function* parseEvents(read: () => Promise<Chunk>): AsyncGenerator<SseEvent, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for (;;) {
    const chunk = await read()
    const { done } = chunk
    rest += chunk.done ? decoder.decode() : decoder.decode(chunk.value, { stream: true })
    // A carriage return at the end may be the first half of a line end.
    const isHalf = !done && rest.endsWith('\r')
    const text = (isHalf ? rest.slice(0, -1) : rest).replace(/\r\n?/g, '\n')
    const blocks = text.split('\n\n')
    rest = (blocks.pop() ?? '') + (isHalf ? '\r' : '')
    for (const block of blocks) {
      const event = toEvent(block)
      if (event !== undefined) yield event
    }
    if (done) return undefined
  }
}

/** The event of a block, unless the block has only comments. */
function toEvent(text: string): SseEvent | undefined {
  const data: string[] = []
  const fields = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? []
    if (name === 'data') data.push(value)
    else if (name !== '') fields.set(name, value)
  }
  if (data.length === 0) return undefined
  return { text, type: fields.get('event') ?? 'message', id: fields.get('id'), data: data.join('\n') }
}
