/** Refused messages, agents that support part of the protocol, and lost responses. */
import { describe, expect, test } from 'vitest'
import {
  cardOf,
  chunk,
  clientOf,
  error,
  failureOf,
  NO_METHOD,
  NOT_FOUND,
  nowhere,
  scripted,
  status,
  stream,
  task,
  UNSUPPORTED,
} from './scripted.js'

const INVALID = -32602
const AGENT_IS_BUSY = {
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason: 'UNAVAILABLE',
  domain: 'a2a-protocol.org',
}

describe('an agent whose card says that it streams', () => {
  test.each([
    ['UNSUPPORTED_OPERATION', UNSUPPORTED],
    ['METHOD_NOT_FOUND', NO_METHOD],
  ])('and answers %s is polled', async (_, code) => {
    let polls = 0
    const agent = await scripted(({ method }) => {
      if (method === 'SendMessage') return { task: task('working') }
      return method === 'GetTask'
        ? task((polls += 1) === 3 ? 'completed' : 'working', { text: 'ok' })
        : error(code)
    })
    expect(await clientOf(agent).run('hi', { pollIntervalMs: 1 })).toMatchObject({
      type: 'completed',
      text: 'ok',
    })
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'SendMessage', 'GetTask', 'GetTask', 'GetTask'])
    const [first, second] = agent.asked.map(({ params }) => params.message?.messageId)
    expect(second).toBe(first)
  })

  test('and has no page for it is polled', async () => {
    const agent = await scripted(({ method, response }) => {
      if (method !== 'SendStreamingMessage')
        return method === 'SendMessage' ? { task: task('completed') } : task('completed')
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>')
      return undefined
    })
    expect((await clientOf(agent).run('hi')).type).toBe('completed')
  })

  test.each([UNSUPPORTED, NO_METHOD])('and does not resume a stream is polled (%i)', async (code) => {
    let polls = 0
    const agent = await scripted((asked) => {
      if (asked.method === 'SendStreamingMessage') return stream(asked, [{ task: task('working') }])
      if (asked.method === 'SubscribeToTask') return error(code)
      return task((polls += 1) === 3 ? 'completed' : 'working', { text: 'ok' })
    })
    expect(await clientOf(agent).run('hi', { pollIntervalMs: 1 })).toMatchObject({
      type: 'completed',
      text: 'ok',
    })
  })

  test('and refuses the message is not asked forever', async () => {
    const agent = await scripted(() => error(UNSUPPORTED, 'Not today'))
    const result = await clientOf(agent).run('hi')
    expect(result).toMatchObject({
      type: 'error',
      text: 'Not today',
      error: { code: 'UNSUPPORTED_OPERATION' },
    })
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'SendMessage'])
  })
})

describe('an agent that takes no conversation of our making', () => {
  test.each([INVALID, NOT_FOUND])('gets the message without (%i)', async (code) => {
    const agent = await scripted(({ method, params: { message } }) => {
      if (message?.contextId !== undefined) return error(code, 'unknown context')
      return method === 'SendMessage' ? { task: task('completed') } : task('completed', { text: 'ok' })
    }, false)
    expect(await clientOf(agent).run('hi')).toMatchObject({ type: 'completed', text: 'ok' })
    expect(agent.methods()).toEqual(['SendMessage', 'SendMessage', 'GetTask'])
  })

  test('and whose answer is lost then: nothing is sent twice, and the handle names no conversation', async () => {
    const agent = await scripted(({ params: { message }, response }) => {
      if (message?.contextId !== undefined) return error(INVALID, 'unknown context')
      response.destroy()
      return undefined
    }, false)
    const result = await clientOf(agent).run({ messageId: 'm', parts: [{ text: 'hi' }] })
    expect(result).toMatchObject({ type: 'error', error: { code: 'EXTERNAL_SERVICE_ERROR' } })
    expect('handle' in result && result.handle).toEqual({ messageId: 'm' })
    expect(agent.methods()).toEqual(['SendMessage', 'SendMessage'])
  })

  test('and refuses the message without it too: the reason is returned', async () => {
    const agent = await scripted(() => error(INVALID, 'No parts like these'), false)
    const result = await clientOf(agent).run('hi')
    expect(result).toMatchObject({ type: 'error', text: 'No parts like these' })
    expect(agent.asked).toHaveLength(2)
  })
})

