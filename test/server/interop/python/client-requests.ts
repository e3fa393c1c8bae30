/**
 * Requests that the client of the official Python SDK sends, one list for each of its transports. They are written down
 * from its source, at the tags v1.1.0 and v0.3.26 of github.com/a2aproject/a2a-python. To record them again, read at a
 * newer tag:
 *
 * - `src/a2a/client/transports/{jsonrpc,rest,http_helpers}.py` for methods, paths, bodies and headers,
 * - `src/a2a/compat/v0_3/{jsonrpc,rest}_transport.py` for what 1.x sends to an agent of 0.3,
 * - `src/a2a/client/base_client.py` for the configuration that each message has.
 *
 * httpx adds `Accept`, `Accept-Encoding` and `User-Agent`; `json=` makes a body of `application/json`. `$name` stands for
 * an id that an earlier answer had.
 */
import type { Parser } from './parsers.js'

export interface Recorded {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** What the client makes of the answer: one object, or each event of a stream. */
  readonly parser: Parser
  readonly stream?: boolean
  /** The name under which later requests have the id of the task in the answer. */
  readonly keep?: string
}

export interface Line {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly requests: readonly Recorded[]
}

const HTTPX = { accept: '*/*', 'accept-encoding': 'gzip, deflate', 'user-agent': 'python-httpx/0.28.1' }
export const STREAM_HEADERS = { accept: 'text/event-stream', 'cache-control': 'no-store' }
const RPC_ID = '2b1b6b5c-3f1e-4a54-9f0d-6f1f6a2f4a10'
const WEBHOOK = 'https://client.example/hook'

const message = (text: string): object => ({
  messageId: '5f7c1d2e0a9b4c3d8e7f6a5b4c3d2e1f',
  role: 'ROLE_USER',
  parts: [{ text }],
})
const legacyMessage = (text: string): object => ({
  ...{ kind: 'message', messageId: '5f7c1d2e0a9b4c3d8e7f6a5b4c3d2e1f', role: 'user' },
  parts: [{ kind: 'text', text }],
})
/** `MessageToDict` of the proto of 0.3, whose field `content` is called `parts` elsewhere. */
const protoMessage = (text: string): object => ({
  messageId: '5f7c1d2e0a9b4c3d8e7f6a5b4c3d2e1f',
  role: 'ROLE_USER',
  content: [{ text }],
})

type Rest = Omit<Recorded, 'name' | 'method' | 'path' | 'body'>

function rpc(method: string, params: object, rest: Rest): Recorded {
  const body = { jsonrpc: '2.0', method, params, id: RPC_ID }
  return { name: method, method: 'POST', path: '', body, ...rest }
}

function http(at: string, body: unknown, rest: Rest): Recorded {
  const [method = '', path = ''] = at.split(' ')
  if (method !== 'GET' && method !== 'POST' && method !== 'DELETE') throw new Error(method)
  return { name: at, method, path, ...(body !== undefined && { body }), ...rest }
}

/** `send_message` sets `return_immediately`, which makes a configuration even where it is false. */
const CONFIGURATION = {}
/** Of 0.3: what the client's own configuration has by default. */
const LEGACY_CONFIGURATION = { acceptedOutputModes: [], blocking: true }

const modernJsonRpc: readonly Recorded[] = [
  rpc(
    'SendMessage',
    { message: message('hello'), configuration: CONFIGURATION },
    { parser: 'rpc:SendMessageResponse', keep: 'task' },
  ),
  rpc(
    'SendStreamingMessage',
    { message: message('stream'), configuration: CONFIGURATION },
    { parser: 'rpc:StreamResponse', stream: true },
  ),
  rpc('GetTask', { id: '$task', historyLength: 1 }, { parser: 'rpc:Task' }),
  rpc('ListTasks', { pageSize: 10, includeArtifacts: true }, { parser: 'rpc:ListTasksResponse' }),
  rpc(
    'SendMessage',
    { message: message('wait'), configuration: { returnImmediately: true } },
    { parser: 'rpc:SendMessageResponse', keep: 'waiting' },
  ),
  rpc(
    'CreateTaskPushNotificationConfig',
    { id: 'hook', taskId: '$waiting', url: WEBHOOK, token: 'secret' },
    { parser: 'rpc:TaskPushNotificationConfig' },
  ),
  rpc(
    'GetTaskPushNotificationConfig',
    { id: 'hook', taskId: '$waiting' },
    { parser: 'rpc:TaskPushNotificationConfig' },
  ),
  rpc(
    'ListTaskPushNotificationConfigs',
    { taskId: '$waiting' },
    { parser: 'rpc:ListTaskPushNotificationConfigsResponse' },
  ),
  rpc('DeleteTaskPushNotificationConfig', { id: 'hook', taskId: '$waiting' }, { parser: 'rpc:nothing' }),
  rpc('CancelTask', { id: '$waiting' }, { parser: 'rpc:Task' }),
  rpc('GetTask', { id: 'no-such-task' }, { parser: 'rpc:error -32001' }),
  rpc('SubscribeToTask', { id: '$task' }, { parser: 'rpc:error -32004' }),
]

