/** Outputs of steps and values of signals that JSON does not have: a replay returns what the work returned. */
import { A2AError, fork, restoreTasks, saveTasks, TaskManager } from 'a2a-tasks'
import type { JournalEntry } from 'a2a-tasks'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS } from './support/managers.js'

const values = (): Record<string, unknown> => ({
  at: new Date(1e12),
  none: undefined,
  list: [undefined, -0, NaN, 2n ** 70n],
  bytes: new Uint8Array([1, 2, 255]),
  map: new Map([[{ id: 1 }, new Set(['a'])]]),
  fault: new TypeError('No', { cause: new Error('why') }),
  url: new URL('https://example.com/?a=b'),
  tag: { $Date: 'a name of the program' },
})

/** Reads twice: in the first attempt live, then from the journal. */
function twice(read: unknown[], code: (run: Run) => Promise<unknown>): Execute {
  return async (run) => {
    read.push(await code(run))
    if (run.attempt === 1) throw new Error('Not yet')
  }
}
const retry = { backoff: { initialMs: 1 } }

describe.each(MANAGERS)('over %s', (_, open) => {
  test('a step returns the same live and in a replay', async () => {
    const read: unknown[] = []
    const execute = twice(read, (run) => run.step('values', values))
    const { say, reaches } = await agent(open, execute, { retry })
    await reaches(await say('go'), 'completed')
    expect(read).toStrictEqual([values(), values()])
    expect(read[0]).not.toBe(read[1])
  })

  test.each(['top', new Date(0), new Map([[1, 2n]]), [undefined], { $Map: 'no map' }, null, undefined])(
    'a step returns %o',
    async (value) => {
      const read: unknown[] = []
      const execute = twice(read, (run) => run.step('value', (): unknown => value))
      const { say, reaches } = await agent(open, execute, { retry })
      await reaches(await say('go'), 'completed')
      expect(read).toStrictEqual([value, value])
    },
  )
})

describe('in a journal', () => {
  const steps = (tasks: TaskManager, id: string): JournalEntry[] =>
    tasks.journal(id).flatMap(({ entry }) => (entry.kind === 'step' ? [entry] : []))

  async function ran(execute: Execute) {
    let tasks = new TaskManager()
    const { say, reaches } = await agent((clock) => (tasks = new TaskManager({ clock })), execute)
    const id = await say('go')
    return { tasks, id, reaches }
  }

  test('plain JSON has no mark, also where it looks like a tag', async () => {
    const { tasks, id, reaches } = await ran(async (run) => {
      await run.step('plain', () => ({ $Date: 'today', $: [{ $Map: 1 }] }))
      await run.step('tagged', () => ({ at: new Date(0) }))
    })
    await reaches(id, 'completed')
    expect(steps(tasks, id)).toMatchObject([
      { output: { $Date: 'today', $: [{ $Map: 1 }] } },
      { output: { at: { $Date: '1970-01-01T00:00:00.000Z' } }, tagged: true },
    ])
    expect(steps(tasks, id)[0]).not.toHaveProperty('tagged')
  })

  test('a fork replaces an output by any value', async () => {
    const read: unknown[] = []
    const { tasks, id, reaches } = await ran(async (run) => {
      read.push(await run.step('at', () => new Date(0)))
      await run.requireInput('Sure?')
    })
    await reaches(id, 'input-required')
    const { id: forked } = await fork(tasks, id, { steps: { 'at#1': new Map([['a', 1n]]) } })
    expect(steps(tasks, forked)).toMatchObject([
      { output: { $Map: [['a', { $BigInt: '1' }]] }, tagged: true },
    ])
    expect(read).toEqual([new Date(0)])
  })

  test('a saved journal keeps them, and refuses tags that it cannot read', async () => {
    const { tasks, id, reaches } = await ran(async (run) => {
      await run.step('at', () => new Date(0))
      await run.requireInput('Sure?')
    })
    await reaches(id, 'input-required')
    tasks.signal(id, 'note', { at: new Date(1) })
    const saved = JSON.stringify(saveTasks(tasks))
    const other = new TaskManager()
    restoreTasks(other, JSON.parse(saved) as never)
    expect(steps(other, id)).toEqual(steps(tasks, id))
    expect(other.getTask(id)?.signals).toEqual([
      { name: 'note', value: { at: { $Date: '1970-01-01T00:00:00.001Z' } }, tagged: true },
    ])
    for (const [from, to] of [
      ['{"$Date":"1970-01-01T00:00:00.000Z"}', '{"$Date":"never"}'],
      ['{"$Date":"1970-01-01T00:00:00.001Z"}', '{"$Time":1}'],
      ['"tagged":true', '"tagged":"yes"'],
    ] as const) {
      const hostile = JSON.parse(saved.replace(from, to)) as never
      expect(() => restoreTasks(new TaskManager(), hostile)).toThrow(A2AError)
    }
  })

  test('a signal brings any value, and what only looks like a tag as it is', async () => {
    const read: unknown[] = []
    const { tasks, id, reaches } = await ran(async (run) => {
      for (let count = 0; count < 3; count += 1) read.push(await run.waitFor<unknown>('value'))
    })
    tasks.signal(id, 'value', new Map([['at', new Date(0)]]))
    tasks.signal(id, 'value', { $Date: 'from a webhook' })
    tasks.signal(id, 'value')
    await reaches(id, 'completed')
    expect(read).toStrictEqual([new Map([['at', new Date(0)]]), { $Date: 'from a webhook' }, null])
  })

  test('what no type can say is refused with its path, and not tried again', async () => {
    let times = 0
    const errors: unknown[] = []
    const { id, reaches } = await ran(async (run) => {
      const work = (): unknown => ({
        done: (times += 1),
        pool: new (class Pool {
          size = 1
        })(),
      })
      errors.push(await run.step('pool', work, { retry: { attempts: 3 } }).catch((error: unknown) => error))
    })
    await reaches(id, 'completed')
    expect(times).toBe(1)
    expect(errors).toMatchObject([
      { message: 'output.pool must be data, got an instance of Pool: return plain data' },
    ])
  })

  test('a generator is refused before its work begins', async () => {
    let begun = false
    const errors: unknown[] = []
    const { id, reaches } = await ran(async (run) => {
      const work = function* (): Generator<number> {
        begun = true
        yield 1
      }
      errors.push(await run.step('all', work as () => unknown).catch((error: unknown) => error))
    })
    await reaches(id, 'completed')
    expect(begun).toBe(false)
    expect(errors).toMatchObject([{ name: 'InvalidParamsError' }])
  })
})
