/** Attempts of turns whose code throws: the option `retry`. */
import { A2AError } from 'a2a-tasks'
import { createRequestHandler, type Execute, type RetryOptions } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { begin, get, pass, replicas, settle } from '../durable/support/replicas.js'
import { stateName } from '../spec/support/agent.js'
import { agent, MANAGERS, textsOf } from '../journal/support/managers.js'

describe.each(MANAGERS)('over %s', (_, open) => {
  test('execute is called again, and does no step twice', async () => {
    const done: string[] = []
    const attempts: number[] = []
    const { say, reaches, kinds, errors } = await agent(
      open,
      async (run) => {
        attempts.push(run.attempt)
        run.artifact({ artifactId: 'log', parts: [{ text: 'a' }] })
        await run.step('first', () => done.push('first'))
        run.artifact({ artifactId: 'log', parts: [{ text: 'b' }] })
        if (run.attempt < 3) throw new Error('Not yet')
        return 'result'
      },
      { retry: {} },
    )
    const id = await say('go')
    const task = await reaches(id, 'completed')
    expect(attempts).toEqual([1, 2, 3])
    expect(done).toEqual(['first'])
    expect(textsOf(task)).toEqual(['ab', 'result'])
    expect(await kinds(id)).toEqual(['turn', 'step', 'attempt', 'attempt'])
    expect(errors).toMatchObject([{ error: { message: 'Not yet' } }, { error: { message: 'Not yet' } }])
  })

  test('errors of other agents and requests, aborts included, are tried again, in steps and in execute', async () => {
    const thrown = [
      new DOMException('Aborted', 'AbortError'),
      new A2AError('UNAVAILABLE', 'Busy', { reason: 'busy' }),
      new A2AError('INVALID_PARAMS', 'Wrong', { path: 'x', reason: 'wrong' }),
    ]
    const { say, reaches, kinds } = await agent(
      open,
      async (run) => {
        await run.step('call', () => thrownBy(thrown), { retry: { backoff: { initialMs: 1 } } })
      },
      { retry: { backoff: { initialMs: 1 } } },
    )
    const id = await say('go')
    await reaches(id, 'failed')
    expect(thrown).toEqual([])
    expect(await kinds(id)).toEqual(['turn', 'step', 'failure'])
  })

  test('the task fails after the last attempt', async () => {
    const { say, reaches, errors } = await agent(
      open,
      () => {
        throw new Error('Never')
      },
      { retry: { attempts: 2 } },
    )
    const task = await reaches(await say('go'), 'failed')
    expect(errors).toHaveLength(2)
    expect(JSON.stringify(task.message)).toContain('The agent could not finish this task')
  })

  test('questions that were answered are not asked again', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        const { parts } = await run.requireInput('Which?')
        if (run.attempt === 1) throw new Error('Not yet')
        return `${run.text} ${parts[0]?.text}`
      },
      { retry: {} },
    )
    const id = await say('hello')
    await reaches(id, 'input-required')
    await say('world', id)
    const task = await reaches(id, 'completed')
    expect(textsOf(task)).toEqual(['hello world'])
    expect(task.messages).toHaveLength(3)
  })

  test('a failed step whose error execute threw is done again', async () => {
    const done: string[] = []
    const { say, reaches } = await agent(
      open,
      async (run) => {
        await run.step('before', () => done.push('before'))
        await run.step('flaky', () => {
          done.push('flaky')
          if (done.length < 4) throw new Error('Not yet')
        })
        try {
          await run.step('caught', () => {
            done.push('caught')
            throw new RangeError('Always')
          })
        } catch {
          if (run.attempt === 3) throw new Error('Another error')
        }
        return done.join()
      },
      { retry: { attempts: 5 } },
    )
    const task = await reaches(await say('go'), 'completed')
    expect(textsOf(task)).toEqual(['before,flaky,flaky,flaky,caught'])
  })

  test('of parallel steps only the failed one is done again', async () => {
    const done: string[] = []
    const { say, reaches } = await agent(
      open,
      async (run) => {
        const failing = run.step('fails', () => {
          done.push('fails')
          if (run.attempt === 1) throw new Error('Not yet')
        })
        const other = run.step('other', () => done.push('other'))
        await Promise.all([other, Promise.allSettled([failing])])
        await failing
        return done.join()
      },
      { retry: {} },
    )
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['fails,other,fails'])
  })

  test('messages wait for the next attempt', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        if (run.attempt === 1) throw new Error('Not yet')
        const answer = await run.requireInput('Which?')
        return `${run.text} ${answer.parts[0]?.text}`
      },
      { retry: { backoff: { initialMs: 5_000 } } },
    )
    const id = await say('hello')
    await say('world', id)
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['hello world'])
  })

  test('a cancel ends the wait', async () => {
    let attempts = 0
    const { say, reaches, tasks, errors } = await agent(
      open,
      () => {
        attempts += 1
        throw new Error('Not yet')
      },
      { retry: { backoff: { initialMs: 10_000 } } },
    )
    const id = await say('go')
    await reaches(id, 'working')
    await tasks.cancelTask(id)
    await reaches(id, 'canceled')
    const next = await say('next')
    await reaches(next, 'failed')
    expect(attempts).toBe(4)
    expect(errors).toHaveLength(4)
  })
})

