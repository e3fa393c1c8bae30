/**
 * InvokeAgent of Amazon Bedrock Agents, for tests: a server over loopback that answers by script. Its requests must be
 * signed with its `credentials` for the region `us-east-1` and the service `bedrock`, for the agent `AGENT1` and its alias
 * `ALIAS1`. Proved by `bedrock.test.ts` with the official client; see README.md.
 *
 * @module
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import {
  DISCONNECT,
  objectOf,
  sendJson,
  startStubServer,
  type Pause,
  type StubRequest,
  type StubServer,
} from '../stub-server.js'
import { encodeFrame } from './event-stream.js'
import { signatureFault, type Credentials } from './verify-signature.js'

/** The exceptions of InvokeAgent with their HTTP statuses, from the model in `@aws-sdk/client-bedrock-agent-runtime`. */
export const EXCEPTIONS = {
  AccessDeniedException: 403,
  BadGatewayException: 502,
  ConflictException: 409,
  DependencyFailedException: 424,
  InternalServerException: 500,
  ModelNotReadyException: 424,
  ResourceNotFoundException: 404,
  ServiceQuotaExceededException: 400,
  ThrottlingException: 429,
  ValidationException: 400,
} as const

export type ExceptionName = keyof typeof EXCEPTIONS

/** What the completion of a call holds, in order. A promise holds the stream until it is settled. */
export type CompletionStep =
  | string // a chunk with this text
  | { readonly chunk: Readonly<Record<string, unknown>> }
  | { readonly trace: Readonly<Record<string, unknown>> }
  | { readonly returnControl: Readonly<Record<string, unknown>> }
  | { readonly files: Readonly<Record<string, unknown>> }
  | { readonly exception: ExceptionName; readonly message: string }
  /** An error that the model of the service does not know. */
  | { readonly error: string; readonly message: string }
  | Pause
  | typeof DISCONNECT

export interface BedrockStub extends StubServer {
  readonly region: string
  readonly credentials: Credentials
  readonly agentId: string
  readonly agentAliasId: string
  /** What the next call that has no script yet answers. A call without one answers `Hello`. */
  script(...steps: CompletionStep[]): void
  /** Refuses the next call with this exception, over HTTP. */
  refuseNext(name: ExceptionName, message: string, headers?: Record<string, string>): void
}

const CREDENTIALS: Credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'session/token==',
}
const REGION = 'us-east-1'
const AGENT = 'AGENT1'
const ALIAS = 'ALIAS1'
const PATH = /^\/agents\/([^/]+)\/agentAliases\/([^/]+)\/sessions\/([^/]+)\/text$/
const SESSION_ID = /^[0-9a-zA-Z._:-]{2,100}$/

export async function startBedrockStub(): Promise<BedrockStub> {
  const scripts: CompletionStep[][] = []
  const server = await startStubServer(async (request, response) => {
    const refusal = refusalOf(request)
    if (refusal) refuse(response, refusal.name, refusal.message, refusal.status)
    else await complete(request, response, scripts.shift() ?? ['Hello'])
  })
  return Object.assign(server, {
    region: REGION,
    credentials: CREDENTIALS,
    agentId: AGENT,
    agentAliasId: ALIAS,
    script: (...steps: CompletionStep[]) => void scripts.push(steps),
    refuseNext: (name: ExceptionName, message: string, headers = {}) =>
      server.failNext(EXCEPTIONS[name], { message }, { 'x-amzn-errortype': name, ...headers }),
  })
}

function refusalOf(request: StubRequest): { name: string; message: string; status: number } | undefined {
  const scope = { credentials: CREDENTIALS, region: REGION, service: 'bedrock' }
  const message = signatureFault(request, scope)
  if (message !== undefined) return { name: 'InvalidSignatureException', message, status: 403 }
  const match = request.method === 'POST' ? PATH.exec(request.path) : null
  if (!match) return { name: 'UnknownOperationException', message: 'No such operation', status: 404 }
  const [agent, alias, session = ''] = match.slice(1).map(decodeURIComponent)
  const invalid = (message: string) => ({ name: 'ValidationException', message, status: 400 })
  if (!SESSION_ID.test(session)) return invalid('Invalid sessionId')
  if (typeof request.body !== 'object' || request.body === null) return invalid('The body is no JSON object')
  if (agent === AGENT && alias === ALIAS) return undefined
  return { name: 'ResourceNotFoundException', message: 'Agent or alias not found', status: 404 }
}

function refuse(response: ServerResponse, name: string, message: string, status: number): void {
  sendJson(response, status, { message }, { 'x-amzn-errortype': name, 'x-amzn-requestid': randomUUID() })
}

async function complete(
  request: StubRequest,
  response: ServerResponse,
  steps: readonly CompletionStep[],
): Promise<void> {
  const { memoryId } = objectOf(request.body)
  const [, , , session = ''] = PATH.exec(request.path) ?? []
  response.writeHead(200, {
    'content-type': 'application/vnd.amazon.eventstream',
    'x-amzn-requestid': randomUUID(),
    'x-amzn-bedrock-agent-content-type': 'application/json',
    'x-amz-bedrock-agent-session-id': decodeURIComponent(session),
    ...(typeof memoryId === 'string' && { 'x-amz-bedrock-agent-memory-id': memoryId }),
  })
  response.flushHeaders()
  for (const step of steps) {
    if (step === DISCONNECT) return void response.destroy()
    if (step instanceof Promise) await step
    else response.write(frameOf(step))
  }
  response.end()
}

function frameOf(step: Exclude<CompletionStep, Pause | typeof DISCONNECT>): Buffer {
  if (typeof step === 'string') return event('chunk', { bytes: Buffer.from(step).toString('base64') })
  if ('exception' in step) {
    // The member of the stream that an exception is: its name with a small first letter.
    const type = step.exception.charAt(0).toLowerCase() + step.exception.slice(1)
    const headers = { ':message-type': 'exception', ':exception-type': type }
    return encodeFrame({ ...headers, ':content-type': 'application/json' }, { message: step.message })
  }
  if ('error' in step) {
    return encodeFrame(
      { ':message-type': 'error', ':error-code': step.error, ':error-message': step.message },
      undefined,
    )
  }
  const [[type, payload] = ['', {}]] = Object.entries(step)
  return event(type, payload)
}

function event(type: string, payload: unknown): Buffer {
  const headers = { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }
  return encodeFrame(headers, payload)
}
