/** Malformed responses: each leads to a typed error or is survived, in bounded memory, and the connection is closed. */
import type { ServerResponse } from 'node:http'
import { createGzip, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  chunk,
  clientOf,
  envelope,
  failureOf,
  scripted,
  status,
  task,
  writeEvents,
  type Asked,
  type Scripted,
} from './scripted.js'

const SSE = 'text/event-stream'
const JSON_TYPE = 'application/json'

/** An agent that answers every message so. It lists no tasks, so that nothing is sent again. */
async function answering(
  status: number,
  type: string | undefined,
  body: (asked: Asked) => string | Buffer,
  streaming = true,
): Promise<Scripted> {
  return await scripted((asked) => {
    const bytes = body(asked)
    asked.response.writeHead(status, { ...(type !== undefined && { 'content-type': type }) }).end(bytes)
    return undefined
  }, streaming)
}

const envelopeOf = (asked: Asked, result: object | null): string => envelope(asked, result)
const eventOf = (data: string): string => `data: ${data}\n\n`

const DEEP = '['.repeat(5_000) + ']'.repeat(5_000)

const ANSWERS: [string, number, string | undefined, (asked: Asked) => string | Buffer, string][] = [
  ['HTML with 200', 200, 'text/html', () => '<html>Welcome</html>', 'INVALID_AGENT_RESPONSE'],
  ['HTML as a stream', 200, SSE, () => '<html>Welcome</html>', 'EXTERNAL_SERVICE_ERROR'],
  ['nothing', 200, JSON_TYPE, () => '', 'INVALID_AGENT_RESPONSE'],
  ['nothing, of no type', 200, undefined, () => '', 'INVALID_AGENT_RESPONSE'],
  ['nothing as a stream', 200, SSE, () => '', 'EXTERNAL_SERVICE_ERROR'],
  ['204', 204, undefined, () => '', 'INVALID_AGENT_RESPONSE'],
  ['null', 200, JSON_TYPE, () => 'null', 'INVALID_AGENT_RESPONSE'],
  ['null as a result', 200, JSON_TYPE, (asked) => envelopeOf(asked, null), 'INVALID_AGENT_RESPONSE'],
  ['null in a stream', 200, SSE, () => eventOf('null'), 'INVALID_AGENT_RESPONSE'],
  ['a number', 200, JSON_TYPE, () => '7', 'INVALID_AGENT_RESPONSE'],
  [
    'JSON that is no stream',
    200,
    SSE,
    (asked) => envelopeOf(asked, { task: task('completed') }),
    'EXTERNAL_SERVICE_ERROR',
  ],
  [
    'JSON that breaks off',
    200,
    JSON_TYPE,
    (asked) => envelopeOf(asked, {}).slice(0, -4),
    'INVALID_AGENT_RESPONSE',
  ],
  [
    'no UTF-8',
    200,
    JSON_TYPE,
    () => Buffer.from('{"result":"\xff\xfe"}', 'latin1'),
    'INVALID_AGENT_RESPONSE',
  ],
  [
    'no UTF-8 in a stream',
    200,
    SSE,
    () => Buffer.from(eventOf('{"result":"\xff"}'), 'latin1'),
    'INVALID_AGENT_RESPONSE',
  ],
  ['what nests too deep', 200, JSON_TYPE, () => `{"result":${DEEP}}`, 'LIMIT_EXCEEDED'],
  ['what nests too deep in a stream', 200, SSE, () => eventOf(`{"result":${DEEP}}`), 'LIMIT_EXCEEDED'],
  [
    'two things at once',
    200,
    JSON_TYPE,
    (asked) => envelopeOf(asked, { task: task('working'), message: {} }),
    'INVALID_AGENT_RESPONSE',
  ],
  [
    'a state that there is not',
    200,
    JSON_TYPE,
    (asked) => envelopeOf(asked, { task: task('confused') }),
    'INVALID_AGENT_RESPONSE',
  ],
  ['a status page', 500, 'text/html', () => '<html>', 'EXTERNAL_SERVICE_ERROR'],
  ['a login page elsewhere', 302, 'text/html', () => '', 'EXTERNAL_SERVICE_ERROR'],
  ['401', 401, 'text/html', () => '', 'UNAUTHENTICATED'],
  ['403', 403, undefined, () => '', 'PERMISSION_DENIED'],
]