const [[, inMemory]] = MANAGERS as [(typeof MANAGERS)[number]]

test.each([
  [
    'JOURNAL_MISMATCH',
    new A2AError('JOURNAL_MISMATCH', 'no', { taskId: '', generation: 1, recorded: '', asked: '' }),
  ],
  ['INVALID_PARAMS', new A2AError('INVALID_PARAMS', 'no', { path: 'x', reason: 'is wrong' })],
])('%s is not tried again', async (_, error) => {
  const { say, reaches, errors } = await agent(
    inMemory,
    () => {
      throw error
    },
    { retry: {} },
  )
  await reaches(await say('go'), 'failed')
  expect(errors).toHaveLength(1)
})

test('an error of isRetryable fails the task', async () => {
  const { say, reaches, errors } = await agent(
    inMemory,
    () => {
      throw new Error('first')
    },
    {
      retry: {
        isRetryable: () => {
          throw new Error('second')
        },
      },
    },
  )
  await reaches(await say('go'), 'failed')
  expect(errors).toMatchObject([{ error: { message: 'second' } }, { error: { message: 'first' } }])
})

test('isRetryable decides, and pauses grow up to their limit', async () => {
  const at: number[] = []
  const { say, reaches, clock } = await agent(
    inMemory,
    (run) => {
      at.push(clock.now())
      throw new Error(run.attempt < 5 ? 'again' : 'stop')
    },
    {
      retry: {
        attempts: 100,
        backoff: { initialMs: 1_000, factor: 3, maxMs: 5_000 },
        isRetryable: (error) => (error as Error).message === 'again',
      },
    },
  )
  await reaches(await say('go'), 'failed')
  expect(at.slice(1).map((time, index) => time - (at[index] ?? 0))).toEqual([1_000, 3_000, 5_000, 5_000])
})

test('an artifact that an attempt wrote after a failed step is replaced, in whichever process', async () => {
  const execute: Execute = async (run) => {
    run.artifact({ artifactId: 'log', parts: [{ text: 'begun ' }] })
    try {
      await run.step('work', () => {
        if (run.attempt === 1) throw new Error('Not now')
      })
    } finally {
      await run.step('clean up', () => undefined)
      run.artifact({ artifactId: 'log', parts: [{ text: 'cleaned up ' }] })
      run.artifact({ artifactId: 'other', parts: [{ text: 'cleaned up ' }] })
    }
    await run.step('end', () => undefined)
  }
  const { task } = await testDurable(execute, { messages: ['go'], handler: { retry: { attempts: 2 } } })
  expect(textsOf(task)).toEqual(['begun cleaned up ', 'cleaned up '])
})

describe('attempts of several processes', () => {
  const failing: Execute = () => {
    throw new Error('Never')
  }
  const RETRY = { retry: { attempts: 3, backoff: { initialMs: 50_000 } } }

  test('are counted together', async () => {
    const attempts: number[] = []
    const there: Execute = (run) => {
      attempts.push(run.attempt)
      throw new Error('Never')
    }
    const { a, b, clock } = replicas([failing, there], RETRY)
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await pass(clock, async () => stateName((await get(b, id)).status.state) === 'failed')
    expect(attempts).toEqual([2, 3])
  })

  test('continue elsewhere when the process closes during a pause', async () => {
    const { a, b, clock } = replicas([failing, (run) => `attempt ${run.attempt}`], RETRY)
    const { id } = await begin(a, 'go')
    await settle()
    await a.handler.close({ graceMs: 1_000_000 })
    await pass(clock, async () => stateName((await get(b, id)).status.state) === 'completed')
    expect((await b.tasks.getTask(id))?.artifacts).toMatchObject([{ parts: [{ text: 'attempt 2' }] }])
  })
})

test.each([
  [{ attempts: 0 }, '"retry.attempts"'],
  [{ attempt: 3 }, 'Unknown option "retry.attempt"'],
  [{ backoff: { factor: 0.5 } }, '"retry.backoff.factor" must be at least 1'],
  [{ backoff: 1_000 }, '"retry.backoff" must be an object'],
  [{ isRetryable: true }, '"retry.isRetryable" must be a function'],
])('%o is refused', (retry, text) => {
  const create = (): unknown =>
    createRequestHandler({
      card: { name: 'x', url: 'http://localhost' },
      execute: () => 'x',
      retry: retry as RetryOptions,
    })
  expect(create).toThrow(text)
})

/** Throws the errors, one after the other. */
function thrownBy(errors: Error[]): void {
  const error = errors.shift()
  if (error !== undefined) throw error
}
