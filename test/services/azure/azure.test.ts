import { afterEach, beforeEach, expect, it } from 'vitest'
import { isInstalled, loadService, skipMissing, whenInstalled } from '../installed.js'
import { startAzureStub, type AzureStub } from './azure-stub.js'

const PACKAGES = ['@azure/ai-agents', '@azure/ai-projects', 'openai']

interface Run {
  readonly id: string
  readonly threadId: string
  readonly status: string
}
type Stream = AsyncIterable<{ readonly event: string; readonly data: unknown }>
type Streamable<T> = PromiseLike<T> & { stream(): Promise<Stream> }
/** What is used of `@azure/ai-agents`. */
interface Agents {
  readonly threads: { create(): Promise<{ id: string }> }
  readonly messages: {
    create(threadId: string, role: string, content: string): Promise<object>
    list(threadId: string, options: object): AsyncIterable<object>
  }
  readonly runs: {
    create(threadId: string, assistantId: string, options?: object): Streamable<Run>
    get(threadId: string, runId: string): Promise<Run>
    cancel(threadId: string, runId: string): Promise<Run>
    createThreadAndRun(assistantId: string, options: object): Streamable<Run>
    submitToolOutputs(threadId: string, runId: string, outputs: object[]): Streamable<Run>
  }
  getAgent(assistantId: string): Promise<object>
}
interface Reply {
  readonly id: string
  readonly status: string
  readonly output: readonly object[]
  readonly output_text: string
}
/** What is used of `openai`, as `@azure/ai-projects` gives it. */
interface OpenAI {
  readonly baseURL: string
  readonly responses: {
    create(body: object, options?: object): Promise<Reply & AsyncIterable<{ type: string }>>
    stream(body: object): AsyncIterable<{ type: string }> & { finalResponse(): Promise<Reply> }
    retrieve(id: string): Promise<Reply>
    cancel(id: string): Promise<Reply>
  }
  readonly conversations: {
    create(body?: object): Promise<{ id: string }>
    retrieve(id: string): Promise<object>
  }
}

const CALL = { id: 'call_1', name: 'lookUp', arguments: '{"city":"Bern"}' }

let stub: AzureStub
beforeEach(async () => {
  stub = await startAzureStub()
})
afterEach(() => stub.stop())

