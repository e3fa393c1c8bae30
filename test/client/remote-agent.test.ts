/** RemoteAgent: A2A, KAOS and chat completions. */
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { bearerAuth } from '../../src/http/auth.js'
import { RemoteAgent, type RemoteAgentOptions } from '../../src/client/remote-agent.js'
import { serve } from '../server/interop/support/agent.js'
import {
  failureOf,
  fakeFetch,
  settle,
  site,
  type Answerer,
  type FakeFetch,
  type Reply,
} from '../http/support/http.js'

const BASE = 'http://analyst:8000'
const KAOS_CARD = {
  name: 'analyst',
  url: 'http://localhost:8000',
  protocolVersion: '0.3.0',
  supportedProtocols: ['jsonrpc'],
}
const MESSAGES = [
  { role: 'system', content: 'Be brief' },
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Hi' },
  { role: 'user', content: 'Analyze this data' },
  { role: 'assistant', content: 'Wait' },
]
const CHAT: Reply = { body: { choices: [{ message: { role: 'assistant', content: 'By chat' } }] } }
const rpc = (result: unknown): Reply => ({ body: { jsonrpc: '2.0', id: 1, result } })
const done = (fields: object, state = 'completed'): Reply => rpc({ id: 't', status: { state }, ...fields })
const said = (text: string, role = 'agent'): object => ({ role, parts: [{ type: 'text', text }] })

interface Remote extends FakeFetch {
  readonly agent: RemoteAgent
  readonly fallbacks: unknown[]
  readonly paths: () => string[]
}

/** `answers` by path; 404 for others. */
function remote(
  answers: Readonly<Record<string, Reply | Answerer>>,
  options: Partial<RemoteAgentOptions> = {},
): Remote {
  const fake = fakeFetch((asked) => {
    const answer = answers[asked.path.replace(BASE, '')] ?? { status: 404 }
    return typeof answer === 'function' ? answer(asked) : answer
  })
  const fallbacks: unknown[] = []
  const onFallback = (error: unknown): void => void fallbacks.push(error)
  const all = { name: 'analyst', cardUrl: `${BASE}/`, fetch: fake.fetch, onFallback, ...options }
  return {
    ...fake,
    fallbacks,
    agent: new RemoteAgent(all),
    paths: () => fake.asked.map(({ method, path }) => `${method} ${path.replace(BASE, '')}`),
  }
}

const CARD = '/.well-known/agent.json'
const NEW_CARD = '/.well-known/agent-card.json'
const COMPLETIONS = '/v1/chat/completions'
const KAOS = { [CARD]: { body: KAOS_CARD }, [COMPLETIONS]: CHAT }

describe('an agent of KAOS', () => {
  test('gets the last message of the user', async () => {
    const { agent, asked } = remote({
      ...KAOS,
      '/': done({ artifacts: [{ parts: [{ type: 'text', text: 'Done' }] }] }),
    })
    expect(asked).toEqual([])
    expect(await agent.processMessage(MESSAGES)).toBe('Done')
    expect(await agent.processMessage(MESSAGES)).toBe('Done')
    const send = {
      method: 'POST',
      path: `${BASE}/`,
      body:
        '{"jsonrpc":"2.0","method":"SendMessage","id":1,"params":{"message":{"role":"user",' +
        '"parts":[{"type":"text","text":"Analyze this data"}],"metadata":{"delegation":true}}}}',
    }
    expect(asked).toMatchObject([{ method: 'GET', path: BASE + CARD }, send, send])
    expect(asked[1]?.headers).toMatchObject({ 'content-type': 'application/json' })
    expect(await agent.card()).toEqual(KAOS_CARD)
  })

  test.each<[string, object, string]>([
    [
      'its artifacts',
      {
        artifacts: [
          {
            parts: [
              { type: 'data', data: {} },
              { type: 'text', text: '' },
            ],
          },
          { parts: [{ text: 'A' }] },
        ],
        output: 'O',
      },
      'A',
    ],
    ['its output', { artifacts: [], output: 'O', history: [said('H')] }, 'O'],
    ['its last message', { output: '', history: [said('H1'), said('H2'), said('U', 'user')] }, 'H2'],
    ['its status', { history: [said('U', 'user')], status: { state: 'completed', message: 'Done' } }, 'Done'],
    ['nothing', {}, ''],
    ['what it asks', { status: { state: 'input-required', message: 'Which one?' } }, 'Which one?'],
    [
      'nothing that it should not say',
      { artifacts: [null, { parts: 7 }], history: 'x', output: 1, status: 's' },
      '',
    ],
  ])('says %s', async (_, task, text) => {
    const { agent, fallbacks } = remote({ ...KAOS, '/': done(task) })
    expect(await agent.processMessage(MESSAGES)).toBe(text)
    expect(fallbacks).toEqual([])
  })
})

