/** What a gateway and its registry count: tasks, failures, durations and load, of all agents and of each. */
import { setImmediate as turn } from 'node:timers/promises'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it } from 'vitest'
import { AgentRegistry } from '../../src/gateway/registry/registry.js'
import type { AgentStatus } from '../../src/gateway/registry/agent.js'
import { agentInput, pass, serviceError, setUp } from './support/gateway.js'

const NONE = {
  ...{ load: 0, tasks: 0, completed: 0, failed: 0, canceled: 0, rejected: 0, interrupted: 0, abandoned: 0 },
  durationMs: { total: 0, mean: 0, max: 0 },
  spent: {},
}

describe('a gateway', () => {
  it('counts nothing before the first task, and knows no agent that is not there', () => {
    const { gateway } = setUp()
    expect([gateway.stats(), gateway.stats('a'), gateway.stats('b')]).toEqual([NONE, NONE, null])
  })

  it('counts how turns end, and how long they take, of all agents and of each', async () => {
    const { gateway, provider, registry, clock, tasks } = setUp()
    Object.assign(provider, { keepsTasks: false, heedsSignals: true })
    registry.register(agentInput('b'))
    const send = async (agentId: string, ms: number, update: object | Error, taskId?: string) => {
      const sent = gateway.sendTask(agentId, taskId === undefined ? 'x' : { parts: [{ text: 'x' }], taskId })
      const call = await provider.untilCalled('sendTask')
      clock.advance(ms)
      await (update instanceof Error ? call.fail(update) : call.answer(update))
      return await sent
    }
    await send('a', 10, { state: 'completed' })
    await send('a', 30, serviceError())
    await send('a', 20, { state: 'failed' })
    await send('a', 0, { state: 'rejected' })
    const { id } = await send('a', 40, { ref: {}, state: 'input-required', message: 'Which?' })
    await send('a', 0, { state: 'completed' }, id)
    await send('b', 100, { state: 'canceled' })
    const running = gateway.sendTask('b', 'x')
    await turn()
    const a = { ...NONE, tasks: 6, completed: 2, failed: 2, rejected: 1, interrupted: 1 }
    expect(gateway.stats('a')).toEqual({ ...a, durationMs: { total: 100, mean: 100 / 6, max: 40 } })
    expect(gateway.stats('b')).toEqual({
      ...{ ...NONE, load: 1, tasks: 2, canceled: 1 },
      durationMs: { total: 100, mean: 100, max: 100 },
    })
    expect(gateway.stats()).toEqual({
      ...{ ...a, load: 1, tasks: 8, canceled: 1 },
      durationMs: { total: 200, mean: 200 / 7, max: 100 },
    })
    for (const task of tasks.listTasks({ state: 'submitted' })) await gateway.cancelTask(task.id)
    await running
    expect(gateway.stats('b')).toMatchObject({ load: 0, tasks: 2, canceled: 2 })
  })

  it('counts what tasks have spent when they end, in 16 units', async () => {
    const { gateway, provider, registry } = setUp()
    Object.assign(provider, { keepsTasks: false })
    registry.register(agentInput('b'))
    const send = async (agentId: string, update: object, taskId?: string) => {
      const sent = gateway.sendTask(agentId, taskId === undefined ? 'x' : { parts: [{ text: 'x' }], taskId })
      await (await provider.untilCalled('sendTask')).answer(update)
      return await sent
    }
    const asks = { ref: {}, state: 'input-required', message: 'Which?', spent: { cost: 0.1 } }
    const { id } = await send('a', asks)
    expect(gateway.stats().spent).toEqual({})
    await send('a', { state: 'completed', spent: { cost: 0.3, tokens: 7 } }, id)
    await send('a', { state: 'failed', spent: { cost: 0.2 } })
    await send('b', { state: 'completed' })
    expect(gateway.stats('a')?.spent).toEqual({ cost: 0.5, tokens: 7 })
    expect(gateway.stats('b')?.spent).toEqual({})
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`unit${n}`, 1]))
    await send('b', { state: 'completed', spent: many })
    await send('b', { state: 'completed', spent: { ...many, cost: 1 } })
    expect(Object.keys(gateway.stats('b')?.spent ?? {})).toHaveLength(16)
    expect(gateway.stats().spent).toMatchObject({ cost: 1.5, tokens: 7, unit13: 2 })
    expect((await send('b', { state: 'completed', spent: { cost: -1 } })).state).toBe('failed')
  })

  it('counts a timeout as a failure, and what it gives up when it closes', async () => {
    const { gateway, clock, provider } = setUp({ config: { taskTimeoutMs: 1_000 } })
    Object.assign(provider, { keepsTasks: false, heedsSignals: true })
    const timedOut = gateway.sendTask('a', 'x')
    await pass(clock, 1_000)
    expect((await timedOut).state).toBe('failed')
    const left = gateway.sendTask('a', 'x')
    await pass(clock, 500)
    const closing = gateway.close({ graceMs: 1 })
    await pass(clock, 1)
    await closing
    await left
    expect(gateway.stats()).toMatchObject({ load: 0, tasks: 2, failed: 1, abandoned: 1 })
    expect(gateway.stats().durationMs.max).toBe(1_000)
  })

  it('refuses without counting', async () => {
    const { gateway } = setUp({ agent: { maxConcurrentTasks: 1 } })
    void gateway.sendTask('a', 'x')
    await expect(gateway.sendTask('a', 'x')).rejects.toThrow('Agent is busy: a')
    await expect(gateway.sendTask('none', 'x')).rejects.toThrow('Agent not found')
    expect(gateway.stats()).toMatchObject({ load: 1, tasks: 1 })
  })

  it('keeps the counts of an agent that is registered again, and none of one that is gone', async () => {
    const { gateway, registry, provider } = setUp()
    const send = () => gateway.sendTask('a', 'x')
    const first = send()
    await (await provider.untilCalled('sendTask')).answer({ state: 'completed' })
    await first
    registry.register(agentInput('a', { name: 'New' }))
    expect(gateway.stats('a')).toMatchObject({ tasks: 1, completed: 1 })
    const second = send()
    const call = await provider.untilCalled('sendTask')
    registry.unregister('a')
    expect(gateway.stats('a')).toBeNull()
    await call.answer({ state: 'completed' })
    await second
    registry.register(agentInput('a'))
    expect([gateway.stats('a'), gateway.stats().completed]).toEqual([NONE, 2])
  })

  it('counts over a store, too', async () => {
    const tasks = new DurableTaskManager({ store: memoryStore() })
    const { gateway, provider } = setUp({ tasks: tasks as never })
    const sent = gateway.sendTask('a', 'x')
    const call = await provider.untilCalled('streamTask')
    await call.answer({ state: 'completed' })
    await call.end()
    await sent
    await expect.poll(() => gateway.stats('a')).toMatchObject({ load: 0, tasks: 1, completed: 1 })
    await gateway.close()
    await tasks.destroy()
  })
})

