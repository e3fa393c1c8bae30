/**
 * Requests to an agent over HTTP with their expected responses, for any runtime. One entry is one request.
 * `talk.mjs` asks it.
 */

export { talkTo } from './talk.mjs'

const MESSAGE_1_0 = { messageId: 'm', role: 'ROLE_USER' }
const MESSAGE_0_3 = { kind: 'message', messageId: 'm', role: 'user' }
const STREAM = { 'content-type': 'text/event-stream', 'cache-control': /no-cache/ }
const ADA = { authorization: 'Bearer ada' }

const say = (text, more) => ({ message: { ...MESSAGE_1_0, parts: [{ text }] }, ...more })
const say03 = (text) => ({ message: { ...MESSAGE_0_3, parts: [{ kind: 'text', text }] } })
const get = (path, headers) => ({ method: 'GET', path, headers })
const post = (path, body, headers) => ({ method: 'POST', path, body, headers })
const rpc = (method, params, { path = '/', headers } = {}) =>
  post(path, { jsonrpc: '2.0', id: 1, method, params }, headers)

const result = (value) => ({ jsonrpc: '2.0', id: 1, result: value })
const error = (code) => ({ jsonrpc: '2.0', id: 1, error: { code, message: /./ } })
const httpError = (code, status) => ({ error: { code, status, message: /./ } })
const at = (state) => ({ status: { state: `TASK_STATE_${state}` } })
const saying = (text) => ({ parts: [{ text }] })
const echoed = { ...at('COMPLETED'), artifacts: [saying('You said: hello')] }
const statusUpdate = (state) => ({ statusUpdate: { taskId: /./, contextId: /./, ...at(state) } })
const artifactUpdate = (text) => ({ artifactUpdate: { artifact: saying(text) } })

const EVENTS = [
  { task: at('SUBMITTED') },
  statusUpdate('WORKING'),
  artifactUpdate('one '),
  artifactUpdate('two '),
  artifactUpdate('three'),
  statusUpdate('COMPLETED'),
]

/** 0.1 and KAOS. */
const typed = (text) => ({ message: { role: 'user', parts: [{ type: 'text', text }] } })
const of01 = (id, more) => ({ id, kind: undefined, ...more })

const IMMEDIATELY = { configuration: { returnImmediately: true } }

/**
 * They are asked in this order. Of an answer, what is named has to be there: texts, or what matches; `undefined` is what
 * must not be there; lists are whole. `events` is the data of a stream. `keep` names what later requests have as `$name`.
 * `duringStream` is sent when the first event has come.
 */
