/** The budget of a session: what it allows, what it refuses, and that invokeRemoteAgent keeps to it. */
import { InvocationBudget, invokeRemoteAgent, type InvokeOptions } from 'a2a-tasks/client'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { fakeFetch } from '../http/support/http.js'

const A = 'https://a.example'
const REFUSED = {
  success: false,
  taskId: '',
  responseText: null,
  error: 'Remote agent invocation is temporarily unavailable. Try again later.',
}

describe('a budget', () => {
  test('is 10 invocations of 3 agents, with 5 s between them, by default', () => {
    const clock = new ManualClock()
    const budget = new InvocationBudget({ clock })
    expect(budget.spend(A)).toEqual({ allowed: true })
    clock.advance(4_000)
    const early = { allowed: false, reason: 'COOLDOWN', detail: 'Cooldown active. Retry after 1000ms.' }
    expect(budget.spend(A)).toEqual(early)
    for (const url of ['https://b.example', 'https://c.example/', 'https://c.example']) {
      clock.advance(5_000)
      expect(budget.spend(url)).toEqual({ allowed: true })
    }
    clock.advance(5_000)
    const fourth = { allowed: false, reason: 'UNIQUE_AGENT_LIMIT', detail: 'Unique agent limit reached (3).' }
    expect(budget.spend('https://d.example')).toEqual(fourth)
    for (let count = 4; count < 10; count++) {
      expect(budget.spend(A)).toEqual({ allowed: true })
      clock.advance(5_000)
    }
    const reason = 'INVOCATION_LIMIT'
    const over = { allowed: false, reason, detail: 'Session invocation limit reached (10).' }
    expect(budget.spend(A)).toEqual(over)
    expect([budget.invocations, budget.agents]).toEqual([10, 3])
  })

  test.each([
    [{ maxInvocations: 0 }, '"maxInvocations" must be a positive integer, got 0'],
    [{ maxAgents: -1 }, '"maxAgents" must be a positive integer, got -1'],
    [{ cooldownMs: NaN }, '"cooldownMs" must be a number from 0 to 2147483647 ms, got NaN'],
    [{ cooldown: 1 }, 'Unknown option "cooldown" of InvocationBudget'],
  ])('of %j is refused', (options, text) => {
    expect(() => new InvocationBudget(options as object)).toThrow(text)
  })
})

test('invokeRemoteAgent sends nothing beyond its budget, also at the same time', async () => {
  const { fetch, asked } = fakeFetch(({ method }) => ({
    body: { id: 't1', state: method === 'POST' ? 'working' : 'completed', messages: [] },
  }))
  const budget = new InvocationBudget({ maxInvocations: 1 })
  const results = await Promise.all([1, 2].map(() => invokeRemoteAgent(A, 'Hello', { fetch, budget })))
  expect(results).toMatchObject([{ success: true }, REFUSED])
  expect(asked.filter(({ method }) => method === 'POST').length).toBe(1)
})

test('a call that was aborted before it began spends nothing', async () => {
  const budget = new InvocationBudget()
  const call = invokeRemoteAgent(A, 'Hello', { budget, signal: AbortSignal.abort() })
  await expect(call).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
  expect(budget.invocations).toBe(0)
})

test.each([
  [{ depth: 0 }, '"depth" must be a positive integer, got 0'],
  [{ budget: {} }, '"budget" must be an InvocationBudget'],
])('invokeRemoteAgent refuses %j', async (options, text) => {
  await expect(invokeRemoteAgent(A, 'Hello', options as InvokeOptions)).rejects.toThrow(text)
})
