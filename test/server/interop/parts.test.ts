import type { Part } from 'a2a-tasks/schemas'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { connect, LINES, taskOf, textOf, type Line } from './peers.js'
import { collect, serve } from './support/agent.js'

const TEXTS = { unicode: 'naïve 日本語 🦜 \u0000\u2028 "\\" \r\n end', empty: '' }

const PARTS: Readonly<Record<string, Part>> = {
  text: { text: 'hi' },
  'text with metadata': { text: 'hi', metadata: { lang: 'en', nested: { a: [1, null, true] } } },
  raw: { raw: Buffer.from([0, 255, 128, 62, 63]).toString('base64'), filename: 'a.bin', mediaType: 'x/y' },
  'raw without a name': { raw: 'aGk=', mediaType: 'text/plain' },
  url: { url: 'https://files.example/a%20b.pdf?x=1#y', filename: 'a.pdf', mediaType: 'application/pdf' },
  data: { data: { a: [1, 2.5, null, 'x', { b: true }], ключ: {} } },
  'data that looks like a part': { data: { data: { text: 'x' } } },
}

/** What only A2A 1.0 has. */
const MODERN_PARTS: Readonly<Record<string, Part>> = {
  'text with a media type': { text: '# hi', mediaType: 'text/markdown', filename: 'hi.md' },
  'data that is an array': { data: [1, [2], {}] },
  'data that is a string': { data: 'text' },
  'data that is 0': { data: 0 },
  'data that is false': { data: false },
}

/** Answers with what it got, in each of the places that a part can have. */
function echo(run: Run): undefined {
  run.artifact({ parts: run.message.parts })
  run.complete({ parts: run.message.parts })
}

/** What is left of a part in the hands of an SDK that drops what its proto, or 0.3, has no place for. */
function keptBy({ speaks, binding }: Line, part: Part): Part {
  if (speaks === '1.0') return part
  const { metadata, filename, mediaType, ...content } = part
  const isFile = part.raw !== undefined || part.url !== undefined
  if (binding === 'HTTP+JSON') return { ...content, ...(isFile && mediaType && { mediaType }) }
  return {
    ...content,
    ...(metadata && { metadata }),
    ...(isFile && filename && { filename }),
    ...(isFile && mediaType && { mediaType }),
  }
}

describe.each(LINES)('SDK $sdk, A2A $speaks over $binding', (line) => {
  async function roundTrip(parts: Part[]): Promise<void> {
    const { url } = await serve({ execute: echo })
    const peer = await connect(line, url)
    const task = taskOf(await peer.send({ parts }))
    const kept = parts.map((part) => keptBy(line, part))
    expect(task.artifacts?.[0]?.parts).toEqual(kept)
    expect(task.status.message?.parts).toEqual(kept)
    expect(task.history?.map((message) => message.parts)).toEqual([kept, kept])
    const events = await collect(peer.stream({ parts }))
    const [update] = events.flatMap(({ artifactUpdate }) => artifactUpdate ?? [])
    expect(update?.artifact.parts).toEqual(kept)
    expect(events.at(-1)?.statusUpdate?.status.message?.parts).toEqual(kept)
  }

  test.each(Object.entries(PARTS))('a part comes back as it was: %s', (_, part) => roundTrip([part]))

  test('many parts come back in their order', () => roundTrip(Object.values(PARTS)))

  test.each(Object.entries(TEXTS))('a text comes back as it was: %s', (_, text) => roundTrip([{ text }]))

  test('a text of 1 MB comes back as it was', async () => {
    const { url } = await serve({ execute: ({ text }) => text })
    const peer = await connect(line, url)
    const text = 'abcdefg\n'.repeat(131_072)
    const task = taskOf(await peer.send({ parts: [{ text }] }))
    // Compared by hand: a diff of such texts is unreadable.
    expect(textOf(task.artifacts?.[0]?.parts) === text).toBe(true)
    const events = await collect(peer.stream({ parts: [{ text }] }))
    const [update] = events.flatMap(({ artifactUpdate }) => artifactUpdate ?? [])
    expect(textOf(update?.artifact.parts) === text).toBe(true)
  })

  test('metadata, references and extensions of a message reach the agent', async () => {
    let got: unknown
    const { url } = await serve({
      execute(run) {
        got = run.message
        return 'ok'
      },
    })
    const peer = await connect(line, url)
    const said = {
      messageId: 'm/1',
      parts: [{ text: 'x' }],
      metadata: { trace: { id: 1, tags: ['a', 'ü'] } },
      contextId: 'chosen by the client',
      extensions: ['urn:x'],
    }
    const sent = taskOf(await peer.send(said))
    expect(got).toMatchObject({ ...said, role: 'user' })
    expect(sent.contextId).toBe(said.contextId)
    expect(sent.history?.[0]).toMatchObject({ ...said, role: 'ROLE_USER', taskId: sent.id })
  })
})

// Over HTTP+JSON, the 0.3 in SDK 1.3.0 drops the mark that says that data is wrapped.
const MODERN_DATA_LINES = LINES.filter(
  ({ sdk, speaks, binding }) => sdk === '1.3.0' && (speaks === '1.0' || binding === 'JSONRPC'),
)

describe.each(MODERN_DATA_LINES)('SDK $sdk, A2A $speaks over $binding', (line) => {
  test.each(Object.entries(MODERN_PARTS))('a part of 1.0 comes back: %s', async (_, part) => {
    const { url } = await serve({ execute: echo })
    const task = taskOf(await (await connect(line, url)).send({ parts: [part] }))
    expect(task.artifacts?.[0]?.parts).toEqual([keptBy(line, part)])
  })
})
