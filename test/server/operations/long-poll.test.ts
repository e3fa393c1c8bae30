import { setImmediate as turn } from 'node:timers/promises'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { ask, asking, draft, pending, taskOf, user, type Numbered } from '../support/generation.js'
import { BINDINGS, type Binding, type TestAgent, type TestAgentOptions } from '../spec/support/agent.js'

interface Waiting extends TestAgent {
  readonly id: string
  readonly generation: number
  readonly poll: (currentGeneration: number | string, signal?: AbortSignal) => Poll
}

type Poll = ReturnType<typeof pending<Numbered>>

const oneAtATime: TestAgentOptions = { limits: { maxStreams: 1 } }

describe.each(BINDINGS)('$name: GetTask with currentGeneration', (binding: Binding) => {
  /** An agent with a task that waits for its user. */
  async function waiting(options: TestAgentOptions = {}, execute: Execute = asking): Promise<Waiting> {
    const a = draft(execute, options)
    const { id, generation } = await taskOf(ask(binding, a, 'SendMessage', { message: user('go') }))
    const poll: Waiting['poll'] = (currentGeneration, signal) =>
      pending(taskOf(ask(binding, a, 'GetTask', { id, currentGeneration }, signal)))
    return { ...a, id, generation, poll }
  }

  /** Why a request is refused. */
  async function refusal(a: Waiting, currentGeneration = a.generation): Promise<string | undefined> {
    return (await ask(binding, a, 'GetTask', { id: a.id, currentGeneration })).error?.reason
  }

  test('answers at once where there is more than the client has', async () => {
    const a = await waiting()
    for (const known of [0, a.generation - 1, String(a.generation - 1)]) {
      expect(await a.poll(known).promise).toMatchObject({ id: a.id, generation: a.generation })
    }
  })

  test('waits for the next change, whatever it is, and answers with the task after it', async () => {
    const a = await waiting()
    const [number, text] = [a.poll(a.generation), a.poll(String(a.generation))]
    expect([await number.isOver(), await text.isOver()]).toEqual([false, false])
    a.tasks.addMessage(a.id, { role: 'user', parts: [{ text: 'by the way' }] })
    for (const { promise } of [number, text]) {
      expect(await promise).toMatchObject({ generation: a.generation + 1 })
    }
  })

  test('waits until there is more than the client says it has, though that is more than there is', async () => {
    const a = await waiting()
    const poll = a.poll(a.generation + 1)
    a.tasks.updateTask(a.id, { message: 'one' })
    expect(await poll.isOver()).toBe(false)
    a.tasks.updateTask(a.id, { message: 'two' })
    expect(await poll.promise).toMatchObject({ generation: a.generation + 2 })
  })

  test('shows as many messages as are asked for', async () => {
    const a = await waiting()
    const params = { id: a.id, currentGeneration: a.generation, historyLength: 1 }
    const poll = pending(taskOf(ask(binding, a, 'GetTask', params)))
    await turn()
    a.tasks.addMessage(a.id, { role: 'user', parts: [{ text: 'by the way' }] })
    expect((await poll.promise).history).toMatchObject([{ parts: [{ text: 'by the way' }] }])
  })

  test('does not wait for a task that has ended, and is woken by its end', async () => {
    const a = await waiting()
    const poll = a.poll(a.generation + 99)
    expect(await poll.isOver()).toBe(false)
    const canceled = a.tasks.cancelTask(a.id)
    const { generation } = canceled
    expect(await poll.promise).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' }, generation })
    expect(await a.poll(generation).promise).toMatchObject({ generation })
  })

  test('answers with the task as it is when the time is up', async () => {
    const a = await waiting()
    a.clock.advance(0)
    const timers = a.clock.pending
    const poll = a.poll(a.generation)
    await turn()
    a.clock.advance(29_999)
    expect(await poll.isOver()).toBe(false)
    a.clock.advance(1)
    expect(await poll.promise).toMatchObject({ id: a.id, generation: a.generation })
    expect(a.clock.pending).toBe(timers)
  })

  test('the time is an option', async () => {
    const a = await waiting({ longPollMs: 5 })
    const poll = a.poll(a.generation)
    await turn()
    a.clock.advance(5)
    expect(await poll.promise).toMatchObject({ generation: a.generation })
  })

  test('takes a place among the streams while it waits, and only then', async () => {
    const a = await waiting(oneAtATime)
    const poll = a.poll(a.generation)
    expect(await poll.isOver()).toBe(false)
    expect(await refusal(a)).toBe('UNAVAILABLE')
    // What need not wait needs no place.
    expect(await refusal(a, a.generation - 1)).toBeUndefined()
    a.tasks.updateTask(a.id, { message: 'more' })
    await poll.promise
    const next = a.poll(a.generation + 1)
    expect(await next.isOver()).toBe(false)
    a.tasks.cancelTask(a.id)
    await next.promise
  })

  test('gives its place back, and its timer, when the client leaves', async () => {
    const a = await waiting(oneAtATime)
    const timers = a.clock.pending
    const controller = new AbortController()
    const poll = a.poll(a.generation, controller.signal)
    expect(await poll.isOver()).toBe(false)
    expect(a.clock.pending).toBe(timers + 1)
    controller.abort()
    expect(await poll.isOver()).toBe(true)
    expect(a.clock.pending).toBe(timers)
    const next = a.poll(a.generation)
    expect(await next.isOver()).toBe(false)
    a.tasks.cancelTask(a.id)
    await next.promise
  })

  test('a client that has left before it waits does not wait', async () => {
    const a = await waiting()
    const call = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: a.id, currentGeneration: 99 } }
    const context = { version: '1.1', signal: AbortSignal.abort() }
    expect(await a.handler.dispatch(call, context)).toMatchObject({ result: { generation: a.generation } })
  })

  test('is answered when the agent shuts down, and none waits after that', async () => {
    const a = await waiting()
    const poll = a.poll(a.generation)
    expect(await poll.isOver()).toBe(false)
    await a.handler.close({ graceMs: 0 })
    expect(await poll.promise).toMatchObject({
      status: { state: 'TASK_STATE_INPUT_REQUIRED' },
      generation: a.generation,
    })
    expect(await refusal(a)).toBe('UNAVAILABLE')
    expect(await a.poll(0).promise).toMatchObject({ generation: a.generation })
    // A terminal task responds at once.
    const { generation } = a.tasks.cancelTask(a.id)
    expect(await a.poll(generation).promise).toMatchObject({ generation })
  })

  test('of a task that goes while it waits, it says so', async () => {
    const a = await waiting({ tasks: { expiryMs: 1_000 }, limits: { maxStreams: 1 } })
    const params = { id: a.id, currentGeneration: a.generation }
    const poll = pending(ask(binding, a, 'GetTask', params))
    expect(await poll.isOver()).toBe(false)
    a.clock.advance(1_001)
    a.tasks.prune()
    expect((await poll.promise).error?.reason).toBe('TASK_NOT_FOUND')
    // Its place is free.
    const { id } = await taskOf(ask(binding, a, 'SendMessage', { message: user('go') }))
    const next = pending(ask(binding, a, 'GetTask', { id, currentGeneration: 99 }))
    expect(await next.isOver()).toBe(false)
    a.tasks.cancelTask(id)
    await next.promise
  })

  test('does not wait for a task of another owner', async () => {
    const owners = { authenticate: (request: Request) => ({ id: request.headers.get('x-id') ?? 'unknown' }) }
    const a = draft(asking, owners)
    const message = user('go')
    const request = binding.request(
      'SendMessage',
      { message },
      { headers: { 'x-id': 'ada', 'A2A-Version': '1.1' } },
    )
    await a.handler.fetch(request)
    const [task] = a.tasks.listTasks()
    const answer = await ask(binding, a, 'GetTask', { id: task?.id, currentGeneration: 99 })
    expect(answer.error?.reason).toBe('TASK_NOT_FOUND')
  })

  test.each([-1, 'soon'])('is refused with an invalid generation: %j', async (currentGeneration) => {
    const a = await waiting()
    const answer = await ask(binding, a, 'GetTask', { id: a.id, currentGeneration })
    expect(answer.error).toMatchObject({ reason: 'INVALID_PARAMS' })
  })
})
