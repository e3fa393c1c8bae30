import { describe, expect, test, vi } from 'vitest'
import { type TaskState } from 'a2a-tasks'
import { setup, walk } from '../support/manager.js'

describe('waitFor', () => {
  test('resolves with a copy of the task at its end, by default', async () => {
    const { tasks, id } = setup()
    const waiting = tasks.waitFor(id)
    walk(tasks, id, 'working', 'input-required', 'working', 'completed')
    const task = await waiting
    expect(task).toEqual(tasks.getTask(id))
    task.state = 'failed'
    expect(tasks.getTask(id)?.state).toBe('completed')
  })

  test('resolves at once when the task is there already', async () => {
    const { tasks, id } = setup()
    await expect(tasks.waitFor(id, { until: 'submitted' })).resolves.toMatchObject({ state: 'submitted' })
    tasks.cancelTask(id)
    await expect(tasks.waitFor(id)).resolves.toMatchObject({ state: 'canceled' })
  })

  test.each<[string, TaskState]>([
    ['interrupted', 'input-required'],
    ['interrupted', 'auth-required'],
    ['interrupted', 'rejected'],
    ['terminal', 'failed'],
  ])('until %s resolves at %s', async (until, state) => {
    const { tasks, id } = setup()
    const waiting = tasks.waitFor(id, { until: until as 'terminal' })
    walk(tasks, id, 'working', state)
    await expect(waiting).resolves.toMatchObject({ state })
  })

  test('sees a state that the task only passes through, as it was then', async () => {
    const { tasks, id } = setup()
    const working = tasks.waitFor(id, { until: 'working' })
    const asked = tasks.waitFor(id, { until: ['input-required', 'auth-required'] })
    walk(tasks, id, 'working', 'input-required', 'working', 'completed')
    await expect(working).resolves.toMatchObject({ state: 'working', generation: 2 })
    await expect(asked).resolves.toMatchObject({ state: 'input-required', generation: 3 })
  })

  test('resolves when the task ends in another state', async () => {
    const { tasks, id } = setup()
    const waiting = tasks.waitFor(id, { until: 'input-required' })
    walk(tasks, id, 'failed')
    await expect(waiting).resolves.toMatchObject({ state: 'failed' })
  })

  test('takes a function, and rejects with what it throws without affecting other waits', async () => {
    const { tasks, id } = setup()
    const two = tasks.waitFor(id, { until: ({ artifacts }) => artifacts.length === 2 })
    const bad = tasks.waitFor(id, {
      until: ({ generation }) => {
        if (generation === 2) throw new Error('boom')
        return false
      },
    })
    tasks.appendArtifact(id, { artifactId: 'a' })
    tasks.appendArtifact(id, { artifactId: 'b' })
    tasks.appendArtifact(id, { artifactId: 'c' })
    await expect(two).resolves.toMatchObject({ generation: 3 })
    await expect(bad).rejects.toThrow('boom')
  })

  test('rejects after timeoutMs, and the task continues', async () => {
    const { tasks, clock, id } = setup()
    const waiting = tasks.waitFor(id, { timeoutMs: 100 })
    clock.advance(99)
    expect(clock.pending).toBe(1)
    clock.advance(1)
    await expect(waiting).rejects.toMatchObject({
      code: 'WAIT_TIMED_OUT',
      message: 'Waiting for task task-1 took longer than 100 ms; the task continues',
      data: { taskId: id, timeoutMs: 100 },
    })
    expect(tasks.getTask(id)?.state).toBe('submitted')
  })

  test('rejects when its signal aborts, with the reason as cause', async () => {
    const { tasks, id } = setup()
    const reason = new Error('enough')
    const aborted = { code: 'WAIT_ABORTED', cause: reason }
    await expect(tasks.waitFor(id, { signal: AbortSignal.abort(reason) })).rejects.toMatchObject(aborted)
    const controller = new AbortController()
    const waiting = tasks.waitFor(id, { signal: controller.signal })
    controller.abort(reason)
    await expect(waiting).rejects.toMatchObject(aborted)
  })

  test('rejects when the task expires or is destroyed', async () => {
    const { tasks, clock, id } = setup({ expiryMs: 100 })
    const expiring = tasks.waitFor(id)
    clock.advance(101)
    tasks.prune()
    await expect(expiring).rejects.toMatchObject({ code: 'TASK_EXPIRED' })
    const destroyed = tasks.waitFor(tasks.createTask({ skill: 'test' }).id)
    tasks.destroy()
    await expect(destroyed).rejects.toMatchObject({
      code: 'MANAGER_DESTROYED',
      name: 'ManagerDestroyedError',
    })
  })

  test('removes its listeners and timers', async () => {
    const { tasks, clock, id } = setup()
    const signal = new AbortController().signal
    const removed: string[] = []
    const remove = signal.removeEventListener.bind(signal)
    signal.removeEventListener = (type: string, ...rest: [never]) => {
      removed.push(type)
      remove(type, ...rest)
    }
    const waiting = tasks.waitFor(id, { signal, timeoutMs: 1_000 })
    expect(clock.pending).toBe(1)
    walk(tasks, id, 'failed')
    await waiting
    expect(clock.pending).toBe(0)
    expect(removed).toEqual(['abort'])
    expect(tasks.eventNames()).toEqual([])
  })

  test.each([
    [{ until: 'done' }, 'until must be a function, a state or several (terminal, interrupted, submitted'],
    [{ until: ['working', 'wrking'] }, 'got "wrking"'],
    [{ until: [] }, 'got an array'],
    [{ until: () => 1 }, 'until must return a boolean, got a number'],
    [{ until: () => Promise.resolve(false) }, 'until must return a boolean, got an instance of Promise'],
    [{ timeoutMs: -1 }, 'timeoutMs must be a positive number of milliseconds, got -1'],
    [{ timeoutMs: NaN }, 'got NaN'],
    [
      { timeout: 5 },
      'waitFor(): "timeout" is unknown, did you mean "timeoutMs"?; known are until, signal, timeoutMs',
    ],
    [{ signal: new AbortController() }, 'signal must be an AbortSignal, got an instance of AbortController'],
    [null, 'waitFor() takes an object, got null'],
  ])('rejects %j, and leaves no timer', async (options, message) => {
    const { tasks, clock, id } = setup()
    const error: unknown = await tasks.waitFor(id, options as never).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(String(error)).toContain(message)
    expect(clock.pending).toBe(0)
  })

  test('makes no snapshot for events that it does not wait for', () => {
    const { tasks, id } = setup()
    void tasks.waitFor(id)
    void tasks.waitFor(id, { until: 'input-required' })
    const before = tasks.peekTask(id)
    tasks.updateTask(id, { state: 'working' })
    // This version was not requested, so that it is not frozen.
    expect(Object.isFrozen(before)).toBe(true)
    const copies = vi.spyOn(Object, 'freeze')
    for (let i = 0; i < 10; i++) tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'x' }] })
    const frozen = copies.mock.calls.filter(
      ([value]) => typeof value === 'object' && 'skill' in (value as object),
    )
    copies.mockRestore()
    expect(frozen).toEqual([])
  })
})

