/** Streams that are silent, too large, or repeat events. */
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import type { ClientOptions } from '../../../src/client/index.js'
import {
  cardOf,
  chunk,
  clientOf,
  elapse,
  envelope,
  failureOf,
  scripted,
  status,
  stream,
  task,
  writeEvents,
} from './scripted.js'

const TWENTY_MINUTES = 1_200_000

const working = task('working', { at: '1' })

/** An agent in memory whose streams, but the first, are these events and an end; counts what it is asked. */
function inMemory(events: readonly object[], polled: () => object) {
  const counts: Record<string, number> = {}
  const fetch: ClientOptions['fetch'] = (_, { body }) => {
    const asked = JSON.parse(body as string) as { id: number; method: string }
    counts[asked.method] = (counts[asked.method] ?? 0) + 1
    const isStream = asked.method === 'SubscribeToTask' || asked.method === 'SendStreamingMessage'
    const text = isStream
      ? (asked.method === 'SubscribeToTask' ? events : [{ task: working }])
          .map((event) => `data: ${envelope(asked, event)}\n\n`)
          .join('')
      : envelope(asked, polled())
    const headers = { 'content-type': isStream ? 'text/event-stream' : 'application/json' }
    return Promise.resolve(new Response(text, { headers }))
  }
  return { counts, fetch, card: cardOf(['http://agent.test']) }
}

describe('twenty minutes with an agent', () => {
  /** How often the agent is asked of a task that does not get on. */
  async function timeWith(events: readonly object[], polled: () => object): Promise<Record<string, number>> {
    const clock = new ManualClock()
    const agent = inMemory(events, polled)
    const client = clientOf(agent, { fetch: agent.fetch, clock, random: () => 0.5, retry: {} })
    const result = await elapse(clock, client.run('hi', { timeoutMs: TWENTY_MINUTES }), 1_000)
    expect(failureOf(result)).toEqual({ type: 'timed-out', code: 'REQUEST_TIMED_OUT' })
    return agent.counts
  }

  test.each([
    ['ends each stream after the same snapshot', [{ task: working }]],
    ['ends each stream at once', []],
    [
      'says in each stream that the task has ended, which GetTask knows nothing of',
      [{ task: working }, status('completed')],
    ],
    ['tells the same chunk in each stream', [chunk('again')]],
    ['tells nonsense in each stream', [{ nonsense: true }]],
  ])('that %s: it is asked ever less often, not at once', async (_, events) => {
    const counts = await timeWith(events, () => working)
    // Every ten seconds at most, once it has been quiet for a while.
    expect(counts['GetTask']).toBeGreaterThan(100)
    expect(counts['GetTask']).toBeLessThan(150)
    expect(counts['SubscribeToTask'] ?? 0).toBeLessThanOrEqual(counts['GetTask'] ?? 0)
  })

  test('whose task changes with every look is asked no faster than every pause', async () => {
    let looks = 0
    const counts = await timeWith([{ task: working }, status('completed')], () =>
      task('working', { at: `${(looks += 1)}` }),
    )
    // Of two looks one is in haste; a second is a step of the clock here.
    expect(counts['GetTask']).toBeLessThan(2 * 1_200 + 10)
  })
})

