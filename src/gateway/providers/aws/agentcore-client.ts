/**
 * The official AgentCore client as a `fetch` implementation that signs requests.
 *
 * @module
 */
import type { Fetch } from '../../../runtime/fetch.js'
import { fieldsOf } from '../../../http/json.js'
import { A2AError, invalidParams, missingPackage } from '../../../core/errors.js'
import type { RegisteredAgent } from '../../registry/agent.js'

interface RuntimeTarget {
  readonly agentRuntimeArn: string
  readonly qualifier?: string
  readonly runtimeSessionId: string
}

interface CallOptions {
  readonly abortSignal?: AbortSignal
}

/** The used part of the official client, `BedrockAgentCore` of `@aws-sdk/client-bedrock-agentcore`. */
export interface AgentCoreClient {
  invokeAgentRuntime(
    input: RuntimeTarget & {
      readonly payload: Uint8Array
      readonly contentType: string
      readonly accept: string
    },
    options: CallOptions,
  ): Promise<{
    readonly contentType: string | undefined
    readonly statusCode?: number | undefined
    readonly response?: { transformToWebStream(): ReadableStream } | undefined
  }>
  stopRuntimeSession(input: RuntimeTarget, options: CallOptions): Promise<object>
  getAgentCard(input: RuntimeTarget, options: CallOptions): Promise<{ readonly agentCard: unknown }>
}

export const SESSION_HEADER = 'x-amzn-bedrock-agentcore-runtime-session-id'

/** Returns a `fetch` that sends requests to a runtime through the client. Service errors become HTTP responses. */
export function fetchWithClient(load: () => Promise<AgentCoreClient>): Fetch {
  return async (url, init) => {
    const { pathname, searchParams } = new URL(url)
    const [, arn = '', operation] = /^.*\/runtimes\/([^/]+)\/(.+)$/.exec(pathname) ?? []
    const headers = new Headers(init.headers)
    const qualifier = searchParams.get('qualifier')
    const target = {
      agentRuntimeArn: decodeURIComponent(arn),
      runtimeSessionId: headers.get(SESSION_HEADER) ?? '',
      ...(qualifier !== null && { qualifier }),
    }
    const options = init.signal ? { abortSignal: init.signal } : {}
    const client = await load()
    try {
      switch (operation) {
        case 'invocations': {
          const { body } = init
          const payload = new TextEncoder().encode(typeof body === 'string' ? body : '')
          const accept = headers.get('accept') ?? 'application/json'
          const input = { ...target, payload, contentType: 'application/json', accept }
          return toResponse(await client.invokeAgentRuntime(input, options))
        }
        case 'stopruntimesession':
          await client.stopRuntimeSession(target, options)
          return Response.json({})
        default:
          return Response.json((await client.getAgentCard(target, options)).agentCard)
      }
    } catch (cause) {
      return toFailure(cause)
    }
  }
}

function toResponse({
  contentType = 'application/octet-stream',
  statusCode: status = 200,
  response,
}: Awaited<ReturnType<AgentCoreClient['invokeAgentRuntime']>>): Response {
  return new Response(response?.transformToWebStream(), { status, headers: { 'content-type': contentType } })
}

/** @throws The cause, when it is not a response of the service. */
function toFailure(cause: unknown): Response {
  const { name, message } = cause instanceof Error ? cause : new Error(String(cause))
  const { httpStatusCode: status } = fieldsOf(fieldsOf(cause)['$metadata'])
  if (typeof status === 'number' && status >= 400) return new Response(`${name}: ${message}`, { status })
  if (!['CredentialsProviderError', 'TokenProviderError'].includes(name)) throw cause
  throw new A2AError('UNAUTHENTICATED', 'There are no AWS credentials', {}, { cause })
}

/**
 * Creates a client for the agent's URL, with the credentials of the environment. It does not retry: a message without a
 * response may have arrived.
 *
 * @throws {A2AError} `UNSUPPORTED_OPERATION` when the package is not installed, `INVALID_PARAMS` when the region is
 *   unknown.
 */
export async function loadAgentCoreClient(
  agent: RegisteredAgent,
  region: string | undefined,
): Promise<AgentCoreClient> {
  if (region === undefined) {
    throw invalidParams('settings.region', 'must name the region, such as eu-central-1: the ARN does not')
  }
  const { BedrockAgentCore } = await loadPackage()
  // The optional package has no types at build time.
  return new BedrockAgentCore({ region, endpoint: agent.endpoint.url, maxAttempts: 1 }) as AgentCoreClient
}

async function loadPackage() {
  try {
    return await import('@aws-sdk/client-bedrock-agentcore')
  } catch (cause) {
    const needs = 'AgentCore Runtime without endpoint.auth or authorize needs its client'
    throw missingPackage(needs, '@aws-sdk/client-bedrock-agentcore', 'InvokeAgentRuntime', cause)
  }
}
