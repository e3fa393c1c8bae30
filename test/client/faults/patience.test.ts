/** How often an agent is asked, and for how long, when it fails: by the status of its answers, in time that tests make pass. */
import { setImmediate as turn } from 'node:timers/promises'
import { A2AClient, type ClientOptions } from 'a2a-tasks/client'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { cardOf, envelope, task, status } from './scripted.js'

type Answer = () => Response
interface Call {
  readonly method: string
  readonly id: unknown
}

const http =
  (code: number, headers: Record<string, string> = {}): Answer =>
  () =>
    new Response('<html>', { status: code, headers })
const broken: Answer = () => {
  throw new TypeError('terminated')
}

/** What an agent may answer to everything. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  '200 with HTML': http(200, { 'content-type': 'text/html' }),
  '200 with JSON': () => Response.json({ hello: 'world' }),
  '302': http(302, { location: 'https://login.test/' }),
  '304': () => new Response(null, { status: 304 }),
  '400': http(400),
  '402': http(402),
  '404': http(404),
  '408': http(408),
  '425': http(425),
  '429': http(429),
  '500': http(500),
  '503': http(503),
  '503, retry after 5 s': http(503, { 'retry-after': '5' }),
  'nothing: the connection breaks': broken,
}

function events(asked: Call, given: readonly object[]): Response {
  const text = given.map((event) => `data: ${envelope(asked, event)}\n\n`).join('')
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
}

/** A client of an agent that answers as `answer` says, and what it has asked. */
function asking(answer: (asked: Call, count: number) => Response, isStreaming = true) {
  const clock = new ManualClock()
  const asked: string[] = []
  const fetch: ClientOptions['fetch'] = async (_, { body }) => {
    await turn()
    const call = JSON.parse(body as string) as Call
    asked.push(call.method)
    return answer(call, asked.length)
  }
  const client = new A2AClient({
    card: cardOf(['http://a.test'], isStreaming),
    fetch,
    clock,
    random: () => 1,
  })
  return { client, clock, asked }
}

/** Makes time pass until `work` is over: its outcome, and how long it took. */
async function timed<T>(clock: ManualClock, work: Promise<T>): Promise<{ outcome: T | Error; ms: number }> {
  const start = clock.now()
  let outcome: { readonly is: T | Error } | undefined
  work.then(
    (value) => (outcome = { is: value }),
    (error: unknown) => (outcome = { is: error as Error }),
  )
  for (;;) {
    for (let turns = 0; turns < 10; turns += 1) await turn()
    if (outcome !== undefined) return { outcome: outcome.is, ms: clock.now() - start }
    clock.advance(50)
  }
}

/** Requests, and time in ms at most. */
type Bound = readonly [requests: number, ms: number]
const AT_ONCE: Bound = [1, 0]
const RETRIES: Bound = [4, 1_750]

describe.each([true, false])('the first message (streams: %s)', (isStreaming) => {
  /** Both, where one and the same answer also says that the agent has no streams. */
  const twice: Bound = isStreaming ? [2, 0] : AT_ONCE
  const bounds: Readonly<Record<string, Bound>> = {
    '200 with HTML': AT_ONCE,
    '200 with JSON': AT_ONCE,
    '302': AT_ONCE,
    '304': AT_ONCE,
    '400': AT_ONCE,
    '402': AT_ONCE,
    '404': twice,
    // One question whether the message has arrived.
    '408': [2, 250],
    '425': [2, 250],
    '429': RETRIES,
    '500': [2, 250],
    '503': [2, 250],
    '503, retry after 5 s': [4, 15_000],
    // It may have arrived, and the agent may be about to restart.
    'nothing: the connection breaks': [10, 46_000],
  }

  test.each(Object.keys(ANSWERS))('of a run, answered by %s', async (name) => {
    const { client, clock, asked } = asking(() => (ANSWERS[name] as Answer)(), isStreaming)
    const { outcome, ms } = await timed(clock, client.run('hi'))
    expect(outcome).toMatchObject({ type: 'error', ok: false, handle: { isOwnContext: true } })
    const [requests = 0, limit = 0] = bounds[name] ?? []
    expect(asked).toHaveLength(requests)
    expect(ms).toBeLessThanOrEqual(limit)
  })

  test.each(Object.keys(ANSWERS))('of send() or stream(), answered by %s', async (name) => {
    const { client, clock, asked } = asking(() => (ANSWERS[name] as Answer)(), isStreaming)
    const { outcome, ms } = await timed<unknown>(
      clock,
      isStreaming ? client.stream('hi').next() : client.send('hi'),
    )
    expect(outcome).toBeInstanceOf(Error)
    const [requests, limit] = name.startsWith('429')
      ? RETRIES
      : name.includes('after')
        ? [4, 15_000]
        : AT_ONCE
    expect(asked).toHaveLength(requests)
    expect(ms).toBeLessThanOrEqual(limit)
  })

  test.each([500, 503])(
    'answered by %i is looked for once: it has arrived, and is followed',
    async (code) => {
      const { client, clock, asked } = asking((call) => {
        if (call.method === 'ListTasks') {
          return new Response(envelope(call, { tasks: [task('working', { contextId: contextOf(call) })] }))
        }
        if (call.method === 'GetTask') return new Response(envelope(call, task('completed', { text: 'ok' })))
        return http(code)()
      }, isStreaming)
      const { outcome } = await timed(clock, client.run('hi'))
      expect(outcome).toMatchObject({ type: 'completed', text: 'ok' })
      expect(asked.slice(1)).toEqual(['ListTasks', 'GetTask'])
    },
  )

  test('answered by 500, of an agent without a trace of it: an error after one look, and not sent again', async () => {
    const { client, clock, asked } = asking(
      (call) => (call.method === 'ListTasks' ? new Response(envelope(call, { tasks: [] })) : http(500)()),
      isStreaming,
    )
    const { outcome, ms } = await timed(clock, client.run('hi'))
    expect(outcome).toMatchObject({ type: 'error', error: { data: { status: 500 } } })
    expect(asked).toHaveLength(2)
    expect(ms).toBeLessThanOrEqual(250)
  })

  test('answered by 500, of an agent that then is silent: an error within a few seconds', async () => {
    const { client, clock } = asking((call) => {
      if (call.method !== 'ListTasks') return http(500)()
      return new Response(new ReadableStream())
    }, isStreaming)
    const { outcome, ms } = await timed(clock, client.run('hi'))
    expect(outcome).toMatchObject({ type: 'error', error: { data: { status: 500 } } })
    expect(ms).toBeLessThanOrEqual(4_000)
  })
})

