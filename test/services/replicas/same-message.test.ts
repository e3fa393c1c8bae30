/** Messages that two replicas receive at the same moment, over real servers. */
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type Principal } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'
import { skipWithoutPostgres, startPostgres } from '../../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { send, sendForTask } from '../../server/schedule/support.js'
import { authenticate, ORIGIN, textsOf, user, type Reachable } from '../../server/spec/support/agent.js'
import { openStore } from './stores.js'

const ROUNDS = 30

const asking: Execute = async (run) => {
  const { parts } = await run.requireInput('Which?')
  return `${run.text} ${parts[0]?.text ?? ''}`
}

interface Replicas {
  readonly a: Reachable
  readonly b: Reachable
  readonly tasks: DurableTaskManager
  readonly errors: unknown[]
}

async function replicas(name: string, url: string): Promise<Replicas> {
  const errors: unknown[] = []
  const open = async () => {
    const { store, close } = await openStore(name, url)
    const tasks = new DurableTaskManager({ store })
    const handler = createRequestHandler<Principal, DurableTaskManager>({
      card: { name: 'Test', url: ORIGIN },
      ...{ tasks, authenticate, execute: asking },
      onError: (error) => errors.push(error),
    })
    onTestFinished(async () => {
      await handler.close({ graceMs: 1 })
      await tasks.destroy()
      await close()
    })
    return { handler, tasks }
  }
  const [a, b] = [await open(), await open()]
  return { a, b, tasks: a.tasks, errors }
}

async function play(name: string, url: string): Promise<void> {
  const { a, b, tasks, errors } = await replicas(name, url)
  for (let round = 0; round < ROUNDS; round += 1) {
    const message = user(`round ${round}`)
    const begun = await Promise.all([a, b, a, b].map((at) => sendForTask(at, message)))
    const [{ id: taskId } = { id: '' }] = begun
    expect(begun.map(({ id, status }) => [id, status.state])).toEqual(
      Array(4).fill([taskId, 'TASK_STATE_INPUT_REQUIRED']),
    )
    const { error } = await send(b, { ...message, parts: [{ text: 'other' }] })
    expect(error?.message).toContain('message.parts[0].text differs')
    const answer = user('this', { taskId })
    const ended = await Promise.all([a, b, b, a].map((at) => sendForTask(at, answer)))
    expect(ended.map(textsOf)).toEqual(Array(4).fill([`round ${round} this`]))
    const task = await tasks.getTask(taskId)
    expect(task?.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  }
  expect(await tasks.size()).toBe(ROUNDS)
  expect(errors).toEqual([])
}

test('over PostgreSQL are one task, and one answer', { timeout: 120_000 }, async (context) => {
  skipWithoutPostgres(context)
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  await play('postgres', server.url)
})

test('over Redis are one task, and one answer', { timeout: 120_000 }, async (context) => {
  skipWithoutRedis(context)
  const server = await startRedis()
  onTestFinished(() => server.stop())
  await play('redis', server.url)
})