describe('all messages go by chat completions', () => {
  test.each<[string, Reply | Answerer, string]>([
    [
      'an error',
      { body: { error: { code: -32603, message: 'Broken' } } },
      'Agent analyst: A2A error: Broken',
    ],
    [
      'a failed task',
      done({ status: { state: 'failed', message: 'Boom' } }),
      'Agent analyst: task failed: Boom',
    ],
    ['a canceled task', done({}, 'canceled'), 'Agent analyst: task canceled: '],
    ['a rejected task', done({}, 'rejected'), 'Agent analyst: task rejected: '],
    ['HTTP 500', { status: 500 }, `A2A: ${BASE}/ answered HTTP 500 Internal Server Error`],
    ['no JSON', { body: '<html>' }, `The agent's answer is not A2A: it is not JSON but "<html>"`],
    [
      'no connection',
      () => {
        throw new TypeError('fetch failed')
      },
      `A2A: ${BASE}/ cannot be reached: fetch failed`,
    ],
  ])('after %s', async (_, answer, message) => {
    const { agent, asked, fallbacks } = remote({ ...KAOS, '/': answer })
    expect(await agent.processMessage(MESSAGES)).toBe('By chat')
    expect(fallbacks).toMatchObject([{ message }])
    const { path, body } = asked.at(-1) ?? {}
    expect(path).toBe(BASE + COMPLETIONS)
    expect(JSON.parse(body ?? '')).toEqual({ model: 'analyst', messages: MESSAGES, stream: false })
  })

  test.each<[string, object]>([
    ['no protocols', { name: 'analyst' }],
    ['others', { name: 'analyst', supportedProtocols: ['grpc'], preferredTransport: 'GRPC' }],
  ])('where the card offers %s', async (_, card) => {
    const { agent, paths, fallbacks } = remote({ ...KAOS, [CARD]: { body: card } })
    expect(await agent.processMessage(MESSAGES)).toBe('By chat')
    expect(paths()).toEqual([`GET ${CARD}`, `POST ${COMPLETIONS}`])
    expect(fallbacks).toEqual([])
  })

  test.each([
    ['there are no messages', []],
    ['the user has said nothing', [{ role: 'user', content: '' }]],
    ['the user has said more than a text', [{ role: 'user', content: [{ type: 'image_url' }] }]],
  ])('where %s', async (_, messages) => {
    const { agent, paths } = remote(KAOS)
    expect(await agent.processMessage(messages)).toBe('By chat')
    expect(paths()).toEqual([`GET ${CARD}`, `POST ${COMPLETIONS}`])
  })
})

