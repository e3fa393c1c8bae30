/** Regressions of the handler: crashes and lost data. */
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterEach, describe, expect, test } from 'vitest'
import { collect } from '../support/manager.js'
import {
  agent,
  authenticate,
  call,
  gate,
  jsonRpc,
  ORIGIN,
  post,
  taskOf,
  textsOf,
  user,
} from './spec/support/agent.js'

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
const now = (text: string): object => ({
  message: user(text),
  configuration: { returnImmediately: true },
})

describe('one request', () => {
  test.each([
    ['parts that are none', { messageId: 'm', role: 'ROLE_USER', parts: Array(300_000).fill({}) }],
    ['references that are empty', { ...user('x'), referenceTaskIds: Array(300_000).fill('') }],
  ])('with ever so many faults is refused for the first: %s', async (_, message) => {
    const { handler } = agent(() => undefined)
    const answer = (await handler.dispatch(rpc('SendMessage', { message }))) as {
      error?: { message: string }
    }
    expect(answer.error?.message).toMatch(/^message\.(parts|referenceTaskIds)\[0\]/)
  })

  test('with a path of slashes costs what its length costs', async () => {
    const { handler } = agent(() => undefined)
    const response = await handler.fetch(post(`${'/'.repeat(100_000)}x`, {}))
    expect(response.status).toBe(404)
  })

  test('cannot claim a length that is not its own', async () => {
    const { handler } = agent(() => undefined, { limits: { maxBodyBytes: 1_000 } })
    for (const length of ['5', 'abc', '-1', '5, 5']) {
      const body = JSON.stringify(rpc('SendMessage', { message: user('x'.repeat(5_000)) }))
      const headers = { 'content-type': 'application/json', 'content-length': length }
      const response = await handler.fetch(new Request(ORIGIN, { method: 'POST', headers, body }))
      expect([length, response.status]).toEqual([length, 413])
    }
  })
})

describe('dispatch', () => {
  test.each([null, undefined])(
    'refuses a caller without a principal if there is an authenticate: %s',
    async (principal) => {
      let runs = 0
      const { handler } = agent(
        () => {
          runs += 1
        },
        { authenticate },
      )
      const answer = await handler.dispatch(rpc('SendMessage', { message: user('x') }), { principal })
      expect(answer).toMatchObject({ error: { message: 'Authentication required' } })
      expect(runs).toBe(0)
    },
  )

  test('ends its stream when the signal has aborted, before or after', async () => {
    const a = agent((run) => void run.requireAuth('Key?'))
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('x') }))
    const controller = new AbortController()
    for (const signal of [AbortSignal.abort(), controller.signal]) {
      const stream = await a.handler.dispatch(rpc('SubscribeToTask', { id }), { signal })
      if (!(Symbol.asyncIterator in stream)) throw new Error('No stream')
      const read = collect(stream)
      controller.abort()
      await read
    }
  })
})

describe('close', () => {
  test('ends a task whose run has returned while a message waits', async () => {
    const first = gate()
    const a = agent(async (run) => {
      run.start()
      await first.opened
    })
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', now('first')))
    const second = call(jsonRpc, a, 'SendMessage', { message: user('second', { taskId: id }) })
    while (a.tasks.peekTask(id)?.messages.length !== 2) await turn()
    const closed = a.handler.close()
    first.open()
    await closed
    expect(taskOf(await second).status.state).toBe('TASK_STATE_FAILED')
  })

  test('ends a stream that was taken up where it was', async () => {
    const a = agent((run) => void run.requireAuth('Key?'))
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('x') }))
    const lastEventId = String(a.tasks.peekTask(id)?.generation)
    const stream = await a.handler.dispatch(rpc('SubscribeToTask', { id }), { lastEventId })
    if (!(Symbol.asyncIterator in stream)) throw new Error('No stream')
    const next = stream.next()
    await a.handler.close()
    expect((await next).done).toBe(true)
  })

  test.each([Infinity, NaN, -1, 2 ** 31])('refuses a grace of %s', async (graceMs) => {
    await expect(agent(() => undefined).handler.close({ graceMs })).rejects.toThrow('"graceMs" must be')
  })
})