describe('a message whose answer is lost', () => {
  /** Executes at the given send; its results are reported from the given look on. */
  async function lossy(options: {
    readonly executes: number
    readonly shownAtLook: number
    readonly more?: object
  }) {
    const contexts: string[] = []
    let looks = 0
    let sends = 0
    const agent = await scripted(({ method, params, response }) => {
      if (method === 'SendMessage') {
        sends += 1
        if (sends >= options.executes) contexts.push(params.message?.contextId ?? '')
        if (sends > 1) return { task: task('completed') }
        response.destroy()
        return undefined
      }
      if (method !== 'ListTasks') return task('completed', { text: 'ok' })
      looks += 1
      const shown = looks >= options.shownAtLook ? contexts : []
      return { tasks: shown.map((contextId) => task('working', { contextId })), ...options.more }
    }, false)
    return { agent, executed: () => contexts.length }
  }

  test.each([1, 2, 4])('is not sent again where the agent has it at look %i', async (shownAtLook) => {
    const { agent, executed } = await lossy({ executes: 1, shownAtLook })
    expect(await clientOf(agent).run('hi')).toMatchObject({ type: 'completed', text: 'ok' })
    expect(executed()).toBe(1)
    expect(agent.methods()).toEqual([
      'SendMessage',
      ...Array<string>(shownAtLook).fill('ListTasks'),
      'GetTask',
    ])
  })

  test('is sent again, as it was, where the agent has no trace of it', async () => {
    const { agent, executed } = await lossy({ executes: 2, shownAtLook: 1 })
    expect((await clientOf(agent).run('hi')).type).toBe('completed')
    expect(executed()).toBe(1)
    const [first, second] = agent.asked
      .filter(({ method }) => method === 'SendMessage')
      .map(({ params }) => params.message)
    expect(second).toEqual(first)
  })

  test('is not sent again with "resend: false": an error, with a handle that finds what came after all', async () => {
    const { agent, executed } = await lossy({ executes: 1, shownAtLook: 5 })
    const result = await clientOf(agent).run('hi', { resend: false })
    expect(failureOf(result)).toEqual({ type: 'error', code: 'EXTERNAL_SERVICE_ERROR' })
    if (!('handle' in result)) throw new Error('It has no handle')
    expect(await clientOf(agent).resume(result.handle)).toMatchObject({ type: 'completed', text: 'ok' })
    expect(executed()).toBe(1)
  })

  test('is sent twice where the agent shows it too late, unless "resend: false"', async () => {
    const { agent, executed } = await lossy({ executes: 1, shownAtLook: 5 })
    expect((await clientOf(agent).run('hi')).type).toBe('completed')
    expect(executed()).toBe(2)
  })

  test('is found where the agent shows it late and refuses it the second time', async () => {
    let sends = 0
    const agent = await scripted(({ method, params: { contextId }, response }) => {
      if (method === 'ListTasks') return { tasks: sends > 1 ? [task('working', { contextId })] : [] }
      if (method === 'GetTask') return task('completed', { text: 'ok' })
      if ((sends += 1) > 1) return error(-32600, 'I have that message already')
      response.destroy()
      return undefined
    }, false)
    expect(await clientOf(agent).run('hi')).toMatchObject({ type: 'completed', text: 'ok' })
    expect(sends).toBe(2)
  })

  test('and that the agent would reply to without a task is done twice, unless "resend: false"', async () => {
    let done = 0
    const agent = await scripted(({ method, response }) => {
      if (method === 'ListTasks') return { tasks: [] }
      done += 1
      if (done > 1) return { message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'Hello' }] } }
      response.destroy()
      return undefined
    }, false)
    expect(await clientOf(agent).run('hi')).toMatchObject({ type: 'message', text: 'Hello' })
    expect(done).toBe(2)
    done = 0
    expect(await clientOf(agent).run('hi', { resend: false })).toMatchObject({
      type: 'error',
      handle: { isOwnContext: true },
    })
    expect(done).toBe(1)
  })

  test.each([
    ['has more tasks than it shows', { nextPageToken: 'more' }],
    ['shows tasks of no conversation', { tasks: [{ ...task('working'), contextId: undefined }] }],
  ])('is not sent again where the agent %s', async (_, more) => {
    const { agent, executed } = await lossy({ executes: 1, shownAtLook: 9, more })
    expect(failureOf(await clientOf(agent).run('hi')).type).toBe('error')
    expect(executed()).toBe(1)
  })

  test('in an older conversation is not sent again if its tasks have no history', async () => {
    const { agent } = await lossy({ executes: 1, shownAtLook: 9, more: { tasks: [task('completed')] } })
    expect((await clientOf(agent).run('hi', { contextId: 'c-1' })).type).toBe('error')
    expect(agent.methods()).toEqual(['SendMessage', 'ListTasks'])
  })

  test.each([NO_METHOD, UNSUPPORTED])(
    'is not sent again where the agent lists no tasks (%i)',
    async (code) => {
      const agent = await scripted(({ method, response }) => {
        if (method === 'ListTasks') return error(code)
        response.destroy()
        return undefined
      })
      expect(await clientOf(agent).run('hi')).toMatchObject({
        type: 'error',
        error: { code: 'EXTERNAL_SERVICE_ERROR' },
      })
      expect(agent.methods()).toEqual(['SendStreamingMessage', 'ListTasks'])
    },
  )

  test('is not sent again over JSON-RPC of 0.3, which lists no tasks', async () => {
    const agent = await scripted(({ response }) => void response.destroy())
    const card = cardOf([agent.url], false, '0.3')
    const result = await clientOf({ card }).run({ messageId: 'm', parts: [{ text: 'hi' }] })
    expect(result).toMatchObject({ type: 'error', handle: { messageId: 'm' } })
    expect('handle' in result && result.handle).toEqual({ messageId: 'm' })
    expect(agent.methods()).toEqual(['message/send'])
  })
})

