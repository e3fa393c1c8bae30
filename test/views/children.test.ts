/** Children of tasks, over every manager. */
import { children } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { child, until } from '../server/journal/support/children.js'
import { agent, MANAGERS, type Agent } from '../server/journal/support/managers.js'

const LINEAGE = 'https://a2a-tasks.dev/extensions/lineage/v1'

/** A message to the agent from a task elsewhere. */
async function sendFrom({ handler }: Agent, parentTaskId: string): Promise<string> {
  const client = new A2AClient({
    card: handler.card,
    fetch: (input, init) => handler.fetch(new Request(input, init)),
  })
  const lineage = { parentTaskId, rootTaskId: 'root', depth: 2, path: ['https://other.example'] }
  const sent = await client.send({ parts: [{ text: 'go' }], metadata: { [LINEAGE]: lineage } })
  return sent.type === 'task' ? sent.task.id : ''
}

describe.each(MANAGERS)('the children of a task over %s', (_, open) => {
  test('are the tasks whose messages name it, wherever it is', async () => {
    const execute: Execute = (run) => run.start()
    const own = await agent(open, execute)
    const first = await sendFrom(own, 'parent of another agent')
    await sendFrom(own, 'another user')
    const second = await sendFrom(own, 'parent of another agent')
    await until(async () => (await children(own.tasks, 'parent of another agent')).tasks.length === 2)
    const { tasks, delegations } = await children(own.tasks, 'parent of another agent')
    expect(tasks.map(({ id }) => id).toSorted()).toEqual([first, second].toSorted())
    expect(tasks.map(({ state }) => state)).toEqual(['completed', 'completed'])
    expect(delegations).toEqual([])
    expect(await children(own.tasks, 'unknown')).toEqual({ tasks: [], delegations: [] })
  })

  test('are the tasks of the agents that it delegates to', async () => {
    let finish: (text: string) => void = () => {}
    const work = new Promise<string>((resolve) => (finish = resolve))
    const slow = await child((run) => (run.text === 'wait' ? work : 'Booked'))
    const { say, tasks, kinds, reaches } = await agent(open, async (run) => {
      await run.delegate('book', slow.client, 'Lisbon')
      await run.delegate('book', slow.client, 'wait')
    })
    const id = await say('go')
    await until(async () => (await kinds(id)).filter((kind) => kind === 'handle').length === 2)
    const { url: agentUrl } = slow.client.card.supportedInterfaces[0] ?? {}
    const [first, second] = slow.tasks.listTasks().map((task) => task.id)
    expect(await children(tasks, id)).toEqual({
      tasks: [],
      delegations: [
        { name: 'book#1', agent: agentUrl, taskId: first, state: 'completed' },
        { name: 'book#2', agent: agentUrl, taskId: second },
      ],
    })
    expect((await children(slow.tasks, id)).tasks.map((task) => task.id)).toEqual([first, second])
    finish('Booked')
    await until(async () => (await kinds(id)).filter((kind) => kind === 'delegated').length === 2)
    await reaches(id, 'completed')
    expect((await children(tasks, id)).delegations.map(({ state }) => state)).toEqual([
      'completed',
      'completed',
    ])
  })
})
