/** Limits of the history of one turn. */
import { A2AError } from 'a2a-tasks'
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { gate } from '../spec/support/agent.js'
import { agent, MANAGERS, textsOf } from './support/managers.js'

/** The codes of the errors with which promises were rejected. */
function reasonsOf(results: readonly PromiseSettledResult<unknown>[]): string {
  return results.map((each) => (each.status === 'fulfilled' ? 'none' : codeOf(each.reason))).join()
}

function refused(error: unknown): void {
  if (A2AError.is(error)) throw error
}

function messageOf(error: unknown): string {
  return (error as Error).message
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
        message:
          'Steps of the turn (4) exceed limits.maxSteps (3): end the turn, or go on with run.continueAs()',
        data: { limit: 'limits.maxSteps', max: 3, actual: 4 },
      },
    })
  })

  test('steps in parallel count when they begin, and those that began are recorded', async () => {
    const { say, reaches, kinds } = await agent(
      open,
      async (run) => {
        if (run.text === 'next round') return await run.step('s', () => 'went on')
        const begun: number[] = []
        const work = (n: number) => (): Promise<number> => Promise.resolve(begun.push(n))
        run.artifact(reasonsOf(await Promise.allSettled([1, 2, 3, 4].map((n) => run.step('s', work(n))))))
        run.artifact(`${begun.join()}; ${await run.sleep('s', { ms: 1 }).then(String, codeOf)}`)
        return await run.continueAs('next round')
      },
      { limits: { maxSteps: 2 } },
    )
    const id = await say('go')
    const refused = 'LIMIT_EXCEEDED'
    expect(textsOf(await reaches(id, 'completed'))).toEqual([
      `none,none,${refused},${refused}`,
      `1,2; ${refused}`,
      'went on',
    ])
    expect((await kinds(id)).filter((kind) => kind === 'step').length).toBeLessThanOrEqual(3)
  })

  // The test fails on warnings, such as that of Node for more than ten listeners of one signal.
  test('steps and their pauses in parallel, as many as the limit allows, cause no warning', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        const failed = new Set<number>()
        const once = (n: number): number => {
          if (failed.has(n)) return n
          failed.add(n)
          throw new Error('Once')
        }
        const numbers = Array.from({ length: 30 }, (__, n) => n)
        const options = { retry: { backoff: { initialMs: 5 } } }
        const all = numbers.map((n) => run.step('s', () => once(n), options))
        return (await Promise.all([...all, ...numbers.map(() => run.sleep('p', { ms: 5 }))])).join('')
      },
      { limits: { maxSteps: 30 } },
    )
    const id = await say('go')
    expect(textsOf(await reaches(id, 'completed'))).toEqual([
      Array.from({ length: 30 }, (__, n) => n).join(''),
    ])
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

  test('a history has at most limits.maxJournalBytes bytes', async () => {
    const { say, reaches, kinds, errors } = await agent(
      open,
      async (run) => {
        for (;;) await run.step('s', () => 'x'.repeat(400))
      },
      { limits: { maxJournalBytes: 1_000 } },
    )
    const id = await say('go')
    await reaches(id, 'failed')
    expect(await kinds(id)).toEqual(['turn', 'step', 'step', 'failure'])
    expect(errors).toMatchObject([{ error: { code: 'LIMIT_EXCEEDED', data: { max: 1_000 } } }])
  })

  let queued = gate()
  const ENTRIES: Readonly<Record<string, (run: Run) => unknown>> = {
    step: (run) => run.step('a', () => 'ü'),
    'failed step': (run) => run.step('a', () => Promise.reject(new Error('No'))).catch(refused),
    'parallel steps': async (run) => {
      const both = await Promise.allSettled([run.step('a', () => 1), run.step('b', () => 2)])
      for (const each of both) if (each.status === 'rejected') throw each.reason as Error
    },
    sleep: (run) => run.sleep('a', { ms: 5 }),
    question: (run) => run.requireInput('Which?'),
    'question that a waiting message answers': async (run) => {
      run.start()
      await queued.opened
      await run.requireInput('Which?')
    },
    'question that expires while it waits for another': (run) =>
      Promise.all([
        run.approve('a', { message: 'A?', expiresInMs: 10 }),
        run.approve('b', { message: 'B?', expiresInMs: 5 }),
      ]),
    signal: (run) => run.waitFor('a'),
    now: (run) => run.now(),
    uuid: (run) => run.uuid(),
    changed: (run) => run.changed('a'),
  }

  test.each(Object.entries(ENTRIES))(
    'a history of exactly limits.maxJournalBytes fits, and one byte more does not: %s',
    async (kind, record) => {
      const within = async (maxJournalBytes: number): Promise<{ text: string; bytes: number }> => {
        const { say, reaches, tasks, journal } = await agent(
          open,
          async (run) => {
            if (run.text !== 'go') return 'went on'
            const recorded = Promise.resolve(run).then(record)
            run.artifact(await recorded.then(() => 'fits', codeOf))
            // A TaskManager keeps the history of the last round only.
            return maxJournalBytes === 1_000 ? 'measured' : await run.continueAs('next round')
          },
          { limits: { maxJournalBytes } },
        )
        queued = gate()
        const id = await say('go')
        if (kind === 'question that a waiting message answers') {
          await say('this', id)
          queued.open()
        }
        if (kind === 'question') {
          await reaches(id, 'input-required')
          await say('this', id)
        }
        if (kind === 'signal') await tasks.signal(id, 'a', 1)
        const text = textsOf(await reaches(id, 'completed')).join()
        const entries = (await journal(id)).flatMap(({ entry }) =>
          ['turn', 'signal', 'end'].includes(entry.kind) ? [] : [JSON.stringify(entry)],
        )
        return { text, bytes: Buffer.byteLength(entries.join('')) }
      }
      const { text, bytes } = await within(1_000)
      expect(text).toBe('fits,measured')
      expect((await within(bytes)).text).toBe('fits,went on')
      expect((await within(bytes - 1)).text).toMatch('LIMIT_EXCEEDED,went on')
    },
  )

  test('an output of exactly limits.maxStepBytes fits, and one byte more does not', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        if (run.text !== 'go') return `${run.text.length}`
        for (const length of [148, 149])
          run.artifact(await run.step('s', () => 'x'.repeat(length)).catch(messageOf))
        // An input is a message, of 58 bytes beside its text.
        for (const length of [93, 92]) {
          try {
            await run.continueAs('y'.repeat(length))
          } catch (error) {
            if (A2AError.is(error, 'LEASE_LOST')) throw error
            run.artifact(messageOf(error))
          }
        }
        return undefined
      },
      { limits: { maxStepBytes: 150 } },
    )
    const id = await say('go')
    expect(textsOf(await reaches(id, 'completed'))).toEqual([
      'x'.repeat(148),
      `Output of step ${id}/s#2 size (151 bytes) exceeds limits.maxStepBytes (150 bytes)`,
      'Input of run.continueAs() size (151 bytes) exceeds limits.maxStepBytes (150 bytes)',
      '92',
    ])
  })

  test('a question whose answer the history has no room for fails', async () => {
    const { say, reaches, errors } = await agent(
      open,
      async (run) => {
        await run.step('s', () => 'x'.repeat(800))
        await run.requireInput('Which?')
      },
      { limits: { maxJournalBytes: 930 } },
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
      { limits: { maxJournalBytes: 930 } },
    )
    const id = await say('go')
    await reaches(id, 'input-required')
    await say('this one', id)
    expect(textsOf(await reaches(id, 'completed'))).toEqual([expect.stringContaining('maxJournalBytes')])
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
        if (answers.every((answer) => answer.includes('maxJournalBytes')))
          return await run.continueAs('again')
        return answers.join()
      },
      { limits: { maxJournalBytes: 930 } },
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
      { limits: { maxJournalBytes: 860 } },
    )
    const id = await say('go')
    await reaches(id, 'working')
    await say('one', id)
    await say('two', id)
    opened.open()
    expect(textsOf(await reaches(id, 'completed'))).toEqual([expect.stringContaining('maxJournalBytes')])
    expect(read).toEqual(['go', 'one', 'two'])
  })

  test('a wait whose signal the history has no room for rejects, and the turn can end', async () => {
    const { say, reaches, tasks } = await agent(
      open,
      (run) => Promise.allSettled([run.waitFor('large'), run.waitFor('small')]).then(reasonsOf),
      { limits: { maxJournalBytes: 1_000 } },
    )
    const id = await say('go')
    await reaches(id, 'working')
    await tasks.signal(id, 'large', 'x'.repeat(1_000))
    await tasks.signal(id, 'small')
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['LIMIT_EXCEEDED,LIMIT_EXCEEDED'])
  })
})

test.each([
  ['maxJournalBytes', { maxJournalBytes: 1_500 }],
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
    handler: { limits: { maxJournalBytes: 1_500 } },
  })
  expect(textsOf(task)).toEqual([expect.stringMatching(/^300,300,300,300,.*exceed limits.maxJournalBytes/)])
})
