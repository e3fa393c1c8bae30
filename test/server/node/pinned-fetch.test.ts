/** A `fetch` that connects to what was checked, and to nothing else. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { A2AError } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { pinnedFetch, toNodeListener } from 'a2a-tasks/server/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { failureOf } from '../../http/support/http.js'

const HERE = { allow: ['127.0.0.1'] }

interface Place {
  readonly port: number
  readonly url: string
  /** Which address each connection was made to. */
  readonly connections: string[]
  /** When none is open. */
  readonly idle: () => Promise<void>
}

async function listen(server: Server): Promise<Place> {
  const connections: string[] = []
  const open = new Set<Socket>()
  let onIdle = (): void => {}
  server.on('connection', (socket: Socket) => {
    connections.push(socket.localAddress ?? '')
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      open.delete(socket)
      if (open.size === 0) onIdle()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of open) socket.destroy()
    await closed
  })
  const { port } = server.address() as AddressInfo
  const idle = (): Promise<void> =>
    new Promise((resolve) => {
      onIdle = resolve
      if (open.size === 0) resolve()
    })
  return { port, url: `http://127.0.0.1:${port}/`, connections, idle }
}

type Handle = (request: IncomingMessage, body: string, response: ServerResponse) => void

function place(handle: Handle): Promise<Place> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('latin1')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => handle(request, body, response))
  })
  return listen(server)
}

/** Answers with what was asked. */
const echo: Handle = ({ method, url, rawHeaders }, body, response) => {
  response.end(JSON.stringify({ method, url, rawHeaders, body }))
}

interface Echo {
  method: string
  url: string
  rawHeaders: string[]
  body: string
}

async function echoed(response: Response): Promise<Echo> {
  return (await response.json()) as Echo
}

/** One that sends these bytes, and closes or not. */
function raw(text: string, isOpen = false): Promise<Place> {
  return listen(
    createTcpServer((socket) => {
      socket.once('data', () => (isOpen ? socket.write(text) : socket.end(text)))
    }),
  )
}

function resolver(...answers: string[][]): { resolve: () => Promise<string[]>; asked: () => number } {
  let asked = 0
  return {
    resolve: () => {
      asked += 1
      return Promise.resolve(answers[Math.min(asked, answers.length) - 1] ?? [])
    },
    asked: () => asked,
  }
}

