/** What code spends: each amount once, whatever dies. */
import { spendingOf, TaskManager, type Task } from 'a2a-tasks'
import { A2AClient, type RemoteTask } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, textOf, type Execute, type Principal } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { expect, onTestFinished, test } from 'vitest'

type Tasks = TaskManager | DurableTaskManager

function serve(tasks: Tasks, execute: Execute): A2AClient {
  const handler = createRequestHandler<Principal, Tasks>({
    card: { name: 'Agent', url: 'http://agent.test' },
    ...{ tasks, execute, anonymous: 'shared' },
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 })
    await tasks.destroy()
  })
  return new A2AClient({ card: handler.card, fetch: (url, init) => handler.fetch(new Request(url, init)) })
}

const managers = [
  ['memory', () => new TaskManager()],
  ['a store', () => new DurableTaskManager({ store: memoryStore() })],
] as const

test.each(managers)(
  'is on the task that clients get, and in the journal with its step, over %s',
  async (_, open) => {
    const tasks = open()
    const client = serve(tasks, async (run) => {
      run.spend({ searches: 1 })
      await run.step('draft', async () => {
        run.spend({ model: 'small', inputTokens: 10, outputTokens: undefined })
        await Promise.resolve()
        run.spend({ model: 'large', inputTokens: 5, cost: 0.5 })
      })
      run.spend({ outputTokens: undefined })
      return 'done'
    })
    const told: unknown[] = []
    const result = await client.run('go', {
      onUpdate: ({ task }) => told.push(spendingOf(task)?.total['inputTokens']),
    })
    const { task } = result as { readonly task?: RemoteTask }
    expect(spendingOf(task)).toEqual({
      total: { searches: 1, inputTokens: 15, cost: 0.5 },
      models: { small: { inputTokens: 10 }, large: { inputTokens: 5, cost: 0.5 } },
    })
    expect(told).toEqual(expect.arrayContaining([undefined, 10, 15]))
    const entries = (await tasks.journal(task?.id ?? '')).map(({ entry }) => entry)
    expect(entries.filter(({ kind }) => kind === 'spend')).toEqual([
      { kind: 'spend', name: 'spend#1', units: { searches: 1 } },
      { kind: 'spend', step: 'draft#1', units: { inputTokens: 10 }, model: 'small' },
      { kind: 'spend', step: 'draft#1', units: { inputTokens: 5, cost: 0.5 }, model: 'large' },
    ])
  },
)

test.each(managers)('counts each attempt of a step, over %s', async (_, open) => {
  const client = serve(open(), async (run) => {
    const draft = ({ attempt }: { readonly attempt: number }): number => {
      run.spend({ cost: attempt })
      if (attempt < 3) throw new Error('Not yet')
      return attempt
    }
    return String(await run.step('draft', draft, { retry: { attempts: 3, backoff: { initialMs: 1 } } }))
  })
  const { task } = (await client.run('go')) as { readonly task?: RemoteTask }
  expect(spendingOf(task)?.total).toEqual({ cost: 6 })
})

test('outside of steps is counted once, at every crash; within a step, once for each time that its work began', async () => {
  let begun = 0
  const totals: (readonly [cost: number, searches: number])[] = []
  const execute: Execute = async (run) => {
    run.spend({ cost: 1, model: 'large' })
    run.artifact({ artifactId: 'log', parts: [{ text: 'Begun. ' }] })
    const step = run.step('search', async () => {
      run.spend({ searches: 1 })
      begun += 1
      run.artifact({ artifactId: 'found', parts: [{ text: 'one ' }] })
      await Promise.resolve()
      run.artifact({ artifactId: 'found', parts: [{ text: 'two ' }] })
    })
    run.artifact({ artifactId: 'log', parts: [{ text: 'Searched. ' }] })
    await step
    run.spend({ cost: 2 })
    const sure = textOf(await run.requireInput('Sure?'))
    run.spend({ cost: 4, model: 'large' })
    run.artifact({ artifactId: 'log', parts: [{ text: 'Sure. ' }] })
    return sure
  }
  const resultOf = ({ state, artifacts, messages, metadata }: Task): unknown => {
    const { total, models } = spendingOf({ metadata }) ?? {}
    totals.push([total?.['cost'] ?? 0, (total?.['searches'] ?? 0) - begun])
    begun = 0
    return { state, artifacts, messages, cost: total?.['cost'], large: models?.['large'] }
  }
  const { task, crashPoints } = await testDurable(execute, { messages: ['go', 'yes'], resultOf })
  expect(crashPoints).toBeGreaterThan(10)
  expect(spendingOf(task)).toEqual({ total: { cost: 7, searches: 1 }, models: { large: { cost: 5 } } })
  for (const [cost, difference] of totals) {
    expect(cost).toBe(7)
    // A crash may come before the amount is stored.
    expect(difference).toBeLessThanOrEqual(0)
  }
})

test('lets a step get further, although each attempt records what it spends', async () => {
  const execute: Execute = (run) => run.step('model', () => run.spend({ cost: 1 }))
  const { task } = await testDurable(execute, { messages: ['go'] })
  expect(task.state).toBe('completed')
})

test('refuses what is no amount, and counts none of it', async () => {
  const refused: unknown[] = []
  const client = serve(new TaskManager(), (run) => {
    const given: readonly unknown[] = [
      ...[{ cost: -1 }, { cost: NaN }, { cost: Infinity, tokens: 1 }, { cost: '1' }, { cost: 1, '2nd': 1 }],
      ...[{ ['x'.repeat(65)]: 1 }, { __proto__x: 1 }, { cost: 1, model: '' }, { cost: 1, model: 7 }],
      ...[{ cost: 1, model: 'x'.repeat(201) }, { usage: { tokens: 1 } }, 7, null, [1]],
    ]
    for (const each of given) {
      try {
        run.spend(each as { cost: number })
        refused.push('nothing')
      } catch (error) {
        refused.push((error as Error).name)
      }
    }
    return 'done'
  })
  const { task } = (await client.run('go')) as { readonly task?: RemoteTask }
  expect(refused).not.toContain('nothing')
  expect(new Set(refused)).toEqual(new Set(['TypeError', 'RangeError']))
  expect(spendingOf(task)).toBeUndefined()
})
