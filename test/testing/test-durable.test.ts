/** The test of durable functions: what it reports, and the faults that it finds. */
import { ManualClock, testDurable } from 'a2a-tasks/testing'
import { textOf, type Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'

const travel: Execute = async (run) => {
  const city = textOf(await run.requireInput('Which city?'))
  const price = await run.step('price', () => 100)
  return `To ${city} for ${price}, ${run.uuid()}`
}

test('reports the crashes, the steps and the task', async () => {
  const { task, crashPoints, steps } = await testDurable(travel, { messages: ['fly', 'Rome'] })
  expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: /^To Rome for 100, / }] }] })
  expect(crashPoints).toBeGreaterThan(8)
  expect(steps.begun).toBeGreaterThan(steps.needed)
  expect(steps.begun).toBeLessThanOrEqual(1.5 * steps.needed)
})

test('sends messages with parts, passes options on, and compares the results', async () => {
  const execute: Execute = (run) =>
    `${JSON.stringify(run.message.parts)} ${run.message.metadata?.['a'] as string} ${Date.now()}`
  const { task } = await testDurable(execute, {
    messages: [{ parts: [{ data: { x: 1 } }], metadata: { a: 'b' } }],
    resultOf: ({ state }) => state,
    manager: { limits: { maxOutputSize: 1_000 } },
    handler: { limits: { maxRuns: 2 } },
  })
  expect(task.artifacts[0]?.parts?.[0]).toMatchObject({
    text: expect.stringMatching(/^\[\{"data":\{"x":1\}\}\] b /) as string,
  })
})

test('knows that another attempt of execute does the failed step again', async () => {
  const execute: Execute = async (run) => {
    await run.step('before', () => 1)
    return await run.step('flaky', () => {
      if (run.attempt === 1) throw new Error('Not now')
      return 'done'
    })
  }
  const { task } = await testDurable(execute, { messages: ['go'], handler: { retry: { attempts: 2 } } })
  expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: 'done' }] }] })
})

describe('finds', () => {
  test('a value that is not recorded', async () => {
    let count = 0
    const execute: Execute = async (run) => {
      const id = (count += 1)
      await run.step('one', () => 1)
      return `Number ${id}`
    }
    const failure = testDurable(execute, { messages: ['go'] })
    await expect(failure).rejects.toThrow(/^With a crash before write 1 of \d+ the result is different/)
  })

  test('code that asks for other steps when it is called again', async () => {
    let count = 0
    const execute: Execute = async (run) => {
      count += 1
      await run.step(`step ${count}`, () => 1)
      await run.step('last', () => 1)
    }
    const failure = testDurable(execute, { messages: ['go'] })
    await expect(failure).rejects.toThrow(/the result is different[^]*"state":"failed"/)
    const { cause } = (await failure.catch((error: unknown) => error)) as Error
    expect(cause).toMatchObject({ code: 'JOURNAL_MISMATCH' })
  })

  test('a question without an answer', async () => {
    const execute: Execute = (run) => void run.requireInput('More?')
    const failure = testDurable(execute, { messages: ['go'] })
    await expect(failure).rejects.toThrow(
      'The function waits for an answer, and has received all 1 entries of the test',
    )
  })
})

test.each([
  [{}, '"messages" must be a list with the message that begins the task'],
  [{ messages: [] }, '"messages" must be a list with the message that begins the task'],
  [{ messages: ['a'], crash: 1 }, 'Unknown option "crash" of testDurable(); known are messages, createStore'],
  [{ messages: ['a'], createStore: 1 }, '"createStore" must be a function'],
  [
    { messages: ['a'], handler: { execute: travel } },
    '"handler.execute" is set by testDurable() itself: leave it out',
  ],
  [
    { messages: ['a'], handler: { authenticate: () => null } },
    '"handler.authenticate" is set by testDurable() itself',
  ],
  [
    { messages: ['a'], manager: { clock: new ManualClock() } },
    '"manager.clock" is set by testDurable() itself',
  ],
])('refuses %j', async (options, text) => {
  // Callers in JavaScript can pass anything.
  await expect(testDurable(travel, options as { messages: [string] })).rejects.toThrow(text)
})

test('a question that others answer is answered by one of them, at every crash', async () => {
  const result = await testDurable(
    async (run) => {
      const verdict = await run.approve('pay', { message: 'Pay?', answeredBy: ['böss', 'deputy'] })
      return `${verdict} for ${run.principal?.id ?? 'nobody'}`
    },
    { messages: ['Pay 42 €', { answers: { pay: 'approve' } }] },
  )
  // The run is still that of the owner's message.
  expect(result.task.artifacts).toMatchObject([{ parts: [{ text: 'approve for test' }] }])
})