describe('a name leads to the addresses that were checked', () => {
  it('and is looked up once for each request', async () => {
    const { port, connections } = await place(echo)
    const names = resolver(['127.0.0.1'], ['127.0.0.2'])
    const fetch = pinnedFetch({ ...HERE, resolve: names.resolve })
    const url = `http://agent.example.com:${port}/path?a=b#c`
    const asked = await echoed(await fetch(url))
    expect(asked).toMatchObject({ method: 'GET', url: '/path?a=b' })
    expect(asked.rawHeaders.slice(0, 2)).toEqual(['host', `agent.example.com:${port}`])
    expect([names.asked(), connections]).toEqual([1, ['127.0.0.1']])

    expect(await failureOf(fetch(url))).toMatchObject({ code: 'URL_BLOCKED' })
    expect([names.asked(), connections]).toEqual([2, ['127.0.0.1']])
  })

  it('though the list says something else when it is read again', async () => {
    const { port, connections } = await place(echo)
    let read = 0
    class Liar extends Array<string> {
      override *[Symbol.iterator](): ArrayIterator<string> {
        read += 1
        yield read === 1 ? '127.0.0.1' : '127.0.0.2'
      }
    }
    const resolve = (): Promise<string[]> => Promise.resolve(Liar.of('127.0.0.2'))
    await pinnedFetch({ ...HERE, resolve })(`http://agent.example.com:${port}/`)
    expect(connections).toEqual(['127.0.0.1'])
  })

  it.each([
    ['one of them is private', ['127.0.0.1', '127.0.0.2']],
    ['one of them is the metadata service', ['127.0.0.1', '169.254.169.254']],
    ['one of them hides in IPv6', ['::ffff:127.0.0.1']],
    ['there are none', []],
    ['one of them is a name', ['127.0.0.1', 'localhost']],
  ])('unless %s', async (_, addresses) => {
    const { port, connections } = await place(echo)
    const fetch = pinnedFetch({ ...HERE, resolve: resolver(addresses).resolve })
    const error = await failureOf(fetch(`http://agent.example.com:${port}/`))
    expect(A2AError.is(error, 'URL_BLOCKED')).toBe(true)
    expect(connections).toEqual([])
  })

  it.each([
    'http://127.0.0.2:PORT/',
    'http://127.1:PORT/',
    'http://0x7f000002:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::1]:PORT/',
    'http://localhost:PORT/',
    'http://0.0.0.0:PORT/',
    'ftp://agent.example.com/',
    'http://me:secret@agent.example.com/',
  ])('and no request goes to %s', async (template) => {
    const { port, connections } = await place(echo)
    const resolve = (host: string): Promise<string[]> => Promise.reject(new Error(`${host} was looked up`))
    const error = await failureOf(pinnedFetch({ resolve })(template.replace('PORT', String(port))))
    expect(error).toMatchObject({ code: 'URL_BLOCKED' })
    expect(String(error)).not.toContain('secret')
    expect(connections).toEqual([])
  })

  it('and of those that are not there the next one is tried', async () => {
    const { port, connections } = await place(echo)
    const allow = ['127.0.0.1', '::1']
    const fetch = pinnedFetch({ allow, resolve: resolver(['::1', '127.0.0.1']).resolve })
    expect((await fetch(`http://agent.example.com:${port}/`, { method: 'POST', body: 'x' })).status).toBe(200)
    expect(connections).toEqual(['127.0.0.1'])
  })

  it('but nothing is sent twice', async () => {
    const { port, connections } = await listen(
      createTcpServer((socket) => socket.once('data', () => socket.destroy())),
    )
    const fetch = pinnedFetch({
      allow: ['127.0.0.0/8'],
      resolve: resolver(['127.0.0.1', '127.0.0.2']).resolve,
    })
    await expect(fetch(`http://agent.example.com:${port}/`)).rejects.toThrow(TypeError)
    expect(connections).toEqual(['127.0.0.1'])
  })

  it('or, if the name is allowed, to whatever it has', async () => {
    const { port } = await place(echo)
    const names = resolver(['127.0.0.1'])
    const fetch = pinnedFetch({ allow: ['agent.internal'], resolve: names.resolve })
    expect((await fetch(`http://agent.internal:${port}/`)).status).toBe(200)
    expect(names.asked()).toBe(1)
    const nowhere = pinnedFetch({ allow: ['agent.internal'], resolve: resolver(['localhost']).resolve })
    expect(await failureOf(nowhere(`http://agent.internal:${port}/`))).toMatchObject({
      message: 'fetch failed',
      cause: { message: 'agent.internal has no address' },
    })
  })

  it('as the operating system knows it, if nothing else is said', async () => {
    const { port, connections } = await place(echo)
    const fetch = pinnedFetch({ allow: [`localhost:${port}`] })
    expect((await fetch(`http://localhost:${port}/`)).status).toBe(200)
    expect(connections).toEqual(['127.0.0.1'])
  })

  it('and TLS gets the name', async () => {
    const names: string[] = []
    const server = createTlsServer({
      SNICallback(name, done) {
        names.push(name)
        done(new Error('No certificate'))
      },
    })
    const { port } = await listen(server)
    const fetch = pinnedFetch({ ...HERE, resolve: resolver(['127.0.0.1']).resolve })
    await expect(fetch(`https://agent.example.com:${port}/`)).rejects.toThrow(TypeError)
    expect(names).toEqual(['agent.example.com'])
  })
})

