/** Streams and bodies in other forms than those of A2A and of the platform's fetch. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { A2AClient, type ClientOptions, type RemoteEvent } from 'a2a-tasks/client'
import { describe, expect, test } from 'vitest'
import { cardOf, chunk, envelope, status, task } from './faults/scripted.js'

type Fetch = NonNullable<ClientOptions['fetch']>

const EVENTS = [{ task: task('working') }, chunk('Hello \u00fc', { append: false }), status('completed')]
const TYPES = ['task', 'artifact', 'status']

const clientOf = (fetch: Fetch, options: ClientOptions = {}): A2AClient =>
  new A2AClient({ card: cardOf(['http://agent.test']), fetch, ...options })

async function typesOf(events: AsyncIterable<RemoteEvent>): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of events) types.push(type)
  return types
}

describe('a stream of lines of JSON', () => {
  const lines = EVENTS.map((event) => `${envelope({ id: null }, event)}\n`).join('')

  /** The text in pieces of `size` bytes. */
  const answering =
    (text: string, contentType: string, size = 7): Fetch =>
    () => {
      const bytes = new TextEncoder().encode(text)
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.slice(index * size, (index + 1) * size),
      )
      return Promise.resolve(
        new Response(ReadableStream.from(pieces), { headers: { 'content-type': contentType } }),
      )
    }

  test.each([
    'application/x-ndjson',
    'application/ndjson; charset=utf-8',
    'application/jsonl',
    'application/stream+json',
  ])('as %s is read as events', async (contentType) => {
    expect(await typesOf(clientOf(answering(lines, contentType)).stream('hi'))).toEqual(TYPES)
  })

  test('may end its lines as Windows does, have empty ones, and no end of the last one', async () => {
    const text = `\n${lines.replaceAll('\n', '\r\n\r\n')}`.trimEnd()
    expect(await typesOf(clientOf(answering(text, 'application/x-ndjson')).stream('hi'))).toEqual(TYPES)
  })

  test('may begin each with the separator of RFC 7464, as events do too', async () => {
    const text = lines.replaceAll(/^/gm, '\u001e').slice(0, -1)
    expect(await typesOf(clientOf(answering(text, 'application/json-seq')).stream('hi'))).toEqual(TYPES)
    const events = EVENTS.map((event) => `data: \u001e${envelope({ id: null }, event)}\n\n`).join('')
    expect(await typesOf(clientOf(answering(events, 'text/event-stream')).stream('hi'))).toEqual(TYPES)
  })

  test('that ends within a line throws', async () => {
    const client = clientOf(answering(lines.slice(0, -30), 'application/x-ndjson'))
    await expect(typesOf(client.stream('hi'))).rejects.toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
  })

  test('with a line that is too long throws, in linear time', async () => {
    const text = 'x'.repeat(2 ** 24)
    const client = clientOf(answering(text, 'application/x-ndjson', 2 ** 14), {
      limits: { maxEventBytes: 2 ** 23 },
    })
    await expect(typesOf(client.stream('hi'))).rejects.toMatchObject({ data: { limit: 'maxEventBytes' } })
  })
})

describe('a fetch whose bodies are streams of Node, as that of node-fetch', () => {
  const bodies: Readable[] = []

  /** As node-fetch answers: `body` is a Readable, and has no `getReader`. */
  const nodeFetch =
    (answer: (method: string, id: unknown) => [type: string, body: Readable, status?: number]): Fetch =>
    (_, init) => {
      const { method, id } = JSON.parse(init.body as string) as { method: string; id: unknown }
      const [type, body, code = 200] = answer(method, id)
      bodies.push(body)
      const headers = new Headers({ 'content-type': type })
      const response = {
        status: code,
        statusText: '',
        ok: code === 200,
        headers,
        body,
        url: '',
        type: 'default',
      }
      return Promise.resolve(response as unknown as Response)
    }

  const events = (id: unknown): Readable =>
    Readable.from(EVENTS.map((event) => Buffer.from(`data: ${envelope({ id }, event)}\n\n`)))

  test('is read: streams, answers and errors', async () => {
    const client = clientOf(
      nodeFetch((method, id) => {
        if (method === 'SendStreamingMessage') return ['text/event-stream', events(id)]
        return [
          'application/json',
          Readable.from([Buffer.from(envelope({ id }, task('completed', { text: 'Hi' })))]),
        ]
      }),
    )
    expect(await client.run('hi')).toMatchObject({ type: 'completed', text: 'Hi' })
    const failing = clientOf(nodeFetch(() => ['text/html', Readable.from([Buffer.from('No')]), 400]))
    await expect(failing.send('hi')).rejects.toMatchObject({ data: { status: 400 } })
  })

  test('has its stream destroyed when it is left, and when it is too long', async () => {
    const open = new Readable({ read: () => undefined })
    const client = clientOf(nodeFetch(() => ['text/event-stream', open]))
    const stream = client.stream('hi')
    const first = stream.next()
    await turn()
    open.push(`data: ${envelope({ id: null }, { task: task('working') })}\n\n`)
    expect((await first).value).toMatchObject({ type: 'task' })
    const closed = once(open, 'close')
    await stream.return(undefined)
    await closed
    const long = Readable.from([Buffer.alloc(2_000, ' '), Buffer.alloc(2_000, ' ')])
    const limited = clientOf(
      nodeFetch(() => ['application/json', long]),
      { limits: { maxResponseBytes: 3_000 } },
    )
    await expect(limited.send('hi')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    expect(long.destroyed).toBe(true)
  })
})

describe('a body that cannot be read', () => {
  const taken = (status: number, headers: Record<string, string>): Response => {
    const response = new Response('{}', { status, headers })
    response.body?.getReader()
    return response
  }

  test.each<[string, () => Response]>([
    ['because the fetch reads it', () => taken(200, { 'content-type': 'application/json' })],
    [
      'because it is no stream',
      () => Object.defineProperty(new Response('{}'), 'body', { value: { chunks: [] } }),
    ],
  ])('%s is an answer that is not A2A', async (_, answer) => {
    const client = clientOf(() => Promise.resolve(answer()))
    await expect(client.send('hi')).rejects.toMatchObject({
      ...{ code: 'INVALID_AGENT_RESPONSE', data: { reason: 'its body cannot be read' } },
    })
    expect(await client.run('hi')).toMatchObject({ type: 'error', error: { code: 'INVALID_AGENT_RESPONSE' } })
  })

  test('does not keep a redirect from being followed', async () => {
    const client = clientOf((url, { body }) => {
      if (!url.endsWith('/moved')) return Promise.resolve(taken(307, { location: `${url}/moved` }))
      const { id } = JSON.parse(body as string) as { id: unknown }
      return Promise.resolve(new Response(envelope({ id }, { task: task('completed') })))
    })
    expect(await client.send('hi')).toMatchObject({ task: { state: 'completed' } })
  })
})

test.each(['canceled', 'cancelled'] as const)('tasks are listed by the state %s', async (state) => {
  const asked: unknown[] = []
  const client = clientOf((_, { body }) => {
    const { params, id } = JSON.parse(body as string) as { params: unknown; id: number }
    asked.push(params)
    return Promise.resolve(Response.json({ jsonrpc: '2.0', id, result: { tasks: [] } }))
  })
  await client.listTasks({ state, contextId: undefined })
  expect(asked).toEqual([{ status: 'TASK_STATE_CANCELED' }])
})
