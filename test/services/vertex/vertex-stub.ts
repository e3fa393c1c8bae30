/**
 * A reasoning engine of Vertex AI Agent Engine, for tests, over loopback and by script. Proved by `vertex.test.ts`
 * with official clients as far as they go; see README.md.
 *
 * @module
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import {
  bearerOf,
  DISCONNECT,
  objectOf,
  sendJson,
  startStubServer,
  type Pause,
  type StubRequest,
  type StubServer,
} from '../stub-server.js'
import { A2A, type A2AStep } from './a2a.js'
import { googleError, sendGoogleError } from './google-error.js'

export type { A2AStep, TaskState } from './a2a.js'

type Json = Record<string, unknown>

/** One event of `:streamQuery`: any JSON, or a text for what an ADK agent says. A promise holds the stream. */
export type StreamStep = string | Readonly<Json> | Pause | typeof DISCONNECT

/** How the events of `:streamQuery` are told apart; the service has been seen to write lines even with `alt=sse`. */
export type Framing = 'lines' | 'joined' | 'sse'

export interface VertexStub extends StubServer {
  /** `projects/…/locations/…/reasoningEngines/…` */
  readonly name: string
  readonly token: string
  /** The base of its A2A API. */
  readonly a2aUrl: string
  /** The output of the next `:query`; a promise holds the answer. Without one `Hello`. Sessions need none. */
  answer(output: unknown): void
  /** What the next `:streamQuery` streams. Without one an event with `Hello`. */
  stream(...steps: StreamStep[]): void
  /** How streams are written from now on; `sse` only where `alt=sse` asks for it. `lines` unless said. */
  framing(framing: Framing): void
  /** What the next message of A2A leads to. Without one an artifact with `Hello`, then COMPLETED. */
  a2a(...steps: A2AStep[]): void
  /** Refuses the next request as Google does, with this HTTP code and status such as `RESOURCE_EXHAUSTED`. */
  refuseNext(code: number, status: string, message: string, headers?: Record<string, string>): void
}

const NAME = 'projects/project/locations/us-central1/reasoningEngines/42'
const NOW = '2026-02-02T02:40:00Z'
const SESSION_TYPE = 'type.googleapis.com/google.cloud.aiplatform.v1.Session'

export async function startVertexStub({ token = 'google-token' } = {}): Promise<VertexStub> {
  const engine = new Engine()
  const a2a = new A2A()
  const server = await startStubServer(async (request, response) => {
    if (bearerOf(request) !== token) {
      unauthenticated(request, response)
      return
    }
    const [, version, rest = ''] = /^\/(v1|v1beta1)\/(.*)$/.exec(request.path) ?? []
    const below = rest.startsWith(NAME) ? rest.slice(NAME.length) : undefined
    const [, a2aPath] = /^\/a2a\/v1\/(.+)$/.exec(below ?? '') ?? []
    if (version === 'v1beta1' && a2aPath !== undefined) {
      if (await a2a.answer(request, a2aPath, response)) return
    } else if (below !== undefined && (await engine.answer(request, below, response))) return
    sendGoogleError(
      response,
      404,
      'NOT_FOUND',
      below === undefined ? 'ReasoningEngine does not exist.' : 'No such call',
    )
  })
  return Object.assign(server, {
    name: NAME,
    token,
    a2aUrl: `${server.url}/v1beta1/${NAME}/a2a`,
    answer: (output: unknown) => void engine.outputs.push(output),
    stream: (...steps: StreamStep[]) => void engine.streams.push(steps),
    framing: (framing: Framing) => void (engine.framing = framing),
    a2a: (...steps: A2AStep[]) => void a2a.scripts.push(steps),
    refuseNext: (code: number, status: string, message: string, headers = {}) =>
      server.failNext(code, googleError(code, status, message), headers),
  })
}

function unauthenticated(request: StubRequest, response: ServerResponse): void {
  const reason = bearerOf(request) === undefined ? 'CREDENTIALS_MISSING' : 'ACCESS_TOKEN_TYPE_UNSUPPORTED'
  const message =
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.'
  const detail = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'googleapis.com',
    metadata: { service: 'aiplatform.googleapis.com' },
  }
  sendGoogleError(response, 401, 'UNAUTHENTICATED', message, [detail])
}

class Engine {
  readonly outputs: unknown[] = []
  readonly streams: StreamStep[][] = []
  framing: Framing = 'lines'
  readonly #sessions = new Map<string, Json>()