describe('signalOf', () => {
  test('is one signal for each task, and aborts when it is canceled, with a reason', () => {
    const { tasks, id } = setup()
    const signal = tasks.signalOf(id)
    expect(tasks.signalOf(id)).toBe(signal)
    expect(signal.aborted).toBe(false)
    tasks.cancelTask(id)
    expect(signal.reason).toMatchObject({
      code: 'TASK_CANCELED',
      name: 'TaskCanceledError',
      data: { taskId: id },
    })
    expect(tasks.signalOf(id).reason).toMatchObject({ code: 'TASK_CANCELED' })
  })

  test('aborts when an update cancels the task', () => {
    const { tasks, id } = setup()
    const signal = tasks.signalOf(id)
    walk(tasks, id, 'canceled')
    expect(signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
  })

  test('aborts when the task times out, whether it was asked for before or after', () => {
    const { tasks, clock, id } = setup({ taskTimeoutMs: 100 })
    const before = tasks.signalOf(id)
    const { id: other } = tasks.createTask({ skill: 'test' })
    clock.advance(100)
    expect(before.reason).toMatchObject({ code: 'TASK_TIMED_OUT', message: 'Task task-1 timed out' })
    expect(tasks.signalOf(other).reason).toMatchObject({ code: 'TASK_TIMED_OUT' })
  })

  test('aborts when a live task expires, or is destroyed with its manager', () => {
    const { tasks, clock, id } = setup({ expiryMs: 100 })
    const expired = tasks.signalOf(id)
    clock.advance(101)
    const destroyed = tasks.signalOf(tasks.createTask({ skill: 'test' }).id)
    tasks.destroy()
    expect(expired.reason).toMatchObject({ code: 'TASK_EXPIRED' })
    expect(destroyed.reason).toMatchObject({ code: 'MANAGER_DESTROYED' })
  })

  test('never aborts once the task has ended by itself', () => {
    const { tasks, clock, id } = setup({ expiryMs: 100 })
    const signal = tasks.signalOf(id)
    walk(tasks, id, 'working', 'completed')
    const later = tasks.signalOf(id)
    clock.advance(101)
    tasks.prune()
    tasks.destroy()
    expect([signal.aborted, later.aborted]).toEqual([false, false])
  })

  test('aborts after the change is stored and emitted', () => {
    const { tasks, id } = setup()
    const order: string[] = []
    tasks.signalOf(id).addEventListener('abort', () => order.push(`aborted ${tasks.getTask(id)?.state}`))
    tasks.on('task:stateChange', ({ to }) => order.push(`state ${to}`))
    tasks.cancelTask(id)
    expect(order).toEqual(['state canceled', 'aborted canceled'])
  })
})
