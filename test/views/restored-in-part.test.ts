/** A store that fails while tasks are restored into it. */
import { redrive, saveTasks, restoreTasks, deadLetters } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import type { Execute } from 'a2a-tasks/server'
import type { SavedTask } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { faultyStore, type Faults } from '../support/faulty-store.js'
import { agent, MANAGERS, textsOf, type Agent } from '../server/journal/support/managers.js'
import { until } from '../server/journal/support/children.js'

const WRITES = ['create', 'putDocument', 'acquire']

/** Two tasks: one has done a step and waits for another one, and one has failed and was redriven. */
async function saved(
  done: string[],
): Promise<{ readonly tasks: SavedTask[]; readonly id: string; readonly other: string }> {
  const from = await agent(
    MANAGERS[0]?.[1] ?? expect.fail(),
    worker(done, () => new Promise(() => undefined)),
  )
  const id = await from.say('go')
  const other = await from.say('fail')
  await until(() => done.length === 1)
  await from.reaches(other, 'failed')
  await redrive(from.tasks, other)
  const tasks = JSON.parse(JSON.stringify(await saveTasks(from.tasks))) as SavedTask[]
  return { tasks, id, other }
}

function worker(done: string[], wait: () => unknown): Execute {
  return async (run) => {
    if (run.text === 'fail') throw new Error('No')
    run.artifact({ artifactId: 'log', parts: [{ text: 'A' }] })
    await run.step('one', () => void done.push('one'))
    run.artifact({ artifactId: 'log', parts: [{ text: 'B' }] })
    await wait()
  }
}

/** Restores over a store whose `failing`-th write fails, and all calls after it. Resolves to whether it was reached. */
async function failsAt(
  store: ReturnType<typeof memoryStore>,
  clock: ManualClock,
  tasks: readonly SavedTask[],
  failing: number,
  when: 'before' | 'after',
): Promise<boolean> {
  let writes = 0
  const state = { isBroken: false }
  const fail = (at: 'before' | 'after', name: string): void => {
    if (at === 'before' && WRITES.includes(name)) writes += 1
    if (at === when && writes >= failing) state.isBroken = true
    if (state.isBroken) throw new Error('The store is gone')
  }
  const faults: Faults = { before: (name) => fail('before', name), after: (name) => fail('after', name) }
  const manager = new DurableTaskManager({
    store: faultyStore(store, faults),
    clock,
    onError: () => undefined,
  })
  let isSettled = false
  const settle = (): void => void (isSettled = true)
  const restored = restoreTasks(manager, tasks)
  restored.then(settle, settle)
  await until(() => {
    clock.advance(1_000)
    return isSettled
  })
  if (state.isBroken) await expect(restored).rejects.toThrow()
  void manager.destroy().catch(() => undefined)
  return state.isBroken
}

test.each(['before', 'after'] as const)(
  'tasks that a failure %s any write leaves restored in part are completed when they are restored again',
  async (when) => {
    for (let failing = 1; ; failing += 1) {
      const done: string[] = []
      const { tasks, id, other } = await saved(done)
      const own = new ManualClock()
      own.advance(60_000)
      const store = memoryStore({ now: () => own.now() })
      const isReached = await failsAt(store, own, tasks, failing, when)
      const after: Agent = await agent(
        async (clock) => {
          clock.advance(own.now() - clock.now() + 60_000)
          const manager = new DurableTaskManager({ store, clock })
          await restoreTasks(manager, tasks)
          return manager
        },
        worker(done, () => undefined),
      )
      expect(textsOf(await after.reaches(id, 'completed'))).toEqual(['AB'])
      expect(done).toEqual(['one'])
      const letters = await deadLetters(after.tasks)
      expect(letters.tasks.map((letter) => letter.id)).not.toContain(other)
      expect(after.errors.map(({ error }) => String(error)).filter((text) => text !== 'Error: No')).toEqual(
        [],
      )
      if (!isReached) {
        expect(failing).toBeGreaterThan(5)
        return
      }
    }
  },
)

test('a task with the id of another one is refused, also when that one has not changed', async () => {
  const { tasks } = await saved([])
  const clock = new ManualClock()
  const manager = new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock })
  const [first] = tasks
  if (first === undefined) expect.fail()
  await restoreTasks(manager, [{ ...first, createdAt: '2020-01-01T00:00:00.000Z' }])
  await expect(restoreTasks(manager, [first])).rejects.toThrow(`is taken: ${first.id}`)
})
