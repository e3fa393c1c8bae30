/** Messages that several processes accept for one task: each is read once, in the order of the log. */
import type { Execute } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import {
  begin,
  cluster,
  get,
  holdUp,
  type Replica,
  pass,
  replicas,
  resultOf,
  saidIn,
  send,
  settle,
  stateAt,
  stream,
  textOf,
} from '../durable/support/replicas.js'
import { call, gate, jsonRpc, user } from '../spec/support/agent.js'

const forEver = (): Promise<never> => new Promise(() => undefined)

const twoQuestions: Execute = async (run) => {
  const one = textOf(await run.requireInput('One?'))
  const two = textOf(await run.requireInput('Two?'))
  return `${run.text}: ${one}, ${two}`
}

test('the answer to a question is the first message of the log, though its process hears of it later', async () => {
  const { a, b } = replicas(twoQuestions)
  const { id } = await begin(a, 'go')
  await settle()
  a.store.deafen()
  await begin(b, 'one', id)
  await send(a, 'two', id)
  expect(await resultOf(b, id)).toEqual(['go: one, two'])
  expect(saidIn(await get(b, id))).toEqual(['go', 'One?', 'one', 'Two?', 'two'])
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('messages that wait for the end of a turn begin their turns in the order of the log', async () => {
  const opened = gate()
  const order: string[] = []
  const { a, b, clock } = replicas(async (run) => {
    order.push(run.text)
    run.start()
    if (run.text === 'go') await opened.opened
  })
  const { id } = await begin(a, 'go')
  await settle()
  a.store.deafen()
  await begin(b, 'one', id)
  await begin(a, 'two', id)
  await begin(b, 'three', id)
  opened.open()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(order).toEqual(['go', 'one', 'two', 'three'])
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('no message is lost that a process had not heard of when it began the turn of a later one, and died', async () => {
  const opened = gate()
  const begun: string[] = []
  const script =
    (end: () => Promise<void>): Execute =>
    async (run) => {
      begun.push(run.text)
      if (run.text === 'go') {
        void run.requireInput('What next?')
        await opened.opened
        return
      }
      await end()
    }
  const { a, b, clock } = replicas([script(forEver), script(() => Promise.resolve())])
  const { id } = await begin(a, 'go')
  await settle()
  a.store.deafen()
  await begin(b, 'one', id)
  await begin(a, 'two', id)
  opened.open()
  await settle()
  a.store.fail()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(begun).toEqual(['go', 'one', 'one', 'two'])
})

test('a message that came too late to steer a turn begins its own, also if the process dies before', async () => {
  const opened = gate()
  const begun: string[] = []
  const execute: Execute = async (run) => {
    begun.push(run.text)
    run.start()
    if (run.text === 'go') await opened.opened
    else if (begun.length === 2) await forEver()
  }
  const { a, b, clock } = replicas(execute, { onFollowUp: 'steer' })
  const { id } = await begin(a, 'go')
  await settle()
  a.store.deafen()
  // The note of its lease still names the first message.
  a.store.fail('renew', 'acquire')
  await begin(b, 'more', id)
  opened.open()
  await settle()
  a.store.fail()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(begun).toEqual(['go', 'more', 'more'])
  expect(b.errors).toEqual([])
})

test('a stream of an answer begins with the task before any work on the answer', async () => {
  const { a } = replicas(async (run) => `Read ${textOf(await run.requireInput('Which?'))}`)
  const { id } = await begin(a, 'go')
  await settle()
  const events = await stream(a, 'this', id)
  const [first] = await events.rest()
  expect(first).toMatchObject({ value: { task: { status: { state: 'TASK_STATE_WORKING' } } } })
})

test('a message that is being stored when the code returns a message begins its own turn', async () => {
  const opened = gate()
  const begun: string[] = []
  const execute: Execute = async (run) => {
    begun.push(run.text)
    run.start()
    if (run.text === 'go') await opened.opened
    return { role: 'agent', parts: [{ text: `Done with ${run.text}` }] }
  }
  const commit = holdUp('commit')
  const { all } = cluster([execute], {}, commit.way)
  const [a] = all
  if (a === undefined) throw new Error('There is one')
  const { id } = await begin(a, 'go')
  await settle()
  const { called, go } = commit.next()
  const second = begin(a, 'two', id)
  await called
  opened.open()
  await settle()
  go()
  await second
  await settle()
  expect(begun).toEqual(['go', 'two'])
  expect(await stateAt(a, id)).toBe('completed')
  const task = await get(a, id)
  expect(textOf(task.status.message ?? { parts: [] })).toBe('Done with two')
  expect(saidIn(task)).toEqual(['go', 'two', 'Done with go', 'Done with two'])
})

test('of two messages with one id, the run gets the one that is stored', async () => {
  const read: string[] = []
  const commit = holdUp('commit')
  const execute: Execute = async (run) => void read.push(textOf(await run.requireInput('What?')))
  const { all } = cluster([execute, execute], {}, (store, at) => (at === 0 ? commit.way(store) : store))
  const [a, b] = all
  if (a === undefined || b === undefined) throw new Error('There are two')
  const { id } = await begin(a, 'go')
  await settle()
  const say = async (at: Replica, text: string): Promise<string | undefined> => {
    const message = { ...user(text, { taskId: id }), messageId: 'same' }
    return (await call(jsonRpc, at, 'SendMessage', { message })).error?.reason
  }
  const { called, go } = commit.next()
  const later = say(a, 'second')
  await called
  const first = say(b, 'first')
  await settle()
  go()
  expect([await first, await later]).toEqual([undefined, 'INVALID_PARAMS'])
  expect(read).toEqual(['first'])
})

test('messages to several tasks at a time begin no more runs than limits.maxRuns', async () => {
  const opened = gate()
  const begun: string[] = []
  const execute: Execute = async (run) => {
    begun.push(run.text)
    if (run.text === 'go') return void run.requireInput('What?').catch(() => undefined)
    run.start()
    return opened.opened
  }
  const { a } = replicas(execute, { limits: { maxRuns: 1 } })
  const first = await begin(a, 'go')
  const second = await begin(a, 'go')
  await settle()
  const configuration = { returnImmediately: true }
  const answers = await Promise.all(
    [first, second].map(({ id: taskId }) =>
      call(jsonRpc, a, 'SendMessage', { message: user('work', { taskId }), configuration }),
    ),
  )
  expect(answers.map(({ error }) => error?.reason)).toEqual([undefined, 'UNAVAILABLE'])
  expect(begun).toEqual(['go', 'go', 'work'])
  opened.open()
  await settle()
  const again = await call(jsonRpc, a, 'SendMessage', {
    message: user('work', { taskId: second.id }),
    configuration,
  })
  expect(again.error).toBeUndefined()
})