test.each([502, 503, 504, 500])('HTTP %i says nothing of the message: it is looked for', async (code) => {
  const agent = await scripted(({ method, params: { contextId }, response }) => {
    if (method === 'ListTasks') return { tasks: [task('working', { contextId })] }
    if (method === 'GetTask') return task('completed', { text: 'ok' })
    response.writeHead(code).end('<html>')
    return undefined
  })
  expect((await clientOf(agent).run('hi')).type).toBe('completed')
  expect(agent.methods()).toEqual(['SendStreamingMessage', 'ListTasks', 'GetTask'])
})

test.each([
  ['of a gateway', { error: { code: 503, message: 'upstream connect error' } }, 1],
  ['of a gateway in words', { error: { code: 'ServiceUnavailable', message: 'Try later' } }, 1],
  ['of the agent', { error: { code: 503, message: 'Busy', details: [AGENT_IS_BUSY] } }, 2],
])('HTTP 503 with JSON %s', async (_, body, sends) => {
  let isFirst = true
  const agent = await scripted(({ method, params: { contextId }, response }) => {
    if (method === 'ListTasks') return { tasks: [task('working', { contextId })] }
    if (method === 'GetTask') return task('completed', { text: 'ok' })
    if (!isFirst) return { task: task('completed') }
    isFirst = false
    response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return undefined
  }, false)
  expect((await clientOf(agent).run('hi')).type).toBe('completed')
  // Only the agent itself can say that it has not taken the message.
  expect(agent.methods().filter((method) => method === 'SendMessage')).toHaveLength(sends)
})

test.each([429, 503])('HTTP %i with Retry-After is heeded: the message is sent once more', async (code) => {
  let sends = 0
  const agent = await scripted(({ method, response }) => {
    if (method === 'GetTask') return task('completed', { text: 'ok' })
    if ((sends += 1) > 1) return { task: task('completed') }
    response.writeHead(code, { 'retry-after': '0' }).end('busy')
    return undefined
  }, false)
  expect((await clientOf(agent).run('hi')).type).toBe('completed')
  expect(agent.methods()).toEqual(['SendMessage', 'SendMessage', 'GetTask'])
})

test('an agent that cannot be reached is tried, and then an error', async () => {
  const result = await clientOf({ card: cardOf([await nowhere()]) }).run('hi')
  expect(result).toMatchObject({ type: 'error', error: { code: 'EXTERNAL_SERVICE_ERROR' } })
})

test('a closed first interface does not prove that the second has not received the message', async () => {
  const agent = await scripted(({ method, params: { contextId }, response }) => {
    if (method === 'ListTasks') return { tasks: [task('working', { contextId })] }
    if (method === 'GetTask') return task('completed', { text: 'ok' })
    response.destroy()
    return undefined
  }, false)
  const card = cardOf([await nowhere(), agent.url], false)
  expect(await clientOf({ card }).run('hi')).toMatchObject({ type: 'completed', text: 'ok' })
  expect(agent.methods().filter((method) => method === 'SendMessage')).toHaveLength(1)
})

describe('an agent that forgets', () => {
  test('after it has sent the end: that is the result', async () => {
    const agent = await scripted((asked) => {
      if (asked.method !== 'SendStreamingMessage') return error(NOT_FOUND)
      return stream(asked, [{ task: task('working') }, chunk('all'), chunk(' sent'), status('completed')])
    })
    expect(await clientOf(agent).run('hi')).toMatchObject({ ok: true, type: 'completed', text: 'all sent' })
  })

  test('before it has sent the end: an error with the handle, and the task so far', async () => {
    const agent = await scripted((asked) => {
      if (asked.method !== 'SendStreamingMessage') return error(NOT_FOUND)
      return stream(asked, [{ task: task('working') }, chunk('some')])
    })
    const result = await clientOf(agent).run('hi')
    expect(result).toMatchObject({
      type: 'error',
      error: { code: 'TASK_NOT_FOUND' },
      handle: { taskId: 't-1' },
    })
    expect('task' in result && result.task).toMatchObject({ artifacts: [{ parts: [{ text: 'some' }] }] })
  })
})

test('an error inside the agent is temporary while the task is polled, and final for the message', async () => {
  let polls = 0
  const agent = await scripted(({ method }) => {
    if (method === 'SendMessage') return { task: task('working') }
    return (polls += 1) < 3 ? error(-32603, 'Oops') : task('completed', { text: 'ok' })
  }, false)
  expect((await clientOf(agent).run('hi')).type).toBe('completed')
  const broken = await scripted(() => error(-32603, 'Oops'), false)
  expect(await clientOf(broken).run('hi')).toMatchObject({ type: 'error', text: 'Oops' })
  expect(broken.methods()).toEqual(['SendMessage'])
})