describe('a question', () => {
  /** An agent that answers `asks` by hand, and a client that answers `reply`. */
  test.each<[string, (run: Run) => Promise<unknown>]>([
    ['start()', (run) => asked(run, () => run.start())],
    ['complete()', (run) => asked(run, () => run.complete())],
  ])('does not stay open when the run continues with %s', async (_, ask) => {
    const a = agent(async (run) => {
      expect(await ask(run)).toMatchObject({ code: 'WAIT_ABORTED' })
    })
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', now('x')))
    expect((await a.tasks.waitFor(task.id)).state).toBe('completed')
    expect(a.errors).toEqual([])
  })

  test('that the run does not await, and that is answered before the run returns, begins another run', async () => {
    const saved = gate()
    const texts: string[] = []
    const a = agent(async (run) => {
      texts.push(run.text)
      if (run.text !== 'first') return `You said ${run.text}`
      void run.requireInput('Which?')
      await saved.opened
      return undefined
    })
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('first') }))
    const answered = call(jsonRpc, a, 'SendMessage', { message: user('second', { taskId: id }) })
    await turn()
    saved.open()
    expect(textsOf(taskOf(await answered))).toEqual(['You said second'])
    expect(texts).toEqual(['first', 'second'])
  })

  test('may be answered by a listener at once', async () => {
    const a = agent(async (run) => `You said ${(await run.requireInput('Which?')).parts[0]?.text}`)
    a.tasks.on('task:stateChange', ({ taskId, to }) => {
      if (to === 'input-required')
        void a.handler.dispatch(rpc('SendMessage', { message: user('this', { taskId }) }))
    })
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', now('x')))
    expect((await a.tasks.waitFor(id)).artifacts[0]?.parts?.[0]?.text).toBe('You said this')
  })

  test('and its run hold no place that the answer needs', async () => {
    const a = agent(
      async (run) => {
        await run.requireInput('Which?')
      },
      { limits: { maxRuns: 1 } },
    )
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('x') }))
    const { status } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('y', { taskId: id }) }))
    expect(status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('an answer', () => {
  const first = async (a: ReturnType<typeof agent>): Promise<string> =>
    taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('first') })).id

  test.each<[string, (run: Run) => unknown]>([
    ['is only caught', (run) => run.requireInput('Which?').catch(() => undefined)],
    ['is not looked at', (run) => run.requireInput('Which?')],
  ])('that %s begins another run', async (_, ask) => {
    const go = gate()
    const a = agent(async (run) => {
      if (run.text !== 'first') return `turn ${run.text}`
      void ask(run)
      await go.opened
      return undefined
    })
    const id = await first(a)
    const answered = call(jsonRpc, a, 'SendMessage', { message: user('b', { taskId: id }) })
    await turn()
    go.open()
    expect(textsOf(taskOf(await answered))).toEqual(['turn b'])
  })

  test('that a stream of texts reads is handled once, and one that it does not read once, too', async () => {
    for (const reads of [true, false]) {
      const go = gate()
      const a = agent(async (run) => {
        if (run.text !== 'first') return `turn ${run.text}`
        const answer = run.requireInput('Which?')
        await go.opened
        return (async function* () {
          yield reads ? `got ${(await answer).parts[0]?.text}` : 'got nothing'
        })()
      })
      const id = await first(a)
      const answered = call(jsonRpc, a, 'SendMessage', { message: user('b', { taskId: id }) })
      await turn()
      go.open()
      expect(textsOf(taskOf(await answered))).toEqual(reads ? ['got b'] : ['got nothing', 'turn b'])
    }
  })
})

describe('limits', () => {
  test('a run whose task was canceled takes its place for as long as it continues', async () => {
    const never = gate()
    const a = agent(
      (run) => {
        run.start()
        return never.opened
      },
      { limits: { maxRuns: 2 } },
    )
    for (const text of ['a', 'b']) {
      const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', now(text)))
      await call(jsonRpc, a, 'CancelTask', { id })
    }
    const { error } = await call(jsonRpc, a, 'SendMessage', now('c'))
    expect(error?.message).toContain('has too much to do')
    never.open()
  })

  test('maxStreams holds for streams that begin at once', async () => {
    const a = agent((run) => void run.requireAuth('Key?'), { limits: { maxStreams: 2 } })
    const begun = Array.from({ length: 10 }, () =>
      a.handler.dispatch(rpc('SendStreamingMessage', { message: user('x') })),
    )
    const streams = (await Promise.all(begun)).filter((answer) => Symbol.asyncIterator in answer)
    expect(streams).toHaveLength(2)
  })
})

