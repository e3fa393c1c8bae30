/** Tasks that wait for the user: their number and their time are limited, over each kind of manager. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { inTime, MANAGERS, type Agents } from './support.js'
import {
  as,
  BINDINGS,
  call,
  stateName,
  taskOf,
  user,
  type Binding,
  type Reachable,
} from '../spec/support/agent.js'

const ask = {
  execute: (run: { requireInput: (text: string) => Promise<unknown> }) => void run.requireInput('?'),
}
const HOUR_MS = 3_600_000

describe.each(MANAGERS)('over %s', (_, open) => {
  describe.each(BINDINGS)('$name:', (binding) => {
    test('a task that waits for too long is canceled, and says why', async () => {
      const agents = await open(ask.execute, { limits: { waitingTimeoutMs: HOUR_MS } })
      const id = await begin(binding, agents.a, 'ada')
      await passing(agents, HOUR_MS - 1_000)
      const other = await begin(binding, agents.a, 'ada')
      expect(await statesOf(binding, agents, [id, other])).toEqual(['input-required', 'input-required'])
      await passing(agents, 62_000)
      expect(await statesOf(binding, agents, [id, other])).toEqual(['canceled', 'input-required'])
      const { result } = await call(binding, agents.a, 'GetTask', { id }, as('ada'))
      expect(result?.status.message?.parts).toEqual([{ text: 'Canceled: no answer came in time' }])
      expect(agents.errors).toEqual([])
    })

    test('a task that is answered in time waits for as long again', async () => {
      const agents = await open(ask.execute, { limits: { waitingTimeoutMs: HOUR_MS } })
      const taskId = await begin(binding, agents.a, 'ada')
      await passing(agents, HOUR_MS - 60_000)
      await answered(binding, agents, taskId)
      await passing(agents, HOUR_MS - 60_000)
      expect(await statesOf(binding, agents, [taskId])).toEqual(['input-required'])
    })

    test('without a limit of time a task waits on', async () => {
      const agents = await open(ask.execute, { limits: { waitingTimeoutMs: Infinity } })
      const id = await begin(binding, agents.a, 'ada')
      await passing(agents, 1_000 * HOUR_MS)
      expect(await statesOf(binding, agents, [id])).toEqual(['input-required'])
    })

    test('of too many waiting tasks, those of the user with the most are canceled, the oldest first', async () => {
      const agents = await open(ask.execute, { limits: { maxWaitingTasks: 3, waitingTimeoutMs: Infinity } })
      const ids: string[] = []
      for (const name of ['bob', 'ada', 'ada', 'ada', 'cleo']) {
        ids.push(await begin(binding, agents.a, name))
        await passing(agents, 60_000)
      }
      const [bobs = '', ...others] = ids
      const cleos = others.pop() ?? ''
      const names = ['bob', 'ada', 'ada', 'ada', 'cleo']
      const states = await statesOf(binding, agents, [bobs, ...others, cleos], names)
      expect(states).toEqual(['input-required', 'canceled', 'canceled', 'input-required', 'input-required'])
      const { result } = await call(binding, agents.a, 'GetTask', { id: others[0] ?? '' }, as('ada'))
      expect(result?.status.message?.parts).toEqual([{ text: 'Canceled: too many tasks wait for an answer' }])
      expect(agents.errors).toEqual([])
    })
  })

  test('a run that waits for the answer learns that its task was canceled', async () => {
    const reasons: unknown[] = []
    const agents = await open(
      async (run) => {
        await run.requireInput('?').catch((reason: unknown) => reasons.push(reason))
        expect(run.signal.aborted).toBe(true)
      },
      { limits: { waitingTimeoutMs: HOUR_MS } },
    )
    const [binding] = BINDINGS as readonly [Binding]
    await begin(binding, agents.a, 'ada')
    await passing(agents, 2 * HOUR_MS)
    expect(reasons).toMatchObject([{ code: 'TASK_CANCELED' }])
    expect(agents.errors).toEqual([])
  })

  test('tasks that work are neither counted nor canceled', async () => {
    const agents = await open(
      async (run) => {
        run.start()
        await new Promise(() => {})
      },
      { limits: { maxWaitingTasks: 1, waitingTimeoutMs: HOUR_MS } },
    )
    const [binding] = BINDINGS as readonly [Binding]
    const ids = [await begin(binding, agents.a, 'ada'), await begin(binding, agents.a, 'ada')]
    await passing(agents, 2 * HOUR_MS)
    expect(await statesOf(binding, agents, ids)).toEqual(['working', 'working'])
  })
})

test('a closed handler over a store leaves tasks to the others', async () => {
  const [, [, open]] = MANAGERS
  const agents = await open(ask.execute, { limits: { waitingTimeoutMs: HOUR_MS } })
  const [binding] = BINDINGS as readonly [Binding]
  const id = await begin(binding, agents.a, 'ada')
  await inTime(agents, (agents.a.handler as unknown as { close: () => Promise<void> }).close())
  await passing(agents, 2 * HOUR_MS)
  expect(await statesOf(binding, { ...agents, a: agents.b }, [id])).toEqual(['canceled'])
})

async function begin(binding: Binding, at: Reachable, name: string): Promise<string> {
  const configuration = { returnImmediately: true }
  return taskOf(await call(binding, at, 'SendMessage', { message: user('x'), configuration }, as(name))).id
}

async function answered(binding: Binding, agents: Agents, taskId: string): Promise<void> {
  const sending = call(binding, agents.a, 'SendMessage', { message: user('y', { taskId }) }, as('ada'))
  expect(stateName(taskOf(await inTime(agents, sending)).status.state)).toBe('input-required')
}

async function statesOf(
  binding: Binding,
  { a }: Pick<Agents, 'a'>,
  ids: readonly string[],
  names: readonly string[] = [],
): Promise<string[]> {
  const answers = ids.map((id, index) => call(binding, a, 'GetTask', { id }, as(names[index] ?? 'ada')))
  return (await Promise.all(answers)).map(({ result }) => stateName(result?.status.state ?? ''))
}

/** Lets time pass in steps, so that checks can read the store in between. */
async function passing({ clock }: Agents, ms: number): Promise<void> {
  const steps = 20
  for (let step = 0; step < steps; step++) {
    clock.advance(Math.ceil(ms / steps))
    for (let rest = 0; rest < 10; rest++) await turn()
  }
}
