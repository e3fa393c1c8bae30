/** What conversations and turns without end cost, in calls of the store and events. */
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { textOf } from 'a2a-tasks/server'
import type { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { openForTest } from '../../stores/sqlite/support/sqlite.js'
import { countedSince, countedStore, type Counts } from './support/counted-store.js'
import { agent, textsOf, type Open } from './support/managers.js'

type OpenStore = (clock: ManualClock) => TaskStore | Promise<TaskStore>

const STORES: readonly (readonly [string, OpenStore])[] = [
  ['memoryStore', (clock) => memoryStore({ now: () => clock.now() })],
  ['SQLite', () => openForTest()],
]

function counting(open: OpenStore, counts: Counts): Open {
  return async (clock) => new DurableTaskManager({ store: countedStore(await open(clock), counts), clock })
}

describe.each(STORES)('over %s', (_, open) => {
  test('a round of run.continueAs costs the same however long the log is', async () => {
    const counts: Counts = new Map()
    const costs: Record<string, number>[] = []
    let before: Counts = new Map()
    const { say, reaches, tasks, errors } = await agent(counting(open, counts), async (run) => {
      const round = Number(run.text)
      await run.step('s', () => round)
      for (let chunk = 1; chunk <= 5; chunk += 1) run.artifact({ artifactId: 'log', parts: [{ text: '.' }] })
      costs.push(countedSince(counts, before))
      before = new Map(counts)
      return round < 250 ? await run.continueAs(`${round + 1}`) : 'done'
    })
    const id = await say('1')
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['.'.repeat(1_250), 'done'])
    expect((await tasks.events(id)).length).toBeGreaterThan(1_750)
    const [, , third, ...others] = costs
    // The first rounds share what the creation of the task stores.
    expect(third).toMatchObject({ stored: 7 })
    for (const cost of others) expect(cost).toEqual(third)
    expect(errors).toEqual([])
  })

  test('a conversation of n answers costs n times as much', async () => {
    const converse = async (answers: number): Promise<Record<string, number>> => {
      const counts: Counts = new Map()
      const { say, reaches, tasks } = await agent(counting(open, counts), async (run) => {
        const said: string[] = []
        for (let count = 1; count <= answers; count += 1) {
          run.artifact({ artifactId: 'log', parts: [{ text: `${count} ` }] })
          said.push(textOf(await run.requireInput(`Question ${count}`)))
        }
        return said.join()
      })
      const id = await say('go')
      for (let count = 1; count <= answers; count += 1) {
        await reaches(id, 'input-required')
        await say(`${count}`, id)
      }
      const numbers = Array.from({ length: answers }, (__, index) => index + 1)
      expect(textsOf(await reaches(id, 'completed'))).toEqual([
        numbers.map((number) => `${number} `).join(''),
        numbers.join(),
      ])
      return { ...countedSince(counts, new Map()), log: (await tasks.events(id)).length }
    }
    const [five, ten, twenty] = [await converse(5), await converse(10), await converse(20)]
    for (const [name, count] of Object.entries(ten)) {
      const perFive = count - (five[name] ?? 0)
      expect([name, twenty[name]]).toEqual([name, count + 2 * perFive])
    }
  })
})
