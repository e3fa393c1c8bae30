/** `sendTask`: repeated, shared by two clients, with wrong arguments, and aborted. */
import { describe, expect, it } from 'vitest'
import { A2AClient, type RunOptions } from '../../../src/client/index.js'
import { TaskManager } from '../../../src/index.js'
import { fakeAgent } from '../../../src/testing/index.js'

describe('sendTask', () => {
  it('continues with an agent that is given by its card', async () => {
    const remote = fakeAgent(async (run) => `Rain in ${(await run.requireInput('Where?')).parts[0]?.text}`)
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch })
    const { id } = taskManager.createTask({ skill: 'weather' })
    await client.sendTask(remote.card, id)
    taskManager.addMessage(id, { role: 'user', parts: [{ text: 'Oslo' }] })
    expect(await client.sendTask(remote.card, id)).toMatchObject({ text: 'Rain in Oslo' })
    expect(remote.tasks.size()).toBe(1)
  })

  it('does a task once, whichever client is asked', async () => {
    const remote = fakeAgent('done')
    const taskManager = new TaskManager()
    const clients = [1, 2].map(() => new A2AClient({ taskManager, fetch: remote.fetch }))
    const { id } = taskManager.createTask({ skill: 's' })
    const ends = await Promise.allSettled(clients.map((client) => client.sendTask(remote.url, id)))
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(remote.tasks.size()).toBe(1)
  })

  it('leaves the task alone where its arguments are invalid', async () => {
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, agents: { helper: 'https://helper.test' } })
    const { id } = taskManager.createTask({ skill: 's' })
    await expect(client.sendTask('helpr', id)).rejects.toThrow(
      'agent "helpr" is neither a URL nor a name in "agents"',
    )
    await expect(client.sendTask('helper', id, { signl: 1 } as RunOptions)).rejects.toThrow(
      'Unknown option "signl"',
    )
    expect(taskManager.peekTask(id)?.state).toBe('submitted')
  })

  it('can be ended while the card is on its way', async () => {
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: () => new Promise(() => undefined) })
    const { id } = taskManager.createTask({ skill: 's' })
    const controller = new AbortController()
    const sent = client.sendTask('https://slow.test', id, { signal: controller.signal })
    controller.abort()
    await expect(sent).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
  })
})

it('a task that had ended is not mirrored again when it is resumed', async () => {
  const remote = fakeAgent('done')
  const taskManager = new TaskManager()
  const client = new A2AClient({ card: remote.card, fetch: remote.fetch, taskManager })
  const ended = await client.run('go')
  if (ended.type !== 'completed') throw new Error(ended.type)
  for (let turn = 0; turn < 2; turn += 1) await client.resume({ messageId: 'm', taskId: ended.task.id })
  expect(taskManager.size()).toBe(1)
})
