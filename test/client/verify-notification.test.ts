/** Notifications that a webhook accepts and rejects. */
import {
  DefaultPushNotificationSender,
  InMemoryPushNotificationStore,
  ServerCallContext,
  UnauthenticatedUser,
} from '@a2a-js/sdk/server'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { A2AError } from 'a2a-tasks'
import {
  NotificationError,
  verifyNotification,
  type PushNotification,
  type VerifyNotificationOptions,
} from 'a2a-tasks/client'
import { ManualClock } from 'a2a-tasks/testing'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { failureOf, site } from '../http/support/http.js'

const TOKEN = 'correct-horse-battery-staple'
const TASK = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' } }
const OPTIONS: VerifyNotificationOptions = { token: TOKEN, taskId: 't1' }

interface Post {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
}

function post({ body = { task: TASK }, headers = {}, method = 'POST' }: Post = {}): Request {
  const all = { 'content-type': 'application/a2a+json', 'x-a2a-notification-token': TOKEN, ...headers }
  const isRaw = typeof body === 'string' || body instanceof ReadableStream || body instanceof Uint8Array
  return new Request('http://receiver.test/webhook', {
    method,
    headers: all,
    ...(method === 'POST' && { body: isRaw ? body : JSON.stringify(body), duplex: 'half' }),
  })
}

function verify(given?: Post, options: VerifyNotificationOptions = OPTIONS): Promise<PushNotification> {
  return verifyNotification(post(given), options)
}

async function refusal(given?: Post, options?: VerifyNotificationOptions): Promise<NotificationError> {
  const error = await failureOf(verify(given, options))
  if (!(error instanceof NotificationError)) throw error
  expect(A2AError.is(error, error.code)).toBe(true)
  expect(JSON.stringify([error.message, error.data, String(error.cause)])).not.toContain(TOKEN)
  return error
}

describe('a notification is read', () => {
  const part = { text: 'It rains' }
  const ofTask = { taskId: 't1', contextId: 'c1' }
  const old = { kind: 'task', ...TASK, status: { state: 'completed' } }
  it.each<[string, unknown, object, string]>([
    ['a task of 1.0', { task: TASK }, { type: 'task', task: { id: 't1', state: 'completed' } }, '1.0'],
    [
      'a change of state of 1.0',
      { statusUpdate: { ...ofTask, status: { state: 'TASK_STATE_WORKING' } } },
      { type: 'status', taskId: 't1', state: 'working' },
      '1.0',
    ],
    [
      'a chunk of 1.0',
      { artifactUpdate: { ...ofTask, artifact: { artifactId: 'a', parts: [part] }, append: true } },
      { type: 'artifact', artifact: { artifactId: 'a', parts: [part] }, append: true },
      '1.0',
    ],
    [
      'a message of 1.0',
      { message: { messageId: 'm', role: 'ROLE_AGENT', taskId: 't1', parts: [part] } },
      { type: 'message', message: { messageId: 'm', role: 'agent', parts: [part] } },
      '1.0',
    ],
    ['a task of 0.3', old, { type: 'task', task: { id: 't1', state: 'completed' } }, '0.3'],
    [
      'a change of state of 0.3',
      { kind: 'status-update', ...ofTask, final: false, status: { state: 'input-required' } },
      { type: 'status', taskId: 't1', state: 'input-required' },
      '0.3',
    ],
    [
      'a message of 0.3',
      { kind: 'message', messageId: 'm', role: 'agent', taskId: 't1', parts: [{ kind: 'text', ...part }] },
      { type: 'message', message: { parts: [part] } },
      '0.3',
    ],
  ])('%s', async (_, body, event, version) => {
    expect(await verify({ body })).toMatchObject({ event, taskId: 't1', version })
  })

  it('as of 0.3 where a header says so', async () => {
    const read = await verify({ headers: { 'a2a-version': '0.3' } })
    expect(read.version).toBe('0.3')
  })

  it.each([
    ['1.1', '1.1'],
    ['1.0.1', '1.0'],
    ['latest', '1.0'],
  ])('with the version of its header: %s', async (given, version) => {
    expect(await verify({ headers: { 'a2a-version': given } })).toMatchObject({ version, taskId: 't1' })
    // What it is of is for certain.
    expect((await verify({ body: old, headers: { 'a2a-version': given } })).version).toBe('0.3')
  })

  it('not of 0.1, which the error says', async () => {
    const status = { state: 'completed', message: { role: 'agent', parts: [{ type: 'text', text: 'Hi' }] } }
    const error = await refusal({
      body: { id: 't1', taskId: 't1', sessionId: 'c1', status },
      headers: { 'a2a-version': '0.1' },
    })
    expect(error.message).toBe('A2A 0.1 is not read here; register the webhook in 1.0 or 0.3')
    expect(error).toMatchObject({ code: 'VERSION_NOT_SUPPORTED', statusCode: 400 })
  })

  it('with its id, if it has one', async () => {
    expect((await verify({ headers: { 'x-a2a-notification-id': 't1/c/7' } })).id).toBe('t1/c/7')
    expect(await verify()).not.toHaveProperty('id')
  })

  it('as application/json, with parameters and in any case', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
    expect((await verify({ headers })).taskId).toBe('t1')
  })

  it('without keys that would change a prototype', async () => {
    const text =
      '{"task":{"id":"t1","__proto__":{"x":1},"status":{"state":"completed"},"metadata":{"__proto__":{"x":1}}}}'
    const { event } = await verify({ body: text })
    expect(event.type === 'task' && Object.keys(event.task.metadata)).toEqual([])
    expect(JSON.stringify(event)).not.toContain('__proto__')
  })
})

