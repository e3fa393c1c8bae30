import { TaskManager, type TaskManagerOptions } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { agent, fieldsOf, params, type Agent } from './support/faults.js'
import { rejection } from './interop/support/agent.js'

// The faults of the official server (1.3.0) that begin with a request.

/** An agent that counts how often it worked. */
function counting(): Agent & { readonly runs: () => number } {
  let runs = 0
  const made = agent((run) => {
    runs += 1
    return run.text
  })
  return { ...made, runs: () => runs }
}

const request = { jsonrpc: '2.0', id: 7, method: 'GetTask', params: { id: 'x' } }

describe('JSON-RPC', () => {
  test.each<[string, unknown, number, unknown]>([
    ['a number', 42, -32600, null],
    ['a text', 's', -32600, null],
    ['null', null, -32600, null],
    ['nothing', undefined, -32600, null],
    ['an empty object', {}, -32600, null],
    ['a batch', [request], -32600, null],
    ['an empty batch', [], -32600, null],
    ['JSON-RPC 1.0', { ...request, jsonrpc: '1.0' }, -32600, 7],
    ['no version of JSON-RPC', { id: 7, method: 'GetTask' }, -32600, 7],
    ['a method that is a number', { ...request, method: 5 }, -32600, 7],
    ['no method', { jsonrpc: '2.0', id: 7 }, -32600, 7],
    ['an id that is an object', { ...request, id: {} }, -32600, null],
    ['an id that is an array', { ...request, id: [1] }, -32600, null],
    ['an id that is a boolean', { ...request, id: true }, -32600, null],
    ['an id with a fraction', { ...request, id: 1.5 }, -32600, null],
    ['no id', { jsonrpc: '2.0', method: 'GetTask', params: { id: 'x' } }, -32600, null],
    ['an unknown method', { ...request, method: 'Nope' }, -32601, 7],
    ['an empty method', { ...request, method: '' }, -32601, 7],
    ['a method of every object', { ...request, method: 'constructor' }, -32601, 7],
    ['__proto__ for a method', { ...request, method: '__proto__' }, -32601, 7],
    ['no params', { jsonrpc: '2.0', id: 7, method: 'GetTask' }, -32602, 7],
    ['params that are null', { ...request, params: null }, -32602, 7],
    ['params that are empty', { ...request, params: {} }, -32602, 7],
    ['no such task', request, -32001, 7],
    ['an id that is null', { ...request, id: null }, -32001, null],
    ['an id that is a text', { ...request, id: 'seven' }, -32001, 'seven'],
  ])('%s', async (_, body, code, id) => {
    const { raw } = counting()
    expect(await raw(body)).toMatchObject({ jsonrpc: '2.0', id, error: { code } })
  })

  test.each([[[]], ['text'], [5], [true]])('params that are no object: %j', async (given) => {
    const { raw } = counting()
    const { error } = await raw({ ...request, params: given })
    expect([-32600, -32602]).toContain(error?.code)
  })

  test('a version that is not spoken', async () => {
    const { call } = counting()
    expect((await call('GetTask', { id: 'x' }, { version: '9.9' })).error?.code).toBe(-32009)
    expect((await call('tasks/get', { id: 'x' }, { version: '1.0' })).error?.code).toBe(-32601)
    expect((await call('tasks/get', { id: 'x' })).error?.code).toBe(-32001)
  })

  test('an error has the parameter that it is about, and no internals', async () => {
    const { call } = counting()
    const { error } = await call('SendMessage', params('x', { messageId: 5 as never }))
    expect(error).toEqual({
      code: -32602,
      message: 'message.messageId must be a string, got a number',
      data: [
        expect.objectContaining({
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'INVALID_PARAMS',
        }),
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'message.messageId', description: 'must be a string, got a number' }],
        },
      ],
    })
  })

  test('an error does not repeat long input in full', async () => {
    const { call, raw } = counting()
    const long = 'x'.repeat(90_000)
    for (const answer of [
      await call('GetTask', { id: long }),
      await call(long, {}),
      await call('GetTask', { id: 'x' }, { version: long }),
      await raw({ ...request, jsonrpc: long }),
      await raw({ ...request, id: long }),
      await call('SendMessage', params('x', { role: long as never })),
      await call('SendMessage', params('x', { taskId: long })),
    ]) {
      expect(answer.error).toBeDefined()
      expect(JSON.stringify(answer).length).toBeLessThan(1_500)
    }
  })
})

