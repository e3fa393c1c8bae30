/** Budgets of owners and of the agent over windows: what is refused, what fails, and what replicas know of each other. */
import { A2AError, spendingOf, TaskManager, type Task } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { createRequestHandler, type BudgetExceeded } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { pass } from '../durable/support/replicas.js'
import { user } from '../spec/support/agent.js'
import { DAY, serve, type Agent } from './support/spender.js'

const managers = [
  ['memory', (clock: ManualClock) => new TaskManager({ clock })],
  [
    'a store',
    (clock: ManualClock) => new DurableTaskManager({ store: memoryStore({ now: () => clock.now() }), clock }),
  ],
] as const

const saidBy = ({ message }: Task): string =>
  typeof message === 'object' ? message.parts.map(({ text = '' }) => text).join('') : (message ?? '')

describe.each(managers)('over %s, an owner', (_, open) => {
  const limits = { ownerBudget: { amounts: { cost: 1 }, perMs: DAY } }

  test('who has spent the budget is refused until the next window, and no other one is', async () => {
    const clock = new ManualClock(DAY * 20_000 + DAY / 2)
    const a = serve(open(clock), clock, { limits })
    expect((await a.say('ann', '0.3 0.3')).state).toBe('completed')
    expect((await a.say('ann', '0.4')).state).toBe('completed')
    expect(await a.refusal('ann', '0')).toMatchObject({
      message: 'You have spent 1 cost of a budget of 1 for now: retry after 43200 seconds',
      details: expect.arrayContaining([
        expect.objectContaining({
          reason: 'BUDGET_EXCEEDED',
          metadata: {
            ...{ limit: 'limits.ownerBudget', unit: 'cost', max: '1', spent: '1' },
            retryAfterMs: String(DAY / 2),
          },
        }),
      ]) as unknown,
    })
    expect((await a.say('bob', '0.4')).state).toBe('completed')
    clock.advance(DAY / 2)
    expect((await a.say('ann', '0.4')).state).toBe('completed')
    expect(a.errors).toEqual([])
  })

  test('has a task that fails when it spends more, with other tasks', async () => {
    const clock = new ManualClock(DAY)
    const a = serve(open(clock), clock, { limits })
    await a.say('ann', '0.9')
    const task = await a.say('ann', '0.1 0.2 0.3')
    expect([task.state, saidBy(task)]).toEqual([
      'failed',
      'You have spent 1.2 cost of a budget of 1 for now: retry after 86400 seconds',
    ])
    expect(spendingOf(task)?.total).toEqual({ cost: 0.3 })
    const [reason] = a.errors
    expect(A2AError.is(reason, 'BUDGET_EXCEEDED') && reason.data).toEqual({
      ...{ taskId: task.id, limit: 'limits.ownerBudget', unit: 'cost', max: 1, spent: 1.2 },
      retryAfterMs: DAY,
    })
  })

  test('gets what onBudget adds, for all tasks of the window', async () => {
    const asked: Omit<BudgetExceeded, 'task'>[] = []
    const clock = new ManualClock(DAY)
    const a = serve(open(clock), clock, {
      limits: { ...limits, budget: { cost: 5 } },
      onBudget({ task, ...exceeded }) {
        asked.push(exceeded)
        return exceeded.limit === 'limits.ownerBudget' && task.owner === 'ann' ? { cost: 1 } : undefined
      },
    })
    const task = await a.say('ann', '0.9 0.9')
    expect([task.state, spendingOf(task)?.granted]).toEqual(['completed', undefined])
    expect((await a.say('ann', '0.1')).state).toBe('completed')
    expect(asked).toEqual([{ limit: 'limits.ownerBudget', unit: 'cost', max: 1, spent: 1.8 }])
    clock.advance(DAY)
    expect((await a.say('bob', '1 0.1')).state).toBe('failed')
  })

  test('may not answer a question after it is spent, and the task waits on', async () => {
    const clock = new ManualClock(DAY)
    const a = serve(open(clock), clock, { limits: { ...limits, waitingTimeoutMs: Infinity } })
    const { id, state } = await a.say('ann', '0.2 ? 0.1')
    expect(state).toBe('input-required')
    await a.say('ann', '0.8')
    expect(await a.refusal('ann', 'yes', id)).toMatchObject({
      message: expect.stringMatching(/^You have/) as unknown,
    })
    expect((await a.tasks.getTask(id))?.state).toBe('input-required')
    clock.advance(DAY)
    expect((await a.say('ann', 'yes', id)).state).toBe('completed')
  })

  test('does not learn what all have spent together', async () => {
    const clock = new ManualClock(DAY)
    const a = serve(open(clock), clock, { limits: { agentBudget: { amounts: { cost: 0.5 }, perMs: DAY } } })
    await a.say('ann', '0.25')
    const task = await a.say('bob', '0.375')
    expect([task.state, saidBy(task)]).toEqual([
      'failed',
      'The agent has spent its budget of cost for now: retry after 86400 seconds',
    ])
    const refused = JSON.stringify(await a.refusal('eve', '0'))
    expect(refused).toContain('limits.agentBudget')
    expect(refused).not.toMatch(/0\.625|0\.5/)
  })
})

