/**
 * A gateway, its services, its callers and the clock in any order: whatever happens, every task ends as it should, and nothing is left.
 */
import fc from 'fast-check'
import { setImmediate as turn } from 'node:timers/promises'
import { canTransition, isInterrupted, isTerminal, type TaskState, saveTasks } from 'a2a-tasks'
import { A2AError } from '../../src/core/errors.js'
import { expect, test } from 'vitest'
import { agentInput, serviceError, setUp, type Call } from './support/gateway.js'
import { samples } from '../support/samples.js'

type All = ReturnType<typeof setUp> & { answered: Set<Call>; endedThere: Set<string>; failures: unknown[] }
type Step = (all: All) => unknown

const at = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)]

/** What goes wrong is one of the errors that the gateway tells of. */
function collectUnexpected({ failures }: All, work: Promise<unknown>): void {
  work.catch((error: unknown) => {
    if (!A2AError.is(error)) failures.push(error)
  })
}

const index = fc.nat(7)
const state = fc.constantFrom<TaskState>(
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'canceled',
)
const agentId = fc.constantFrom('a', 'b')

const steps = fc.oneof(
  fc
    .record({ id: agentId, mode: fc.constantFrom('sendTask', 'streamTask') })
    .map(({ id, mode }): Step => (all) => {
      if (mode === 'sendTask') {
        collectUnexpected(all, all.gateway.sendTask(id, 'x'))
        return
      }
      try {
        all.gateway.streamTask(id, 'x')
      } catch (error) {
        if (!A2AError.is(error)) all.failures.push(error)
      }
    }),
  {
    weight: 4,
    arbitrary: fc
      .record({
        index,
        state: fc.option(state, { nil: undefined }),
        hasRef: fc.boolean(),
        isChunk: fc.boolean(),
      })
      .map(({ index: which, state: said, hasRef, isChunk }): Step => async (all) => {
        const call = at(
          all.provider.calls.filter((one) => !all.answered.has(one)),
          which,
        )
        if (call === undefined) return
        if (call.method !== 'streamTask') all.answered.add(call)
        const id =
          call.method === 'cancelTask' || call.method === 'getTask'
            ? (call.ref['of'] as string)
            : call.task.id
        if (said !== undefined && isTerminal(said) && call.method !== 'cancelTask') all.endedThere.add(id)
        const chunk = { artifactId: 'o', parts: [{ text: 'x' }] }
        await call.answer({ state: said, ...(hasRef && { ref: { of: id } }), ...(isChunk && { chunk }) })
      }),
  },
  fc.record({ index, isPassing: fc.boolean() }).map(({ index: which, isPassing }): Step => async (all) => {
    const call = at(
      all.provider.calls.filter((one) => !all.answered.has(one)),
      which,
    )
    if (call === undefined) return
    all.answered.add(call)
    await call.fail(serviceError(isPassing))
  }),
  index.map((which): Step => (all) => {
    const task = at(saveTasks(all.tasks), which)
    if (task !== undefined) collectUnexpected(all, all.gateway.cancelTask(task.id))
  }),
  index.map((which): Step => (all) => {
    const task = at(saveTasks(all.tasks), which)
    if (task !== undefined) collectUnexpected(all, all.gateway.getTask(task.id))
  }),
  index.map((which): Step => (all) => {
    const waiting = at(
      saveTasks(all.tasks).filter((task) => isInterrupted(task.state)),
      which,
    )
    const id = waiting && all.gateway.agentOf(waiting.id)
    if (id) collectUnexpected(all, all.gateway.sendTask(id, { parts: [{ text: 'y' }], taskId: waiting.id }))
  }),
  fc.constantFrom(10, 300, 1_000, 5_000).map(
    (ms): Step =>
      (all) =>
        all.clock.advance(ms),
  ),
  index.map((which): Step => (all) => {
    const task = at(saveTasks(all.tasks), which)
    if (task !== undefined && all.tasks.can(task.id, 'failed'))
      all.tasks.patchTask(task.id, { state: 'failed' })
  }),
)

test('tasks end once in any order of events, and no timer or listener is left', async () => {
  const turns = fc.array(fc.tuple(steps, fc.boolean()), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(turns, fc.boolean(), async (script, heedsSignals) => {
      const config = {
        taskTimeoutMs: 4_000,
        cancelTimeoutMs: 200,
        pollIntervalMs: 100,
        circuitBreaker: false as const,
      }
      const all: All = { ...setUp({ config }), answered: new Set(), endedThere: new Set(), failures: [] }
      const { provider, registry, gateway, tasks, clock, failures } = all
      registry.register(agentInput('b', { maxConcurrentTasks: 2 }))
      provider.heedsSignals = heedsSignals
      for (const [step, waits] of script) {
        const done = step(all)
        if (waits) {
          await done
          await turn()
        }
      }
      await turn()
      for (const { id, state: seen } of saveTasks(tasks))
        if (!isTerminal(seen)) collectUnexpected(all, gateway.cancelTask(id))
      for (let count = 0; count < 4; count += 1) {
        await turn()
        clock.advance(200)
      }
      await turn()
      expect(failures).toEqual([])
      expect([gateway.loadOf('a'), gateway.loadOf('b'), clock.pending]).toEqual([0, 0, 0])
      for (const task of saveTasks(tasks)) {
        const states = task.history.map((entry) => entry.state)
        for (const [step, from] of states.slice(0, -1).entries()) {
          expect(canTransition(from, states[step + 1] ?? from)).toBe(true)
        }
        expect(isTerminal(task.state)).toBe(true)
        const cancels = provider.of('cancelTask').filter(({ ref }) => ref['of'] === task.id)
        expect(cancels.length).toBeLessThanOrEqual(1)
        if (task.state === 'completed') expect([...all.endedThere]).toContain(task.id)
        if (task.state === 'completed') expect(cancels).toEqual([])
      }
    }),
    { numRuns: samples(300) },
  )
}, 60_000)