const contextOf = (call: Call): string =>
  (call as unknown as { params: { contextId: string } }).params.contextId

describe('a task that works, whose stream has broken', () => {
  const NINE: Bound = [9, 36_000]
  const bounds: Readonly<Record<string, Bound>> = {
    // A page of a proxy for a moment, perhaps.
    '200 with HTML': RETRIES,
    '200 with JSON': RETRIES,
    '302': AT_ONCE,
    '304': AT_ONCE,
    '400': AT_ONCE,
    '402': AT_ONCE,
    '404': AT_ONCE,
    '408': NINE,
    '425': NINE,
    '429': NINE,
    '500': NINE,
    '503': NINE,
    '503, retry after 5 s': [9, 56_000],
    'nothing: the connection breaks': NINE,
  }

  test.each(Object.keys(ANSWERS))('and whose agent answers with %s', async (name) => {
    const { client, clock, asked } = asking((call, count) =>
      count === 1 ? events(call, [{ task: task('working') }]) : (ANSWERS[name] as Answer)(),
    )
    const { outcome, ms } = await timed(clock, client.run('hi'))
    expect(outcome).toMatchObject({ type: 'error', handle: { taskId: 't-1' }, task: { state: 'working' } })
    const [requests = 0, limit = 0] = bounds[name] ?? []
    expect(asked.slice(1)).toEqual(Array(requests).fill('GetTask'))
    expect(ms).toBeLessThanOrEqual(limit)
  })

  test.each(Object.keys(ANSWERS))('is resumed with %s as patiently', async (name) => {
    const { client, clock, asked } = asking(() => (ANSWERS[name] as Answer)())
    const { outcome, ms } = await timed(clock, client.resume({ messageId: 'm', taskId: 't-1' }))
    expect(outcome).toMatchObject({ type: 'error', handle: { taskId: 't-1' } })
    const [requests = 0, limit = 0] = bounds[name] ?? []
    expect(asked).toEqual(Array(requests).fill('GetTask'))
    expect(ms).toBeLessThanOrEqual(limit)
  })

  test('and whose agent is silent is given up after a minute', async () => {
    const { client, clock } = asking((call, count) =>
      count === 1 ? events(call, [{ task: task('working') }]) : new Response(new ReadableStream()),
    )
    const { outcome, ms } = await timed(clock, client.run('hi'))
    expect(outcome).toMatchObject({ type: 'error', error: { code: 'REQUEST_TIMED_OUT' } })
    expect(ms).toBeLessThanOrEqual(61_000)
  })
})

describe('a task that a stream has reported as completed', () => {
  const END = [{ task: task('working') }, status('completed', { says: 'Done' })]

  test.each(Object.keys(ANSWERS))(
    'is the result after one attempt to read more, answered by %s',
    async (name) => {
      const { client, clock, asked } = asking((call, count) =>
        count === 1 ? events(call, END) : (ANSWERS[name] as Answer)(),
      )
      const { outcome, ms } = await timed(clock, client.run('hi'))
      expect(outcome).toMatchObject({ type: 'completed', text: 'Done' })
      expect(asked).toEqual(['SendStreamingMessage', 'GetTask'])
      expect(ms).toBe(0)
    },
  )

  test('is the result after two seconds if the agent is silent', async () => {
    const { client, clock, asked } = asking((call, count) =>
      count === 1 ? events(call, END) : new Response(new ReadableStream()),
    )
    const { outcome, ms } = await timed(clock, client.run('hi'))
    expect(outcome).toMatchObject({ type: 'completed', text: 'Done' })
    expect(asked).toHaveLength(2)
    expect(ms).toBeLessThanOrEqual(2_050)
  })
})

test.each(['302', '400', '404'])(
  'a question that a stream has reported is the result if GetTask is refused by %s',
  async (name) => {
    const { client, clock, asked } = asking((call, count) =>
      count === 1
        ? events(call, [{ task: task('working') }, status('input-required', { says: 'Which?' })])
        : (ANSWERS[name] as Answer)(),
    )
    const { outcome, ms } = await timed(clock, client.run('hi'))
    expect(outcome).toMatchObject({ type: 'input-required', text: 'Which?' })
    expect(asked).toHaveLength(2)
    expect(ms).toBe(0)
  },
)