export const EXCHANGES = [
  {
    name: 'the card',
    request: get('/.well-known/agent-card.json'),
    headers: { 'content-type': /^application\/json/, etag: /^"\w+"$/, 'last-modified': / 2\d{3} / },
    json: { name: 'Echo', protocolVersion: '0.3.0', capabilities: { streaming: true } },
    keep: { etag: 'headers.etag' },
  },
  {
    name: 'the card that the client has',
    request: get('/.well-known/agent-card.json', { 'if-none-match': '$etag' }),
    status: 304,
  },
  {
    name: 'the card by another verb',
    request: post('/.well-known/agent-card.json', {}),
    status: 405,
    headers: { allow: 'GET, HEAD' },
  },

  {
    name: 'JSON-RPC 1.0: SendMessage',
    request: rpc('SendMessage', say('hello')),
    headers: { 'content-type': 'application/json' },
    json: result({ task: echoed }),
    keep: { task: 'json.result.task.id' },
  },
  {
    name: 'JSON-RPC 1.0: SendMessage, answered with a message',
    request: rpc('SendMessage', say('reply')),
    json: result({ task: undefined, message: { role: 'ROLE_AGENT', ...saying('Hello') } }),
  },
  {
    name: 'JSON-RPC 1.0: SendMessage to an agent that throws',
    request: rpc('SendMessage', say('fail')),
    json: result({ task: { status: { state: 'TASK_STATE_FAILED', message: saying(/^(?!.*secret)/) } } }),
  },
  {
    name: 'JSON-RPC 1.0: SendStreamingMessage',
    request: rpc('SendStreamingMessage', say('stream')),
    headers: STREAM,
    events: EVENTS.map(result),
  },
  {
    name: 'JSON-RPC 1.0: GetTask',
    request: rpc('GetTask', { id: '$task' }),
    json: result({ id: '$task', ...echoed }),
  },
  {
    name: 'JSON-RPC 1.0: GetTask of none',
    request: rpc('GetTask', { id: 'none' }),
    json: error(-32001),
  },
  {
    name: 'JSON-RPC 1.0: ListTasks',
    request: rpc('ListTasks', { pageSize: 1, status: 'TASK_STATE_FAILED' }),
    json: result({ tasks: [at('FAILED')], totalSize: 1, nextPageToken: '' }),
  },
  {
    name: 'JSON-RPC 1.0: a method that there is none of',
    request: rpc('Dance', {}),
    json: error(-32601),
  },
  {
    name: 'JSON-RPC: no JSON',
    request: post('/', '{'),
    json: { jsonrpc: '2.0', id: null, error: { code: -32700 } },
  },
  {
    name: 'JSON-RPC: a body of another type',
    request: post('/', '{}', { 'content-type': 'text/plain' }),
    status: 400,
    json: { id: null, error: { code: -32005 } },
  },
  {
    name: 'JSON-RPC: a version that is not spoken',
    request: rpc('GetTask', { id: '$task' }, { headers: { 'a2a-version': '9.9' } }),
    json: error(-32009),
  },

  {
    name: 'HTTP+JSON 1.0: message:send',
    request: post('/message:send', say('hello')),
    headers: { 'content-type': 'application/a2a+json' },
    json: { task: echoed },
  },
  {
    name: 'HTTP+JSON 1.0: message:stream',
    request: post('/message:stream', say('stream')),
    headers: STREAM,
    events: EVENTS,
    keep: { counted: 'events.0.task.id' },
  },
  {
    name: 'HTTP+JSON 1.0: a stream that is taken up again',
    request: get('/tasks/$counted:subscribe', { 'last-event-id': '4' }),
    headers: STREAM,
    events: EVENTS.slice(3),
  },
  {
    name: 'HTTP+JSON 1.0: a stream that was read to its end',
    request: get('/tasks/$counted:subscribe', { 'last-event-id': '7' }),
    status: 400,
    json: httpError(400, 'FAILED_PRECONDITION'),
  },
  {
    name: 'HTTP+JSON 1.0: tasks/{id}',
    request: get('/tasks/$task'),
    json: { id: '$task', ...echoed },
  },
  {
    name: 'HTTP+JSON 1.0: tasks/{id} of none',
    request: get('/tasks/none'),
    status: 404,
    json: httpError(404, 'NOT_FOUND'),
  },
  {
    name: 'HTTP+JSON 1.0: a path that there is none of',
    request: get('/dance'),
    status: 404,
    json: httpError(404, 'NOT_FOUND'),
  },
  {
    name: 'HTTP+JSON 1.0: a path by another verb',
    request: get('/message:send'),
    status: 405,
    headers: { allow: 'POST' },
  },

  {
    name: 'across requests: a question',
    request: post('/message:send', say('ask')),
    json: { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED', message: saying('What is your name?') } } },
    keep: { asked: 'json.task.id' },
  },
  {
    name: 'across requests: its answer, which the run waits for',
    request: post('/message:send', {
      message: { ...MESSAGE_1_0, messageId: 'answer', taskId: '$asked', parts: [{ text: 'Ada' }] },
    }),
    json: { task: { id: '$asked', ...at('COMPLETED'), artifacts: [saying('Hello Ada')] } },
  },
  {
    name: 'across requests: a task that goes on when it has been answered',
    request: post('/message:send', say('later', IMMEDIATELY)),
    json: { task: at('WORKING') },
    keep: { later: 'json.task.id' },
  },
  {
    name: 'across requests: its end, received by another',
    request: post('/tasks/$later:subscribe', undefined, { 'last-event-id': '3' }),
    events: [artifactUpdate('It is done'), statusUpdate('COMPLETED')],
  },
  {
    name: 'across requests: a task that waits',
    request: post('/message:send', say('wait', IMMEDIATELY)),
    json: { task: at('WORKING') },
    keep: { waiting: 'json.task.id' },
  },
  {
    name: 'across requests: who listens while another cancels',
    request: rpc('SubscribeToTask', { id: '$waiting' }),
    headers: STREAM,
    duringStream: rpc('CancelTask', { id: '$waiting' }),
    events: [{ task: { id: '$waiting', ...at('WORKING') } }, statusUpdate('CANCELED')].map(result),
  },
  {
    name: 'JSON-RPC 1.0: CancelTask, of one that is canceled',
    request: rpc('CancelTask', { id: '$waiting' }),
    json: result({ id: '$waiting', ...at('CANCELED') }),
  },
  {
    name: 'JSON-RPC 1.0: CancelTask, of one that has ended',
    request: rpc('CancelTask', { id: '$task' }),
    json: error(-32002),
  },

  {
    name: 'JSON-RPC 0.3: message/send',
    request: rpc('message/send', say03('hello')),
    json: result({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'You said: hello' }] }],
    }),
  },
  {
    name: 'JSON-RPC 0.3: message/stream',
    request: rpc('message/stream', say03('stream')),
    headers: STREAM,
    events: [
      { kind: 'task', status: { state: 'submitted' } },
      { kind: 'status-update', status: { state: 'working' }, final: false },
      { kind: 'artifact-update', artifact: saying('one ') },
      { kind: 'artifact-update', artifact: saying('two ') },
      { kind: 'artifact-update', artifact: saying('three') },
      { kind: 'status-update', status: { state: 'completed' }, final: true },
    ].map(result),
  },
  {
    name: 'JSON-RPC 0.3: tasks/get',
    request: rpc('tasks/get', { id: '$task' }),
    json: result({ kind: 'task', id: '$task', status: { state: 'completed' } }),
  },

  {
    name: 'JSON-RPC 0.1: tasks/send',
    request: rpc('tasks/send', { id: 'task-0.1', sessionId: 'session', ...typed('hello') }),
    headers: { 'content-type': 'application/json' },
    json: result(
      of01('task-0.1', {
        sessionId: 'session',
        status: { state: 'completed' },
        artifacts: [{ index: 0, parts: [{ type: 'text', text: 'You said: hello' }] }],
        history: undefined,
      }),
    ),
  },
  {
    name: 'JSON-RPC 0.1: tasks/send to a task that has ended',
    request: rpc('tasks/send', { id: 'task-0.1', ...typed('hello') }),
    json: error(-32009),
  },
  {
    name: 'JSON-RPC 0.1: tasks/get, which does not say so',
    request: rpc('tasks/get', { id: 'task-0.1', historyLength: 1 }),
    json: result(of01('task-0.1', { history: [{ role: 'user' }] })),
  },
  {
    name: 'JSON-RPC 0.1: tasks/sendSubscribe',
    request: rpc('tasks/sendSubscribe', { id: 'count-0.1', ...typed('stream') }),
    headers: STREAM,
    events: [
      { status: { state: 'submitted' }, final: false },
      { status: { state: 'working' }, final: false },
      { artifact: { index: 0, append: false, ...saying('one ') } },
      { artifact: { index: 0, append: true, ...saying('two ') } },
      { artifact: { index: 0, append: true, ...saying('three') } },
      { status: { state: 'completed' }, final: true },
    ].map((event) => result(of01('count-0.1', event))),
  },
  {
    name: 'JSON-RPC 0.1: an error where a stream was asked for',
    request: rpc('tasks/sendSubscribe', { id: 'task-0.1', ...typed('stream') }),
    headers: STREAM,
    events: [error(-32009)],
  },

  {
    name: 'KAOS: SendMessage',
    request: rpc('SendMessage', { ...typed('hello'), contextId: 'session' }),
    json: result({
      sessionId: 'session',
      status: { state: 'completed', message: 'Done' },
      history: [{ role: 'user' }, { role: 'agent' }],
      output: 'You said: hello',
    }),
    keep: { kaos: 'json.result.id' },
  },
  {
    name: 'KAOS: GetTask, which does not say so',
    request: rpc('GetTask', { id: '$kaos' }),
    json: result({ id: '$kaos', status: { state: 'completed' }, output: 'You said: hello' }),
  },
  {
    name: 'KAOS: a message without text, which HTTP says 200 to',
    request: rpc('tasks/send', { message: { role: 'user', parts: [{ type: 'file' }] } }),
    json: { jsonrpc: '2.0', id: 1, error: { code: -32602, message: /text/, data: null } },
  },

  {
    name: 'corvid-agent: tasks/send, answered at once',
    request: post('/a2a/tasks/send', { params: { message: 'later', skill: 'any' } }),
    headers: { 'content-type': 'application/json' },
    json: { state: 'working', messages: [{ role: 'user', parts: [{ type: 'text', text: 'later' }] }] },
    keep: { corvid: 'json.id' },
  },
  {
    name: 'corvid-agent: its end, received by another',
    request: post('/tasks/$corvid:subscribe', undefined, { 'last-event-id': '3' }),
    events: [artifactUpdate('It is done'), statusUpdate('COMPLETED')],
  },
  {
    name: 'corvid-agent: tasks/{id}',
    request: get('/a2a/tasks/$corvid'),
    json: {
      id: '$corvid',
      state: 'completed',
      messages: [{ role: 'user' }, { role: 'agent', parts: [{ type: 'text', text: 'It is done' }] }],
    },
  },
  {
    name: 'corvid-agent: tasks/{id} of none',
    request: get('/a2a/tasks/none'),
    status: 404,
    json: { error: 'Task not found' },
  },
  {
    name: 'corvid-agent: no message',
    request: post('/a2a/tasks/send', {}),
    status: 400,
    json: { error: 'message is required' },
  },

  {
    name: 'LiteLLM-RS: task_send',
    request: rpc('task_send', { id: 'task-rs', input: { instruction: 'hello' } }),
    json: result({
      id: 'task-rs',
      state: 'completed',
      output: { response: 'You said: hello', artifacts: [] },
      metadata: { agent_id: 'default', tags: [] },
    }),
  },
  {
    name: 'LiteLLM-RS: task_get',
    request: rpc('task_get', { task_id: 'task-rs' }),
    json: result({ id: 'task-rs', state: 'completed', input: { instruction: 'hello' } }),
  },
  {
    name: 'LiteLLM-RS: task_cancel, of one that has ended',
    request: rpc('task_cancel', { task_id: 'task-rs' }),
    json: error(-32602),
  },
  {
    name: 'LiteLLM-RS: task_send_subscribe',
    request: rpc('task_send_subscribe', { id: 'count-rs', input: { instruction: 'stream' } }),
    headers: STREAM,
    events: [
      { state: 'pending' },
      { state: 'running' },
      { state: 'running', partial_output: { response: 'one ' } },
      { state: 'running', partial_output: { response: 'two ' } },
      { state: 'running', partial_output: { response: 'three' } },
      { state: 'completed' },
    ].map((update) => result({ task_id: 'count-rs', ...update })),
  },
  {
    name: 'LiteLLM-RS: ping',
    request: rpc('ping'),
    json: result({ status: 'online' }),
  },

  {
    name: 'authentication: none',
    request: rpc('ListTasks', {}, { path: '/locked' }),
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="Locked"' },
    json: { id: null, error: { code: -32603 } },
  },
  {
    name: 'authentication: none, over HTTP+JSON',
    request: get('/locked/tasks'),
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="Locked"' },
    json: httpError(401, 'UNAUTHENTICATED'),
  },
  {
    name: 'authentication: a user',
    request: post('/locked/message:send', say('hello'), ADA),
    json: { task: echoed },
    keep: { own: 'json.task.id' },
  },
  {
    name: "authentication: the user's own task",
    request: get('/locked/tasks/$own', ADA),
    json: { id: '$own', ...echoed },
  },
  {
    name: "authentication: another user's task",
    request: get('/locked/tasks/$own', { authorization: 'Bearer bob' }),
    status: 404,
    json: httpError(404, 'NOT_FOUND'),
  },
]
