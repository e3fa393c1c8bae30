import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  agent,
  BINDINGS,
  call,
  gate,
  jsonRpc,
  open,
  ORIGIN,
  post,
  refused,
  taskOf,
  user,
} from './support/agent.js'
import type { Binding, TestAgent } from './support/agent.js'

const failing = (limits: object): TestAgent =>
  agent(
    () => {
      throw new Error('The agent was asked')
    },
    { limits },
  )

/** A body that says nothing of its length, and is never all there. */
function endless(): { body: ReadableStream<Uint8Array>; pulled: () => number } {
  let pulled = 0
  const chunk = new TextEncoder().encode('"'.padEnd(64, 'x'))
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += 1
      controller.enqueue(chunk)
    },
  })
  return { body, pulled: () => pulled }
}

function streamed(path: string, body: ReadableStream<Uint8Array>): Request {
  const headers = { 'content-type': 'application/json' }
  return new Request(ORIGIN + path, { method: 'POST', headers, body, duplex: 'half' })
}

async function reasonOf(binding: Binding, response: Response): Promise<string | undefined> {
  return binding.unwrap((await response.json()) as never).error?.reason
}

const rpc = (params: object, method = 'SendMessage'): object => ({
  jsonrpc: '2.0',
  id: 'request-1',
  method,
  params,
})