  /** Answers what lies below the engine's name; false where there is no such call. */
  async answer(request: StubRequest, below: string, response: ServerResponse): Promise<boolean> {
    const call = `${request.method} ${below
      .split('/')
      .map((part, i) => (i === 2 || i === 4 ? '*' : part))
      .join('/')}`
    const [, , id = ''] = below.split('/')
    if (call === 'GET ') sendJson(response, 200, engineOf())
    else if (call === 'POST :query') await this.#query(request, response)
    else if (call === 'POST :streamQuery') await this.#streamQuery(request, response)
    else if (call === 'POST /sessions') this.#createSession(request, response)
    else if (call === 'GET /sessions') sendJson(response, 200, { sessions: [...this.#sessions.values()] })
    else if (call === 'GET /sessions/*' || call === 'GET /sessions/*/operations/*') {
      const session = this.#sessions.get(id)
      if (!session) sendGoogleError(response, 404, 'NOT_FOUND', `Session ${id} does not exist.`)
      else if (call === 'GET /sessions/*') sendJson(response, 200, session)
      else
        sendJson(response, 200, {
          ...operationOf(id),
          done: true,
          response: { '@type': SESSION_TYPE, ...session },
        })
    } else return false
    return true
  }

  async #query(request: StubRequest, response: ServerResponse): Promise<void> {
    const { classMethod, class_method, input } = objectOf(request.body)
    const method = classMethod ?? class_method
    const output = this.#session(typeof method === 'string' ? method : 'query', objectOf(input))
    sendJson(response, 200, {
      output: output ?? (this.outputs.length > 0 ? await this.outputs.shift() : 'Hello'),
    })
  }

  /** What the methods of an ADK agent answer that keep sessions; undefined where the method is none of them. */
  #session(method: string, input: Json): Json | undefined {
    const id = typeof input['session_id'] === 'string' ? input['session_id'] : undefined
    if (/^(async_)?create_session$/.test(method)) {
      const { name } = this.#newSession(id ?? randomUUID(), input['user_id'])
      return adkSession(String(name).split('/').at(-1) ?? '', input['user_id'])
    }
    if (!/^(async_)?get_session$/.test(method)) return undefined
    return this.#sessions.has(id ?? '') ? adkSession(id ?? '', input['user_id']) : {}
  }

  #newSession(id: string, userId: unknown): Json {
    const session = { name: `${NAME}/sessions/${id}`, createTime: NOW, updateTime: NOW, userId }
    this.#sessions.set(id, session)
    return session
  }

  /** A session is made by an operation: the first answer says that it is under way, a GET of it that it is done. */
  #createSession(request: StubRequest, response: ServerResponse): void {
    const { userId } = objectOf(request.body)
    if (typeof userId !== 'string') {
      sendGoogleError(response, 400, 'INVALID_ARGUMENT', 'userId is required.')
      return
    }
    const id = request.query.get('sessionId') ?? `s-${randomUUID()}`
    this.#newSession(id, userId)
    sendJson(response, 200, operationOf(id))
  }

  async #streamQuery(request: StubRequest, response: ServerResponse): Promise<void> {
    const sse = this.framing === 'sse' && request.query.get('alt') === 'sse'
    const separator = this.framing === 'joined' ? '' : '\n'
    response.writeHead(200, { 'content-type': sse ? 'text/event-stream' : 'application/json' })
    response.flushHeaders()
    for (const step of this.streams.shift() ?? ['Hello']) {
      if (step === DISCONNECT) return void response.destroy()
      if (step instanceof Promise) await step
      else {
        const json = JSON.stringify(typeof step === 'string' ? adkEvent(step) : step)
        response.write(sse ? `data: ${json}\n\n` : `${json}${separator}`)
      }
    }
    response.end()
  }
}

function engineOf(): Json {
  return {
    name: NAME,
    displayName: 'agent',
    createTime: NOW,
    updateTime: NOW,
    etag: 'AMEw9yNU',
    spec: { agentFramework: 'google-adk' },
  }
}

function operationOf(sessionId: string): Json {
  return {
    name: `${NAME}/sessions/${sessionId}/operations/1`,
    metadata: {
      '@type': 'type.googleapis.com/google.cloud.aiplatform.v1.CreateSessionOperationMetadata',
      genericMetadata: { createTime: NOW, updateTime: NOW },
    },
  }
}

function adkSession(id: string, userId: unknown): Json {
  return { id, user_id: userId, app_name: '42', state: {}, events: [], last_update_time: 1_770_000_000.5 }
}

/** An event of an ADK agent that says a text. */
export function adkEvent(text: string, more: Readonly<Json> = {}): Json {
  return {
    content: { parts: [{ text }], role: 'model' },
    author: 'agent',
    id: randomUUID(),
    invocation_id: 'e-1',
    timestamp: 1_770_000_000.5,
    actions: { state_delta: {}, artifact_delta: {}, requested_auth_configs: {} },
    ...more,
  }
}
