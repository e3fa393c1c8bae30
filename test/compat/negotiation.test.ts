/** How the handler recognizes the dialect of a request: the rules of docs/reference/dialects.md. */
import type { JsonObject } from 'a2a-tasks/schemas'
import { corvid, kaos, litellm, v0_1 } from 'a2a-tasks/compat'
import { v0_3, v1, type Dialect } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { agent } from './support/agent.js'
import { as, authenticate, get, ORIGIN, post } from '../server/spec/support/agent.js'
import type { Init, TestAgent, TestAgentOptions } from '../server/spec/support/agent.js'
import { call, failure, fetched, result, send } from '../server/dialects/support/dialects.js'

const TYPED = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
/** What each is asked with that makes a task, of a client that says no version. */
const SENDS = {
  '1.0': ['SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } }],
  '0.3': ['message/send', { message: { ...TYPED, kind: 'message', messageId: 'm' } }],
  '0.1': ['tasks/send', { id: 'chosen', message: TYPED }],
  kaos: ['SendMessage', { message: TYPED }],
  litellm: ['task_send', { input: { instruction: 'hi' } }],
} as const
type Version = keyof typeof SENDS
const ALL = [v1(), v0_3(), v0_1(), kaos(), corvid(), litellm()]
const VERSIONS = Object.keys(SENDS) as Version[]

const done = (options?: TestAgentOptions) => agent((run) => run.complete(), options)

/** Has a task made, and gives its id. */
async function made(a: TestAgent, version: Version, init: Init = {}): Promise<string> {
  const [method, params] = SENDS[version]
  const sent = (await result(a, method, params, init)) as { id?: string; task?: { id: string } }
  return sent.task?.id ?? sent.id ?? ''
}

const naming = (version: string, { headers }: Init = {}): Init => ({
  headers: { ...headers, 'a2a-version': version },
})

/** By the look of a task. */
function versionOf({ task, ...shown }: JsonObject): string {
  const {
    status,
    kind,
    output,
    created_at: seconds,
    messages,
  } = (task ?? shown) as {
    [key: string]: unknown
    status?: { state: string }
  }
  if (seconds !== undefined) return 'litellm'
  if (messages !== undefined) return 'corvid'
  if (output !== undefined) return 'kaos'
  if (kind !== undefined) return '0.3'
  return status?.state.startsWith('TASK_STATE_') === true ? '1.0' : '0.1'
}

/** By the look of an error. */
function versionOfError({ data }: JsonObject): string {
  if (data === undefined) return 'litellm'
  if (data === null) return 'kaos'
  return Array.isArray(data) ? '1.0 or 0.3' : '0.1'
}

const having = (method: string, dialects: readonly Dialect[]) =>
  dialects.filter(({ methods }) => methods.has(method)).map(({ version }) => version)

test('a method that only one has is in that one', async () => {
  const a = done()
  for (const version of ['0.3', '0.1', 'litellm'] as const) {
    const [method, params] = SENDS[version]
    expect(versionOf(await result(a, method, params))).toBe(version)
  }
})

describe('the version that a request names', () => {
  test.each(VERSIONS)('beats that in which the task was made: %s', async (maker) => {
    for (const defaultDialect of ['1.0', '0.3', '0.1', 'kaos']) {
      const a = done({ defaultDialect })
      const id = await made(a, maker)
      for (const method of ['GetTask', 'tasks/get']) {
        for (const version of having(method, ALL)) {
          const got = await result(a, method, { id }, naming(version))
          expect([method, versionOf(got)]).toEqual([method, version])
        }
      }
    }
  })

  test('beats what the parameters look like', async () => {
    const a = done({ defaultDialect: 'kaos' })
    const [, ofKaos] = SENDS.kaos
    const refused = await failure(a, 'SendMessage', ofKaos, naming('1.0'))
    expect(refused).toMatchObject({ code: -32602, data: [{}, {}] })
    const [, of01] = SENDS['0.1']
    expect(versionOf(await result(a, 'tasks/send', of01, naming('kaos')))).toBe('kaos')
    const missing = await failure(a, 'tasks/send', ofKaos, naming('0.1'))
    expect(missing).toMatchObject({ code: -32602, data: { details: [{}, {}] } })
  })

  test('may be in the query, and in the context of a dispatch', async () => {
    const a = done()
    const id = await made(a, '0.1')
    const body = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id } }
    const { result: got } = (await send(a, '/?A2A-Version=kaos', body)).body
    expect(versionOf(got as JsonObject)).toBe('kaos')
    const dispatched = (await a.handler.dispatch(body, { version: '0.3' })) as { result: JsonObject }
    expect(versionOf(dispatched.result)).toBe('0.3')
  })

  test('is kept to, even where another has the method', async () => {
    const a = done()
    for (const [version, method] of [
      ['kaos', 'message/send'],
      ['0.1', 'GetTask'],
      ['litellm', 'tasks/get'],
      ['corvid', 'tasks/get'],
      ['1.0', 'tasks/get'],
    ] as const) {
      const error = await failure(a, method, { id: 'x' }, naming(version))
      expect([version, error['code']]).toEqual([version, -32601])
    }
  })

  test('is not remembered: each request has to name it', async () => {
    const a = done()
    const [method, params] = SENDS['0.1']
    await result(a, method, params, naming('0.1'))
    expect(versionOf(await result(a, 'tasks/get', { id: 'chosen' }))).toBe('0.3')
  })
})

