/** Amounts that tasks have spent: their sums, and how they are read. */
import { SPENDING, spendingOf, TaskManager, type A2AError, type Spent } from 'a2a-tasks'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { allSpent, changeAfter } from '../../src/core/spending.js'

function addSpending(tasks: TaskManager, id: string, spent: Spent): void {
  tasks.recordJournal(id, [{ kind: 'spend', step: 'any', ...spent }])
}

test('are added up in all and by model', () => {
  const tasks = new TaskManager()
  onTestFinished(() => tasks.destroy())
  const { id } = tasks.createTask({ skill: 's', metadata: { own: 1 } })
  expect(spendingOf(tasks.getTask(id) ?? undefined)).toBeUndefined()
  addSpending(tasks, id, { units: { cost: 0.1, inputTokens: 5 }, model: 'small' })
  addSpending(tasks, id, { units: { cost: 0.2 }, model: 'large' })
  addSpending(tasks, id, { units: { cost: 0.3, searches: 1 } })
  addSpending(tasks, id, { units: { inputTokens: 7 }, model: 'small' })
  const { metadata = {} } = tasks.getTask(id) ?? {}
  expect(metadata['own']).toBe(1)
  expect(spendingOf({ metadata })).toEqual({
    total: { cost: 0.6, inputTokens: 12, searches: 1 },
    models: { small: { cost: 0.1, inputTokens: 12 }, large: { cost: 0.2 } },
  })
})

test('have bounds', () => {
  const tasks = new TaskManager()
  onTestFinished(() => tasks.destroy())
  const { id } = tasks.createTask({ skill: 's' })
  const spend = (units: Record<string, number>, model?: string): unknown => {
    try {
      addSpending(tasks, id, { units, model })
      return undefined
    } catch (error) {
      return (error as A2AError).code
    }
  }
  for (let unit = 0; unit < 16; unit += 1) expect(spend({ [`u${unit}`]: 1 })).toBeUndefined()
  expect(spend({ further: 1 })).toBe('LIMIT_EXCEEDED')
  for (let model = 0; model < 32; model += 1) expect(spend({ u0: 1 }, `m${model}`)).toBeUndefined()
  expect(spend({ u0: 1 }, 'further')).toBe('LIMIT_EXCEEDED')
  expect(spend({ u1: Number.MAX_VALUE })).toBeUndefined()
  // JSON has no larger number.
  expect(spend({ u1: Number.MAX_VALUE })).toBeUndefined()
  // A refused amount changes nothing.
  const task = tasks.getTask(id) ?? undefined
  expect(spendingOf(task)?.total).toMatchObject({ u0: 33, u1: Number.MAX_VALUE })
  expect(spendingOf(task)?.total).not.toHaveProperty('further')
})

test('stay numbers, so that none are lost, whatever other agents say and budgets get', () => {
  const most = { cost: Number.MAX_VALUE }
  const entries = [
    { kind: 'spend', units: most },
    { kind: 'delegated', spent: most },
    { kind: 'delegated', spent: most },
    { kind: 'grant', units: most },
    { kind: 'grant', units: most },
  ] as const
  const metadata = JSON.parse(JSON.stringify(changeAfter({ metadata: {} }, entries))) as object
  const spending = spendingOf({ metadata })
  expect(spending).toMatchObject({ total: most, delegated: most, granted: most })
  expect(allSpent(spending)).toEqual(most)
})

test('do not depend on how they are cut', () => {
  const amounts = fc.array(fc.record({ unit: fc.constantFrom('a', 'b'), cents: fc.nat(1_000) }), {
    maxLength: 20,
  })
  fc.assert(
    fc.property(amounts, (given) => {
      const tasks = new TaskManager()
      const { id } = tasks.createTask({ skill: 's' })
      for (const { unit, cents } of given) addSpending(tasks, id, { units: { [unit]: cents / 100 } })
      const { total = {} } = spendingOf(tasks.getTask(id) ?? undefined) ?? {}
      for (const unit of ['a', 'b']) {
        const cents = given.reduce((sum, each) => sum + (each.unit === unit ? each.cents : 0), 0)
        expect(total[unit] ?? 0).toBe(cents / 100)
      }
      tasks.destroy()
    }),
  )
})

test.each([
  ['nothing', undefined],
  ['a text', 'much'],
  ['a list', [{ total: { cost: 1 } }]],
  ['no total', { models: {} }],
  ['a negative amount', { total: { cost: -1 } }],
  ['an amount that is no number', { total: { cost: '1' } }],
  ['nested amounts', { total: { details: { cost: 1 } } }],
])('of another agent that tells %s are not read', (_, told) => {
  expect(spendingOf({ metadata: { [SPENDING]: told } })).toBeUndefined()
})

test('of another agent are read as far as they are amounts', () => {
  const told = { total: { cost: 1 }, models: { known: { cost: 1 }, other: 'free' }, more: true }
  expect(spendingOf({ metadata: { [SPENDING]: told } })).toEqual({
    total: { cost: 1 },
    models: { known: { cost: 1 } },
  })
  expect(spendingOf({})).toBeUndefined()
  expect(spendingOf(undefined)).toBeUndefined()
})
