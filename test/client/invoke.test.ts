/** invokeRemoteAgent: both protocols, time limits, failures. */
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { bearerAuth } from '../../src/http/auth.js'
import {
  invokeRemoteAgent,
  type InvokeOptions,
  type RemoteInvocationResult,
} from '../../src/client/invoke.js'
import { urlGuard } from '../../src/http/url-guard.js'
import { gate, serve } from '../server/interop/support/agent.js'
import {
  failureOf,
  fakeFetch,
  settle,
  site,
  type Answerer,
  type FakeFetch,
  type Reply,
} from '../http/support/http.js'

const BASE = 'https://agent.example.com'
const TASK = { id: 't1', state: 'submitted', messages: [], sessionId: null }
const said = (text: unknown, role = 'agent'): object => ({ role, parts: [{ type: 'text', text }] })
const done = (...messages: object[]): Reply => ({ body: { ...TASK, state: 'completed', messages } })

interface Invocation extends FakeFetch {
  readonly clock: ManualClock
  readonly result: Promise<RemoteInvocationResult>
  /** Lets time pass, second by second, and gives the number of polls. */
  readonly pass: (ms: number) => Promise<number>
}

/** `polls` are the answers to one poll after the other; the last one stays. */
function invoke(
  polls: readonly (Reply | 'never' | Error)[],
  options: InvokeOptions = {},
  taskId = 't1',
): Invocation {
  const clock = new ManualClock()
  const left = [...polls]
  const fake = fakeFetch(({ method }) => {
    if (method === 'POST') return { body: { ...TASK, id: taskId } }
    const reply = (left.length > 1 ? left.shift() : left[0]) ?? 'never'
    if (reply instanceof Error) throw reply
    return reply
  })
  return {
    clock,
    ...fake,
    result: invokeRemoteAgent(BASE, 'Hello', { fetch: fake.fetch, clock, ...options }),
    async pass(ms) {
      await settle()
      for (let passed = 0; passed < ms; passed += 1000) {
        clock.advance(Math.min(1000, ms - passed))
        await settle()
      }
      return fake.asked.length - 1
    },
  }
}

/** Of an agent whose task ends so at once. */
async function endedAs(task: object): Promise<RemoteInvocationResult> {
  return await invoke([{ body: { ...TASK, ...task } }]).result
}

describe('what is sent', () => {
  test('is the message, then questions for its task', async () => {
    const { result, asked } = invoke([done(said('Hi'))], { skill: 'greet', timeoutMs: 5000 }, 'a/b c?')
    expect(await result).toEqual({ success: true, taskId: 'a/b c?', responseText: 'Hi', error: null })
    expect(asked).toMatchObject([
      {
        method: 'POST',
        path: `${BASE}/a2a/tasks/send`,
        headers: { 'content-type': 'application/json' },
        body: '{"params":{"message":"Hello","skill":"greet","timeoutMs":5000}}',
      },
      { method: 'GET', path: `${BASE}/a2a/tasks/a%2Fb%20c%3F`, body: '' },
    ])
  })

  test('names no skill where none is given, and waits 5 minutes', async () => {
    const { result, asked } = invoke([done()])
    await result
    expect(asked[0]?.body).toBe('{"params":{"message":"Hello","timeoutMs":300000}}')
  })

  test('goes below the base URL, with credentials', async () => {
    const { fetch, asked } = fakeFetch(({ method }) => (method === 'POST' ? { body: TASK } : done()))
    const options = { fetch, auth: bearerAuth('x'), headers: { 'x-trace': '1' } }
    await invokeRemoteAgent(`${BASE}/agents/7//`, 'Hello', options)
    expect(asked.map(({ path }) => path)).toEqual([
      `${BASE}/agents/7/a2a/tasks/send`,
      `${BASE}/agents/7/a2a/tasks/t1`,
    ])
    for (const { headers } of asked) {
      expect(headers).toMatchObject({ authorization: 'Bearer x', 'x-trace': '1' })
    }
  })
})

