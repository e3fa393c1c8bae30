import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it } from 'vitest'
import { AbortScope } from '../../src/http/abort.js'
import { eventsOf, type EventLimits, type ServerSentEvent } from '../../src/http/sse-reader.js'
import { cpuMs } from '../support/cpu-time.js'

/** An answer whose body is fed by hand. */
function opened(limits: Partial<EventLimits> = {}) {
  const clock = new ManualClock()
  const controller = new AbortController()
  const scope = new AbortScope(clock, controller.signal)
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined
  let hasLeft = false
  const body = new ReadableStream<Uint8Array>({
    start: (given) => void (feed = given),
    cancel: () => void (hasLeft = true),
  })
  const events = eventsOf(
    { response: new Response(body), url: 'http://agent.test', scope },
    { maxEventBytes: 1_000, idleTimeoutMs: 100, ...limits },
  )
  const write = (given: string | Uint8Array): void =>
    feed?.enqueue(typeof given === 'string' ? new TextEncoder().encode(given) : given)
  return {
    clock,
    controller,
    events,
    write,
    end: () => feed?.close(),
    fail: (error: Error) => feed?.error(error),
    hasLeft: () => hasLeft,
  }
}

async function all(events: AsyncIterable<ServerSentEvent>): Promise<ServerSentEvent[]> {
  const taken: ServerSentEvent[] = []
  for await (const event of events) taken.push(event)
  return taken
}

describe('a stream of events', () => {
  it.each([
    ['lines', 'id: 1\ndata: a\n\ndata: b\ndata: c\n\n'],
    ['lines of Windows', 'id: 1\r\ndata: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n'],
    [
      'comments, fields of others and a mark at the beginning',
      '\ufeff: hi\nretry: 1\nevent: x\nother: y\nid: 1\ndata:a\n\n:\n\ndata: b\ndata: c\n\n',
    ],
    ['an end in the middle of an event', 'id: 1\ndata: a\n\ndata: b\ndata: c\n\ndata: {"half":'],
  ])('in %s is read, wherever it is cut', async (_, text) => {
    const bytes = new TextEncoder().encode(text)
    for (let size = 1; size <= bytes.length; size += 1) {
      const { events, write, end } = opened()
      for (let at = 0; at < bytes.length; at += size) write(bytes.slice(at, at + size))
      end()
      expect(await all(events)).toEqual([
        { data: 'a', id: '1', event: text.includes('event: x') ? 'x' : undefined },
        { data: 'b\nc', id: undefined },
      ])
    }
  })

  it('keeps characters whole that are cut', async () => {
    const { events, write, end } = opened()
    for (const byte of new TextEncoder().encode('data: Grüße 🎈\n\n')) write(Uint8Array.of(byte))
    end()
    expect(await all(events)).toEqual([{ data: 'Grüße 🎈', id: undefined }])
  })

  it('that is not UTF-8 is an error, and left', async () => {
    const { events, write, hasLeft } = opened()
    write('data: good\n\n')
    write(Uint8Array.of(0x64, 0xff, 0x0a))
    expect((await events.next()).value).toMatchObject({ data: 'good' })
    await expect(events.next()).rejects.toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
    expect(hasLeft()).toBe(true)
  })

  it('that breaks is an error with its cause', async () => {
    const { events, write, fail } = opened()
    write('data: good\n\n')
    await events.next()
    const cause = new Error('socket hang up')
    fail(cause)
    await expect(events.next()).rejects.toMatchObject({ code: 'EXTERNAL_SERVICE_ERROR', cause })
  })
})

it('a chunk of line ends takes no time', async () => {
  const { events, write, end } = opened()
  write(`data: a\n${'\n'.repeat(1_048_576)}\r`)
  end()
  const read = async (): Promise<void> => expect(await all(events)).toEqual([{ data: 'a', id: undefined }])
  expect(await cpuMs(read)).toBeLessThan(2_000)
})

describe('an event that is too long', () => {
  it.each([
    ['in one line', ['data: ', 'x'.repeat(600), 'x'.repeat(600)]],
    ['in many', Array<string>(30).fill(`data: ${'x'.repeat(50)}\n`)],
  ])('%s is an error after those before it, and the stream is left', async (_, pieces) => {
    const { clock, events, write, hasLeft } = opened()
    write('data: good\n\n')
    for (const piece of pieces) write(piece)
    expect((await events.next()).value).toMatchObject({ data: 'good' })
    await expect(events.next()).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      data: { limit: 'maxEventBytes', max: 1_000 },
    })
    expect(hasLeft()).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it('is not made by many that are short', async () => {
    const { events, write, end } = opened()
    for (let count = 0; count < 100; count += 1) write(`data: ${'x'.repeat(50)}\n\n`)
    end()
    expect(await all(events)).toHaveLength(100)
  })
})

describe('a silent stream', () => {
  it('ends when it is silent too long; a comment is no silence', async () => {
    const { clock, events, write, hasLeft } = opened()
    const next = events.next()
    const outcome = next.then(
      () => 'an event',
      (error: unknown) => error,
    )
    for (let count = 0; count < 5; count += 1) {
      await new Promise(setImmediate)
      clock.advance(99)
      write(': still here\n')
    }
    await new Promise(setImmediate)
    clock.advance(100)
    expect(await outcome).toMatchObject({ code: 'REQUEST_TIMED_OUT', data: { timeoutMs: 100 } })
    expect(hasLeft()).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it('is not silent while its reader works', async () => {
    const { clock, events, write, end } = opened()
    write('data: a\n\n')
    expect((await events.next()).value).toMatchObject({ data: 'a' })
    clock.advance(10_000)
    write('data: b\n\n')
    expect((await events.next()).value).toMatchObject({ data: 'b' })
    end()
    expect((await events.next()).done).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it('is left when its caller aborts, and when its reader leaves', async () => {
    const first = opened()
    const next = first.events.next()
    first.controller.abort()
    await expect(next).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
    expect(first.hasLeft()).toBe(true)
    const second = opened()
    second.write('data: a\n\n')
    await second.events.next()
    await second.events.return(undefined)
    expect(second.hasLeft()).toBe(true)
    expect([first.clock.pending, second.clock.pending]).toEqual([0, 0])
  })
})
