/** Webhooks that receive whole tasks: what that may cost. */
import type { TaskManager } from 'a2a-tasks'
import { setImmediate as turn } from 'node:timers/promises'
import { v0_3, v1, type Dialect } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { gate } from '../interop/support/agent.js'
import { endOf, pushAgent, receiver, until, type PushAgent } from './support/push.js'

interface LegacyTask {
  readonly status: { readonly state: string }
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[]
}

type Plain = PushAgent<{ id: string }>

const LEGACY = { version: '0.3' }

function register({ call }: Plain, taskId: string, url: string, id: string, who?: string): Promise<unknown> {
  const context = who === undefined ? LEGACY : { ...LEGACY, principal: { id: who } }
  const params = { taskId, pushNotificationConfig: { id, url } }
  return call('tasks/pushNotificationConfig/set', params, context)
}

async function stateOf({ handler }: Plain, taskId: string): Promise<string | undefined> {
  return (await handler.push.health(taskId))[0]?.state
}

function append(tasks: TaskManager, id: string, text: string): void {
  tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text }] })
}

function textOf(body: RequestInit['body']): string {
  if (typeof body !== 'string') throw new TypeError('The body is no text')
  return body
}

/** How many times each text was made. */
function counting(): { readonly dialects: readonly Dialect[]; readonly made: number[] } {
  const made: number[] = []
  const legacy = v0_3()
  const encodeTaskNotification: Dialect['encodeTaskNotification'] = (task) => {
    made.push(task.generation)
    return legacy.encodeTaskNotification?.(task) ?? {}
  }
  return { dialects: [v1(), { ...legacy, encodeTaskNotification }], made }
}