describe('a request', () => {
  it.each<[string, RequestInit, string]>([
    ['a text', { body: 'zwölf' }, 'zwölf'],
    ['bytes', { body: Uint8Array.of(0x7a, 0, 0x7a) }, 'z\0z'],
    ['part of a buffer', { body: new Uint8Array(Uint8Array.of(1, 0x61, 0x62, 1).buffer, 1, 2) }, 'ab'],
    ['a form', { body: new URLSearchParams({ a: 'b' }) }, 'a=b'],
    ['nothing', {}, ''],
  ])('sends %s', async (_, init, text) => {
    const { url } = await place(echo)
    const { body, method, rawHeaders } = await echoed(
      await pinnedFetch(HERE)(url, { method: 'POST', ...init }),
    )
    expect([method, Buffer.from(body, 'latin1').toString()]).toEqual(['POST', text])
    const length = rawHeaders[rawHeaders.indexOf('content-length') + 1]
    expect(length).toBe(String(Buffer.byteLength(text)))
  })

  it('sends headers, but not those that are of the connection', async () => {
    const { url, port } = await place(echo)
    const headers = new Headers({ authorization: 'Bearer abc', 'content-type': 'application/a2a+json' })
    const meant = {
      host: 'other.example.com',
      'content-length': '1',
      'accept-encoding': 'br',
      expect: '100-continue',
    }
    for (const [name, value] of Object.entries(meant)) headers.set(name, value)
    const { rawHeaders, body } = await echoed(
      await pinnedFetch(HERE)(url, { method: 'PUT', headers, body: '{}' }),
    )
    const sent = Object.fromEntries(
      rawHeaders.flatMap((name, at) => (at % 2 ? [] : [[name.toLowerCase(), rawHeaders[at + 1]]])),
    )
    expect(sent).toEqual({
      authorization: 'Bearer abc',
      'content-type': 'application/a2a+json',
      host: `127.0.0.1:${port}`,
      'accept-encoding': 'identity',
      'content-length': '2',
      connection: 'close',
    })
    expect(body).toBe('{}')
  })

  it.each<[string, RequestInit]>([
    ['a body with GET', { body: 'x' }],
    ['a method that is none', { method: 'A B' }],
    ['a header that is none', { headers: { 'a\nb': 'c' } }],
    ['redirects that are followed', { redirect: 'follow' }],
  ])('with %s is a TypeError', async (_, init) => {
    const { url, connections } = await place(echo)
    await expect(pinnedFetch(HERE)(url, init)).rejects.toThrow(TypeError)
    expect(connections).toEqual([])
  })

  it('to an invalid URL is a TypeError', async () => {
    await expect(pinnedFetch()('nowhere')).rejects.toThrow(TypeError)
  })

  it("that is a client's comes to its end", async () => {
    const { port } = await listen(createServer((request, response) => listener(request, response)))
    const url = `http://agent.example.com:${port}/`
    const handler = createRequestHandler({ card: { name: 'Weather', url }, execute: () => 'It rains' })
    const listener = toNodeListener(handler.fetch)
    const fetch = pinnedFetch({ ...HERE, resolve: resolver(['127.0.0.1']).resolve })
    const agent = await A2AClient.connect(url, { fetch })
    expect(await agent.run('Weather?')).toMatchObject({ type: 'completed', text: 'It rains' })
    await handler.close()
  })
})

describe('an answer', () => {
  it('is a Response, whatever its status', async () => {
    const { url } = await place((_, __, response) => {
      response.writeHead(418, 'Short and stout', [
        ...['set-cookie', 'a=1', 'set-cookie', 'b=2', 'content-type', 'text/plain'],
      ])
      response.end('tea')
    })
    const response = await pinnedFetch(HERE)(url)
    expect(response).toBeInstanceOf(Response)
    expect([response.status, response.statusText, response.ok]).toEqual([418, 'Short and stout', false])
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(await response.text()).toBe('tea')
  })

  it('that is a redirect is given back', async () => {
    const { url, connections } = await place((_, __, response) => {
      response.writeHead(307, { location: 'http://127.0.0.2/' }).end()
    })
    const response = await pinnedFetch(HERE)(url, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([307, 'http://127.0.0.2/'])
    expect(connections).toHaveLength(1)
  })

  it.each([
    ['to HEAD', 'HEAD', '200 OK'],
    ['of status 204', 'GET', '204 No Content'],
    ['of status 205', 'GET', '205 Reset Content'],
    ['of status 304', 'GET', '304 Not Modified'],
  ])('%s has no body, and leaves no connection open', async (_, method, status) => {
    const { url, idle } = await raw(`HTTP/1.1 ${status}\r\ncontent-length: 5\r\n\r\n`, true)
    const response = await pinnedFetch(HERE)(url, { method })
    expect([response.headers.get('content-length'), response.body]).toEqual(['5', null])
    await idle()
  })

  it('comes as it is sent, and leaves no connection open', async () => {
    let more = (): void => {}
    const { url, idle } = await place((_, __, response) => {
      response.write('one')
      more = () => response.end('two')
    })
    const response = await pinnedFetch(HERE)(url)
    const reader = (response.body ?? new ReadableStream()).getReader()
    const next = async (): Promise<string | undefined> => {
      const { value } = (await reader.read()) as { value?: Uint8Array }
      return value && Buffer.from(value).toString()
    }
    expect(await next()).toBe('one')
    more()
    expect([await next(), await next()]).toEqual(['two', undefined])
    await idle()
  })

  it('whose body is canceled leaves none open either', async () => {
    const { url, idle } = await place((_, __, response) => {
      response.write('one')
    })
    const response = await pinnedFetch(HERE)(url)
    await response.body?.cancel()
    await idle()
  })

  it('is not read faster than it is asked for', async () => {
    let sent = 0
    const { url } = await place((_, __, response) => {
      const write = (): void => {
        do sent += 1
        while (response.write(Buffer.alloc(1_000_000)) && sent < 1_000)
      }
      response.on('drain', write)
      write()
    })
    const response = await pinnedFetch(HERE)(url)
    const { value } = (await response.body?.getReader().read()) as { value?: Uint8Array }
    expect(value?.byteLength).toBeGreaterThan(0)
    // Nothing reads on: the rest is what the operating system buffers.
    for (let turn = 0; turn < 500; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect(sent).toBeLessThan(50)
  })
})

describe('errors are those of fetch', () => {
  it('no connection', async () => {
    const error = await failureOf(pinnedFetch(HERE)('http://127.0.0.1:1/'))
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } })
  })

  it('a header that Node refuses', async () => {
    const { url, connections } = await place(echo)
    const error = await failureOf(pinnedFetch(HERE)(url, { headers: { a: '\x01' } }))
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message: 'fetch failed', cause: { code: 'ERR_INVALID_CHAR' } })
    expect(connections).toEqual([])
  })

  it('no such name', async () => {
    const cause = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
    for (const allow of [[], ['agent.example.com']]) {
      const fetch = pinnedFetch({ allow, resolve: () => Promise.reject(cause) })
      const error = await failureOf(fetch('http://agent.example.com/'))
      expect([error instanceof TypeError, (error as Error).cause]).toEqual([true, cause])
    }
  })

  it.each([
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['nothing', ''],
    ['a status that is none', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ])('%s', async (_, text) => {
    const { url, idle } = await raw(text)
    const error = await failureOf(pinnedFetch(HERE)(url))
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message: 'fetch failed', cause: expect.any(Error) as Error })
    await idle()
  })

  it('a body that breaks off', async () => {
    const { url, idle } = await raw('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')
    const response = await pinnedFetch(HERE)(url)
    await idle()
    const error = await failureOf(response.text())
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message: 'terminated', cause: { code: 'ECONNRESET' } })
  })

  it('options that are invalid, at once', () => {
    expect(() => pinnedFetch({ allow: ['http://localhost'] })).toThrow(RangeError)
    const misspelt = { allow: [], allowed: [] }
    expect(() => pinnedFetch(misspelt)).toThrow(TypeError)
  })
})

