/** Clients that answer a question by the context alone, as Google's ADK and a2a-ai-provider do. */
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { as, call, httpJson, post, taskOf, textsOf, user } from '../spec/support/agent.js'
import { inTime, MANAGERS, send, sendInTime } from './support.js'

const OPTIONS = { answerByContext: true }

const asking: Execute = async (run) => {
  const answers: string[] = []
  for (const question of ['One?', 'Two?']) {
    const { parts } = await run.requireInput(question)
    answers.push(parts[0]?.text ?? '')
  }
  return answers.join(', ')
}

describe.each(MANAGERS)('over a %s, a message that names a context and no task', (_, openAgents) => {
  test('answers the task of the context that waits, at any replica, once', async () => {
    const agents = await openAgents(asking, OPTIONS)
    const { a, b, tasks, errors } = agents
    const go = user('go')
    const { id, contextId = '' } = await sendInTime(agents, a, go)
    const first = user('first', { contextId })
    const asked = await sendInTime(agents, b, first)
    expect(asked).toMatchObject({ id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
    // Sent again while the next question waits.
    for (const at of [a, b])
      for (const again of [first, go]) expect(await sendInTime(agents, at, again)).toEqual(asked)
    const second = user('second', { contextId })
    const done = await sendInTime(agents, b, second)
    expect([done.id, textsOf(done)]).toEqual([id, ['first, second']])
    for (const at of [a, b])
      for (const again of [go, first, second]) expect(await sendInTime(agents, at, again)).toEqual(done)
    expect(await tasks.size()).toBe(1)
    // Nothing waits any longer.
    const next = await sendInTime(agents, b, user('next', { contextId }))
    expect(next.id).not.toBe(id)
    expect(next.contextId).toBe(contextId)
    expect(errors).toEqual([])
  })

  test('begins a task where none or several wait, and for another user, tenant or context', async () => {
    const agents = await openAgents(asking, OPTIONS)
    const { a, tasks } = agents
    const waiting = await sendInTime(agents, a, user('go'))
    const { contextId = '' } = waiting
    const other = await sendInTime(agents, a, user('go', { contextId: 'other' }))
    expect(other.id).not.toBe(waiting.id)
    const foreign = await sendInTime(agents, a, user('go', { contextId }), { who: 'bob' })
    const ofTenant = await sendInTime(agents, a, user('go', { contextId }), { tenant: 'acme' })
    expect(new Set([waiting.id, other.id, foreign.id, ofTenant.id]).size).toBe(4)
    const { owner = '' } = (await tasks.getTask(waiting.id)) ?? {}
    const second = await tasks.createTask({ skill: 'any', contextId, owner })
    for (const state of ['working', 'input-required'] as const) await tasks.updateTask(second.id, { state })
    const ambiguous = await sendInTime(agents, a, user('which?', { contextId }))
    expect([waiting.id, second.id]).not.toContain(ambiguous.id)
  })

  test('of two at once, one is the answer, and the other follows it into the same task', async () => {
    const agents = await openAgents(asking, OPTIONS)
    const { a, b, tasks } = agents
    const { id, contextId = '' } = await sendInTime(agents, a, user('go'))
    const both = [user('x', { contextId }), user('y', { contextId })] as const
    const answers = await inTime(agents, Promise.all([send(a, both[0]), send(b, both[1])]))
    expect(answers.map((answer) => taskOf(answer).id)).toEqual([id, id])
    const said = (await tasks.getTask(id))?.messages.filter(({ role }) => role === 'user')
    expect(said?.map(({ messageId }) => messageId).sort()).toEqual(
      expect.arrayContaining(both.map(({ messageId }) => messageId)),
    )
    expect(await tasks.size()).toBe(1)
  })

  test('of the same twice at once, both get the task that it answers', async () => {
    const agents = await openAgents(asking, OPTIONS)
    const { a, b, tasks } = agents
    const { id, contextId = '' } = await sendInTime(agents, a, user('go'))
    const same = user('x', { contextId })
    const answers = await inTime(agents, Promise.all([send(a, same), send(b, same)]))
    expect(answers.map((answer) => taskOf(answer).id)).toEqual([id, id])
    expect(await tasks.size()).toBe(1)
  })

  test('answers in each binding and dialect', async () => {
    const agents = await openAgents(asking, OPTIONS)
    const { a, tasks } = agents
    const { id, contextId = '' } = await sendInTime(agents, a, user('go'))
    const rest = call(httpJson, a, 'SendMessage', { message: user('by REST', { contextId }) }, as('ada'))
    expect(taskOf(await inTime(agents, rest)).id).toBe(id)
    const message = {
      kind: 'message',
      role: 'user',
      messageId: 'old',
      contextId,
      parts: [{ kind: 'text', text: 'by 0.3' }],
    }
    const old = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
    const response = await inTime(agents, a.handler.fetch(post('/', old, as('ada'))))
    expect(await response.json()).toMatchObject({ result: { id, status: { state: 'completed' } } })
    expect(await tasks.size()).toBe(1)
  })

  test('begins a task without the option', async () => {
    const agents = await openAgents(asking)
    const { a } = agents
    const { id, contextId = '' } = await sendInTime(agents, a, user('go'))
    expect((await sendInTime(agents, a, user('first', { contextId }))).id).not.toBe(id)
  })
})
