import { A2AError } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { v1, v1_1, type StreamEntry } from '../../../src/wire/index.js'
import { setup } from '../../support/manager.js'

const draft = v1_1()
const stable = v1()
const { rpc } = draft

/** A task with a message, work, an output and an artifact: five events. */
function worked() {
  const { tasks, id } = setup()
  tasks.addMessage(id, { messageId: 'm-1', role: 'user', parts: [{ text: 'go' }] })
  tasks.updateTask(id, { state: 'working', output: 'out', artifacts: [{ parts: [{ text: 'made' }] }] })
  const task = tasks.peekTask(id)
  if (task === null) throw new Error('The task is gone')
  return { tasks, id, task }
}

describe('what the draft adds to 1.0 is the generation, and nothing else', () => {
  const { task, tasks, id } = worked()

  test('to a task, wherever it stands', () => {
    const plain = stable.rpc.GetTask?.encode({ task })
    const shown = { ...(plain as object), generation: 5 }
    expect(rpc.GetTask?.encode({ task })).toStrictEqual(shown)
    expect(rpc.CancelTask?.encode({ task })).toStrictEqual(shown)
    expect(rpc.SendMessage?.encode({ type: 'task', task })).toStrictEqual({ task: shown })
    const page = { nextPageToken: '', pageSize: 1, totalSize: 1 }
    expect(rpc.ListTasks?.encode({ tasks: [{ task }], ...page })).toStrictEqual({ tasks: [shown], ...page })
  })

  test('to the events of a stream, and of a webhook', () => {
    const taskEntry: StreamEntry = { type: 'task', task, last: false, isResync: false }
    expect(rpc.SubscribeToTask?.encode(taskEntry)).toHaveProperty('task.generation', 5)
    const entries = tasks.events(id).flatMap((event): StreamEntry[] => {
      const entry = { contextId: task.contextId, last: false }
      if (event.type === 'status') return [{ type: 'status', event, ...entry }]
      return event.type === 'artifact' ? [{ type: 'artifact', event, ...entry }] : []
    })
    const generations = [3, 5]
    expect(entries.map((entry) => entry.type)).toEqual(['status', 'artifact'])
    for (const [index, entry] of entries.entries()) {
      const [[name, plain] = []] = Object.entries(stable.encodeNotification?.(entry) ?? {})
      const shown = { [name ?? '']: { ...(plain as object), generation: generations[index] } }
      expect(rpc.SendStreamingMessage?.encode(entry)).toStrictEqual(shown)
      expect(rpc.SubscribeToTask?.encode(entry)).toStrictEqual(shown)
      expect(draft.encodeNotification?.(entry)).toStrictEqual(shown)
    }
  })

  test('a message is of no task, and has none', () => {
    const message = { messageId: 'm', role: 'agent', parts: [{ text: 'hi' }] } as const
    const shown = { message: { ...message, role: 'ROLE_AGENT' } }
    expect(
      rpc.SendMessage?.encode({ type: 'message', message: { ...message, parts: [...message.parts] } }),
    ).toEqual(shown)
    expect(
      rpc.SendStreamingMessage?.encode({
        type: 'message',
        last: true,
        message: { ...message, parts: [...message.parts] },
      }),
    ).toEqual(shown)
  })

  test('it has the operations, routes and card of 1.0, and is used only with clients that ask for it', () => {
    expect([...draft.methods]).toEqual([...stable.methods])
    expect(draft.routes).toEqual(stable.routes)
    expect(Object.keys(rpc)).toEqual(Object.keys(stable.rpc))
    expect(draft.rest).toBe(rpc)
    expect(draft).toMatchObject({ version: '1.1', isInCards: false })
    expect(draft.recognizes?.({})).toBe(false)
  })
})

describe('what is asked', () => {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'go' }] }
  const sent = (ifGenerationMatch: unknown) => ({ message, configuration: { ifGenerationMatch } })

  test.each([
    [3, 3],
    ['3', 3],
    [0, 0],
    ['9223372036854775807', 2 ** 63],
  ])('a generation is a number or its digits: %j', (given, generation) => {
    expect(rpc.GetTask?.decode({ id: 't', currentGeneration: given })).toEqual({
      id: 't',
      currentGeneration: generation,
    })
    expect(rpc.SendMessage?.decode(sent(given))).toMatchObject({ ifGeneration: generation })
    expect(rpc.SendStreamingMessage?.decode(sent(given))).toMatchObject({ ifGeneration: generation })
  })

  test.each([-1, '-1', 1.5, '1.5', '', ' 3', '0x3', true, {}, [3], '3'.repeat(20), Infinity])(
    'nothing else is one: %j',
    (given) => {
      const fault = (path: string) => ({
        code: 'INVALID_PARAMS',
        data: { path, reason: 'must be an integer, 0 or more, as a number or as its digits in a text' },
      })
      expect(failureOf(() => rpc.GetTask?.decode({ id: 't', currentGeneration: given }))).toMatchObject(
        fault('currentGeneration'),
      )
      expect(failureOf(() => rpc.SendMessage?.decode(sent(given)))).toMatchObject(
        fault('configuration.ifGenerationMatch'),
      )
    },
  )

  test('null counts as absent, and absent fields are not added', () => {
    for (const given of [{ id: 't' }, { id: 't', currentGeneration: null }]) {
      expect(rpc.GetTask?.decode(given)).toStrictEqual({ id: 't' })
    }
    for (const given of [
      { message },
      { message, configuration: null },
      { message, configuration: {} },
      sent(null),
    ]) {
      expect(rpc.SendMessage?.decode(given)).toStrictEqual(stable.rpc.SendMessage?.decode({ message }))
    }
  })

  test('1.0 reads neither', () => {
    expect(stable.rpc.GetTask?.decode({ id: 't', currentGeneration: 3 })).toStrictEqual({ id: 't' })
    expect(stable.rpc.SendMessage?.decode(sent(3))).not.toHaveProperty('ifGeneration')
  })

  test('requests that 1.0 refuses are refused with the same errors', () => {
    expect(failureOf(() => rpc.GetTask?.decode({ currentGeneration: 3 }))).toMatchObject({
      data: { path: 'id', reason: 'is missing' },
    })
    expect(failureOf(() => rpc.SendMessage?.decode({ ...sent(3), message: 1 }))).toMatchObject({
      data: { path: 'message' },
    })
  })
})

test('a mismatch says what is expected and what there is, in the words of the draft and in ours', () => {
  const data = { taskId: 't', expectedGeneration: 3, generation: 5 }
  const error = new A2AError('TASK_GENERATION_MISMATCH', 'Read it again', data)
  const details = [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'TASK_GENERATION_MISMATCH',
      domain: 'a2a-protocol.org',
      metadata: { taskId: 't', expectedGeneration: '3', generation: '5', currentGeneration: '5' },
    },
  ]
  expect(draft.encodeRpcError(error)).toEqual({ code: -32010, message: 'Read it again', data: details })
  expect(draft.encodeHttpError(error)).toEqual({
    status: 409,
    body: { error: { code: 409, status: 'ABORTED', message: 'Read it again', details } },
  })
  const other = new A2AError('TASK_NOT_FOUND', 'No', { taskId: 't' })
  expect(draft.encodeRpcError(other)).toEqual(stable.encodeRpcError(other))
  expect(draft.encodeHttpError(other, 410)).toEqual(stable.encodeHttpError(other, 410))
})

function failureOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}