describe('parameters that are those of one only', () => {
  test.each(VERSIONS)('decide it, whichever version is preferred: %s', async (version) => {
    const [method, params] = SENDS[version]
    for (const { version: defaultDialect } of ALL) {
      expect(versionOf(await result(done({ defaultDialect }), method, params))).toBe(version)
    }
  })

  test('beat that in which the task was made', async () => {
    const a = agent((run) => void run.requireInput('Really?'))
    const id = await made(a, 'kaos')
    const sent = await result(a, 'tasks/send', { id, message: TYPED })
    expect([sent['id'], versionOf(sent)]).toEqual([id, '0.1'])
    // The task is still that of who made it.
    expect(versionOf(await result(a, 'tasks/get', { id }))).toBe('kaos')
  })

  test.each([
    ['a text of its own', { message: { role: 'user', text: 'hi' } }, 'kaos'],
    ['an id', { message: { ...TYPED, messageId: 'm' } }, '1.0 or 0.3'],
    ['a part without a type', { message: { role: 'user', parts: [{ text: 'hi' }] } }, '1.0 or 0.3'],
    ['parts that are none', { message: { role: 'user', parts: [null, 1] } }, '1.0 or 0.3'],
    ['no shape at all', { message: 'hi' }, '1.0 or 0.3'],
  ])('a message with %s', async (_, params, version) => {
    const answer = await call(done(), 'SendMessage', params)
    const shown = (answer['result'] ?? answer['error']) as JsonObject
    expect('result' in answer ? versionOf(shown) : versionOfError(shown)).toBe(version)
  })
})

describe('that in which the task was made', () => {
  test.each(VERSIONS)('is what it is shown in, whichever is preferred: %s', async (maker) => {
    for (const { version: preferred } of ALL) {
      const a = done({ defaultDialect: preferred })
      const id = await made(a, maker)
      for (const method of ['GetTask', 'tasks/get']) {
        const those = having(method, ALL)
        const otherwise = those.includes(preferred) ? preferred : those[0]
        const got = versionOf(await result(a, method, { id }))
        expect([method, preferred, got]).toEqual([
          method,
          preferred,
          those.includes(maker) ? maker : otherwise,
        ])
      }
    }
  })

  test('is that of each principal for its own', async () => {
    const a = done({ authenticate })
    const ids = { ann: await made(a, 'kaos', as('ann')), bob: await made(a, '0.1', as('bob')) }
    expect(versionOf(await result(a, 'tasks/get', { id: ids.ann }, as('ann')))).toBe('kaos')
    expect(versionOf(await result(a, 'tasks/get', { id: ids.bob }, as('bob')))).toBe('0.1')
  })

  test('is not looked up if the id is invalid', async () => {
    const a = done()
    const own = await made(a, '0.1')
    for (const id of [1, null, {}, [own], '__proto__', undefined]) {
      expect(versionOfError(await failure(a, 'tasks/get', { id }))).toBe('1.0 or 0.3')
    }
  })
})

describe('the preferred one', () => {
  test('is the default, or the first that has the method', async () => {
    const unknown = async (method: string, options: TestAgentOptions) =>
      versionOfError(await failure(done(options), method, { id: 'x' }))
    expect(await unknown('tasks/get', {})).toBe('1.0 or 0.3')
    expect(await unknown('tasks/get', { defaultDialect: '0.1' })).toBe('0.1')
    expect(await unknown('tasks/get', { defaultDialect: 'litellm' })).toBe('1.0 or 0.3')
    expect(await unknown('tasks/get', { dialects: [v1(), kaos(), v0_3()] })).toBe('kaos')
    expect(await unknown('tasks/get', { dialects: [kaos(), v0_1()], defaultDialect: '0.1' })).toBe('0.1')
    expect(await unknown('GetTask', { dialects: [kaos(), v1()] })).toBe('kaos')
    expect(await unknown('GetTask', { dialects: [kaos(), v1()], defaultDialect: '1.0' })).toBe('1.0 or 0.3')
  })

  test.each(ALL.map((dialect) => [dialect.version, dialect] as const))(
    'may be the only one: %s',
    async (_, only) => {
      const a = done({ dialects: [only] })
      for (const method of ['SendMessage', 'message/send', 'tasks/send', 'task_send']) {
        const answer = await call(a, method, {})
        const isKnown = only.methods.has(method)
        expect(answer).toMatchObject({ error: { code: isKnown ? -32602 : -32601 } })
      }
      expect((await failure(a, 'ping', {}, naming('9.9')))['code']).toBeLessThan(-32000)
    },
  )
})