describe('the task is asked for', () => {
  test('at once, then every 3 s', async () => {
    const working = { body: { ...TASK, state: 'working' } }
    const { result, pass } = invoke([working, working, done(said('Summary'))])
    expect(await pass(0)).toBe(1)
    expect(await pass(2000)).toBe(1)
    expect(await pass(1000)).toBe(2)
    expect(await pass(3000)).toBe(3)
    expect(await result).toEqual({ success: true, taskId: 't1', responseText: 'Summary', error: null })
  })

  test('as often as the caller wants', async () => {
    const { result, pass } = invoke([{ body: TASK }, done()], { pollIntervalMs: 1000 })
    expect(await pass(1000)).toBe(2)
    expect((await result).success).toBe(true)
  })

  test.each<[string, Reply | 'never' | Error]>([
    ['HTTP 408', { status: 408 }],
    ['HTTP 425', { status: 425 }],
    ['HTTP 429', { status: 429 }],
    ['HTTP 500', { status: 500, body: { ...TASK, state: 'failed' } }],
    ['no JSON', { body: '<html>' }],
    ['null', { body: 'null' }],
    ['no connection', new TypeError('fetch failed')],
    ['a state of no protocol', { body: { ...TASK, state: 'constructor' } }],
  ])('again when the answer is %s', async (_, bad) => {
    const { result, pass } = invoke([bad, done(said('Hi'))])
    await pass(3000)
    expect(await result).toMatchObject({ success: true, responseText: 'Hi' })
  })

  test.each<[string, Reply, RegExp]>([
    ['HTTP 400', { status: 400, body: 'no such route' }, /^Poll failed: HTTP 400 — no such route$/],
    ['HTTP 401', { status: 401 }, /^Poll failed: HTTP 401 — $/],
    ['HTTP 404', { status: 404, body: 'x'.repeat(2000) }, /^Poll failed: HTTP 404 — x{1000}…$/],
    ['too much', { body: 'x'.repeat(16_777_217) }, /^Poll failed: .*maxResponseBytes/],
  ])('no more when the answer is %s', async (_, refusal, error) => {
    const { result, asked, pass } = invoke([{ body: TASK }, refusal])
    expect(await pass(3000)).toBe(2)
    expect(await result).toMatchObject({ success: false, taskId: 't1', responseText: null })
    expect((await result).error).toMatch(error)
    expect(asked).toHaveLength(3)
  })

  test('again when there is no answer for 10 s', async () => {
    const { result, pass } = invoke(['never', done(said('Hi'))])
    expect(await pass(12_000)).toBe(1)
    expect(await pass(1000)).toBe(2)
    expect(await result).toMatchObject({ success: true })
  })
})

describe('what the agent says is', () => {
  test.each<[unknown, string | null]>([
    [[said('one'), said('two'), said('me', 'user')], 'two'],
    [[{ role: 'agent', parts: [{ text: 'first' }, { text: 'second' }] }], 'first'],
    [[said('')], ''],
    [[said('me', 'user')], null],
    [[said('one'), { role: 'agent', parts: [] }], null],
    [[{ role: 'agent' }], null],
    [[said(7)], null],
    [[null, 'x'], null],
    ['none', null],
    [undefined, null],
  ])('of %j: %j', async (messages, responseText) => {
    expect(await endedAs({ state: 'completed', messages })).toEqual({
      ...{ success: true, taskId: 't1', responseText, error: null },
    })
  })
})

describe('a task that does not succeed', () => {
  test.each<[string, string | undefined, string, string | null]>([
    ['failed', 'Out of tokens', 'Out of tokens', 'Out of tokens'],
    ['failed', undefined, 'Task failed', null],
    ['failed', '', 'Task failed', ''],
    ['canceled', undefined, 'Task canceled', null],
    ['cancelled', undefined, 'Task canceled', null],
    ['rejected', 'No', 'No', 'No'],
    ['rejected', undefined, 'Task rejected', null],
    ['input-required', 'Which one?', 'The agent asks for input: Which one?', 'Which one?'],
    ['input_required', undefined, 'The agent asks for input', null],
    ['auth-required', undefined, 'The agent asks for credentials', null],
  ])('%s, and says %j: %s', async (state, text, error, responseText) => {
    const messages = text === undefined ? [] : [said(text)]
    expect(await endedAs({ state, messages })).toEqual({ success: false, taskId: 't1', responseText, error })
  })
})

