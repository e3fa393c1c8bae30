/** Clients of 0.1 choose the ids of their tasks: two processes may be asked for the same one at once. */
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { as, authenticate, gate, user, call as callOf, jsonRpc } from '../spec/support/agent.js'
import { failure, result } from '../dialects/support/dialects.js'
import { replicas, send, settle, textOf, type Replica, type Replicas } from './support/replicas.js'

const sending = (id: string, text: string): object => ({
  id,
  historyLength: 10,
  message: { role: 'user', parts: [{ type: 'text', text }] },
})

const asking: Execute = async (run) => `You said ${textOf(await run.requireInput('Which?'))}`

async function ask(at: Replica, id: string, text: string, who: string): Promise<Record<string, unknown>> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: sending(id, text) }
  return (await at.handler.dispatch(body, { principal: { id: who } })) as Record<string, unknown>
}

describe('an id that a client chooses', () => {
  test('means the same task at another process', async () => {
    const { a, b } = replicas([asking, () => 'not here'], { authenticate })
    await result(a, 'tasks/send', sending('report', 'go'), as('alice'))
    const task = await result(b, 'tasks/send', sending('report', 'this'), as('alice'))
    expect(task).toMatchObject({ id: 'report', status: { state: 'completed' } })
    expect(task['artifacts']).toMatchObject([{ parts: [{ text: 'You said this' }] }])
  })

  test('is that of another task for another owner, at every process', async () => {
    const { a, b } = replicas(asking, { authenticate })
    await result(a, 'tasks/send', sending('report', 'go'), as('alice'))
    const message = { role: 'user', parts: [{ type: 'text', text: 'of mallory' }] }
    for (const at of [a, b]) {
      const error = await failure(at, 'tasks/cancel', { id: 'report' }, as('mallory'))
      expect(error).toMatchObject({ code: -32001 })
    }
    const other = await result(b, 'tasks/send', { id: 'report', message }, as('mallory'))
    expect(other).toMatchObject({ id: 'report', status: { state: 'input-required' } })
    const task = await result(b, 'tasks/send', sending('report', 'this'), as('alice'))
    expect(task).toMatchObject({ id: 'report', status: { state: 'completed' } })
    expect(JSON.stringify(task)).not.toContain('mallory')
    const read = await result(a, 'tasks/get', { id: 'report' }, as('mallory'))
    expect(read).toMatchObject({ id: 'report', status: { state: 'input-required' } })
    expect([a.errors, b.errors]).toEqual([[], []])
    expect(await a.tasks.size()).toBe(2)
  })

  test('may be named in A2A 1.0 at a process that has not seen the task', async () => {
    const { a, b } = replicas(asking, { authenticate })
    await result(a, 'tasks/send', sending('report', 'go'), as('alice'))
    const message = user('this', { taskId: 'report' })
    const sent = await result(b, 'SendMessage', { message }, as('alice'))
    expect(sent['task']).toMatchObject({ id: 'report', status: { state: 'TASK_STATE_COMPLETED' } })
    expect(JSON.stringify(sent)).not.toContain('~')
  })

  test('twice at once at one process is one task, with both messages', async () => {
    const execute: Execute = async (run) => {
      run.start()
      await settle()
      return `done for ${run.text}`
    }
    const { a, b } = replicas(execute, { authenticate })
    const answers = await Promise.all([ask(a, 'report', '1', 'alice'), ask(a, 'report', '2', 'alice')])
    expect(answers).toMatchObject([{ result: { id: 'report' } }, { result: { id: 'report' } }])
    expect(await b.tasks.size()).toBe(1)
  })

  test('at once at two processes is one task, too', async () => {
    const { a, b } = replicas(asking, { authenticate })
    const answers = await Promise.all([ask(a, 'report', '1', 'alice'), ask(b, 'report', '2', 'alice')])
    expect(answers).toMatchObject([{ result: { id: 'report' } }, { result: { id: 'report' } }])
    expect(await b.tasks.size()).toBe(1)
    const [task] = await a.tasks.listTasks()
    expect(task?.messages.map(textOf)).toEqual(expect.arrayContaining(['1', '2']))
  })
})

describe('a lease', () => {
  const renewals = async ({ clock, a }: Replicas): Promise<number> => {
    // The client is answered before the lease is released.
    await settle()
    a.store.calls.length = 0
    for (let minutes = 0; minutes < 3; minutes += 1) {
      clock.advance(60_000)
      await settle()
    }
    return a.store.calls.filter((method) => method === 'renew').length
  }

  test('is kept while a run waits in memory', async () => {
    const both = replicas(asking)
    await send(both.a, 'go')
    expect(await renewals(both)).toBeGreaterThan(0)
  })

  test('is given back when the run has returned', async () => {
    const both = replicas((run) => {
      run.requireInput('Which?').catch(() => undefined)
    })
    await send(both.a, 'go')
    expect(await renewals(both)).toBe(0)
  })

  test('does not remain when the task has ended', async () => {
    const both = replicas(() => 'done')
    await send(both.a, 'go')
    expect(await renewals(both)).toBe(0)
  })

  test('does not remain for a task that has refused its first message', async () => {
    const both = replicas(() => 'done', { manager: { limits: { maxMessagesSize: 200 } } })
    const { error } = await callOf(jsonRpc, both.a, 'SendMessage', { message: user('x'.repeat(300)) })
    expect(error?.reason).toBe('LIMIT_EXCEEDED')
    expect(await renewals(both)).toBe(0)
    expect(await both.b.tasks.listTasks()).toMatchObject([{ state: 'rejected' }])
  })

  test('does not remain for a task whose message was refused', async () => {
    const both = replicas((run) => {
      run.requireInput('Which?').catch(() => undefined)
    })
    const { id } = await send(both.a, 'go')
    const message = user('this', { taskId: id, contextId: 'another' })
    const { error } = await callOf(jsonRpc, both.a, 'SendMessage', { message })
    expect(error?.reason).toBe('INVALID_PARAMS')
    expect(await renewals(both)).toBe(0)
  })

  test('does not remain for a task whose message found no room', async () => {
    const { opened, open } = gate()
    const execute: Execute = async (run) => {
      if (run.text === 'wait') run.requireInput('Which?').catch(() => undefined)
      else await opened
    }
    const both = replicas(execute, { limits: { maxRuns: 1 } })
    const { id } = await send(both.a, 'wait')
    const other = send(both.a, 'work')
    await settle()
    const message = user('this', { taskId: id })
    expect((await callOf(jsonRpc, both.a, 'SendMessage', { message })).error?.reason).toBe('UNAVAILABLE')
    open()
    await other
    expect(await renewals(both)).toBe(0)
  })
})
