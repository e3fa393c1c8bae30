/** Delegation, and copies of remote tasks, over each kind of manager. */
import { describe, expect, test } from 'vitest'
import { TaskManager } from 'a2a-tasks'
import { A2AClient, textOf, type A2AClientOptions } from 'a2a-tasks/client'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import { fakeAgent, type FakeAgent } from 'a2a-tasks/testing'
import { messagesTo, STORES, world } from './support/processes.js'

interface Setup {
  readonly tasks: TaskManager | DurableTaskManager
  readonly client: A2AClient
  /** Resolves as the promise does, while time passes. */
  readonly done: <T>(promise: Promise<T>) => Promise<T>
}

type Begin = (agent: FakeAgent, options?: Partial<A2AClientOptions>) => Promise<Setup>

const inMemory: Begin = ({ fetch }, options) => {
  const taskManager = new TaskManager()
  const client = new A2AClient({ taskManager, fetch, ...options })
  return Promise.resolve({ tasks: taskManager, client, done: (promise) => promise })
}

const ROWS: [string, Begin][] = [
  ['TaskManager', inMemory],
  ...STORES.map(([name, open]): [string, Begin] => [
    `DurableTaskManager over ${name}`,
    async (agent, options) => {
      const at = await world([agent], open)
      const { tasks, client } = at.process(options)
      const done = async <T>(promise: Promise<T>): Promise<T> => {
        let isSettled = false
        const settle = (): unknown => (isSettled = true)
        promise.then(settle, settle)
        await at.until(() => isSettled)
        return await promise
      }
      return { tasks, client, done }
    },
  ]),
]

describe.each(ROWS)('%s', (_, begin) => {
  test('follows the task of the agent to its end', async () => {
    const agent = fakeAgent(async function* (run) {
      await Promise.resolve()
      yield `${run.text} `
      yield 'done'
    })
    const { tasks, client, done } = await begin(agent)
    const { id } = await tasks.createTask({ skill: 's', input: 'work' })
    expect(await done(client.sendTask(agent.url, id))).toMatchObject({ type: 'completed', text: 'work done' })
    const task = await tasks.peekTask(id)
    expect(task?.history.map(({ state }) => state)).toEqual(['submitted', 'working', 'completed'])
    expect(task?.artifacts[0]?.parts?.map(textOfPart).join('')).toBe('work done')
    await expect(client.sendTask(agent.url, id)).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
    await expect(client.sendTask(agent.url, 'x')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  test('ends as the task of the agent ends', async () => {
    const agent = fakeAgent([
      (run) => run.fail('No such paper'),
      (run) => run.reject('Not today'),
      (run) => run.reply('Just so'),
    ])
    const { tasks, client, done } = await begin(agent)
    const ends: unknown[] = []
    for (const skill of ['a', 'b', 'c']) {
      const { id } = await tasks.createTask({ skill })
      await done(client.sendTask(agent.url, id))
      const { state, output } = (await tasks.peekTask(id)) ?? {}
      ends.push([state, output])
    }
    expect(ends).toEqual([
      ['failed', null],
      ['rejected', null],
      ['completed', 'Just so'],
    ])
  })

  test('asks, and sends the answer once', async () => {
    const agent = fakeAgent(async (run) => `Rain in ${textOf(await run.requireInput('Which city?'))}`)
    const { tasks, client, done } = await begin(agent, { agents: { weather: agent.url } })
    const { id } = await tasks.createTask({ skill: 's' })
    expect(await done(client.sendTask('weather', id))).toMatchObject({ type: 'input-required' })
    expect(await tasks.peekTask(id)).toMatchObject({ state: 'input-required' })
    await tasks.addMessage(id, { role: 'user', parts: [{ text: 'Oslo' }] })
    expect(await done(client.sendTask('weather', id))).toMatchObject({ text: 'Rain in Oslo' })
    expect(await tasks.peekTask(id)).toMatchObject({ state: 'completed' })
    expect(await messagesTo(agent)).toHaveLength(2)
    expect(agent.tasks.size()).toBe(1)
  })

  test('cancels the task of the agent, which is with one caller at a time', async () => {
    const agent = fakeAgent(
      (run) => new Promise((resolve) => run.signal.addEventListener('abort', () => resolve('late'))),
    )
    const { tasks, client, done } = await begin(agent)
    const { id } = await tasks.createTask({ skill: 's' })
    const sent = client.sendTask(agent.url, id)
    await done(tasks.waitFor(id, { until: 'working' }))
    await expect(client.sendTask(agent.url, id)).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    await tasks.cancelTask(id)
    expect(await done(sent)).toMatchObject({ type: 'canceled' })
    expect(agent.tasks.listTasks().map(({ state }) => state)).toEqual(['canceled'])
  })

  test('fails the task where there is no agent, and cancels it when a callback throws', async () => {
    const agent = fakeAgent('x')
    const { tasks, client, done } = await begin(agent)
    const { id } = await tasks.createTask({ skill: 's' })
    await expect(done(client.sendTask('https://nowhere.test', id))).rejects.toMatchObject({
      code: 'EXTERNAL_SERVICE_ERROR',
    })
    expect(await tasks.peekTask(id)).toMatchObject({
      state: 'failed',
      message: 'The agent cannot be reached',
    })
    const other = await tasks.createTask({ skill: 's' })
    const onUpdate = (): never => expect.unreachable('as a listener does')
    await expect(done(client.sendTask(agent.url, other, { onUpdate }))).rejects.toThrow('as a listener does')
    expect(await tasks.peekTask(other.id)).toMatchObject({ state: 'canceled' })
  })

  test('has a copy of each task that a client of one agent starts', async () => {
    const agent = fakeAgent(async (run) => `Rain in ${textOf(await run.requireInput('Which city?'))}`)
    const { tasks, client, done } = await begin(agent, { card: agent.card })
    const asked = await done(client.send('weather'))
    if (asked.type !== 'task') throw new Error('no task')
    await done(client.send('Paris', { taskId: asked.task.id }))
    const read = async (): Promise<unknown> =>
      (await tasks.listTasks()).map(({ state, artifacts }) => [state, artifacts[0]?.parts?.[0]?.text])
    await done(expect.poll(read).toEqual([['completed', 'Rain in Paris']]))
  })
})

function textOfPart({ text = '' }: { readonly text?: string | undefined }): string {
  return text
}

test('a client follows the copies of a process that has died', async () => {
  const [[, open] = []] = STORES
  if (open === undefined) throw new Error('There is no store')
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  const agent = fakeAgent(() => ended.then(() => 'done'))
  const at = await world([agent], open)
  const card = { card: agent.card }
  const [a, b] = [at.process(card), at.process(card)]
  void a.client.run('go')
  await at.until(async () => (await b.tasks.countTasks({ state: 'working' })) === 1)
  a.die()
  end()
  await at.until(async () => (await b.tasks.countTasks({ state: 'completed' })) === 1)
  expect(await messagesTo(agent)).toHaveLength(1)
})
