/** What the work of a step calls: a replay does not call that work, so nothing of it may be in the journal. */
import type { Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS } from './support/managers.js'

describe.each(MANAGERS)('over %s', (_, open) => {
  test.each<[string, (run: Run) => unknown]>([
    ['step', (run) => run.step('inner', () => 1)],
    ['sleep', (run) => run.sleep('night', { ms: 1 })],
    ['waitFor', (run) => run.waitFor('payment')],
    ['changed', (run) => run.changed('prices')],
    [
      'delegate',
      (run) =>
        run.delegate('airline', { card: { name: 'Airline' }, run: () => Promise.reject(new Error()) }, 'Hi'),
    ],
  ])('run.%s is refused at once', async (method, call) => {
    const a = await agent(open, async (run) => {
      await run.step('book', async () => {
        await Promise.resolve()
        await call(run)
      })
    })
    const id = await a.say('go')
    await a.reaches(id, 'failed')
    const message = expect.stringContaining(
      `run.${method}() was called in the work of step "book#1"`,
    ) as unknown
    expect(a.errors).toMatchObject([{ error: { message, code: 'CALLED_IN_STEP' } }])
  })

  test('a step of a branch beside it, and one after it, are none in it', async () => {
    const a = await agent(open, async (run) => {
      const branch = run
        .step('first', () => Promise.resolve(1))
        .then((one) => run.step('second', () => one + 1))
      const [two, three] = await Promise.all([branch, run.step('third', () => Promise.resolve(3))])
      return String(two + three)
    })
    const { artifacts } = await a.reaches(await a.say('go'), 'completed')
    expect(artifacts[0]?.parts).toEqual([{ text: '5' }])
    expect(a.errors).toEqual([])
  })
})

test('the time, a random number and a UUID are new in each attempt of a step, with a crash at each write', async () => {
  let late = 0
  await testDurable(
    async (run) => {
      const first = run.now()
      const seen = await run.step('work', async () => {
        const values = [run.uuid(), run.uuid(), run.random(), run.now()]
        await Promise.resolve()
        return new Set([...values, run.uuid()]).size
      })
      const id = run.uuid()
      await run.step('after', () => id)
      if (run.now() < first) late += 1
      return `${seen} ${id.length}`
    },
    { messages: ['Hi'] },
  )
  expect(late).toBe(0)
})
