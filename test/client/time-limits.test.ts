/** The time limit of a call: over all of its attempts, pauses and interfaces. */
import { setImmediate as turn } from 'node:timers/promises'
import type { A2AError } from 'a2a-tasks'
import { A2AClient, type A2AClientOptions } from 'a2a-tasks/client'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { cardOf } from './faults/scripted.js'

const FACES = ['http://one.test', 'http://two.test']

type Answer = 'never' | (() => Response | Error)

/** A client whose requests are answered by `answers`, the last of them for ever, and when each was sent. */
function asking(
  answers: readonly Answer[],
  options: A2AClientOptions = {},
  urls: readonly string[] = ['http://a.test'],
) {
  const clock = new ManualClock()
  const start = clock.now()
  const sent: [host: string, atMs: number][] = []
  const fetch: A2AClientOptions['fetch'] = (url, { signal }) => {
    const answer = answers[Math.min(sent.length, answers.length - 1)]
    sent.push([new URL(url).hostname, clock.now() - start])
    if (answer === undefined || answer === 'never')
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    const answered = answer()
    return answered instanceof Error ? Promise.reject(answered) : Promise.resolve(answered)
  }
  const client = new A2AClient({ card: cardOf(urls), fetch, clock, random: () => 1, ...options })
  return { client, clock, sent }
}

/** Makes time pass until `work` fails. */
async function failure(
  work: Promise<unknown>,
  clock: ManualClock,
): Promise<{ error: A2AError; afterMs: number }> {
  const start = clock.now()
  let error: A2AError | undefined
  void work.then(
    () => expect.unreachable('It must fail'),
    (reason: unknown) => (error = reason as A2AError),
  )
  for (;;) {
    for (let turns = 0; turns < 5; turns += 1) await turn()
    if (error !== undefined) return { error, afterMs: clock.now() - start }
    clock.advance(50)
  }
}

const busy = (seconds: number) => () =>
  new Response('Busy', { status: 503, headers: { 'retry-after': String(seconds) } })
const broken = () => new Error('The connection broke')

describe('the time limit of a call', () => {
  test('covers all of its attempts', async () => {
    // 250 ms of pause, and then no answer.
    const { client, clock, sent } = asking([broken, 'never'])
    const { error, afterMs } = await failure(client.getTask('t', { timeoutMs: 1_000 }), clock)
    expect(error).toMatchObject({ code: 'REQUEST_TIMED_OUT', data: { timeoutMs: 1_000 } })
    expect(error.message).toBe('No answer within 1000 ms')
    expect(afterMs).toBe(1_000)
    expect(sent.map(([, atMs]) => atMs)).toEqual([0, 250])
  })

  test('covers the pause that the agent asks for: a longer one fails at once, with what the agent said', async () => {
    const { client, clock, sent } = asking([busy(5)])
    const { error, afterMs } = await failure(client.getTask('t', { timeoutMs: 2_000 }), clock)
    expect(error).toMatchObject({ code: 'UNAVAILABLE', data: { retryAfterMs: 5_000 } })
    expect(afterMs).toBe(0)
    expect(sent).toHaveLength(1)
  })

  test('covers the pauses together', async () => {
    const { client, clock, sent } = asking([busy(1)], { retry: { attempts: 10 } })
    const { error, afterMs } = await failure(client.getTask('t', { timeoutMs: 3_500 }), clock)
    expect(error).toMatchObject({ code: 'UNAVAILABLE' })
    expect(sent.map(([, atMs]) => atMs)).toEqual([0, 1_000, 2_000, 3_000])
    expect(afterMs).toBeLessThan(3_500)
  })

  test('covers the other interfaces of the agent', async () => {
    const { client, clock, sent } = asking([broken, broken, 'never'], { retry: { attempts: 2 } }, FACES)
    const { error, afterMs } = await failure(client.getTask('t', { timeoutMs: 600 }), clock)
    expect(error).toMatchObject({ code: 'REQUEST_TIMED_OUT' })
    expect(afterMs).toBe(600)
    expect(sent.map(([host]) => host)).toEqual(['one.test', 'one.test', 'two.test'])
  })

  test('leaves no time for another interface when the first one is silent', async () => {
    const { client, clock, sent } = asking(['never'], {}, FACES)
    const { error, afterMs } = await failure(client.getTask('t', { timeoutMs: 600 }), clock)
    expect(error).toMatchObject({ code: 'REQUEST_TIMED_OUT' })
    expect(afterMs).toBe(600)
    expect(sent).toHaveLength(1)
  })

  test('covers the attempts to open a stream', async () => {
    const { client, clock, sent } = asking([broken, 'never'])
    const { error, afterMs } = await failure(client.subscribe('t', { timeoutMs: 1_000 }).next(), clock)
    expect(error).toMatchObject({ code: 'REQUEST_TIMED_OUT' })
    expect(afterMs).toBe(1_000)
    expect(sent).toHaveLength(2)
  })

  test.each([
    [60_000, (client: A2AClient) => client.getTask('t')],
    [300_000, (client: A2AClient) => client.send('hi')],
  ])('is %i ms by default', async (limitMs, call) => {
    const { client, clock } = asking([broken, 'never'], { retry: { attempts: 2 } })
    const slow = asking(['never'])
    const { afterMs } = await failure(call(slow.client), slow.clock)
    expect(afterMs).toBe(limitMs)
    expect((await failure(client.getTask('t'), clock)).afterMs).toBe(60_000)
  })
})
