/** Recorded methods that code calls, or whose work resolves, after its run is over. */
import type { JournalRecorded } from 'a2a-tasks'
import type { DelegationAgent, Run } from 'a2a-tasks/server'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gate } from '../../support/faulty-store.js'
import { begin, pass, replicas, settle } from '../durable/support/replicas.js'
import { agent, MANAGERS, type Agent, type Open } from './support/managers.js'

/** What was done after the end. Must stay empty. */
const done: string[] = []

const other: DelegationAgent = {
  card: { name: 'Other', url: 'https://other.example' },
  run: () => {
    done.push('delegate')
    throw new Error('It was called')
  },
} as unknown as DelegationAgent

const CALLS: Readonly<Record<string, (run: Run) => unknown>> = {
  step: (run) => run.step('late', () => done.push('step')),
  'step with retries': (run) =>
    run.step(
      'late',
      () => {
        done.push('step')
        throw new Error('No')
      },
      { retry: { attempts: 3 } },
    ),
  sleep: (run) => run.sleep('late', { ms: 60_000 }),
  waitFor: (run) => run.waitFor('late'),
  delegate: (run) => run.delegate('late', other, 'hi'),
  now: (run) => run.now(),
  random: (run) => run.random(),
  uuid: (run) => run.uuid(),
  changed: (run) => run.changed('late'),
}

/** How a run ends, and the code of what its late calls reject with. */
const ENDS: readonly (readonly [string, string, (run: Run, agent: Agent) => unknown])[] = [
  ['has completed', 'TASK_TERMINAL', () => 'done'],
  ['has completed, with a step', 'TASK_TERMINAL', (run) => run.step('first', () => 1).then(() => 'done')],
  ['has ended with a question', 'LEASE_LOST', (run) => void run.requireInput('And?')],
  [
    'was canceled',
    'TASK_CANCELED',
    async (run, { tasks }) => {
      await run.step('first', () => 1)
      await tasks.cancelTask(run.taskId)
    },
  ],
  [
    'was canceled, and whose code goes on',
    'TASK_CANCELED',
    async (run, { tasks }) => {
      await run.step('first', () => 1)
      await tasks.cancelTask(run.taskId)
      await new Promise(() => undefined)
    },
  ],
]

interface Over extends Agent {
  readonly run: Run
  readonly id: string
  readonly before: JournalRecorded[]
}

/** A run that is over. */
async function over(open: Open, end: (run: Run, agent: Agent) => unknown): Promise<Over> {
  done.length = 0
  const runs: Run[] = []
  const made: Agent = await agent(open, async (run) => {
    runs.push(run)
    // The second turn of a task lasts.
    if (run.text === 'next') await new Promise(() => undefined)
    return (await end(run, made)) as undefined
  })
  const id = await made.say('go')
  await rest()
  const [run] = runs
  if (run === undefined) throw new Error('It did not begin')
  return { ...made, run, id, before: await made.journal(id) }
}

describe.each(MANAGERS)('over %s', (_, open) => {
  describe.each(ENDS)('a run that %s', (_end, code, end) => {
    test.each(Object.entries(CALLS))('refuses %s, does nothing and keeps nothing', async (_name, late) => {
      const { run, id, journal, clock, before } = await over(open, end)
      const { pending } = clock
      const refusal = new Promise((resolve) => resolve(late(run)))
      await expect(refusal).rejects.toMatchObject({ code })
      await rest()
      expect(done).toEqual([])
      expect(await journal(id)).toEqual(before)
      expect(clock.pending).toBe(pending)
    })
  })

  test('calls that nothing awaits are no unhandled rejections', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (error: unknown): unknown => unhandled.push(error)
    process.on('unhandledRejection', onUnhandled)
    onTestFinished(() => void process.off('unhandledRejection', onUnhandled))
    const { run } = await over(open, () => 'done')
    for (const name of ['step', 'step with retries', 'sleep', 'waitFor', 'delegate'])
      expect(() => CALLS[name]?.(run)).not.toThrow()
    await rest()
    expect(unhandled).toEqual([])
  })

  test('a late call of a turn changes nothing in the next turn of its task', async () => {
    const { run, id, journal, say, reaches } = await over(open, (run) => void run.requireInput('And?'))
    await say('next', id)
    await reaches(id, 'working')
    const before = await journal(id)
    for (const late of Object.values(CALLS))
      await expect(new Promise((resolve) => resolve(late(run)))).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(done).toEqual([])
    expect(await journal(id)).toEqual(before)
  })

  test.each([
    ['has completed', 'TASK_TERMINAL', (): string => 'done'],
    ['has ended with a question', 'LEASE_LOST', (run: Run) => void run.requireInput('And?')],
  ])('work that resolves after the run %s is not recorded', async (_end, code, end) => {
    const { opened, open: resolve } = gate()
    let step: Promise<unknown> | undefined
    const { id, journal, before, say, reaches } = await over(open, (run) => {
      step = run.step('slow', () => opened)
      return end(run)
    })
    if (code === 'LEASE_LOST') {
      await say('next', id)
      await reaches(id, 'working')
    }
    const begun = await journal(id)
    resolve()
    await expect(step).rejects.toMatchObject({ code })
    expect(begun.slice(0, before.length)).toEqual(before)
    expect(await journal(id)).toEqual(begun)
  })

  test('a step that pauses between attempts is not tried again after the run', async () => {
    const attempts: number[] = []
    let step: Promise<unknown> | undefined
    const { clock, id, journal, before } = await over(open, async (run) => {
      const fails = ({ attempt }: { readonly attempt: number }): never => {
        attempts.push(attempt)
        throw new Error('No')
      }
      step = run.step('flaky', fails, {
        retry: { attempts: 3, backoff: { initialMs: 3_000 } },
      })
      await turn()
      return 'done'
    })
    await expect(step).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
    clock.advance(6_000)
    await rest()
    expect(attempts).toEqual([1])
    expect(await journal(id)).toEqual(before)
  })
})

test.each(MANAGERS.slice(2))('a late transaction over %s is refused, and does nothing', async (_, open) => {
  const { run, id, journal, before } = await over(open, () => 'done')
  const late = run.transaction('late', () => done.push('transaction'))
  await expect(late).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
  expect(done).toEqual([])
  expect(await journal(id)).toEqual(before)
})

test('a run whose lease is lost refuses its calls with the reason, and does nothing', async () => {
  done.length = 0
  const begun: Run[] = []
  const execute = async (run: Run): Promise<void> => {
    begun.push(run)
    await run.step('first', () => 1)
    await new Promise(() => undefined)
  }
  const { a, b, clock } = replicas(execute, { manager: { recover: 'resume' } })
  const { id } = await begin(a, 'go')
  await settle()
  const [lost] = begun
  if (lost === undefined) throw new Error('It did not begin')
  // Its renewals do not arrive.
  a.store.fail('renew')
  await pass(clock, () => begun.length === 2)
  a.store.mend()
  await pass(clock, () => lost.signal.aborted)
  const before = await b.tasks.journal(id)
  for (const late of Object.values(CALLS)) {
    const refusal = new Promise((resolve) => resolve(late(lost)))
    await expect(refusal).rejects.toBe(lost.signal.reason)
  }
  expect(done).toEqual([])
  expect(lost.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
  expect(await b.tasks.journal(id)).toEqual(before)
  void Promise.all([a, b].map(({ handler }) => handler.close({ graceMs: 1 })))
  clock.advance(1)
})

/** Until everything is stored. */
async function rest(): Promise<void> {
  for (let turns = 0; turns < 60; turns += 1) await turn()
}
