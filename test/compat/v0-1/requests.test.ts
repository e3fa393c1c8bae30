import fc from 'fast-check'
import { A2AError, type JsonObject, type Part } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { v0_1 } from '../../../src/compat/index.js'
import { thrown } from '../../support/manager.js'
import * as any from '../../wire/support/arbitraries.js'

// What clients of 0.1 send, and what it is to the core. What they are answered with is tested in v0-1.test.ts.

const { methods, rpc } = v0_1()

/** As `method` of 0.1 reads `params`. */
function read(method: string, params: unknown): unknown {
  const operation = methods.get(method)
  return operation && rpc[operation]?.decode(any.overTheWire(params))
}

const USER = { role: 'user', parts: [{ type: 'text', text: 'go' }] }

describe.each(['tasks/send', 'tasks/sendSubscribe'])('%s', (method) => {
  test('with no more than it has to have', () => {
    expect(read(method, { id: 't', message: USER })).toStrictEqual({
      chosenId: 't',
      needsTask: true,
      message: { role: 'user', parts: [{ text: 'go' }] },
      returnImmediately: false,
      acceptedOutputModes: [],
      historyLength: 0,
    })
  })

  test('with all that it may have', () => {
    const params = {
      id: 't',
      sessionId: 's',
      message: { ...USER, metadata: { a: null } },
      acceptedOutputModes: ['text/plain'],
      pushNotification: {
        id: 'ignored',
        url: 'https://example.com/hook',
        token: 'secret',
        authentication: { schemes: ['Bearer', 'Basic'], credentials: 'c' },
      },
      historyLength: 3,
      metadata: { skill: 'sum' },
    }
    expect(read(method, params)).toStrictEqual({
      chosenId: 't',
      needsTask: true,
      message: { role: 'user', parts: [{ text: 'go' }], contextId: 's', metadata: { a: null } },
      returnImmediately: false,
      acceptedOutputModes: ['text/plain'],
      historyLength: 3,
      pushConfig: {
        id: 't',
        url: 'https://example.com/hook',
        token: 'secret',
        authentication: { scheme: 'Bearer', credentials: 'c' },
      },
      metadata: { skill: 'sum' },
    })
  })

  test('null counts as absent, as the clients of 0.1 send it', () => {
    const part = {
      type: 'file',
      file: { bytes: 'aGk=', uri: null, name: null, mimeType: null },
      metadata: null,
    }
    const message = { role: 'user', parts: [part], metadata: null }
    const absent = { sessionId: '', acceptedOutputModes: null, pushNotification: null }
    const params = { id: 't', message, ...absent, historyLength: null, metadata: null }
    expect(read(method, params)).toStrictEqual({
      ...(read(method, { id: 't', message: USER }) as object),
      message: { role: 'user', parts: [{ raw: 'aGk=' }] },
    })
  })

  test.each<[path: string, reason: string, params: unknown]>([
    ['params', 'must be an object, got null', null],
    ['params', 'must be an object, got an array', []],
    ['id', 'is missing', { message: USER }],
    ['id', 'must not be empty', { id: '', message: USER }],
    ['id', 'must be a string, got a number', { id: 1, message: USER }],
    ['sessionId', 'must be a string, got an object', { id: 't', sessionId: {}, message: USER }],
    ['message', 'is missing', { id: 't' }],
    ['message', 'must be an object, got a string', { id: 't', message: 'go' }],
    ['message.role', 'must be one of user, agent', { id: 't', message: { ...USER, role: 'ROLE_USER' } }],
    ['message.parts', 'is missing', { id: 't', message: { role: 'user' } }],
    ['message.parts', 'must have at least one part', { id: 't', message: { role: 'user', parts: [] } }],
    ['message.metadata', 'must be an object', { id: 't', message: { ...USER, metadata: [] } }],
    ['historyLength', 'must be an integer from 0', { id: 't', message: USER, historyLength: -1 }],
    ['historyLength', 'must be an integer from 0', { id: 't', message: USER, historyLength: '3' }],
    ['metadata', 'must be an object', { id: 't', message: USER, metadata: 'x' }],
    ['acceptedOutputModes[1]', 'must be a string', { id: 't', message: USER, acceptedOutputModes: ['a', 1] }],
    ['pushNotification.url', 'is missing', { id: 't', message: USER, pushNotification: {} }],
    [
      'pushNotification.authentication.schemes',
      'must not be empty',
      {
        id: 't',
        message: USER,
        pushNotification: { url: 'https://a', authentication: { credentials: 'c' } },
      },
    ],
  ])('%s %s', (path, reason, params) => {
    refuses(method, params, path, reason)
  })

  test.each<[path: string, reason: string, part: unknown]>([
    ['', 'must be an object', 'text'],
    ['', 'must have exactly one of text, file and data, got none', {}],
    ['', 'must have exactly one of text, file and data, got none', { type: 'text' }],
    ['', 'must have exactly one of text, file and data, got text and data', { text: 'a', data: {} }],
    ['.type', 'must name the content that the part has', { type: 'data', text: 'a' }],
    ['.kind', 'must name the content that the part has', { type: 'text', kind: 'file', text: 'a' }],
    ['.type', 'must be one of text, file, data', { type: 'form', text: 'a' }],
    ['.text', 'must be a string', { type: 'text', text: 1 }],
    ['.data', 'must be an object', { type: 'data', data: [1] }],
    ['.metadata', 'must be an object', { type: 'text', text: 'a', metadata: 1 }],
    ['.file', 'must be an object', { type: 'file', file: 'aGk=' }],
    ['.file', 'must have exactly one of bytes and uri, got none', { type: 'file', file: { name: 'a' } }],
    ['.file', 'must have exactly one of bytes and uri', { type: 'file', file: { bytes: '', uri: 'a' } }],
    ['.file.bytes', 'must be base64', { type: 'file', file: { bytes: 'a-+=' } }],
    ['.file.uri', 'must not be empty', { type: 'file', file: { uri: '' } }],
    ['.file.name', 'must be a string', { type: 'file', file: { uri: 'a', name: 1 } }],
  ])('a part whose%s %s', (path, reason, part) => {
    const params = { id: 't', message: { role: 'user', parts: [USER.parts[0], part] } }
    refuses(method, params, `message.parts[1]${path}`, reason)
  })
})

