/** A handler and a client of other processes over one store, after the process of a delegation has died. */
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type Principal } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'
import { begin, cluster, settle } from '../server/durable/support/replicas.js'
import { child, until } from '../server/journal/support/children.js'
import { endless } from './support/executors.js'

const MINUTES = 60_000

test.each([
  ['are left alone', []],
  ['that an earlier build has stored are found, and are left alone', ['delegation']],
])('by a client that delegates tasks, the marks of run.delegate %s', async (_, earlier) => {
  const agent = await child(endless)
  const execute: Execute = async (run) => (await run.delegate('book', agent.client, 'go')).text
  const { all, clock, store } = cluster([execute])
  const managerOf = (): DurableTaskManager => {
    const tasks = new DurableTaskManager({ store, clock, onError: () => undefined })
    onTestFinished(() => tasks.destroy())
    return tasks
  }
  const [dead] = all
  if (dead === undefined) expect.fail()
  const { id } = await begin(dead, 'go')
  await until(async () => (await dead.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
  dead.store.fail()
  for (const kind of earlier) {
    const [mark] = await store.allDocuments('run-delegation', undefined, 10)
    if (mark === undefined) expect.fail()
    await store.deleteDocument(mark)
    await store.putDocument({ key: mark.key, kind, id: 'delegation', value: mark.value }, 0)
  }

  const tasks = managerOf()
  const client = new A2AClient({ taskManager: tasks, clock })
  const other = await child(() => 'Done')
  const { id: done } = await tasks.createTask({ skill: 'other' })
  await client.sendTask(other.url, done)
  await tasks.cancelTask(id)
  for (let minutes = 0; minutes < 12; minutes += 1) {
    clock.advance(MINUTES)
    await settle()
  }
  const next = managerOf()
  createRequestHandler<Principal, DurableTaskManager>({
    ...{ card: { name: 'Next', url: 'https://next.test' }, clock, execute, tasks: next },
  })
  await settle()
  clock.advance(15_001)
  await until(() => agent.tasks.countTasks({ state: 'canceled' }) === 1)
  await until(async () => (await store.allDocuments('run-delegation', undefined, 10)).length === 0)
  expect(await store.allDocuments('delegation', undefined, 10)).toEqual([])
})
