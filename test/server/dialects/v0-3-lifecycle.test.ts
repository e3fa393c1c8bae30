/** The task lifecycle document in requests of A2A 0.3. */
import { randomUUID } from 'node:crypto'
import type { JsonObject } from 'a2a-tasks/schemas'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { thrown, walk } from '../../support/manager.js'
import { agent, gate, type TestAgent } from '../spec/support/agent.js'
import { fetched, result } from './support/dialects.js'

interface OldTask {
  id: string
  contextId: string
  status: { state: string; message?: { parts: unknown } }
  artifacts?: { artifactId: string; name?: string; parts: unknown }[]
}

/** What `message/send` answers to a message as the document has it, with the id that 0.3 requires. */
async function sent(a: TestAgent, text: string, more: JsonObject = {}): Promise<OldTask> {
  const message = { messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...more }
  return (await result(a, 'message/send', { message })) as unknown as OldTask
}

test.each([
  ['input-required', (run: Run) => run.requireInput('Which one?')],
  ['auth-required', (run: Run) => run.requireAuth('Log in')],
] as const)('a task that is %s continues with a message for it', async (state, ask) => {
  const a = agent(async (run) => {
    const answer = await ask(run)
    return `You said: ${String(answer.parts[0]?.text)}`
  })
  const asked = await sent(a, 'go')
  expect(asked.status.state).toBe(state)
  const { id: taskId, contextId } = asked
  const done = await sent(a, "Here's the information you requested", { taskId, contextId })
  expect(done).toMatchObject({
    id: taskId,
    contextId,
    status: { state: 'completed' },
    artifacts: [{ parts: [{ kind: 'text', text: "You said: Here's the information you requested" }] }],
  })
})

test.each([
  ['0.3', '/v1/tasks', 'cancelled'],
  ['0.3', '/v1/tasks', 'canceled'],
  ['0.3', '/v1/tasks', 'TASK_STATE_CANCELLED'],
  ['0.3', '/v1/tasks', 'TASK_STATE_CANCELED'],
  ['1.0', '/tasks', 'TASK_STATE_CANCELLED'],
])('tasks of %s are listed at %s by the state %s', async (version, path, status) => {
  const a = agent(() => 'done')
  const { id, contextId } = a.tasks.createTask({ skill: 'test' })
  const ids = async (): Promise<unknown[]> => {
    const init = { headers: { 'A2A-Version': version, accept: 'application/json' } }
    const listed = await fetched(a, `${path}?contextId=${contextId}&status=${status}`, init)
    expect(listed.status).toBe(200)
    const { tasks = listed.body } = listed.body as { tasks?: unknown }
    return (tasks as { id: string }[]).map((task) => task.id)
  }
  expect(await ids()).toEqual([])
  a.tasks.cancelTask(id)
  expect(await ids()).toEqual([id])
})

test('a follow-up to an ended task is a new task in its context, with a reference to it', async () => {
  const a = agent((run) => {
    const known = run.referenceTasks.map(({ id, artifacts }) => `${id} ${String(artifacts[0]?.name)}`)
    run.artifact({ name: 'logo.svg', parts: [{ text: known.join() || 'first' }] })
  })
  const first = await sent(a, 'A logo')
  const before = a.tasks.getTask(first.id)
  const second = await sent(a, 'Make the logo bigger', {
    contextId: first.contextId,
    referenceTaskIds: [first.id],
  })
  expect(second.id).not.toBe(first.id)
  expect(second).toMatchObject({
    contextId: first.contextId,
    artifacts: [{ name: 'logo.svg', parts: [{ text: `${first.id} logo.svg` }] }],
  })
  expect(second.artifacts?.[0]?.artifactId).not.toBe(first.artifacts?.[0]?.artifactId)
  expect(a.tasks.getTask(first.id)).toEqual(before)
})

test('tasks of one context are worked on at the same time', async () => {
  const begun = [gate(), gate()] as const
  const go = gate()
  const a = agent(async (run) => {
    run.start()
    begun[run.text === 'Book a hotel' ? 0 : 1].open()
    await go.opened
    return `Done: ${run.text}`
  })
  const contextId = 'ctx-travel-planning'
  const answers = [sent(a, 'Book a hotel', { contextId }), sent(a, 'Book activities', { contextId })]
  await Promise.all(begun.map(({ opened }) => opened))
  expect(a.tasks.listTasks({ contextId, state: 'working' })).toHaveLength(2)
  go.open()
  const [hotel, activities] = await Promise.all(answers)
  expect([hotel?.status.state, activities?.status.state]).toEqual(['completed', 'completed'])
  expect(hotel?.id).not.toBe(activities?.id)
})

test('a task that fails says why, and keeps its artifacts; a client that tries again makes another task', async () => {
  let tries = 0
  const a = agent((run) => {
    run.artifact(`Page ${(tries += 1)}`)
    if (tries === 1) run.fail('Out of paper')
  })
  const failed = await sent(a, 'Print')
  expect(failed).toMatchObject({
    status: { state: 'failed', message: { role: 'agent', parts: [{ kind: 'text', text: 'Out of paper' }] } },
    artifacts: [{ parts: [{ text: 'Page 1' }] }],
  })
  const again = await sent(a, 'Print', { contextId: failed.contextId })
  expect(again).toMatchObject({ contextId: failed.contextId, status: { state: 'completed' } })
  expect(again.id).not.toBe(failed.id)
  expect(a.tasks.getTask(failed.id)?.state).toBe('failed')
})

describe('a task may be', () => {
  test.each([[[]], [['working']], [['working', 'input-required']], [['working', 'auth-required']]] as const)(
    'rejected, failed or canceled after %j, and then it is immutable',
    (path) => {
      for (const end of ['rejected', 'failed', 'canceled'] as const) {
        const { tasks } = agent(() => undefined)
        const { id } = tasks.createTask({ skill: 'test' })
        walk(tasks, id, ...path, end)
        const ended = tasks.getTask(id)
        expect(ended?.state).toBe(end)
        for (const change of [
          () => tasks.updateTask(id, { state: 'working' }),
          () => tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'late' }] }),
        ]) {
          expect(thrown(change)).toMatchObject({ code: 'TASK_TERMINAL' })
        }
        expect(tasks.getTask(id)).toEqual(ended)
      }
    },
  )

  test('canceled by its agent, which says why', async () => {
    const a = agent((run) => {
      a.tasks.cancelTask(run.task.id, { message: 'Superseded' })
    })
    expect(await sent(a, 'go')).toMatchObject({
      status: { state: 'canceled', message: { parts: [{ kind: 'text', text: 'Superseded' }] } },
    })
  })
})
