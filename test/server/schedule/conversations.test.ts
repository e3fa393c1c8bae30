/** Conversations that continue in another process, from the history of their turn. */
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { stateName } from '../spec/support/agent.js'
import {
  begin,
  get,
  pass,
  type Replica,
  replicas,
  resultOf,
  saidIn,
  send,
  settle,
  stateAt,
  textOf,
} from '../durable/support/replicas.js'

const translator: Execute = async (run) => {
  const language = textOf(await run.requireInput('Which language?'))
  return `${run.text} in ${language}`
}

describe('an answer', () => {
  test('answers the question of a process that has closed', async () => {
    const { a, b } = replicas(translator)
    const { id } = await begin(a, 'hello')
    await settle()
    expect(await stateAt(b, id)).toBe('input-required')
    await a.handler.close()
    const task = await send(b, 'french', id)
    expect(stateName(task.status.state)).toBe('completed')
    expect(await resultOf(b, id)).toEqual(['hello in french'])
    expect(saidIn(await get(b, id))).toEqual(['hello', 'Which language?', 'french'])
  })

  test('answers the question of a process that was killed', async () => {
    const { a, b, clock } = replicas(translator)
    const { id } = await begin(a, 'hello')
    await settle()
    a.store.fail()
    await settle()
    const end = clock.now() + 41_000
    await pass(clock, () => clock.now() >= end)
    const task = await send(b, 'french', id)
    expect(stateName(task.status.state)).toBe('completed')
    expect(await resultOf(b, id)).toEqual(['hello in french'])
  })

  test('answers a question whose run has left the memory', async () => {
    const { a, b, clock } = replicas(translator)
    const { id } = await begin(a, 'hello')
    await settle()
    const end = clock.now() + 61_000
    await pass(clock, () => clock.now() >= end)
    expect(await send(b, 'french', id)).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    expect(await resultOf(a, id)).toEqual(['hello in french'])
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('is asked for once in a conversation of three questions, each at another process', async () => {
    const survey: Execute = async (run) => {
      const answers: string[] = []
      for (const question of ['One?', 'Two?', 'Three?']) {
        run.artifact({ artifactId: 'log', parts: [{ text: question }] })
        answers.push(textOf(await run.requireInput(question)))
      }
      return answers.join(', ')
    }
    const { a, b, clock } = replicas(survey)
    const { id } = await begin(a, 'go')
    for (const [at, text] of [
      [b, 'first'],
      [a, 'second'],
      [b, 'third'],
    ] as const) {
      await settle()
      const end = clock.now() + 61_000
      await pass(clock, () => clock.now() >= end)
      await send(at, text, id)
    }
    expect(await stateAt(a, id)).toBe('completed')
    expect(await resultOf(a, id)).toEqual(['One?Two?Three?', 'first, second, third'])
    expect(saidIn(await get(a, id))).toEqual(['go', 'One?', 'first', 'Two?', 'second', 'Three?', 'third'])
    const { length } = await a.tasks.events(id)
    expect(length).toBeLessThan(30)
  })
})

describe('a turn whose process dies', () => {
  /** A process whose run never ends after `point`, then dies; another one with the same code. */
  async function survive(
    script: (run: Run, point: () => Promise<void>) => Promise<string | undefined>,
  ): Promise<{
    b: Replica
    id: string
  }> {
    const here: Execute = (run) => script(run, () => new Promise(() => undefined))
    const there: Execute = (run) => script(run, () => Promise.resolve())
    const { a, b, clock } = replicas([here, there])
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    return { b, id }
  }

  test('does no step twice that is stored', async () => {
    const done: string[] = []
    const { b, id } = await survive(async (run, point) => {
      const one = await run.step('count', () => done.push('one'))
      const two = await run.step('count', () => done.push('two'))
      await point()
      const three = await run.step('count', () => done.push('three'))
      return [one, two, three].join()
    })
    expect(done).toEqual(['one', 'two', 'three'])
    expect(await resultOf(b, id)).toEqual(['1,2,3'])
  })

  test('shows no chunk twice', async () => {
    const { b, id } = await survive(async (run, point) => {
      run.artifact({ artifactId: 'x', parts: [{ text: 'a' }] })
      await run.step('s', () => 1)
      run.artifact({ artifactId: 'x', parts: [{ text: 'b' }] })
      const unnamed = run.artifact('new')
      await point()
      run.artifact({ artifactId: 'x', parts: [{ text: 'c' }] })
      run.artifact({ artifactId: unnamed, parts: [{ text: ' and old' }] })
      return undefined
    })
    expect(await resultOf(b, id)).toEqual(['abc', 'new and old'])
  })

  test('keeps times, random numbers and ids', async () => {
    const seen: unknown[][] = []
    await survive(async (run, point) => {
      const values = [run.now(), run.random(), run.uuid(), run.uuid()]
      seen.push(values)
      await run.step('s', () => 1)
      await point()
      return undefined
    })
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(new Set(seen[0]).size).toBe(4)
  })

  test('fails a step again as it failed before', async () => {
    const errors: unknown[] = []
    await survive(async (run, point) => {
      try {
        await run.step('s', () => {
          throw new RangeError('too far')
        })
      } catch (error) {
        errors.push(error)
      }
      await point()
      return undefined
    })
    expect(errors).toMatchObject([
      { name: 'RangeError', message: 'too far' },
      { name: 'RangeError', message: 'too far' },
    ])
  })

  test('continues parallel steps in the order of the log', async () => {
    const done: string[] = []
    let isSecond = false
    const { b, id } = await survive(async (run, point) => {
      const order: string[] = []
      const slow = (name: string, turns: number): Promise<string> =>
        run.step(name, async () => {
          done.push(name)
          for (let count = 0; count < turns; count += 1) await Promise.resolve()
          return name
        })
      const chain = async (name: string, turns: number): Promise<void> => {
        await slow(name, turns)
        order.push(name)
        await slow(`${name}-2`, 1)
        order.push(`${name}-2`)
      }
      await Promise.all([chain('a', isSecond ? 1 : 9), chain('b', 1)])
      isSecond = true
      await point()
      return order.join()
    })
    expect(done).toHaveLength(4)
    expect(await resultOf(b, id)).toHaveLength(1)
  })

  test('fails where the code asks for something else than its history', async () => {
    const here: Execute = async (run) => {
      await run.step('old', () => 1)
      await new Promise(() => undefined)
    }
    const there: Execute = async (run) => {
      await run.step('new', () => 2)
    }
    const { a, b, clock } = replicas([here, there])
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await pass(clock, async () => (await stateAt(b, id)) === 'failed')
    const recorded = (await b.tasks.journal(id)).find(({ entry }) => entry.kind === 'step')
    const generation = recorded?.generation ?? 0
    expect(generation).toBeGreaterThan(0)
    expect(b.errors).toMatchObject([
      {
        error: {
          code: 'JOURNAL_MISMATCH',
          message: `The journal has "step old#1" at generation ${generation}, and execute() asked for "step new#1": use run.changed() where a deployed function changes`,
          data: { taskId: id, generation, recorded: 'step old#1', asked: 'step new#1' },
        },
      },
    ])
  })

  test('keeps to the old way of a function that has changed', async () => {
    const here: Execute = async (run) => {
      await run.step('first', () => 1)
      await run.step('last', () => 2)
      await new Promise(() => undefined)
    }
    const there: Execute = async (run) => {
      await run.step('first', () => 1)
      const isNew = run.changed('check')
      if (isNew) await run.step('check', () => 'checked')
      await run.step('last', () => 2)
      return String(isNew)
    }
    const { a, b, clock } = replicas([here, there])
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['false'])
    const later = await send(b, 'again')
    expect(textOf(later.artifacts?.[0] ?? { parts: [] })).toBe('true')
  })
})

describe('a step', () => {
  test('that throws is tried again, and what it showed is replaced', async () => {
    let attempts = 0
    const { a, clock } = replicas(async (run) => {
      run.artifact({ artifactId: 'x', parts: [{ text: 'begin' }] })
      await run.step(
        'flaky',
        ({ attempt, key }) => {
          attempts += 1
          expect(key).toBe(`${run.taskId}/flaky#1`)
          run.artifact({ artifactId: 'x', parts: [{ text: ` try ${attempt}` }] })
          if (attempt < 3) throw new Error('not yet')
        },
        { retry: { attempts: 3 } },
      )
    })
    const { id } = await begin(a, 'go')
    await pass(clock, async () => (await stateAt(a, id)) === 'completed')
    expect(attempts).toBe(3)
    expect(await resultOf(a, id)).toEqual(['begin try 3'])
  })

  test('that takes too long fails, and its signal aborts', async () => {
    const reasons: unknown[] = []
    const { a, clock } = replicas(async (run) => {
      await run.step(
        'slow',
        ({ signal }) =>
          new Promise<undefined>(() => signal.addEventListener('abort', () => reasons.push(signal.reason))),
        { timeoutMs: 2_000 },
      )
    })
    const { id } = await begin(a, 'go')
    await pass(clock, async () => (await stateAt(a, id)) === 'failed')
    expect(reasons).toMatchObject([{ code: 'REQUEST_TIMED_OUT' }])
  })
})
