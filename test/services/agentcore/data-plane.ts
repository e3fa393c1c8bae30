/**
 * The rules of AgentCore's data plane: who may call, what is called, and the errors it answers with.
 *
 * @module
 */
import { type Credentials, signatureFault } from '../bedrock/verify-signature.js'
import { bearerOf, objectOf, type StubRequest } from '../stub-server.js'

export const SESSION_HEADER = 'x-amzn-bedrock-agentcore-runtime-session-id'

export interface DataPlane {
  readonly region: string
  readonly credentials: Credentials
  /** A runtime that takes tokens takes no signatures. */
  readonly token: string | undefined
  /** Where the container of a runtime listens, by the runtime's ARN. */
  readonly runtimes: ReadonlyMap<string, string>
}

export type Operation = 'invocations' | 'stopruntimesession' | 'agent-card'

export interface Call {
  readonly operation: Operation
  /** Where the runtime's container listens. */
  readonly container: string
  /** Undefined where the request names none. */
  readonly session: string | undefined
}

/** An answer of the service that is an error. Its status is that of the service's model. */
export class ServiceError extends Error {
  readonly status: number
  readonly type: string
  readonly members: object

  constructor(status: number, type: string, message: string, members: object = {}) {
    super(message)
    this.status = status
    this.type = type
    this.members = members
  }
}

const PATHS = new Map<string, Operation>([
  ['POST invocations', 'invocations'],
  ['POST stopruntimesession', 'stopruntimesession'],
  ['GET invocations/.well-known/agent-card.json', 'agent-card'],
])

/** What a request calls. Throws a ServiceError where it may not. */
export function readCall(plane: DataPlane, request: StubRequest): Call {
  const [, arn = '', rest = ''] = /^\/runtimes\/([^/]+)\/(.+)$/.exec(request.path) ?? []
  const operation = PATHS.get(`${request.method} ${rest}`)
  if (operation === undefined) throw new ServiceError(404, 'UnknownOperationException', 'Unknown operation')
  authenticate(plane, request)
  const session = request.headers[SESSION_HEADER]
  if (typeof session === 'string') checkSession(session)
  else if (operation === 'stopruntimesession') throw invalidSession('null', 'not be null')
  const runtime = decodeURIComponent(arn)
  const qualifier = request.query.get('qualifier') ?? 'DEFAULT'
  const container = qualifier === 'DEFAULT' ? plane.runtimes.get(runtime) : undefined
  if (container === undefined) {
    const text = `No endpoint or agent found with qualifier '${qualifier}' for agent '${runtime}'`
    throw new ServiceError(404, 'ResourceNotFoundException', text)
  }
  return { operation, container, session: session?.toString() }
}

function authenticate({ region, credentials, token }: DataPlane, request: StubRequest): void {
  const bearer = bearerOf(request)
  if (token !== undefined) {
    if (bearer === token) return
    const text = 'Authorization method mismatch'
    if (bearer === undefined) throw new ServiceError(403, 'AccessDeniedException', text)
    throw new ServiceError(401, 'UnauthorizedException', 'Invalid Bearer token')
  }
  const fault = signatureFault(request, { region, credentials, service: 'bedrock-agentcore' })
  if (fault === undefined) return
  const type = fault.startsWith('Missing')
    ? 'MissingAuthenticationTokenException'
    : 'InvalidSignatureException'
  throw new ServiceError(403, type, fault)
}

function checkSession(session: string): void {
  if (session.length < 33) throw invalidSession(session, 'have length greater than or equal to 33')
  if (session.length > 256) throw invalidSession(session, 'have length less than or equal to 256')
}

function invalidSession(session: string, rule: string): ServiceError {
  const text = `Value '${session}' at 'runtimeSessionId' failed to satisfy constraint: Member must ${rule}`
  return new ServiceError(400, 'ValidationException', `1 validation error detected: ${text}`, {
    reason: 'FieldValidationFailed',
    fieldList: [{ name: 'runtimeSessionId', message: `Member must ${rule}` }],
  })
}

/** What the body of a request names as its token of idempotency. */
export function clientTokenOf(request: StubRequest): string | undefined {
  const token = objectOf(request.body)['clientToken']
  return typeof token === 'string' ? token : undefined
}
