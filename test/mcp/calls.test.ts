/** Calls of tools by clients of both generations: what is answered at once, what is followed, and how calls end. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent, ManualClock } from 'a2a-tasks/testing'
import type { Execute, Run } from 'a2a-tasks/server'
import { messagesIn, requestOf, sceneOf, statelessRequest, textIn, type Declared, type Json } from './kit.js'

const echo: Execute = (run) => `You said: ${run.text}`

/** A function whose runs go on when the test says so. */
function held(): { readonly execute: Execute; readonly goOn: () => void; readonly run: Promise<Run> } {
  let goOn = (): void => undefined
  const end = new Promise<void>((resolve) => (goOn = resolve))
  let begin: (run: Run) => void = () => undefined
  const run = new Promise<Run>((resolve) => (begin = resolve))
  return {
    async execute(given) {
      begin(given)
      await end
      return 'Done'
    },
    goOn: () => goOn(),
    run,
  }
}

describe('tools', () => {
  const skills = [
    {
      id: 'translate',
      name: 'Translate',
      description: 'Into English',
      tags: ['x'],
      examples: ['Hallo', 'Tag'],
    },
    { id: 'a b/ü', name: 'Odd', description: 'Has an odd id', tags: ['x'] },
    { id: 'a_b__', name: 'Same', description: 'Has the same name', tags: ['x'] },
  ]

  it.each(['stateless', 'session'])(
    'are the skills of the card, for a client of the %s generation',
    async (kind) => {
      const scene = sceneOf(echo, { card: { skills } })
      const { result } = await (kind === 'session' ? scene.inSession('tools/list') : scene.ask('tools/list'))
      const tools = result['tools'] as Json[]
      expect(tools.map(({ name, title }) => [name, title])).toEqual([
        ['translate', 'Translate'],
        ['a_b__', 'Odd'],
        ['a_b___2', 'Same'],
      ])
      expect(tools[0]).toMatchObject({
        description: 'Into English\n\nExamples:\n- Hallo\n- Tag',
        inputSchema: { type: 'object', required: ['message'], additionalProperties: false },
      })
    },
  )

  it('with one name cost no more than as many with other names', async () => {
    const same = Array.from({ length: 1_000 }, () => ({ id: 'a', name: 'A', description: 'A', tags: ['x'] }))
    const taken = [{ id: 'a_2', name: 'A', description: 'A', tags: ['x'] }]
    const { handler } = sceneOf(echo, { card: { skills: [...taken, ...same] } })
    const has = vi.spyOn(Map.prototype, 'has')
    onTestFinished(() => has.mockRestore())
    const mcp = createMcpHandler(handler)
    const response = await mcp(statelessRequest(1, 'tools/list', {}))
    const { length } = has.mock.calls
    const { result } = (await response.json()) as { readonly result: { readonly tools: readonly Json[] } }
    const names = new Set(result.tools.map(({ name }) => name))
    expect([names.size, names.has('a_1001')]).toEqual([1_001, true])
    expect(length).toBeLessThan(10_000)
  })

  it('have the schemas and annotations of the options', async () => {
    const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const given = {
      name: 'weather',
      inputSchema,
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    }
    const { ask } = sceneOf(echo, { tools: { default: given } })
    const { result } = await ask('tools/list')
    const [tool] = result['tools'] as [Json]
    expect(tool).toMatchObject({ ...given, inputSchema: { required: ['city'] } })
    expect(Object.keys((tool['inputSchema'] as Json)['properties'] as Json)).toEqual([
      'city',
      'message',
      'taskId',
      'contextId',
    ])
  })

  it('send their arguments as data, and say what does not fit', async () => {
    const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const scene = sceneOf((run) => ({ parts: [{ data: run.message.parts[0]?.data ?? null }] }), {
      tools: { default: { inputSchema } },
    })
    const call = (given: object) => scene.ask('tools/call', { name: 'default', arguments: given })
    expect((await call({ city: 'Rome' })).result).toMatchObject({
      structuredContent: { city: 'Rome' },
      content: [{ type: 'text', text: '{"city":"Rome"}' }],
    })
    const { result } = await call({ city: 1 })
    expect([result['isError'], textIn(result)]).toEqual([true, 'city must be a text'])
    expect(textIn((await call({})).result)).toBe('city is missing')
    expect(scene.tasks.listTasks()).toHaveLength(1)
  })

  it('name their skill in the message', async () => {
    const scene = sceneOf((run) => JSON.stringify(run.message.metadata?.['skill']), { card: { skills } })
    const { result } = await scene.ask('tools/call', { name: 'translate', arguments: { message: 'Hi' } })
    expect(textIn(result)).toBe('"translate"')
  })

  it('that do not keep to their output are errors', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const scene = sceneOf(
      (run) =>
        run.text === 'text' ? 'x' : { parts: [{ data: { n: JSON.parse(run.text) as string | number } }] },
      {
        tools: { default: { outputSchema } },
      },
    )
    expect((await scene.say('1')).result).toMatchObject({ isError: false, structuredContent: { n: 1 } })
    expect(textIn((await scene.say('"x"')).result)).toBe(
      'The agent has returned data that does not fit: n must be a number',
    )
    expect((await scene.say('text')).result).toMatchObject({ isError: true })
  })
})

