/** What steps write: artifacts with and without ids, one after the other and in parallel, attempt after attempt. */
import { TaskManager, type Task } from 'a2a-tasks'
import type { Execute, Run } from 'a2a-tasks/server'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { begin, pass, replicas, settle, stateAt } from '../durable/support/replicas.js'
import { agent, MANAGERS, textsOf } from './support/managers.js'

const RETRY = { retry: { attempts: 2, backoff: { initialMs: 50 } } }

/** Writes the words as chunks of one artifact without an id of its own. */
async function stream(run: Run, words: readonly string[]): Promise<void> {
  let artifactId: string | undefined
  for (const text of words) {
    artifactId = run.artifact({ artifactId, parts: [{ text }] })
    await turn()
  }
}

/** The texts of the artifacts with these ids. */
function textsWith(task: Task, ...ids: readonly string[]): string[] {
  return ids.flatMap((id) =>
    textsOf({ ...task, artifacts: task.artifacts.filter(({ artifactId }) => artifactId === id) }),
  )
}

test('a long step that ends an attempt of execute leaves no chunk twice, whatever ends beside it', async () => {
  // More than the log in memory keeps.
  const chunks = 1_100
  const { say, reaches } = await agent(
    (clock) => new TaskManager({ clock }),
    async (run) => {
      const write = (artifactId: string): void => {
        for (let chunk = 0; chunk < chunks; chunk += 1) run.artifact({ artifactId, parts: [{ text: '.' }] })
      }
      const thrown = new Error('Not yet')
      await run
        .step('caught', () => {
          run.artifact({ artifactId: 'caught', parts: [{ text: 'caught' }] })
          throw thrown
        })
        .catch(() => undefined)
      await Promise.all([
        run.step('quick', async () => {
          write('quick')
          await turn()
        }),
        run.step('long', async () => {
          write('long')
          for (let turns = 0; turns < 20; turns += 1) await turn()
          if (run.attempt === 1) throw thrown
        }),
      ])
      await run.step('last', () => {
        write('last')
        if (run.attempt === 2) throw thrown
      })
    },
    { retry: { attempts: 3, backoff: { initialMs: 1 } } },
  )
  const task = await reaches(await say('go'), 'completed')
  const dots = '.'.repeat(chunks)
  expect(textsWith(task, 'caught', 'quick', 'long', 'last')).toEqual(['caught', dots, dots, dots])
})

test('a long step that comes first and ends an attempt of execute leaves no chunk twice', async () => {
  const { say, reaches } = await agent(
    (clock) => new TaskManager({ clock }),
    async (run) => {
      await run.step('long', () => {
        for (let chunk = 0; chunk < 1_100; chunk += 1)
          run.artifact({ artifactId: 'a', parts: [{ text: '.' }] })
        if (run.attempt === 1) throw new Error('Not yet')
      })
    },
    { retry: { attempts: 2, backoff: { initialMs: 1 } } },
  )
  expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['.'.repeat(1_100)])
})

