/**
 * What the client of the official Python SDK accepts. Its parsers of 1.x, and of 0.3 over HTTP+JSON, are `ParseDict` of
 * protobuf, which refuses fields and names of enums that the proto does not have; its parsers of 0.3 over JSON-RPC are
 * pydantic models, which need `kind` and the required fields. See `client-requests.ts` for the versions.
 */

export type Parser =
  | `${'' | 'rpc:' | '0.3 '}${ProtoName}`
  | `rpc:error ${number}`
  | `error ${string}`
  | `status ${number}`
  | 'json'
  | 'rpc:kind'
  | 'rpc:nothing'
  | 'rpc:legacy push'

type ProtoName =
  | 'SendMessageResponse'
  | 'StreamResponse'
  | 'Task'
  | 'ListTasksResponse'
  | 'TaskPushNotificationConfig'
  | 'ListTaskPushNotificationConfigsResponse'

/** The kind of a field: a scalar, an enum, or a message by its name. A list has `[]` behind. */
type Proto = Readonly<Record<string, Readonly<Record<string, string>>>>

const MESSAGE = {
  ...{ messageId: 'text', contextId: 'text', taskId: 'text', role: 'ROLE', metadata: 'object' },
  extensions: 'text[]',
}
const ARTIFACT = {
  ...{ artifactId: 'text', name: 'text', description: 'text', parts: 'Part[]', metadata: 'object' },
  extensions: 'text[]',
}
const EVENTS = {
  StreamResponse: {
    ...{ task: 'Task', message: 'Message', statusUpdate: 'StatusUpdate', artifactUpdate: 'ArtifactUpdate' },
  },
  SendMessageResponse: { task: 'Task', message: 'Message' },
  Task: {
    ...{ id: 'text', contextId: 'text', status: 'Status', artifacts: 'Artifact[]', history: 'Message[]' },
    metadata: 'object',
  },
  Status: { state: 'TASK_STATE', message: 'Message', timestamp: 'time' },
  Artifact: ARTIFACT,
}
const UPDATE = { taskId: 'text', contextId: 'text', metadata: 'object' }

const MODERN: Proto = {
  ...EVENTS,
  Message: { ...MESSAGE, parts: 'Part[]', referenceTaskIds: 'text[]' },
  Part: {
    ...{ text: 'text', raw: 'text', url: 'text', data: 'any', metadata: 'object' },
    ...{ filename: 'text', mediaType: 'text' },
  },
  StatusUpdate: { ...UPDATE, status: 'Status' },
  ArtifactUpdate: { ...UPDATE, artifact: 'Artifact', append: 'boolean', lastChunk: 'boolean' },
  ListTasksResponse: { tasks: 'Task[]', nextPageToken: 'text', pageSize: 'number', totalSize: 'number' },
  TaskPushNotificationConfig: {
    ...{ tenant: 'text', id: 'text', taskId: 'text', url: 'text', token: 'text', authentication: 'object' },
  },
  ListTaskPushNotificationConfigsResponse: { configs: 'TaskPushNotificationConfig[]', nextPageToken: 'text' },
}

const LEGACY: Proto = {
  ...EVENTS,
  Message: { ...MESSAGE, content: 'Part[]' },
  Part: { text: 'text', file: 'object', data: 'object', metadata: 'object' },
  StatusUpdate: { ...UPDATE, status: 'Status', final: 'boolean' },
  ArtifactUpdate: { ...UPDATE, artifact: 'Artifact', append: 'boolean', lastChunk: 'boolean' },
  TaskPushNotificationConfig: { name: 'text', pushNotificationConfig: 'object' },
}