function refuses(method: string, params: unknown, path: string, reason: string): void {
  const error = thrown(() => read(method, params))
  if (!A2AError.is(error, 'INVALID_PARAMS')) throw error
  expect(error.data.path).toBe(path)
  expect(error.data.reason).toContain(reason)
}

describe('the other parameters', () => {
  test.each<[method: string, params: unknown, request: unknown]>([
    ['tasks/get', { id: 't' }, { id: 't', historyLength: 0 }],
    ['tasks/get', { id: 't', historyLength: null, metadata: null }, { id: 't', historyLength: 0 }],
    ['tasks/get', { id: 't', historyLength: 2, metadata: {} }, { id: 't', historyLength: 2 }],
    ['tasks/cancel', { id: 't' }, { id: 't' }],
    ['tasks/cancel', { id: 't', metadata: { why: 1 } }, { id: 't', metadata: { why: 1 } }],
    ['tasks/resubscribe', { id: 't', historyLength: 2, metadata: {} }, { id: 't', evenIfEnded: true }],
    ['tasks/pushNotification/get', { id: 't' }, { taskId: 't', id: 't' }],
    [
      'tasks/pushNotification/set',
      { id: 't', pushNotificationConfig: { url: 'https://a', token: '' } },
      { taskId: 't', config: { id: 't', url: 'https://a' } },
    ],
  ])('%s reads %j', (method, params, request) => {
    expect(read(method, params)).toStrictEqual(request)
  })

  const ALL = ['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'tasks/pushNotification/get']

  test.each([...ALL, 'tasks/pushNotification/set'])('%s needs an id', (method) => {
    const rest = { pushNotificationConfig: { url: 'https://a' } }
    refuses(method, rest, 'id', 'is missing')
    refuses(method, { ...rest, id: '' }, 'id', 'must not be empty')
    refuses(method, { ...rest, id: ['t'] }, 'id', 'must be a string, got an array')
    refuses(method, null, 'params', 'must be an object, got null')
  })

  test.each(ALL)('%s refuses invalid values', (method) => {
    refuses(method, { id: 't', historyLength: 1.5 }, 'historyLength', 'must be an integer')
    refuses(method, { id: 't', metadata: [] }, 'metadata', 'must be an object')
  })

  test('a configuration that is null counts as absent', () => {
    const path = 'pushNotificationConfig'
    refuses('tasks/pushNotification/set', { id: 't', pushNotificationConfig: null }, path, 'is missing')
    refuses(
      'tasks/pushNotification/set',
      { id: 't', pushNotificationConfig: {} },
      `${path}.url`,
      'is missing',
    )
  })
})

describe('a part', () => {
  test.each<[part: JsonObject, core: Part]>([
    [
      { type: 'text', text: '', metadata: { a: 1 } },
      { text: '', metadata: { a: 1 } },
    ],
    [{ kind: 'text', text: 'a' }, { text: 'a' }],
    [{ text: 'a' }, { text: 'a' }],
    [
      { type: 'file', file: { name: 'n', mimeType: 'm', bytes: '_-8' } },
      { raw: '/+8=', filename: 'n', mediaType: 'm' },
    ],
    [
      { type: 'file', file: { uri: 'u', name: '' }, metadata: {} },
      { url: 'u', metadata: {} },
    ],
    [{ type: 'data', data: { data: { a: 1 } } }, { data: { data: { a: 1 } } }],
  ])('%j is read as %j', (part, core) => {
    const request = read('tasks/send', { id: 't', message: { role: 'agent', parts: [part] } })
    expect(request).toHaveProperty('message', { role: 'agent', parts: [core] })
  })

  test('survives a round trip, without fields that 0.1 lacks', () => {
    fc.assert(
      fc.property(any.message, (message) => {
        const shown = rpc.SendMessage?.encode({ type: 'message', message })
        const { status } = Object(shown) as { status: JsonObject }
        const request = read('tasks/send', { id: 't', message: status['message'] })
        const { role, parts, metadata } = message
        const survivors = parts.map(survivorOf)
        const expected = { role, parts: survivors, ...(metadata !== undefined && { metadata }) }
        expect(request).toHaveProperty('message', any.overTheWire(expected))
      }),
    )
  })
})

/** The names and media types of texts and data have no place in 0.1, nor have metadata to say that there are none. */
function survivorOf(part: Part): Part {
  if (part.text === undefined && part.data === undefined) return part
  const survivor = { ...part }
  delete survivor.filename
  delete survivor.mediaType
  const isObject = typeof part.data === 'object' && part.data !== null && !Array.isArray(part.data)
  const isWrapped = part.text === undefined && !isObject
  if (isWrapped && Object.keys(part.metadata ?? {}).length === 0) delete survivor.metadata
  return survivor
}

test('a push configuration comes back under the id of its task', () => {
  const { CreateTaskPushNotificationConfig: set, GetTaskPushNotificationConfig: get } = rpc
  fc.assert(
    fc.property(any.pushConfig, (config) => {
      const shown = set?.encode({ taskId: 't', config })
      expect(shown).toMatchObject({ id: 't', pushNotificationConfig: { url: config.url } })
      expect(shown).not.toHaveProperty('pushNotificationConfig.id')
      expect(get?.encode({ taskId: 't', config })).toStrictEqual(shown)
      const back = read('tasks/pushNotification/set', shown)
      expect(back).toStrictEqual({ taskId: 't', config: { ...config, id: 't' } })
    }),
  )
})
