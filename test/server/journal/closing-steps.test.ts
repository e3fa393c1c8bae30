/** Steps that are under way, or have just ended, when the agent closes without patience. */

import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, textsOf, type Open } from './support/managers.js'
import { until } from './support/children.js'
import {
  begin,
  cluster,
  pass,
  resultOf,
  settle,
  stateAt,
  textOf,
  type Replica,
} from '../durable/support/replicas.js'
import { faultyStore, gate, type Faults } from '../../support/faulty-store.js'

describe('close({ graceMs: 0 })', () => {
  test('stores the steps whose work has resolved, and leaves the others to the next process', async () => {
    const faults: Faults = {}
    const store = memoryStore({ now: () => now() })
    let now = (): number => 0
    const slow = gate()
    const open: Open = (clock) => {
      now = () => clock.now()
      return new DurableTaskManager({ store: faultyStore(store, faults), clock })
    }
    const done: string[] = []
    const finish = gate()
    const before = await agent(open, async (run) => {
      await Promise.all([
        run.step('resolved', async () => {
          await finish.opened
          done.push('resolved')
          return 1
        }),
        run.step('under way', () => {
          done.push('under way')
          return new Promise<number>(() => undefined)
        }),
      ])
    })
    const id = await before.say('go')
    await until(() => done.includes('under way'))
    // The output of the step is not stored yet when the agent closes.
    faults.before = (name) => (name === 'commit' ? slow.opened : undefined)
    finish.open()
    await until(() => done.includes('resolved'))
    let isClosed = false
    void before.handler.close({ graceMs: 0 }).then(() => (isClosed = true))
    slow.open()
    faults.before = undefined
    await until(() => {
      before.clock.advance(100)
      return isClosed
    })
    await before.tasks.destroy()
    const after = await agent(open, async (run) => {
      const outputs = await Promise.all([
        run.step('resolved', () => void done.push('resolved again')),
        run.step('under way', () => void done.push('under way again')),
      ])
      return outputs.length.toString()
    })
    expect(textsOf(await after.reaches(id, 'completed'))).toEqual(['2'])
    expect(done).toEqual(['under way', 'resolved', 'under way again'])
  })
})

test.each([
  ['value', (run: Run) => run.now()],
  ['change', (run: Run) => run.changed('new')],
])(
  'code that catches how its step is cut off records no %s: the next process does the step',
  async (_, next) => {
    const executeAs =
      (process: string): Execute =>
      async (run) => {
        const slow = async (): Promise<string> => {
          const work = (): Promise<string> =>
            process === 'a' ? new Promise(() => undefined) : Promise.resolve('done')
          const output = await run.step('slow', work).catch(() => 'cut off')
          next(run)
          return output
        }
        // Where it is cut off, the code takes longer to end than the other branch.
        const asked = run.requireInput('Which city?').then(textOf, () => new Promise<never>(() => undefined))
        const [output, answer] = await Promise.all([slow(), asked])
        return `${output} ${answer}`
      }
    const { all, clock } = cluster(['a', 'b'].map(executeAs))
    const [a, b] = all as [Replica, Replica]
    const { id } = await begin(a, 'go')
    await settle()
    const closed = a.handler.close({ graceMs: 1_000 })
    await settle()
    clock.advance(1_000)
    await closed
    await a.tasks.destroy()
    await begin(b, 'Lisbon', id)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['done Lisbon'])
  },
)
