/** The examples of A2A 0.1, and what else its clients send, through a handler that speaks everything. */
import type { JsonObject } from 'a2a-tasks/schemas'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { pushAgent, receiver, until } from '../../server/push/support/push.js'
import { agent, EVERY } from '../support/agent.js'
import { authenticate, gate, ORIGIN, post } from '../../server/spec/support/agent.js'
import { failure, fetched, listen, result, send } from '../../server/dialects/support/dialects.js'

const CARD = { name: 'Test', url: ORIGIN }
/** A client that says what it speaks. */
const OLD = { headers: { 'a2a-version': '0.1' } }

const TIME = expect.stringMatching(/^\d{4}-.*Z$/) as unknown
const text = (it: string) => ({ type: 'text', text: it })
const said = (it: string) => ({ role: 'agent', parts: [text(it)] })
const say = (id: string, it: string, more: object = {}) => ({
  id,
  message: { role: 'user', parts: [text(it)] },
  ...more,
})
const A_STRING = expect.any(String) as unknown
const A_LIST = expect.any(Array) as unknown

/** Asks for a name, and greets. */
const ask: Execute = async (run) => {
  const { parts } = await run.requireInput('What is your name?')
  return `Hello ${parts[0]?.text ?? ''}`
}

/** Works until it is stopped. */
const endless: Execute = (run) =>
  new Promise((_, reject) => {
    run.signal.addEventListener('abort', () => reject(run.signal.reason as Error))
  })

describe('the examples of the specification', () => {
  test('9.1: a question, and its answer', async () => {
    const a = agent((run) => {
      run.artifact({ name: 'Answer', parts: [{ text: 'The capital of France is Paris.' }] })
      run.complete('The capital of France is Paris.')
    })
    const params = {
      id: 'task-abc-123',
      sessionId: 'session-xyz-789',
      message: { role: 'user', parts: [{ type: 'text', text: 'What is the capital of France?' }] },
    }
    const body = { jsonrpc: '2.0', id: 'req-001', method: 'tasks/send', params }
    expect(await send(a, '/', body)).toEqual({
      status: 200,
      body: {
        jsonrpc: '2.0',
        id: 'req-001',
        result: {
          id: 'task-abc-123',
          sessionId: 'session-xyz-789',
          status: { state: 'completed', message: said('The capital of France is Paris.'), timestamp: TIME },
          artifacts: [{ name: 'Answer', index: 0, parts: [text('The capital of France is Paris.')] }],
        },
      },
    })
  })

  test('9.2: a story, piece by piece', async () => {
    const a = agent((run) => {
      run.update("Okay, I'm starting to write that story for you...")
      const about = { artifactId: 'story', name: 'MarsStory.txt' }
      run.artifact({ ...about, parts: [{ text: 'A rover trundled. ' }] })
      run.artifact({ ...about, parts: [{ text: 'It beeped.' }] }, { lastChunk: true })
      run.complete('The story is complete!')
    })
    const stream = await listen(a, 'tasks/sendSubscribe', say('task-story-456', 'Write a very short story'))
    const status = (state: string, final: boolean, message?: string) => ({
      id: 'task-story-456',
      status: { state, ...(message !== undefined && { message: said(message) }), timestamp: TIME },
      final,
    })
    const artifact = (it: string, append: boolean, lastChunk: boolean) => ({
      id: 'task-story-456',
      artifact: { name: 'MarsStory.txt', index: 0, parts: [text(it)], append, lastChunk },
    })
    expect(await stream.results()).toEqual([
      status('submitted', false),
      status('working', false),
      status('working', false, "Okay, I'm starting to write that story for you..."),
      artifact('A rover trundled. ', false, false),
      artifact('It beeped.', true, true),
      status('completed', true, 'The story is complete!'),
    ])
  })

  test('9.3: a task that needs input, and gets it by the same id', async () => {
    const a = agent(ask)
    const asked = await result(a, 'tasks/send', say('task-flightbook-789', 'Greet me'))
    expect(asked).toMatchObject({
      id: 'task-flightbook-789',
      status: { state: 'input-required', message: said('What is your name?') },
    })
    expect(await result(a, 'tasks/send', say('task-flightbook-789', 'Ada'))).toMatchObject({
      id: 'task-flightbook-789',
      sessionId: asked['sessionId'],
      status: { state: 'completed' },
      artifacts: [{ parts: [text('Hello Ada')] }],
    })
    expect(a.tasks.size()).toBe(1)
  })

  test('9.5: files, there and back', async () => {
    const a = agent((run) => {
      const [, ...files] = run.message.parts
      run.artifact({ name: 'processed', parts: [{ url: 'https://storage.example/output.png' }, ...files] })
    })
    const bytes = { name: 'input_image.png', mimeType: 'image/png', bytes: 'iVBORw0KGgo=' }
    const message = { role: 'user', parts: [text('Highlight any faces.'), { type: 'file', file: bytes }] }
    expect(await result(a, 'tasks/send', { id: 'task-imageanalysis-bbb', message })).toMatchObject({
      artifacts: [
        {
          name: 'processed',
          parts: [
            { type: 'file', file: { uri: 'https://storage.example/output.png' } },
            { type: 'file', file: bytes },
          ],
        },
      ],
    })
  })

  test('9.6: data, and the form that the client fills in', async () => {
    const a = agent((run) => {
      const { metadata } = run.message.parts[0] ?? {}
      run.artifact({ parts: [{ data: { ticketId: 'IT00123', asked: { ...metadata } } }] })
    })
    const metadata = { desiredOutputMimeType: 'application/json' }
    const message = { role: 'user', parts: [{ ...text('List my open tickets.'), metadata }] }
    expect(await result(a, 'tasks/send', { id: 'task-gettickets-ccc', message })).toMatchObject({
      artifacts: [{ index: 0, parts: [{ type: 'data', data: { ticketId: 'IT00123', asked: metadata } }] }],
    })
  })
})

