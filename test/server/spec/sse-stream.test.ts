import { SSEStream, type NodeResponse } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { SseReader, type SseEvent } from './support/agent.js'

const fixed = (more: object = {}) => new SSEStream({ clock: new ManualClock(), ...more })

async function rest(response: Response): Promise<SseEvent[]> {
  const reader = new SseReader(response)
  const events: SseEvent[] = []
  for (let event = await reader.next(); event !== undefined; event = await reader.next()) events.push(event)
  return events
}

describe('SSEStream over Fetch', () => {
  test('sends events that come before and after the first read', async () => {
    const stream = fixed()
    expect(stream.send('first', { a: 1 })).toBe(true)
    const response = stream.response()
    const events = rest(response)
    await turn()
    stream.send('second', 'text', 7)
    stream.send('third', null, 'id')
    stream.send('nothing', undefined)
    stream.close()
    expect(await events).toEqual([
      { event: 'first', data: '{"a":1}' },
      { event: 'second', data: '"text"', id: '7' },
      { event: 'third', data: 'null', id: 'id' },
      { event: 'nothing', data: 'null' },
    ])
    expect(stream.closed).toBe(true)
    expect(stream.send('late', 1)).toBe(false)
  })

  test('has the headers of an event stream, and those that are given', () => {
    const response = fixed().response({
      status: 201,
      headers: { 'x-mine': '1', 'content-type': 'text/plain' },
    })
    expect(response.status).toBe(201)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toContain('no-cache')
    expect(response.headers.get('x-mine')).toBe('1')
  })

  test('a line break in a name begins no other field', async () => {
    const stream = fixed()
    stream.send('a\nid: 1', 'x\ny', 'b\r\nevent: c')
    stream.close()
    expect(await rest(stream.response())).toEqual([
      { event: 'a id: 1', id: 'b event: c', data: JSON.stringify('x\ny') },
    ])
  })

  test('a reader that leaves ends the stream', async () => {
    const clock = new ManualClock()
    const stream = fixed({ clock })
    const response = stream.response()
    await response.body?.cancel()
    expect(stream.closed).toBe(true)
    expect(stream.send('x', 1)).toBe(false)
    expect(clock.pending).toBe(0)
    stream.close()
  })

  test('a reader too far behind is cut off', async () => {
    const stream = fixed({ maxBufferBytes: 100 })
    const response = stream.response()
    expect(stream.send('x', 'a'.repeat(40))).toBe(true)
    expect(stream.send('x', 'a'.repeat(40))).toBe(false)
    expect(stream.closed).toBe(true)
    await expect(response.text()).rejects.toThrow(/maxBufferBytes/)
  })

  test('one that reads may be sent any amount', async () => {
    const stream = fixed({ maxBufferBytes: 100 })
    const reader = new SseReader(stream.response())
    for (let count = 0; count < 10; count++) {
      expect(stream.send('x', 'a'.repeat(60))).toBe(true)
      expect(await reader.next()).toHaveProperty('event', 'x')
    }
    stream.close()
    expect(await reader.next()).toBeUndefined()
  })

  test('beats while it is silent, unless there is something to read', async () => {
    const clock = new ManualClock()
    const stream = fixed({ clock, heartbeatMs: 1000 })
    const reader = new SseReader(stream.response())
    clock.advance(1000)
    expect(await reader.next()).toEqual({ comment: '' })
    stream.send('x', 1)
    clock.advance(5000)
    stream.close()
    expect(await reader.next()).toEqual({ event: 'x', data: '1' })
    expect(await reader.next()).toBeUndefined()
    expect(clock.pending).toBe(0)
  })

  test('is closed twice as once', async () => {
    const stream = fixed()
    stream.close()
    stream.close()
    expect(await rest(stream.response())).toEqual([])
  })

  test('a value that is no JSON is refused, and the stream continues', () => {
    const stream = fixed()
    expect(() => stream.send('x', 1n)).toThrow(TypeError)
    expect(stream.send('x', 1)).toBe(true)
    stream.close()
  })
})

/** As much of Node's response as is needed, with a buffer that is full whenever `isFull` says so. */
class FakeResponse implements NodeResponse {
  head: unknown
  text = ''
  isEnded = false
  isFull = false
  readonly #listeners = new Map<string, (() => void)[]>()

  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.head = [status, headers['content-type']]
  }

  write(chunk: Uint8Array): boolean {
    this.text += new TextDecoder().decode(chunk)
    return !this.isFull
  }

  end(): void {
    this.isEnded = true
  }

  once(event: string, listener: () => void): void {
    this.on(event, listener)
  }

  on(event: string, listener: () => void): void {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener])
  }

  emit(event: string): void {
    const listeners = this.#listeners.get(event) ?? []
    this.#listeners.delete(event)
    for (const listener of listeners) listener()
  }
}

describe('SSEStream on Node', () => {
  test('writes all events, and ends after the last', async () => {
    const stream = fixed()
    const res = new FakeResponse()
    const piped = stream.pipe(res)
    stream.send('x', 1, 1)
    await turn()
    expect(res.text).toBe('id: 1\nevent: x\ndata: 1\n\n')
    stream.close()
    await piped
    expect([res.head, res.isEnded]).toEqual([[200, 'text/event-stream'], true])
  })

  test('writes no faster than the connection takes it, and holds no more than the bound', async () => {
    const stream = fixed({ maxBufferBytes: 60 })
    const res = new FakeResponse()
    res.isFull = true
    const piped = stream.pipe(res)
    stream.send('x', 'first')
    await turn()
    stream.send('x', 'second')
    await turn()
    expect(res.text).not.toContain('second')
    res.isFull = false
    res.emit('drain')
    await turn()
    expect(res.text).toContain('second')
    stream.close()
    await piped
  })

  test('a connection that closes ends the stream, also while it is full', async () => {
    for (const isFull of [false, true]) {
      const stream = fixed()
      const res = new FakeResponse()
      res.isFull = isFull
      const piped = stream.pipe(res)
      stream.send('x', 1)
      await turn()
      res.emit('close')
      await piped
      expect(stream.closed).toBe(true)
      expect(stream.send('x', 2)).toBe(false)
    }
  })

  test('a connection too far behind is ended', async () => {
    const stream = fixed({ maxBufferBytes: 60 })
    const res = new FakeResponse()
    res.isFull = true
    const piped = stream.pipe(res)
    stream.send('x', 'first')
    await turn()
    for (let count = 0; count < 3; count++) stream.send('x', 'a'.repeat(30))
    expect(stream.closed).toBe(true)
    await expect(piped).resolves.toBeUndefined()
    expect(res.isEnded).toBe(true)
  })
})
