/** Names of what a turn records. */
import type { Execute, Run } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { agent, MANAGERS, textsOf } from './support/managers.js'

const METHODS: Readonly<Record<string, (run: Run, name: never) => unknown>> = {
  step: (run, name) => run.step(name, () => 1),
  sleep: (run, name) => run.sleep(name, { ms: 0 }),
  signal: (run, name) => run.waitFor(name),
  change: (run, name) => run.changed(name),
}

test.each(Object.entries(METHODS))('a name of a %s that is none is refused', async (kind, call) => {
  const execute: Execute = async (run) => {
    const refused: string[] = []
    for (const name of ['', 'x'.repeat(201), 7, null, undefined, ['x']]) {
      try {
        await call(run, name as never)
      } catch (error) {
        refused.push(String(error))
      }
    }
    return refused.map((text) => text.replace(/: use run.*/, '')).join('\n')
  }
  const { task } = await testDurable(execute, { messages: ['go'] })
  const got = ['0', '201', 'a number', 'null', 'undefined', 'an array']
  const text = `TypeError: The name of a ${kind} must be a text of 1 to 200 characters, got `
  expect(textsOf(task)).toEqual([got.map((each) => text + each).join('\n')])
})

describe.each(MANAGERS)('over %s', (_, open) => {
  test('odd names are recorded, and are found by a fork', async () => {
    const names = [
      'x'.repeat(200),
      'a b',
      's#1',
      's',
      '__proto__',
      'constructor',
      'über\n',
      '\0',
      '\ud83d',
      '\ud83e',
      '🙂',
      '%2F/@1.2',
    ]
    const done: string[] = []
    const { say, reaches, tasks, journal } = await agent(open, async (run) => {
      for (const name of names) {
        await run.step(name, () => void done.push(name))
        await run.sleep(name, { ms: 0 })
        run.changed(name)
      }
      await run.step('last', () => 1)
      return 'done'
    })
    const id = await say('go')
    await reaches(id, 'completed')
    expect(done).toEqual(names)
    const last = (await journal(id)).findLast(({ entry }) => entry.kind === 'change')
    const fork = await tasks.fork(id, { generation: last?.generation })
    expect(textsOf(await reaches(fork.id, 'completed'))).toEqual(['done'])
    expect(done).toEqual(names)
  })

  test('a signal of an odd name is received by its name', async () => {
    const names = ['x'.repeat(200), 'a b', 's#1', 's', '__proto__', 'constructor', 'über\n', '\0', '🙂']
    const { say, reaches, tasks } = await agent(open, async (run) => {
      const values: unknown[] = []
      for (const name of names) values.push(await run.waitFor(name))
      return values.join()
    })
    const id = await say('go')
    await reaches(id, 'working')
    for (const name of [...names].reverse()) await tasks.signal(id, name, names.indexOf(name))
    expect(textsOf(await reaches(id, 'completed'))).toEqual([names.map((__, index) => index).join()])
  })
})
