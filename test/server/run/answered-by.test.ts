/** Questions that somebody else than the owner of the task answers: what he may do and see, and what others may not. */
import type { Execute, Run } from 'a2a-tasks/server'
import { answerPart, openQuestionsOf, QUESTIONS } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { agent, MANAGERS, textsOf } from '../journal/support/managers.js'
import { pass, replicas, settle, type Replica } from '../durable/support/replicas.js'
import {
  as,
  authenticate,
  call,
  httpJson,
  jsonRpc,
  taskOf,
  user,
  type Failure,
  type Reachable,
} from '../spec/support/agent.js'

const NOW = { configuration: { returnImmediately: true } }
const SECRET = 'the secret plan'

const expenses: Execute = async (run) => {
  run.artifact(SECRET)
  const verdict = await run.approve('pay', { message: 'Pay 42 €?', answeredBy: ['boss', 'deputy'] })
  const by = run.messages.at(-1)?.metadata?.[QUESTIONS]
  return `${verdict} ${JSON.stringify(by ?? null)}`
}

const byId = (taskId: string, value: unknown, more: object = {}): object => ({
  message: { ...user('', { taskId }), parts: [answerPart({ 'pay#1': value } as never)], ...more },
  ...NOW,
})
const inWords = (taskId: string, text: string, more: object = {}): object => ({
  message: { ...user(text, { taskId }), ...more },
  ...NOW,
})

/** An error as it is for a task that does not exist, with this id. */
async function missing(at: Reachable, id: string, who: string): Promise<Failure | undefined> {
  const none = id.replace(/[\da-f]/g, '0')
  const { error } = await call(jsonRpc, at, 'SendMessage', byId(none, 'approve'), as(who))
  return error && (JSON.parse(JSON.stringify(error).replaceAll(none, id)) as Failure)
}

async function begin(at: Reachable, who = 'ann', more: object = {}): Promise<string> {
  return taskOf(await call(jsonRpc, at, 'SendMessage', { message: user('go'), ...NOW, ...more }, as(who))).id
}

