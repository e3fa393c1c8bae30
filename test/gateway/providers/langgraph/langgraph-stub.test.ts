import type { ServerResponse } from 'node:http'
import { apiKeyAuth, bearerAuth } from 'a2a-tasks/client'
import { ManualClock } from 'a2a-tasks/testing'
import { afterEach, describe, expect, it } from 'vitest'
import type { LangGraphOptions } from '../../../../src/gateway/providers/langgraph/options.js'
import { langGraph } from '../../../../src/gateway/providers/langgraph/provider.js'
import { sendJson, type StubServer } from '../../../services/stub-server.js'
import {
  all,
  artifactsOf,
  asked,
  bodyOf,
  lgAgent,
  lgStub,
  lgTask,
  REF,
  RUN,
  sse,
  streaming,
  THREAD,
  type Answers,
} from './support/langgraph.js'

const call = { signal: new AbortController().signal }
const stubs: StubServer[] = []
afterEach(() => Promise.all(stubs.splice(0).map((stub) => stub.stop())))

async function start(answers: Answers, options?: LangGraphOptions) {
  const stub = await lgStub({ 'POST /threads': [200, THREAD], ...answers })
  stubs.push(stub)
  return { stub, agent: lgAgent(stub.url), provider: langGraph(options) }
}

const ASK = { id: 'i1', value: 'Which colour?' }
const state = (changes: object) => ({
  values: {},
  next: [],
  tasks: [],
  metadata: { run_id: 'r' },
  ...changes,
})