describe.each(MANAGERS)('over %s', (_, open) => {
  test('a step that is tried again leaves what a parallel step writes', async () => {
    const { say, reaches } = await agent(open, async (run) => {
      await Promise.all([
        run.step(
          'flaky',
          ({ attempt }) => {
            run.artifact({ artifactId: 'own', parts: [{ text: `${attempt};` }] })
            run.artifact({ artifactId: 'shared', parts: [{ text: `flaky ${attempt};` }] })
            if (attempt === 1) throw new Error('Not yet')
          },
          RETRY,
        ),
        run.step('writer', async () => {
          for (let chunk = 0; chunk < 6; chunk += 1) {
            run.artifact({ artifactId: 'log', parts: [{ text: `${chunk};` }] })
            run.artifact({ artifactId: 'shared', parts: [{ text: `${chunk};` }] })
            await turn()
          }
        }),
      ])
    })
    const task = await reaches(await say('go'), 'completed')
    const [log, own, shared] = textsWith(task, 'log', 'own', 'shared')
    expect([log, own]).toEqual(['0;1;2;3;4;5;', '2;'])
    expect(shared?.replace('flaky 2;', '')).toBe('0;1;2;3;4;5;')
  })

  test('what an attempt wrote that failed is gone when the step ends, unless it made the artifact', async () => {
    const { say, reaches } = await agent(open, async (run) => {
      run.artifact({ artifactId: 'log', parts: [{ text: 'kept' }] })
      await run.step(
        'flaky',
        ({ attempt }) => {
          if (attempt === 2) return
          run.artifact({ artifactId: 'log', parts: [{ text: ' gone' }] })
          throw new Error('Not yet')
        },
        RETRY,
      )
    })
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['kept'])
  })

  test('steps that write keep their own artifacts when execute throws between and after them', async () => {
    const execute =
      (throws: readonly number[]): Execute =>
      async (run) => {
        run.artifact('begun')
        await run.step('one', () => void run.artifact('report 1'))
        if (throws.includes(run.attempt)) throw new Error('Not yet')
        await Promise.all(
          ['a', 'b', 'c'].map((name) => run.step(name, () => stream(run, [name, '1 ', '2 ', '3 ']))),
        )
        run.artifact('then')
        if (throws.includes(-run.attempt)) throw new Error('Not yet')
        await run.step('one', () => void run.artifact('report 2'))
        return 'done'
      }
    const shown: unknown[] = []
    for (const throws of [[], [1, -2]]) {
      const { say, reaches } = await agent(open, execute(throws), { retry: { backoff: { initialMs: 1 } } })
      const task = await reaches(await say('go'), 'completed')
      expect(textsOf(task)).toEqual([
        ...['begun', 'report 1', 'a1 2 3 ', 'b1 2 3 ', 'c1 2 3 ', 'then', 'report 2', 'done'],
      ])
      expect(new Set(task.artifacts.map(({ artifactId }) => artifactId)).size).toBe(8)
      shown.push(task.artifacts.length)
    }
    expect(shown).toEqual([8, 8])
  })

  test('what code shows between the call of a step and its end is not shown again', async () => {
    const { say, reaches } = await agent(
      open,
      async (run) => {
        const step = run.step('slow', () => turn())
        run.artifact({ artifactId: 'log', parts: [{ text: 'looking ' }] })
        run.artifact('looking')
        await step
        run.artifact({ artifactId: 'log', parts: [{ text: 'found' }] })
        if (run.attempt === 1) throw new Error('Not yet')
      },
      { retry: { backoff: { initialMs: 1 } } },
    )
    expect(textsOf(await reaches(await say('go'), 'completed'))).toEqual(['looking found', 'looking'])
  })

  test('an attempt that has failed writes nothing any more', async () => {
    const { say, reaches, clock } = await agent(open, async (run) => {
      let goOn = (): void => undefined
      await run.step(
        'slow',
        async ({ attempt }) => {
          run.artifact({ artifactId: 'log', parts: [{ text: `begun ${attempt};` }] })
          if (attempt === 2) {
            goOn()
            return
          }
          await new Promise<void>((resolve) => (goOn = resolve))
          run.artifact({ artifactId: 'log', parts: [{ text: 'late;' }] })
        },
        { ...RETRY, timeoutMs: 1_000 },
      )
      await turn()
    })
    const id = await say('go')
    clock.advance(1_000)
    expect(textsOf(await reaches(id, 'completed'))).toEqual(['begun 2;'])
  })
})

test('a restart at a question loses nothing that steps have written', async () => {
  const execute: Execute = async (run) => {
    await run.step('a', () => void run.artifact('FILE'))
    await run.requireInput('go on?')
    await run.step('b', () => void run.artifact('SECOND'))
    return 'answer'
  }
  const { a, b, clock } = replicas(execute)
  const { id } = await begin(a, 'go')
  await pass(clock, async () => (await stateAt(a, id)) === 'input-required')
  await a.handler.close()
  await a.tasks.destroy()
  await begin(b, 'yes', id)
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  const task = await b.tasks.getTask(id)
  expect(task && textsOf(task)).toEqual(['FILE', 'SECOND', 'answer'])
})

test('a process that dies in a step undoes its chunks from before an entry of a parallel step', async () => {
  let isDead = false
  const execute: Execute = async (run) => {
    const long = run.step('long', async () => {
      run.artifact({ artifactId: 'named', parts: [{ text: 'one ' }] })
      const artifactId = run.artifact('one ')
      if (!isDead) await new Promise(() => undefined)
      run.artifact({ artifactId: 'named', parts: [{ text: 'two' }] })
      run.artifact({ artifactId, parts: [{ text: 'two' }] })
    })
    await run.step('quick', () => void run.artifact('quick'))
    await long
  }
  const { a, b, clock } = replicas(execute, { manager: { recover: 'resume' } })
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  isDead = true
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  const task = await b.tasks.getTask(id)
  expect(task && textsOf(task)).toEqual(['one two', 'one two', 'quick'])
})
