/** Memory that runs and waiting tasks keep of requests: one copy of a message, and nothing of a run that has returned. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterEach, describe, expect, test } from 'vitest'
import { v1 } from 'a2a-tasks/wire'
import type { Principal } from '../../../src/server/caller.js'
import { HeldRequests } from '../../../src/server/run/message-queue.js'
import { MessageQueues, type QueuedMessage } from '../../../src/server/run/message-queue.js'
import { Answers, Question } from '../../../src/server/run/question.js'
import { agent, BINDINGS, call, gate, stateName, taskOf, user } from '../spec/support/agent.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Whether nothing has the object any more. */
async function isCollected(ref: WeakRef<object> | undefined): Promise<boolean> {
  // What this turn of the event loop has read stays until the next one.
  for (let turns = 0; turns < 5; turns++) {
    await turn()
    gc()
  }
  return ref?.deref() === undefined
}

const PARTS = [{ data: { list: [{ a: 1 }] } }, { text: 'x' }]

describe.each(BINDINGS)('$name: a message', (binding) => {
  test('is kept once, frozen, by its task and its run', async () => {
    const runs: Run[] = []
    const a = agent((run) => {
      runs.push(run)
      void run.requireInput('More?')
    })
    const message = user('x', { parts: PARTS, metadata: { b: [2] } })
    const { id } = taskOf(await call(binding, a, 'SendMessage', { message }))
    await call(binding, a, 'SendMessage', { message: user('x', { taskId: id, parts: PARTS }) })
    const kept = a.tasks.peekTask(id)?.messages.filter(({ role }) => role === 'user')
    expect(kept?.map(({ parts }) => parts)).toEqual([PARTS, PARTS])
    expect(runs.map((run) => run.message.parts === kept?.[runs.indexOf(run)]?.parts)).toEqual([true, true])
    expect(runs[0]?.message.metadata).toBe(kept?.[0]?.metadata)
    expect(Object.isFrozen(kept?.[0]?.parts[0]?.data)).toBe(true)
  })

  test('leaves nothing of its run when that has asked and returned; its signal still follows the task', async () => {
    let metadata: WeakRef<object> | undefined
    let signal: AbortSignal | undefined
    const a = agent((run) => {
      metadata = new WeakRef(run.metadata)
      signal = run.signal
      void run.requireInput('More?')
    })
    const sent = await call(binding, a, 'SendMessage', { message: user('x'), metadata: { pad: ['x'] } })
    const { id, status } = taskOf(sent)
    expect(stateName(status.state)).toBe('input-required')
    expect(await isCollected(metadata)).toBe(true)
    await call(binding, a, 'CancelTask', { id })
    expect(signal?.reason).toMatchObject({ code: 'TASK_CANCELED' })
  })
})

test('a run that asks again forgets the answers that it has read', async () => {
  const answers = new Answers()
  const queued = (text: string): QueuedMessage<Principal> => ({
    request: { message: { ...user(text), role: 'user' }, returnImmediately: false, acceptedOutputModes: [] },
    caller: { dialect: v1(), namesVersion: true, extensions: [] },
    owner: {},
  })
  const answer = (): WeakRef<object> => {
    const question = new Question('task', 'input-required#1')
    void question.answer.then(() => undefined)
    const message = queued('read')
    answers.add(question, message)
    return new WeakRef(message)
  }
  const read = answer()
  const unread = queued('unread')
  answers.add(new Question('task', 'input-required#1'), unread)
  expect(await isCollected(read)).toBe(true)
  expect(answers.removeUnread()).toEqual([unread])
  expect(answers.removeUnread()).toEqual([])
})

test('the bytes of a body are free while its request waits for the agent', async () => {
  const started = gate()
  const a = agent(() => {
    started.open()
    return new Promise(() => {})
  })
  const server = createServer(toNodeListener(a.handler.fetch)).listen(0, '127.0.0.1')
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  gc()
  const before = process.memoryUsage().arrayBuffers
  const body = JSON.stringify({ message: user('x'.repeat(4_000_000)) })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  ends.push(() => socket.destroy())
  socket.write(
    `POST /message:send HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await started.opened
  await isCollected(undefined)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000)
})

describe('metadata of requests', () => {
  const text = (length: number): string => 'x'.repeat(length)
  const request = (length: number) => ({ metadata: { pad: text(length) }, acceptedOutputModes: [] })

  test('that runs keep is bounded; small ones have room of their own', () => {
    const held = new HeldRequests(100_000)
    const large = request(30_000)
    held.requireRoom(large)
    held.add({ request: large })
    expect(() => held.requireRoom(large)).toThrow('The agent keeps too much of other requests')
    const small = { request: request(3_000) }
    for (let count = 0; count < 20; count++) {
      held.requireRoom(small.request)
      held.add(small)
    }
    expect(() => {
      held.requireRoom({ acceptedOutputModes: ['text/plain'] })
    }).not.toThrow()
    for (let count = 0; count < 2; count++) held.add(small)
    expect(() => held.requireRoom(small.request)).toThrow('The agent keeps too much of other requests')
    held.requireRoom({ acceptedOutputModes: [] })
    for (let count = 0; count < 22; count++) held.remove(small)
    held.remove({ request: large })
    held.requireRoom(large)
  })

  test('are counted while messages wait in a queue', () => {
    const held = new HeldRequests(100_000)
    const queues = new MessageQueues(held)
    const queued = {
      request: { ...request(30_000), message: { ...user('x'), role: 'user' }, returnImmediately: false },
      caller: { dialect: v1(), namesVersion: true, extensions: [] },
      owner: {},
    } as const
    for (const leave of [() => queues.shift('a'), () => queues.delete('a')]) {
      queues.push('a', queued)
      expect(() => held.requireRoom(queued.request)).toThrow('keeps too much')
      leave()
      held.requireRoom(queued.request)
      queues.unshift('a', [queued])
      expect(() => held.requireRoom(queued.request)).toThrow('keeps too much')
      leave()
      held.requireRoom(queued.request)
    }
  })
})
