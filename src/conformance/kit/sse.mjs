/** Server-sent events, read by the rules of the HTML standard: `data`, `event` and `id` of each, and its text. */

/** @param read returns the next chunk of bytes, as the reader of a stream does. */
export async function* parseEvents(read) {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for (;;) {
    const { done, value } = await read()
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
    // A carriage return at the end may be the first half of a line end.
    const isHalf = !done && rest.endsWith('\r')
    const text = (isHalf ? rest.slice(0, -1) : rest).replace(/\r\n?/g, '\n')
    const blocks = text.split('\n\n')
    rest = blocks.pop() + (isHalf ? '\r' : '')
    for (const block of blocks) {
      const event = toEvent(block)
      if (event !== undefined) yield event
    }
    if (done) return
  }
}

/** The event of a block, unless the block has only comments. */
function toEvent(text) {
  const fields = { data: [] }
  for (const line of text.split('\n')) {
    const [, name, value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? []
    if (name === 'data') fields.data.push(value)
    else if (name !== '') fields[name] = value
  }
  if (fields.data.length === 0) return undefined
  return { text, type: fields.event ?? 'message', id: fields.id, data: fields.data.join('\n') }
}
