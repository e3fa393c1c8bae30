/**
 * What is asked of an agent over HTTP, and what it has to answer, on whatever runtime it is. One entry is one request.
 * Asserts by throwing.
 */

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

const IMMEDIATELY = { configuration: { returnImmediately: true } }

/**
 * They are asked in this order. Of an answer, what is named has to be there: texts, or what matches; `undefined` is what
 * must not be there; lists are whole. `events` is the data of a stream. `keep` names what later requests have as `$name`.
 * `meanwhile` is sent when the first event has come.
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
    request: rpc('SendStreamingMessage', say('count')),
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
    status: 400,
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
    request: post('/message:stream', say('count')),
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
      message: { ...MESSAGE_1_0, taskId: '$asked', parts: [{ text: 'Ada' }] },
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
    name: 'across requests: its end, heard by another',
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
    meanwhile: rpc('CancelTask', { id: '$waiting' }),
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
    request: rpc('message/stream', say03('count')),
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
    name: 'authentication: nobody',
    request: rpc('ListTasks', {}, { path: '/locked' }),
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="Locked"' },
    json: { id: null, error: { code: -32603 } },
  },
  {
    name: 'authentication: nobody, over HTTP+JSON',
    request: get('/locked/tasks'),
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="Locked"' },
    json: httpError(401, 'UNAUTHENTICATED'),
  },
  {
    name: 'authentication: somebody',
    request: post('/locked/message:send', say('hello'), ADA),
    json: { task: echoed },
    keep: { own: 'json.task.id' },
  },
  {
    name: "authentication: somebody's own task",
    request: get('/locked/tasks/$own', ADA),
    json: { id: '$own', ...echoed },
  },
  {
    name: "authentication: somebody else's task",
    request: get('/locked/tasks/$own', { authorization: 'Bearer bob' }),
    status: 404,
    json: httpError(404, 'NOT_FOUND'),
  },
]

/**
 * A talk with the agent at `base`: ask it all {@link EXCHANGES}, one after the other.
 *
 * @param ask goes to it by another way than HTTP.
 */
export function talkTo(base, ask = fetch) {
  const kept = {}
  const send = ({ method, path, headers, body }) => {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    return ask(
      new Request(base + path, {
        method,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(text !== undefined && { body: text }),
        signal: AbortSignal.timeout(10_000),
      }),
    )
  }
  return async (exchange) => {
    const { name, request, meanwhile, status = 200, headers, json, events, keep = {} } = fill(exchange, kept)
    try {
      const actual = await answerOf(await send(request), meanwhile && (() => send(meanwhile)))
      const wrong = difference(actual, { status, headers, json, events }, 'answer')
      if (wrong !== undefined) throw new Error(wrong)
      for (const [key, path] of Object.entries(keep)) {
        kept[key] = path.split('.').reduce((value, step) => value[step], actual)
      }
    } catch (error) {
      throw new Error(`${name}: ${error.message}`, { cause: error })
    }
  }
}

async function answerOf(response, meanwhile) {
  const headers = Object.fromEntries(response.headers)
  const isStream = headers['content-type'] === 'text/event-stream'
  const text = isStream ? await readStream(response, meanwhile) : await response.text()
  return {
    status: response.status,
    headers,
    ...(isStream ? { events: eventsIn(text) } : { json: text === '' ? undefined : JSON.parse(text) }),
  }
}

/** All of a stream. When its first event has come, it goes on while `meanwhile` is asked. */
async function readStream(response, meanwhile) {
  const decoder = new TextDecoder()
  let text = ''
  let asked
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true })
    if (/^data: .*\n\n/m.test(text)) asked ??= meanwhile?.()
  }
  await (await asked)?.text()
  return text
}

/** The data of events. Their ids have to rise. */
function eventsIn(text) {
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  if (ids.some((id, index) => id <= (ids[index - 1] ?? 0))) throw new Error(`The ids do not rise: ${ids}`)
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data))
}

/** `value`, with what was kept. */
function fill(value, kept) {
  if (typeof value === 'string') return value.replace(/\$(\w+)/g, (name, key) => kept[key] ?? name)
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return value
  if (Array.isArray(value)) return value.map((item) => fill(item, kept))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, kept)]))
}

/** Where `actual` is not what it should be. */
function difference(actual, expected, path) {
  if (expected instanceof RegExp) {
    if (typeof actual === 'string' && expected.test(actual)) return undefined
  } else if (typeof expected === 'object' && expected !== null) {
    const isList = Array.isArray(expected)
    if (typeof actual === 'object' && actual !== null && Array.isArray(actual) === isList) {
      // Of the length, too.
      const keys = isList ? [...expected.keys(), 'length'] : Object.keys(expected)
      for (const key of keys) {
        if (path === 'answer' && expected[key] === undefined) continue
        const wrong = difference(actual[key], expected[key], `${path}.${key}`)
        if (wrong !== undefined) return wrong
      }
      return undefined
    }
  } else if (actual === expected) return undefined
  const shown = expected instanceof RegExp ? String(expected) : JSON.stringify(expected)
  return `${path} should be ${shown}, is ${JSON.stringify(actual)}`
}