/** How many values there are in a value, itself included. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, each) => sum + valuesIn(each), 1)
}

const pathOf = (binding: Binding): string => (binding.name === 'JSON-RPC' ? '/' : '/message:send')

describe.each(BINDINGS)('$name: limits', (binding) => {
  test('161. a body that says that it is too large is not read', async () => {
    const a = failing({ maxBodyBytes: 1000 })
    const request = binding.request(
      'SendMessage',
      { message: user('x'.repeat(2000)) },
      { headers: { 'content-length': '3000' } },
    )
    const response = await a.handler.fetch(request)
    expect(response.status).toBe(413)
    expect(request.bodyUsed).toBe(false)
    expect(await reasonOf(binding, response)).toBe('LIMIT_EXCEEDED')
    expect(a.tasks.size()).toBe(0)
    expect(a.errors).toEqual([])
  })

  test('161. a body that does not say so is read no further than allowed', async () => {
    const a = failing({ maxBodyBytes: 1000 })
    const { body, pulled } = endless()
    const response = await a.handler.fetch(streamed(pathOf(binding), body))
    expect(response.status).toBe(413)
    expect(await reasonOf(binding, response)).toBe('LIMIT_EXCEEDED')
    await turn()
    expect(pulled()).toBeLessThan(25)
  })

  test('161. a body of just the size is read', async () => {
    const params = { message: user('x') }
    const size = (await binding.request('SendMessage', params).text()).length
    for (const [maxBodyBytes, status] of [
      [size, 200],
      [size - 1, 413],
    ] as const) {
      const { handler } = agent(() => 'done', { limits: { maxBodyBytes } })
      expect((await handler.fetch(binding.request('SendMessage', params))).status).toBe(status)
    }
  })

  test('161. JSON that nests too deep is refused before anything looks into it', async () => {
    const a = failing({ maxDepth: 10 })
    for (const depth of [11, 20_000]) {
      const deep = `${'['.repeat(depth)}1${']'.repeat(depth)}`
      const body =
        binding.name === 'JSON-RPC'
          ? `{"jsonrpc":"2.0","id":"request-1","method":"SendMessage","params":${deep}}`
          : `{"message":${deep}}`
      const response = await a.handler.fetch(post(pathOf(binding), body))
      expect(response.status).toBeLessThan(500)
      expect(await reasonOf(binding, response)).toBe('LIMIT_EXCEEDED')
    }
    expect(a.tasks.size()).toBe(0)
  })

  test('161. more values than allowed are refused before they are parsed', async () => {
    const values = [0, 0.5, true, null, '', '\\', '\\"', '[,{', 'ü,', [], [[]], {}, { a: 1, 'b,': [2, {}] }]
    const text = (padding: string): string => {
      const message = { ...user('x'), parts: [{ data: { values } }], metadata: { padding } }
      return JSON.stringify(binding.name === 'JSON-RPC' ? rpc({ message }) : { message })
    }
    // A short body is not counted: its padding makes it longer than the limit.
    const body = text(','.repeat(500))
    // Empty arrays and objects count as one more.
    const nodes = valuesIn(JSON.parse(body)) + 4
    for (const [maxNodes, status] of [
      [nodes, 200],
      [nodes - 1, 413],
    ] as const) {
      const a = agent(() => 'done', { limits: { maxNodes } })
      const response = await a.handler.fetch(post(pathOf(binding), body))
      expect(response.status).toBe(status)
      if (status === 413) expect(await reasonOf(binding, response)).toBe('LIMIT_EXCEEDED')
      expect(a.tasks.size()).toBe(status === 413 ? 0 : 1)
    }
  })

  test('161. 25,000 values are allowed by default', async () => {
    const a = agent(() => 'done')
    const padding = ' '.repeat(25_000)
    for (const [count, status] of [
      [24_900, 200],
      [25_000, 413],
    ] as const) {
      const message = { ...user('x'), parts: [{ data: { list: Array.from({ length: count }, () => 1) } }] }
      const body = JSON.stringify(binding.name === 'JSON-RPC' ? rpc({ message }) : { message })
      expect((await a.handler.fetch(post(pathOf(binding), body + padding))).status).toBe(status)
    }
  })

  test('161. no more runs than allowed: further messages get Retry-After', async () => {
    const { opened, open: finish } = gate()
    const began = gate()
    const a = agent(
      async (run) => {
        run.start()
        began.open()
        await opened
      },
      { limits: { maxRuns: 1 } },
    )
    const first = call(binding, a, 'SendMessage', { message: user('go') })
    await began.opened
    const response = await a.handler.fetch(binding.request('SendMessage', { message: user('go') }))
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await reasonOf(binding, response)).toBe('UNAVAILABLE')
    finish()
    expect(taskOf(await first).status.state).toBe('TASK_STATE_COMPLETED')
    const next = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(next.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('161. no more streams than allowed, and room again when one is left', async () => {
    const { opened, open: finish } = gate()
    const a = agent(() => opened, { limits: { maxStreams: 1 } })
    const { id } = a.tasks.createTask({ skill: 'test' })
    const first = await open(binding, a, 'SubscribeToTask', { id })
    expect((await refused(binding, a, 'SubscribeToTask', { id })).reason).toBe('UNAVAILABLE')
    const params = { message: user('go') }
    expect((await refused(binding, a, 'SendStreamingMessage', params)).reason).toBe('UNAVAILABLE')
    expect(a.tasks.size()).toBe(1)
    await first.leave()
    const second = await open(binding, a, 'SubscribeToTask', { id })
    await second.leave()
    finish()
  })

  test('161. a run that takes too long fails its task; waiting for the user does not count', async () => {
    const asked = gate()
    const again = gate()
    const reasons: unknown[] = []
    const a = agent(
      async (run) => {
        const answer = run.requireInput('Which?')
        asked.open()
        await answer
        again.open()
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
        reasons.push(run.signal.reason)
      },
      { limits: { runTimeoutMs: 1000 } },
    )
    const { id } = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    await asked.opened
    a.clock.advance(60_000)
    const sent = call(binding, a, 'SendMessage', { message: user('this', { taskId: id }) })
    await again.opened
    a.clock.advance(999)
    expect(a.tasks.peekTask(id)?.state).toBe('working')
    a.clock.advance(1)
    const { status } = taskOf(await sent)
    expect(status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'Task timed out' }] },
    })
    await a.handler.close()
    expect(reasons).toMatchObject([{ code: 'TASK_TIMED_OUT' }])
  })
})

test.each([
  ['maxBodyBytes', 0],
  ['bodyTimeoutMs', 0],
  ['maxBodyBytesInFlight', -1],
  ['maxPendingBytes', 0],
  ['stalledTimeoutMs', 0],
  ['maxNodes', 1.5],
  ['maxDepth', -1],
  ['maxRuns', NaN],
  ['maxStreams', '1'],
])('161. a limit %s of %j is refused when the agent is made', (name, value) => {
  expect(() => failing({ [name]: value })).toThrow(new RegExp(`limits\\.${name}`))
})

test('161. an unknown limit is refused, too', () => {
  expect(() => failing({ maxBodySize: 1 })).toThrow(/maxBodySize/)
})

const now = (text: string): object => ({
  message: user(text),
  configuration: { returnImmediately: true },
})

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
    a.handler.dispatch(rpc({ message: user('x') }, 'SendStreamingMessage')),
  )
  const streams = (await Promise.all(begun)).filter((answer) => Symbol.asyncIterator in answer)
  expect(streams).toHaveLength(2)
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
