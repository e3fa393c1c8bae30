import { type TaskManager, restoreTasks, saveTasks } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { A2AError } from '../../../src/core/errors.js'
import {
  agentInput,
  codeOf,
  collectStates,
  pass,
  serviceError,
  setUp,
  type Call,
  type SetUpOptions,
} from '../support/gateway.js'

const handleSecret = 'a secret of thirty-two characters'
const WORKING = { state: 'working', ref: { r: 1 } }
const WAITING = { state: 'input-required', message: '?', ref: { r: 1 } }

/** A task that its service has, its handle, and a gateway of another process. */
async function handedOver(
  options: SetUpOptions = {},
  { owner, update = WORKING }: { owner?: string; update?: object } = {},
) {
  const first = setUp({ handleSecret })
  void first.gateway.sendTask('a', { parts: [{ text: 'x' }], contextId: 'talk' }, { owner })
  await (await first.provider.last('sendTask')).answer(update)
  const handle = (await first.gateway.handleOf('task-1')) ?? ''
  return { first, handle, ...setUp({ handleSecret, ...options }) }
}

describe('a handle', () => {
  test('is there as soon as the service has said where it keeps the task, and after its end', async () => {
    const { gateway, provider } = setUp()
    const sent = gateway.sendTask('a', 'x')
    let isThere = false
    const handle = gateway.handleOf('task-1').finally(() => (isThere = true))
    const call = await provider.last('sendTask')
    expect(isThere).toBe(false)
    await call.answer(WAITING)
    expect(await handle).toMatch(/^a2ah1\./)
    await sent
    expect(await gateway.handleOf('task-1')).toMatch(/^a2ah1\./)
    gateway.tasks.cancelTask('task-1')
    expect(await gateway.handleOf('task-1')).toMatch(/^a2ah1\./)
    expect(await codeOf(gateway.handleOf('none'))).toBe('TASK_NOT_FOUND')
    gateway.registry.unregister('a')
    expect(await gateway.handleOf('task-1')).toBeNull()
  })

  test('of a task without a waiting caller exists while the agent works', async () => {
    const { gateway, provider } = setUp()
    const { id } = await gateway.sendTask('a', 'x', { returnImmediately: true })
    const handle = gateway.handleOf(id)
    const call = await provider.last('streamTask')
    await call.answer({ state: 'working' })
    await call.answer({ ref: { r: 1 } })
    expect(await handle).toMatch(/^a2ah1\./)
    expect(gateway.tasks.peekTask(id)?.state).toBe('working')
  })

  test('is there at once where its place is known: of an answer, and of what is followed', async () => {
    const { gateway, provider, handle } = await handedOver()
    const resumed = gateway.resume(handle)
    await (await provider.untilCalled('getTask')).answer({ state: 'input-required', message: '?' })
    await resumed
    void gateway.sendTask('a', { parts: [{ text: 'y' }], taskId: 'task-1' })
    await provider.untilCalled('sendTask')
    expect(await gateway.handleOf('task-1')).toMatch(/^a2ah1\./)
    const followed = await handedOver()
    const again = followed.gateway.resume(followed.handle)
    await (await followed.provider.untilCalled('getTask')).answer({ state: 'working' })
    await again
    expect(await followed.gateway.handleOf('task-1')).toMatch(/^a2ah1\./)
  })

  test.each([
    ['completed', (call: Call) => call.answer({ state: 'completed' })],
    ['failed', (call: Call) => call.fail(serviceError())],
  ])('does not exist for a task that is %s without a location', async (_, end) => {
    const { gateway, provider } = setUp()
    const sent = gateway.sendTask('a', 'x')
    const handle = gateway.handleOf('task-1')
    await end(await provider.last('sendTask'))
    expect(await handle).toBeNull()
    await sent
  })

  test('does not exist for a task that was canceled before, or removed', async () => {
    const canceled = setUp({ config: { cancelTimeoutMs: 50 } })
    void canceled.gateway.sendTask('a', 'x')
    const handle = canceled.gateway.handleOf('task-1')
    canceled.tasks.cancelTask('task-1')
    await pass(canceled.clock, 50)
    expect(await handle).toBeNull()
    const gone = setUp()
    void gone.gateway.sendTask('a', 'x').catch(() => undefined)
    const code = codeOf(gone.gateway.handleOf('task-1'))
    gone.tasks.destroy()
    expect(await code).toBe('TASK_NOT_FOUND')
  })

  test('is there when the gateway has closed', async () => {
    const { first, handle } = await handedOver()
    const waiting = first.gateway.sendTask('a', 'y')
    const closed = first.gateway.close({ graceMs: 1 })
    await pass(first.clock, 1)
    await closed
    const late = (await first.gateway.handleOf('task-1')) ?? ''
    expect(await first.gateway.handleOf((await waiting).id)).toBeNull()
    for (const good of [handle, late]) {
      const { gateway, provider } = setUp({ handleSecret })
      const resumed = gateway.resume(good)
      await (await provider.untilCalled('getTask')).answer({ state: 'completed' })
      expect((await resumed).state).toBe('completed')
    }
  })

  test('takes the task up in another process, and follows it to its end', async () => {
    const { gateway, provider, clock, handle } = await handedOver({}, { owner: 'ada' })
    const resumed = gateway.resume(handle, { owner: 'ada' })
    const look = await provider.untilCalled('getTask')
    expect([look.ref, look.agent.id]).toEqual([{ r: 1 }, 'a'])
    await look.answer({ state: 'working', message: 'Half' })
    expect(await resumed).toMatchObject({
      id: 'task-1',
      contextId: 'talk',
      owner: 'ada',
      skill: 'a',
      state: 'working',
    })
    expect(gateway.agentOf('task-1')).toBe('a')
    await pass(clock, 1_000)
    await (await provider.last('getTask')).answer({ state: 'completed', output: 7 })
    expect(gateway.tasks.peekTask('task-1')).toMatchObject({ state: 'completed', output: 7 })
    expect([clock.pending, provider.calls.length]).toEqual([0, 2])
  })

  test('gets, cancels and subscribes, as an id does', async () => {
    for (const use of ['getTask', 'cancelTask', 'subscribe'] as const) {
      const { gateway, provider, handle } = await handedOver()
      const used = gateway[use](handle)
      await (await provider.untilCalled('getTask')).answer({ state: 'working' })
      if (use === 'cancelTask') {
        const call = await provider.untilCalled('cancelTask')
        expect(call.ref).toEqual({ r: 1 })
        await call.answer({ state: 'canceled' })
        expect(((await used) as { state: string }).state).toBe('canceled')
      }
      if (use === 'getTask') expect(((await used) as { state: string }).state).toBe('working')
      if (use === 'subscribe') {
        const stream = await gateway.subscribe(handle)
        gateway.tasks.cancelTask('task-1')
        expect(await collectStates(stream)).toEqual(['canceled'])
        const again = await gateway.subscribe(handle, { after: 1 })
        expect(await collectStates(again)).toEqual(['working', 'canceled'])
      }
    }
  })

  test('works in its own process too, without a request to the service', async () => {
    const { first, handle } = await handedOver()
    expect((await first.gateway.resume(handle)).state).toBe('working')
    expect((await first.gateway.resume('task-1')).state).toBe('working')
    expect(first.provider.of('getTask')).toEqual([])
  })

  test('resumes a task that waits, whose answer reaches the same task of the service', async () => {
    const { gateway, provider, handle } = await handedOver()
    const resumed = gateway.resume(handle)
    await (await provider.untilCalled('getTask')).answer({ state: 'input-required', message: 'When?' })
    expect(await resumed).toMatchObject({ state: 'input-required', message: { parts: [{ text: 'When?' }] } })
    void gateway.sendTask('a', { parts: [{ text: 'Now' }], taskId: 'task-1' })
    expect((await provider.untilCalled('sendTask')).task.ref).toEqual({ r: 1 })
  })

  test('of a task that has ended gives it as it ended', async () => {
    for (const state of ['completed', 'failed', 'canceled', 'rejected']) {
      const { gateway, provider, handle, clock } = await handedOver()
      const resumed = gateway.resume(handle)
      await (await provider.untilCalled('getTask')).answer({ state, output: 7 })
      expect(await resumed).toMatchObject({ state, output: 7 })
      expect((await gateway.resume(handle)).state).toBe(state)
      expect([provider.calls.length, clock.pending]).toEqual([1, 0])
    }
  })

  test('resumed twice at once is asked for once', async () => {
    const { gateway, provider, handle, clock } = await handedOver()
    const both = [gateway.resume(handle), gateway.getTask(handle)]
    await (await provider.untilCalled('getTask')).answer({ state: 'working' })
    expect((await Promise.all(both)).map(({ id }) => id)).toEqual(['task-1', 'task-1'])
    expect([provider.calls.length, gateway.tasks.size()]).toEqual([1, 1])
    await pass(clock, 1_000)
    expect(provider.of('getTask')).toHaveLength(2)
  })

  test('continues with a task that was restored', async () => {
    const { first, gateway, provider, handle, tasks, clock } = await handedOver()
    restoreTasks(tasks, structuredClone(saveTasks(first.tasks)))
    expect((await gateway.getTask('task-1')).state).toBe('working')
    const resumed = gateway.resume(handle)
    await (await provider.untilCalled('getTask')).answer({ state: 'working' })
    expect((await resumed).messages).toHaveLength(1)
    await pass(clock, 1_000)
    await (await provider.last('getTask')).answer({ state: 'completed' })
    expect(tasks.peekTask('task-1')?.state).toBe('completed')
  })

  test('of a restored task that has ended sends no request', async () => {
    const { first, gateway, provider, handle, tasks } = await handedOver()
    first.tasks.patchTask('task-1', { state: 'failed' })
    restoreTasks(tasks, structuredClone(saveTasks(first.tasks)))
    expect((await gateway.resume(handle)).state).toBe('failed')
    expect(provider.calls).toEqual([])
  })

  test('continues a task that another gateway of the same manager has released', async () => {
    const { first, handle } = await handedOver()
    const closed = first.gateway.close({ graceMs: 1 })
    await pass(first.clock, 1)
    await closed
    // It would follow it no more, but still knows it.
    expect(await codeOf(first.gateway.resume(handle))).toBe('UNAVAILABLE')
    expect((await first.gateway.getTask(handle)).state).toBe('working')
    const { gateway, provider } = setUp({ handleSecret, tasks: first.tasks })
    const resumed = gateway.resume(handle)
    await (await provider.untilCalled('getTask')).answer({ state: 'completed' })
    expect((await resumed).state).toBe('completed')
  })
})