describe('a run', () => {
  it.each([
    ['pending', {}, THREAD, { state: 'submitted' }],
    ['running', {}, THREAD, { state: 'working' }],
    ['success', {}, THREAD, { state: 'completed', output: {} }],
    [
      'success',
      { tasks: [{ interrupts: [ASK] }], next: ['ask'] },
      THREAD,
      { state: 'input-required', message: { parts: [{ text: 'Which colour?' }] } },
    ],
    ['success', { next: ['step'] }, THREAD, { state: 'input-required' }],
    [
      'error',
      {},
      THREAD,
      { state: 'failed', message: 'The run failed', failure: { code: 'error', retryable: false } },
    ],
    ['error', {}, { ...THREAD, metadata: { a2a_canceled_r: true } }, { state: 'canceled' }],
    [
      'timeout',
      {},
      THREAD,
      { state: 'failed', message: 'The run took too long', failure: { code: 'timeout', retryable: true } },
    ],
    [
      'interrupted',
      { tasks: [{ interrupts: [ASK] }], next: ['ask'] },
      THREAD,
      { state: 'input-required', message: { parts: [{ text: 'Which colour?' }] } },
    ],
    ['interrupted', {}, THREAD, { state: 'canceled' }],
    [
      'interrupted',
      { next: ['step'] },
      { ...THREAD, metadata: { a2a_canceled_r: true } },
      { state: 'canceled' },
    ],
  ])('that is %s, in a thread %j %j', async (status, changes, thread, expected) => {
    const { agent, provider } = await start({
      'GET /threads/t/runs/r': [200, { ...RUN, status }],
      'GET /threads/t/state': [200, state(changes)],
      'GET /threads/t': [200, thread],
    })
    expect(await provider.getTask(agent, REF, call)).toEqual(expected)
  })

  it('whose status is not known is an error, not a guess', async () => {
    const { agent, provider } = await start({ 'GET /threads/t/runs/r': [200, { ...RUN, status: 'paused' }] })
    await expect(provider.getTask(agent, REF, call)).rejects.toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { reason: 'its run status "paused" is not known', retryable: false },
    })
  })

  it('that is gone was canceled if the thread says so, and is not known otherwise', async () => {
    for (const [thread, outcome] of [
      [[200, { ...THREAD, metadata: { a2a_canceled_r: true } }], { state: 'canceled' }],
      [[200, THREAD], 'TASK_NOT_FOUND'],
      [[404, 'gone'], 'TASK_NOT_FOUND'],
    ] as const) {
      const { agent, provider } = await start({
        'GET /threads/t/runs/r': [404, 'Run not found'],
        'GET /threads/t': thread,
      })
      const answer = provider.getTask(agent, REF, call).catch((error: unknown) => error)
      expect(await answer).toMatchObject(typeof outcome === 'string' ? { code: outcome } : outcome)
    }
  })

  it('after which the thread went on has its own output', async () => {
    const own = state({ values: { messages: [{ type: 'ai', content: 'mine' }] } })
    const { stub, agent, provider } = await start({
      'GET /threads/t/runs/r': [200, { ...RUN, status: 'success' }],
      'GET /threads/t/state': [200, state({ metadata: { run_id: 'later' } })],
      'POST /threads/t/history': [200, [own]],
    })
    expect(artifactsOf([await provider.getTask(agent, REF, call)])).toEqual({ response: 'mine' })
    expect(bodyOf(stub, '/threads/t/history')).toEqual({ limit: 1, metadata: { run_id: 'r' } })
  })

  it.each([
    ['next', { next: Array<number>(1_000_000).fill(0) }],
    ['tasks', { tasks: Array<number>(1_000_000).fill(0) }],
    ['tasks[0].interrupts', { tasks: [{ interrupts: Array<number>(1_000_000).fill(0) }] }],
  ])(
    'whose state has a million faults in %s is answered with the first',
    async (path, changes) => {
      const { agent, provider } = await start({
        'GET /threads/t/runs/r': [200, { ...RUN, status: 'success' }],
        'GET /threads/t/state': [200, state(changes)],
      })
      await expect(provider.getTask(agent, REF, call)).rejects.toMatchObject({
        code: 'PROVIDER_ERROR',
        data: { reason: expect.stringContaining(`answer.${path}[0] must be`) as string },
      })
    },
    3_000,
  )

  it('that asks several things at once says which is which', async () => {
    const interrupts = [ASK, { id: 'i2', value: { size: ['S', 'L'] } }]
    const { agent, provider } = await start({
      'GET /threads/t/runs/r': [200, { ...RUN, status: 'success' }],
      'GET /threads/t/state': [200, state({ tasks: interrupts.map((one) => ({ interrupts: [one] })) })],
    })
    expect(await provider.getTask(agent, REF, call)).toEqual({
      state: 'input-required',
      message: {
        parts: [
          { text: 'Which colour?', metadata: { interruptId: 'i1' } },
          { data: { size: ['S', 'L'] }, metadata: { interruptId: 'i2' } },
        ],
      },
    })
  })

  it('of a graph without messages has its values as the result; blocks of content are joined', async () => {
    for (const [values, parts] of [
      [{ answer: 42 }, [{ data: { answer: 42 } }]],
      [
        {
          messages: [
            { type: 'ai', content: [{ type: 'reasoning', text: 'no' }, 'a', { type: 'text', text: 'b' }] },
            { type: 'tool', content: 'no' },
          ],
        },
        [{ text: 'ab' }],
      ],
    ]) {
      const { agent, provider } = await start({
        'GET /threads/t/runs/r': [200, { ...RUN, status: 'success' }],
        'GET /threads/t/state': [200, state({ values })],
      })
      const update = await provider.getTask(agent, REF, call)
      expect(update).toMatchObject({ artifacts: [{ artifactId: 'response', parts }], output: values })
    }
  })

  it.each([
    ['no JSON', (response: ServerResponse) => response.end('<html>')],
    ['no run', (response: ServerResponse) => sendJson(response, 200, { status: 'success' })],
  ])('that is %s is an error', async (_, answer) => {
    const { agent, provider } = await start({ 'GET /threads/t/runs/r': answer })
    await expect(provider.getTask(agent, REF, call)).rejects.toMatchObject({ code: 'PROVIDER_ERROR' })
  })

  it('is canceled without waiting, and its thread remembers it', async () => {
    const { stub, agent, provider } = await start({
      'POST /threads/t/runs/r/cancel': [202, {}],
      'PATCH /threads/t': [200, THREAD],
    })
    expect(await provider.cancelTask(agent, REF, call)).toEqual({})
    expect(stub.requests[0]?.query.toString()).toBe('')
    expect(bodyOf(stub, '/threads/t')).toEqual({ metadata: { a2a_canceled_r: true } })
  })
})

