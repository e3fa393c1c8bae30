/**
 * AgentCore Runtime: the real container of `bedrock-agentcore` behind a stand-in for the service's data plane.
 *
 * @module
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Credentials } from '../bedrock/verify-signature.js'
import { startChildProgram } from '../child-program.js'
import { sendJson, startStubServer, type StubRequest, type StubServer } from '../stub-server.js'
import {
  type Call,
  clientTokenOf,
  type DataPlane,
  readCall,
  ServiceError,
  SESSION_HEADER,
} from './data-plane.js'

/** What must be installed for it, and for its official client: see `isInstalled`. */
export const AGENTCORE_PACKAGES = ['@aws-sdk/client-bedrock-agentcore', 'aws4fetch', 'bedrock-agentcore']

export interface AgentCoreOptions {
  /** A runtime that takes this bearer token, and no signatures. */
  readonly token?: string
  /** The A2A server that the container of the runtime `a2aArn` is: gets `POST /`, and gives the card. */
  readonly a2aUrl?: string
}

/** `requests` are those to the data plane, and `failNext` fails the next of them. */
export interface AgentCore extends Pick<StubServer, 'url' | 'tlsUrl' | 'certificate' | 'requests'> {
  readonly region: string
  readonly credentials: Credentials
  /** A runtime of the HTTP protocol: the prompt says how it answers, see `container.mjs`. */
  readonly arn: string
  /** A runtime of the A2A protocol, if there is an `a2aUrl`. */
  readonly a2aArn: string
  /** A runtime that there is not. */
  readonly unknownArn: string
  /** How many invocations run now in a session. */
  running(session: string): number
  /** Answers the next request with this error of the service: `failNext(429, 'ThrottlingException', 'Rate exceeded')`. */
  failNext(status: number, type: string, message: string): void
  stop(): Promise<void>
}

const REGION = 'eu-central-1'
const CREDENTIALS: Credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}
const arnOf = (name: string): string => `arn:aws:bedrock-agentcore:${REGION}:123456789012:runtime/${name}`

export async function startAgentCore({ token, a2aUrl }: AgentCoreOptions = {}): Promise<AgentCore> {
  const container = await startChildProgram(new URL('container.mjs', import.meta.url), tmpdir())
  const runtimes = new Map([[arnOf('http-0123456789'), `${container.url}/invocations`]])
  if (a2aUrl !== undefined) runtimes.set(arnOf('a2a-0123456789'), a2aUrl)
  const sessions = new Sessions()
  const plane: DataPlane = { region: REGION, credentials: CREDENTIALS, token, runtimes }
  const server = await startStubServer((request, response) => answer(plane, sessions, request, response))
  const { url, tlsUrl, certificate, requests } = server
  return {
    ...{ url, tlsUrl, certificate, requests },
    region: REGION,
    credentials: CREDENTIALS,
    arn: arnOf('http-0123456789'),
    a2aArn: arnOf('a2a-0123456789'),
    unknownArn: arnOf('unknown-0123456789'),
    running: (session) => sessions.running(session),
    failNext: (status, type, message) => server.failNext(status, { message }, { 'x-amzn-errortype': type }),
    async stop() {
      await server.stop()
      await container.stop()
    },
  }
}

/** The sessions that there are, and what runs in each. */
class Sessions {
  readonly #open = new Map<string, Set<AbortController>>()
  readonly #stopped = new Map<string, string>()

  running(session: string): number {
    return this.#open.get(session)?.size ?? 0
  }

  /** Runs `call` in a session, new or not. Its signal aborts when the session is stopped. */
  async run(session: string, call: (controller: AbortController) => Promise<void>): Promise<void> {
    const calls = this.#open.get(session) ?? new Set()
    this.#open.set(session, calls)
    const controller = new AbortController()
    calls.add(controller)
    try {
      await call(controller)
    } finally {
      calls.delete(controller)
    }
  }

  /** Who asks again with the same token gets the same answer. */
  stop(session: string, token: string | undefined): void {
    if (token !== undefined && this.#stopped.get(token) === session) return
    const calls = this.#open.get(session)
    if (!calls) throw new ServiceError(404, 'ResourceNotFoundException', `Session ${session} not found`)
    this.#open.delete(session)
    if (token !== undefined) this.#stopped.set(token, session)
    for (const controller of calls) controller.abort()
  }
}

async function answer(
  plane: DataPlane,
  sessions: Sessions,
  request: StubRequest,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('x-amzn-requestid', randomUUID())
  try {
    const call = readCall(plane, request)
    const session = call.session ?? randomUUID()
    if (call.operation === 'stopruntimesession') {
      sessions.stop(session, clientTokenOf(request))
      sendJson(response, 200, {}, { [SESSION_HEADER]: session })
      return
    }
    await sessions.run(session, async (controller) => {
      response.once('close', () => {
        controller.abort()
      })
      await forward(call, session, request, response, controller.signal)
    })
  } catch (error) {
    if (!(error instanceof ServiceError) || response.headersSent) response.destroy()
    else sendError(response, error)
  }
}

/** To the container and back, as it comes. When the session is stopped, the connection ends without an end. */
async function forward(
  { operation, container }: Call,
  session: string,
  request: StubRequest,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const headers = new Headers({ [SESSION_HEADER]: session })
  for (const [name, value] of Object.entries(request.headers)) {
    if (isForContainer(name) && typeof value === 'string') headers.set(name, value)
  }
  const given =
    operation === 'agent-card'
      ? await fetch(new URL('/.well-known/agent-card.json', container), { headers, signal })
      : await fetch(container, { method: 'POST', headers, body: request.text, signal })
  if (!given.ok) {
    await given.body?.cancel()
    const text = `Received error (${given.status}) from runtime. Please check your CloudWatch logs for more information.`
    throw new ServiceError(424, 'RuntimeClientError', text)
  }
  const type = given.headers.get('content-type') ?? 'application/octet-stream'
  response.writeHead(200, { 'content-type': type, [SESSION_HEADER]: session })
  response.flushHeaders()
  if (given.body) await pipeline(Readable.fromWeb(given.body), response)
  else response.end()
}

/** The container gets neither the signature nor what belongs to the connection. */
function isForContainer(name: string): boolean {
  return (
    ['accept', 'content-type', 'traceparent', 'tracestate', 'baggage'].includes(name) ||
    name.startsWith('x-amzn-bedrock-agentcore-runtime-') ||
    name.startsWith('a2a-')
  )
}

function sendError(response: ServerResponse, { status, type, message, members }: ServiceError): void {
  sendJson(response, status, { message, ...members }, { 'x-amzn-errortype': type })
}