const modernRest: readonly Recorded[] = [
  http(
    'POST /message:send',
    { message: message('hello'), configuration: CONFIGURATION },
    { parser: 'SendMessageResponse', keep: 'task' },
  ),
  http(
    'POST /message:stream',
    { message: message('stream'), configuration: CONFIGURATION },
    { parser: 'StreamResponse', stream: true },
  ),
  http('GET /tasks/$task?historyLength=1', undefined, { parser: 'Task' }),
  http('GET /tasks?pageSize=10&includeArtifacts=true', undefined, { parser: 'ListTasksResponse' }),
  http(
    'POST /message:send',
    { message: message('wait'), configuration: { returnImmediately: true } },
    { parser: 'SendMessageResponse', keep: 'waiting' },
  ),
  http(
    'POST /tasks/$waiting/pushNotificationConfigs',
    { id: 'hook', taskId: '$waiting', url: WEBHOOK, token: 'secret' },
    { parser: 'TaskPushNotificationConfig' },
  ),
  http('GET /tasks/$waiting/pushNotificationConfigs/hook', undefined, {
    parser: 'TaskPushNotificationConfig',
  }),
  http('GET /tasks/$waiting/pushNotificationConfigs', undefined, {
    parser: 'ListTaskPushNotificationConfigsResponse',
  }),
  // `response.json()` reads this answer too: it needs a body.
  http('DELETE /tasks/$waiting/pushNotificationConfigs/hook', undefined, { parser: 'json' }),
  http('POST /tasks/$waiting:cancel', { id: '$waiting' }, { parser: 'Task' }),
  http('GET /tasks/no-such-task', undefined, { parser: 'error TASK_NOT_FOUND' }),
  http('POST /tasks/$task:subscribe', undefined, { parser: 'error UNSUPPORTED_OPERATION' }),
]

const legacyJsonRpc: readonly Recorded[] = [
  rpc(
    'message/send',
    { configuration: LEGACY_CONFIGURATION, message: legacyMessage('hello') },
    { parser: 'rpc:kind', keep: 'task' },
  ),
  rpc(
    'message/stream',
    { configuration: LEGACY_CONFIGURATION, message: legacyMessage('stream') },
    { parser: 'rpc:kind', stream: true },
  ),
  rpc('tasks/get', { id: '$task', historyLength: 1 }, { parser: 'rpc:kind' }),
  rpc(
    'message/send',
    { configuration: { acceptedOutputModes: [], blocking: false }, message: legacyMessage('wait') },
    { parser: 'rpc:kind', keep: 'waiting' },
  ),
  rpc(
    'tasks/pushNotificationConfig/set',
    { pushNotificationConfig: { id: 'hook', token: 'secret', url: WEBHOOK }, taskId: '$waiting' },
    { parser: 'rpc:legacy push' },
  ),
  rpc(
    'tasks/pushNotificationConfig/get',
    { id: '$waiting', pushNotificationConfigId: 'hook' },
    { parser: 'rpc:legacy push' },
  ),
  rpc('tasks/cancel', { id: '$waiting' }, { parser: 'rpc:kind' }),
  rpc('tasks/get', { id: 'no-such-task' }, { parser: 'rpc:error -32001' }),
]

/** The whole request of the proto, where the proto's path has its `config` as the body. */
const legacyPush = {
  parent: 'tasks/$waiting',
  configId: 'hook',
  config: {
    name: 'tasks/$waiting/pushNotificationConfigs/hook',
    pushNotificationConfig: { id: 'hook', url: WEBHOOK, token: 'secret' },
  },
}

const legacyRest: readonly Recorded[] = [
  http(
    'POST /v1/message:send',
    { message: protoMessage('hello'), configuration: { blocking: true } },
    { parser: '0.3 SendMessageResponse', keep: 'task' },
  ),
  http(
    'POST /v1/message:stream',
    { message: protoMessage('stream'), configuration: { blocking: true } },
    { parser: '0.3 StreamResponse', stream: true },
  ),
  http('GET /v1/tasks/$task?historyLength=1', undefined, { parser: '0.3 Task' }),
  http(
    'POST /v1/message:send',
    { message: protoMessage('wait'), configuration: {} },
    { parser: '0.3 SendMessageResponse', keep: 'waiting' },
  ),
  http('POST /v1/tasks/$waiting/pushNotificationConfigs', legacyPush, {
    parser: '0.3 TaskPushNotificationConfig',
  }),
  http('GET /v1/tasks/$waiting/pushNotificationConfigs/hook', undefined, {
    parser: '0.3 TaskPushNotificationConfig',
  }),
  http('POST /v1/tasks/$waiting:cancel', { name: 'tasks/$waiting' }, { parser: '0.3 Task' }),
  http('GET /v1/tasks/no-such-task', undefined, { parser: 'status 404' }),
]

/** A client of 0.3 names no version. Without `blocking`, ProtoJSON of 0.3 says false. */
export const LINES: readonly Line[] = [
  { name: 'Python 1.1.0, JSON-RPC', headers: { ...HTTPX, 'a2a-version': '1.0' }, requests: modernJsonRpc },
  { name: 'Python 1.1.0, HTTP+JSON', headers: { ...HTTPX, 'a2a-version': '1.0' }, requests: modernRest },
  { name: 'Python 0.3.26, JSON-RPC', headers: HTTPX, requests: legacyJsonRpc },
  { name: 'Python 0.3.26, HTTP+JSON', headers: HTTPX, requests: legacyRest },
  {
    name: 'Python 1.1.0 as 0.3, JSON-RPC',
    headers: { ...HTTPX, 'a2a-version': '0.3' },
    requests: legacyJsonRpc,
  },
]