describe('dialects that are invalid are a TypeError', () => {
  test.each<[string, TestAgentOptions, string]>([
    ['none', { dialects: [] }, '"dialects" must not be empty'],
    [
      'one twice',
      { dialects: [v1(), kaos(), kaos()] },
      '"dialects" must be of one version each, got 1.0, kaos, kaos',
    ],
    [
      'an unknown default',
      { defaultDialect: 'acp' },
      '"defaultDialect" must be one of 1.0, 0.3, 0.1, kaos, corvid, litellm, got "acp"',
    ],
    [
      'a default that is not spoken',
      { dialects: [v1()], defaultDialect: 'kaos' },
      '"defaultDialect" must be one of 1.0, got "kaos"',
    ],
    ['a default that is no text', { defaultDialect: 1 as never }, 'got a number'],
    ['a function that was not called', { dialects: [v1 as never] }, '"dialects" must hold dialects'],
  ])('%s', (_, options, message) => {
    expect(() => done(options)).toThrow(TypeError)
    expect(() => done(options)).toThrow(message)
  })
})

describe('what was remembered of a task is forgotten', () => {
  const again = async (a: TestAgent) => {
    a.tasks.createTask({ id: 'chosen', skill: 'any' })
    return versionOf(await result(a, 'tasks/get', { id: 'chosen' }))
  }

  test('when it expires', async () => {
    const a = done({ tasks: { expiryMs: 1_000 } })
    await made(a, '0.1')
    a.clock.advance(1_001)
    a.tasks.prune()
    expect(await again(a)).toBe('0.3')
  })

  test('when it is evicted', async () => {
    const a = done({ tasks: { maxTasks: 1, whenFull: 'evict-terminal' } })
    await made(a, '0.1')
    a.tasks.cancelTask(a.tasks.createTask({ skill: 'any' }).id)
    expect(await again(a)).toBe('0.3')
  })

  test.each([
    ['named', '0.1', '0.3'],
    ['did not name', undefined, '0.1'],
  ])(
    'but not what is known of another that has its id by then: he %s a version',
    async (_, version, shown) => {
      const a = done({ authenticate, tasks: { expiryMs: 1_000 } })
      await made(a, '0.1', as('ann'))
      a.clock.advance(900)
      const { id } = a.tasks.createTask({ skill: 'any' })
      a.clock.advance(101)
      const [method, params] = SENDS['0.1']
      const body = { jsonrpc: '2.0', id: 1, method, params }
      // A task that a listener creates evicts an expired one; other listeners receive that after this one has returned.
      let making: Promise<unknown> | undefined
      a.tasks.once('task:updated', () => {
        making = Promise.resolve(a.handler.dispatch(body, { version, principal: { id: 'bob' } }))
      })
      a.tasks.updateTask(id, { state: 'working' })
      expect(await making).toMatchObject({ result: { id: 'chosen' } })
      expect(versionOf(await result(a, 'tasks/get', { id: 'chosen' }, as('bob')))).toBe(shown)
      const none = await failure(a, 'tasks/get', { id: 'chosen' }, as('ann'))
      expect(versionOfError(none)).toBe('1.0 or 0.3')
    },
  )

  test('when the handler is closed, and no listener stays', async () => {
    const a = done()
    await made(a, '0.1')
    await made(a, 'kaos')
    expect(a.tasks.listenerCount('task:expired')).toBeGreaterThan(0)
    await a.handler.close()
    expect(a.tasks.listenerCount('task:expired')).toBe(0)
    expect(a.tasks.listenerCount('task:evicted')).toBe(0)
    expect(a.tasks.eventNames()).toEqual([])
    expect(versionOf(await result(a, 'tasks/get', { id: 'chosen' }))).toBe('0.3')
  })
})

