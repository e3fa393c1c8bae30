/** Messages that are sent twice and get a reply, or have no id of their own. */
import { TaskManager } from 'a2a-tasks'
import type { JsonObject } from 'a2a-tasks/schemas'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { thrown } from '../../support/manager.js'
import { failure, result, send as post } from '../dialects/support/dialects.js'
import { as, gate, jsonRpc, nameOf, open, user } from '../spec/support/agent.js'
import { MANAGERS, send } from './support.js'
import { EVERY } from '../../compat/support/agent.js'

const DAY = 86_400_000

/** Counts, and replies. */
function replying(): { readonly texts: string[]; readonly execute: Execute } {
  const texts: string[] = []
  return {
    texts,
    execute: (run) => {
      texts.push(run.text)
      return run.reply(`reply ${texts.length}`)
    },
  }
}

describe.each(MANAGERS)('over a %s a message that got a reply', (_, openAgents) => {
  test('gets the same one again, also as a stream', async () => {
    const { texts, execute } = replying()
    const { a, tasks } = await openAgents(execute)
    const message = user('hello')
    const first = await send(a, message)
    expect(first.result?.message?.parts).toEqual([{ text: 'reply 1' }])
    expect((await send(a, message)).result).toEqual(first.result)
    const stream = await open(jsonRpc, a, 'SendStreamingMessage', { message }, as('ada'))
    const items = await stream.rest()
    expect(items.map(nameOf)).toEqual(['message'])
    expect(items[0]?.value).toEqual(first.result)
    expect(texts).toEqual(['hello'])
    expect(await tasks.size()).toBe(0)
  })

  test('gets it while it is on its way', async () => {
    const reply = gate<string>()
    let runs = 0
    const { a } = await openAgents((run) => {
      runs += 1
      return run.reply(reply.opened)
    })
    const message = user('hello')
    const answers = [1, 2, 3].map(() => send(a, message))
    reply.open('late')
    const results = (await Promise.all(answers)).map((answer) => answer.result)
    expect(results[0]?.message?.parts).toEqual([{ text: 'late' }])
    expect(results).toEqual(Array(3).fill(results[0]))
    expect(runs).toBe(1)
  })

  test('is refused if it differs, and is new after its time or for another principal', async () => {
    const { texts, execute } = replying()
    const { a, clock } = await openAgents(execute)
    const message = user('hello')
    await send(a, message)
    const { error } = await send(a, { ...message, parts: [{ text: 'goodbye' }] })
    expect(error?.message).toContain('message.parts[0].text differs')
    await send(a, message, { who: 'bob' })
    clock.advance(DAY)
    await send(a, message)
    expect(texts).toHaveLength(3)
  })
})

test('the oldest replies make room', async () => {
  let runs = 0
  const execute: Execute = (run) => {
    runs += 1
    return run.reply('x'.repeat(3_000_000))
  }
  const [[, openAgents]] = MANAGERS
  const { a } = await openAgents(execute)
  const messages = Array.from({ length: 6 }, (_, n) => user(`message ${n}`))
  for (const message of messages) await send(a, message)
  for (const message of messages.slice(1)) await send(a, message)
  expect(runs).toBe(6)
  for (const message of messages.slice(0, 1)) await send(a, message)
  expect(runs).toBe(7)
})