describe.each([true, false])('to a message (streams: %s)', (streaming) => {
  test.each(ANSWERS.filter(([, , type]) => streaming || type !== SSE))(
    '%s',
    async (_, status, type, body, code) => {
      const agent = await answering(status, type, body, streaming)
      const result = await clientOf(agent, { timeoutMs: 2_000 }).run('hi', { resend: false })
      expect(failureOf(result)).toEqual({ type: 'error', code })
      // A broken stream is followed by a look for the task: nothing is sent twice.
      expect(agent.methods().filter((method) => method.startsWith('Send'))).toHaveLength(1)
    },
  )

  test('an answer of the wrong kind that can be understood is understood', async () => {
    const agent = await scripted((asked) => {
      const body = envelopeOf(
        asked,
        asked.method === 'GetTask' ? task('completed', { text: 'ok' }) : { task: task('completed') },
      )
      asked.response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(body)
      return undefined
    }, streaming)
    expect(await clientOf(agent).run('hi')).toMatchObject({ type: 'completed', text: 'ok' })
  })
})

test('a stream in response to a call without one is invalid', async () => {
  const agent = await answering(
    200,
    SSE,
    (asked) => eventOf(envelopeOf(asked, { task: task('working') })),
    false,
  )
  expect(failureOf(await clientOf(agent).run('hi'))).toEqual({
    type: 'error',
    code: 'INVALID_AGENT_RESPONSE',
  })
})

test('__proto__ in a result changes nothing', async () => {
  const evil = '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}'
  const agent = await scripted((asked) => {
    const result =
      asked.method === 'GetTask' ? task('completed', { text: 'ok' }) : { task: task('completed') }
    const body = envelopeOf(asked, result).replaceAll(
      '"contextId":"c-1"',
      `"contextId":"c-1","metadata":${evil},"__proto__":${evil}`,
    )
    asked.response.writeHead(200, { 'content-type': JSON_TYPE }).end(body)
    return undefined
  }, false)
  const result = await clientOf(agent).run('hi')
  expect(result.type).toBe('completed')
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  expect(JSON.stringify(result)).not.toContain('__proto__')
  if (result.type !== 'completed') throw new Error('It has no task')
  expect(Object.getPrototypeOf(result.task.metadata)).toBe(Object.prototype)
  expect((result.task as { isAdmin?: boolean }).isAdmin).toBeUndefined()
})