describe('nothing is taken for something else', () => {
  const SENT: readonly [field: string, change: object][] = [
    ['message.messageId', { messageId: { a: 1 } }],
    ['message.messageId', { messageId: undefined }],
    ['message.messageId', { messageId: '' }],
    ['message.role', { role: 'banana' }],
    ['message.role', { role: 'user' }],
    ['message.role', { role: 7 }],
    ['message.role', { role: undefined }],
    ['message.role', { role: 'ROLE_UNSPECIFIED' }],
    ['message.parts', { parts: undefined }],
    ['message.parts', { parts: [] }],
    ['message.parts', { parts: 'str' }],
    ['message.parts[0]', { parts: [null] }],
    ['message.parts[0]', { parts: ['text'] }],
    ['message.parts[1]', { parts: [{ text: 'x' }, {}] }],
    ['message.parts[0]', { parts: [{ text: 'x', data: {} }] }],
    ['message.parts[0]', { parts: [{ text: 'x', url: 'https://x.example' }] }],
    ['message.parts[0].text', { parts: [{ text: {} }] }],
    ['message.parts[0].raw', { parts: [{ raw: 12345 }] }],
    ['message.parts[0].raw', { parts: [{ raw: 'not base64!' }] }],
    ['message.parts[0].url', { parts: [{ url: '' }] }],
    ['message.parts[0].filename', { parts: [{ text: 'x', filename: 5 }] }],
    ['message.parts[0].metadata', { parts: [{ text: 'x', metadata: [] }] }],
    ['message.metadata', { metadata: [] }],
    ['message.metadata', { metadata: 'text' }],
    ['message.contextId', { contextId: 5 }],
    ['message.taskId', { taskId: ['a'] }],
    ['message.extensions', { extensions: 'urn:x' }],
    ['message.referenceTaskIds[0]', { referenceTaskIds: [5] }],
    ['configuration', { configuration: 'now' }],
    ['configuration.historyLength', { configuration: { historyLength: 'abc' } }],
    ['configuration.historyLength', { configuration: { historyLength: -5 } }],
    ['configuration.historyLength', { configuration: { historyLength: 1.5 } }],
    ['configuration.returnImmediately', { configuration: { returnImmediately: 'false' } }],
    ['configuration.acceptedOutputModes', { configuration: { acceptedOutputModes: 'text/plain' } }],
  ]

  test.each(SENT)('%s: %j', async (field, change) => {
    const { call, runs, tasks } = counting()
    const answer = await call('SendMessage', params('x', change))
    expect(answer.error?.code).toBe(-32602)
    expect(fieldsOf(answer)).toEqual([field])
    expect(runs()).toBe(0)
    expect(tasks.size()).toBe(0)
  })

  test.each<[string, string, object]>([
    ['GetTask', 'id', { id: {} }],
    ['GetTask', 'id', { id: '' }],
    ['GetTask', 'historyLength', { id: 'x', historyLength: 'five' }],
    ['CancelTask', 'id', { id: 5 }],
    ['SubscribeToTask', 'id', {}],
    ['ListTasks', 'pageSize', { pageSize: 0 }],
    ['ListTasks', 'pageSize', { pageSize: 101 }],
    ['ListTasks', 'pageSize', { pageSize: Number.NaN }],
    ['ListTasks', 'status', { status: 'banana' }],
    ['ListTasks', 'includeArtifacts', { includeArtifacts: 'yes' }],
    ['ListTasks', 'statusTimestampAfter', { statusTimestampAfter: 'yesterday' }],
  ])('%s %s: %j', async (method, field, given) => {
    const { call } = counting()
    const answer = await call(method, given)
    expect(answer.error?.code).toBe(-32602)
    expect(fieldsOf(answer)).toEqual([field])
  })

  test.each([
    ['a text', { parts: [{ text: '\ud800' }] }],
    ['an id', { messageId: '\udc00' }],
    ['a key', { metadata: { '\ud800': 1 } }],
    ['a context', { contextId: '\ud800' }],
  ])('a lone surrogate is no character: %s', async (_, change) => {
    const { call, runs } = counting()
    expect((await call('SendMessage', params('x', change))).error?.code).toBe(-32602)
    expect(runs()).toBe(0)
  })

  test('any text is a tenant', async () => {
    const { result } = counting()
    for (const tenant of ['\n', '"', 't/../u', '__proto__', 'größe 🦜']) {
      await result('SendMessage', { ...params('x'), tenant })
      expect((await result<wire.ListTasksResponse>('ListTasks', { tenant })).totalSize).toBe(1)
    }
  })
})

