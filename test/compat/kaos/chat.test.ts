/** What KAOS serves beside A2A: chat completions, whole and as a stream, and probes. */
import { TaskManager } from 'a2a-tasks'
import { RemoteAgent } from 'a2a-tasks/client'
import { LocalTaskManager, NullTaskManager, type ProcessFn, kaos } from 'a2a-tasks/compat'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { v1 } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { authenticate, ORIGIN } from '../../server/spec/support/agent.js'
import { serve, type Options } from './support/kaos.js'

interface Reachable {
  readonly fetch: (request: Request) => Promise<Response>
}

const card = { name: 'my-agent', url: ORIGIN }
const asked = (content: unknown, role = 'user') => ({ role, content })

function post(
  { fetch }: Reachable,
  body: object,
  headers: Record<string, string> = {},
  path = '/v1/chat/completions',
): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return fetch(new Request(`${ORIGIN}${path}`, { ...init, body: JSON.stringify(body) }))
}

interface Chunk {
  readonly id: string
  readonly choices: readonly { delta: { content?: string }; finish_reason: string | null }[]
}

/** The data of the events, whose last one is `[DONE]`. */
async function dataOf(response: Response): Promise<Chunk[]> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  expect(lines.pop()).toBe('data: [DONE]')
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as Chunk)
}

const textOf = (chunks: readonly Chunk[]) => chunks.map(({ choices }) => choices[0]?.delta.content).join('')

const local = (work: ProcessFn, options: Options = {}) =>
  serve(new LocalTaskManager(work, { onError: () => undefined }), options)
const run = (execute: Execute) =>
  createRequestHandler({ card, execute, onError: () => undefined, dialects: [v1(), kaos()] })

const AGENTS: readonly (readonly [string, (text: string) => Reachable])[] = [
  ['createTaskManagerHandler', (text) => local((said, { sessionId }) => `${text} ${said} ${sessionId}`)],
  ['createRequestHandler', (text) => run((run) => `${text} ${run.text} ${run.contextId}`)],
]

describe.each(AGENTS)('chat completions of %s', (_, agent) => {
  const messages = [asked('Be brief', 'system'), asked('Hello'), asked('Hi', 'assistant'), asked('Bye')]

  test('answer the last message of the user', async () => {
    const response = await post(agent('You said'), { model: 'm', messages, session_id: 's-1' })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      id: 's-1',
      object: 'chat.completion',
      created: expect.any(Number) as number,
      model: 'agent',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'You said Bye s-1' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    })
  })

  test('are in the session of the header, which precedes that of the body', async () => {
    const headers = { 'x-session-id': 's-2' }
    const response = await post(agent('You said'), { messages, session_id: 's-1' }, headers)
    expect(await response.json()).toMatchObject({ id: 's-2' })
  })

  test('answer a task that another agent has delegated, and a message of parts', async () => {
    const parts = [{ type: 'text', text: 'Do' }, { type: 'image_url' }, { type: 'text', text: 'it' }]
    const delegated = [asked('Hello'), asked(parts, 'task-delegation')]
    const response = await post(agent('Done:'), { messages: delegated, session_id: 's' })
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Done: Do it s' } }] })
  })

  test('stream', async () => {
    const chunks = await dataOf(await post(agent('You said'), { messages, stream: true, session_id: 's-1' }))
    expect(textOf(chunks)).toBe('You said Bye s-1')
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({ id: 's-1', object: 'chat.completion.chunk', model: 'agent' })
    }
    const ends = chunks.map(({ choices }) => choices[0]?.finish_reason)
    expect([ends.pop(), ...new Set(ends)]).toEqual(['stop', null])
  })

  test.each<[string, object, string]>([
    ['no messages', {}, 'messages are required'],
    ['an empty list', { messages: [] }, 'messages are required'],
    ['no prompt', { messages: [asked('x', 'system')] }, 'No user or task-delegation message found'],
    ['a prompt without text', { messages: [asked([null, 1])] }, 'Message must contain text content'],
    ['a message that is none', { messages: ['Hello'] }, 'messages[0] must be an object'],
    ['a stream that is no boolean', { messages, stream: 'yes' }, 'stream must be a boolean, got a string'],
  ])('refuse %s', async (_, body, detail) => {
    const response = await post(agent(''), body)
    expect([response.status, await response.json()]).toEqual([
      400,
      { detail, error: { type: 'invalid_request_error', message: detail } },
    ])
  })
})

describe('a chat whose task fails', () => {
  const error = { type: 'server_error', message: 'The agent could not finish this task' }
  const fail = (): never => {
    throw new Error('secret')
  }
  test.each<[string, () => Reachable]>([
    ['createTaskManagerHandler', () => local(fail)],
    ['createRequestHandler', () => run(fail)],
  ])('is an error of %s, and not an answer', async (_, agent) => {
    const messages = [asked('Hello')]
    const response = await post(agent(), { messages })
    expect([response.status, await response.json()]).toEqual([500, { detail: error.message, error }])
    const chunks = await dataOf(await post(agent(), { messages, stream: true }))
    expect(chunks.at(-1)).toEqual({ detail: error.message, error })
  })
})

test('a question is an answer, whole and as a stream', async () => {
  const agent = run(async (run) => {
    await run.requireInput('Which one?')
  })
  const messages = [asked('Hello')]
  expect(await (await post(agent, { messages })).json()).toMatchObject({
    choices: [{ message: { content: 'Which one?' } }],
  })
  expect(textOf(await dataOf(await post(agent, { messages, stream: true })))).toBe('Which one?')
})