describe('tasks/send to a task that there is', () => {
  test('continues it in its own session, whatever session the client makes up', async () => {
    const a = agent(ask)
    await result(a, 'tasks/send', say('t', 'hi', { sessionId: 'one' }))
    const sent = await result(a, 'tasks/send', say('t', 'Ada', { sessionId: 'two', historyLength: 9 }))
    expect(sent).toMatchObject({
      sessionId: 'one',
      status: { state: 'completed' },
      history: [{ parts: [text('hi')] }, said('What is your name?'), { parts: [text('Ada')] }],
    })
  })

  test('is refused when it has ended, also over a stream, and the task stays as it is', async () => {
    const a = agent((run) => `You said: ${run.text}`)
    const sent = await result(a, 'tasks/send', say('t', 'hi'))
    const ended = { code: -32009, message: expect.stringContaining('terminal') as unknown }
    expect(await failure(a, 'tasks/send', say('t', 'more'))).toMatchObject(ended)
    const stream = await listen(a, 'tasks/sendSubscribe', say('t', 'more'))
    expect(await stream.next()).toMatchObject({ body: { id: 1, error: ended } })
    expect(await stream.next()).toBeUndefined()
    expect(await result(a, 'tasks/get', { id: 't' })).toEqual(sent)
  })

  test('is more to do where it is still worked on', async () => {
    const go = gate()
    const a = agent(async (run) => {
      await go.opened
      return `You said: ${run.text}`
    })
    const first = result(a, 'tasks/send', say('t', 'one'))
    const second = result(a, 'tasks/send', say('t', 'two'))
    go.open()
    const artifacts = [{ parts: [text('You said: one')] }, { parts: [text('You said: two')] }]
    expect(await first).toMatchObject({ id: 't', status: { state: 'completed' }, artifacts })
    expect(await second).toEqual(await first)
  })
})

describe('tasks/get', () => {
  test('answers in 0.1 without a word of the version', async () => {
    const a = agent((run) => `You said: ${run.text}`)
    const sent = await result(a, 'tasks/send', say('t', 'hi'))
    expect(await result(a, 'tasks/get', { id: 't', metadata: {} })).toEqual(sent)
    expect(sent).not.toHaveProperty('kind')
  })

  test.each([
    ['is absent', {}, undefined],
    ['is null', { historyLength: null }, undefined],
    ['is 0', { historyLength: 0 }, undefined],
    ['is 1', { historyLength: 1 }, ['Ada']],
    ['is 2', { historyLength: 2 }, ['What is your name?', 'Ada']],
    ['is more than there is', { historyLength: 99 }, ['hi', 'What is your name?', 'Ada']],
  ])('shows the latest messages: historyLength %s', async (_, more, texts) => {
    const a = agent(ask)
    await result(a, 'tasks/send', say('t', 'hi'))
    await result(a, 'tasks/send', say('t', 'Ada'))
    const { history } = await result(a, 'tasks/get', { id: 't', ...more })
    expect(history).toEqual(
      texts?.map((it) => ({ role: it === 'What is your name?' ? 'agent' : 'user', parts: [text(it)] })),
    )
  })
})