whenInstalled(PACKAGES, 'the Azure stub, as @azure/ai-agents sees it', () => {
  it('completes a run, one status with every GET, and lists what the agent said', async () => {
    stub.script('in_progress', { text: 'Hello, ' }, { text: 'you' }, 'completed')
    const agents = await connect()
    const { id: threadId } = await agents.threads.create()
    await agents.messages.create(threadId, 'user', 'Hi')
    const run = await agents.runs.create(threadId, stub.assistantId)
    expect(run).toMatchObject({ threadId, status: 'queued', assistantId: stub.assistantId, lastError: null })
    const { runs } = agents
    expect((await runs.get(threadId, run.id)).status).toBe('in_progress')
    expect((await runs.get(threadId, run.id)).status).toBe('completed')
    expect((await runs.get(threadId, run.id)).status).toBe('completed')
    expect(await collect(agents.messages.list(threadId, { order: 'asc' }))).toMatchObject([
      { role: 'user', content: [{ type: 'text', text: { value: 'Hi', annotations: [] } }] },
      { role: 'assistant', runId: run.id, status: 'completed', content: [{ text: { value: 'Hello, you' } }] },
    ])
    expect(await collect(agents.messages.list(threadId, { runId: run.id }))).toHaveLength(1)
    const calls = stub.requests.map(({ method, path, query, body }) => [method, path, query.toString(), body])
    const threads = '/api/projects/project/threads'
    expect(calls.slice(0, 4)).toEqual([
      ['POST', threads, 'api-version=v1', {}],
      ['POST', `${threads}/${threadId}/messages`, 'api-version=v1', { role: 'user', content: 'Hi' }],
      ['POST', `${threads}/${threadId}/runs`, 'api-version=v1', { assistant_id: stub.assistantId }],
      ['GET', `${threads}/${threadId}/runs/${run.id}`, 'api-version=v1', undefined],
    ])
    expect(stub.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${stub.token}` })
  })

  it('asks for tools, takes their outputs, and continues', async () => {
    stub.script({ calls: [CALL] }, 'in_progress', 'completed')
    const { agents, run, get } = await begin()
    const { id, name, arguments: text } = CALL
    const toolCalls = [{ type: 'function', id, function: { name, arguments: text } }]
    const asked = { status: 'requires_action', requiredAction: { submitToolOutputs: { toolCalls } } }
    expect(await get()).toMatchObject(asked)
    expect(await get()).toMatchObject(asked)
    const outputs = [{ toolCallId: id, output: 'sunny' }]
    expect(await agents.runs.submitToolOutputs(run.threadId, run.id, outputs)).toMatchObject({
      status: 'queued',
    })
    expect(stub.requests.at(-1)?.body).toEqual({
      tool_outputs: [{ tool_call_id: id, output: 'sunny' }],
      stream: false,
    })
    expect(await get()).toMatchObject({ status: 'in_progress' })
    expect(await get()).toMatchObject({ status: 'completed' })
  })

  it.each([
    [{ failed: { code: 'rate_limit_exceeded', message: 'Slow down' } }, { status: 'failed' }],
    ['expired' as const, { status: 'expired' }],
    [{ incomplete: 'max_completion_tokens' }, { incompleteDetails: { reason: 'max_completion_tokens' } }],
    [{ status: 'napping' }, { status: 'napping' }],
  ])('ends a run with %j', async (step, expected) => {
    stub.script(step)
    const { get } = await begin()
    expect(await get()).toMatchObject(expected)
    if (typeof step === 'object' && 'failed' in step)
      expect(await get()).toMatchObject({ lastError: step.failed })
  })

  it('cancels by way of cancelling', async () => {
    stub.script(new Promise(() => {}))
    const { agents, run, get } = await begin()
    expect(await get()).toMatchObject({ status: 'queued' })
    expect((await agents.runs.cancel(run.threadId, run.id)).status).toBe('cancelling')
    expect((await get()).status).toBe('cancelled')
    await expect(agents.runs.cancel(run.threadId, run.id)).rejects.toMatchObject({ statusCode: 400 })
  })

  it('streams a run', async () => {
    stub.script('in_progress', { text: 'Hel' }, { text: 'lo' }, 'completed')
    const agents = await connect()
    const { id } = await agents.threads.create()
    const events = await collect(await agents.runs.create(id, stub.assistantId).stream())
    expect(events.map(({ event }) => event)).toEqual([
      'thread.run.created',
      'thread.run.queued',
      'thread.run.in_progress',
      'thread.message.created',
      'thread.message.in_progress',
      'thread.message.delta',
      'thread.message.delta',
      'thread.message.completed',
      'thread.run.completed',
      'done',
    ])
    expect(events[5]?.data).toMatchObject({
      delta: { content: [{ index: 0, type: 'text', text: { value: 'Hel' } }] },
    })
    expect(events[7]?.data).toMatchObject({ role: 'assistant', content: [{ text: { value: 'Hello' } }] })
    expect(events[9]?.data).toBe('[DONE]')
    expect(stub.requests.at(-1)?.body).toEqual({ assistant_id: stub.assistantId, stream: true })
  })

  it('streams up to the tools, and from their outputs on', async () => {
    stub.script({ calls: [CALL] }, { text: 'Sunny' }, 'completed')
    const agents = await connect()
    const thread = { messages: [{ role: 'user', content: 'Hi' }] }
    const asked = await collect(await agents.runs.createThreadAndRun(stub.assistantId, { thread }).stream())
    expect(asked.map(({ event }) => event)).toEqual([
      'thread.created',
      'thread.run.created',
      'thread.run.queued',
      'thread.run.requires_action',
      'done',
    ])
    const { id, threadId } = asked.at(-2)?.data as Run
    const outputs = [{ toolCallId: CALL.id, output: 'sunny' }]
    const rest = await collect(await agents.runs.submitToolOutputs(threadId, id, outputs).stream())
    expect(rest.at(-2)).toMatchObject({ event: 'thread.run.completed', data: { status: 'completed' } })
  })

  it('ends a stream that waits when the run is cancelled', async () => {
    stub.script('in_progress', new Promise(() => {}))
    const agents = await connect()
    const { id: threadId } = await agents.threads.create()
    const events: string[] = []
    for await (const { event, data } of await agents.runs.create(threadId, stub.assistantId).stream()) {
      events.push(event)
      if (event === 'thread.run.in_progress') await agents.runs.cancel(threadId, (data as Run).id)
    }
    expect(events.slice(-3)).toEqual(['thread.run.cancelling', 'thread.run.cancelled', 'done'])
  })

  it('gives the assistant, and says what it does not have', async () => {
    const agents = await connect()
    expect(await agents.getAgent(stub.assistantId)).toMatchObject({ id: stub.assistantId, tools: [] })
    await expect(agents.runs.get('thread_x', 'run_x')).rejects.toMatchObject({
      statusCode: 404,
      details: { error: { message: "No thread found with id 'thread_x'." } },
    })
  })

  it('refuses another token', async () => {
    const agents = await connect('another')
    await expect(agents.threads.create()).rejects.toMatchObject({ statusCode: 401 })
  })
})

whenInstalled(PACKAGES, 'the Azure stub, as the client of @azure/ai-projects sees it', () => {
  it('answers when the response is complete', async () => {
    stub.script('in_progress', { text: 'Hel' }, { text: 'lo' }, 'completed')
    const openAI = await project()
    const { id: conversation } = await openAI.conversations.create()
    const agent = { name: stub.agentName, type: 'agent_reference' }
    const reply = await openAI.responses.create({ conversation, input: 'Hi', agent })
    expect(reply).toMatchObject({
      status: 'completed',
      output_text: 'Hello',
      conversation: { id: conversation },
    })
    expect(await openAI.responses.retrieve(reply.id)).toMatchObject({ status: 'completed' })
    expect(await openAI.conversations.retrieve(conversation)).toMatchObject({ object: 'conversation' })
    expect(stub.requests[1]).toMatchObject({
      method: 'POST',
      path: '/api/projects/project/openai/v1/responses',
      body: { conversation, input: 'Hi', agent },
      headers: { authorization: `Bearer ${stub.token}` },
    })
  })

  it('works in the background, one status with every GET, until it is cancelled', async () => {
    stub.script('in_progress', new Promise(() => {}))
    const { responses } = await project()
    const { id, status } = await responses.create({ input: 'Hi', background: true })
    expect(status).toBe('queued')
    expect(await responses.retrieve(id)).toMatchObject({ status: 'in_progress' })
    expect(await responses.retrieve(id)).toMatchObject({ status: 'in_progress' })
    expect(await responses.cancel(id)).toMatchObject({ status: 'cancelled' })
    expect(await responses.retrieve(id)).toMatchObject({ status: 'cancelled' })
  })

  it('cancels nothing that is not in the background', async () => {
    const { responses } = await project()
    const { id } = await responses.create({ input: 'Hi' })
    await expect(responses.cancel(id)).rejects.toMatchObject({ status: 400 })
  })

  it('streams what the official client puts together', async () => {
    const item = {
      type: 'mcp_approval_request',
      id: 'mcpr_1',
      name: 'send',
      server_label: 'mail',
      arguments: '{}',
    }
    stub.script({ text: 'Hel' }, { text: 'lo' }, { calls: [CALL] }, { item }, 'completed')
    const stream = (await project()).responses.stream({ input: 'Hi' })
    const types = (await collect(stream)).map(({ type }) => type)
    expect(types).toEqual([
      'response.created',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.output_item.done',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    const { arguments: text, id, name } = CALL
    expect(await stream.finalResponse()).toMatchObject({
      status: 'completed',
      output: [
        { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] },
        { type: 'function_call', call_id: id, name, arguments: text },
        item,
      ],
    })
  })

  it.each([
    [{ failed: { code: 'server_error', message: 'Boom' } }, { status: 'failed', error: { message: 'Boom' } }],
    [
      { incomplete: 'max_output_tokens' },
      { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    ],
  ])('ends a response with %j', async (step, expected) => {
    stub.script({ text: 'so far' }, step)
    const { responses } = await project()
    expect(await responses.create({ input: 'Hi' })).toMatchObject({ ...expected, output_text: 'so far' })
  })

  it('breaks a stream with an error', async () => {
    stub.script({ text: 'so far' }, { error: { code: 'server_error', message: 'Boom' } })
    const events = await (await project()).responses.create({ input: 'Hi', stream: true })
    expect((await collect(events)).at(-1)).toMatchObject({
      type: 'error',
      code: 'server_error',
      message: 'Boom',
    })
  })

  it("serves the agent's own endpoint", async () => {
    const openAI = await project({ azureConfig: { agentName: stub.agentName, allowPreview: true } })
    expect(await openAI.responses.create({ input: 'Hi' })).toMatchObject({ output_text: 'Hello' })
    const [request] = stub.requests
    expect(request?.path).toBe('/api/projects/project/agents/agent/endpoint/protocols/openai/responses')
    expect(request?.query.get('api-version')).toBe('v1')
    expect(request?.headers['foundry-features']).toBe('HostedAgents=V1Preview,AgentEndpoints=V1Preview')
  })

  it('refuses another token, and says what it does not have', async () => {
    await expect((await project({}, 'another')).responses.retrieve('x')).rejects.toMatchObject({
      status: 401,
    })
    await expect((await project()).responses.retrieve('x')).rejects.toMatchObject({ status: 404 })
  })
})

if (!isInstalled(...PACKAGES)) {
  it('the Azure stub is proved by the official clients', (context) => skipMissing(context, ...PACKAGES))
}

function credential(token: string): object {
  return { getToken: () => Promise.resolve({ token, expiresOnTimestamp: Date.now() + 3_600_000 }) }
}

async function connect(token = stub.token): Promise<Agents> {
  const { AgentsClient } = await loadService<{
    AgentsClient: new (endpoint: string, credential: object, options: object) => Agents
  }>('@azure/ai-agents')
  // It sends no bearer over http.
  const options = { tlsOptions: { ca: stub.certificate }, retryOptions: { maxRetries: 0 } }
  return new AgentsClient(stub.tlsEndpoint, credential(token), options)
}

async function project(options: object = {}, token = stub.token): Promise<OpenAI> {
  const { AIProjectClient } = await loadService<{
    AIProjectClient: new (
      endpoint: string,
      credential: object,
    ) => { getOpenAIClient(options: object): OpenAI }
  }>('@azure/ai-projects')
  return new AIProjectClient(stub.endpoint, credential(token)).getOpenAIClient({ maxRetries: 0, ...options })
}

async function begin(): Promise<{ agents: Agents; run: Run; get: () => Promise<Run> }> {
  const agents = await connect()
  const { id } = await agents.threads.create()
  const run = await agents.runs.create(id, stub.assistantId)
  return { agents, run, get: () => agents.runs.get(id, run.id) }
}

async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of iterable) items.push(item)
  return items
}
