/** Attempts of a step, and the processes that make them. */
import { type Execute } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { begin, get, pass, replicas, settle, type Replica } from '../durable/support/replicas.js'
import { stateName } from '../spec/support/agent.js'
import { textsOf } from './support/managers.js'

/** Longer than a lease, which lasts 30 s. */
const BACKOFF = { initialMs: 600_000, maxMs: 600_000 }

interface Attempt {
  readonly by: string
  readonly attempt: number
  readonly key: string
}

/** Both processes run this function. `outcomeOf` says how an attempt ends. */
function flaky(
  outcomeOf: (attempt: Attempt) => 'throws' | 'hangs' | 'ends',
  retry: { readonly attempts: number; readonly backoff?: object },
): { readonly made: Attempt[]; readonly executes: readonly [Execute, Execute] } {
  const made: Attempt[] = []
  const executeBy =
    (by: string): Execute =>
    async (run) => {
      await run.step('before', () => by)
      await run.step(
        'flaky',
        async ({ attempt, key }) => {
          const present = { by, attempt, key }
          made.push(present)
          run.artifact({ artifactId: 'log', parts: [{ text: `${by}${attempt} ` }] })
          const outcome = outcomeOf(present)
          if (outcome === 'throws') throw new Error('Not yet')
          if (outcome === 'hangs') await new Promise(() => undefined)
        },
        { retry },
      )
      return 'done'
    }
  return { made, executes: [executeBy('a'), executeBy('b')] }
}

test('count from 1 in a process that continues after a crash, with the same key', async () => {
  const { made, executes } = flaky(
    ({ by, attempt }) => (attempt === 3 ? 'ends' : by === 'a' && attempt === 2 ? 'hangs' : 'throws'),
    { attempts: 3, backoff: { initialMs: 10 } },
  )
  const { a, b, clock } = replicas(executes, { manager: { recover: 'resume' } })
  const { id } = await begin(a, 'go')
  await pass(clock, () => made.length === 2)
  a.store.fail()
  await pass(clock, async () => stateName((await get(b, id)).status.state) === 'completed')
  expect(made.map(({ by, attempt }) => `${by}${attempt}`)).toEqual(['a1', 'a2', 'b1', 'b2', 'b3'])
  expect(new Set(made.map(({ key }) => key)).size).toBe(1)
  expect(await attemptsOf(b, id)).toBe(3)
  const task = await b.tasks.getTask(id)
  expect(task && textsOf(task)).toEqual(['b3 ', 'done'])
})

/** The step throws at the first process, and ends at others. */
const flakyAtA = (): ReturnType<typeof flaky> =>
  flaky(({ by }) => (by === 'a' ? 'throws' : 'ends'), { attempts: 3, backoff: BACKOFF })

test('a process that dies in a pause longer than its lease: another one tries again at once', async () => {
  const { made, executes } = flakyAtA()
  const { a, b, clock } = replicas(executes, { manager: { recover: 'resume' } })
  const { id } = await begin(a, 'go')
  await settle()
  const begun = clock.now()
  a.store.fail()
  await pass(clock, async () => stateName((await get(b, id)).status.state) === 'completed')
  expect(clock.now() - begun).toBeLessThan(BACKOFF.initialMs)
  // The dead process goes on to pause, and its next attempt finds that the task is not its own.
  a.store.mend()
  for (let minutes = 0; minutes < 30; minutes += 1) {
    clock.advance(60_000)
    await settle()
  }
  expect(made.map(({ by, attempt }) => `${by}${attempt}`)).toEqual(['a1', 'b1'])
  expect(await attemptsOf(b, id)).toBe(1)
  const task = await b.tasks.getTask(id)
  expect(task && textsOf(task)).toEqual(['b1 ', 'done'])
})

test('a process that lives keeps its task in a pause longer than its lease', async () => {
  const { made, executes } = flaky(({ attempt }) => (attempt === 1 ? 'throws' : 'ends'), {
    attempts: 2,
    backoff: BACKOFF,
  })
  const { a, b, clock } = replicas(executes, { manager: { recover: 'resume' } })
  const { id } = await begin(a, 'go')
  await pass(clock, async () => stateName((await get(b, id)).status.state) === 'completed')
  expect(made.map(({ by, attempt }) => `${by}${attempt}`)).toEqual(['a1', 'a2'])
  expect(await attemptsOf(b, id)).toBe(2)
})

test('a process that closes in a pause leaves the step to another one', async () => {
  const { made, executes } = flakyAtA()
  const { a, b, clock } = replicas(executes, { manager: { recover: 'resume' } })
  const { id } = await begin(a, 'go')
  await settle()
  const closed = a.handler.close({ graceMs: 1_000 })
  await pass(clock, async () => stateName((await get(b, id)).status.state) === 'completed')
  await closed
  expect(made.map(({ by, attempt }) => `${by}${attempt}`)).toEqual(['a1', 'b1'])
})

/** How many attempts the history has of the step. */
async function attemptsOf({ tasks }: Replica, id: string): Promise<number | undefined> {
  const history = await tasks.journal(id)
  const entries = history.flatMap(({ entry }) =>
    entry.kind === 'step' && entry.name === 'flaky#1' ? [entry] : [],
  )
  expect(entries).toHaveLength(1)
  return entries[0]?.attempts
}