test('HTTP says when to come again', async () => {
  const clock = new ManualClock(DAY)
  const { handler, say } = serve(new TaskManager({ clock }), clock, {
    limits: { ownerBudget: { amounts: { cost: 1 }, perMs: DAY } },
  })
  await say('ann', '1')
  const response = await handler.fetch(
    new Request('http://agent.test/message:send', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'ann' },
      body: JSON.stringify({ message: user('0') }),
    }),
  )
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '86400'])
})

describe('two replicas', () => {
  const limits = { ownerBudget: { amounts: { cost: 1 }, perMs: DAY } }

  function pair(): { a: Agent; b: Agent; clock: ManualClock; writes: string[] } {
    const clock = new ManualClock(DAY)
    const shared = memoryStore({ now: () => clock.now() })
    const writes: string[] = []
    const put = shared.putDocument.bind(shared)
    const store: TaskStore = Object.assign(shared, {
      putDocument(...[document, version]: Parameters<typeof put>) {
        if (document.kind.startsWith('budget:')) writes.push(document.kind)
        return put(document, version)
      },
    })
    const [a, b] = [0, 1].map(() => serve(new DurableTaskManager({ store, clock }), clock, { limits }))
    if (a === undefined || b === undefined) throw new Error('There are two')
    return { a, b, clock, writes }
  }

  /** Lets the replicas tell each other. */
  async function tell(clock: ManualClock): Promise<void> {
    for (let turns = 0; turns < 20; turns += 1) await turn()
    clock.advance(1_000)
    for (let turns = 0; turns < 20; turns += 1) await turn()
  }

  test('add up what they spend', async () => {
    const { a, b, clock } = pair()
    await a.say('ann', '0.6')
    await tell(clock)
    // What the other one spends is known when work begins.
    expect((await b.say('ann', '0.3 0.3')).state).toBe('failed')
    await tell(clock)
    for (const at of [a, b]) {
      const refused = await at.refusal('ann', '0')
      expect(refused).toMatchObject({ message: expect.stringContaining('spent 1.2 cost') as unknown })
    }
    expect((await b.say('bob', '1')).state).toBe('completed')
  })

  test('know what one has spent that is gone, and what it had granted', async () => {
    const { a, b, clock } = pair()
    await a.say('ann', '0.6 0.4')
    let isClosed = false
    const closed = a.handler.close({ graceMs: 1 }).finally(() => (isClosed = true))
    await pass(clock, () => isClosed)
    await closed
    expect(await b.refusal('ann', '0')).toMatchObject({
      message: expect.stringMatching(/^You have spent 1 /) as unknown,
    })
  })

  test('keep the sum when the task goes beside which it is kept', async () => {
    const { a, b, clock } = pair()
    const { id } = await a.say('ann', '0.6')
    await tell(clock)
    await a.tasks.deleteTask(id)
    await a.say('ann', '0.3')
    await tell(clock)
    expect((await b.say('ann', '0.2')).state).toBe('failed')
  })

  test('write once a second, however often they spend', async () => {
    const { a, clock, writes } = pair()
    await a.say('ann', Array.from({ length: 200 }, () => '0.001').join(' '))
    await tell(clock)
    await tell(clock)
    expect(writes.length).toBeGreaterThan(0)
    expect(writes.length).toBeLessThan(4)
  })
})

test.each<[object, string]>([
  [
    { ownerBudget: { cost: 5 } },
    'TypeError: Unknown option "limits.ownerBudget.cost" of createRequestHandler',
  ],
  [
    { agentBudget: { amounts: { cost: -1 }, perMs: DAY } },
    'RangeError: "limits.agentBudget.amounts.cost" must be a number of 0 or more, got -1',
  ],
  [
    { ownerBudget: { amounts: { cost: 1 }, perMs: 9_999 } },
    'RangeError: "limits.ownerBudget.perMs" must be at least 10000, got 9999',
  ],
  [
    { ownerBudget: { amounts: { cost: 1 } } },
    'TypeError: "limits.ownerBudget.perMs" must be a positive integer, got undefined',
  ],
])('a budget over a window that cannot be kept is refused: %#', (limits, error) => {
  const serving = (): unknown =>
    createRequestHandler({ card: { name: 'Agent', url: 'http://agent.test' }, execute: () => 'x', limits })
  let refused: unknown
  try {
    serving()
  } catch (thrown) {
    refused = thrown
  }
  expect(String(refused)).toContain(error)
})