describe('JSON that is a trap', () => {
  function nested(levels: number, open: string, close: string): wire.JsonValue {
    return JSON.parse(`${open.repeat(levels)}1${close.repeat(levels)}`) as wire.JsonValue
  }

  test.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('deep nesting is refused before anything runs: %s', async (_, open, close) => {
    const { call, runs, tasks } = counting()
    for (const levels of [101, 2_500, 100_000]) {
      const deep = { data: nested(levels, open, close) }
      for (const given of [params('x', { parts: [deep] }), params('x', { metadata: deep })]) {
        expect((await call('SendMessage', given)).error?.code).toBe(-32602)
      }
      expect((await call('GetTask', { id: nested(levels, open, close) })).error?.code).toBe(-32602)
    }
    expect(runs()).toBe(0)
    expect(tasks.size()).toBe(0)
  })

  test('nesting that is not too deep comes back', async () => {
    const data = nested(80, '{"a":', '}') as wire.JsonObject
    let got: unknown
    const { send } = agent((run) => {
      got = run.message.parts[0]?.data
    })
    const { history } = await send('x', { parts: [{ data }] })
    expect(got).toEqual(data)
    expect(history?.[0]?.parts[0]?.data).toEqual(data)
  })

  test('an object that holds itself is refused', async () => {
    const { call } = counting()
    const data: Record<string, unknown> = {}
    data['self'] = data
    expect((await call('SendMessage', params('x', { parts: [{ data }] as never }))).error?.code).toBe(-32602)
  })

  const TRAP = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'

  test.each<[string, () => object]>([
    ['the metadata of a message', () => params('x', { metadata: JSON.parse(TRAP) as wire.JsonObject })],
    ['data', () => params('x', { parts: [{ data: JSON.parse(TRAP) as wire.JsonObject }] })],
    [
      'the metadata of a part',
      () => params('x', { parts: [{ text: 'x', metadata: JSON.parse(TRAP) as wire.JsonObject }] }),
    ],
    ['the metadata of a request', () => ({ ...params('x'), metadata: JSON.parse(TRAP) as unknown })],
    ['a request', () => Object.assign(JSON.parse(TRAP) as object, params('x'))],
  ])('__proto__ never gets to the agent: in %s', async (_, given) => {
    const seen: object[] = []
    const { call } = agent((run) => {
      seen.push(run.message, run.metadata)
    })
    const answer = await call('SendMessage', given())
    const isRefused = answer.error?.code === -32602
    expect(isRefused || seen.length > 0).toBe(true)
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      expect(Object.keys(value)).not.toContain('__proto__')
      expect((value as { polluted?: unknown }).polluted).toBeUndefined()
      for (const child of Object.values(value)) walk(child)
    }
    seen.forEach(walk)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each(['__proto__', 'constructor', 'hasOwnProperty'])('%s is an id like any other', async (name) => {
    const { send, call, get } = counting()
    const task = await send('x', { contextId: name, messageId: name, metadata: { [`${name}s`]: 1 } })
    expect((await get(task.id)).contextId).toBe(name)
    expect((await call('GetTask', { id: name })).error?.code).toBe(-32001)
  })
})

describe('what the store says', () => {
  const METHODS = [
    'createTask',
    'addMessage',
    'patchTask',
    'peekTask',
    'cancelTask',
    'pageTasks',
    'subscribe',
  ] as const

  type Method = (typeof METHODS)[number] | 'recordJournal'

  class Broken extends TaskManager {
    isBroken = false

    constructor(options: TaskManagerOptions, broken: readonly Method[]) {
      super(options)
      for (const method of broken) {
        const works = this[method].bind(this) as (...args: unknown[]) => unknown
        Object.defineProperty(this, method, {
          value: (...args: unknown[]) => {
            if (this.isBroken) throw new Error('connect ECONNREFUSED postgres://admin:s3cret@db')
            return works(...args)
          },
        })
      }
    }
  }

  function withBroken(...methods: readonly Method[]): {
    readonly made: Agent
    readonly breakIt: () => void
  } {
    let manager: Broken | undefined
    const made = agent(
      (run) => {
        run.start()
        return run.text
      },
      { tasks: (options) => (manager = new Broken(options, methods)) },
    )
    return {
      made,
      breakIt() {
        if (manager !== undefined) manager.isBroken = true
      },
    }
  }

  test.each(METHODS)('no client learns of it: %s', async (method) => {
    const { made, breakIt } = withBroken(method)
    const { call, handler, errors, send } = made
    const { id } = await send('before')
    breakIt()
    const answers: unknown[] = []
    const configuration = { returnImmediately: true }
    for (const [name, given] of [
      ['SendMessage', params('x', { configuration })],
      ['SendMessage', params('x', { configuration, taskId: id })],
      ['GetTask', { id }],
      ['ListTasks', {}],
      ['CancelTask', { id }],
    ] as const) {
      answers.push(await call(name, given))
    }
    const streaming = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: params('x') }
    const answer = await handler.dispatch(streaming)
    // What a task that cannot be changed streams does not end.
    if (Symbol.asyncIterator in answer) answers.push(await answer.next())
    else answers.push(answer)
    expect(JSON.stringify(answers)).not.toMatch(/s3cret|ECONNREFUSED|postgres/)
    expect(errors.splice(0).length).toBeGreaterThan(0)
  })

  test('no client waits for a task that nothing can end any more', async () => {
    const { made, breakIt } = withBroken('patchTask', 'recordJournal')
    breakIt()
    expect((await made.call('SendMessage', params('x'))).error?.code).toBe(-32603)
    made.errors.length = 0
  })
})

