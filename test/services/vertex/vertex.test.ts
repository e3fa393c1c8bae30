import { RestTransport } from 'a2a-sdk-v0-3/client'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isInstalled, loadService, skipMissing, whenInstalled } from '../installed.js'
import { DISCONNECT } from '../stub-server.js'
import { adkEvent, startVertexStub, type VertexStub } from './vertex-stub.js'

const PACKAGES = ['@google-cloud/aiplatform', 'google-auth-library', 'google-gax']

type Call<T> = (request: object, options?: object) => Promise<[T]>
/** What is used of the official clients. */
interface Clients {
  readonly execution: {
    queryReasoningEngine: Call<{ output: unknown }>
    streamQueryReasoningEngine(request: object): AsyncIterable<unknown>
  }
  readonly engines: { getReasoningEngine: Call<{ name: string; displayName: string }> }
  readonly sessions: {
    createSession: Call<{ promise(): Promise<[{ name: string; userId: string }]> }>
    getSession: Call<{ name: string; userId: string }>
  }
}

interface GoogleError {
  parseHttpError(json: unknown): Error
}

let stub: VertexStub
beforeEach(async () => {
  stub = await startVertexStub()
})
afterEach(() => stub.stop())

whenInstalled(PACKAGES, 'the Vertex stub, as @google-cloud/aiplatform sees it over REST', () => {
  // It has 78 MB, which take their time to load.
  beforeAll(() => loadService('@google-cloud/aiplatform'), 60_000)

  it('answers a query with any JSON', async () => {
    const { execution } = await connect()
    stub.answer({ text: 'Hello', parts: [1, true, null] })
    const input = { fields: { message: { stringValue: 'Hi' } } }
    const [{ output }] = await execution.queryReasoningEngine({
      name: stub.name,
      classMethod: 'ask',
      input,
    })
    expect(fromValue(output)).toEqual({ text: 'Hello', parts: [1, true, null] })
    expect(stub.requests[0]).toMatchObject({
      method: 'POST',
      path: `/v1/${stub.name}:query`,
      body: { classMethod: 'ask', input: { message: 'Hi' } },
      headers: { authorization: `Bearer ${stub.token}`, 'content-type': 'application/json' },
    })
  })

  it('sees the request of a streamed query, whose answer the client cannot read over REST', async () => {
    const { execution } = await connect()
    const input = { fields: { message: { stringValue: 'Hi' } } }
    const stream = execution.streamQueryReasoningEngine({
      name: stub.name,
      classMethod: 'stream_query',
      input,
    })
    await expect(collect(stream)).rejects.toThrow(/must start with a '\['/)
    expect(stub.requests[0]).toMatchObject({
      method: 'POST',
      path: `/v1/${stub.name}:streamQuery`,
      body: { classMethod: 'stream_query', input: { message: 'Hi' } },
    })
  })

  it('gives the resource', async () => {
    const { engines } = await connect()
    const [engine] = await engines.getReasoningEngine({ name: stub.name })
    expect(engine).toMatchObject({ name: stub.name, displayName: 'agent' })
  })

  it('makes a session by an operation, and gives it', async () => {
    const { sessions } = await connect()
    const [operation] = await sessions.createSession({
      parent: stub.name,
      session: { userId: 'u' },
      sessionId: 's1',
    })
    const [session] = await operation.promise()
    expect(session).toMatchObject({ name: `${stub.name}/sessions/s1`, userId: 'u' })
    const [found] = await sessions.getSession({ name: session.name })
    expect(found).toMatchObject({ name: session.name, userId: 'u' })
    expect(stub.requests[0]).toMatchObject({ path: `/v1/${stub.name}/sessions`, body: { userId: 'u' } })
    expect(stub.requests[0]?.query.get('sessionId')).toBe('s1')
  })

  it('refuses as Google does', async () => {
    const { execution, engines } = await connect()
    await expect(engines.getReasoningEngine({ name: `${stub.name}0` })).rejects.toMatchObject({
      status: 404,
    })
    stub.refuseNext(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', { 'retry-after': '7' })
    const query = execution.queryReasoningEngine({ name: stub.name }, { retry: null })
    await expect(query).rejects.toMatchObject({ status: 429 })
  })

  it('writes errors that the client reads whole', async () => {
    const { GoogleError } = (await loadService<{ default: { GoogleError: GoogleError } }>('google-gax'))
      .default
    const refused = await fetch(`${stub.url}/v1/${stub.name}`)
    expect(refused.status).toBe(401)
    // The numbers are those of gRPC, which the client makes of `status`.
    expect(GoogleError.parseHttpError(await refused.json())).toMatchObject({
      code: 16,
      reason: 'CREDENTIALS_MISSING',
      domain: 'googleapis.com',
    })
    stub.refuseNext(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded')
    const limited = GoogleError.parseHttpError(await (await fetch(stub.url)).json())
    expect(limited).toMatchObject({ code: 8, message: 'Quota exceeded' })
  })
})

if (!isInstalled(...PACKAGES)) {
  it('the Vertex stub is proved by @google-cloud/aiplatform', (context) => skipMissing(context, ...PACKAGES))
}

describe('the Vertex stub over A2A, as @a2a-js/sdk 0.3 sees it', () => {
  it('gives a task that has ended', async () => {
    stub.a2a({ state: 'WORKING' }, { artifact: 'Hello' }, { state: 'COMPLETED', says: 'Done' })
    const task = await a2a().sendMessage({ message: userMessage(), configuration: { blocking: true } })
    expect(task).toMatchObject({
      kind: 'task',
      artifacts: [{ parts: [{ kind: 'text', text: 'Hello' }] }],
      status: { state: 'completed', message: { role: 'agent', parts: [{ text: 'Done' }] } },
    })
    expect(stub.requests[0]).toMatchObject({
      method: 'POST',
      path: `/v1beta1/${stub.name}/a2a/v1/message:send`,
      body: { message: { messageId: 'm1', role: 'ROLE_USER', content: [{ text: 'Hi' }] } },
    })
  })

  it('walks a task on with every GET, and cancels it', async () => {
    stub.a2a({ state: 'WORKING' }, { state: 'INPUT_REQUIRED', says: 'Which?' }, { state: 'COMPLETED' })
    const client = a2a()
    const task = await client.sendMessage({ message: userMessage() })
    if (task.kind !== 'task') throw new Error('No task')
    expect(task.status.state).toBe('submitted')
    const { id } = task
    expect((await client.getTask({ id })).status.state).toBe('working')
    expect((await client.getTask({ id })).status.state).toBe('input-required')
    expect((await client.cancelTask({ id })).status.state).toBe('canceled')
    await expect(client.cancelTask({ id })).rejects.toThrow()
    await expect(client.getTask({ id: 'unknown' })).rejects.toThrow()
  })

  it('streams a task', async () => {
    stub.a2a({ state: 'WORKING' }, { artifact: 'Hello' }, { state: 'COMPLETED' })
    const events = await collect(a2a().sendMessageStream({ message: userMessage() }))
    expect(events).toMatchObject([
      { kind: 'task', status: { state: 'submitted' } },
      { kind: 'status-update', status: { state: 'working' }, final: false },
      { kind: 'artifact-update', artifact: { parts: [{ text: 'Hello' }] } },
      { kind: 'status-update', status: { state: 'completed' }, final: true },
    ])
  })

  it('answers with a message that is no task', async () => {
    stub.a2a({ message: 'Hello' })
    expect(await a2a().sendMessage({ message: userMessage() })).toMatchObject({
      kind: 'message',
      role: 'agent',
      parts: [{ text: 'Hello' }],
    })
  })

  it('gives its card', async () => {
    const card = await a2a().getExtendedAgentCard()
    expect(card).toMatchObject({
      protocolVersion: '0.3.0',
      preferredTransport: 'HTTP+JSON',
      url: stub.a2aUrl,
    })
  })
})

describe('the Vertex stub', () => {
  it.each([
    ['lines', '?alt=sse', '{"a":1}\n{"b":2}\n'],
    ['joined', '?alt=sse', '{"a":1}{"b":2}'],
    ['sse', '?alt=sse', 'data: {"a":1}\n\ndata: {"b":2}\n\n'],
    ['sse', '', '{"a":1}\n{"b":2}\n'],
  ] as const)('writes the events of a stream as %s with %j', async (framing, query, text) => {
    stub.framing(framing)
    stub.stream({ a: 1 }, { b: 2 })
    expect(await (await post(`:streamQuery${query}`)).text()).toBe(text)
  })

  it('says what an ADK agent says, holds a stream, and cuts it', async () => {
    let proceed = (): void => {}
    stub.stream('Hel', new Promise<void>((resolve) => (proceed = resolve)), adkEvent('lo'), DISCONNECT)
    const { body } = await post(':streamQuery')
    if (!body) throw new Error('No body')
    const chunks = body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
    const { value = '' } = (await chunks.next()) as IteratorResult<string, string | undefined>
    expect(JSON.parse(value)).toMatchObject({ content: { parts: [{ text: 'Hel' }] } })
    proceed()
    await expect(collect({ [Symbol.asyncIterator]: () => chunks })).rejects.toThrow()
    expect(await stub.requests[0]?.abandoned).toBe(true)
  })

  it('keeps the sessions of an ADK agent', async () => {
    const ask = async (class_method: string, input: object): Promise<unknown> =>
      (await post(':query', { class_method, input })).json()
    const created = (await ask('async_create_session', { user_id: 'u' })) as { output: { id: string } }
    expect(created).toMatchObject({ output: { user_id: 'u', state: {}, events: [] } })
    const { id: session_id } = created.output
    expect(await ask('get_session', { user_id: 'u', session_id })).toMatchObject({
      output: { id: session_id },
    })
  })
})

function post(call: string, body: object = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${stub.token}`, 'content-type': 'application/json' }
  return fetch(`${stub.url}/v1/${stub.name}${call}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

function a2a(): RestTransport {
  const fetchImpl: typeof fetch = (url, init) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${stub.token}`)
    return fetch(url, { ...init, headers })
  }
  return new RestTransport({ endpoint: stub.a2aUrl, fetchImpl })
}

function userMessage() {
  const parts = [{ kind: 'text' as const, text: 'Hi' }]
  return { kind: 'message' as const, messageId: 'm1', role: 'user' as const, parts }
}

async function connect(token = stub.token): Promise<Clients> {
  const { v1 } = (
    await loadService<{ default: { v1: Record<string, new (options: object) => never> } }>(
      '@google-cloud/aiplatform',
    )
  ).default
  const { OAuth2Client } = await loadService<{ OAuth2Client: new () => { setCredentials(c: object): void } }>(
    'google-auth-library',
  )
  const authClient = new OAuth2Client()
  authClient.setCredentials({ access_token: token })
  const { hostname, port } = new URL(stub.url)
  const options = {
    fallback: 'rest',
    apiEndpoint: hostname,
    port: Number(port),
    protocol: 'http',
    authClient,
  }
  const client = (name: string): never => {
    const Client = v1[name]
    if (!Client) throw new Error(`No ${name}`)
    return new Client(options)
  }
  // Each reads megabytes of schemas, so only those that are asked for are made.
  return {
    get execution() {
      return client('ReasoningEngineExecutionServiceClient')
    },
    get engines() {
      return client('ReasoningEngineServiceClient')
    },
    get sessions() {
      return client('SessionServiceClient')
    },
  }
}

/** A `google.protobuf.Value` as plain JSON. */
function fromValue(value: unknown): unknown {
  const { kind, ...rest } = value as Record<string, unknown> & { kind?: string }
  const [[name, inner] = []] = kind === undefined ? Object.entries(rest) : [[kind, rest[kind]] as const]
  if (name === 'nullValue') return null
  if (name === 'listValue') return (inner as { values: unknown[] }).values.map(fromValue)
  if (name !== 'structValue') return inner
  const { fields } = inner as { fields: Record<string, unknown> }
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, fromValue(field)]))
}

async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of iterable) items.push(item)
  return items
}