describe('secrets', () => {
  const LONGER = `${TOKEN}x`
  it.each([
    ['of the same length', TOKEN.replace('c', 'k')],
    ['of another length', LONGER],
    ['that is empty', ''],
    ['that comes twice', `${TOKEN}, ${TOKEN}`],
    ['in another case', TOKEN.toUpperCase()],
  ])('a token %s is refused', async (_, token) => {
    const error = await failureOf(verify({ headers: { 'x-a2a-notification-token': token } }))
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', statusCode: 401, name: 'UnauthenticatedError' })
    expect(JSON.stringify([error, String(error)])).not.toContain(LONGER)
  })

  it('two headers of one name are refused, even if both are right', async () => {
    const request = post()
    request.headers.append('x-a2a-notification-token', TOKEN)
    expect(await failureOf(verifyNotification(request, OPTIONS))).toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  const authorization = 'Bearer abc.DEF'
  it.each([
    [true, 'Bearer abc.DEF'],
    [true, 'bearer abc.DEF'],
    [false, 'Bearer abc.def'],
    [false, 'Basic abc.DEF'],
    [false, 'abc.DEF'],
  ])('%s: Authorization: %s', async (isRight, given) => {
    const verified = verify({ headers: { authorization: given } }, { authorization, taskId: 't1' })
    if (isRight) expect((await verified).taskId).toBe('t1')
    else expect(await failureOf(verified)).toMatchObject({ code: 'UNAUTHENTICATED', statusCode: 401 })
  })

  it('fold the case of a scheme that stands alone, too', async () => {
    const options = { authorization: 'Negotiate', taskId: 't1' }
    const headers = { authorization: 'negotiate' }
    expect((await verify({ headers }, options)).taskId).toBe('t1')
  })

  it('are all required that are given', async () => {
    const options = { ...OPTIONS, authorization }
    expect((await refusal({}, options)).message).toBe('Authorization is missing')
    const headers = { authorization, 'x-a2a-notification-token': 'no' }
    expect((await refusal({ headers }, options)).message).toContain(
      'X-A2A-Notification-Token has the wrong value',
    )
    expect((await verify({ headers: { authorization } }, options)).taskId).toBe('t1')
  })

  it('are compared before the body is read', async () => {
    const request = post({ body: 'no JSON', headers: { 'x-a2a-notification-token': 'no' } })
    expect(await failureOf(verifyNotification(request, OPTIONS))).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await request.text()).toBe('no JSON')
  })

  it('may depend on the task, and are refused where it has none', async () => {
    const tokens = new Map([['t1', TOKEN]])
    const token = (taskId: string): Promise<string | undefined> => Promise.resolve(tokens.get(taskId))
    expect((await verify({}, { token })).taskId).toBe('t1')
    const body = { task: { ...TASK, id: 't2' } }
    expect(await refusal({ body }, { token })).toMatchObject({ code: 'UNAUTHENTICATED', statusCode: 401 })
    expect((await refusal({}, { token: () => '' })).code).toBe('UNAUTHENTICATED')
    // What a database has of it, in a program without types.
    const none: unknown = () => null
    const headers = { 'x-a2a-notification-token': 'null' }
    expect((await refusal({ headers }, { token: none as () => undefined })).code).toBe('UNAUTHENTICATED')
    tokens.set('t1', 'changed')
    expect((await refusal({}, { token })).code).toBe('UNAUTHENTICATED')
  })

  it('are not looked up for a sender without one', async () => {
    const token = vi.fn(() => TOKEN)
    const error = await refusal({ headers: { 'x-a2a-notification-token': '' } }, { token })
    expect([error.code, token.mock.calls]).toEqual(['UNAUTHENTICATED', []])
  })

  it('need not be checked here, if an option says so', async () => {
    const headers = { 'x-a2a-notification-token': 'any' }
    expect((await verify({ headers }, { token: false, taskId: 't1' })).taskId).toBe('t1')
  })

  it('refuse a sender that does not know them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[!-~]{1,40}$/),
        fc.stringMatching(/^[!-~]{1,40}$/),
        async (a, b) => {
          const isIn = verify(
            { headers: { 'x-a2a-notification-token': a } },
            { token: b, taskId: 't1' },
          ).then(
            () => true,
            () => false,
          )
          expect(await isIn).toBe(a === b)
        },
      ),
    )
    expect(
      (await verify({ headers: { 'x-a2a-notification-token': 'a' } }, { token: 'a', taskId: 't1' })).taskId,
    ).toBe('t1')
  })
})