describe('tasks/cancel', () => {
  test('stops the work, and streams receive the cancellation', async () => {
    const a = agent(endless)
    const stream = await listen(a, 'tasks/sendSubscribe', say('t', 'hi'))
    expect(await result(a, 'tasks/cancel', { id: 't' })).toEqual({
      id: 't',
      sessionId: A_STRING,
      status: { state: 'canceled', timestamp: TIME },
    })
    expect((await stream.results()).at(-1)).toEqual({
      id: 't',
      status: { state: 'canceled', timestamp: TIME },
      final: true,
    })
  })

  test('is refused when the task has ended', async () => {
    const a = agent(() => 'done')
    await result(a, 'tasks/send', say('t', 'hi'))
    expect(await failure(a, 'tasks/cancel', { id: 't' })).toMatchObject({ code: -32002 })
  })
})

describe('tasks/resubscribe', () => {
  test('reports the state of the task, and later events', async () => {
    const go = gate()
    const a = agent(async (run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'one' }] })
      await go.opened
      run.artifact({ artifactId: 'b', parts: [{ text: 'two' }] })
    })
    const first = await listen(a, 'tasks/sendSubscribe', say('t', 'hi'))
    await first.leave()
    const second = await listen(a, 'tasks/resubscribe', { id: 't' })
    go.open()
    expect(await second.results()).toMatchObject([
      { id: 't', artifact: { index: 0, parts: [text('one')], append: false, lastChunk: false } },
      { id: 't', status: { state: 'working' }, final: false },
      { id: 't', artifact: { index: 1, parts: [text('two')], append: false } },
      { id: 't', status: { state: 'completed' }, final: true },
    ])
  })

  test('resumes where the client has left off', async () => {
    const a = agent((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'one' }] })
      run.artifact({ artifactId: 'a', parts: [{ text: 'two' }] })
    })
    const first = await listen(a, 'tasks/sendSubscribe', say('t', 'hi'))
    const seen = [await first.next(), await first.next(), await first.next()]
    await first.leave()
    expect(seen.at(-1)?.body).toMatchObject({ result: { artifact: { index: 0, parts: [text('one')] } } })
    const headers = { 'last-event-id': seen.at(-1)?.id ?? '' }
    const second = await listen(a, 'tasks/resubscribe', { id: 't' }, { headers })
    expect(await second.results()).toMatchObject([
      { artifact: { index: 0, parts: [text('two')], append: true } },
      { status: { state: 'completed' }, final: true },
    ])
  })

  test('sends the artifacts and the end of a task that has ended', async () => {
    const a = agent(() => 'done')
    await result(a, 'tasks/send', say('t', 'hi'))
    const stream = await listen(a, 'tasks/resubscribe', { id: 't' })
    expect(await stream.results()).toMatchObject([
      { id: 't', artifact: { index: 0, parts: [text('done')], append: false, lastChunk: true } },
      { id: 't', status: { state: 'completed' }, final: true },
    ])
  })
})

describe('tasks/pushNotification', () => {
  test('a webhook that comes with the message receives the whole task', async () => {
    const hook = await receiver()
    const a = pushAgent({ dialects: EVERY })
    const authentication = { schemes: ['Bearer'], credentials: 'c' }
    const pushNotification = { url: hook.url, token: 'secret', authentication }
    const sent = await a.call<JsonObject>('tasks/send', say('t', 'hi', { pushNotification }))
    await until(() => hook.received.some(({ body }) => JSON.stringify(body).includes('completed')))
    const last = hook.received.at(-1)
    const history = [{ role: 'user', parts: [text('hi')] }]
    expect(last?.body).toEqual({ ...sent, history, taskId: 't' })
    expect(last?.headers).toMatchObject({
      authorization: 'Bearer c',
      'x-a2a-notification-token': 'secret',
    })
  })

  test('set and get: a task has one, and the next takes its place', async () => {
    const [first, second] = [await receiver(), await receiver()]
    const a = pushAgent({ dialects: EVERY, execute: (run) => void run.requireInput('Really?') })
    await a.call('tasks/send', say('t', 'hi'))
    const config = (url: string) => ({ id: 't', pushNotificationConfig: { url } })
    for (const { url } of [first, second]) {
      expect(await a.call('tasks/pushNotification/set', config(url))).toEqual(config(url))
      expect(await a.call('tasks/pushNotification/get', { id: 't' })).toEqual(config(url))
    }
    expect(await a.handler.push.health('t')).toHaveLength(1)
  })

  test('finds no task for an unknown id, or for a task of another owner', async () => {
    const hook = await receiver()
    const a = pushAgent({ dialects: EVERY, authenticate, execute: (run) => void run.requireInput('Really?') })
    const [ann, bob] = [{ principal: { id: 'ann' } }, { principal: { id: 'bob' } }]
    await a.call('tasks/send', say('t', 'hi'), ann)
    const get = (id: string, who: object) => a.call('tasks/pushNotification/get', { id }, who)
    await expect(get('t', ann)).rejects.toThrow('-32001')
    const set = { id: 't', pushNotificationConfig: { url: hook.url } }
    await expect(a.call('tasks/pushNotification/set', set, bob)).rejects.toThrow('-32001')
    await a.call('tasks/pushNotification/set', set, ann)
    await expect(get('t', bob)).rejects.toThrow('-32001')
  })

  test('is refused where the agent has none', async () => {
    const a = agent(() => 'done', { push: false })
    const pushNotificationConfig = { url: 'https://client.example/' }
    const refused = { code: -32003 }
    const sent = say('t', 'hi', { pushNotification: pushNotificationConfig })
    expect(await failure(a, 'tasks/send', sent)).toMatchObject(refused)
    expect(a.tasks.size()).toBe(0)
    const set = { id: 't', pushNotificationConfig }
    expect(await failure(a, 'tasks/pushNotification/set', set)).toMatchObject(refused)
  })
})

