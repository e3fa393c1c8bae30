/** A message to an existing task that is sent twice is one message of its conversation. */
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { as, gate, jsonRpc, nameOf, open, textsOf, user } from '../spec/support/agent.js'
import { inTime, MANAGERS, send, sendInTime } from './support.js'

const NOW = { configuration: { returnImmediately: true } }

/** Asks twice, and repeats the answers. */
const asking: Execute = async (run) => {
  const answers: string[] = []
  for (const question of ['One?', 'Two?']) {
    const { parts } = await run.requireInput(question)
    answers.push(parts[0]?.text ?? '')
  }
  return answers.join(', ')
}

describe.each(MANAGERS)('over a %s an answer that is sent again', (_, openAgents) => {
  test('is no second answer, at any replica', async () => {
    const agents = await openAgents(asking)
    const { a, b, tasks, errors } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go'))
    const answer = user('first', { taskId })
    const asked = await sendInTime(agents, b, answer)
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(await sendInTime(agents, a, answer)).toEqual(asked)
    expect(await sendInTime(agents, b, answer)).toEqual(asked)
    const done = await sendInTime(agents, a, user('second', { taskId }))
    expect(textsOf(done)).toEqual(['first, second'])
    expect(await tasks.size()).toBe(1)
    expect(errors).toEqual([])
  })

  test('gets the end of a task that has ended since', async () => {
    const agents = await openAgents(asking)
    const { a, b } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go'))
    await sendInTime(agents, a, user('first', { taskId }))
    const answer = user('second', { taskId })
    const done = await sendInTime(agents, a, answer)
    expect(textsOf(done)).toEqual(['first, second'])
    for (const at of [a, b]) expect(await sendInTime(agents, at, answer)).toEqual(done)
    const { error } = await send(b, user('third', { taskId }))
    expect(error?.reason).toBe('UNSUPPORTED_OPERATION')
  })

  test('is refused with the path of what differs', async () => {
    const agents = await openAgents(asking)
    const { a, b } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go'))
    const answer = user('first', { taskId })
    await sendInTime(agents, a, answer)
    for (const at of [a, b]) {
      const { error } = await send(at, { ...answer, parts: [{ text: 'other' }] })
      expect(error?.reason).toBe('INVALID_PARAMS')
      expect(error?.message).toContain('message.parts[0].text differs')
    }
  })

  test.each([
    ['of callers without a principal', { authenticate: undefined }],
    [
      'of callers without a principal, where all are one',
      { authenticate: undefined, idempotency: { anonymous: true } },
    ],
  ] as const)('is no second answer %s, and its id is taken', async (__, options) => {
    const agents = await openAgents(asking, options)
    const { a, b, tasks } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go', { messageId: '1' }))
    const answer = user('same', { taskId, messageId: '2' })
    const asked = await sendInTime(agents, a, answer)
    for (const at of [a, b]) {
      expect(await sendInTime(agents, at, answer)).toEqual(asked)
      for (const messageId of ['1', '2']) {
        const { error } = await send(at, user('other', { taskId, messageId }))
        expect(error).toMatchObject({ code: -32602, reason: 'INVALID_PARAMS' })
        expect(error?.message).toContain('message.parts[0].text differs')
      }
    }
    const done = await sendInTime(agents, b, user('same', { taskId, messageId: '3' }))
    expect(textsOf(done)).toEqual(['same, same'])
    expect((await tasks.getTask(taskId))?.messages.filter(({ role }) => role === 'user')).toHaveLength(3)
  })

  test('is another message where idempotency is off and its content differs', async () => {
    const agents = await openAgents(asking, { idempotency: false })
    const { a, b, tasks } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go', { messageId: '1' }))
    const second = user('first', { taskId, messageId: '1' })
    const asked = await sendInTime(agents, b, second)
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    // The same again is no new message, whichever of them it is.
    for (const at of [a, b])
      for (const again of [second, user('go', { taskId, messageId: '1' })])
        expect(await sendInTime(agents, at, again)).toEqual(asked)
    const done = await sendInTime(agents, a, user('second', { taskId, messageId: '1' }))
    expect(textsOf(done)).toEqual(['first, second'])
    const messages = (await tasks.getTask(taskId))?.messages.filter(({ role }) => role === 'user')
    expect(messages?.map(({ messageId, parts }) => [messageId, parts[0]?.text])).toEqual([
      ['1', 'go'],
      ['1/2', 'first'],
      ['1/3', 'second'],
    ])
    const { error } = await send(b, user('third', { taskId, messageId: '1' }))
    expect(error?.reason).toBe('UNSUPPORTED_OPERATION')
  })

  test('is another message also where its id has no room for a number', async () => {
    const agents = await openAgents(asking, { idempotency: false })
    const { a, b, tasks } = agents
    const messageId = '🙂'.repeat(512)
    const { id: taskId } = await sendInTime(agents, a, user('go', { messageId }))
    const asked = await sendInTime(agents, a, user('first', { taskId, messageId }))
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(await sendInTime(agents, b, user('first', { taskId, messageId }))).toEqual(asked)
    expect(textsOf(await sendInTime(agents, a, user('second', { taskId, messageId })))).toEqual([
      'first, second',
    ])
    const sent = (await tasks.getTask(taskId))?.messages.filter(({ role }) => role === 'user')
    expect(new Set(sent?.map((message) => message.messageId)).size).toBe(3)
  })

  test('while the task is worked on is added once, and gets the stream', async () => {
    const work = gate()
    const read: string[] = []
    const agents = await openAgents(async (run) => {
      read.push(run.text)
      if (read.length > 1) return `done: ${run.text}`
      run.start()
      await work.opened
      run.requireInput('More?').catch(() => undefined)
      return undefined
    })
    const { a, b, tasks } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go'), NOW)
    const more = { message: user('more', { taskId }) }
    const streams = [
      await open(jsonRpc, a, 'SendStreamingMessage', more, as('ada')),
      await open(jsonRpc, b, 'SendStreamingMessage', more, as('ada')),
    ]
    work.open()
    for (const stream of streams) {
      const names = (await inTime(agents, stream.rest())).map(nameOf)
      expect([names[0], names.length > 1]).toEqual(['task', true])
    }
    const task = await tasks.getTask(taskId)
    const said = task?.messages.filter(({ role }) => role === 'user').map(({ parts }) => parts[0]?.text)
    expect(said).toEqual(['go', 'more'])
  })

  test('at the same moment with other content is refused', async () => {
    const agents = await openAgents(asking, { authenticate: undefined })
    const { a, b, tasks } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go'))
    const sent = [a, b, a].map((at, index) => send(at, user(`${index}`, { taskId, messageId: '1' })))
    const answers = await inTime(agents, Promise.all(sent))
    const refused = answers.flatMap(({ error }) => error ?? [])
    expect(refused.map(({ reason }) => reason)).toEqual(['INVALID_PARAMS', 'INVALID_PARAMS'])
    const kept = answers.findIndex(({ error }) => error === undefined)
    const { messages = [] } = (await tasks.getTask(taskId)) ?? {}
    const said = messages.filter(({ role }) => role === 'user').map(({ parts }) => parts[0]?.text)
    expect(said).toEqual(['go', `${kept}`])
  })

  test('at the same moment is one answer', async () => {
    const agents = await openAgents(asking)
    const { a, b, tasks, errors } = agents
    const { id: taskId } = await sendInTime(agents, a, user('go'))
    const answer = user('first', { taskId })
    const answers = await Promise.all([a, b, b, a].map((at) => sendInTime(agents, at, answer)))
    expect(answers.map(({ status }) => status.state)).toEqual(Array(4).fill('TASK_STATE_INPUT_REQUIRED'))
    const done = await sendInTime(agents, b, user('second', { taskId }))
    expect(textsOf(done)).toEqual(['first, second'])
    const task = await tasks.getTask(taskId)
    const said = task?.messages.filter(({ role }) => role === 'user').map(({ parts }) => parts[0]?.text)
    expect(said).toEqual(['go', 'first', 'second'])
    expect(errors).toEqual([])
  })
})
