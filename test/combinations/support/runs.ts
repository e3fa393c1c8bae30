/**
 * What a run can do, and what a handler does with the messages of one user: columns of the table.
 *
 * @module
 */
import { TaskState } from '@a2a-js/sdk'
import type { AgentExecutor } from '@a2a-js/sdk/server'
import { A2AClient, type RunResult } from 'a2a-tasks/client'
import { fromAgentExecutor } from 'a2a-tasks/migrate'
import {
  createRequestHandler,
  textOf,
  type AnyTasks,
  type Execute,
  type Principal,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, onTestFinished } from 'vitest'
import { Publisher } from '../../migrate/support/modern-executors.js'
import { endless, gate } from './executors.js'
import type { Manager, Row } from './rows.js'

const ANN = { id: 'ann' }

/** A client of Ann for an agent over the manager. */
function annsClient(
  tasks: Manager,
  execute: Execute,
  options: Partial<RequestHandlerOptions<Principal, AnyTasks>> = {},
): A2AClient {
  const handler = createRequestHandler<Principal, AnyTasks>({
    card: { name: 'Test', url: 'https://parts.test' },
    authenticate: () => ANN,
    ...{ tasks, execute, ...options },
  })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  const fetch = (url: string, init?: RequestInit): Promise<Response> => handler.fetch(new Request(url, init))
  return new A2AClient({ card: handler.card, fetch, retry: { attempts: 1 } })
}

const outcome = ({ type, text }: RunResult): string => `${type}: ${text}`

/** The steps before a question are not done again when its answer continues the turn, nor is a sleep. */
export async function steps(row: Row): Promise<void> {
  const done: string[] = []
  const client = annsClient(await row.open(), async (run) => {
    const price = await run.step('price', () => done.push('price'))
    await run.sleep('soon', { ms: 1 })
    const city = textOf(await run.requireInput('Where?'))
    return `${city} for ${await run.step('pay', () => price + done.push('pay'))}`
  })
  const result = await client.run('go', { onInputRequired: () => 'Rome' })
  expect([outcome(result), done]).toEqual(['completed: Rome for 3', ['price', 'pay']])
}

/** The result of another agent, whose question becomes one to the user, and which ends with this task. */
export async function delegate(row: Row): Promise<void> {
  const began = gate()
  const other = fakeAgent(async (run) => {
    if (run.text === 'ask') return `To ${textOf(await run.requireInput('Where?'))}`
    run.start()
    began.open()
    return await endless(run)
  })
  onTestFinished(() => other.close())
  const booker = new A2AClient({ card: other.card, fetch: other.fetch })
  const tasks: Manager = await row.open()
  const client = annsClient(tasks, async (run) => {
    const { text } = await run.delegate('book', booker, run.text)
    return `Booked: ${text}`
  })
  const result = await client.run('ask', { onInputRequired: () => 'Rome' })
  expect(outcome(result)).toBe('completed: Booked: To Rome')
  const stop = new AbortController()
  const canceled = client.run('wait', { signal: stop.signal })
  await began.opened
  stop.abort()
  expect((await canceled).type).toBe('canceled')
  await expect.poll(() => other.tasks.listTasks({ state: 'canceled' }).length).toBe(1)
}

/** The earlier messages and results of a conversation. */
export async function history(row: Row): Promise<void> {
  const client = annsClient(await row.open(), async (run) => {
    const { entries } = await run.conversation()
    return `Received ${entries.map(({ text }) => text).join(', ')}`
  })
  const contextId = 'conversation'
  const results = [await client.run('one', { contextId }), await client.run('two', { contextId })]
  expect(results.map(outcome)).toEqual(['completed: Received ', 'completed: Received one, Received '])
}

/** One message that is sent twice is one task, and with another content it is refused. */
export async function repeated(row: Row): Promise<void> {
  let runs = 0
  const tasks: Manager = await row.open()
  const client = annsClient(tasks, (run) => `${(runs += 1)} ${run.text}`)
  const message = { messageId: 'm1', parts: [{ text: 'hello' }] }
  const [one, two] = await Promise.all([client.send(message), client.send(message)])
  expect(one).toMatchObject({ type: 'task', task: { state: 'completed' } })
  expect(two).toEqual(one)
  await expect(client.send({ ...message, parts: [{ text: 'other' }] })).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
    data: { path: 'message.parts[0].text' },
  })
  expect([runs, await tasks.size()]).toEqual([1, 1])
}

/** A user has a number of tasks that have not ended. */
export async function ownerLimits(row: Row): Promise<void> {
  const limits = { maxTasksPerOwner: 1 }
  const ask: Execute = async (run) => textOf(await run.requireInput('What?'))
  const client = annsClient(await row.open(), ask, { limits })
  const waiting = await client.run('ask')
  expect(waiting.type).toBe('input-required')
  expect(await client.run('ask')).toMatchObject({ type: 'error', error: { code: 'RATE_LIMITED' } })
  const answer = { parts: [{ text: 'this' }], taskId: waiting.task?.id }
  expect(outcome(await client.run(answer))).toBe('completed: this')
  expect((await client.run('ask')).type).toBe('input-required')
}

/** An executor of the official SDK. */
export async function migrated(row: Row): Promise<void> {
  const executor: AgentExecutor = {
    execute(context, bus) {
      const publish = new Publisher(context, bus)
      publish.task()
      publish.artifact('Done')
      publish.status(TaskState.TASK_STATE_COMPLETED)
      return Promise.resolve()
    },
    cancelTask: () => Promise.resolve(),
  }
  const client = annsClient(await row.open(), fromAgentExecutor(executor))
  expect(outcome(await client.run('go'))).toBe('completed: Done')
}
