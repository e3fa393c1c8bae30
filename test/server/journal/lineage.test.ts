/** Lineage and deadlines of the messages that runs, clients and gateways send. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { A2AGateway, a2a } from 'a2a-tasks/gateway'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { begin, pass, replicas, resultOf, settle, stateAt } from '../durable/support/replicas.js'
import { child, until, type Child } from './support/children.js'
import { agent, MANAGERS, textsOf } from './support/managers.js'

/** Beyond the present of the agents, whose clocks are real. */
const DECADE = 315_360_000_000
const LINEAGE = 'https://a2a-tasks.dev/extensions/lineage/v1'

/** The lineage that the agent received with its messages. */
function lineages({ tasks }: Child): unknown[] {
  return tasks
    .listTasks()
    .flatMap(({ messages }) => messages)
    .filter(({ role }) => role === 'user')
    .map(({ metadata, extensions }) => ({ ...(metadata?.[LINEAGE] as object), extensions }))
}

const asked: Execute = async (run) => {
  await run.requireInput('Which seat?')
  return 'Booked'
}

/** The ways in which a run sends a message to an agent. */
const WAYS: readonly (readonly [string, (run: Run, to: Child) => Promise<unknown>])[] = [
  ['run.delegate', (run, to) => run.delegate('book', to.client, 'Lisbon', { onInputRequired: () => '1A' })],
  ['client.run', (run, to) => to.client.run('Lisbon', { lineage: run, onInputRequired: () => '1A' })],
  [
    'client.send',
    async (run, to) => {
      const sent = await to.client.send('Lisbon', { lineage: run })
      if (sent.type === 'task') await to.client.send('1A', { taskId: sent.task.id, lineage: run })
    },
  ],
  [
    'client.stream',
    async (run, to) => {
      for await (const event of to.client.stream('Lisbon', { lineage: run })) {
        if (event.type === 'status' && event.state === 'input-required')
          await to.client.send('1A', { taskId: event.taskId, lineage: run })
      }
    },
  ],
  [
    'client.sendTask',
    async (run, to) => {
      const taskManager = new TaskManager()
      const client = new A2AClient({ taskManager })
      const { id } = taskManager.createTask({ skill: 'book', input: 'Lisbon' })
      await client.sendTask(to.client, id, { lineage: run, onInputRequired: () => '1A' })
    },
  ],
]

describe.each(WAYS)('%s within a run', (name, send) => {
  test('reports the task, the agents and the deadline', async () => {
    const to = await child(asked)
    const { say, reaches, clock } = await agent(
      (clock) => new TaskManager({ clock, taskTimeoutMs: DECADE }),
      async (run) => {
        await send(run, to)
      },
    )
    const at = clock.now() + DECADE
    const id = await say('go')
    await until(() => to.tasks.countTasks({ state: 'completed' }) === 1)
    await reaches(id, 'completed')
    const lineage = {
      ...{ parentTaskId: id, rootTaskId: id, depth: 1, path: [expect.any(String)] },
      ...{ deadline: new Date(at).toISOString(), extensions: [LINEAGE] },
    }
    expect(lineages(to)).toEqual([lineage, lineage])
  })

  test('ends circles and long chains', async () => {
    const to = await child(() => 'Booked')
    const errors: unknown[] = []
    const execute: Execute = async (run) => {
      await send(run, to).catch((error: unknown) => errors.push(error))
    }
    const { handler, clock } = await agent((clock) => new TaskManager({ clock }), execute)
    const client = new A2AClient({
      card: handler.card,
      fetch: (input, init) => handler.fetch(new Request(input, init)),
    })
    const given = { parentTaskId: 'a', rootTaskId: 'a', depth: 1, path: [`${to.url}/`] }
    const { url = '' } = to.client.card.supportedInterfaces[0] ?? {}
    const messages = [
      { ...given, path: [url] },
      { ...given, depth: 8 },
    ]
    for (const lineage of messages)
      await client.send(
        { parts: [{ text: 'go' }], metadata: { [LINEAGE]: lineage } },
        { returnImmediately: true },
      )
    await pass(clock, () => errors.length === 2)
    expect(errors).toMatchObject([{ code: 'UNSUPPORTED_OPERATION' }, { code: 'LIMIT_EXCEEDED' }])
    expect(to.received).toEqual([])
  })
})

