/**
 * What a manager does with the events and the histories of its tasks: columns of the table.
 *
 * @module
 */
import { feed as feedOf, fork as forkTask, deadLetters, redrive as redriveTask } from 'a2a-tasks'
import type { TaskState } from 'a2a-tasks'
import { createRequestHandler, textOf, type AnyTasks, type Execute, type Principal } from 'a2a-tasks/server'
import { expect, onTestFinished } from 'vitest'
import type { Manager, Row } from './rows.js'

/** The events of all tasks in one order: a reader that returns with a cursor misses none. */
export async function feed(row: Row): Promise<void> {
  const refused = await row.open()
  expect(() => feedOf(refused)).toThrow(TypeError)
  const tasks: Manager = await row.open(undefined, { feedSize: 100 })
  const first = feedOf(tasks)
  expect((await first.next()).value).toMatchObject({ type: 'resync' })
  const { id } = await tasks.createTask({ skill: 'test' })
  const begun = await first.next()
  expect(begun.value).toMatchObject({ taskId: id, event: { type: 'created' } })
  await first.return()
  const other = await tasks.createTask({ skill: 'test' })
  await tasks.updateTask(id, { state: 'working' })
  await tasks.updateTask(id, { state: 'completed' })
  const seen: string[] = []
  for await (const entry of feedOf(tasks, { after: begun.value?.cursor })) {
    if (entry.type !== 'event') throw new Error(`There is a ${entry.type}`)
    const { event } = entry
    seen.push(
      `${entry.taskId === other.id ? 'other' : 'task'} ${event.type === 'status' ? event.to : event.type}`,
    )
    if (event.type === 'status' && event.to === 'completed') break
  }
  expect(seen.filter((each) => each.startsWith('task'))).toEqual(['task working', 'task completed'])
  expect(seen).toContain('other created')
}

/** An agent, and a message to it. Returns the task once it has reached a state. */
function agentOver(tasks: Manager, execute: Execute) {
  const card = { name: 'Test', url: 'https://agent.test' }
  const handler = createRequestHandler<Principal, AnyTasks>({
    card,
    tasks,
    execute,
    retry: { attempts: 2, backoff: { initialMs: 1 } },
    onError: () => undefined,
  })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  let messages = 0
  const say = async (text: string, taskId?: string): Promise<string> => {
    const message = { messageId: `m${(messages += 1)}`, role: 'ROLE_USER', parts: [{ text }], taskId }
    const params = { message, configuration: { returnImmediately: true } }
    const answer = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    // The answer to a message of 1.0 that begins or continues a task.
    return (answer as { result: { task: { id: string } } }).result.task.id
  }
  const reaches = async (id: string, state: TaskState): Promise<string> => {
    await expect.poll(() => tasks.stateOf(id)).toBe(state)
    return textOf((await tasks.getTask(id))?.artifacts[0] ?? {})
  }
  return { say, reaches }
}

/** Another answer to a question: a new task continues from there, and the old one stays. */
export async function fork(row: Row): Promise<void> {
  const tasks: Manager = await row.open()
  const steps: string[] = []
  const { say, reaches } = agentOver(tasks, async (run) => {
    await run.step('once', () => void steps.push(run.text))
    return `To ${textOf(await run.requireInput('Where?'))}`
  })
  const id = await say('go')
  await reaches(id, 'input-required')
  await say('Rome', id)
  expect(await reaches(id, 'completed')).toBe('To Rome')
  const forked = await forkTask(tasks, id, { answers: { 'input-required#1': 'Oslo' } })
  expect(await reaches(forked.id, 'completed')).toBe('To Oslo')
  expect(await reaches(id, 'completed')).toBe('To Rome')
  expect(steps).toEqual(['go'])
}

/** A task that has failed continues in a new one: what is done is not done again. */
export async function redrive(row: Row): Promise<void> {
  const tasks: Manager = await row.open()
  const steps: string[] = []
  let isDown = true
  const { say, reaches } = agentOver(tasks, async (run) => {
    await run.step('once', () => void steps.push(run.text))
    return await run.step('call', () => {
      if (isDown) throw new Error('Down')
      return 'Done'
    })
  })
  const id = await say('go')
  await reaches(id, 'failed')
  expect((await deadLetters(tasks)).tasks.map((task) => task.id)).toEqual([id])
  isDown = false
  const redriven = await redriveTask(tasks, id)
  expect(await reaches(redriven.id, 'completed')).toBe('Done')
  expect((await redriveTask(tasks, id)).id).toBe(redriven.id)
  expect((await deadLetters(tasks)).tasks).toEqual([])
  expect(steps).toEqual(['go'])
}

/** A task that has ended is removed with all that was stored of it. */
export async function deletion(row: Row): Promise<void> {
  const tasks: Manager = await row.open(undefined, { feedSize: 100 })
  const { say, reaches } = agentOver(tasks, async (run) => `To ${textOf(await run.requireInput('Where?'))}`)
  const id = await say('go')
  await reaches(id, 'input-required')
  await expect(Promise.resolve().then(() => tasks.deleteTask(id))).rejects.toMatchObject({
    code: 'INVALID_TRANSITION',
  })
  await say('Rome', id)
  await reaches(id, 'completed')
  const entries = feedOf(tasks)
  await entries.next()
  await tasks.deleteTask(id)
  expect((await entries.next()).value).toMatchObject({ type: 'deleted', taskId: id })
  expect(await tasks.getTask(id)).toBeNull()
  expect(await tasks.countTasks({})).toBe(0)
  await expect(Promise.resolve().then(() => tasks.deleteTask(id))).rejects.toMatchObject({
    code: 'TASK_NOT_FOUND',
  })
}

/** A run waits for a signal that any holder of the manager sends. */
export async function signal(row: Row): Promise<void> {
  const tasks: Manager = await row.open()
  const { say, reaches } = agentOver(
    tasks,
    async (run) => `Approved by ${await run.waitFor<string>('approval')}`,
  )
  const id = await say('go')
  await reaches(id, 'working')
  await tasks.signal(id, 'approval', 'Ada')
  expect(await reaches(id, 'completed')).toBe('Approved by Ada')
}