describe('a task that is not expected is refused', () => {
  it.each<[string, VerifyNotificationOptions]>([
    ['by its id', { token: TOKEN, taskId: 't2' }],
    ['by who knows', { token: TOKEN, isExpected: () => Promise.resolve(false) }],
    ['by one of both', { token: TOKEN, taskId: 't1', isExpected: () => false }],
    ['by the other', { token: TOKEN, taskId: 't2', isExpected: () => true }],
  ])('%s', async (_, options) => {
    const expected = { code: 'TASK_NOT_FOUND', statusCode: 404, data: { taskId: 't1' } }
    expect(await refusal({}, options)).toMatchObject(expected)
  })

  it('90. and is looked up only for a known sender', async () => {
    const isExpected = vi.fn(() => true)
    await refusal({ headers: { 'x-a2a-notification-token': 'no' } }, { token: TOKEN, isExpected })
    expect(isExpected).not.toHaveBeenCalled()
    await verify({}, { token: TOKEN, isExpected })
    expect(isExpected.mock.calls).toEqual([['t1']])
  })

  it("and a failure here is not reported as the sender's fault", async () => {
    const failure = new A2AError('INVALID_PARAMS', 'ours', { path: '', reason: '' })
    const isExpected = (): boolean => {
      throw failure
    }
    expect(await failureOf(verify({}, { token: TOKEN, isExpected }))).toBe(failure)
  })
})

