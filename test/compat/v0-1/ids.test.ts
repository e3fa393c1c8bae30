/** Ids of tasks in A2A 0.1: its clients choose them, and may choose what is there. */
import type { JsonObject } from 'a2a-tasks/schemas'
import { textOf, type Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent } from '../support/agent.js'
import { as, authenticate, post, type TestAgent } from '../../server/spec/support/agent.js'
import { call, failure, listen, result } from '../../server/dialects/support/dialects.js'

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
  expect(
    a.tasks
      .listTasks()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(['other', 't'])
  // The second is a message to the task, or comes too late for it: never the beginning of another.
  expect(texts.filter((it) => it === 'one')).toHaveLength(1)
})

test('two streams at once with a new id show one task', async () => {
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

describe('an id that another owner uses', () => {
  const setup = async () => {
    const a = agent(
      async (run) => {
        if (run.text !== 'wait') return `For ${run.principal?.id ?? ''}`
        return `You said ${textOf(await run.requireInput('Secret question'))}`
      },
      { authenticate },
    )
    await result(a, 'tasks/send', say('ended', 'secret', { sessionId: 'secret' }), as('ann'))
    await result(a, 'tasks/send', say('waiting', 'wait', { sessionId: 'secret' }), as('ann'))
    return a
  }

  test('is that of its own task, whatever has become of the other', async () => {
    const a = await setup()
    const answers = await Promise.all(
      ['ended', 'waiting', 'free'].map(async (id) => {
        const task = await result(a, 'tasks/send', say(id, 'mine'), as('bob'))
        return JSON.stringify(task)
          .replaceAll(id, 'ID')
          .replaceAll(/"20[^"]+Z"/g, 'TIME')
      }),
    )
    expect(answers).toEqual([answers[2], answers[2], answers[2]])
    expect(answers[0]).toContain('For bob')
    expect(answers[0]).toContain('"sessionId":"ID"')
    const after = await result(a, 'tasks/send', say('waiting', 'this'), as('ann'))
    expect(after).toMatchObject({ id: 'waiting', sessionId: 'secret', status: { state: 'completed' } })
    expect(after['artifacts']).toMatchObject([{ parts: [{ text: 'You said this' }] }])
    expect(a.errors).toEqual([])
  })

  test('is its own in a stream, too', async () => {
    const a = await setup()
    const stream = await listen(a, 'tasks/sendSubscribe', say('waiting', 'mine'), as('bob'))
    const results = await stream.results()
    expect(results.map(({ id }) => id)).toEqual(results.map(() => 'waiting'))
    expect(JSON.stringify(results)).toContain('For bob')
    expect(JSON.stringify(results)).not.toMatch(/[Ss]ecret|~/)
  })

  test.each(['tasks/get', 'tasks/cancel', 'tasks/resubscribe'])('is unknown to %s', async (method) => {
    const a = await setup()
    const asked = async (id: string) => {
      const body = { jsonrpc: '2.0', id: 1, method, params: { id } }
      const init = { headers: { ...as('bob').headers, 'a2a-version': '0.1' } }
      return (await (await a.handler.fetch(post('/', body, init))).text()).replaceAll(id, 'ID')
    }
    expect(await asked('waiting')).toBe(await asked('nothing'))
    expect(await asked('waiting')).toContain('-32001')
  })

  test('is two tasks when both send at once', async () => {
    const a = agent((run) => `For ${run.principal?.id ?? ''}`, { authenticate })
    const both = await Promise.all(
      ['ann', 'bob'].map((name) => result(a, 'tasks/send', say('t', 'hi'), as(name))),
    )
    expect(both).toMatchObject([{ id: 't' }, { id: 't' }])
    expect(both.map((task) => JSON.stringify(task).match(/For \w+/)?.[0])).toEqual(['For ann', 'For bob'])
    expect(a.tasks.size()).toBe(2)
  })
})

describe('an id that an owner chooses', () => {
  /** The answer in A2A 1.0. */
  const modern = async (a: TestAgent, method: string, params: object, name: string): Promise<JsonObject> =>
    result(a, method, params, { headers: { ...as(name).headers, 'a2a-version': '1.0' } })

  test('is the same in every version, and in its texts', async () => {
    const a = agent(async (run) => `You said ${textOf(await run.requireInput('What?'))}`, { authenticate })
    await result(a, 'tasks/send', say('t', 'ask'), as('ann'))
    const read = await modern(a, 'GetTask', { id: 't' }, 'ann')
    const list = await modern(a, 'ListTasks', {}, 'ann')
    expect(list['tasks']).toMatchObject([{ id: 't', contextId: 't' }])
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'this' }], taskId: 't' }
    const sent = await modern(a, 'SendMessage', { message }, 'ann')
    expect(sent['task']).toMatchObject({ id: 't', status: { state: 'TASK_STATE_COMPLETED' } })
    const referring = { messageId: 'n', role: 'ROLE_USER', parts: [{ text: 'x' }], referenceTaskIds: ['t'] }
    await modern(a, 'SendMessage', { message: referring, configuration: { returnImmediately: true } }, 'ann')
    const late = await failure(a, 'tasks/send', say('t', 'more'), as('ann'))
    expect(late['message']).toContain('t')
    for (const answer of [read, list, sent, late]) expect(JSON.stringify(answer)).not.toContain('~')
  })

  test('finds tasks that a message refers to', async () => {
    const referenced: string[][] = []
    const a = agent(
      (run) => {
        referenced.push(run.referenceTasks.map(({ messages }) => textOf(messages[0] ?? { parts: [] })))
        return 'done'
      },
      { authenticate },
    )
    await result(a, 'tasks/send', say('t', 'of ann'), as('ann'))
    const message = { messageId: 'n', role: 'ROLE_USER', parts: [{ text: 'x' }], referenceTaskIds: ['t'] }
    for (const name of ['ann', 'bob']) await modern(a, 'SendMessage', { message }, name)
    expect(referenced).toEqual([[], ['of ann'], []])
  })

  test('may be that of a task whose id the agent chose', async () => {
    const a = agent(async (run) => `You said ${textOf(await run.requireInput('What?'))}`, { authenticate })
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'ask' }] }
    const { task } = (await modern(a, 'SendMessage', { message }, 'ann')) as { task: { id: string } }
    const sent = await result(a, 'tasks/send', say(task.id, 'this'), as('ann'))
    expect(sent).toMatchObject({ id: task.id, status: { state: 'completed' } })
  })

  test('has at most 980 characters', async () => {
    const a = agent(() => 'done', { authenticate })
    const longest = 'x'.repeat(980)
    expect(await result(a, 'tasks/send', say(longest, 'hi'), as('ann'))).toMatchObject({ id: longest })
    expect(await result(a, 'tasks/get', { id: longest }, as('ann'))).toMatchObject({ id: longest })
    const error = await failure(a, 'tasks/send', say(`${longest}x`, 'hi'), as('ann'))
    expect(error['code']).toBe(-32602)
  })

  test('cannot be that of an owner where there are no owners', async () => {
    const a = agent(() => 'done', { authenticate })
    await result(a, 'tasks/send', say('t', 'hi'), as('ann'))
    const [kept] = a.tasks.listTasks().map(({ id }) => id)
    const others = agent(() => 'done')
    expect(await result(others, 'tasks/send', say(kept ?? '', 'hi'))).toMatchObject({ id: kept })
    expect(await result(others, 'tasks/get', { id: kept })).toMatchObject({ id: kept })
    expect(others.tasks.listTasks().map(({ id }) => id)).not.toEqual([kept])
  })
})