describe('a message that is not taken', () => {
  test.each<[string, Answerer, string]>([
    ['HTTP 500', () => ({ status: 500, body: 'out of order' }), 'HTTP 500 — out of order'],
    ['HTTP 400', () => ({ status: 400 }), 'HTTP 400 — '],
    ['a long answer', () => ({ status: 500, body: 'x'.repeat(2000) }), `HTTP 500 — ${'x'.repeat(1000)}…`],
    ['an endless answer', () => ({ status: 500, body: 'x'.repeat(16_777_217) }), 'HTTP 500 — unknown'],
    ['no task', () => ({ body: { state: 'submitted' } }), 'the answer has no task id'],
    ['an empty id', () => ({ body: { id: '' } }), 'the answer has no task id'],
    ['null', () => ({ body: 'null' }), 'the answer has no task id'],
    ['no JSON', () => ({ body: '<html>' }), `The agent's answer is not A2A: it is not JSON but "<html>"`],
  ])('%s', async (_, answer, error) => {
    const { fetch, asked } = fakeFetch(answer)
    const result = await invokeRemoteAgent(BASE, 'Hello', { fetch })
    expect(result).toEqual({ ...failed(`Submit failed: ${error}`) })
    expect(asked).toHaveLength(1)
  })

  test('because no agent is there, is a result', async () => {
    const result = await invokeRemoteAgent('http://127.0.0.1:1', 'Hello')
    expect(result.error).toMatch(/^Submit failed: .*127\.0\.0\.1/)
    expect(await invokeRemoteAgent('nowhere', 'Hello')).toMatchObject({ success: false, taskId: '' })
    const urlGuarded = await invokeRemoteAgent('http://10.0.0.1', 'Hello', { urlGuard: urlGuard() })
    const error = 'Submit failed: Blocked URL: 10.0.0.1 is a private/reserved IP address'
    expect(urlGuarded).toEqual(failed(error))
  })

  test('within 30 s', async () => {
    const clock = new ManualClock()
    const result = invokeRemoteAgent(BASE, 'Hello', { clock, fetch: fakeFetch(() => 'never').fetch })
    await settle()
    clock.advance(30_000)
    expect(await result).toEqual(failed('Submit failed: No answer within 30000 ms'))
  })
})

function failed(error: string, taskId = ''): RemoteInvocationResult {
  return { success: false, taskId, responseText: null, error }
}

describe('time', () => {
  test('is up after timeoutMs, and no later', async () => {
    const { result, clock, asked } = invoke([{ body: TASK }], { timeoutMs: 7000 })
    const ended = result.then(() => clock.monotonic())
    for (const ms of [3000, 3000, 999, 1]) {
      await settle()
      clock.advance(ms)
    }
    expect(await result).toEqual(failed('Timed out after 7000ms', 't1'))
    expect([await ended, asked.length, clock.pending]).toEqual([7000, 4, 0])
  })

  test('is up although the agent does not answer', async () => {
    const polling = invoke(['never'], { timeoutMs: 500 })
    await polling.pass(500)
    expect(await polling.result).toEqual(failed('Timed out after 500ms', 't1'))
    const clock = new ManualClock()
    const { fetch } = fakeFetch(() => 'never')
    const submitting = invokeRemoteAgent(BASE, 'Hello', { clock, fetch, timeoutMs: 500 })
    await settle()
    clock.advance(500)
    expect(await submitting).toEqual(failed('Timed out after 500ms'))
  })

  test.each(['submit', 'poll', 'pause'])('ends when the caller aborts: %s', async (during) => {
    const clock = new ManualClock()
    const { fetch } = fakeFetch(({ method }) =>
      during === 'submit' || (during === 'poll' && method === 'GET') ? 'never' : { body: TASK },
    )
    const caller = new AbortController()
    const failure = failureOf(invokeRemoteAgent(BASE, 'Hello', { fetch, clock, signal: caller.signal }))
    await settle()
    caller.abort('enough')
    expect(await failure).toMatchObject({ code: 'REQUEST_ABORTED', cause: 'enough' })
    expect(clock.pending).toBe(0)
  })
})

test.each<[InvokeOptions, typeof Error]>([
  [{ timeoutMs: 0 }, RangeError],
  [{ pollIntervalMs: NaN }, RangeError],
  [{ timeout: 1 } as object, TypeError],
])('refuses %j', async (options, error) => {
  expect(await failureOf(invokeRemoteAgent(BASE, 'Hello', options))).toBeInstanceOf(error)
})