describe('what is no notification is refused', () => {
  const status = { state: 'TASK_STATE_WORKING' }
  it.each<[string, Post, string, number]>([
    ['another method', { method: 'GET' }, 'METHOD_NOT_FOUND', 405],
    ['a form', { headers: { 'content-type': 'text/plain' } }, 'CONTENT_TYPE_NOT_SUPPORTED', 415],
    [
      'a list of types',
      { headers: { 'content-type': 'text/plain, application/json' } },
      'CONTENT_TYPE_NOT_SUPPORTED',
      415,
    ],
    ['no JSON', { body: '{"task":' }, 'PARSE_ERROR', 400],
    ['nothing', { body: '' }, 'PARSE_ERROR', 400],
    ['what is not UTF-8', { body: new Uint8Array([0x22, 0xff, 0x22]) }, 'PARSE_ERROR', 400],
    ['null', { body: 'null' }, 'INVALID_PARAMS', 400],
    ['a text', { body: '"task"' }, 'INVALID_PARAMS', 400],
    ['an array', { body: [{ task: TASK }] }, 'INVALID_PARAMS', 400],
    ['an empty object', { body: {} }, 'INVALID_PARAMS', 400],
    ['two of them', { body: { task: TASK, statusUpdate: { taskId: 't1', status } } }, 'INVALID_PARAMS', 400],
    ['a task that is an array', { body: { task: [TASK] } }, 'INVALID_PARAMS', 400],
    ['an id that is a number', { body: { task: { ...TASK, id: 1 } } }, 'INVALID_PARAMS', 400],
    ['an id that is empty', { body: { task: { ...TASK, id: '' } } }, 'INVALID_PARAMS', 400],
    [
      'a state that is none',
      { body: { task: { ...TASK, status: { state: 'toString' } } } },
      'INVALID_PARAMS',
      400,
    ],
    ['a kind that is none', { body: { kind: 'constructor', ...TASK } }, 'INVALID_PARAMS', 400],
    ['a kind that is an object', { body: { kind: {}, ...TASK } }, 'INVALID_PARAMS', 400],
    [
      'a task under __proto__',
      { body: `{"__proto__":{"task":${JSON.stringify(TASK)}}}` },
      'INVALID_PARAMS',
      400,
    ],
    [
      'a message of no task',
      { body: { message: { messageId: 'm', role: 'agent', parts: [] } } },
      'INVALID_PARAMS',
      400,
    ],
    ['what nests too deep', { body: '['.repeat(100_000) + ']'.repeat(100_000) }, 'LIMIT_EXCEEDED', 413],
  ])('%s', async (_, given, code, statusCode) => {
    expect(await refusal(given)).toMatchObject({ code, statusCode })
  })

  it('with the path of what is wrong', async () => {
    const error = await refusal({ body: { statusUpdate: { taskId: 't1', status: { state: 'gone' } } } })
    expect(error.message).toMatch(/^notification\.statusUpdate\.status\.state must be one of /)
    const nameless = { message: { messageId: 'm', role: 'agent', parts: [] } }
    expect((await refusal({ body: nameless })).message).toBe('notification.message.taskId is missing')
  })

  it('for any JSON value', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (body) => {
        expect((await refusal({ body }, { token: TOKEN, isExpected: () => true })).statusCode).toBe(400)
      }),
    )
  })
})

describe('a body', () => {
  /** Never ends, and tells how much of it was asked for. */
  function endless(): { body: ReadableStream<Uint8Array>; taken: () => number } {
    let taken = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        taken += 1_000
        controller.enqueue(new Uint8Array(1_000).fill(0x20))
      },
    })
    return { body, taken: () => taken }
  }

  it('of more than maxBytes is not read to its end', async () => {
    const { body, taken } = endless()
    const error = await refusal({ body }, { ...OPTIONS, maxBytes: 10_000 })
    const data = { limit: 'maxBytes', max: 10_000, actual: 11_000 }
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', statusCode: 413, data })
    expect(error.message).toBe('The notification exceeds maxBytes (10000)')
    expect(taken()).toBeLessThan(15_000)
  })

  it('that says that it is too long is not read at all', async () => {
    const request = post({ headers: { 'content-length': '5000000' } })
    expect(await failureOf(verifyNotification(request, OPTIONS))).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      data: { actual: 5_000_000, max: 4_194_304 },
    })
    expect(request.bodyUsed).toBe(false)
  })

  it('of exactly maxBytes is taken', async () => {
    const body = JSON.stringify({ task: TASK })
    expect((await verify({ body }, { ...OPTIONS, maxBytes: body.length })).taskId).toBe('t1')
    expect((await refusal({ body }, { ...OPTIONS, maxBytes: body.length - 1 })).statusCode).toBe(413)
  })

  it('comes in pieces, also within a character', async () => {
    const bytes = new TextEncoder().encode(
      JSON.stringify({ task: { ...TASK, metadata: { city: 'Zürich' } } }),
    )
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    expect((await verify({ body })).event).toMatchObject({ task: { metadata: { city: 'Zürich' } } })
  })

  it('that does not come is waited for until timeoutMs', async () => {
    const clock = new ManualClock()
    let stall = (): void => {}
    const stalled = new Promise<void>((resolve) => (stall = resolve))
    const body = new ReadableStream({ pull: () => stall() }, { highWaterMark: 0 })
    const refused = refusal({ body }, { ...OPTIONS, timeoutMs: 500, clock })
    await stalled
    clock.advance(500)
    expect(await refused).toMatchObject({ code: 'REQUEST_TIMED_OUT', statusCode: 408 })
    expect(clock.pending).toBe(0)
  })

  it('that breaks off is reported', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
    expect(await refusal({ body })).toMatchObject({ code: 'REQUEST_ABORTED', cause: { message: 'reset' } })
  })

  it('that was read before is a mistake of the program', async () => {
    const request = post()
    await request.text()
    await expect(verifyNotification(request, OPTIONS)).rejects.toThrow(TypeError)
  })
})

