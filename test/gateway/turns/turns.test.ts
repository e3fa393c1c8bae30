import { describe, expect, test } from 'vitest'
import { A2AError } from '../../../src/core/errors.js'
import { codeOf, pass, serviceError, setUp, type Call, type SetUpOptions } from '../support/gateway.js'

const WORKING = { state: 'working', ref: { r: 1 } }
const WAITING = { state: 'input-required', message: '?', ref: { r: 1 } }
const config = { cancelTimeoutMs: 500 }

/** A task whose message is being sent. */
async function sent(mode: 'sendTask' | 'streamTask' = 'sendTask', options: SetUpOptions = {}) {
  const all = setUp({ config, ...options })
  if (mode === 'streamTask') all.gateway.streamTask('a', 'x')
  // Of tasks that are gone it rejects, which is none of these tests' business.
  else all.gateway.sendTask('a', 'x').catch(() => undefined)
  return { ...all, call: await all.provider.last(mode) }
}

async function begun(update: object, options: SetUpOptions = {}) {
  const all = await sent('sendTask', options)
  await all.call.answer(update)
  return all
}

const refsOf = (calls: readonly Call[]) => calls.map(({ ref }) => ref)

describe('a task that is canceled', () => {
  test.each([
    ['worked on', WORKING],
    ['waiting', WAITING],
  ])('while %s is canceled at its service, which is awaited', async (_, update) => {
    const { gateway, provider, clock } = await begun(update)
    let isSettled = false
    const canceled = gateway.cancelTask('task-1').finally(() => (isSettled = true))
    const call = await provider.last('cancelTask')
    expect([call.ref, call.agent.id, isSettled]).toEqual([{ r: 1 }, 'a', false])
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('canceled')
    await call.answer({ state: 'working' })
    expect((await canceled).state).toBe('canceled')
    expect([provider.of('cancelTask').length, clock.pending, gateway.loadOf('a')]).toEqual([1, 0, 0])
  })

  test.each([WORKING, WAITING])('in its manager is canceled at its service', async (update) => {
    const { gateway, provider, clock } = await begun(update)
    gateway.tasks.cancelTask('task-1')
    await (await provider.last('cancelTask')).answer({ state: 'canceled' })
    expect([provider.of('cancelTask').length, clock.pending]).toEqual([1, 0])
  })

  test.each(['sendTask', 'streamTask'] as const)(
    'during %s is canceled as soon as it is known where it is',
    async (mode) => {
      const { gateway, provider, call, clock, reported } = await sent(mode)
      const canceled = gateway.cancelTask('task-1')
      if (mode === 'streamTask') await call.answer({ state: 'working' })
      expect([call.signal.aborted, provider.of('cancelTask')]).toEqual([false, []])
      await pass(clock, 499)
      await call.answer(WORKING)
      expect([call.signal.aborted, refsOf(provider.of('cancelTask'))]).toEqual([true, [{ r: 1 }]])
      await (await provider.last('cancelTask')).answer({ state: 'canceled' })
      expect((await canceled).state).toBe('canceled')
      expect([reported, clock.pending, gateway.loadOf('a')]).toEqual([[], 0, 0])
    },
  )

  test.each(['sendTask', 'streamTask'] as const)(
    'during %s is given up when its reference never comes',
    async (mode) => {
      const { gateway, provider, call, clock } = await sent(mode)
      const canceled = gateway.cancelTask('task-1')
      await pass(clock, 500)
      expect(call.signal.aborted).toBe(true)
      await canceled
      await call.answer(WORKING)
      expect([provider.of('cancelTask'), clock.pending, gateway.loadOf('a')]).toEqual([[], 0, 0])
    },
  )

  test('during sendTask resolves it at once', async () => {
    const all = setUp({ config })
    const result = all.gateway.sendTask('a', 'x')
    await all.provider.last('sendTask')
    all.gateway.tasks.cancelTask('task-1')
    expect((await result).state).toBe('canceled')
    expect(all.gateway.loadOf('a')).toBe(1)
  })

  test('while it is sent is not stopped where it has ended, or failed to arrive', async () => {
    for (const settle of [
      (call: Call) => call.answer({ state: 'completed', ref: { r: 1 } }),
      (call: Call) => call.fail(serviceError()),
    ]) {
      const { gateway, provider, call, clock, reported } = await sent()
      const canceled = gateway.cancelTask('task-1')
      await settle(call)
      expect((await canceled).state).toBe('canceled')
      expect([provider.of('cancelTask'), clock.pending, reported]).toEqual([[], 0, []])
    }
  })

  test('is gone at once at a service that keeps no tasks', async () => {
    const { gateway, provider, call, clock } = await sent()
    provider.keepsTasks = false
    const canceled = gateway.cancelTask('task-1')
    await canceled
    await pass(clock, 0)
    expect([call.signal.aborted, provider.of('cancelTask'), clock.pending]).toEqual([true, [], 0])
  })

  test('passes the reason to the call in flight', async () => {
    const { gateway, call, clock, provider } = await sent('streamTask')
    await call.answer(WORKING)
    await call.end()
    await pass(clock, 1_000)
    gateway.tasks.cancelTask('task-1')
    const { signal } = await provider.last('getTask')
    expect(A2AError.is(signal.reason, 'TASK_CANCELED')).toBe(true)
  })

  test('twice is refused the second time, as is one that has ended', async () => {
    const { gateway, provider } = await begun(WAITING)
    const first = gateway.cancelTask('task-1')
    expect(await codeOf(gateway.cancelTask('task-1'))).toBe('TASK_NOT_CANCELABLE')
    await (await provider.last('cancelTask')).answer({})
    await first
    expect(await codeOf(gateway.cancelTask('none'))).toBe('TASK_NOT_FOUND')
    expect(provider.of('cancelTask')).toHaveLength(1)
  })

  test('of another owner is not found', async () => {
    const { gateway } = await begun(WORKING)
    expect(await codeOf(gateway.cancelTask('task-1', { owner: 'bob' }))).toBe('TASK_NOT_FOUND')
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('working')
  })

  test('by a listener, while its service reports work, is canceled there', async () => {
    const { gateway, provider, call } = await sent('streamTask')
    gateway.tasks.on('task:artifact', ({ taskId }) => void gateway.tasks.cancelTask(taskId))
    await call.answer({ ...WORKING, chunk: { artifactId: 'o', parts: [{ text: 'x' }] } })
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('canceled')
    expect([refsOf(provider.of('cancelTask')), call.isLeft()]).toEqual([[{ r: 1 }], true])
  })

  test('by a listener before it is sent is not sent', async () => {
    const { gateway, provider, tasks, reported } = setUp()
    tasks.on('task:message', ({ taskId }) => void tasks.cancelTask(taskId))
    expect((await gateway.sendTask('a', 'x')).state).toBe('canceled')
    expect([provider.calls, reported, gateway.loadOf('a')]).toEqual([[], [], 0])
  })

  test.each(['UNSUPPORTED_OPERATION', 'TASK_NOT_FOUND', 'TASK_NOT_CANCELABLE'] as const)(
    'at a service that says %s is canceled all the same, and not reported',
    async (code) => {
      const { gateway, provider, reported } = await begun(WORKING)
      const canceled = gateway.cancelTask('task-1')
      // The data do not matter here.
      await (await provider.last('cancelTask')).fail(new A2AError(code, 'no', {} as never))
      expect((await canceled).state).toBe('canceled')
      expect(reported).toEqual([])
    },
  )

  test('at a service that fails is canceled anyway, and onError is called', async () => {
    const { gateway, provider, reported } = await begun(WAITING)
    const canceled = gateway.cancelTask('task-1')
    const error = serviceError()
    await (await provider.last('cancelTask')).fail(error)
    expect((await canceled).state).toBe('canceled')
    expect(reported).toEqual([{ error, context: { during: 'cancelTask', taskId: 'task-1', agentId: 'a' } }])
  })

  test('at a service that hangs is waited for so long, and no longer', async () => {
    const { gateway, provider, reported, clock } = await begun(WORKING)
    const canceled = gateway.cancelTask('task-1')
    const { signal } = await provider.last('cancelTask')
    await pass(clock, 499)
    expect([signal.aborted, reported]).toEqual([false, []])
    await pass(clock, 1)
    expect((await canceled).state).toBe('canceled')
    expect([signal.aborted, clock.pending]).toEqual([true, 0])
    expect(reported.map(({ error }) => A2AError.is(error) && error.code)).toEqual(['WAIT_TIMED_OUT'])
  })
})

