/** Messages that are sent several times, at any replica and moment, over a store that takes its time. */
import type { TaskStore } from 'a2a-tasks/durable'
import type { Message } from 'a2a-tasks/schemas'
import type { Execute } from 'a2a-tasks/server'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { samples } from '../../support/samples.js'
import { Random } from '../../client/faults/random.js'
import { cluster, settle, textOf } from '../durable/support/replicas.js'
import { as, authenticate, call, jsonRpc, user } from '../spec/support/agent.js'

async function pause(random: Random, most: number): Promise<void> {
  for (let turns = random.between(0, most); turns > 0; turns -= 1) await turn()
}

/** Each step takes its time, on the way there and on the way back. */
function slow(store: TaskStore, random: Random): TaskStore {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) => {
        await pause(random, 3)
        // What a method of a store gives is a promise.
        const result = await (Reflect.apply(value, target, given) as Promise<unknown>)
        await pause(random, 3)
        return result
      }
    },
  })
}

const seeds = Array.from({ length: samples(100) }, (_, index) => index + 1)

test.each(seeds)('each is one message of one task, and is read once (%i)', async (seed) => {
  const random = new Random(seed)
  const answers = random.between(1, 4)
  const read: string[] = []
  const execute: Execute = async (run) => {
    run.start()
    for (let count = 0; count < answers; count += 1) {
      await pause(random, 4)
      read.push(textOf(await run.requireInput('Next?')))
    }
    await pause(random, 4)
    return 'done'
  }
  const { all, clock } = cluster([execute, execute, execute], { authenticate }, (store) =>
    slow(store, random),
  )
  const sent: Promise<string | undefined>[] = []
  const sendTo = async (message: Message): Promise<string | undefined> => {
    const configuration = { returnImmediately: true }
    const { result, error } = await call(
      jsonRpc,
      random.pick(all),
      'SendMessage',
      { message, configuration },
      as('ada'),
    )
    expect(error).toBeUndefined()
    return result?.task?.id
  }
  const repeat = async (message: Message): Promise<string | undefined> => {
    const copies: Promise<string | undefined>[] = []
    for (let count = random.between(1, 4); count > 0; count -= 1) {
      copies.push(sendTo(message))
      await pause(random, 8)
    }
    sent.push(...copies)
    return await copies[0]
  }
  const taskId = (await repeat(user('go'))) ?? ''
  const texts = Array.from({ length: answers }, (_, index) => `answer ${index}`)
  for (const text of texts) {
    await repeat(user(text, { taskId }))
    await pause(random, 20)
  }
  const ids = await Promise.all(sent)
  expect(new Set(ids)).toEqual(new Set([taskId]))
  for (let count = 0; count < 20; count += 1) {
    clock.advance(5_000)
    await settle()
  }
  const [first] = all
  const tasks = (await first?.tasks.listTasks()) ?? []
  const said = tasks.map(({ messages }) => messages.filter(({ role }) => role === 'user').map(textOf))
  expect(said).toEqual([['go', ...texts]])
  expect(tasks.map(({ state }) => state)).toEqual(['completed'])
  // A replica may answer the question before it has read an earlier answer at another one.
  expect(read.toSorted()).toEqual(texts)
  expect(all.flatMap(({ errors }) => errors.map(({ error }) => String(error)))).toEqual([])
})

test.each(seeds)('of two messages with one id, one is refused (%i)', async (seed) => {
  const random = new Random(seed)
  const execute: Execute = async (run) => `done: ${textOf(await run.requireInput('Next?'))}`
  const { all, clock } = cluster([execute, execute, execute], {}, (store) => slow(store, random))
  const configuration = { returnImmediately: true }
  const sendTo = async (message: Message): ReturnType<typeof call<'SendMessage'>> => {
    await pause(random, 8)
    return await call(jsonRpc, random.pick(all), 'SendMessage', { message, configuration })
  }
  const { result } = await sendTo(user('go'))
  const taskId = result?.task?.id ?? ''
  await pause(random, 30)
  const texts = ['one', 'two', 'three']
  const sent = texts.map((text) => sendTo(user(text, { taskId, messageId: 'm' })))
  const refused = (await Promise.all(sent)).map(({ error }) => error?.reason)
  for (let count = 0; count < 20; count += 1) {
    clock.advance(5_000)
    await settle()
  }
  const { messages = [], artifacts = [] } = (await all[0]?.tasks.getTask(taskId)) ?? {}
  const kept = texts[refused.indexOf(undefined)]
  expect(messages.filter(({ role }) => role === 'user').map(textOf)).toEqual(['go', kept])
  expect(refused.filter((reason) => reason !== undefined)).toHaveLength(2)
  expect(artifacts.map(({ parts = [] }) => parts[0]?.text)).toEqual([`done: ${kept}`])
})