describe('a message', () => {
  const answers: Answers = { 'POST /threads/t/runs': [200, RUN] }

  it('is input and tags; data is context', async () => {
    const { stub, agent, provider } = await start(answers)
    const parts = [{ text: 'hi' }, { data: { a: 1 } }]
    const task = lgTask(parts, { metadata: { tags: ['x', 7, 'y'] } })
    expect(await provider.sendTask(agent, task, call)).toEqual({ ref: REF, state: 'submitted' })
    expect(bodyOf(stub, '/threads')).toEqual({ metadata: { a2a_context_id: task.contextId } })
    expect(bodyOf(stub, '/threads/t/runs')).toEqual({
      assistant_id: 'echo',
      input: { messages: [{ role: 'user', content: 'hi' }], context: { a: 1 } },
      config: { tags: ['x', 'y'] },
      metadata: { a2a_task_id: task.id },
      multitask_strategy: 'enqueue',
      if_not_exists: 'create',
    })
  })

  it.each([
    [[{ data: { topic: 'cats' } }], { topic: 'cats' }],
    [[{ data: [1] }, { data: 2 }], { messages: [{ role: 'user', content: '' }], context: [[1], 2] }],
    [
      [
        { text: 'see' },
        { raw: 'AAA=', mediaType: 'image/png' },
        { url: 'https://x.test/a.jpg', mediaType: 'image/jpeg' },
      ],
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,AAA=' } },
              { type: 'image_url', image_url: { url: 'https://x.test/a.jpg' } },
            ],
          },
        ],
      },
    ],
  ])('of %j is the input %j', async (parts, input) => {
    const { stub, agent, provider } = await start(answers)
    await provider.sendTask(agent, lgTask(parts), call)
    expect(bodyOf(stub, '/threads/t/runs')).toMatchObject({ input })
  })

  it('with a file that is no image is refused', async () => {
    const { agent, provider } = await start(answers)
    const task = lgTask([{ raw: 'AAA=', mediaType: 'application/pdf' }])
    await expect(provider.sendTask(agent, task, call)).rejects.toMatchObject({
      code: 'CONTENT_TYPE_NOT_SUPPORTED',
      data: { mediaType: 'application/pdf' },
    })
  })

  it('is the output of the option', async () => {
    const { stub, agent, provider } = await start(answers, {
      input: ({ text }) => ({ question: text }),
      multitaskStrategy: 'reject',
    })
    await provider.sendTask(agent, lgTask('why?'), call)
    expect(bodyOf(stub, '/threads/t/runs')).toMatchObject({
      input: { question: 'why?' },
      multitask_strategy: 'reject',
    })
  })

  it.each([
    [[{ text: 'a' }, { text: 'b' }], 'ab'],
    [[{ data: { i1: 'red' } }], { i1: 'red' }],
    [[{ data: null }], [{ data: null }]],
    [
      [{ text: 'a' }, { data: 1 }],
      [{ text: 'a' }, { data: 1 }],
    ],
  ])('that answers with %j resumes with %j', async (parts, resume) => {
    const { stub, agent, provider } = await start(answers)
    await provider.sendTask(agent, lgTask(parts, { ref: REF }), call)
    expect(asked(stub)).toEqual(['POST /threads/t/runs'])
    expect(bodyOf(stub, '/threads/t/runs')).toMatchObject({ assistant_id: 'echo', command: { resume } })
    expect(bodyOf(stub, '/threads/t/runs')).not.toHaveProperty('if_not_exists')
  })

  it.each([
    [{ assistantId: 7 }, 'settings.assistantId'],
    [{ asistantId: 'agent' }, 'settings.asistantId'],
  ])('to an agent with the settings %j is refused before', (settings, path) => {
    const refused = expect.objectContaining({
      code: 'INVALID_PARAMS',
      data: expect.objectContaining({ path }) as object,
    }) as Error
    const agent = lgAgent('http://127.0.0.1:1', { settings })
    expect(() => langGraph().checkAgent?.(agent)).toThrow(refused)
    const rs = langGraph({ profile: 'litellm-rs' })
    expect(() => rs.checkAgent?.(agent)).toThrow(refused)
    for (const valid of [{}, { assistantId: 'agent' }])
      for (const provider of [rs, langGraph()])
        expect(() => provider.checkAgent?.({ ...agent, settings: valid })).not.toThrow()
  })

  it('to an agent without an assistant goes to the graph with its id', async () => {
    const { stub, provider } = await start(answers)
    await provider.sendTask(lgAgent(stub.url, { id: 'research-agent', settings: {} }), lgTask('hi'), call)
    expect(bodyOf(stub, '/threads/t/runs')).toMatchObject({ assistant_id: 'research-agent' })
  })

  it.each([
    [409, 'busy', { code: 'PROVIDER_ERROR', data: { status: 409, retryable: true } }],
    [422, 'busy', { code: 'PROVIDER_ERROR', data: { status: 422, retryable: true } }],
    [422, 'idle', { code: 'PROVIDER_ERROR', data: { status: 422, retryable: false } }],
    [503, 'idle', { code: 'PROVIDER_ERROR', data: { status: 503, retryable: true } }],
  ])('that is refused with %i by a thread that is %s', async (status, thread, error) => {
    const { agent, provider } = await start({
      'POST /threads/t/runs': [status, {}],
      'POST /threads/t/runs/stream': [status, {}],
      'GET /threads/t': [200, { ...THREAD, status: thread }],
    })
    await expect(provider.sendTask(agent, lgTask('hi'), call)).rejects.toMatchObject(error)
    await expect(all(provider.streamTask(agent, lgTask('hi'), call))).rejects.toMatchObject(error)
  })
})

