/** Ids of tasks in A2A 0.1: its clients choose them, and may choose what is there. */
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, as, authenticate, post } from '../spec/support/agent.js'
import { call, failure, listen, result } from './support/dialects.js'

const say = (id: string, text: string, more: object = {}) => ({
  id,
  message: { role: 'user', parts: [{ type: 'text', text }] },
  ...more,
})

/** A client that says what it speaks. */
const OLD = { headers: { 'a2a-version': '0.1' } }

/** Works until it is stopped. */
const endless: Execute = (run) =>
  new Promise((_, reject) => {
    run.signal.addEventListener('abort', () => reject(run.signal.reason as Error))
  })

test('two sends at once with one that is new make one task', async () => {
  const texts: string[] = []
  const a = agent((run) => {
    texts.push(run.text)
    return 'done'
  })
  const [first, second, third] = await Promise.all([
    call(a, 'tasks/send', say('t', 'one')),
    call(a, 'tasks/send', say('t', 'two')),
    call(a, 'tasks/send', say('other', 'three')),
  ])
  expect([first, third]).toMatchObject([{ result: { id: 't' } }, { result: { id: 'other' } }])
  expect(second).toMatchObject('error' in second ? { error: { code: -32009 } } : { result: { id: 't' } })
  expect(a.tasks.listTasks().map(({ id }) => id)).toEqual(['t', 'other'])
  // The second is a message to the task, or comes too late for it: never the beginning of another.
  expect(texts.filter((it) => it === 'one')).toHaveLength(1)
})

test('two streams at once with one that is new tell of one task', async () => {
  const a = agent(endless)
  const streams = await Promise.all(
    ['one', 'two'].map((it) => listen(a, 'tasks/sendSubscribe', say('t', it))),
  )
  expect(a.tasks.size()).toBe(1)
  a.tasks.cancelTask('t')
  for (const stream of streams) {
    expect((await stream.results()).at(-1)).toMatchObject({
      id: 't',
      status: { state: 'canceled' },
      final: true,
    })
  }
})

test.each(['a b', '../x', 'ü', 'x'.repeat(1024)])('an id may be any text: %j', async (id) => {
  const a = agent(() => 'done')
  expect(await result(a, 'tasks/send', say(id, 'hi'))).toMatchObject({ id })
  expect(await result(a, 'tasks/get', { id })).toMatchObject({ id })
})

test.each(['', 'x'.repeat(1025), 'a\ud800', 1, null])('no id is %j', async (id) => {
  const a = agent(() => 'done')
  expect(await failure(a, 'tasks/send', { ...say('', 'hi'), id }, OLD)).toMatchObject({ code: -32602 })
  expect([a.tasks.size(), a.errors]).toEqual([0, []])
})

describe('an id that somebody else has taken', () => {
  const setup = async () => {
    let runs = 0
    const a = agent(
      (run) => {
        runs += 1
        return run.text === 'wait' ? void run.requireInput('Secret question') : 'Secret answer'
      },
      { authenticate },
    )
    await result(a, 'tasks/send', say('ended', 'secret', { sessionId: 'secret' }), as('ann'))
    await result(a, 'tasks/send', say('waiting', 'wait', { sessionId: 'secret' }), as('ann'))
    return { a, runs: () => runs }
  }

  test('is refused, and no more is told than that', async () => {
    const { a, runs } = await setup()
    const snapshot = a.tasks.snapshot()
    const refusals = await Promise.all(
      ['ended', 'waiting'].map(async (id) => {
        const error = await failure(a, 'tasks/send', say(id, 'mine'), as('bob'))
        return JSON.stringify(error).replaceAll(id, 'ID')
      }),
    )
    expect(refusals[0]).toBe(refusals[1])
    expect(refusals[0]).not.toMatch(/ann|[Ss]ecret|terminal|completed|input/)
    expect(refusals[0]).toContain('-32602')
    expect([runs(), a.errors]).toEqual([2, []])
    expect(a.tasks.snapshot()).toEqual(snapshot)
  })

  test('is refused in a stream, too', async () => {
    const { a } = await setup()
    const stream = await listen(a, 'tasks/sendSubscribe', say('waiting', 'mine'), as('bob'))
    expect(await stream.next()).toMatchObject({ event: 'error', body: { error: { code: -32602 } } })
    expect(await stream.next()).toBeUndefined()
  })

  test.each(['tasks/get', 'tasks/cancel', 'tasks/resubscribe'])('is none to %s', async (method) => {
    const { a } = await setup()
    const asked = async (id: string) => {
      const body = { jsonrpc: '2.0', id: 1, method, params: { id } }
      const init = { headers: { ...as('bob').headers, 'a2a-version': '0.1' } }
      return (await (await a.handler.fetch(post('/', body, init))).text()).replaceAll(id, 'ID')
    }
    expect(await asked('waiting')).toBe(await asked('nothing'))
    expect(await asked('waiting')).toContain('-32001')
  })

  test('is his who comes first when two send at once', async () => {
    const a = agent((run) => `For ${run.principal?.id ?? ''}`, { authenticate })
    const both = await Promise.all(
      ['ann', 'bob'].map((name) => call(a, 'tasks/send', say('t', 'hi'), as(name))),
    )
    expect(both.filter((answer) => 'result' in answer)).toHaveLength(1)
    expect(both.filter((answer) => 'error' in answer)).toMatchObject([{ error: { code: -32602 } }])
    expect(a.tasks.size()).toBe(1)
  })
})