describe('a call that ends in time', () => {
  it.each([[{ tasks: true }], [{}]])('is answered at once, with %j', async (declared) => {
    const { say } = sceneOf(echo)
    const { status, headers, last } = await say('Hi', declared)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(last).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        content: [{ type: 'text', text: 'You said: Hi' }],
        isError: false,
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'Agent', version: '1.0.0' } },
      },
    })
  })

  it('has its files, links, data and texts as content', async () => {
    const { say } = sceneOf((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'one ' }] })
      run.artifact({ artifactId: 'a', parts: [{ text: 'two' }] }, { append: true })
      run.artifact({
        artifactId: 'b',
        parts: [
          { raw: 'aGk', mediaType: 'image/png' },
          { raw: 'aGk=', mediaType: 'audio/wav' },
          { raw: 'aGk=', mediaType: 'application/pdf', filename: 'a b.pdf' },
          { url: 'https://files.example/x.csv', mediaType: 'text/csv', filename: 'x.csv' },
          { url: 'https://files.example/y' },
          { data: { n: 1 } },
        ],
      })
    })
    const { result } = await say('Hi')
    const { taskId } = (result['_meta'] as { 'a2a-tasks.dev/task': Json })['a2a-tasks.dev/task']
    expect(result).toMatchObject({
      structuredContent: { n: 1 },
      content: [
        { type: 'text', text: 'one two' },
        { type: 'image', data: 'aGk=', mimeType: 'image/png' },
        { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
        {
          type: 'resource',
          resource: {
            uri: `a2a://tasks/${String(taskId)}/artifacts/b/2/a%20b.pdf`,
            blob: 'aGk=',
            mimeType: 'application/pdf',
          },
        },
        { type: 'resource_link', uri: 'https://files.example/x.csv', name: 'x.csv', mimeType: 'text/csv' },
        { type: 'resource_link', uri: 'https://files.example/y', name: 'https://files.example/y' },
        { type: 'text', text: '{"n":1}' },
      ],
    })
  })

  it.each<[string, Execute, string]>([
    ['fails', (run) => run.fail('No flights'), 'No flights'],
    ['is rejected', (run) => run.reject('Not mine'), 'Not mine'],
    ['is canceled', (run) => run.cancel('Closed'), 'Closed'],
  ])('and %s is an error of the tool', async (_, execute, text) => {
    const { say, inSession } = sceneOf(execute)
    expect((await say('Hi')).result).toMatchObject({ isError: true, content: [{ type: 'text', text }] })
    const { result } = await inSession('tools/call', { name: 'default', arguments: { message: 'Hi' } })
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text }] })
    expect(result).not.toHaveProperty('resultType')
  })
})

