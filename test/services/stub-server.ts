/**
 * Common part of the stubs of cloud services: a server on the loopback that records requests. It needs no package.
 *
 * @module
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { selfSigned } from './self-signed.js'

export interface StubRequest {
  readonly method: string
  /** As it was sent, still encoded, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The JSON of it; undefined where there is none. */
  readonly body: unknown
  /** Whether the client left before it had its answer; known when the answer is over. */
  readonly abandoned: Promise<boolean>
}

export interface StubServer {
  readonly url: string
  readonly tlsUrl: string
  /** What a client must trust to use `tlsUrl`: a certificate in PEM. */
  readonly certificate: string
  readonly requests: readonly StubRequest[]
  /** Answers the next request with this and nothing else. */
  failNext(status: number, body?: unknown, headers?: Record<string, string>): void
  stop(): Promise<void>
}

/** What a script may say about the stream itself: wait until this is settled; cut the connection. */
export type Pause = Promise<unknown>
export const DISCONNECT = Symbol('disconnect')

type Answer = (request: StubRequest, response: ServerResponse) => void | Promise<void>

/** Serves over http and https at once, on free ports of 127.0.0.1. */
export async function startStubServer(answer: Answer): Promise<StubServer> {
  const requests: StubRequest[] = []
  const failures: { status: number; body: unknown; headers: Record<string, string> }[] = []
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await read(incoming, response)
    requests.push(request)
    const failure = failures.shift()
    if (failure) sendJson(response, failure.status, failure.body, failure.headers)
    else await answer(request, response)
  }
  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    handle(incoming, response).catch((error: unknown) => response.destroy(error as Error))
  }
  const identity = selfSigned()
  const plain = createServer(listener)
  const tls = createTlsServer({ key: identity.key, cert: identity.certificate }, listener)
  const servers = [plain, tls]
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  return {
    url: `http://127.0.0.1:${(plain.address() as AddressInfo).port}`,
    tlsUrl: `https://127.0.0.1:${(tls.address() as AddressInfo).port}`,
    certificate: identity.certificate,
    requests,
    failNext: (status, body = {}, headers = {}) => failures.push({ status, body, headers }),
    async stop() {
      const closed = servers.map((server) => once(server, 'close'))
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
      await Promise.all(closed)
    },
  }
}

async function read(incoming: IncomingMessage, response: ServerResponse): Promise<StubRequest> {
  const abandoned = new Promise<boolean>((resolve) => {
    response.once('close', () => resolve(!response.writableFinished))
  })
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const [path = '', search = ''] = (incoming.url ?? '').split('?', 2)
  const { method = '', headers } = incoming
  return { method, path, query: new URLSearchParams(search), headers, text, body: parse(text), abandoned }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

/** What the bearer of a request is; undefined where it names none. */
export function bearerOf({ headers }: StubRequest): string | undefined {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

/** The object that JSON is; an empty one where it is none. */
export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}