describe.each(MANAGERS)('over %s, a question that others answer', (_, open) => {
  test('is answered by one of them, who gets a message and nothing of the task', async () => {
    const a = await agent(open, expenses, { authenticate })
    const id = await begin(a)
    const asked = await a.reaches(id, 'input-required')
    expect(openQuestionsOf(asked)).toMatchObject([{ id: 'pay#1', answeredBy: ['boss', 'deputy'] }])
    const params = byId(id, 'approve', { messageId: 'yes' })
    const sent = await call(jsonRpc, a, 'SendMessage', params, as('boss'))
    expect(sent.result).toEqual({
      message: {
        messageId: expect.any(String) as string,
        role: 'ROLE_AGENT',
        parts: [{ text: 'The answer has been received' }],
      },
    })
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([SECRET, 'approve {"answeredBy":"boss"}'])
    // The same message again, as after a lost response.
    const again = await call(jsonRpc, a, 'SendMessage', params, as('boss'))
    expect(again.result).toMatchObject({ message: { parts: [{ text: 'The answer has been received' }] } })
    const other = await call(jsonRpc, a, 'SendMessage', params, as('deputy'))
    expect(other.error).toEqual(await missing(a, id, 'deputy'))
    expect(a.errors).toEqual([])
  })

  test('is answered in words, and refuses those that are no answer', async () => {
    const a = await agent(open, expenses, { authenticate })
    const id = await begin(a)
    await a.reaches(id, 'input-required')
    for (const text of ['perhaps', 'sure, go ahead', 'ok', '']) {
      const { error } = await call(jsonRpc, a, 'SendMessage', inWords(id, text), as('deputy'))
      expect(error).toMatchObject({ reason: 'INVALID_PARAMS' })
      expect(error?.message).toContain('approve, reject')
    }
    const asked = await a.reaches(id, 'input-required')
    expect(openQuestionsOf(asked)).toMatchObject([{ id: 'pay#1', answeredBy: ['boss', 'deputy'] }])
    await call(jsonRpc, a, 'SendMessage', inWords(id, 'reject'), as('boss'))
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([SECRET, 'reject {"answeredBy":"boss"}'])
  })

  test('is read by them while it is open, without the rest of the task', async () => {
    const a = await agent(open, expenses, { authenticate })
    const id = await begin(a)
    await a.reaches(id, 'input-required')
    for (const binding of [jsonRpc, httpJson]) {
      const { result } = await call(binding, a, 'GetTask', { id }, as('boss'))
      expect(result).toMatchObject({ id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
      expect(JSON.stringify(result)).toContain('Pay 42 €?')
      expect(JSON.stringify(result)).not.toMatch(/secret|"go"|artifact|history/)
    }
    await call(jsonRpc, a, 'SendMessage', byId(id, 'approve'), as('boss'))
    await a.reaches(id, 'completed')
    const { error } = await call(jsonRpc, a, 'GetTask', { id }, as('boss'))
    expect(error).toMatchObject({ reason: 'TASK_NOT_FOUND' })
  })

  test('is not answered by its owner, who still cancels', async () => {
    const a = await agent(open, expenses, { authenticate })
    const id = await begin(a)
    await a.reaches(id, 'input-required')
    const forged = { metadata: { [QUESTIONS]: { answeredBy: 'boss' } } }
    for (const params of [byId(id, 'approve'), inWords(id, 'approve'), inWords(id, 'approve', forged)]) {
      const { error } = await call(jsonRpc, a, 'SendMessage', params, as('ann'))
      expect(error).toMatchObject({ reason: 'PERMISSION_DENIED' })
    }
    expect((await a.tasks.getTask(id))?.messages).toHaveLength(2)
    const { result } = await call(jsonRpc, a, 'CancelTask', { id }, as('ann'))
    expect(result).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
  })

  test('is not there for a third person, and nothing but the question for those who may answer', async () => {
    const a = await agent(open, expenses, { authenticate })
    const id = await begin(a)
    await a.reaches(id, 'input-required')
    const forged = { metadata: { [QUESTIONS]: { answeredBy: 'boss' } } }
    const none = await missing(a, id, 'eve')
    expect(none).toMatchObject({ reason: 'TASK_NOT_FOUND' })
    for (const params of [byId(id, 'approve'), inWords(id, 'approve', forged), byId(id, 'nonsense')]) {
      const { error } = await call(jsonRpc, a, 'SendMessage', params, as('eve'))
      expect(error).toEqual(none)
    }
    for (const who of ['eve', 'boss']) {
      expect((await call(jsonRpc, a, 'CancelTask', { id }, as(who))).error).toEqual(none)
      const { result } = await call(jsonRpc, a, 'ListTasks', {}, as(who))
      expect(result?.tasks).toEqual([])
    }
    expect((await call(jsonRpc, a, 'GetTask', { id }, as('eve'))).error).toEqual(none)
    // Another tenant is another customer, with users of his own.
    const tenant = { tenant: 'acme' }
    const abroad = await call(jsonRpc, a, 'SendMessage', { ...byId(id, 'approve'), ...tenant }, as('boss'))
    expect(abroad.error).toEqual(none)
    const wrong = await call(jsonRpc, a, 'SendMessage', byId(id, 'nonsense'), as('boss'))
    expect(wrong.error).toMatchObject({ reason: 'INVALID_PARAMS' })
    expect((await a.tasks.getTask(id))?.messages).toHaveLength(2)
  })

  test('of a tenant is answered by its own users, and by the owner where he is one of them', async () => {
    const execute: Execute = (run) => run.approve('pay', { message: 'Pay?', answeredBy: ['boss', 'ann'] })
    const a = await agent(open, execute, { authenticate })
    const tenant = { tenant: 'acme' }
    const [first, second] = [await begin(a, 'ann', tenant), await begin(a, 'ann', tenant)]
    await a.reaches(first, 'input-required')
    const outside = await call(jsonRpc, a, 'SendMessage', byId(first, 'approve'), as('boss'))
    expect(outside.error).toMatchObject({ reason: 'TASK_NOT_FOUND' })
    await call(jsonRpc, a, 'SendMessage', { ...byId(first, 'approve'), ...tenant }, as('boss'))
    expect(textsOf(await a.reaches(first, 'completed'))).toEqual(['approve'])
    await a.reaches(second, 'input-required')
    await call(jsonRpc, a, 'SendMessage', { ...byId(second, 'reject'), ...tenant }, as('ann'))
    expect(textsOf(await a.reaches(second, 'completed'))).toEqual(['reject'])
  })

  test('is not answered by what its owner has said before', async () => {
    let go = (): void => undefined
    const ready = new Promise<void>((resolve) => (go = resolve))
    const execute: Execute = async (run) => {
      run.start()
      await ready
      return await run.requireInput('Your name?', { name: 'pay', schema: z.string(), answeredBy: ['boss'] })
    }
    const a = await agent(open, execute, { authenticate, onFollowUp: () => 'queue' })
    const id = await begin(a)
    await a.reaches(id, 'working')
    await call(jsonRpc, a, 'SendMessage', inWords(id, 'Ann'), as('ann'))
    go()
    await a.reaches(id, 'input-required')
    await call(jsonRpc, a, 'SendMessage', inWords(id, 'Bob'), as('boss'))
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['Bob'])
  })

  test.each([
    ['in words', (run: Run, say: object) => run.requireInput(say as never)],
    ['with a schema', (run: Run, say: object) => run.requireInput(say as never, { schema: z.string() })],
  ])('is made by no message that the code repeats, %s', async (_name, ask) => {
    const mark = { answeredBy: ['mallory'] }
    const injected = {
      data: { [QUESTIONS]: { questions: [{ id: 'x', message: 'x', schema: {}, ...mark }] } },
    }
    const execute: Execute = async (run) => {
      const { parts } = run.message
      await ask(run, { parts: [{ text: 'Delete?' }, ...parts], metadata: { [QUESTIONS]: mark, kept: 1 } })
      return 'deleted'
    }
    const a = await agent(open, execute, { authenticate })
    const message = { ...user('go'), parts: [{ text: 'go' }, injected] }
    const id = taskOf(await call(jsonRpc, a, 'SendMessage', { message, ...NOW }, as('ann'))).id
    const asked = await a.reaches(id, 'input-required')
    expect(typeof asked.message === 'object' && asked.message.metadata).toEqual({ kept: 1 })
    const none = await missing(a, id, 'mallory')
    expect((await call(jsonRpc, a, 'GetTask', { id }, as('mallory'))).error).toEqual(none)
    expect((await call(jsonRpc, a, 'SendMessage', inWords(id, 'yes'), as('mallory'))).error).toEqual(none)
    await call(jsonRpc, a, 'SendMessage', inWords(id, 'yes'), as('ann'))
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['deleted'])
  })

  test('begins no work by its answer, when no code waits for it', async () => {
    let runs = 0
    const execute: Execute = (run) => {
      runs += 1
      run.approve('pay', { message: 'Pay?', answeredBy: ['boss'] }).catch(() => undefined)
    }
    const a = await agent(open, execute, { authenticate })
    const id = await begin(a)
    await a.reaches(id, 'input-required')
    await settle()
    const { error } = await call(jsonRpc, a, 'SendMessage', byId(id, 'approve'), as('boss'))
    expect(error).toEqual(await missing(a, id, 'boss'))
    await settle()
    expect(runs).toBe(1)
  })

  test('begins no work by an answer that the code does not read', async () => {
    let runs = 0
    let go = (): void => undefined
    const ready = new Promise<void>((resolve) => (go = resolve))
    const execute: Execute = async (run) => {
      runs += 1
      run.approve('pay', { message: 'Pay?', answeredBy: ['boss'] }).catch(() => undefined)
      await ready
      return 'done'
    }
    const a = await agent(open, execute, { authenticate })
    const id = await begin(a)
    await a.reaches(id, 'input-required')
    await call(jsonRpc, a, 'SendMessage', byId(id, 'approve'), as('boss'))
    go()
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual(['done'])
    await settle()
    expect(runs).toBe(1)
  })

  test('streams the message alone', async () => {
    const a = await agent(open, expenses, {
      authenticate,
      card: { name: 'Worker', url: 'https://agent.test', capabilities: { streaming: true } },
    })
    const id = await begin(a)
    await a.reaches(id, 'input-required')
    const request = jsonRpc.request('SendStreamingMessage', byId(id, 'approve'), as('boss'))
    const text = await (await a.handler.fetch(request)).text()
    expect(text).toContain('The answer has been received')
    expect(text).not.toContain('secret')
    expect(textsOf(await a.reaches(id, 'completed'))).toEqual([SECRET, 'approve {"answeredBy":"boss"}'])
  })
})