/** An agent whose requests the test sees, and answers when `sent` resolves. */
function seenAgent(execute: Execute, sent: Promise<unknown> = Promise.resolve()) {
  const { handler, tasks } = sceneOf(execute)
  const methods: unknown[] = []
  const fetch = async (request: Request): Promise<Response> => {
    const { method } = (await request.clone().json()) as Json
    methods.push(method)
    const response = await handler.fetch(request)
    await sent
    return response
  }
  return { mcp: createMcpHandler({ card: handler.card, fetch }), methods, tasks }
}

describe('the requests of a call to its agent', () => {
  const say = (message: string, declared?: Declared, init?: RequestInit): Request =>
    statelessRequest(1, 'tools/call', { name: 'default', arguments: { message } }, declared, init)

  it.each([[{ tasks: true }], [{}]])('are one where its work ends at once, with %j', async (declared) => {
    const { mcp, methods } = seenAgent(echo)
    const { result } = (await (await mcp(say('Hi', declared))).json()) as { readonly result: Json }
    expect([textIn(result), methods]).toEqual(['You said: Hi', ['SendMessage']])
  })

  it('are a stream from its start where the client wants to hear of progress', async () => {
    const { mcp, methods } = seenAgent(echo)
    await (await mcp(say('Hi', { progressToken: 'p' }))).text()
    expect(methods[0]).toBe('SendStreamingMessage')
  })

  it('cancel the task of a client that leaves while the message is sent', async () => {
    const { execute, run } = held()
    let answer = (): void => undefined
    const { mcp, tasks } = seenAgent(execute, new Promise<void>((resolve) => (answer = resolve)))
    const left = new AbortController()
    const answered = mcp(say('Hi', {}, { signal: left.signal }))
    const { task } = await run
    left.abort()
    answer()
    await answered
    expect(tasks.getTask(task.id)).toMatchObject({ state: 'canceled' })
  })
})