describe('the form of an answer shows nothing of a task of another owner', () => {
  const ambiguous = [...new Set(ALL.flatMap(({ methods }) => [...methods.keys()]))].filter(
    (method) => having(method, ALL).length > 1,
  )
  /** Each way in which a task may be named. */
  const naming = (id: string): object[] => [
    { id },
    { id, historyLength: 1 },
    { message: { ...TYPED, taskId: id } },
    { message: { messageId: 'm', role: 'ROLE_USER', taskId: id, parts: [{ text: 'hi' }] } },
    { id, message: 'none' },
    { id, message: { taskId: id } },
  ]

  test('there are such methods', () => {
    expect(ambiguous).toEqual(
      expect.arrayContaining([
        'SendMessage',
        'GetTask',
        'CancelTask',
        'tasks/send',
        'tasks/get',
        'tasks/cancel',
        'tasks/resubscribe',
      ]),
    )
  })

  test.each(ambiguous)('%s', async (method) => {
    for (const defaultDialect of ['1.0', '0.3', '0.1', 'kaos']) {
      const a = agent((run) => void run.requireInput('Really?'), { authenticate, defaultDialect })
      const asked = async (params: object, id: string) => {
        const body = { jsonrpc: '2.0', id: 1, method, params }
        const response = await a.handler.fetch(post('/', body, as('bob')))
        const headers = JSON.stringify([...response.headers])
        return `${response.status} ${headers} ${await response.text()}`.replaceAll(id, 'ID')
      }
      for (const maker of VERSIONS) {
        const id = await made(a, maker, as('ann'))
        for (const [index, params] of naming(id).entries()) {
          // Sending in 0.1 with an existing id is refused for every caller: see v0-1-ids.test.ts.
          if (method === 'tasks/send' && index === 5) continue
          const none = await asked(naming('nothing')[index] ?? {}, 'nothing')
          expect(await asked(params, id)).toBe(none)
        }
      }
    }
  })

  test('although it shows its creator', async () => {
    const a = done({ authenticate })
    const id = await made(a, 'kaos', as('ann'))
    expect(versionOf(await result(a, 'tasks/get', { id }, as('ann')))).toBe('kaos')
    expect(versionOfError(await failure(a, 'tasks/get', { id }, as('bob')))).toBe('1.0 or 0.3')
  })

  test('over a path that two have', async () => {
    const a = done({ authenticate, card: { name: 'Test', url: `${ORIGIN}/a2a` } })
    const { body } = await send(a, '/a2a/tasks/send', { message: 'hi' }, as('ann'))
    const { id } = body as { id: string }
    const asked = async (taskId: string) => {
      const response = await a.handler.fetch(get(`/a2a/tasks/${taskId}`, as('bob')))
      return `${response.status} ${(await response.text()).replaceAll(taskId, 'ID')}`
    }
    expect(await asked(id)).toBe(await asked('nothing'))
    expect(versionOf((await fetched(a, `/a2a/tasks/${id}`, as('ann'))).body)).toBe('corvid')
  })
})

describe('your own dialect', () => {
  /** As docs/reference/dialects.md has it. */
  const shouting: Dialect = {
    ...v1(),
    version: 'shouting',
    isInCards: false,
    methods: new Map([
      ['SEND', 'SendMessage'],
      ['GET', 'GetTask'],
    ]),
    routes: [],
  }

  test('is spoken beside the others', async () => {
    const a = done({ dialects: [v1(), shouting] })
    const { task } = (await result(a, 'SEND', SENDS['1.0'][1])) as { task: { id: string } }
    expect(await result(a, 'GET', { id: task.id })).toEqual(await result(a, 'GetTask', { id: task.id }))
    expect(await result(a, 'GET', { id: task.id }, naming('shouting'))).toMatchObject({ id: task.id })
    expect(await failure(a, 'GET', { id: task.id }, naming('1.0'))).toMatchObject({ code: -32601 })
    const card = await a.handler.fetch(get('/.well-known/agent-card.json'))
    expect(await card.text()).not.toContain('shouting')
  })

  test('may have the methods of another: it is found by its parameters, and then by the task', async () => {
    const own = v1()
    const loud: Dialect = {
      ...own,
      version: 'loud',
      isInCards: false,
      routes: [],
      recognizes: ({ loud: isLoud }) => isLoud === true,
      rpc: {
        ...own.rpc,
        GetTask: {
          decode: (params) => ({ id: (params as { id: string }).id }),
          encode: ({ task }) => ({ ID: task.id.toUpperCase() }),
        },
      },
    }
    const a = done({ dialects: [v1(), loud] })
    const plain = await made(a, '1.0')
    const [method, params] = SENDS['1.0']
    const { task } = (await result(a, method, { ...params, loud: true })) as { task: { id: string } }
    expect(await result(a, 'GetTask', { id: task.id })).toEqual({ ID: task.id.toUpperCase() })
    expect(await result(a, 'GetTask', { id: plain })).toMatchObject({ id: plain })
    expect(await result(a, 'GetTask', { id: plain, loud: true })).toEqual({ ID: plain.toUpperCase() })
  })
})
