/**
 * Both ends of HTTP for the tests of the client: a server on loopback, and a `fetch` that is none.
 *
 * @module
 */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Fetch } from '../../../src/runtime/fetch.js'

export interface Asked {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** What is no text is sent as JSON. */
  readonly body?: unknown
}

/** Gives the reply, or `'never'` for none. */
export type Answerer = (asked: Asked) => Reply | 'never'

export interface Site {
  readonly url: string
  readonly asked: Asked[]
}

/** A server on its own port until the test is over. */
export async function site(answer: Answerer, host = '127.0.0.1'): Promise<Site> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const one = { method, path, headers, body }
      asked.push(one)
      const reply = answer(one)
      if (reply === 'never') return
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
      response.end(textOf(reply.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://${host}:${port}`, asked }
}

export interface FakeFetch {
  readonly fetch: Fetch
  /** Their paths are whole URLs. */
  readonly asked: Asked[]
}

/** A `fetch` that `answer` responds to at once. An error thrown by `answer` is a network error. */
export function fakeFetch(answer: Answerer): FakeFetch {
  const asked: Asked[] = []
  const fetch: Fetch = async (url, { method = 'GET', headers, body, signal }) => {
    const one = {
      method,
      path: url,
      headers: Object.fromEntries(new Headers(headers)),
      body: typeof body === 'string' ? body : '',
    }
    asked.push(one)
    const reply = answer(one)
    if (reply === 'never') {
      return await new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(new DOMException('Aborted', 'AbortError')))
      })
    }
    const { status = 200, ...init } = reply
    const isBodiless = status === 204 || status === 304
    return new Response(isBodiless ? null : textOf(reply.body), {
      status,
      statusText: STATUS_TEXTS[status] ?? '',
      ...(init.headers !== undefined && { headers: init.headers }),
    })
  }
  return { fetch, asked }
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  404: 'Not Found',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

function textOf(body: unknown = ''): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** Lets all that waits for nothing but promises come to its end. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** What `promise` is rejected with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => {
      throw new Error(`Nothing was thrown, but given: ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )
}