describe('lists under change', () => {
  test('a task that changes between two pages does not move others', async () => {
    const { send, result, tasks, clock } = agent(async (run) => {
      await run.requireInput('?')
    })
    const ids: string[] = []
    for (let index = 0; index < 10; index += 1) {
      ids.push((await send(`${index}`)).id)
      clock.advance(10)
    }
    const seen: string[] = []
    let pageToken = ''
    do {
      const page = await result<wire.ListTasksResponse>('ListTasks', { pageSize: 3, pageToken })
      seen.push(...page.tasks.map(({ id }) => id))
      pageToken = page.nextPageToken
      // The last of each page is where the next one begins.
      const last = page.tasks.at(-1)
      if (last !== undefined) tasks.updateTask(last.id, { message: 'changed' })
      clock.advance(10)
    } while (pageToken !== '')
    expect(seen).toEqual([...ids].reverse())
  })
})

describe('the owner of a task', () => {
  const as = (id: string): { principal: { id: string } } => ({ principal: { id } })
  const known = { authenticate: () => null }

  test('a client sees only its own tasks', async () => {
    const { result, call } = agent(async (run) => {
      await run.requireInput('?')
    }, known)
    const { task } = await result<{ task: wire.Task }>('SendMessage', params('x'), as('alice'))
    const { id } = task
    for (const [method, given] of [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['SendMessage', params('x', { taskId: id })],
      ['GetTask', { id, tenant: 'alice' }],
    ] as const) {
      expect((await call(method, given, as('bob'))).error?.code).toBe(-32001)
    }
    expect((await result<wire.ListTasksResponse>('ListTasks', {}, as('bob'))).totalSize).toBe(0)
    expect((await result<wire.ListTasksResponse>('ListTasks', {}, as('alice'))).totalSize).toBe(1)
    expect((await call('GetTask', { id })).error).toBeDefined()
  })

  test('a tenant that a client names has only the tasks of that client', async () => {
    const { result, call } = agent(() => 'ok', known)
    const given = { ...params('x'), tenant: 't' }
    const { task } = await result<{ task: wire.Task }>('SendMessage', given, as('alice'))
    const find = { id: task.id, tenant: 't' }
    expect((await call('GetTask', find, as('alice'))).result).toBeDefined()
    expect((await call('GetTask', find, as('bob'))).error?.code).toBe(-32001)
    expect((await call('GetTask', { id: task.id }, as('alice'))).error?.code).toBe(-32001)
    expect((await call('GetTask', { ...find, tenant: 'T' }, as('alice'))).error?.code).toBe(-32001)
    // What a principal is called is not what a tenant is called.
    const odd = as('\\nt\\nalice')
    expect((await call('GetTask', { id: task.id }, odd)).error?.code).toBe(-32001)
  })

  test('without authentication, the tasks of tenants are still kept apart', async () => {
    const { result, call } = agent(() => 'ok')
    const { task } = await result<{ task: wire.Task }>('SendMessage', { ...params('x'), tenant: 'a' })
    const { id } = task
    expect((await call('GetTask', { id, tenant: 'a' })).result).toBeDefined()
    expect((await call('GetTask', { id, tenant: 'b' })).error?.code).toBe(-32001)
    expect((await result<wire.ListTasksResponse>('ListTasks', { tenant: 'b' })).totalSize).toBe(0)
    expect((await call('GetTask', { id })).error?.code).toBe(-32001)
    expect((await result<wire.ListTasksResponse>('ListTasks')).totalSize).toBe(0)
  })
})

test('an agent that cannot be made says which option is at fault', async () => {
  const error = await rejection(() => agent('no function' as never))
  expect(String(error)).toContain('execute')
})
