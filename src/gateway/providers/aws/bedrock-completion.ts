/**
 * Conversion of InvokeAgent responses to updates.
 *
 * @module
 */
import { fieldsOf } from '../../../http/json.js'
import { A2AError } from '../../../core/errors.js'
import type { ArtifactInput, PartInput } from '../../../core/params.js'
import type { JsonValue } from '../../../core/json-types.js'
import type { Unread } from '../../../runtime/unread.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import type { TaskUpdate } from '../../provider.js'
import { providerError } from '../shared/service.js'

const NAME = 'bedrock'

/** Exceptions that a retry may avoid. All others mean that the call itself is wrong. */
const TRANSIENT_EXCEPTIONS = [
  'ThrottlingException',
  'ModelNotReadyException',
  'InternalServerException',
  'BadGatewayException',
  'DependencyFailedException',
]

/** Errors of the client without credentials. No request was sent. */
const NO_CREDENTIALS = ['CredentialsProviderError', 'TokenProviderError']

/**
 * Yields the updates of one completion: its text as chunks of one artifact, each file as an artifact. At its end the
 * task is completed, or `input-required` if the agent has returned control.
 *
 * @throws {A2AError} `PROVIDER_ERROR` for an exception in the stream, and for an event that is not understood.
 */
export async function* updatesOf(
  agent: RegisteredAgent,
  sessionId: string,
  artifactId: string,
  completion: AsyncIterable<object>,
): AsyncGenerator<TaskUpdate, undefined> {
  const decoder = new TextDecoder()
  let question: TaskUpdate | undefined
  for await (const event of completion) {
    const exception = Object.entries(event).find(([name]) => name.endsWith('Exception'))
    if (exception !== undefined) throw toProviderError(agent, toException(exception))
    // Traces are internal to the agent, and unknown events come from newer clients. Neither is part of the answer.
    const { chunk, returnControl, files } = fieldsOf(event)
    if (chunk !== undefined) yield* chunkOf(agent, artifactId, fieldsOf(chunk), decoder)
    if (files !== undefined) yield { artifacts: filesOf(agent, artifactId, fieldsOf(files)) }
    if (returnControl !== undefined) question = questionOf(agent, sessionId, fieldsOf(returnControl))
  }
  yield question ?? { ref: { sessionId }, state: 'completed' }
}

/** Translates an error of the client, or an exception in the stream. */
export function toProviderError(agent: RegisteredAgent, cause: unknown): A2AError {
  if (A2AError.is(cause)) return cause
  const { name, message } = cause instanceof Error ? cause : new Error(String(cause))
  if (NO_CREDENTIALS.includes(name)) {
    return providerError(NAME, agent, 'there are no AWS credentials', { cause })
  }
  const { httpStatusCode } = fieldsOf(fieldsOf(cause)['$metadata'])
  // A response with a successful status may still break off.
  const status = typeof httpStatusCode === 'number' && httpStatusCode >= 400 ? httpStatusCode : undefined
  const isOfService = name.endsWith('Exception')
  // After the first line, the client explains how to debug the error.
  const [reason = ''] = message.split('\n', 1)
  return providerError(NAME, agent, name, {
    said: reason,
    // Without an exception of the service, the connection has failed.
    retryable: isOfService ? TRANSIENT_EXCEPTIONS.includes(name) : status === undefined || status >= 500,
    ...(status !== undefined && { status }),
    cause,
  })
}

/** Builds the error that the client would throw: `throttlingException` is a ThrottlingException. */
function toException([member, value]: [string, unknown]): Error {
  const { message } = value instanceof Error ? value : fieldsOf(value)
  const error = new Error(typeof message === 'string' ? message : '', { cause: value })
  error.name = member.charAt(0).toUpperCase() + member.slice(1)
  return error
}

function* chunkOf(
  agent: RegisteredAgent,
  artifactId: string,
  { bytes, attribution }: Unread,
  decoder: InstanceType<typeof TextDecoder>,
): Generator<TaskUpdate, undefined> {
  // A chunk may end in the middle of a character.
  const text = decoder.decode(bytesOf(agent, bytes), { stream: true })
  const metadata = attribution === undefined ? {} : { metadata: { attribution: toJson(attribution) } }
  if (text !== '') yield { chunk: { artifactId, parts: [{ text, ...metadata }] } }
}

function filesOf(agent: RegisteredAgent, artifactId: string, { files }: Unread): ArtifactInput[] {
  return (Array.isArray(files) ? files : []).map((file: unknown, index) => {
    const { name, type, bytes } = fieldsOf(file)
    const filename = typeof name === 'string' && name !== '' ? name : `file-${index + 1}`
    const part: PartInput = {
      raw: toBase64(bytesOf(agent, bytes)),
      filename,
      ...(typeof type === 'string' && type !== '' && { mediaType: type }),
    }
    return { artifactId: `${artifactId}/${filename}`, name: filename, parts: [part] }
  })
}

/** Translates returned control into a question: the agent continues with the results of these invocations. */
function questionOf(agent: RegisteredAgent, sessionId: string, returned: Unread): TaskUpdate {
  const { invocationId, invocationInputs } = returned
  if (typeof invocationId !== 'string' || !Array.isArray(invocationInputs)) {
    throw providerError(NAME, agent, 'it returned control without saying for which action')
  }
  const text = `The agent asks for the results of ${invocationInputs.map(callOf).join(', ')}`
  const data = { invocationId, invocationInputs: toJson(invocationInputs) }
  return {
    ref: { sessionId, invocationId },
    state: 'input-required',
    message: { parts: [{ text }, { data }] },
  }
}

/** Returns a name for the question, such as `WeatherGroup.getForecast` or `OrdersGroup POST /orders`. */
function callOf(input: unknown): string {
  const { functionInvocationInput, apiInvocationInput } = fieldsOf(input)
  if (functionInvocationInput !== undefined) {
    const { actionGroup, function: called } = fieldsOf(functionInvocationInput)
    return [actionGroup, called].filter((word) => typeof word === 'string').join('.')
  }
  const { actionGroup, httpMethod, apiPath } = fieldsOf(apiInvocationInput)
  return (
    [actionGroup, httpMethod, apiPath].filter((word) => typeof word === 'string').join(' ') || 'an action'
  )
}

function bytesOf(agent: RegisteredAgent, bytes: unknown): Uint8Array {
  if (bytes === undefined) return new Uint8Array()
  if (bytes instanceof Uint8Array) return bytes
  throw providerError(NAME, agent, 'its bytes are not a Uint8Array')
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** Copies the client's objects as plain JSON. */
function toJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}