describe('a stream', () => {
  test('that is silent is left after idleTimeoutMs, and another one taken up', async () => {
    const clock = new ManualClock()
    let streams = 0
    const agent = await scripted((asked) => {
      if (asked.method === 'GetTask') return task(streams === 3 ? 'completed' : 'working', { text: 'ok' })
      streams += 1
      if (streams === 3) return stream(asked, [status('completed')])
      writeEvents(asked, [{ task: task('working') }])
      return undefined
    })
    const client = clientOf(agent, { clock })
    let updates = 0
    const running = client.run('hi', { idleTimeoutMs: 30_000, onUpdate: () => (updates += 1) })
    for (const count of [1, 2]) {
      // What GetTask answers may be an update, too.
      await expect.poll(() => Math.min(updates, streams), { interval: 2 }).toBeGreaterThanOrEqual(count)
      const { response } = agent.asked.filter(({ method }) => method !== 'GetTask')[count - 1] ?? {}
      // The event has been delivered, and the stream is listened to again.
      for (let turns = 0; turns < 5; turns += 1) await new Promise(setImmediate)
      clock.advance(29_999)
      expect(response?.destroyed).toBe(false)
      clock.advance(1)
      await expect.poll(() => response?.destroyed, { interval: 2 }).toBe(true)
      for (let turns = 0; turns < 50 && streams === count; turns += 1) {
        await new Promise(setImmediate)
        clock.advance(1)
      }
    }
    expect((await elapse(clock, running, 1)).type).toBe('completed')
  })

  test('that ends without an event does not prove that the message arrived: the client looks for it', async () => {
    const agent = await scripted((asked) => {
      if (asked.method === 'SendStreamingMessage') return stream(asked, [])
      const { contextId } = asked.params
      return asked.method === 'ListTasks'
        ? { tasks: [task('working', { contextId })] }
        : task('completed', { text: 'ok' })
    })
    expect((await clientOf(agent).run('hi')).type).toBe('completed')
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'ListTasks', 'GetTask'])
  })

  test('resumes after its last event, and reports repeated events once', async () => {
    const agent = await scripted((asked) => {
      if (asked.method === 'SendStreamingMessage') {
        return stream(asked, [{ task: task('working') }, chunk('a'), chunk('b')], ['1', '2', '3'])
      }
      if (asked.method === 'GetTask')
        return task(agent.asked.length > 3 ? 'completed' : 'working', { text: 'abc' })
      return stream(asked, [chunk('b'), chunk('c'), status('completed')], ['3', '4', '5'])
    })
    const texts: string[] = []
    const result = await clientOf(agent).run('hi', {
      onUpdate: ({ task: { artifacts } }) =>
        texts.push((artifacts[0]?.parts ?? []).map(({ text }) => text).join('')),
    })
    expect(result).toMatchObject({ type: 'completed', text: 'abc' })
    expect(texts.filter((text, index) => text !== texts[index - 1])).toEqual(['', 'a', 'ab', 'abc'])
    expect(agent.asked.find(({ method }) => method === 'SubscribeToTask')?.headers['last-event-id']).toBe('3')
  })

  test.each(['ü', 'x'.repeat(300), 'a b'])(
    'whose ids can stand in no header goes on without them',
    async (id) => {
      const agent = await scripted((asked) => {
        if (asked.method === 'SendStreamingMessage') return stream(asked, [{ task: task('working') }], [id])
        if (asked.method === 'GetTask') return task(agent.asked.length > 3 ? 'completed' : 'working')
        return stream(asked, [status('completed')])
      })
      expect((await clientOf(agent).run('hi', { pollIntervalMs: 1 })).type).toBe('completed')
      expect(agent.methods()).toEqual(['SendStreamingMessage', 'GetTask', 'SubscribeToTask', 'GetTask'])
      expect(agent.asked[2]?.headers).not.toHaveProperty('last-event-id')
    },
  )

  test('that contains other tasks too reports only its own', async () => {
    const agent = await scripted((asked) => {
      if (asked.method === 'GetTask') return task('completed', { text: 'mine' })
      return stream(asked, [
        { task: task('working') },
        { task: task('completed', { id: 't-2' }) },
        chunk('theirs', { id: 't-2' }),
        status('completed'),
      ])
    })
    const taskIds: string[] = []
    const result = await clientOf(agent).run('hi', { onUpdate: ({ task: { id } }) => taskIds.push(id) })
    expect(result).toMatchObject({ type: 'completed', text: 'mine', task: { id: 't-1' } })
    expect(new Set(taskIds)).toEqual(new Set(['t-1']))
  })

  test('whose end differs in GetTask: the user receives that state too', async () => {
    const agent = await scripted((asked) => {
      if (asked.method === 'GetTask') return task('completed', { text: 'whole' })
      return stream(asked, [{ task: task('working') }])
    })
    const states: string[] = []
    await clientOf(agent).run('hi', { onUpdate: ({ task: { state } }) => states.push(state) })
    expect(states).toEqual(['working', 'completed'])
  })
})

describe('maxTaskBytes', () => {
  test('ends an endless stream of chunks, cancels the task, and closes the connection', async () => {
    const agent = await scripted((asked) => {
      if (asked.method === 'CancelTask') return task('canceled')
      writeEvents(asked, [{ task: task('working') }])
      const more = (): void => {
        if (asked.response.destroyed) return
        writeEvents(asked, [chunk('x'.repeat(1_000))])
        setImmediate(more)
      }
      more()
      return undefined
    })
    const result = await clientOf(agent, { limits: { maxTaskBytes: 100_000 } }).run('hi')
    expect(result).toMatchObject({
      type: 'error',
      error: { code: 'LIMIT_EXCEEDED', data: { limit: 'maxTaskBytes', max: 100_000 } },
      handle: { taskId: 't-1' },
    })
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'CancelTask'])
    await expect.poll(() => agent.asked[0]?.response.destroyed).toBe(true)
  })

  test('does not count replaced artifacts', async () => {
    const agent = await scripted((asked) => {
      if (asked.method === 'GetTask') return task('completed', { text: 'ok' })
      const long = 'x'.repeat(1_000)
      const reports = Array.from({ length: 300 }, (_, index) =>
        index % 2 === 0 ? status('working', { says: `${index} ${long}` }) : chunk(long, { append: false }),
      )
      return stream(asked, [{ task: task('working') }, ...reports, status('completed')])
    })
    const result = await clientOf(agent, { limits: { maxTaskBytes: 10_000 } }).run('hi')
    expect(result).toMatchObject({ type: 'completed', text: 'ok' })
  })
})