describe('a webhook that receives whole tasks', () => {
  test('receives the artifacts that came while it was busy at once, and every change of state', async () => {
    const held = gate()
    const hook = await receiver((response) => {
      void held.opened.then(() => response.writeHead(204).end())
    })
    const agent: Plain = pushAgent()
    const { task, tasks } = agent
    const id = task()
    await register(agent, id, hook.url, 'one')
    await hook.arrived(1)
    tasks.updateTask(id, { state: 'working' })
    for (const text of ['1', '2', '3']) append(tasks, id, text)
    tasks.addMessage(id, { role: 'agent', parts: [{ text: 'no event of A2A' }] })
    append(tasks, id, '4')
    tasks.updateTask(id, { state: 'input-required' })
    tasks.updateTask(id, { state: 'working' })
    append(tasks, id, '5')
    tasks.addMessage(id, { role: 'agent', parts: [{ text: 'no event either' }] })
    tasks.updateTask(id, { state: 'completed' })
    held.open()
    await until(async () => (await stateOf(agent, id)) === 'done')
    const received = hook.received.map(({ body, headers }) => {
      const { status, artifacts = [] } = body as unknown as LegacyTask
      const generation = Number(String(headers['x-a2a-notification-id']).split('/').at(-1))
      return [generation, status.state, artifacts[0]?.parts[0]?.text.length ?? 0]
    })
    expect(received).toEqual([
      ...[
        [1, 'submitted', 0],
        [2, 'working', 0],
        [7, 'working', 4],
      ],
      ...[
        [8, 'input-required', 4],
        [9, 'working', 4],
        [11, 'working', 5],
        [12, 'completed', 5],
      ],
    ])
  })

  test('receives an artifact that only messages follow, even when the agent closes', async () => {
    const hook = await receiver()
    const agent: Plain = pushAgent()
    const { task, tasks, clock, handler } = agent
    const id = task()
    await register(agent, id, hook.url, 'one')
    await until(async () => (await stateOf(agent, id)) === 'idle')
    append(tasks, id, '1')
    tasks.addMessage(id, { role: 'agent', parts: [{ text: 'no event of A2A' }] })
    await until(async () => hook.accepted.length === 2 && (await stateOf(agent, id)) === 'idle')
    append(tasks, id, '2')
    const start = clock.now()
    await endOf(handler.close({ graceMs: 60_000 }), clock)
    expect(clock.now() - start).toBeLessThan(60_000)
    expect(hook.accepted).toHaveLength(3)
    expect(agent.errors).toEqual([])
  })

  test('is sent what the others are sent: a text is made once', async () => {
    const held = gate()
    const sent: string[] = []
    const { dialects, made } = counting()
    const agent: Plain = pushAgent({
      dialects,
      push: {
        fetch: async (url, { body }) => {
          sent.push(`${url} ${textOf(body)}`)
          await held.opened
          return new Response(null, { status: 204 })
        },
      },
    })
    const { task, tasks } = agent
    const id = task()
    const other = task()
    for (const name of ['a', 'b', 'c']) await register(agent, id, `http://127.0.0.1:9999/${name}`, name)
    await register(agent, other, 'http://127.0.0.1:9999/other', 'd')
    await until(() => sent.length === 4)
    held.open()
    await until(async () => (await agent.handler.push.health()).every(({ state }) => state === 'idle'))
    // Once for each of two tasks, which are not taken for each other.
    expect(made).toEqual([1, 1])
    expect(new Set(sent.map((text) => text.split(' ').slice(1).join(' '))).size).toBe(2)
    tasks.updateTask(id, { state: 'working' })
    await until(() => sent.length === 7)
    expect(made).toEqual([1, 1, 2])
  })

  test('leaves the agent as much time as its task is long, and holds up no other owner', async () => {
    const sent: string[] = []
    const { dialects, made } = counting()
    const agent: Plain = pushAgent({
      dialects,
      push: {
        fetch: (_, { body }) => {
          sent.push(textOf(body))
          return Promise.resolve(new Response(null, { status: 204 }))
        },
      },
    })
    const { clock, tasks } = agent
    const long = tasks.createTask({ skill: 'test', owner: 'eve' }).id
    const short = tasks.createTask({ skill: 'test', owner: 'bob' }).id
    append(tasks, long, 'x'.repeat(1_000_000))
    await register(agent, long, 'http://127.0.0.1:9999/long', 'one', 'eve')
    await until(async () => (await stateOf(agent, long)) === 'idle' && clock.pending > 0)
    expect(made).toEqual([2])
    append(tasks, long, '1')
    await until(async () => (await stateOf(agent, long)) === 'delivering')
    await register(agent, short, 'http://127.0.0.1:9999/short', 'two', 'bob')
    await until(async () => (await stateOf(agent, short)) === 'idle')
    append(tasks, long, '2')
    expect(made).toEqual([2, 1])
    clock.advance(1_000)
    await until(async () => (await stateOf(agent, long)) === 'idle')
    // Changes during the pause are delivered at once.
    expect(made).toEqual([2, 1, 4])
    expect(sent).toHaveLength(3)
  })

  test('is sent no more bytes per minute than the budget, however often its client changes the state', async () => {
    const sent: string[] = []
    const fetch = (_: string, { body }: RequestInit): Promise<Response> => {
      sent.push(textOf(body))
      return Promise.resolve(new Response(null, { status: 204 }))
    }
    const agent: Plain = pushAgent({ push: { fetch, maxFirstBytesPerTask: 100_000 } })
    const { clock, tasks, task } = agent
    const id = task()
    append(tasks, id, 'x'.repeat(60_000))
    await register(agent, id, 'http://127.0.0.1:9999/', 'one')
    for (let turns = 0; turns < 10; turns += 1) {
      tasks.updateTask(id, { state: 'working' })
      tasks.updateTask(id, { state: 'input-required' })
    }
    tasks.updateTask(id, { state: 'canceled' })
    const begin = clock.now()
    const sentAt: number[] = []
    while ((await stateOf(agent, id)) !== 'done') {
      clock.advance(1_000)
      for (let turns = 0; turns < 20; turns += 1) await turn()
      while (sentAt.length < sent.length) sentAt.push((clock.now() - begin) / 1_000)
    }
    // All 22 arrive, each of 60 kB. There is room for two in the first minute, and 36 seconds refill it for one more.
    expect(sentAt).toHaveLength(22)
    expect(sentAt.filter((seconds) => seconds < 12)).toHaveLength(2)
    expect(sentAt.at(-1)).toBeGreaterThan(600)
    expect((JSON.parse(sent.at(-1) ?? '') as LegacyTask).status.state).toBe('canceled')
  })

  test('that is deleted while it waits leaves no timer behind, and nothing is sent', async () => {
    const { dialects, made } = counting()
    const fetch = (): Promise<Response> => Promise.resolve(new Response(null, { status: 204 }))
    const agent: Plain = pushAgent({ dialects, push: { fetch } })
    const { clock, tasks, task, call, handler } = agent
    const id = task()
    append(tasks, id, 'x'.repeat(1_000_000))
    await register(agent, id, 'http://127.0.0.1:9999/', 'one')
    await until(async () => (await stateOf(agent, id)) === 'idle' && clock.pending > 0)
    append(tasks, id, '1')
    await until(async () => (await stateOf(agent, id)) === 'delivering')
    await call('tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'one' }, LEGACY)
    await handler.close({ graceMs: 0 })
    expect(clock.pending).toBe(0)
    expect(made).toEqual([2])
  })
})
