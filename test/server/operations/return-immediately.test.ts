/** What a client that does not wait receives over a manager in memory: the task as its message was accepted. */
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { pushAgent } from '../push/support/push.js'
import { agent, call, jsonRpc, taskOf, user } from '../spec/support/agent.js'

const configuration = { returnImmediately: true }

describe('without waiting', () => {
  test('an answer to a question returns the task before the work on the answer', async () => {
    const a = agent(async (run: Run) => {
      const answer = await run.requireInput('?')
      return `got ${answer.parts[0]?.text ?? ''}`
    })
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('Go') }))
    const message = user('x', { taskId: id })
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', { message, configuration }))
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_WORKING' } })
    expect(task.artifacts ?? []).toEqual([])
  })

  test('a first message returns its task before its work continues', async () => {
    // The task begins when the agent first waits, and the work continues in the same microtasks.
    const a = agent(async (run: Run) => {
      await Promise.resolve()
      run.start()
      await Promise.resolve()
      await Promise.resolve()
      return 'done'
    })
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('Go'), configuration }))
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_WORKING' } })
  })

  test('a webhook that comes with an answer receives every state from its acceptance on', async () => {
    const states: string[] = []
    const { call: send, tasks } = pushAgent({
      execute: async (run: Run) => {
        await run.requireInput('?')
        run.complete('bye')
      },
      push: {
        resolve: false,
        allow: ['h.test'],
        fetch: (_, { body }) => {
          const [[kind, { status }] = ['', {}]] = Object.entries(
            JSON.parse(typeof body === 'string' ? body : '{}') as Record<
              string,
              { status?: { state: string } }
            >,
          )
          states.push(`${kind} ${status?.state ?? ''}`)
          return Promise.resolve(new Response(''))
        },
      },
    })
    const first = await send<{ task: { id: string } }>('SendMessage', { message: user('Go') })
    const { id } = first.task
    const taskPushNotificationConfig = { id: 'p', url: 'https://h.test/' }
    const message = user('x', { taskId: id })
    await send('SendMessage', { message, configuration: { ...configuration, taskPushNotificationConfig } })
    await tasks.waitFor(id)
    await expect.poll(() => states).toEqual(['task TASK_STATE_WORKING', 'statusUpdate TASK_STATE_COMPLETED'])
  })
})
