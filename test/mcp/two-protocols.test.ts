/** One task over two protocols: begun, read, answered, followed and ended by clients of MCP and of A2A in turn. */
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { A2AClient, textOf } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { Page, READ } from '../inspector/support/inspected.js'
import { sceneOf, statelessRequest, textIn, type Json } from './kit.js'

const TASKS = { tasks: true, elicitation: { form: {}, url: {} } }

const trip: Execute = async (run) => {
  run.update('Looking')
  const city = await run.requireInput('Which city?', { schema: z.string() })
  const seat = textOf(await run.requireInput('Which seat?'))
  return `${city}, ${seat}`
}

function sceneFor(execute: Execute) {
  const scene = sceneOf(execute, { waitMs: 0 })
  const { handler, ask } = scene
  const a2a = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const get = async (taskId: string): Promise<Json> => (await ask('tasks/get', { taskId }, TASKS)).result
  const answer = async (taskId: string, content: object): Promise<void> => {
    const [key = ''] = Object.keys((await get(taskId))['inputRequests'] as Json)
    const inputResponses = { [key]: { action: 'accept', content } }
    expect((await ask('tasks/update', { taskId, inputResponses }, TASKS)).last).toHaveProperty('result')
  }
  /** Resolves when the task asks this. */
  const asked = (taskId: string, question: string): Promise<unknown> =>
    scene.tasks.waitFor(taskId, {
      until: ({ message }) => typeof message === 'object' && textOf(message) === question,
    })
  return { ...scene, a2a, get, answer, asked }
}

describe('a task that a client of MCP has begun', () => {
  it('is read, answered and ended by both', async () => {
    const { say, a2a, get, answer, asked, tasks } = sceneFor(trip)
    const taskId = String((await say('To Italy', TASKS)).result['taskId'])
    await asked(taskId, 'Which city?')
    const seen = await a2a.getTask(taskId)
    expect(seen).toMatchObject({ id: taskId, state: 'input-required' })
    expect(seen.messages.map(textOf)).toEqual(['To Italy', 'Which city?'])
    const result = await a2a.resume(
      { taskId, messageId: seen.messages[0]?.messageId ?? '' },
      {
        onInputRequired: ({ message }) =>
          message !== undefined && textOf(message) === 'Which city?' ? 'Rome' : undefined,
      },
    )
    expect(result).toMatchObject({
      type: 'input-required',
      task: { message: { parts: [{ text: 'Which seat?' }] } },
    })
    await answer(taskId, { answer: '7A' })
    await tasks.waitFor(taskId)
    expect(await get(taskId)).toMatchObject({
      taskId,
      status: 'completed',
      result: { content: [{ type: 'text', text: 'Rome, 7A' }], isError: false },
    })
  })
})

describe('a task that a client of A2A has begun', () => {
  it('is read, answered, followed and ended by both', async () => {
    const { mcp, a2a, get, answer, asked } = sceneFor(trip)
    const begun = await a2a.run('To Italy')
    if (begun.type !== 'input-required') throw new Error(begun.type)
    const { id } = begun.task
    const listen = { notifications: { taskIds: [id] } }
    const followed = await mcp(statelessRequest(1, 'subscriptions/listen', listen, TASKS))
    expect(await get(id)).toMatchObject({ status: 'input_required', statusMessage: 'Which city?' })
    await answer(id, { value: 'Rome' })
    await asked(id, 'Which seat?')
    expect(await a2a.run({ taskId: id, parts: [{ text: '7A' }] })).toMatchObject({ type: 'completed' })
    const { result } = await get(id)
    expect(textIn(result as Json)).toBe('Rome, 7A')
    const text = await followed.text()
    for (const status of ['input_required', 'completed']) expect(text).toContain(`"status":"${status}"`)
  })
})

describe('a task that is canceled', () => {
  const hold: Execute = (run) =>
    new Promise((resolve) => run.signal.addEventListener('abort', () => resolve(undefined)))

  it('by a client of A2A is cancelled for MCP', async () => {
    const { say, a2a, get } = sceneFor(hold)
    const taskId = String((await say('Go', TASKS)).result['taskId'])
    await a2a.cancelTask(taskId)
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' })
  })

  it('by a client of MCP is canceled for A2A', async () => {
    const { ask, a2a } = sceneFor(hold)
    const { task } = (await a2a.send('Go', { returnImmediately: true })) as { task: { id: string } }
    await ask('tasks/cancel', { taskId: task.id }, TASKS)
    expect(await a2a.getTask(task.id)).toMatchObject({ state: 'canceled' })
  })
})

describe('the inspector', () => {
  it('shows tasks of both, by the same facts', async () => {
    const { say, a2a, handler, tasks } = sceneFor(trip)
    await say('By MCP', TASKS)
    await a2a.run('By A2A')
    await expect
      .poll(() => tasks.listTasks().map(({ state }) => state))
      .toEqual(Array(2).fill('input-required'))
    const common = { skill: 'default', state: 'input-required', note: 'Which city?', messages: 2 }
    const rows = ['By A2A', 'By MCP'].map((title): unknown => expect.objectContaining({ title, ...common }))
    const { body } = await new Page({ ...READ, tasks, handler }).get('tasks')
    expect(body).toMatchObject({ tasks: expect.arrayContaining(rows) as unknown })
  })
})