test('a stream has the pieces as they are made, and what is not read is one', async () => {
  const agent = local(async function* () {
    yield 'One, '
    yield 'two, '
    await Promise.resolve()
    yield 'three'
  })
  const response = await post(agent, { messages: [asked('Count')], stream: true })
  expect(textOf(await dataOf(response))).toBe('One, two, three')
})

test('a reader that leaves does not end its task', async () => {
  const tasks = new TaskManager()
  let go: () => void = () => undefined
  const manager = new LocalTaskManager(
    async function* () {
      yield 'One'
      await new Promise<void>((resolve) => (go = resolve))
      yield 'two'
    },
    { tasks },
  )
  const response = await post(serve(manager), { messages: [asked('Count')], stream: true })
  await response.body?.getReader().cancel()
  const [task] = tasks.listTasks()
  go()
  expect(await tasks.waitFor(task?.id ?? '', { until: 'terminal' })).toMatchObject({ state: 'completed' })
})

test('the task of a chat is a task of its caller, and counts towards the rate limit', async () => {
  const clock = new ManualClock()
  const rateLimit = { requests: 1, perMs: 60_000 }
  const handler = local((_, { owner }) => String(owner), { authenticate, rateLimit, clock })
  const body = { messages: [asked('Who?')] }
  expect((await post(handler, body)).status).toBe(401)
  const headers = { authorization: 'ada' }
  expect(await (await post(handler, body, headers)).json()).toMatchObject({
    choices: [{ message: { content: 'ada' } }],
  })
  const refused = await post(handler, body, headers)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
})

test('without a store of tasks, the answer is empty', async () => {
  const messages = [asked('Hello')]
  const answer = await (await post(serve(new NullTaskManager()), { messages })).json()
  expect(answer).toMatchObject({ choices: [{ message: { content: '' } }] })
  const stream = await post(serve(new NullTaskManager()), { messages, stream: true })
  expect(textOf(await dataOf(stream))).toBe('')
})

test('a handler that closes takes no chat', async () => {
  const handler = local(() => 'done')
  await handler.close()
  for (const stream of [false, true]) {
    expect((await post(handler, { messages: [asked('Hello')], stream })).status).toBe(503)
  }
})

test('RemoteAgent falls back to the chat of our handler', async () => {
  const { fetch } = run((run) => `Chat: ${run.text}`)
  const chatOnly = { name: 'my-agent', description: '', version: '1' }
  const agent = new RemoteAgent({
    name: 'my-agent',
    cardUrl: ORIGIN,
    fetch: (url, init) =>
      url.endsWith('/agent.json') ? Promise.resolve(Response.json(chatOnly)) : fetch(new Request(url, init)),
  })
  expect(await agent.processMessage([asked('Hello')])).toBe('Chat: Hello')
})

describe('probes', () => {
  const probed = async ({ fetch }: Reachable, path: string, method = 'GET') => {
    const response = await fetch(new Request(`${ORIGIN}${path}`, { method }))
    return [response.status, method === 'GET' ? await response.json() : await response.text()]
  }

  test.each([
    ['/health', 'healthy'],
    ['/ready', 'ready'],
  ])('GET %s says %s, without credentials and without limit', async (path, status) => {
    const clock = new ManualClock()
    const handler = local(() => 'done', { authenticate, clock, rateLimit: { requests: 1, perMs: 60_000 } })
    const timestamp = Math.floor(clock.now() / 1_000)
    for (let count = 0; count < 3; count++) {
      expect(await probed(handler, path)).toEqual([200, { status, name: 'my-agent', timestamp }])
    }
    expect(await probed(handler, path, 'HEAD')).toEqual([200, ''])
    expect(await probed(handler, path, 'DELETE')).toEqual([405, ''])
  })

  test('are below the path of the card, and nowhere else', async () => {
    const handler = local(() => 'done', { card: { name: 'my-agent', url: `${ORIGIN}/agents/one` } })
    for (const path of ['/agents/one/health', '/one/ready', '/health']) {
      expect((await probed(handler, path))[0]).toBe(200)
    }
    expect((await probed(handler, '/other/health'))[0]).toBe(404)
  })

  test('say that a handler that closes is alive, and not ready', async () => {
    for (const handler of [local(() => 'done'), run(() => 'done')]) {
      await handler.close()
      expect((await probed(handler, '/health'))[0]).toBe(200)
      expect((await probed(handler, '/ready'))[0]).toBe(503)
    }
  })

  test('and chats are served with the dialect of KAOS only, unless it has none', async () => {
    for (const dialects of [undefined, [v1()], [v1(), kaos({ routes: false })]]) {
      const handler = createRequestHandler({ card, execute: () => 'done', dialects })
      expect((await probed(handler, '/health'))[0]).toBe(404)
      expect((await post(handler, { messages: [asked('Hello')] })).status).toBe(404)
    }
  })
})

describe('the card', () => {
  test.each([
    [[kaos()], true],
    [[kaos(), v1()], false],
  ])('says what streams: with the dialects %#, %s', (dialects, streaming) => {
    expect(local(() => 'done', { dialects }).card.capabilities.streaming).toBe(streaming)
  })
})