describe('over HTTP', () => {
  test('as corvid-agent does it', async () => {
    const states = ['submitted', 'working', 'completed']
    const agent = await site(({ method }) => {
      if (method === 'POST') return { body: TASK }
      const state = states.shift()
      return { body: { ...TASK, state, messages: state === 'completed' ? [said('Grüße')] : [] } }
    })
    const result = await invokeRemoteAgent(agent.url, 'Hallo', { pollIntervalMs: 1, timeoutMs: 5000 })
    expect(result).toEqual({ success: true, taskId: 't1', responseText: 'Grüße', error: null })
    expect(agent.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /a2a/tasks/send',
      ...Array<string>(3).fill('GET /a2a/tasks/t1'),
    ])
  })
})

describe('protocol: auto', () => {
  test.each(['JSONRPC', 'HTTP+JSON'])('speaks A2A where the card offers it: %s', async (protocolBinding) => {
    const { url } = await serve({
      card: (url) => ({ supportedInterfaces: [{ url, protocolBinding, protocolVersion: '1.0' }] }),
      execute: ({ text }) => `You said: ${text}`,
    })
    const result = await invokeRemoteAgent(url, 'Hello', { protocol: 'auto' })
    expect(result).toMatchObject({ success: true, responseText: 'You said: Hello', error: null })
    expect(result.taskId).not.toBe('')
  })

  test('returns the text of a question or a failure, and why the call is no success', async () => {
    const { url } = await serve({
      async execute(run) {
        run.start()
        if (run.text === 'ask') await run.requireInput('Which one?')
        else run.fail('Broken')
      },
    })
    expect(await invokeRemoteAgent(url, 'ask', { protocol: 'auto' })).toMatchObject({
      ...{ success: false, responseText: 'Which one?', error: 'The agent asks for input: Which one?' },
    })
    expect(await invokeRemoteAgent(url, 'fail', { protocol: 'auto' })).toMatchObject({
      ...{ success: false, responseText: 'Broken', error: 'Broken' },
    })
  })

  test.each<[string, unknown]>([
    ['none', undefined],
    [
      'one of corvid-agent',
      { name: 'C', version: '1', url: BASE, supportedProtocols: [{ protocol: 'A2A', endpoint: BASE }] },
    ],
    [
      'one of another version',
      {
        name: 'C',
        version: '1',
        supportedInterfaces: [{ url: BASE, protocolBinding: 'JSONRPC', protocolVersion: '9.0' }],
      },
    ],
  ])('speaks as corvid-agent does where the card is %s', async (_, card) => {
    const { fetch, asked } = fakeFetch(({ method, path }) => {
      if (path.includes('/.well-known/')) return card === undefined ? { status: 404 } : { body: card }
      return method === 'POST' ? { body: TASK } : done(said('Hi'))
    })
    const result = await invokeRemoteAgent(BASE, 'Hello', { fetch, protocol: 'auto' })
    expect(result).toMatchObject({ success: true, responseText: 'Hi' })
    expect(asked.at(-2)?.path).toBe(`${BASE}/a2a/tasks/send`)
  })

  test('ends the task when the caller aborts', async () => {
    const caller = new AbortController()
    const ended = gate()
    const { url, handler } = await serve({
      execute(run) {
        run.start()
        run.signal.addEventListener('abort', () => ended.open())
        caller.abort('enough')
        return ended.opened
      },
    })
    const options = { protocol: 'auto', signal: caller.signal } as const
    const failure = await failureOf(invokeRemoteAgent(url, 'Hello', options))
    expect(failure).toMatchObject({ code: 'REQUEST_ABORTED', cause: 'enough' })
    await ended.opened
    expect(handler.tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
  })

  test('ends in time, and when the caller aborts', async () => {
    const { fetch } = fakeFetch(() => 'never')
    const clock = new ManualClock()
    const caller = new AbortController()
    const options = { fetch, clock, protocol: 'auto', timeoutMs: 500 } as const
    const late = invokeRemoteAgent(BASE, 'Hello', options)
    const failure = failureOf(invokeRemoteAgent(BASE, 'Hello', { ...options, signal: caller.signal }))
    await settle()
    caller.abort()
    expect(await failure).toMatchObject({ code: 'REQUEST_ABORTED' })
    clock.advance(500)
    expect(await late).toEqual(failed('Timed out after 500ms'))
  })
})
