/** Updates that a client receives of a run that it resumes. */
import { A2AClient, type RunHandle } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { gate } from '../server/spec/support/agent.js'

test('a resumed run reports the state of its task once', async () => {
  const finish = gate()
  const agent = fakeAgent(async (run) => {
    run.start()
    await finish.opened
    return 'done'
  })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const working = gate<RunHandle>()
  const first = client.run('go', {
    onUpdate: ({ task, handle }) => {
      if (task.state === 'working') working.open(handle)
    },
  })
  const received: string[] = []
  const resumed = client.resume(await working.opened, {
    onUpdate: ({ event, task }) => {
      received.push(`${event.type} ${task.state}`)
      if (received.length === 1) setImmediate(() => finish.open())
    },
  })
  expect(await resumed).toMatchObject({ type: 'completed', text: 'done' })
  expect(received).toEqual(['task working', 'artifact working', 'status completed'])
  await first
})

test('a run keeps what the agent has said, and none of it with keepUpdates: false', async () => {
  const agent = fakeAgent(async (run) => {
    run.update('Looking')
    await Promise.resolve()
  })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  expect(await client.run('go')).toMatchObject({ type: 'completed', text: 'Looking' })
  const told: string[] = []
  const result = await client.run('go', {
    keepUpdates: false,
    onUpdate: ({ event }) => void told.push(event.type),
  })
  expect(result).toMatchObject({ type: 'completed', text: '', task: { messages: [{ role: 'user' }] } })
  expect(told.length).toBeGreaterThan(1)
  await expect(client.run('go', { keepUpdates: 1 as never })).rejects.toThrow('"keepUpdates" must be')
})