describe('a longer call', () => {
  it('is followed with progress where the client wants to hear of it', async () => {
    const { say } = sceneOf(async (run) => {
      run.update('One')
      await Promise.resolve()
      run.update('Two')
      return 'Done'
    })
    const { headers, messages } = await say('Hi', { progressToken: 'p' })
    expect(headers.get('content-type')).toBe('text/event-stream')
    const progress = (count: number, message: string): Json => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: count, message },
    })
    expect(messages.slice(0, -1)).toEqual([progress(0.001, 'One'), progress(0.002, 'Two')])
    expect(messages.at(-1)).toMatchObject({
      id: 1,
      result: { resultType: 'complete', content: [{ text: 'Done' }] },
    })
  })

  it('has progress that increases whatever the agent reports, in its status too', async () => {
    const { mcp, ask, tasks } = sceneOf(async (run) => {
      const reports = [
        'Looking',
        { message: 'Sorting', current: 3, total: 10 },
        { current: 2, total: 10 },
        'Still',
        { current: 4, total: 10 },
        { message: 'Much', current: 1e300 },
        'More',
      ]
      for (const report of reports) {
        run.update(report)
        await new Promise((resolve) => setImmediate(resolve))
      }
      await run.requireInput('Which city?')
    })
    const params = { name: 'default', arguments: { message: 'Go' } }
    const response = await mcp(statelessRequest(1, 'tools/call', params, { progressToken: 'p' }))
    const told: unknown[] = []
    const decoder = new TextDecoder()
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      for (const { params: each } of messagesIn(decoder.decode(chunk)))
        if (each !== undefined) told.push(each)
    expect(told).toEqual(
      [
        { progress: 0.001, message: 'Looking' },
        { progress: 3, total: 10, message: 'Sorting' },
        { progress: 3.001, total: 10, message: '2 of 10' },
        { progress: 3.002, total: 10, message: 'Still' },
        { progress: 4, total: 10, message: '4 of 10' },
        { progress: 1e300, message: 'Much' },
      ].map((each) => ({ progressToken: 'p', ...each })),
    )
    const { result } = await ask('tasks/get', { taskId: tasks.listTasks()[0]?.id }, { tasks: true })
    expect(result['statusMessage']).toBe('Which city?')
  })

  it('has no progress as its result', async () => {
    const { say, ask } = sceneOf(async (run) => {
      run.update({ message: 'Sorting', current: 3, total: 10 })
      run.update('Packing')
      await Promise.resolve(undefined)
    })
    for (const declared of [{}, { tasks: true }, { progressToken: 'p' }]) {
      const { result } = await say('Go', declared)
      expect(result['content']).toEqual([{ type: 'text', text: '' }])
      const { taskId } = (result['_meta'] as { 'a2a-tasks.dev/task': Json })['a2a-tasks.dev/task']
      const read = await ask('tasks/get', { taskId }, { tasks: true })
      expect((read.result['result'] as Json)['content']).toEqual(result['content'])
    }
  })

  it('becomes a stream after waitMs', async () => {
    const clock = new ManualClock()
    const { execute, goOn, run } = held()
    const { mcp } = sceneOf(execute, { clock, waitMs: 500 })
    const request = statelessRequest(1, 'tools/call', { name: 'default', arguments: { message: 'x' } })
    const answered = mcp(request)
    await run
    clock.advance(500)
    const response = await answered
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    goOn()
    expect(messagesIn(await response.text())).toMatchObject([
      { id: 1, result: { content: [{ text: 'Done' }] } },
    ])
  })

  it('is canceled by a client without sessions that closes the stream', async () => {
    const clock = new ManualClock()
    const { execute, run } = held()
    const { mcp } = sceneOf(execute, { clock })
    const answered = mcp(statelessRequest(1, 'tools/call', { name: 'default', arguments: { message: 'x' } }))
    const { signal } = await run
    clock.advance(1_000)
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await (await answered).body?.cancel()
    await aborted
  })

  it('is canceled by a client without sessions that leaves before the answer', async () => {
    const { execute, run } = held()
    const { mcp } = sceneOf(execute)
    const left = new AbortController()
    const params = { name: 'default', arguments: { message: 'x' } }
    const answered = mcp(statelessRequest(1, 'tools/call', params, {}, { signal: left.signal }))
    const { signal } = await run
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    left.abort()
    await aborted
    await answered
  })

  it('goes on when the connection of a client with a session breaks', async () => {
    const clock = new ManualClock()
    const [kept, canceled] = [held(), held()]
    const { mcp, tasks } = sceneOf((run) => (run.text === 'keep' ? kept : canceled).execute(run), { clock })
    const params = (message: string): object => ({ name: 'default', arguments: { message } })
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: params('keep') }
    const calls = [mcp(requestOf(body)), mcp(statelessRequest(2, 'tools/call', params('cancel')))]
    const [{ task, signal }, other] = await Promise.all([kept.run, canceled.run])
    const aborted = new Promise<void>((resolve) => other.signal.addEventListener('abort', () => resolve()))
    clock.advance(1_000)
    for (const call of calls) await (await call).body?.cancel()
    // It was left later.
    await aborted
    expect(signal.aborted).toBe(false)
    kept.goOn()
    await expect(tasks.waitFor(task.id)).resolves.toMatchObject({ state: 'completed' })
  })

  it('is canceled by notifications/cancelled of its session only', async () => {
    const clock = new ManualClock()
    const { execute, run } = held()
    const errors: unknown[] = []
    const { inSession, send, mcp, tasks } = sceneOf(execute, {
      clock,
      onError: (error) => errors.push(error),
    })
    const begin = async (): Promise<{ readonly 'mcp-session-id': string | null }> => {
      const { headers } = await inSession('initialize', { protocolVersion: '2025-11-25', capabilities: {} })
      return { 'mcp-session-id': headers.get('mcp-session-id') }
    }
    const [session, other] = [await begin(), await begin()]
    const params = { name: 'default', arguments: { message: 'x' } }
    const answered = mcp(requestOf({ jsonrpc: '2.0', id: '7 a', method: 'tools/call', params }, session))
    const { task } = await run
    clock.advance(1_000)
    const response = await answered
    const cancelOf = (requestId: unknown): object => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId },
    })
    const cancel = cancelOf('7 a')
    const misread = { 'mcp-session-id': `${session['mcp-session-id']} 7` }
    for (const request of [
      requestOf(cancel, other),
      requestOf(cancel),
      requestOf(cancelOf('a'), misread),
      ...[{ toString: 1 }, null, ['7 a'], 7].map((id) => requestOf(cancelOf(id), session)),
    ])
      expect((await send(request)).status).toBe(202)
    expect(errors).toEqual([])
    expect(tasks.getTask(task.id)?.state).not.toBe('canceled')
    expect((await send(requestOf(cancel, session))).status).toBe(202)
    expect(tasks.getTask(task.id)?.state).toBe('canceled')
    const messages = messagesIn(await response.text())
    expect(messages).toMatchObject([{ id: '7 a', result: { isError: true } }])
    // It has ended: nothing is left to cancel.
    expect((await send(requestOf(cancel, session))).status).toBe(202)
  })
})