describe('a signal', () => {
  const reason = new Error('enough')

  it('that is aborted lets nothing be done', async () => {
    const names = resolver(['127.0.0.1'])
    const fetch = pinnedFetch({ ...HERE, resolve: names.resolve })
    const signal = AbortSignal.abort(reason)
    expect(await failureOf(fetch('http://agent.example.com/', { signal }))).toBe(reason)
    expect(names.asked()).toBe(0)
  })

  it('ends the look-up, after which nothing is sent', async () => {
    const { port, connections } = await place(echo)
    const controller = new AbortController()
    let answer: (addresses: string[]) => void = () => {}
    const resolve = (): Promise<string[]> =>
      new Promise((resolved) => {
        answer = resolved
        controller.abort(reason)
      })
    const fetch = pinnedFetch({ ...HERE, resolve })
    const url = `http://agent.example.com:${port}/`
    expect(await failureOf(fetch(url, { signal: controller.signal }))).toBe(reason)
    answer(['127.0.0.1'])
    await pinnedFetch(HERE)(`http://127.0.0.1:${port}/`)
    expect(connections).toHaveLength(1)
  })

  it('ends the waiting for an answer, and the connection', async () => {
    const controller = new AbortController()
    const { url, idle } = await place(() => controller.abort(reason))
    expect(await failureOf(pinnedFetch(HERE)(url, { signal: controller.signal }))).toBe(reason)
    await idle()
  })

  it('ends a body, and the connection', async () => {
    const controller = new AbortController()
    const { url, idle } = await place((_, __, response) => {
      response.write('one')
    })
    const response = await pinnedFetch(HERE)(url, { signal: controller.signal })
    const reader = (response.body ?? new ReadableStream()).getReader()
    await reader.read()
    const rest = failureOf(reader.read())
    controller.abort(reason)
    expect(await rest).toBe(reason)
    await idle()
  })

  it('has no listener left in the end', async () => {
    const { url, idle } = await place(echo)
    const controller = new AbortController()
    const { signal } = controller
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...given: Parameters<typeof add>): void => {
      listeners += 1
      add(...given)
    }
    signal.removeEventListener = (...given: Parameters<typeof remove>): void => {
      listeners -= 1
      remove(...given)
    }
    await (await pinnedFetch(HERE)(url, { signal })).text()
    await idle()
    await expect.poll(() => listeners).toBe(0)
  })
})