describe('a registry', () => {
  it('counts agents by their status', () => {
    const registry = new AgentRegistry()
    const counts = () => {
      const { agents, online, degraded, offline, maintenance } = registry.stats()
      return [agents, online, degraded, offline, maintenance]
    }
    expect(counts()).toEqual([0, 0, 0, 0, 0])
    for (const id of ['a', 'b', 'c']) registry.register(agentInput(id))
    registry.register(agentInput('d', { status: 'maintenance' }))
    expect(counts()).toEqual([4, 3, 0, 0, 1])
    registry.updateStatus('a', 'offline')
    registry.updateStatus('b', 'degraded')
    registry.updateStatus('b', 'degraded')
    registry.register(agentInput('d'))
    expect(counts()).toEqual([4, 2, 1, 1, 0])
    for (const id of ['a', 'd', 'none']) registry.unregister(id)
    expect(counts()).toEqual([2, 1, 1, 0, 0])
  })

  it('counts health checks, and how long they take', async () => {
    const clock = new ManualClock()
    const statuses: Readonly<Record<string, AgentStatus>> = { a: 'online', b: 'offline' }
    const registry = new AgentRegistry({
      clock,
      healthCheck: ({ id }) => {
        clock.advance(id === 'a' ? 10 : 30)
        return statuses[id] ?? 'degraded'
      },
    })
    for (const id of ['a', 'b', 'c']) registry.register(agentInput(id))
    for (const id of ['a', 'b', 'c']) await registry.checkHealth(id)
    await registry.registerReachable(agentInput('b')).catch(() => undefined)
    expect(registry.stats()).toEqual({
      ...{ agents: 3, online: 1, degraded: 1, offline: 1, maintenance: 0 },
      healthChecks: { total: 4, failed: 2, durationMs: { total: 100, mean: 25, max: 30 } },
    })
  })
})