describe('an agent that fails', () => {
  test('is unavailable without a card, until it has one', async () => {
    let isUp = false
    const { agent, paths } = remote({
      ...KAOS,
      [CARD]: () => (isUp ? { body: { name: 'a' } } : { status: 503 }),
    })
    for (const failing of [agent.processMessage(MESSAGES), agent.card()]) {
      expect(await failureOf(failing)).toMatchObject({
        code: 'EXTERNAL_SERVICE_ERROR',
        message: `Agent analyst unavailable at ${BASE}`,
        data: { service: 'Agent analyst', url: BASE },
        cause: { data: { status: 503 } },
      })
    }
    expect(paths()).toEqual([`GET ${CARD}`])
    isUp = true
    expect(await agent.processMessage(MESSAGES)).toBe('By chat')
  })

  test.each<[string, Reply, string]>([
    [
      'HTTP 500',
      { status: 500 },
      `ExternalServiceError: A2A: ${BASE}${COMPLETIONS} answered HTTP 500 Internal Server Error`,
    ],
    [
      'no choices',
      { body: { choices: [] } },
      `InvalidAgentResponseError: The agent's answer is not A2A: choices[0].message.content is not a string`,
    ],
  ])('in the chat says so: %s; then its card is fetched again', async (_, reply, problem) => {
    const replies = [reply, CHAT]
    const { agent, paths } = remote({
      [CARD]: { body: { name: 'a' } },
      [COMPLETIONS]: () => replies.shift() ?? {},
    })
    expect(await failureOf(agent.processMessage(MESSAGES))).toMatchObject({
      code: 'EXTERNAL_SERVICE_ERROR',
      message: `Agent analyst: ${problem}`,
      data: { service: 'Agent analyst', url: BASE },
    })
    expect(await agent.processMessage(MESSAGES)).toBe('By chat')
    expect(paths()).toEqual([`GET ${CARD}`, `POST ${COMPLETIONS}`, `GET ${CARD}`, `POST ${COMPLETIONS}`])
  })

  test('is waited for 60 s', async () => {
    const clock = new ManualClock()
    const { agent, fallbacks } = remote({ ...KAOS, '/': () => 'never' }, { clock })
    const answer = agent.processMessage(MESSAGES)
    await settle()
    clock.advance(59_999)
    expect(fallbacks).toEqual([])
    clock.advance(1)
    expect(await answer).toBe('By chat')
    expect(fallbacks).toMatchObject([{ code: 'REQUEST_TIMED_OUT' }])
  })

  test.each([CARD, '/', COMPLETIONS])('is left when the caller aborts: %s', async (path) => {
    const { agent, fallbacks } = remote({ ...KAOS, [path]: () => 'never' })
    const caller = new AbortController()
    const failure = failureOf(agent.processMessage(MESSAGES, { signal: caller.signal }))
    await settle()
    caller.abort('enough')
    expect(await failure).toMatchObject({ code: 'REQUEST_ABORTED', cause: 'enough' })
    expect(fallbacks).toHaveLength(path === COMPLETIONS ? 1 : 0)
  })

  test('sends no more than can be read', async () => {
    const endless = { body: 'x'.repeat(16_777_217) }
    const { agent } = remote({ [CARD]: { body: KAOS_CARD }, '/': endless, [COMPLETIONS]: endless })
    expect(await failureOf(agent.processMessage(MESSAGES))).toMatchObject({
      cause: { code: 'LIMIT_EXCEEDED' },
    })
  })
})

describe('the card', () => {
  test.each([{ status: 404 }, { body: '<html>' }])(
    'is fetched from the path of A2A if %j',
    async (missing) => {
      const { agent, paths } = remote({ ...KAOS, [CARD]: missing, [NEW_CARD]: { body: { name: 'a' } } })
      expect(await agent.processMessage(MESSAGES)).toBe('By chat')
      expect(paths()).toEqual([`GET ${CARD}`, `GET ${NEW_CARD}`, `POST ${COMPLETIONS}`])
    },
  )

  test('is fetched once for all callers that wait, even if some of them abort', async () => {
    const { agent, paths } = remote(KAOS)
    const caller = new AbortController()
    const gone = failureOf(agent.processMessage(MESSAGES, { signal: caller.signal }))
    const others = Promise.all([agent.card(), agent.card()])
    caller.abort()
    expect(await gone).toMatchObject({ code: 'REQUEST_ABORTED' })
    const [first, second] = await others
    expect(first).toEqual(KAOS_CARD)
    expect(first).not.toBe(second)
    expect(paths()).toEqual([`GET ${CARD}`])
  })
})