test('of many next() at once each comes after the one before it', async () => {
  const a = agent(async (run) => {
    run.artifact('one')
    await turn()
    run.complete('Done')
  })
  const stream = await a.handler.dispatch(rpc('SendStreamingMessage', { message: user('x') }))
  if (!(Symbol.asyncIterator in stream)) throw new Error('No stream')
  const results = await Promise.all(Array.from({ length: 9 }, () => stream.next()))
  expect(results.map((result) => result.done === true)).toEqual(
    [0, 1, 2, 3, 4, 5, 6, 7, 8].map((index) => index > 3),
  )
})

test('a prompt that is answered at once is not the message of the next state', async () => {
  const a = agent(async (run) => {
    await run.requireInput('Which?')
    await never.opened
  })
  const never = gate()
  let hasAnswered = false
  a.tasks.on('task:updated', ({ id, state }) => {
    if (state !== 'input-required' || hasAnswered) return
    hasAnswered = true
    void a.handler.dispatch(rpc('SendMessage', { message: user('this', { taskId: id }) }))
  })
  const { status } = taskOf(await call(jsonRpc, a, 'SendMessage', now('x')))
  expect([status.state, status.message]).toEqual(['TASK_STATE_WORKING', undefined])
  never.open()
})

test('a first message that the manager refuses is answered, whatever the agent does', async () => {
  const a = agent(
    async (run) => {
      try {
        run.update('Reading')
      } catch {
        await turn()
      }
    },
    { tasks: { limits: { maxMessagesSize: 600 } } },
  )
  const { error } = await call(jsonRpc, a, 'SendMessage', { message: user('x'.repeat(2_000)) })
  expect(error?.reason).toBe('LIMIT_EXCEEDED')
})

test('a tenant of characters that take nine is refused as a tenant', async () => {
  const a = agent(() => undefined)
  const { error } = await call(jsonRpc, a, 'GetTask', { id: 'x', tenant: '漢'.repeat(128) })
  expect(error?.message).toMatch(/^tenant must have at most/)
  expect(a.errors).toEqual([])
})

/** What a question that is not answered rejects with. */
async function asked(run: Run, then: () => void): Promise<unknown> {
  const answer = run.requireAuth('Key?')
  then()
  return answer.catch((error: unknown) => error)
}

describe('over a socket', () => {
  let server: Server | undefined
  afterEach(() => server?.close())

  async function listen(options: { maxStreams?: number } = {}): Promise<{ port: number; run: Promise<Run> }> {
    const began = gate<Run>()
    const handler = createRequestHandler({
      card: { name: 'Test', url: 'http://localhost' },
      anonymous: 'shared',
      execute: (run) => {
        run.start()
        began.open(run)
        return gate<undefined>().opened
      },
      limits: options,
    })
    const listening = gate()
    server = createServer(toNodeListener(handler.fetch)).listen(0, '127.0.0.1', () => listening.open())
    await listening.opened
    return { port: (server.address() as AddressInfo).port, run: began.opened }
  }

  const send = (text: string): string => {
    const body = JSON.stringify({ message: user(text) })
    return `POST /message:stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }

  /** The status line of the answer to `text`, and then nothing more. */
  function ask(port: number, text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text))
      socket.on('error', reject)
      socket.once('data', (chunk) => {
        resolve(chunk.toString().split('\r\n', 1)[0] ?? '')
        socket.destroy()
      })
    })
  }

  test('readers that are gone before the first byte leave no stream behind', async () => {
    const { port, run } = await listen({ maxStreams: 3 })
    for (let client = 0; client < 20; client++) {
      await new Promise<void>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.write(send('x'), () => setImmediate(() => socket.resetAndDestroy()))
        })
        socket.on('close', () => resolve())
      })
    }
    await run
    for (let count = 0; count < 50; count++) await turn()
    expect(await ask(port, send('x'))).toBe('HTTP/1.1 200 OK')
  })

  test.each(['x/tasks/y?', 'u:p@x', 'x y'])('a path in the Host header is no path: %s', async (host) => {
    const { port } = await listen()
    expect(await ask(port, `GET /public HTTP/1.1\r\nhost: ${host}\r\n\r\n`)).toBe('HTTP/1.1 400 Bad Request')
  })

  test('of a whole URL the path counts', async () => {
    const { port } = await listen()
    expect(await ask(port, 'GET http://h/tasks HTTP/1.1\r\nhost: h\r\n\r\n')).toBe('HTTP/1.1 200 OK')
  })
})