describe.each(MANAGERS)('over a %s the header Idempotency-Key', (_, openAgents) => {
  const keyed = (key: string, who = 'ada') => ({ headers: { authorization: who, 'idempotency-key': key } })
  const task = (id: string, text = 'hello'): object => ({
    id,
    message: { role: 'user', parts: [{ type: 'text', text }] },
  })
  const asking: Execute = async (run) => {
    const { parts } = await run.requireInput('Which?')
    return `You said ${parts[0]?.text ?? ''}`
  }

  test('identifies a message of 0.1, which has no id', async () => {
    const { a, b, tasks } = await openAgents(asking)
    const asked = await result(a, 'tasks/send', task('one'), keyed('first'))
    expect(asked).toMatchObject({ id: 'one', status: { state: 'input-required' } })
    // RFC 9651 has texts in quotes.
    expect(await result(b, 'tasks/send', task('one'), keyed('"first"'))).toEqual(asked)
    const refused = await failure(b, 'tasks/send', task('one', 'other'), keyed('first'))
    expect(JSON.stringify(refused)).toContain('message.parts[0].text')
    const done = await result(a, 'tasks/send', task('one', 'this'), keyed('second'))
    expect(done).toMatchObject({ status: { state: 'completed' } })
    expect(await result(a, 'tasks/send', task('one', 'this'), keyed('second'))).toEqual(done)
    expect(await tasks.size()).toBe(1)
  })

  test('identifies a message of KAOS without an id', async () => {
    const { a, b, tasks } = await openAgents(asking)
    const params = { message: { role: 'user', parts: [{ text: 'hello' }] } }
    const init = keyed('one')
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }
    const version = { headers: { ...init.headers, 'a2a-version': 'kaos' } }
    const answers: JsonObject[] = []
    for (const at of [a, b]) answers.push((await post(at, '/', body, version)).body)
    expect(answers[0]).toMatchObject({ result: { status: { state: 'input-required' } } })
    expect(answers[1]).toEqual(answers[0])
    expect(await tasks.size()).toBe(1)
  })

  test('does not count where the message has an id, or idempotency is off', async () => {
    const { a, tasks } = await openAgents(() => 'done')
    const body = (text: string) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: user(text) },
    })
    for (const text of ['one', 'two']) await post(a, '/', body(text), keyed('same'))
    expect(await tasks.size()).toBe(2)
    const off = await openAgents(asking, { idempotency: false })
    await result(off.a, 'tasks/send', task('one'), keyed('same'))
    const done = await result(off.a, 'tasks/send', task('one'), keyed('same'))
    expect(done).toMatchObject({ status: { state: 'completed' } })
  })

  test('is refused when it is too long', async () => {
    const { a } = await openAgents(() => 'done')
    const refused = await failure(a, 'tasks/send', task('one'), keyed('x'.repeat(1_025)))
    expect(JSON.stringify(refused)).toContain('Idempotency-Key must have at most 1024 characters, got 1025')
  })
})

test('dispatch takes the key from its context', async () => {
  const tasks = new TaskManager()
  const { dispatch } = createRequestHandler({
    card: { name: 'Test', url: 'https://agent.test' },
    dialects: EVERY,
    tasks,
    execute: (run) => void run.requireInput('Which?').catch(() => undefined),
  })
  const params = { id: 'one', message: { role: 'user', parts: [{ type: 'text', text: 'hello' }] } }
  const body = { jsonrpc: '2.0', id: 1, method: 'tasks/send', params }
  for (let count = 0; count < 2; count += 1) {
    await dispatch(body, { principal: { id: 'ada' }, idempotencyKey: 'key' })
  }
  const [task] = tasks.listTasks()
  expect(task?.messages.filter(({ role }) => role === 'user')).toMatchObject([{ messageId: 'key' }])
})

test.each<[unknown, string]>([
  [true, '"idempotency" must be false or an object: { ttlMs: 3_600_000 }, got a boolean'],
  [
    { ttl: 1 },
    'Unknown option "idempotency.ttl" of createRequestHandler, did you mean "ttlMs"?; known are ttlMs, anonymous',
  ],
  [{ ttlMs: 0 }, '"idempotency.ttlMs" must be a positive number, got 0'],
  [{ ttlMs: '1' }, '"idempotency.ttlMs" must be a positive number, got "1"'],
  [{ anonymous: 1 }, '"idempotency.anonymous" must be a boolean, got 1'],
])('the option idempotency must not be %j', (idempotency, message) => {
  const card = { name: 'Test', url: 'https://agent.test' }
  const options = { card, execute: () => undefined, idempotency } as Parameters<
    typeof createRequestHandler
  >[0]
  expect(String(thrown(() => createRequestHandler(options)))).toContain(message)
})