describe('an error has a code of 0.1, a text, and an object of details; HTTP says 200', () => {
  test.each([
    ['an unknown task', 'tasks/get', { id: 'x' }, -32001, 'TASK_NOT_FOUND'],
    ['an unknown task to cancel', 'tasks/cancel', { id: 'x' }, -32001, 'TASK_NOT_FOUND'],
    ['no id', 'tasks/get', {}, -32602, 'INVALID_PARAMS'],
    ['no message', 'tasks/send', { id: 'x' }, -32602, 'INVALID_PARAMS'],
    [
      'a message of the agent',
      'tasks/send',
      { id: 'x', message: { role: 'agent', parts: [text('hi')] } },
      -32602,
      'INVALID_PARAMS',
    ],
    [
      'a part of a type of its own',
      'tasks/send',
      { id: 'x', message: { role: 'user', parts: [{ type: 'form', form: {} }] } },
      -32602,
      'INVALID_PARAMS',
    ],
  ])('%s', async (_, method, params, code, reason) => {
    const a = agent(() => 'done')
    const error = await failure(a, method, params, OLD)
    expect(error).toEqual({ code, message: A_STRING, data: { details: A_LIST } })
    expect(JSON.stringify(error['data'])).toContain(reason)
    expect(a.tasks.size()).toBe(0)
  })

  test.each(['tasks/sendSubscribe', 'tasks/resubscribe'])(
    '%s of an agent that does not stream',
    async (method) => {
      const a = agent(() => 'done', { card: { ...CARD, capabilities: { streaming: false } } })
      const stream = await listen(a, method, say('t', 'hi'), OLD)
      expect(await stream.next()).toMatchObject({ body: { id: 1, error: { code: -32006 } } })
      expect(await stream.next()).toBeUndefined()
    },
  )

  test('an agent that has too much to do', async () => {
    const a = agent(endless, { limits: { maxRuns: 1 } })
    const stream = await listen(a, 'tasks/sendSubscribe', say('t', 'hi'))
    expect(await failure(a, 'tasks/send', say('other', 'hi'))).toMatchObject({ code: -32603 })
    await stream.leave()
  })

  test('an agent that throws has a failed task, and its text stays inside', async () => {
    const a = agent(() => {
      throw new Error('secret')
    })
    const sent = await result(a, 'tasks/send', say('t', 'hi'))
    expect(sent).toMatchObject({ id: 't', status: { state: 'failed', message: { role: 'agent' } } })
    expect(JSON.stringify(sent)).not.toContain('secret')
  })

  test('an agent that replies without a task has created one anyway', async () => {
    const a = agent((run) => run.reply('hello'))
    expect(await result(a, 'tasks/send', say('t', 'hi'))).toMatchObject({
      id: 't',
      status: { state: 'completed', message: said('hello') },
    })
  })

  test('a body that is no JSON-RPC, where 0.1 is the preferred version', async () => {
    const a = agent(() => 'done', { defaultDialect: '0.1' })
    expect(await send(a, '/', '{')).toMatchObject({
      status: 200,
      body: { id: null, error: { code: -32700 } },
    })
    expect(await send(a, '/', [])).toMatchObject({ status: 200, body: { id: null, error: { code: -32600 } } })
    expect(await failure(a, 'tasks/foo', {})).toMatchObject({ code: -32601 })
  })
})

