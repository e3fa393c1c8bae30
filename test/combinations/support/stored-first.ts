/** Over every store, a task is stored before its code runs, and a reply leaves none behind. */
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { expect, onTestFinished } from 'vitest'
import type { Row } from './rows.js'
import { faultyStore, type StepName } from '../../support/faulty-store.js'

const WRITES: readonly StepName[] = ['create', 'commit', 'delete', 'acquire', 'release', 'putDocument']

/** An agent over the store of the row, of which every write fails while `isDown` returns `true`. */
async function agentOver(row: Row, execute: Execute, isDown: () => boolean = () => false) {
  if (row.openStore === undefined) throw new Error(`${row.name} has no store`)
  const store = faultyStore(await row.openStore(), {
    before(step) {
      if (isDown() && WRITES.includes(step)) throw new Error('The database is down')
    },
  })
  const tasks = new DurableTaskManager({ store, storeRetryMs: 1, onError: () => undefined })
  onTestFinished(() => tasks.destroy())
  const handler = createRequestHandler<never, DurableTaskManager>({
    card: { name: 'Test', url: 'https://agent.test' },
    onError: () => undefined,
    execute,
    tasks,
  })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  const send = (text: string, method = 'message:send'): Promise<Response> =>
    handler.fetch(
      new Request(`https://agent.test/${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: { messageId: text, role: 'ROLE_USER', parts: [{ text }] } }),
      }),
    )
  return { tasks, store, send }
}

async function refusesBeforeWork(row: Row): Promise<void> {
  let isDown = true
  const runs: string[] = []
  const { tasks, send } = await agentOver(
    row,
    (run) => {
      runs.push(run.text)
      return 'done'
    },
    () => isDown,
  )
  for (const method of ['message:send', 'message:stream']) {
    const { status, headers } = await send(method, method)
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
  }
  expect(runs).toEqual([])
  isDown = false
  expect(await tasks.size()).toBe(0)
  expect(await (await send('again')).text()).toContain('TASK_STATE_COMPLETED')
  expect(runs).toEqual(['again'])
}

async function repliesWithoutTask(row: Row): Promise<void> {
  const seen: number[] = []
  const { tasks, store, send } = await agentOver(row, async (run) => {
    const answer = async (): Promise<string> => {
      seen.push(await tasks.size())
      return 'hello'
    }
    await run.reply(answer())
  })
  expect(await (await send('hi')).json()).toMatchObject({ message: { parts: [{ text: 'hello' }] } })
  expect(seen).toEqual([1])
  expect(await tasks.size()).toBe(0)
  expect(await tasks.listTasks()).toEqual([])
  expect(await store.orphans(10)).toEqual([])
}

export const STORE_RULES: readonly (readonly [rule: string, test: (row: Row) => Promise<void>])[] = [
  ['a message is refused before any work when the store is down', refusesBeforeWork],
  ['a reply leaves no task behind', repliesWithoutTask],
]
