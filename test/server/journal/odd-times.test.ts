/** Sleeps at the bounds of time, and beside clocks that change. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS, textsOf, type Agent } from './support/managers.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** The latest time of a `Date`. */
const END_OF_TIME = 8.64e15

/** Lets work go on that waits for no time. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await turn()
}

/** Advances the clock in steps until the task has ended. */
async function endsBySteps({ tasks, clock }: Agent, id: string, step: number): Promise<string[]> {
  for (let steps = 0; steps < 1_000; steps += 1) {
    const task = await tasks.getTask(id)
    if (task?.state === 'completed') return textsOf(task)
    clock.advance(step)
    await settled()
  }
  throw new Error('The task did not end')
}

// The other stores wake tasks by their own clocks.
describe.each(MANAGERS.slice(0, 2))('over %s', (_, open) => {
  test.each([30_000, HOUR])('a sleep of %i ms ends at its time when the clock is set back', async (ms) => {
    const from = await agent(open, async (run) => {
      const due = run.now() + ms
      await run.sleep('pause', { until: due })
      return run.now() >= due ? 'in time' : `${due - run.now()} ms early`
    })
    const { say, reaches, clock } = from
    const id = await say('go')
    await reaches(id, 'working')
    await settled()
    clock.set(clock.now() - ms / 2)
    expect(await endsBySteps(from, id, ms / 10)).toEqual(['in time'])
  })

  test('sleeps in parallel that are longer than timers allow end each at its time', async () => {
    const from = await agent(open, async (run) => {
      const begin = run.now()
      const days = async (length: number): Promise<number> => {
        await run.sleep('pause', { ms: length * DAY })
        return Math.floor((run.now() - begin) / DAY)
      }
      return (await Promise.all([days(90), days(30), days(60)])).join()
    })
    expect(await endsBySteps(from, await from.say('go'), DAY / 2)).toEqual(['90,30,60'])
  })

  test('a sleep of 0 ms, or until a time that has passed, ends without time', async () => {
    const { say, tasks, journal } = await agent(open, async (run) => {
      await run.sleep('none', { ms: 0 })
      await run.sleep('none', { ms: 0.9 })
      await run.sleep('1970', { until: new Date(0) })
      await run.sleep('first', { until: -END_OF_TIME })
      return 'done'
    })
    const id = await say('go')
    await expect.poll(async () => (await tasks.getTask(id))?.state).toBe('completed')
    const due = (await journal(id)).flatMap(({ entry }) => (entry.kind === 'sleep' ? [entry.dueAt] : []))
    expect(due).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-01-01T00:00:00.000Z',
      '1970-01-01T00:00:00.000Z',
      '-271821-04-20T00:00:00.000Z',
    ])
  })

  test('a sleep beyond the last time of a Date is due then, and can be canceled', async () => {
    const { say, reaches, tasks, clock, journal } = await agent(open, (run) =>
      run.sleep('forever', { ms: END_OF_TIME }),
    )
    const id = await say('go')
    await reaches(id, 'working')
    for (let years = 0; years < 3; years += 1) {
      clock.advance(365 * DAY)
      await settled()
    }
    expect((await journal(id)).map(({ entry }) => entry)).toContainEqual({
      kind: 'sleep',
      name: 'forever#1',
      dueAt: '+275760-09-13T00:00:00.000Z',
    })
    await tasks.cancelTask(id)
    await reaches(id, 'canceled')
  })

  test.each([NaN, Infinity, -Infinity, -1, END_OF_TIME + 2_000, null, '1', 1n])(
    'ms: %s is refused',
    async (ms) => {
      const { say, reaches } = await agent(open, async (run) => {
        await run.sleep('pause', { ms: ms as never }).catch(() => undefined)
      })
      expect((await reaches(await say('go'), 'failed')).failure?.error).toMatchObject({ name: 'RangeError' })
    },
  )
})
