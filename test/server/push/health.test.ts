import { TaskManager } from 'a2a-tasks'
import { sequentialIds } from 'a2a-tasks/testing'
import type { PushOptions } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { endOf, pushAgent, until, type PushAgent } from './support/push.js'

type Plain = PushAgent<{ id: string }>

/** An agent whose webhooks all answer like this, and whose tasks have ids with numbers. */
function agentWith(fetch: NonNullable<PushOptions['fetch']>): Plain {
  const tasks = new TaskManager({ generateId: sequentialIds() })
  return pushAgent({ tasks, push: { resolve: false, allow: ['h.test'], fetch } })
}

async function allAre({ handler }: Plain, state: string): Promise<void> {
  await until(async () => (await handler.push.health()).every((health) => health.state === state))
}

describe('in memory', () => {
  test('health and dead letters come in the order of registration', async () => {
    const agent = agentWith(() => Promise.resolve(new Response('', { status: 410 })))
    const ids = Array.from({ length: 12 }, agent.task)
    const expected: string[] = []
    for (const index of [1, 10, 2, 9, 11]) {
      for (const id of ['b', 'a', 'c', 'd']) {
        const taskId = ids[index] ?? ''
        await agent.create(taskId, { id, url: `https://h.test/${id}` })
        expected.push(`${taskId} ${id}`)
      }
    }
    await allAre(agent, 'disabled')
    const { push } = agent.handler
    expect((await push.health()).map(({ taskId, id }) => `${taskId} ${id}`)).toEqual(expected)
    expect((await push.deadLetters()).map(({ taskId, id }) => `${taskId} ${id}`)).toEqual(expected)
  })

  test('the health of a request that closing has aborted shows that it was sent', async () => {
    const agent = agentWith(
      (_, { signal }) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    )
    await agent.create(agent.task(), { url: 'https://h.test/' })
    await until(async () => (await agent.handler.push.health())[0]?.attempts === 1)
    await agent.handler.close({ graceMs: 0 })
    expect(await agent.handler.push.health()).toMatchObject([{ state: 'done', delivered: 0, attempts: 1 }])
  })

  test('the health of a webhook that was sent to again when the agent closed shows its failure', async () => {
    const agent = agentWith(() => Promise.resolve(new Response('', { status: 503 })))
    await agent.create(agent.task(), { url: 'https://h.test/' })
    await allAre(agent, 'retrying')
    await endOf(agent.handler.close({ graceMs: 0 }), agent.clock)
    expect(await agent.handler.push.health()).toMatchObject([
      { state: 'done', attempts: 1, failure: { reason: 'HTTP 503', status: 503 } },
    ])
  })
})