describe('options that check too little, or are invalid, are errors', () => {
  it.each<[string, unknown, RegExp]>([
    ['no secret', { taskId: 't1' }, /needs "token" or "authorization"/],
    ['a secret that is not set', { token: undefined, taskId: 't1' }, /needs "token" or "authorization"/],
    ['a secret that is empty', { token: '', taskId: 't1' }, /"token" must be a text that is not empty/],
    ['a secret that is null', { authorization: null, taskId: 't1' }, /"authorization" must be a text/],
    ['no task', { token: TOKEN }, /needs "taskId" or "isExpected"/],
    ['a misspelt option', { ...OPTIONS, taskID: 't1' }, /Unknown option "taskID"/],
    ['isExpected that is a list', { token: TOKEN, isExpected: ['t1'] }, /"isExpected" must be a function/],
    ['no bytes', { ...OPTIONS, maxBytes: 0 }, /"maxBytes" must be a positive number/],
    ['no time', { ...OPTIONS, timeoutMs: Number.NaN }, /"timeoutMs" must be a positive number/],
  ])('%s', async (_, options, message) => {
    // What has no types passes what it likes.
    const error = await failureOf(verify({}, options as VerifyNotificationOptions))
    expect(String(error)).toMatch(message)
    expect(error).not.toBeInstanceOf(NotificationError)
  })

  it('as are missing options', async () => {
    const bare = verifyNotification as (request: Request) => Promise<PushNotification>
    const error = await failureOf(bare(post()))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toContain('verifyNotification() takes options: { token, taskId }')
  })

  it("as is a request of Node's servers", async () => {
    const incoming: object = new IncomingMessage(new Socket())
    for (const request of [incoming, undefined]) {
      const error = await failureOf(verifyNotification(request as Request, OPTIONS))
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain("verifyNotification() takes a Request of fetch, not Node's")
    }
  })

  it('and the types require a secret', () => {
    // @ts-expect-error -- neither a token nor an authorization
    const unsaid: VerifyNotificationOptions = { taskId: 't1' }
    // @ts-expect-error -- what the environment may lack
    const maybe: VerifyNotificationOptions = { token: process.env['HOOK_TOKEN'], taskId: 't1' }
    const said: VerifyNotificationOptions[] = [
      { token: TOKEN, authorization: undefined },
      { authorization: () => TOKEN },
      { token: false },
    ]
    expect([unsaid, maybe, ...said]).toHaveLength(5)
  })
})

describe('over HTTP', () => {
  it('89. what the official SDK sends is taken, of 1.0, with either secret', async () => {
    const authorization = 'Bearer abc'
    const verdicts: Promise<unknown>[] = []
    const receiver = await site(({ method, headers, body, path }) => {
      const request = new Request(`http://receiver.test${path}`, { method, headers: flat(headers), body })
      const secret = path === '/token' ? { token: TOKEN } : { authorization }
      verdicts.push(verifyNotification(request, { ...secret, taskId: 't1' }))
      return { status: 204 }
    })
    const context = new ServerCallContext({ user: new UnauthenticatedUser(), requestedVersion: '1.0' })
    const store = new InMemoryPushNotificationStore()
    const about = { tenant: '', taskId: 't1', token: TOKEN }
    await store.save('t1', context, {
      ...about,
      id: 'a',
      url: `${receiver.url}/token`,
      authentication: undefined,
    })
    const authentication = { scheme: 'Bearer', credentials: 'abc' }
    await store.save('t1', context, {
      ...about,
      id: 'b',
      url: `${receiver.url}/authorization`,
      authentication,
    })
    const status = { state: 3, message: undefined, timestamp: undefined }
    const value = { id: 't1', contextId: 'c1', status, artifacts: [], history: [], metadata: undefined }
    const log = vi.spyOn(console, 'info').mockImplementation(() => {})
    onTestFinished(() => log.mockRestore())
    await new DefaultPushNotificationSender(store).send({ payload: { $case: 'task', value } }, context)
    const verified = { event: { type: 'task', task: { state: 'completed' } }, taskId: 't1', version: '1.0' }
    expect(await Promise.all(verdicts)).toMatchObject([verified, verified])
  })
})

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
