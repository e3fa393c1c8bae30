/** Two waits one after the other, of every two kinds: the script goes on, wherever a process dies. */
import { testDurable, type TestDurableOptions } from 'a2a-tasks/testing'
import { textOf, type Run } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { runsAll } from '../support/samples.js'
import { airline, withNewAgents } from './functions.js'

type Said = TestDurableOptions['messages'][number]

interface Kind {
  readonly wait: (run: Run, n: number) => Promise<unknown>
  /** What the user or other code says meanwhile. */
  readonly says?: (n: number) => Said
  readonly result: (n: number) => string
}

const KINDS: Record<string, Kind> = {
  question: {
    wait: async (run, n) => textOf(await run.requireInput(`Question ${n}?`)),
    says: (n) => `answer ${n}`,
    result: (n) => `answer ${n}`,
  },
  signal: {
    wait: (run) => run.waitFor('news'),
    says: (n) => ({ signal: 'news', value: `signal ${n}` }),
    result: (n) => `signal ${n}`,
  },
  sleep: { wait: (run) => run.sleep('pause', { ms: 600_000 }), result: () => 'nothing' },
  step: { wait: (run, n) => run.step('work', () => `step ${n}`), result: (n) => `step ${n}` },
  delegation: {
    wait: async (run, n) => (await run.delegate('fly', airline, `City ${n}`)).text,
    result: (n) => `Booked City ${n}`,
  },
}

// Only after a question or a signal can the script miss what a dying process has stored.
const FIRST = runsAll ? Object.keys(KINDS) : ['question', 'signal']
const PAIRS = FIRST.flatMap((first) => Object.keys(KINDS).map((second) => [first, second]))

test.each(PAIRS)('a %s, then a %s', { timeout: 240_000 }, async (...names) => {
  const kinds = names.flatMap((name) => KINDS[name] ?? [])
  const says = kinds.flatMap(({ says: said }, n) => (said === undefined ? [] : [said(n)]))
  const { task } = await testDurable(
    async (run) => {
      const results: unknown[] = []
      for (const [n, { wait }] of kinds.entries()) results.push((await wait(run, n)) ?? 'nothing')
      return results.join()
    },
    { messages: ['go', ...says], createStore: withNewAgents() },
  )
  const text = kinds.map(({ result }, n) => result(n)).join()
  expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text }] }] })
})