describe('credentials', () => {
  it.each([
    ['x-api-key', apiKeyAuth({ name: 'x-api-key', value: 's3cret', in: 'header' }), 's3cret'],
    ['authorization', bearerAuth('s3cret'), 'Bearer s3cret'],
  ])('in %s go with every call', async (header, auth, value) => {
    const { stub, provider } = await start({
      'POST /threads/t/runs': [200, RUN],
      'POST /threads/t/runs/stream': streaming(sse(['metadata', { run_id: 'r' }])),
      'GET /threads/t/runs/r': [200, { ...RUN, status: 'error' }],
      'GET /threads/t': [200, THREAD],
      'POST /threads/t/runs/r/cancel': [202, {}],
      'PATCH /threads/t': [200, THREAD],
      'GET /ok': [200, { ok: true }],
    })
    const agent = lgAgent(stub.url, { endpoint: { url: `${stub.url}/`, auth, timeoutMs: 5_000 } })
    await provider.sendTask(agent, lgTask('hi'), call)
    await all(provider.streamTask(agent, lgTask('hi'), call))
    await provider.cancelTask(agent, REF, call)
    expect(await provider.healthCheck(agent, call)).toBe('online')
    expect(stub.requests).toHaveLength(9)
    expect(stub.requests.map(({ headers }) => headers[header])).toEqual(stub.requests.map(() => value))
  })
})

describe('the health of a server', () => {
  it.each([
    [{ 'GET /ok': [200, {}] }, 'online'],
    [{ 'GET /ok': [404, {}], 'GET /health': [204, {}] }, 'online'],
    [{ 'GET /ok': [404, {}], 'GET /health': [404, {}] }, 'degraded'],
    [{ 'GET /ok': [500, {}] }, 'degraded'],
    [{ 'GET /ok': (response: ServerResponse) => void response.destroy() }, 'offline'],
  ] as [Answers, string][])('that answers %j is %s', async (answers, status) => {
    const { agent, provider } = await start(answers)
    expect(await provider.healthCheck(agent, call)).toBe(status)
  })

  it('that says nothing for five seconds is offline', async () => {
    const clock = new ManualClock()
    const { agent, provider } = await start({ 'GET /ok': () => clock.advance(5_000) }, { clock })
    expect(await provider.healthCheck(agent, call)).toBe('offline')
  })

  it('is not reported to a caller that has aborted', async () => {
    const { agent, provider } = await start({ 'GET /ok': [200, {}] })
    const reason = new Error('enough')
    const health = provider.healthCheck(agent, { signal: AbortSignal.abort(reason) })
    await expect(health).rejects.toBe(reason)
  })
})

it('an option that is not known is refused by its name', () => {
  expect(() => langGraph({ profile: 'other' as 'langgraph' })).toThrow(/"profile" must be one of/)
  expect(() => langGraph({ streamMode: ['values' as 'updates'] })).toThrow(/"streamMode" must be one of/)
})