describe('a handle is refused', () => {
  test('where it is of another secret', async () => {
    const { gateway, handle, provider } = await handedOver({ handleSecret: handleSecret.toUpperCase() })
    expect(await codeOf(gateway.resume(handle))).toBe('TASK_NOT_FOUND')
    expect(provider.calls).toEqual([])
  })

  test('but not where its secret is among the older ones', async () => {
    const { gateway, handle, provider } = await handedOver({
      handleSecret: [handleSecret.toUpperCase(), handleSecret],
    })
    const resumed = gateway.resume(handle)
    await (await provider.untilCalled('getTask')).answer({ state: 'completed' })
    expect((await resumed).state).toBe('completed')
  })

  test('for all but its owner, and they learn nothing of it', async () => {
    const owned = await handedOver({}, { owner: 'ada' })
    for (const owner of ['bob', null]) {
      for (const use of ['resume', 'getTask', 'cancelTask', 'subscribe'] as const) {
        const error: unknown = await owned.gateway[use](owned.handle, { owner }).catch(
          (reason: unknown) => reason,
        )
        const taskId = owned.handle.slice(0, 40)
        expect(error).toMatchObject({
          ...{ code: 'TASK_NOT_FOUND', message: `Task not found: ${taskId}`, data: { taskId } },
        })
      }
    }
    const unowned = await handedOver()
    expect(await codeOf(unowned.gateway.resume(unowned.handle, { owner: 'ada' }))).toBe('TASK_NOT_FOUND')
    expect([owned.provider.calls, unowned.provider.calls]).toEqual([[], []])
  })

  test('where an id is of another owner here, also when both come at once', async () => {
    const ada = await handedOver({}, { owner: 'ada' })
    const bob = await handedOver({}, { owner: 'bob' })
    const both = Promise.allSettled([ada.gateway.resume(ada.handle), ada.gateway.resume(bob.handle)])
    await (await ada.provider.untilCalled('getTask')).answer({ state: 'working' })
    expect((await both).map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(ada.provider.calls).toHaveLength(1)
    const owner = ada.tasks.peekTask('task-1')?.owner
    expect(await codeOf(ada.gateway.resume(owner === 'ada' ? bob.handle : ada.handle))).toBe('TASK_NOT_FOUND')
  })

  test('where a restored task of its id is of another owner', async () => {
    const ada = await handedOver({}, { owner: 'ada' })
    const bob = await handedOver({}, { owner: 'bob' })
    restoreTasks(ada.tasks, structuredClone(saveTasks(bob.first.tasks)))
    expect(await codeOf(ada.gateway.resume(ada.handle))).toBe('TASK_NOT_FOUND')
    expect(ada.provider.calls).toEqual([])
  })

  test('an undefined owner counts as none for a handle, and is refused for an id', async () => {
    const { gateway, handle, first } = await handedOver({}, { owner: 'ada' })
    // As callers in JavaScript may have it.
    const filter = { owner: undefined } as unknown as { owner: string }
    expect(await codeOf(gateway.subscribe(handle, filter))).toBe('TASK_NOT_FOUND')
    expect(await codeOf(first.gateway.subscribe('task-1', filter))).toBe('INVALID_PARAMS')
    expect(await codeOf(first.gateway.getTask('task-1', filter))).toBe('INVALID_PARAMS')
  })

  test('where its agent is gone, or has become one of another kind', async () => {
    const { gateway, handle, registry, provider } = await handedOver()
    registry.register(agentInput('a', { provider: 'langgraph' }))
    expect(await codeOf(gateway.resume(handle))).toBe('TASK_NOT_FOUND')
    registry.unregister('a')
    expect(await codeOf(gateway.resume(handle))).toBe('AGENT_NOT_FOUND')
    expect(provider.calls).toEqual([])
  })

  test.each([
    ['knows no such task', new A2AError('TASK_NOT_FOUND', 'gone', { taskId: 'x' }), 'TASK_NOT_FOUND'],
    [
      'keeps no tasks',
      new A2AError('UNSUPPORTED_OPERATION', 'no', { operation: 'getTask' }),
      'UNSUPPORTED_OPERATION',
    ],
    ['fails', serviceError(), 'PROVIDER_ERROR'],
  ])('where its service %s, and is good again later', async (_, error, code) => {
    const { gateway, handle, provider, clock } = await handedOver()
    const refused = codeOf(gateway.resume(handle))
    await (await provider.untilCalled('getTask')).fail(error)
    expect([await refused, gateway.tasks.size(), clock.pending]).toEqual([code, 0, 0])
    const resumed = gateway.resume(handle)
    await (await provider.untilCalled('getTask')).answer({ state: 'completed' })
    expect((await resumed).state).toBe('completed')
  })

  test('where its service reports an unknown state, or nothing', async () => {
    for (const nonsense of [{ state: 'finished' }, { state: 7 }, null]) {
      const { gateway, handle, provider } = await handedOver()
      const refused = codeOf(gateway.resume(handle))
      await (await provider.untilCalled('getTask')).answer(nonsense)
      expect(await refused).not.toBe('no error')
      expect(gateway.tasks.size()).toBe(0)
    }
    const { gateway, handle, provider, clock } = await handedOver()
    const refused = codeOf(gateway.resume(handle))
    await provider.untilCalled('getTask')
    await pass(clock, 10_000)
    expect([await refused, clock.pending, gateway.tasks.size()]).toEqual(['WAIT_TIMED_OUT', 0, 0])
  })

  test('if the manager is full, or the gateway has closed by then', async () => {
    const full = await handedOver({ manager: { maxTasks: 1 } })
    full.tasks.createTask({ skill: 'x', id: 'other' })
    const refused = codeOf(full.gateway.resume(full.handle))
    await (await full.provider.untilCalled('getTask')).answer({ state: 'working' })
    expect(await refused).toBe('TASK_LIMIT_REACHED')
    const closing = await handedOver()
    const late = codeOf(closing.gateway.resume(closing.handle))
    const look = await closing.provider.untilCalled('getTask')
    await closing.gateway.close()
    await look.answer({ state: 'working' })
    expect([await late, closing.tasks.size(), closing.clock.pending]).toEqual(['UNAVAILABLE', 0, 0])
  })

  test('with results that are too large only in that the task fails', async () => {
    const { gateway, handle, provider, reported } = await handedOver({
      manager: { limits: { maxOutputSize: 10 } },
    })
    const resumed = gateway.resume(handle)
    await (await provider.untilCalled('getTask')).answer({ state: 'completed', output: 'x'.repeat(11) })
    expect(await resumed).toMatchObject({
      state: 'failed',
      message: { metadata: { code: 'LIMIT_EXCEEDED' } },
    })
    expect([reported.length, provider.of('cancelTask')]).toEqual([1, []])
  })
})

describe('a restored task that ends here while its service is asked', () => {
  test('is canceled there, and given as it ended', async () => {
    const { first, gateway, provider, handle, tasks } = await handedOver()
    restoreTasks(tasks, structuredClone(saveTasks(first.tasks)))
    const resumed = gateway.resume(handle)
    const look = await provider.untilCalled('getTask')
    tasks.cancelTask('task-1')
    await look.answer({ state: 'working' })
    await (await provider.untilCalled('cancelTask')).answer({})
    expect((await resumed).state).toBe('canceled')
  })
})

describe('a look at a task that waits', () => {
  async function waiting() {
    const all = setUp()
    const sent = all.gateway.sendTask('a', 'x')
    await (await all.provider.last('sendTask')).answer(WAITING)
    await sent
    return { ...all, looked: all.gateway.getTask('task-1'), look: await all.provider.last('getTask') }
  }

  test('reads its state at the service, and follows it', async () => {
    const { look, looked, provider, clock, gateway } = await waiting()
    await look.answer({ state: 'working' })
    expect((await looked).state).toBe('working')
    await pass(clock, 1_000)
    await (await provider.last('getTask')).answer({ state: 'completed' })
    expect((await gateway.getTask('task-1')).state).toBe('completed')
    expect(provider.calls).toHaveLength(3)
  })

  test('changes nothing where it waits on', async () => {
    const { look, looked, gateway, clock } = await waiting()
    const before = gateway.tasks.peekTask('task-1')
    await look.answer({ state: 'input-required', message: '?' })
    await looked
    expect(gateway.tasks.peekTask('task-1')).toBe(before)
    expect(clock.pending).toBe(0)
  })

  test.each([
    ['fails', serviceError(), 1],
    ['keeps no tasks', new A2AError('UNSUPPORTED_OPERATION', 'no', { operation: 'getTask' }), 0],
  ])('changes nothing where the service %s', async (_, error, reports) => {
    const { look, looked, reported } = await waiting()
    await look.fail(error)
    expect((await looked).state).toBe('input-required')
    expect(reported).toHaveLength(reports)
  })

  test('changes nothing where the service reports an unknown state, or nothing', async () => {
    for (const how of ['nonsense', 'null', 'hangs']) {
      const { look, looked, reported, clock } = await waiting()
      if (how === 'hangs') await pass(clock, 10_000)
      else await look.answer(how === 'null' ? null : { state: 'finished' })
      expect((await looked).state).toBe('input-required')
      expect([reported.map(({ context }) => context.during), clock.pending]).toEqual([['getTask'], 0])
    }
  })

  test('comes too late if the answer has come by then', async () => {
    const { look, looked, gateway, provider } = await waiting()
    void gateway.sendTask('a', { parts: [{ text: 'y' }], taskId: 'task-1' })
    await look.answer({ state: 'completed' })
    expect((await looked).state).toBe('working')
    await (await provider.last('sendTask')).answer({ state: 'completed' })
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('completed')
  })

  test('comes too late where the task has ended, or gone', async () => {
    for (const end of [
      (tasks: TaskManager) => tasks.cancelTask('task-1'),
      (tasks: TaskManager) => tasks.destroy(),
    ]) {
      const { look, looked, gateway, reported } = await waiting()
      const code = codeOf(looked)
      end(gateway.tasks)
      await look.answer({ state: 'completed' })
      expect(['no error', 'TASK_NOT_FOUND']).toContain(await code)
      expect(reported).toEqual([])
    }
  })
})
