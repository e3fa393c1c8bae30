/**
 * Answers of the official Python SDK's server, by transport. They are written down from its source, at the tags v1.1.0 and
 * v0.3.26 of github.com/a2aproject/a2a-python. To record them again, read at a newer tag:
 *
 * - 1.x: `src/a2a/server/routes/{jsonrpc,rest}_dispatcher.py`, `utils/error_handlers.py`, and `agent_card_to_dict` of
 *   `server/request_handlers/response_helpers.py`,
 * - 0.3: `src/a2a/server/apps/jsonrpc/jsonrpc_app.py`, `server/request_handlers/rest_handler.py`, `utils/error_handlers.py`.
 *
 * sse-starlette ends lines with CRLF and sends comments as pings. `MessageToJson` of 0.3 prints JSON over several lines,
 * so that an event has several lines of data. Times have microseconds, in 0.3 with an offset. `$id` is the id of the
 * request, as JSON.
 */

export interface Answer {
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface PythonServer {
  readonly name: string
  readonly version: '1.0' | '0.3'
  readonly card: (url: string) => object
  /**
   * The code that the client has for a task that does not exist. Over HTTP+JSON, 0.3 answers with a status and a message
   * alone, as a wrong path would.
   */
  readonly notFound: 'TASK_NOT_FOUND' | 'EXTERNAL_SERVICE_ERROR'
  /** By the method of JSON-RPC, or by the method and path of HTTP. */
  readonly answers: Readonly<Record<string, Answer>>
}

const JSON_TYPE = { 'content-type': 'application/json' }
const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  ...{ 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
}
const PING = ': ping - 2026-06-12 10:00:15.000000+00:00\r\n\r\n'
export const TASK_ID = '0b8f6f0e-5b5e-4a0e-9a43-7a2a5ff1e0aa'
export const CONTEXT_ID = '7d2f1f43-5c4e-4b1c-8b0c-0d5a3e6a1c55'
const TIME = '2026-06-12T10:00:00.123456Z'
const LEGACY_TIME = '2026-06-12T10:00:00.123456+00:00'
const REQUESTED = '5f7c1d2e0a9b4c3d8e7f6a5b4c3d2e1f'

const ok = (body: unknown): Answer => ({ headers: JSON_TYPE, text: JSON.stringify(body) })
const failed = (status: number, body: unknown): Answer => ({ status, ...ok(body) })

/** `$id` stands outside of quotation marks, because ids may be numbers. */
function rpc(result: unknown): Answer {
  return { headers: JSON_TYPE, text: `{"result":${JSON.stringify(result)},"id":$id,"jsonrpc":"2.0"}` }
}

function rpcError(code: number, message: string, data?: unknown): Answer {
  const error = JSON.stringify({ code, message, ...(data !== undefined && { data }) })
  return { headers: JSON_TYPE, text: `{"error":${error},"id":$id,"jsonrpc":"2.0"}` }
}

/** Each event has its lines of data, and a ping stands between the first two. */
function sse(events: readonly string[]): Answer {
  const blocks = events.map((event) => `${event.replace(/^/gm, 'data: ').replace(/\n/g, '\r\n')}\r\n\r\n`)
  const [first = '', ...rest] = blocks
  return { headers: SSE_HEADERS, text: [first, PING, ...rest].join('') }
}

const NOT_FOUND = [
  {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    ...{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org', metadata: {} },
  },
]

const status = (state: string): object => ({ state: `TASK_STATE_${state}`, timestamp: TIME })
const ids = { contextId: CONTEXT_ID, taskId: TASK_ID }
const artifact = { artifactId: 'a1', name: 'result', parts: [{ text: 'Hello World' }] }
const task = (state = 'COMPLETED'): object => ({
  ...{ id: TASK_ID, contextId: CONTEXT_ID, status: status(state) },
  ...(state === 'COMPLETED' && { artifacts: [artifact] }),
  history: [{ messageId: REQUESTED, ...ids, role: 'ROLE_USER', parts: [{ text: 'hello' }] }],
})
const EVENTS = [
  { task: task('SUBMITTED') },
  { statusUpdate: { ...ids, status: status('WORKING') } },
  { artifactUpdate: { ...ids, artifact, lastChunk: true } },
  { statusUpdate: { ...ids, status: status('COMPLETED') } },
]
/** `always_print_fields_with_no_presence` writes every empty text and list, in all objects below. */
const LIST = {
  tasks: [
    {
      ...{ id: TASK_ID, contextId: CONTEXT_ID, status: status('COMPLETED'), artifacts: [] },
      history: [
        {
          ...{ messageId: REQUESTED, ...ids, role: 'ROLE_USER' },
          parts: [{ text: 'hello', filename: '', mediaType: '' }],
          ...{ extensions: [], referenceTaskIds: [] },
        },
      ],
    },
  ],
  ...{ nextPageToken: '', pageSize: 50, totalSize: 1 },
}
const CONFIG = { id: 'hook', taskId: TASK_ID, url: 'https://client.example/hook', token: 'secret' }

const SKILL = {
  id: 'hello_world',
  name: 'Hello',
  description: 'Says hello',
  tags: ['hello'],
  examples: ['hi'],
}
const COMMON = {
  ...{ name: 'Python', description: 'Says hello', version: '1.0.0', skills: [SKILL] },
  ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
}

/** With interfaces of both versions, the card also has the fields of 0.3. */
const modernCard =
  (binding: string) =>
  (url: string): object => ({
    ...COMMON,
    supportedInterfaces: [
      { url, protocolBinding: binding, protocolVersion: '1.0' },
      { url, protocolBinding: binding, protocolVersion: '0.3' },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    ...{ url, preferredTransport: binding, protocolVersion: '0.3', additionalInterfaces: [] },
  })

const legacyCard =
  (preferredTransport: string) =>
  (url: string): object => ({
    ...COMMON,
    capabilities: { streaming: true },
    ...{ url, preferredTransport, protocolVersion: '0.3.0' },
  })

const modernJsonRpc = {
  SendMessage: rpc({ task: task() }),
  // `json.dumps` writes a space after each colon.
  SendStreamingMessage: sse(
    EVENTS.map((event) => `{"result": ${JSON.stringify(event)}, "id": $id, "jsonrpc": "2.0"}`),
  ),
  [`GetTask ${TASK_ID}`]: rpc(task()),
  GetTask: rpcError(-32001, 'Task not found', NOT_FOUND),
  ListTasks: rpc(LIST),
  CancelTask: rpc(task('CANCELED')),
  CreateTaskPushNotificationConfig: rpc(CONFIG),
  DeleteTaskPushNotificationConfig: rpc(null),
}

const modernRest = {
  'POST /message:send': ok({ task: task() }),
  'POST /message:stream': sse(EVENTS.map((event) => JSON.stringify(event))),
  [`GET /tasks/${TASK_ID}`]: ok(task()),
  'GET /tasks/no-such-task': failed(404, {
    error: { code: 404, status: 'NOT_FOUND', message: 'Task not found', details: NOT_FOUND },
  }),
  'GET /tasks': ok(LIST),
  [`POST /tasks/${TASK_ID}:cancel`]: ok(task('CANCELED')),
  [`POST /tasks/${TASK_ID}/pushNotificationConfigs`]: ok(CONFIG),
  [`DELETE /tasks/${TASK_ID}/pushNotificationConfigs/hook`]: ok({}),
}

const legacyStatus = (state: string): object => ({ state, timestamp: LEGACY_TIME })
const legacyArtifact = { ...artifact, parts: [{ kind: 'text', text: 'Hello World' }] }
const legacyTask = (state = 'completed'): object => ({
  ...(state === 'completed' && { artifacts: [legacyArtifact] }),
  contextId: CONTEXT_ID,
  history: [
    {
      ...{ ...ids, kind: 'message', messageId: REQUESTED, role: 'user' },
      parts: [{ kind: 'text', text: 'hello' }],
    },
  ],
  ...{ id: TASK_ID, kind: 'task', status: legacyStatus(state) },
})
const LEGACY_EVENTS = [
  legacyTask('submitted'),
  { ...ids, final: false, kind: 'status-update', status: legacyStatus('working') },
  { ...ids, artifact: legacyArtifact, kind: 'artifact-update', lastChunk: true },
  { ...ids, final: true, kind: 'status-update', status: legacyStatus('completed') },
]

const legacyJsonRpc = {
  'message/send': rpc(legacyTask()),
  'message/stream': sse(
    LEGACY_EVENTS.map((event) => `{"id":$id,"jsonrpc":"2.0","result":${JSON.stringify(event)}}`),
  ),
  [`tasks/get ${TASK_ID}`]: rpc(legacyTask()),
  'tasks/get': rpcError(-32001, 'Task not found'),
  'tasks/cancel': rpc(legacyTask('canceled')),
}

/** ProtoJSON of 0.3: `content` in messages, and its spelling of a canceled task. */
const protoTask = (state = 'COMPLETED'): object => ({
  ...{ id: TASK_ID, contextId: CONTEXT_ID, status: status(state) },
  ...(state === 'COMPLETED' && { artifacts: [artifact] }),
  history: [{ messageId: REQUESTED, ...ids, role: 'ROLE_USER', content: [{ text: 'hello' }] }],
})
const PROTO_EVENTS = [
  { task: protoTask('SUBMITTED') },
  { statusUpdate: { taskId: TASK_ID, contextId: CONTEXT_ID, status: status('WORKING') } },
  { artifactUpdate: { ...ids, artifact, lastChunk: true } },
  { statusUpdate: { ...ids, status: status('COMPLETED'), final: true } },
]

const legacyRest = {
  'POST /v1/message:send': ok({ task: protoTask() }),
  'POST /v1/message:stream': sse(PROTO_EVENTS.map((event) => JSON.stringify(event, null, 2))),
  [`GET /v1/tasks/${TASK_ID}`]: ok(protoTask()),
  'GET /v1/tasks/no-such-task': failed(404, { message: 'Task not found' }),
  [`POST /v1/tasks/${TASK_ID}:cancel`]: ok(protoTask('CANCELLED')),
}

export const SERVERS: readonly PythonServer[] = [
  {
    ...{ name: 'Python 1.1.0, JSON-RPC', version: '1.0', notFound: 'TASK_NOT_FOUND' },
    ...{ card: modernCard('JSONRPC'), answers: modernJsonRpc },
  },
  {
    ...{ name: 'Python 1.1.0, HTTP+JSON', version: '1.0', notFound: 'TASK_NOT_FOUND' },
    ...{ card: modernCard('HTTP+JSON'), answers: modernRest },
  },
  {
    ...{ name: 'Python 0.3.26, JSON-RPC', version: '0.3', notFound: 'TASK_NOT_FOUND' },
    ...{ card: legacyCard('JSONRPC'), answers: legacyJsonRpc },
  },
  {
    ...{ name: 'Python 0.3.26, HTTP+JSON', version: '0.3', notFound: 'EXTERNAL_SERVICE_ERROR' },
    ...{ card: legacyCard('HTTP+JSON'), answers: legacyRest },
  },
]
