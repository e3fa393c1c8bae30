/** Limits of the history of one turn. */
import { A2AError } from 'a2a-tasks'
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS, textsOf } from './support/managers.js'

/** The codes of the errors with which promises were rejected. */
function reasonsOf(results: readonly PromiseSettledResult<unknown>[]): string {
  return results.map((each) => (each.status === 'fulfilled' ? 'none' : codeOf(each.reason))).join()
}

function codeOf(error: unknown): string {
  return A2AError.is(error) ? error.code : String(error)
}

describe.each(MANAGERS)('over %s', (_, open) => {
  test('a turn has at most limits.maxSteps steps, those of earlier attempts included', async () => {
    const done: number[] = []
    const { say, reaches, errors } = await agent(
      open,
      async (run) => {
        for (let count = 1; count <= 3; count += 1) await run.step('s', () => done.push(count))
        if (run.attempt === 1) throw new Error('Not yet')
        await run.step('s', () => done.push(4))
      },
      { limits: { maxSteps: 3 }, retry: {} },
    )
    await reaches(await say('go'), 'failed')
    expect(done).toEqual([1, 2, 3])
    expect(errors.at(-1)).toMatchObject({
      error: {
        code: 'LIMIT_EXCEEDED',
        message: 'Steps of the turn (4) exceed limits.maxSteps (3)',
        data: { limit: 'limits.maxSteps', max: 3, actual: 4 },
      },
    })
  })

  test('another turn of the task has as many again', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        await run.step('s', () => 1)
        if (run.text === 'go') void run.requireInput('More?')
        return run.text === 'go' ? undefined : run.text
      },
      { limits: { maxSteps: 1 } },
    )
    const id = await say('go')
    await reaches(id, 'input-required')
    await say('on', id)
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['on'])
  })

  test('a history has at most limits.maxHistoryBytes bytes', async () => {
    const { say, reaches, kinds, errors } = await agent(
      open,
      async (run) => {
        for (;;) await run.step('s', () => 'x'.repeat(400))
      },
      { limits: { maxHistoryBytes: 1_000 } },
    )
    const id = await say('go')
    await reaches(id, 'failed')
    expect(await kinds(id)).toEqual(['turn', 'step', 'step', 'failure'])
    expect(errors).toMatchObject([{ error: { code: 'LIMIT_EXCEEDED', data: { max: 1_000 } } }])
  })

  test('a question whose answer the history has no room for fails', async () => {
    const { say, reaches, errors } = await agent(
      open,
      async (run) => {
        await run.step('s', () => 'x'.repeat(800))
        await run.requireInput('Which?')
      },
      { limits: { maxHistoryBytes: 930 } },
    )
    const id = await say('go')
    await reaches(id, 'input-required')
    await say('this one', id)
    await reaches(id, 'failed')
    expect(errors).toMatchObject([{ error: { code: 'LIMIT_EXCEEDED', data: { max: 930 } } }])
  })

  test('an answer that the history has no room for is read by the next round, or begins another turn', async () => {
    const { say, reaches, history } = await agent(
      open,
      async (run) => {
        if (run.text === 'second round') return `second round: ${textOf(await run.requireInput('Which?'))}`
        if (run.text !== 'round' && run.text !== 'end') return `turn: ${run.text}`
        await run.step('s', () => 'x'.repeat(800))
        const asked = await run.requireInput('Which?').then(textOf, codeOf)
        run.artifact(asked)
        if (run.text === 'round') await run.continueAs('second round')
        return 'first turn'
      },
      { limits: { maxHistoryBytes: 930 } },
    )
    const round = await say('round')
    const end = await say('end')
    for (const id of [round, end]) {
      await reaches(id, 'input-required')
      await say('this one', id)
    }
    const second = ['LIMIT_EXCEEDED', 'second round: this one']
    expect(textsOf(await reaches(round, 'completed'))).toEqual(second)
    expect(textsOf(await reaches(end, 'completed'))).toEqual([
      'LIMIT_EXCEEDED',
      'first turn',
      'turn: this one',
    ])
    const ends = (await history(end)).flatMap(({ entry }) => (entry.kind === 'end' ? [entry] : []))
    expect(ends).toMatchObject([{ unread: [expect.any(String)] }])
  })

  test('a wait whose signal the history has no room for rejects, and the turn can end', async () => {
    const { say, reaches, tasks } = await agent(
      open,
      (run) => Promise.allSettled([run.waitFor('large'), run.waitFor('small')]).then(reasonsOf),
      { limits: { maxHistoryBytes: 1_000 } },
    )
    const id = await say('go')
    await reaches(id, 'working')
    await tasks.signal(id, 'large', 'x'.repeat(1_000))
    await tasks.signal(id, 'small')
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['LIMIT_EXCEEDED,LIMIT_EXCEEDED'])
  })
})

test.each([
  ['maxHistoryBytes', { maxHistoryBytes: 1_500 }],
  ['maxSteps', { maxSteps: 3 }],
])('after %s is exceeded, nothing more is recorded', async (limit, limits) => {
  const execute: Execute = async (run) => {
    for (let count = 1; count <= 5; count += 1) await run.step('s', () => 'x'.repeat(300)).catch(String)
    return await run.sleep('short', { ms: 1 }).then(() => 'slept', String)
  }
  const { task } = await testDurable(execute, { messages: ['go'], handler: { limits } })
  expect(textsOf(task)).toEqual([expect.stringMatching(`exceed limits.${limit}`)])
})

test('a history has the same room in each process', async () => {
  const execute: Execute = async (run) => {
    const results: string[] = []
    for (let count = 1; count <= 5; count += 1)
      results.push(await run.step('s', () => 'x'.repeat(300)).then(({ length }) => `${length}`, String))
    return results.join()
  }
  const { task } = await testDurable(execute, {
    messages: ['go'],
    handler: { limits: { maxHistoryBytes: 1_500 } },
  })
  expect(textsOf(task)).toEqual([expect.stringMatching(/^300,300,300,300,.*exceed limits.maxHistoryBytes/)])
})
