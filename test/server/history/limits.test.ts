/** Limits of the history of one turn. */
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { gate } from '../spec/support/agent.js'
import { agent, MANAGERS, textsOf } from './support/managers.js'

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

  /** The answer, or the error. */
  const ask = async (run: Run, question: string): Promise<string> => {
    try {
      return textOf(await run.requireInput(question))
    } catch (error) {
      return String(error)
    }
  }

  test('an answer that the history has no room for begins the next turn, if the code goes on without it', async () => {
    const read: string[] = []
    const { say, reaches, errors } = await agent(
      open,
      async (run) => {
        read.push(run.text)
        if (run.text !== 'go') return undefined
        await run.step('s', () => 'x'.repeat(800))
        return await ask(run, 'Which?')
      },
      { limits: { maxHistoryBytes: 930 } },
    )
    const id = await say('go')
    await reaches(id, 'input-required')
    await say('this one', id)
    expect(textsOf(await reaches(id, 'completed'))).toEqual([expect.stringContaining('maxHistoryBytes')])
    expect(read).toEqual(['go', 'this one'])
    expect(errors).toEqual([])
  })

  test('it answers the next question, if the turn continues as another one', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        if (run.text === 'again') return await ask(run, 'And now?')
        await run.step('s', () => 'x'.repeat(800))
        const answers = [await ask(run, 'Which?'), await ask(run, 'Really?')]
        if (answers.every((answer) => answer.includes('maxHistoryBytes')))
          return await run.continueAs('again')
        return answers.join()
      },
      { limits: { maxHistoryBytes: 930 } },
    )
    const id = await say('go')
    await reaches(id, 'input-required')
    await say('this one', id)
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['this one'])
  })

  test('messages that wait are not lost by a question that the history has no room for', async () => {
    const opened = gate()
    const read: string[] = []
    const { say, reaches } = await agent(
      open,
      async (run) => {
        read.push(run.text)
        if (run.text !== 'go') return undefined
        run.start()
        await run.step('s', () => 'x'.repeat(800))
        await opened.opened
        return await ask(run, 'Which?')
      },
      { limits: { maxHistoryBytes: 860 } },
    )
    const id = await say('go')
    await reaches(id, 'working')
    await say('one', id)
    await say('two', id)
    opened.open()
    expect(textsOf(await reaches(id, 'completed'))).toEqual([expect.stringContaining('maxHistoryBytes')])
    expect(read).toEqual(['go', 'one', 'two'])
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