describe('a task that ends here otherwise', () => {
  const ends: Record<string, (all: Awaited<ReturnType<typeof begun>>) => void> = {
    'fails in its manager': ({ tasks }) => tasks.patchTask('task-1', { state: 'failed' }),
    'is rejected in its manager': ({ tasks }) => tasks.patchTask('task-1', { state: 'rejected' }),
    'times out in its manager': ({ clock }) => clock.advance(5_000),
    expires({ clock, tasks }) {
      clock.set(clock.now() - 1)
      clock.advance(4_000)
      tasks.prune()
    },
  }
  for (const [what, end] of Object.entries(ends)) {
    for (const update of [WORKING, WAITING]) {
      test(`and ${what} while it is ${update.state} is canceled at its service, once`, async () => {
        const manager = what === 'expires' ? { expiryMs: 3_000 } : { taskTimeoutMs: 5_000 }
        const all = await begun(update, { manager, config: { ...config, pollIntervalMs: 1e9 } })
        end(all)
        const call = await all.provider.last('cancelTask')
        await call.answer({})
        expect(refsOf(all.provider.of('cancelTask'))).toEqual([{ r: 1 }])
        expect([all.gateway.loadOf('a'), all.clock.pending]).toEqual([0, 0])
      })
    }
  }

  test('as its manager is destroyed is released', async () => {
    const { gateway, provider, clock, reported } = await begun(WORKING)
    gateway.tasks.destroy()
    await pass(clock, 0)
    expect([provider.of('cancelTask'), clock.pending, gateway.loadOf('a'), reported]).toEqual([[], 0, 0, []])
  })

  test('as its manager is destroyed during the request is released, whatever the response', async () => {
    const { gateway, call, clock, reported } = await sent()
    gateway.tasks.destroy()
    await call.answer(WORKING)
    expect([call.signal.aborted, clock.pending, gateway.loadOf('a'), reported]).toEqual([true, 0, 0, []])
  })

  test('and is gone before its service has said where it is leaves nothing behind', async () => {
    const { gateway, call, clock, provider } = await sent('sendTask', { manager: { expiryMs: 100 } })
    clock.advance(101)
    gateway.tasks.prune()
    await call.answer(WORKING)
    expect(refsOf(provider.of('cancelTask'))).toEqual([{ r: 1 }])
    expect(gateway.agentOf('task-1')).toBeNull()
  })
})

