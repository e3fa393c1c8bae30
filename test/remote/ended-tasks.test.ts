/** The search for tasks that have ended while no process followed them at their agents. */
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { cancelEnded } from '../../src/remote/ended-tasks.js'
import { POSITION } from '../../src/remote/stored-document.js'
import { GATEWAY_TASK } from '../../src/runtime/document-kinds.js'
import { settle } from '../server/durable/support/replicas.js'

const SECOND = 1_000
const MINUTE = 60_000

interface Options {
  /** Called with the id of the task. */
  readonly cancel?: (taskId: string) => boolean
  /** The id of the document. */
  readonly id?: string
}

/** A search, and a way to make tasks with documents. */
function searching({ cancel = () => true, id = POSITION }: Options = {}) {
  const clock = new ManualClock()
  const store = memoryStore({ now: () => clock.now() })
  const tasks = new DurableTaskManager({ store, clock })
  const asked: string[] = []
  const stop = cancelEnded(tasks, GATEWAY_TASK, clock, ({ key }) => {
    asked.push(key.id)
    return Promise.resolve().then(() => cancel(key.id))
  })
  onTestFinished(async () => {
    stop()
    await tasks.destroy()
  })
  return {
    ...{ clock, tasks, asked, stop },
    addTask: async (taskId: string) => {
      const { createdAt } = await tasks.createTask({ skill: 'any', id: taskId })
      await store.putDocument({ key: { id: taskId, createdAt }, kind: GATEWAY_TASK, id, value: {} }, 0)
    },
    pass: async (ms: number) => {
      for (let left = ms; left > 0; left -= 15 * SECOND) {
        clock.advance(Math.min(left, 15 * SECOND))
        await settle()
      }
    },
    left: async () => {
      const found = await store.allDocuments(GATEWAY_TASK, undefined, 10)
      return found.map(({ key }) => key.id)
    },
  }
}

test('leaves a task alone while it lives', async () => {
  const { addTask, pass, asked, left } = searching()
  await addTask('a')
  await pass(20 * MINUTE)
  expect([asked, await left()]).toEqual([[], ['a']])
})

test('cancels a task that has ended at its agent, and deletes its position', async () => {
  const { tasks, addTask, pass, asked, left } = searching()
  await addTask('a')
  await pass(10 * SECOND)
  await tasks.cancelTask('a')
  // The process that followed the task has 15 s.
  await pass(5 * SECOND)
  expect([asked, await left()]).toEqual([[], ['a']])
  await pass(15 * SECOND)
  expect([asked, await left()]).toEqual([['a'], []])
})

test('asks again until the agent has canceled, for ten minutes', async () => {
  const { tasks, addTask, pass, asked, left } = searching({ cancel: () => false })
  await addTask('a')
  await tasks.cancelTask('a')
  await pass(10 * MINUTE)
  expect([asked.length, await left()]).toEqual([40, ['a']])
  await pass(MINUTE)
  expect([asked.length, await left()]).toEqual([40, []])
})

test('leaves alone what earlier builds stored under the same kind', async () => {
  const { tasks, addTask, pass, asked, left } = searching({ id: 'delegation' })
  await addTask('a')
  await tasks.cancelTask('a')
  await pass(20 * MINUTE)
  expect([asked, await left()]).toEqual([[], ['a']])
})

test('goes on after a task that fails', async () => {
  const cancel = (taskId: string): boolean => {
    if (taskId === 'a') throw new Error('unreadable')
    return true
  }
  const { tasks, addTask, pass, asked, left } = searching({ cancel })
  for (const taskId of ['a', 'b']) {
    await addTask(taskId)
    await tasks.cancelTask(taskId)
  }
  await pass(15 * SECOND)
  expect([asked, await left()]).toEqual([['a', 'b'], ['a']])
  await pass(15 * SECOND)
  expect(asked).toEqual(['a', 'b', 'a'])
})

test('ends with the manager', async () => {
  const { tasks, addTask, pass, asked, clock } = searching({ cancel: () => false })
  await addTask('a')
  await tasks.cancelTask('a')
  await tasks.destroy()
  await pass(MINUTE)
  expect([asked, clock.pending]).toEqual([[], 0])
})

test('ends when it is stopped', async () => {
  const { tasks, addTask, pass, asked, stop } = searching()
  await addTask('a')
  await tasks.cancelTask('a')
  stop()
  await pass(MINUTE)
  expect(asked).toEqual([])
})
