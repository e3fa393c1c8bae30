/** Runs that another process resumes by their handle. */
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import type { RunHandle } from '../../../src/client/index.js'
import { gate } from '../interop/agents.js'
import {
  cardOf,
  chunk,
  clientOf,
  failureOf,
  nowhere,
  scripted,
  status,
  stream,
  task,
  writeEvents,
  NOT_FOUND,
  error,
  type Asked,
} from './scripted.js'

function carried(handle: RunHandle): RunHandle {
  return JSON.parse(JSON.stringify(handle)) as RunHandle
}

describe('a handle with a task', () => {
  test('is followed to its end by another client, from the task as it is', async () => {
    let isDone = false
    const agent = await scripted((asked) => {
      if (asked.method === 'SendStreamingMessage') {
        writeEvents(asked, [{ task: task('working', { text: 'one ' }) }, chunk('two ')], ['1', '2'])
        return undefined
      }
      if (asked.method === 'SubscribeToTask') {
        isDone = true
        return stream(asked, [
          { task: task('working', { text: 'one two three ' }) },
          chunk('four'),
          status('completed'),
        ])
      }
      return task(isDone ? 'completed' : 'working', {
        text: isDone ? 'one two three four' : 'one two three ',
      })
    })
    const clock = new ManualClock()
    let seen: RunHandle | undefined
    const first = await clientOf(agent, { clock }).run('hi', {
      timeoutMs: 60_000,
      onUpdate({ handle }) {
        seen = handle
        if (handle.lastEventId === '2') clock.advance(60_000)
      },
    })
    expect(failureOf(first)).toEqual({ type: 'timed-out', code: 'REQUEST_TIMED_OUT' })
    expect('handle' in first && first.handle).toEqual(seen)
    expect(seen).toEqual({
      messageId: expect.any(String) as string,
      taskId: 't-1',
      contextId: 'c-1',
      lastEventId: '2',
    })
    // The task was not canceled.
    expect(agent.methods()).toEqual(['SendStreamingMessage'])

    const texts: string[] = []
    const second = await clientOf(agent).resume(carried(seen as RunHandle), {
      onUpdate: ({ task: { artifacts } }) =>
        texts.push((artifacts[0]?.parts ?? []).map(({ text }) => text).join('')),
    })
    expect(second).toMatchObject({ ok: true, type: 'completed', text: 'one two three four' })
    // Each with the whole task: it includes what the first process received.
    expect(new Set(texts)).toEqual(new Set(['one two three ', 'one two three four']))
    expect(agent.asked.find(({ method }) => method === 'SubscribeToTask')?.headers).not.toHaveProperty(
      'last-event-id',
    )
    expect(agent.methods().filter((method) => method.startsWith('Send'))).toHaveLength(1)
  })

  test('continues with callbacks where the task waits', async () => {
    let hasAnswer = false
    const agent = await scripted(({ method }) => {
      if (method === 'SendMessage') hasAnswer = true
      const now = hasAnswer
        ? task('completed', { text: 'ok' })
        : task('input-required', { says: 'q', at: '1' })
      return method === 'SendMessage' ? { task: now } : now
    }, false)
    const result = await clientOf(agent).resume(
      { messageId: 'm', taskId: 't-1' },
      { onInputRequired: () => 'a' },
    )
    expect(result).toMatchObject({ type: 'completed', text: 'ok' })
  })

  test('of a task that is gone is an error with the handle', async () => {
    const agent = await scripted(() => error(NOT_FOUND))
    const handle = { messageId: 'm', taskId: 't-1' }
    const result = await clientOf(agent).resume(handle)
    expect(result).toMatchObject({ type: 'error', handle, error: { code: 'TASK_NOT_FOUND' } })
    expect(agent.methods()).toEqual(['GetTask'])
  })
})

describe('a handle without a task', () => {
  /** The agent gets the message, and its answer does not come. */
  async function lost(listed: (asked: Asked) => object | undefined) {
    const clock = new ManualClock()
    let context: string | undefined
    const agent = await scripted((asked) => {
      if (asked.method === 'SendMessage') {
        context = asked.params.message?.contextId
        clock.advance(1_000)
        return undefined
      }
      if (asked.method === 'ListTasks') return listed(asked)
      return task('completed', { text: 'done', contextId: context })
    }, false)
    const first = await clientOf(agent, { clock }).run('hi', { timeoutMs: 1_000 })
    expect(failureOf(first)).toEqual({ type: 'timed-out', code: 'REQUEST_TIMED_OUT' })
    if (!('handle' in first)) throw new Error('It has no handle')
    expect(first.handle).toEqual({
      messageId: expect.any(String) as string,
      contextId: context,
      isOwnContext: true,
    })
    return { agent, handle: carried(first.handle) }
  }

  test('is found by its conversation, which no other message has', async () => {
    const { agent, handle } = await lost(({ params: { contextId } }) => ({
      tasks: [task('working', { contextId })],
    }))
    expect(await clientOf(agent).resume(handle)).toMatchObject({ type: 'completed', text: 'done' })
    expect(agent.methods()).toEqual(['SendMessage', 'ListTasks', 'GetTask'])
  })

  test('is found by its message, where the conversation is older', async () => {
    const agent = await scripted(({ method }) =>
      method === 'ListTasks'
        ? { tasks: [task('completed', { id: 'old', history: ['x'] }), task('working', { history: ['m'] })] }
        : task('completed', { text: 'done' }),
    )
    const result = await clientOf(agent).resume({ messageId: 'm', contextId: 'c-1' })
    expect(result).toMatchObject({ type: 'completed', task: { id: 't-1' } })
  })

  test('of which the agent has no trace is an error', async () => {
    const { agent, handle } = await lost(() => ({ tasks: [] }))
    const result = await clientOf(agent).resume(handle)
    expect(result).toMatchObject({ type: 'error', error: { code: 'TASK_NOT_FOUND' }, handle })
    // It is asked several times: the agent may take its time. Nothing is sent again.
    expect(agent.methods()).toEqual(['SendMessage', ...Array<string>(4).fill('ListTasks')])
  })

  test('of an agent that cannot be reached is an error that says so, and can be resumed later', async () => {
    const { agent, handle } = await lost(({ params: { contextId } }) => ({
      tasks: [task('working', { contextId })],
    }))
    const result = await clientOf({ card: cardOf([await nowhere()]) }).resume(handle)
    expect(result).toMatchObject({ type: 'error', error: { code: 'EXTERNAL_SERVICE_ERROR' }, handle })
    expect(await clientOf(agent).resume(handle)).toMatchObject({ type: 'completed' })
  })

  test('nor a conversation is a mistake of the caller', async () => {
    const agent = await scripted(() => null)
    await expect(clientOf(agent).resume({ messageId: 'm' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })
})

test('timeoutMs ends the run also while a callback of the user takes its time', async () => {
  const agent = await scripted(({ method }) => {
    const asks = task('input-required', { says: 'q', at: '1' })
    return method === 'SendMessage' ? { task: asks } : asks
  }, false)
  const never = gate()
  const clock = new ManualClock()
  const result = await clientOf(agent, { clock }).run('hi', {
    timeoutMs: 1_000,
    onInputRequired: async () => {
      clock.advance(1_000)
      await never.opened
      return 'too late'
    },
  })
  expect(result).toMatchObject({
    type: 'timed-out',
    handle: { taskId: 't-1' },
    task: { state: 'input-required' },
  })
})