describe('a task that ended at its service', () => {
  test.each(['completed', 'failed', 'canceled', 'rejected'])(
    'as %s is not canceled at the service',
    async (state) => {
      for (const first of [undefined, WORKING, WAITING]) {
        const { gateway, provider, call, clock, reported } = await sent()
        await call.answer(first ?? { state, ref: { r: 1 } })
        if (first === WORKING) {
          await pass(clock, 1_000)
          await (await provider.last('getTask')).answer({ state })
        }
        if (first === WAITING) {
          void gateway.getTask('task-1')
          await (await provider.last('getTask')).answer({ state })
        }
        expect(gateway.tasks.peekTask('task-1')?.state).toBe(state)
        expect([provider.of('cancelTask'), reported, clock.pending]).toEqual([[], [], 0])
      }
    },
  )

  test('is not reopened by later updates', async () => {
    const { gateway, call, clock, reported } = await begun(WORKING)
    gateway.tasks.cancelTask('task-1')
    await call.answer({ state: 'working' })
    await pass(clock, 60_000)
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('canceled')
    expect(reported.map(({ context }) => context.during)).toEqual(['cancelTask'])
  })
})

test('ten thousand tasks leave nothing running, and only those that are held are known', async () => {
  const { gateway, provider, clock, tasks } = setUp({
    manager: { maxTasks: 100, whenFull: 'evict-terminal' },
    config: { maxConcurrentTasks: Infinity },
  })
  const ids: string[] = []
  for (let count = 0; count < 10_000; count += 1) {
    const sending = gateway.sendTask('a', 'x')
    void provider.calls.pop()?.answer({ state: 'completed', ref: { r: count } })
    ids.push((await sending).id)
  }
  expect([gateway.loadOf('a'), clock.pending]).toEqual([0, 0])
  expect(tasks.listenerCount('task:stateChange')).toBe(1)
  const known = ids.filter((id) => gateway.agentOf(id) !== null)
  expect(known).toEqual(ids.filter((id) => tasks.peekTask(id) !== null))
  expect(known.length).toBeLessThanOrEqual(100)
}, 60_000)