describe('over a client', () => {
  it('serves an agent elsewhere', async () => {
    const agent = fakeAgent('Bonjour')
    const mcp = createMcpHandler(Promise.resolve(new A2AClient({ card: agent.card, fetch: agent.fetch })))
    const params = { name: 'default', arguments: { message: 'x' } }
    const response = await mcp(statelessRequest(1, 'tools/call', params))
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'Bonjour' }] } })
  })

  it('reports why the agent cannot be reached, and tells its clients a fixed text', async () => {
    const client = new A2AClient({
      card: fakeAgent('Hello').card,
      fetch: () => Promise.reject(new Error('connect ECONNREFUSED')),
      retry: { attempts: 1 },
    })
    const errors: unknown[] = []
    const mcp = createMcpHandler(client, { onError: (error) => errors.push(error) })
    const params = { name: 'default', arguments: { message: 'Hi' } }
    const response = await mcp(statelessRequest(1, 'tools/call', params))
    expect(await response.text()).not.toContain('ECONNREFUSED')
    expect(errors.map(String)).toEqual([expect.stringContaining('ECONNREFUSED')])
  })

  it('reports no refusal of the agent, and no time limit of a call', async () => {
    const agent = fakeAgent((run) => run.requireInput('Which city?').then(() => undefined))
    const errors: unknown[] = []
    const options = { onError: (error: unknown) => errors.push(error) }
    const slow = new A2AClient({
      card: agent.card,
      fetch: (_, init) =>
        new Promise((_, reject) =>
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error)),
        ),
      timeoutMs: 1,
      retry: { attempts: 1 },
    })
    const params = { name: 'default', arguments: { message: 'Hi', taskId: 'x' } }
    for (const client of [new A2AClient({ card: agent.card, fetch: agent.fetch }), slow])
      await (await createMcpHandler(client, options)(statelessRequest(1, 'tools/call', params))).text()
    expect(errors).toEqual([])
  })

  it('says nothing of a failure on the way to it', async () => {
    const errors: unknown[] = []
    const failure = new Error('No route to 10.0.0.1')
    const mcp = createMcpHandler(() => Promise.reject(failure), { onError: (error) => errors.push(error) })
    const response = await mcp(statelessRequest(1, 'tools/list', {}))
    expect([response.status, errors]).toEqual([500, [failure]])
    expect(await response.json()).toMatchObject({ error: { message: 'Internal error' } })
  })

  it('asks a function for the client of each request', async () => {
    const agent = fakeAgent((run) => run.text)
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
    const mcp = createMcpHandler((request) =>
      request.headers.has('authorization') ? client : new Response('Who?', { status: 401 }),
    )
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const refused = await mcp(requestOf(body))
    expect([refused.status, await refused.text()]).toEqual([401, 'Who?'])
    expect((await mcp(requestOf(body, { authorization: 'Bearer x' }))).status).toBe(200)
  })
})