describe('a task that is delegated without a run', () => {
  test('is the parent of the task of the agent', async () => {
    const to = await child(() => 'Booked')
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager })
    const { id } = taskManager.createTask({ skill: 'book', input: 'Lisbon' })
    await client.sendTask(to.client, id)
    expect(lineages(to)).toMatchObject([{ parentTaskId: id, rootTaskId: id, depth: 1, path: [] }])
  })
})

describe('a gateway', () => {
  test('hands the lineage on, its own task included', async () => {
    const to = await child(() => 'Booked')
    const own = new A2AGateway({ providers: { a2a: a2a() } })
    own.registry.register({
      id: 'airline',
      provider: 'a2a',
      endpoint: { url: to.url },
      capabilities: ['book'],
    })
    const { say, reaches } = await agent(
      (clock) => new TaskManager({ clock }),
      async (run) => {
        await own.sendTask('airline', 'Lisbon', { lineage: run })
      },
    )
    const id = await say('go')
    await until(() => to.tasks.countTasks({ state: 'completed' }) === 1)
    await reaches(id, 'completed')
    const [task] = own.tasks.listTasks()
    expect(lineages(to)).toMatchObject([
      { parentTaskId: task?.id, rootTaskId: id, depth: 2, path: [expect.any(String)] },
    ])
    await own.close()
  })
})

describe.each(MANAGERS)('the deadline of a run over %s', (_, open) => {
  test('is that of the caller, and ends the task', async () => {
    const seen: unknown[] = []
    const { handler, tasks, clock } = await agent(open, async (run) => {
      seen.push(run.deadline, run.signal)
      run.start()
      await new Promise<void>(() => undefined)
    })
    const client = new A2AClient({
      card: handler.card,
      fetch: (input, init) => handler.fetch(new Request(input, init)),
    })
    const deadline = new Date(clock.now() + 5_000).toISOString()
    const lineage = { parentTaskId: 'a', rootTaskId: 'a', depth: 1, path: ['b'], deadline }
    const sent = await client.send(
      { parts: [{ text: 'go' }], metadata: { [LINEAGE]: lineage } },
      { returnImmediately: true },
    )
    const id = sent.type === 'task' ? sent.task.id : ''
    await until(() => seen.length === 2)
    expect(seen[0]).toBe(Date.parse(deadline))
    clock.advance(4_999)
    await settle()
    expect(await tasks.stateOf(id)).toBe('working')
    clock.advance(1)
    await until(async () => (await tasks.stateOf(id)) === 'failed')
    expect(seen[1]).toMatchObject({ aborted: true, reason: { code: 'TASK_TIMED_OUT' } })
    expect(JSON.stringify((await tasks.getTask(id))?.message)).toContain('Task timed out')
  })

  test('is undefined without one', async () => {
    const { say, reaches } = await agent(open, (run) => String(run.deadline))
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['undefined'])
  })
})

describe('a deadline', () => {
  test('counts in the process that continues the turn, and while the run waits', async () => {
    const { a, b, clock } = replicas(
      async (run) => {
        await run.step('one', () => 1)
        await run.requireInput(String(run.deadline))
      },
      { manager: { taskTimeoutMs: 600_000 } },
    )
    const { id } = await begin(a, 'go')
    await settle()
    expect(await stateAt(b, id)).toBe('input-required')
    const { message } = (await a.tasks.getTask(id)) ?? {}
    expect(JSON.stringify(message)).toContain(String(clock.now() + 600_000))
    expect(await resultOf(a, id)).toEqual([])
  })

  test('of a caller ends the task in another process, after a crash', async () => {
    const deadlines: unknown[] = []
    const { a, b, clock } = replicas(async (run) => {
      deadlines.push(run.deadline)
      await run.step('one', () => 1)
      await new Promise<void>(() => undefined)
    })
    const client = new A2AClient({
      card: a.handler.card,
      fetch: (input, init) => a.handler.fetch(new Request(input, init)),
    })
    const deadline = new Date(clock.now() + 100_000).toISOString()
    const lineage = { parentTaskId: 'a', rootTaskId: 'a', depth: 1, path: ['b'], deadline }
    const sent = await client.send(
      { parts: [{ text: 'go' }], metadata: { [LINEAGE]: lineage } },
      { returnImmediately: true },
    )
    const id = sent.type === 'task' ? sent.task.id : ''
    await settle()
    a.store.fail()
    await pass(clock, async () => (await stateAt(b, id)) === 'failed')
    expect(deadlines).toEqual([Date.parse(deadline), Date.parse(deadline)])
    expect(clock.now()).toBeGreaterThanOrEqual(Date.parse(deadline))
  })
})