describe('authentication', () => {
  test('a request without credentials gets 401, and the code of 0.1 if that is the preferred version', async () => {
    const a = agent(() => 'done', { authenticate, defaultDialect: '0.1' })
    const body = { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: say('t', 'hi') }
    const response = await a.handler.fetch(post('/', body))
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="Test"'])
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32007 } })
    expect(a.tasks.size()).toBe(0)
  })

  test('the card at /.well-known/agent.json says what is asked for', async () => {
    const securitySchemes = { any: { httpAuthSecurityScheme: { scheme: 'bearer' } } }
    const a = agent(() => 'done', { authenticate, card: { ...CARD, securitySchemes } })
    const { status, body } = await fetched(a, '/.well-known/agent.json')
    expect(status).toBe(200)
    expect(body).toMatchObject({ url: ORIGIN, authentication: { schemes: ['Bearer'] } })
  })
})

describe('beside the others', () => {
  const ASKED = { message: { role: 'user', parts: [text('hi')] } }
  const SENT_0_3 = { message: { ...ASKED.message, kind: 'message', messageId: 'm' } }

  test('each task is got in the version in which it was made, without a word of it', async () => {
    const a = agent(() => 'done')
    await result(a, 'tasks/send', say('t', 'hi'))
    const { id: later } = await result(a, 'message/send', SENT_0_3)
    const { id: ofKaos } = await result(a, 'tasks/send', ASKED)
    const got = (id: unknown) => result(a, 'tasks/get', { id })
    expect(await got('t')).toEqual(await result(a, 'tasks/get', { id: 't' }, OLD))
    expect(await got('t')).not.toHaveProperty('kind')
    expect(await got(later)).toMatchObject({ kind: 'task', artifacts: [{ artifactId: A_STRING }] })
    expect(await got(ofKaos)).toMatchObject({ output: 'done', status: { message: 'Done' } })
  })

  test('each refusal is in that version, too', async () => {
    const a = agent(() => 'done')
    await result(a, 'tasks/send', say('t', 'hi'))
    const { id: later } = await result(a, 'message/send', SENT_0_3)
    expect(await failure(a, 'tasks/cancel', { id: 't' })).toMatchObject({
      code: -32002,
      data: { details: [{}] },
    })
    expect(await failure(a, 'tasks/cancel', { id: later })).toMatchObject({ code: -32002, data: [{}] })
  })

  test('each stream is resumed in that version', async () => {
    const a = agent(() => 'done')
    await result(a, 'tasks/send', say('t', 'hi'))
    const stream = await listen(a, 'tasks/resubscribe', { id: 't' })
    expect((await stream.results()).at(-1)).toMatchObject({ id: 't', final: true })
    const { id: later } = await result(a, 'message/send', SENT_0_3)
    const ofLater = await listen(a, 'tasks/resubscribe', { id: later })
    expect(await ofLater.results()).toMatchObject([{ kind: 'task', id: later }])
  })

  test('a request that names its version is answered in it, whatever client made the task', async () => {
    const a = agent(() => 'done')
    await result(a, 'tasks/send', say('t', 'hi'))
    const version = (it: string) => ({ headers: { 'a2a-version': it } })
    expect(await result(a, 'tasks/get', { id: 't' }, version('0.3'))).toMatchObject({ kind: 'task' })
    expect(await result(a, 'tasks/get', { id: 't' }, version('kaos'))).toMatchObject({ output: 'done' })
    expect(await result(a, 'GetTask', { id: 't' })).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    })
    const { id } = await result(a, 'message/send', SENT_0_3)
    expect(await result(a, 'tasks/get', { id }, OLD)).not.toHaveProperty('kind')
  })

  test.each([
    [undefined, { code: -32001, data: [{}] }],
    ['0.1', { code: -32001, data: { details: [{}] } }],
    ['kaos', { code: -32001, data: null }],
  ])(
    'a task that there is none of is none in the preferred version that has the method: %s',
    async (version, error) => {
      const a = agent(() => 'done', version === undefined ? {} : { defaultDialect: version })
      expect(await failure(a, 'tasks/get', { id: 'nothing' })).toMatchObject(error)
    },
  )

  test('a message of 1.0 or KAOS to a task of 0.1 is one more to it', async () => {
    const a = agent(ask)
    await result(a, 'tasks/send', say('t', 'hi'))
    const message = { messageId: 'm', role: 'ROLE_USER', taskId: 't', parts: [{ text: 'Ada' }] }
    expect(await result(a, 'SendMessage', { message })).toMatchObject({ task: { id: 't' } })
    expect(await result(a, 'tasks/get', { id: 't' })).toMatchObject({
      status: { state: 'completed' },
      artifacts: [{ index: 0, parts: [text('Hello Ada')] }],
    })
  })
})
