/** Any function from a Request to a Response as a listener of Node's HTTP server, over loopback. */
import { once } from 'node:events'
import { Agent, createServer, request as ask, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener, type NodeListener } from 'a2a-tasks/server/node'
import { afterEach, describe, expect, it } from 'vitest'
import { expectWarnings } from '../../support/warnings.js'

const WARNING = /^toNodeListener: .*\. Catch it to answer otherwise$/

type Answer = (request: Request) => Promise<Response> | Response

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function serve(answer: Answer, wrap = (listener: NodeListener): NodeListener => listener) {
  const server = createServer(wrap(toNodeListener(answer))).listen(0, '127.0.0.1')
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { server, port, url: `http://127.0.0.1:${port}` }
}

async function send(port: number, options: RequestOptions, body?: string): Promise<IncomingMessage> {
  const request = ask({ host: '127.0.0.1', port, ...options }).end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

function gate<T = void>() {
  let open: (value: T) => void = () => undefined
  const opened = new Promise<T>((resolve) => (open = resolve))
  return { open, opened }
}

const turns = async (count = 20): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('the request', () => {
  it('has the method, the URL, the headers and the body of that on the wire', async () => {
    const { port } = await serve(async (request) => {
      const { method, url, headers } = request
      return Response.json([method, url, headers.get('x-a'), headers.get('cookie'), await request.text()])
    })
    const headers = { host: 'agent.example:8080', 'x-a': ['1', '2'], cookie: ['a=1', 'b=2'] }
    const response = await send(port, { method: 'PUT', path: '//x/y?z=1', headers }, 'Grüße')
    expect(JSON.parse(await text(response))).toEqual([
      'PUT',
      'http://agent.example:8080//x/y?z=1',
      '1, 2',
      'a=1; b=2',
      'Grüße',
    ])
  })

  it('has no body if none was sent', async () => {
    const { port } = await serve((request) => Response.json(request.body === null))
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
      const response = await send(port, { method, headers: { 'content-length': 0 } })
      expect(await text(response)).toBe(method === 'HEAD' ? '' : 'true')
    }
  })

  it('has a body that comes while it is answered', async () => {
    const { port } = await serve(({ body }) => new Response(body))
    const request = ask({ host: '127.0.0.1', port, method: 'POST' })
    request.write('one')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(String(await once(response, 'data'))).toBe('one')
    request.end('two')
    expect(await text(response)).toBe('two')
  })

  it('is read no faster than the function reads it', async () => {
    const reading = gate()
    const { port, server } = await serve(async (request) => {
      await reading.opened
      return new Response(String((await request.arrayBuffer()).byteLength))
    })
    const connected = once(server, 'connection')
    const request = ask({ host: '127.0.0.1', port, method: 'POST' })
    const chunk = Buffer.alloc(1_048_576)
    for (let count = 0; count < 32; count++) request.write(chunk)
    const [socket] = (await connected) as [{ bytesRead: number }]
    await turns(200)
    expect(socket.bytesRead).toBeLessThan(16 * chunk.length)
    reading.open()
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(await text(response)).toBe(String(32 * chunk.length))
  })

  it('can be left in its midst, and answered', async () => {
    const { port } = await serve(async ({ body }) => {
      const reader = body?.getReader()
      await reader?.read()
      await reader?.cancel()
      return new Response('Enough')
    })
    const request = ask({ host: '127.0.0.1', port, method: 'POST' })
    request.on('error', () => undefined)
    request.write('half')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect([response.headers.connection, await text(response)]).toEqual(['close', 'Enough'])
  })

  it('has the body that a framework has parsed', async () => {
    const { port } = await serve(
      async (request) => new Response(await request.text()),
      (listener) => (req, res) => {
        const parse = async (): Promise<void> => {
          Object.assign(req, { body: JSON.parse(await text(req)) as unknown })
          listener(req, res)
        }
        void parse()
      },
    )
    expect(await text(await send(port, { method: 'POST' }, '{ "a": 1 }'))).toBe('{"a":1}')
  })

  it('aborts when the client goes before it is answered', async () => {
    const [came, left] = [gate(), gate()]
    const { port } = await serve(({ signal }) => {
      signal.addEventListener('abort', () => left.open())
      came.open()
      return new Promise(() => undefined)
    })
    const request = ask({ host: '127.0.0.1', port }).end()
    request.on('error', () => undefined)
    await came.opened
    request.destroy()
    await left.opened
  })

  it('fails to be read when the client goes in its midst, which is no error of the function', async () => {
    const [came, failed] = [gate(), gate<unknown>()]
    const { port } = await serve(async (request) => {
      came.open()
      const error = await request.text().then(String, (reason: unknown) => reason)
      failed.open(error)
      throw error
    })
    const request = ask({ host: '127.0.0.1', port, method: 'POST' })
    request.on('error', () => undefined)
    request.write('half')
    await came.opened
    request.destroy()
    expect(await failed.opened).toBeInstanceOf(Error)
    await turns()
  })

  it.each(['u:p@x', 'x y', 'x/tasks'])('is refused when its host is no host: %s', async (host) => {
    const { port } = await serve(() => new Response('Never'))
    const socket = connect(port, '127.0.0.1', () => socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`))
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 400 /)
    socket.destroy()
  })

  it('is refused when Fetch does not have its method', async () => {
    const { port } = await serve(() => new Response('Never'))
    expect((await send(port, { method: 'TRACE' })).statusCode).toBe(405)
  })
})

describe('the answer', () => {
  it('has the status and the headers of the response, each cookie of its own', async () => {
    const { port } = await serve(() => {
      const headers = new Headers({ 'x-a': '1', 'content-type': 'text/tea' })
      for (const cookie of ['a=1; Path=/', 'b=2']) headers.append('set-cookie', cookie)
      return new Response('tea', { status: 418, headers })
    })
    const response = await send(port, {})
    const { statusCode, headers } = response
    expect([statusCode, headers['x-a'], headers['content-type']]).toEqual([418, '1', 'text/tea'])
    expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2'])
    expect(await text(response)).toBe('tea')
  })

  it.each([
    ['HEAD', () => new Response('tea', { headers: { 'content-length': '3' } }), 200],
    ['GET', () => new Response(null, { status: 204 }), 204],
    ['GET', () => new Response(null, { status: 304 }), 304],
    ['POST', () => new Response(null, { status: 202 }), 202],
  ] as const)(
    'to %s has no body where there is to be none, and the connection stays: %#',
    async (method, answer, status) => {
      const { port, server } = await serve(answer)
      let connections = 0
      server.on('connection', () => (connections += 1))
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      ends.push(() => agent.destroy())
      for (let count = 0; count < 2; count++) {
        const response = await send(port, { method, agent, headers: { 'content-length': 0 } })
        expect([response.statusCode, await text(response)]).toEqual([status, ''])
      }
      expect(connections).toBe(1)
    },
  )

  it('to HEAD cancels the body, which no client receives', async () => {
    const canceled = gate()
    const { port } = await serve(() => new Response(new ReadableStream({ cancel: () => canceled.open() })))
    await send(port, { method: 'HEAD' })
    await canceled.opened
  })

  it('is sent as it comes, its headers before all', async () => {
    const source = gate<ReadableStreamDefaultController<Uint8Array>>()
    const { port } = await serve(
      () => new Response(new ReadableStream<Uint8Array>({ start: (controller) => source.open(controller) })),
    )
    const response = await send(port, {})
    const controller = await source.opened
    for (const word of ['one', 'two']) {
      controller.enqueue(Buffer.from(word))
      expect(String(await once(response, 'data'))).toBe(word)
    }
    controller.close()
    expect(await text(response)).toBe('')
  })

  it('is made no faster than the client takes it, and is whole', async () => {
    const [chunk, total] = [Buffer.alloc(1_048_576, 'x'), 64]
    let made = 0
    const body = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          made += 1
          controller.enqueue(chunk)
          if (made === total) controller.close()
        },
      })
    const { port } = await serve(() => new Response(body()))
    const response = await send(port, {})
    await turns(200)
    expect(made).toBeLessThan(total / 2)
    expect((await buffer(response)).length).toBe(total * chunk.length)
  })

  it('is canceled when the client goes', async () => {
    const canceled = gate()
    const { port } = await serve(({ signal }) => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from('one')),
        cancel: () => canceled.open(),
      })
      expect(signal.aborted).toBe(false)
      return new Response(body)
    })
    const response = await send(port, {})
    await once(response, 'data')
    response.destroy()
    await canceled.opened
  })

  it('that is not begun when the client goes is canceled too', async () => {
    const [came, left, canceled] = [gate(), gate(), gate()]
    const { port } = await serve(async ({ signal }) => {
      signal.addEventListener('abort', () => left.open())
      came.open()
      await left.opened
      await turns(2)
      return new Response(new ReadableStream({ cancel: () => canceled.open() }))
    })
    const request = ask({ host: '127.0.0.1', port }).end()
    request.on('error', () => undefined)
    await came.opened
    request.destroy()
    await canceled.opened
  })

  it('closes the connection when the request was not read to its end', async () => {
    const { port } = await serve(() => new Response('Enough'))
    const request = ask({ host: '127.0.0.1', port, method: 'POST', agent: new Agent({ keepAlive: true }) })
    request.on('error', () => undefined)
    request.write('x')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect([response.headers.connection, await text(response)]).toEqual(['close', 'Enough'])
  })
})

describe('what goes wrong', () => {
  it.each<[string, Answer]>([
    [
      'throws',
      () => {
        throw new Error('The secret')
      },
    ],
    ['rejects', () => Promise.reject(new Error('The secret'))],
    ['returns no response', () => undefined as unknown as Response],
    ['returns an error of the network', () => Response.error()],
    [
      'returns a response that is being read',
      () => {
        const response = new Response('The secret')
        response.body?.getReader()
        return response
      },
    ],
  ])('is a 500 without a text, and a warning, when the function %s', async (_, answer) => {
    const warnings = expectWarnings(WARNING)
    const { port } = await serve(answer)
    const response = await send(port, { method: 'POST' }, 'x')
    expect([response.statusCode, await text(response)]).toEqual([500, ''])
    await turns(2)
    expect(warnings).toHaveLength(1)
  })

  it('breaks off when its body fails, so that no client takes it for complete', async () => {
    const warnings = expectWarnings(WARNING)
    const { port } = await serve(() => {
      let isFirst = true
      return new Response(
        new ReadableStream<Uint8Array>({
          pull(controller) {
            if (isFirst) controller.enqueue(Buffer.from('half'))
            else controller.error(new Error('The secret'))
            isFirst = false
          },
        }),
      )
    })
    await expect(text(await send(port, {}))).rejects.toThrow('aborted')
    await turns(2)
    expect(warnings).toHaveLength(1)
  })

  it.each([
    ['more', '1'],
    ['fewer', '200'],
  ])('breaks the answer off when it has %s bytes than it declares', async (_, length) => {
    expectWarnings(WARNING)
    const answer = (): Response => new Response('four', { headers: { 'content-length': length } })
    const { port } = await serve(answer)
    const socket = connect(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\nGET /next HTTP/1.1\r\nhost: a\r\n\r\n')
    socket.on('error', () => undefined)
    const received = await text(socket).catch(() => '')
    // Nothing stands where the next response is looked for.
    expect(received.split('HTTP/1.1').length).toBeLessThanOrEqual(2)
    expect(received).not.toMatch(/four.+/s)
  })

  it('is found at once when it is no function that is passed', () => {
    const handler = createRequestHandler({ card: { name: 'A', url: 'http://a.example' }, execute: () => 'x' })
    expect(() => toNodeListener(handler as never)).toThrow(
      new TypeError('toNodeListener() takes a function, such as handler.fetch, got an object'),
    )
  })
})

it('a function around the fetch of a handler works like it', async () => {
  const handler = createRequestHandler({ card: { name: 'A', url: 'http://a.example' }, execute: () => 'Hi' })
  const { url } = await serve((request) => handler.fetch(request))
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  }
  const response = await fetch(`${url}/message:stream`, init)
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  expect(await response.text()).toContain('TASK_STATE_COMPLETED')
})

it('a client that leaves amid its body is no error of the agent', async () => {
  const errors: unknown[] = []
  const handler = createRequestHandler({
    card: { name: 'A', url: 'http://a.example' },
    execute: () => 'done',
    onError: (error) => errors.push(error),
  })
  const answered = gate<number>()
  // A wrapped handler reads the body of a Request.
  const { server, port } = await serve(async (request) => {
    const response = await handler.fetch(request)
    answered.open(response.status)
    return response
  })
  const socket = connect(port, '127.0.0.1')
  server.once('request', () => socket.destroy())
  const fields = 'Host: a\r\nContent-Type: application/json\r\nContent-Length: 20'
  socket.write(`POST /message:send HTTP/1.1\r\n${fields}\r\n\r\n{`)
  expect(await answered.opened).toBe(503)
  expect(errors).toEqual([])
})