describe('an answer without end', () => {
  /** Writes as fast as it is taken, until the client leaves. How much it was. */
  function endless(response: ServerResponse, piece: string | Buffer): { readonly written: () => number } {
    let written = 0
    const more = (): void => {
      while (!response.destroyed) {
        written += piece.length
        if (!response.write(piece)) break
      }
    }
    response.on('drain', more)
    more()
    onTestFinished(() => void response.destroy())
    return { written: () => written }
  }

  const LIMIT = 200_000

  async function flooded(begin: (asked: Asked) => { readonly written: () => number }, streaming: boolean) {
    let flood: { readonly written: () => number } | undefined
    const agent = await scripted((asked) => {
      flood ??= begin(asked)
      return undefined
    }, streaming)
    const limits = { maxResponseBytes: LIMIT, maxEventBytes: LIMIT }
    const result = await clientOf(agent, { limits }).run('hi')
    const { response } = agent.asked[0] ?? {}
    await expect.poll(() => response?.destroyed).toBe(true)
    return { agent, result, written: flood?.written() ?? 0 }
  }

  test.each([true, false])('of JSON (streams: %s)', async (streaming) => {
    const { agent, result, written } = await flooded(({ response }) => {
      response.writeHead(200, { 'content-type': JSON_TYPE })
      return endless(response, ' '.repeat(10_000))
    }, streaming)
    expect(result).toMatchObject({
      type: 'error',
      error: { code: 'LIMIT_EXCEEDED', data: { limit: 'maxResponseBytes' } },
    })
    // What lies in the buffers of both ends, and no more.
    expect(written).toBeLessThan(LIMIT + 16 * 2 ** 20)
    expect(agent.asked).toHaveLength(1)
    expect(agent.open()).toBeLessThanOrEqual(1)
  })

  test.each([
    ['one line', 'data: ', 'x'.repeat(10_000)],
    ['one event of many lines', '', `data: ${'x'.repeat(90)}\n`],
  ])('of %s', async (_, first, piece) => {
    const { result } = await flooded(({ response }) => {
      response.writeHead(200, { 'content-type': SSE })
      response.write(first)
      return endless(response, piece)
    }, true)
    expect(result).toMatchObject({
      type: 'error',
      error: { code: 'LIMIT_EXCEEDED', data: { limit: 'maxEventBytes' } },
    })
  })

  test('of comments is read on until an event comes', async () => {
    let isDone = false
    const agent = await scripted((asked) => {
      if (asked.method === 'GetTask') return task('completed', { text: 'ok' })
      const { response } = asked
      response.writeHead(200, { 'content-type': SSE })
      let left = 500
      const more = (): void => {
        left -= 1
        response.write(`: ${'x'.repeat(1_000)}\n`)
        if (left > 0) return void setImmediate(more)
        isDone = true
        writeEvents(asked, [{ task: task('working') }, chunk('ok'), status('completed')])
      }
      more()
      return undefined
    })
    expect((await clientOf(agent, { limits: { maxEventBytes: LIMIT } }).run('hi')).type).toBe('completed')
    expect(isDone).toBe(true)
  })

  test('that is announced by its length is not read', async () => {
    const agent = await scripted(({ response }) => {
      response
        .writeHead(200, { 'content-type': JSON_TYPE, 'content-length': String(10 * LIMIT) })
        .flushHeaders()
      return undefined
    }, false)
    const result = await clientOf(agent, { limits: { maxResponseBytes: LIMIT } }).run('hi')
    expect(result).toMatchObject({ error: { code: 'LIMIT_EXCEEDED', data: { actual: 10 * LIMIT } } })
    await expect.poll(() => agent.asked[0]?.response.destroyed).toBe(true)
  })

  test('in a packet: a bomb of gzip', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20, ' '))
    const agent = await scripted(({ response }) => {
      response.writeHead(200, { 'content-type': JSON_TYPE, 'content-encoding': 'gzip' }).end(bomb)
      return undefined
    }, false)
    const before = process.memoryUsage().arrayBuffers
    const result = await clientOf(agent, { limits: { maxResponseBytes: LIMIT } }).run('hi')
    expect(failureOf(result)).toEqual({ type: 'error', code: 'LIMIT_EXCEEDED' })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 2 ** 20)
  })

  test('in a packet: a bomb of gzip in a stream', async () => {
    const agent = await scripted(({ response }) => {
      response.writeHead(200, { 'content-type': SSE, 'content-encoding': 'gzip' })
      const gzip = createGzip()
      gzip.pipe(response)
      gzip.write('data: ')
      gzip.end(Buffer.alloc(64 * 2 ** 20, 'x'))
      return undefined
    })
    const result = await clientOf(agent, { limits: { maxEventBytes: LIMIT } }).run('hi')
    expect(result).toMatchObject({
      type: 'error',
      error: { code: 'LIMIT_EXCEEDED', data: { limit: 'maxEventBytes' } },
    })
  })
})