describe('headers', () => {
  test('go with every request to the agent', async () => {
    let span = 0
    const injectHeaders = (headers: Record<string, string>): void => {
      headers['traceparent'] = `span-${(span += 1)}`
    }
    const options = { injectHeaders, auth: bearerAuth('x'), headers: { 'x-tenant': 'a' } }
    const { agent, asked } = remote({ ...KAOS, '/': { status: 500 } }, options)
    await agent.processMessage(MESSAGES)
    const own = { authorization: 'Bearer x', 'x-tenant': 'a' }
    expect(asked.map(({ headers }) => headers)).toMatchObject([
      { ...own, traceparent: 'span-1' },
      { ...own, traceparent: 'span-2' },
      { ...own, traceparent: 'span-3' },
    ])
  })

  test('go with credentials that are renewed', async () => {
    const tokens = ['old', 'new']
    const auth = bearerAuth(() => tokens.shift() ?? 'new')
    const answer: Answerer = ({ headers }) => ({
      ...{ status: headers['authorization'] === 'Bearer old' ? 401 : 200, body: { name: 'a' } },
    })
    const { agent, asked } = remote({ [CARD]: answer }, { auth, injectHeaders: () => undefined })
    await agent.card()
    expect(asked.map(({ headers }) => headers['authorization'])).toEqual(['Bearer old', 'Bearer new'])
  })
})

describe('the arguments', () => {
  test.each([
    [undefined, TypeError, '"cardUrl" must be a string, got undefined'],
    ['', RangeError, '"cardUrl" must not be empty'],
  ])('need a cardUrl: %j', (cardUrl, kind, text) => {
    const options = { name: 'analyst', cardUrl: cardUrl as string }
    expect(() => new RemoteAgent(options)).toThrow(kind)
    expect(() => new RemoteAgent(options)).toThrow(text)
  })

  test('refuse unknown names and invalid values', () => {
    expect(() => remote({}, { timeoutMs: 0 })).toThrow(RangeError)
    expect(() => remote({}, { card_url: BASE } as object)).toThrow('Unknown option "card_url" of RemoteAgent')
  })

  test('are kept', () => {
    expect(remote({}).agent).toMatchObject({ name: 'analyst', cardUrl: BASE })
  })
})

describe('over HTTP', () => {
  test('an agent of KAOS', async () => {
    const kaos = await site(({ path }) =>
      path === CARD ? { body: KAOS_CARD } : done({ history: [said('Grüße')] }),
    )
    const agent = new RemoteAgent({ name: 'analyst', cardUrl: kaos.url })
    expect(await agent.processMessage(MESSAGES)).toBe('Grüße')
    expect(kaos.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([`GET ${CARD}`, 'POST /'])
  })

  test('an agent of A2A', async () => {
    const fallbacks: unknown[] = []
    const traces: (string | null)[] = []
    const { url } = await serve({
      authenticate: ({ headers }) => {
        traces.push(headers.get('traceparent'))
        return { id: 'user' }
      },
      async execute(run) {
        run.start()
        if (run.text === 'ask') await run.requireInput('Which one?')
        else if (run.text === 'fail') run.fail('Broken')
        else run.complete(`You said: ${run.text}`)
      },
    })
    const agent = new RemoteAgent({
      name: 'analyst',
      cardUrl: url,
      onFallback: (error) => fallbacks.push(error),
      injectHeaders: (headers) => Object.assign(headers, { traceparent: 'span' }),
    })
    const ask = (content: string): Promise<string> => agent.processMessage([{ role: 'user', content }])
    expect(await ask('Hello')).toBe('You said: Hello')
    expect(await ask('ask')).toBe('Which one?')
    expect(fallbacks).toEqual([])
    expect(new Set(traces)).toEqual(new Set(['span']))
    expect(await failureOf(ask('fail'))).toMatchObject({
      message: `Agent analyst: ExternalServiceError: A2A: ${url}/v1/chat/completions answered HTTP 404 Not Found`,
    })
    expect(fallbacks).toMatchObject([{ message: 'Agent analyst: task failed: Broken' }])
  })
})