const STATES = ['SUBMITTED', 'WORKING', 'COMPLETED', 'FAILED', 'INPUT_REQUIRED', 'REJECTED', 'AUTH_REQUIRED']
const SCALARS: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  time: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value),
  ROLE: (value) => value === 'ROLE_USER' || value === 'ROLE_AGENT',
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What `ParseDict` refuses in `value`, with its path. */
function protoProblems(proto: Proto, canceled: string, kind: string, value: unknown, path: string): string[] {
  if (kind.endsWith('[]')) {
    if (!Array.isArray(value)) return [`${path} is no list`]
    return value.flatMap((item, index) =>
      protoProblems(proto, canceled, kind.slice(0, -2), item, `${path}[${index}]`),
    )
  }
  if (kind === 'TASK_STATE') {
    return [...STATES, canceled].some((name) => value === `TASK_STATE_${name}`) ? [] : [`${path} is no state`]
  }
  const isScalar = SCALARS[kind]
  if (isScalar !== undefined) return isScalar(value) ? [] : [`${path} is no ${kind}`]
  const fields = proto[kind]
  if (fields === undefined || !isObject(value)) return [`${path} is no ${kind}`]
  return Object.entries(value).flatMap(([name, item]) => {
    const field = fields[name]
    return field === undefined
      ? [`${path}.${name} is no field of ${kind}`]
      : protoProblems(proto, canceled, field, item, `${path}.${name}`)
  })
}

const REQUIRED_OF_KINDS: Readonly<Record<string, readonly string[]>> = {
  task: ['id', 'contextId', 'status'],
  message: ['messageId', 'role', 'parts'],
  'status-update': ['taskId', 'contextId', 'status', 'final'],
  'artifact-update': ['taskId', 'contextId', 'artifact'],
}

/** What a pydantic model of 0.3 refuses. */
function kindProblems(value: unknown): string[] {
  if (!isObject(value)) return ['the result is no object']
  const required = REQUIRED_OF_KINDS[String(value['kind'])]
  if (required === undefined) return [`kind is ${String(value['kind'])}`]
  return required.filter((name) => value[name] === undefined).map((name) => `${name} is missing`)
}

/** What keeps the client from reading an answer, or an event of a stream. An empty list is good. */
export function problemsOf(parser: Parser, status: number, json: unknown): string[] {
  if (!isObject(json)) return ['the body is no object of JSON']
  if (parser.startsWith('rpc:')) return rpcProblems(parser.slice(4), status, json)
  const [, reason] = /^error (.+)$/.exec(parser) ?? []
  if (reason !== undefined) return reasonOf(json) === reason && status >= 400 ? [] : [`no ${reason}`]
  const [, expected] = /^status (\d+)$/.exec(parser) ?? []
  if (expected !== undefined) return status === Number(expected) ? [] : [`HTTP ${status}`]
  if (status >= 400) return [`HTTP ${status}`]
  if (parser === 'json') return []
  const isLegacy = parser.startsWith('0.3 ')
  return isLegacy
    ? protoProblems(LEGACY, 'CANCELLED', parser.slice(4), json, '')
    : protoProblems(MODERN, 'CANCELED', parser, json, '')
}

function rpcProblems(parser: string, status: number, json: Readonly<Record<string, unknown>>): string[] {
  // `raise_for_status` comes before the body is looked at.
  if (status >= 400) return [`HTTP ${status}`]
  const [, code] = /^error (-\d+)$/.exec(parser) ?? []
  const { error, result } = json
  if (code !== undefined) return isObject(error) && error['code'] === Number(code) ? [] : [`no ${code}`]
  if (error !== undefined) return [`an error: ${JSON.stringify(error)}`]
  if (parser === 'nothing') return result === null || isObject(result) ? [] : ['neither null nor {}']
  if (parser === 'kind') return kindProblems(result)
  if (parser === 'legacy push') {
    const isPush =
      isObject(result) && typeof result['taskId'] === 'string' && isObject(result['pushNotificationConfig'])
    return isPush ? [] : ['taskId or pushNotificationConfig is missing']
  }
  return protoProblems(MODERN, 'CANCELED', parser, result, '')
}

/** The reason in the first `ErrorInfo` of the details, as `_parse_rest_error` finds it. */
function reasonOf({ error }: Readonly<Record<string, unknown>>): unknown {
  const details: unknown = isObject(error) ? error['details'] : undefined
  const list: readonly unknown[] = Array.isArray(details) ? details : []
  const info = list
    .filter(isObject)
    .find((each) => each['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo')
  return info?.['reason']
}