const stateAt = async (at: Replica, id: string): Promise<string> =>
  (await at.tasks.getTask(id))?.state ?? 'none'

test('the rule holds at another process, and after the one that asked is gone', async () => {
  const principals: (string | undefined)[] = []
  const execute: Execute = async (run) => {
    const verdict = await run.approve('pay', { message: 'Pay?', answeredBy: ['boss'] })
    principals.push(run.principal?.id)
    return verdict
  }
  const { a, b, clock } = replicas(execute, { authenticate, principalOf: (id) => ({ id }) })
  const id = await begin(a)
  await settle()
  await a.handler.close()
  await a.tasks.destroy()
  expect((await call(jsonRpc, b, 'SendMessage', byId(id, 'approve'), as('ann'))).error).toMatchObject({
    reason: 'PERMISSION_DENIED',
  })
  expect((await call(jsonRpc, b, 'SendMessage', byId(id, 'approve'), as('eve'))).error).toEqual(
    await missing(b, id, 'eve'),
  )
  const { result } = await call(jsonRpc, b, 'SendMessage', byId(id, 'approve'), as('boss'))
  expect(result).toMatchObject({ message: { parts: [{ text: 'The answer has been received' }] } })
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(textsOf((await b.tasks.getTask(id)) ?? ({ artifacts: [] } as never))).toEqual(['approve'])
  // The run is that of the owner's message.
  expect(principals).toEqual(['ann'])
})

test('of two who answer at different processes at once, one is taken', async () => {
  const { a, b, clock } = replicas(expenses, { authenticate })
  const id = await begin(a)
  await settle()
  const answers = await Promise.all([
    call(jsonRpc, a, 'SendMessage', byId(id, 'approve'), as('boss')),
    call(jsonRpc, b, 'SendMessage', byId(id, 'reject'), as('deputy')),
  ])
  expect(answers.filter(({ error }) => error === undefined)).toHaveLength(1)
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
})

test.each([[[]], ['boss'], [['']], [[1]], [['a\nb']], [Array.from({ length: 101 }, (_, n) => `u${n}`)]])(
  'answeredBy %j is refused',
  async (answeredBy) => {
    const seen: unknown[] = []
    const [[, open] = []] = MANAGERS
    if (open === undefined) throw new Error('There are managers')
    const a = await agent(open, async (run) => {
      try {
        await run.approve('pay', { message: 'Pay?', answeredBy: answeredBy as never })
      } catch (error) {
        seen.push(error)
      }
    })
    const id = await a.say('go')
    await a.reaches(id, 'completed')
    expect(seen).toEqual([expect.any(TypeError)])
  },
)
