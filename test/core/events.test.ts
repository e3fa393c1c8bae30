import { afterEach, describe, expect, test, vi } from 'vitest'
import { type TaskEvent, type TaskEvents, TaskManager, type TaskSnapshot, saveTasks } from 'a2a-tasks'
import { setup, walk } from '../support/manager.js'
import { uncaughtBy } from '../support/uncaught.js'

const NAMES = [
  'task:created',
  'task:stateChange',
  'task:updated',
  'task:artifact',
  'task:message',
  'task:expired',
  'task:evicted',
  'task:event',
] as const satisfies readonly (keyof TaskEvents)[]

/** Everything that is emitted from now on, in order. */
function record(tasks: TaskManager): { event: string; payload: object }[] {
  const emitted: { event: string; payload: object }[] = []
  for (const event of NAMES) tasks.on(event, (payload: object) => emitted.push({ event, payload }))
  return emitted
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('the events of one command', () => {
  test('a create emits its log entry and the task', () => {
    const tasks = new TaskManager()
    const emitted = record(tasks)
    const task = tasks.createTask({ skill: 'test' })
    expect(emitted.map(({ event }) => event)).toEqual(['task:event', 'task:created'])
    expect(emitted[1]?.payload).toEqual(task)
  })

  test('an update emits the state change first, then each entry, then the task', () => {
    const { tasks, id } = setup()
    walk(tasks, id, 'working')
    const emitted = record(tasks)
    tasks.updateTask(id, { state: 'completed', output: 1, artifacts: [{ artifactId: 'a' }], message: 'Done' })
    expect(
      emitted.map(({ event, payload }) => [event, 'type' in payload ? payload.type : undefined]),
    ).toEqual([
      ['task:stateChange', undefined],
      ['task:event', 'output'],
      ['task:event', 'artifact'],
      ['task:artifact', 'artifact'],
      ['task:event', 'status'],
      ['task:updated', undefined],
    ])
    const timestamp = '2026-01-01T00:00:00.000Z'
    expect(emitted[0]?.payload).toEqual({
      taskId: id,
      from: 'working',
      to: 'completed',
      timestamp,
      generation: 5,
    })
    expect(emitted.at(-1)?.payload).toEqual(tasks.getTask(id))
  })

  test('progress and messages change no state', () => {
    const { tasks, id } = setup()
    const emitted = record(tasks)
    tasks.updateTask(id, { message: 'Hm' })
    tasks.addMessage(id, { role: 'user', parts: [{ text: 'Hi' }] })
    expect(emitted.map(({ event }) => event)).toEqual([
      ...['task:event', 'task:updated'],
      ...['task:event', 'task:message', 'task:updated'],
    ])
  })

  test('a cancel is an update too', () => {
    const { tasks, id } = setup()
    const emitted = record(tasks)
    tasks.cancelTask(id)
    expect(emitted.map(({ event }) => event)).toEqual(['task:stateChange', 'task:event', 'task:updated'])
  })

  test('a refused command leaves no trace', () => {
    const { tasks, id } = setup({ maxTasks: 1 })
    const before = JSON.stringify(saveTasks(tasks))
    const emitted = record(tasks)
    for (const refused of [
      () => tasks.createTask({ skill: 'test' }),
      () => tasks.createTask({ skill: '' }),
      () => tasks.updateTask(id, { state: 'completed', output: 1, artifacts: [{}], message: 'x' }),
      () => tasks.updateTask(id, { state: 'working', output: 1n }),
      () => tasks.updateTask(id, { state: 'working', artifacts: [{ ok: 1 }, { bad: () => 1 }] }),
      () => tasks.addMessage(id, { role: 'user', parts: [{} as never] }),
      () => tasks.cancelTask(id, { expectedGeneration: 9 }),
    ]) {
      expect(refused).toThrow()
    }
    expect(emitted).toEqual([])
    expect(JSON.stringify(saveTasks(tasks))).toBe(before)
  })

  test('the event that ends a task is the last of its log', () => {
    const { tasks, id } = setup()
    walk(tasks, id, 'working')
    tasks.updateTask(id, { state: 'failed', output: 1, artifacts: [{ artifactId: 'a' }], message: 'No' })
    expect(tasks.events(id).map(({ type }) => type)).toEqual([
      'created',
      'status',
      'output',
      'artifact',
      'status',
    ])
  })
})

describe('payloads', () => {
  test('are frozen, all the way down', () => {
    const { tasks, id } = setup()
    const emitted = record(tasks)
    tasks.updateTask(id, { state: 'working', output: { a: [{}] }, artifacts: [{ parts: [{ text: 'x' }] }] })
    for (const { payload } of emitted) expect(isDeeplyFrozen(payload)).toBe(true)
  })

  test('show the task as it was at that change, however late a listener looks', () => {
    const { tasks, id } = setup()
    const seen: TaskSnapshot[] = []
    tasks.on('task:updated', (task) => seen.push(task))
    walk(tasks, id, 'working', 'input-required', 'working')
    expect(seen.map(({ state, generation }) => [state, generation])).toEqual([
      ['working', 2],
      ['input-required', 3],
      ['working', 4],
    ])
  })
})

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen)
}

describe('listeners', () => {
  test('a throwing listener affects no other listener', () => {
    const { tasks, id } = setup()
    const failures = vi.fn()
    const others = vi.fn()
    const boom = new Error('boom')
    tasks.on('listener:error', failures)
    tasks.on('task:stateChange', () => {
      throw boom
    })
    tasks.on('task:stateChange', others)
    tasks.once('task:updated', () => {
      throw boom
    })
    expect(tasks.updateTask(id, { state: 'working', output: 1 })).toMatchObject({
      state: 'working',
      output: 1,
    })
    expect(others).toHaveBeenCalledOnce()
    expect(failures.mock.calls).toEqual([
      [{ error: boom, event: 'task:stateChange' }],
      [{ error: boom, event: 'task:updated' }],
    ])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('b')
      },
    ],
    ['rejects', () => Promise.reject(new Error('b'))],
  ])('of listener:error that %s are not called for their own error', async (_, fail) => {
    const { tasks, id } = setup()
    let calls = 0
    tasks.on('task:updated', () => {
      throw new Error('a')
    })
    tasks.on('listener:error', (): unknown => {
      calls += 1
      return fail()
    })
    const uncaught = await uncaughtBy(() => tasks.updateTask(id, {}))
    expect(calls).toBe(1)
    expect(uncaught).toEqual([new Error('b')])
  })

  test('whose promise rejects are reported too', async () => {
    const { tasks, id } = setup()
    const failure = new Promise((resolve) => tasks.on('listener:error', resolve))
    const reject = (): unknown => Promise.reject(new Error('later'))
    tasks.on('task:updated', reject)
    tasks.updateTask(id, {})
    await expect(failure).resolves.toMatchObject({ event: 'task:updated', error: new Error('later') })
  })

  test('that throw without a listener of errors cause an uncaught error after the command', async () => {
    const { tasks, id } = setup()
    tasks.on('task:updated', () => {
      throw new Error('no one listens')
    })
    const uncaught = await uncaughtBy(() => {
      expect(tasks.updateTask(id, { state: 'working' }).state).toBe('working')
    })
    expect(uncaught).toEqual([new Error('no one listens')])
  })

  test('are removed by the function that was added, and only once where added once', () => {
    const { tasks, id } = setup()
    const [on, once, removed] = [vi.fn(), vi.fn(), vi.fn()]
    tasks.on('task:updated', on).once('task:updated', once).once('task:updated', removed)
    tasks.addListener('task:created', removed)
    expect(tasks.listeners('task:updated')).toEqual([on, once, removed])
    tasks.off('task:updated', removed)
    tasks.removeListener('task:created', removed)
    tasks.updateTask(id, {})
    tasks.updateTask(id, {})
    tasks.createTask({ skill: 'test' })
    expect([on.mock.calls.length, once.mock.calls.length, removed.mock.calls.length]).toEqual([2, 1, 0])
    tasks.off('task:updated')
    expect(tasks.listenerCount('task:updated')).toBe(0)
  })

  test.each(['on', 'addListener', 'once'] as const)(
    'hear the next change after %s, also when none was there',
    (add) => {
      const { tasks, id } = setup()
      for (const listener of [vi.fn(), vi.fn()]) {
        tasks.updateTask(id, {})
        tasks[add]('task:updated', listener)
        tasks.updateTask(id, {})
        tasks.removeAllListeners()
        tasks.updateTask(id, {})
        expect(listener).toHaveBeenCalledOnce()
      }
    },
  )

  test('keep their context', () => {
    const { tasks, id } = setup()
    const context = { name: 'mine' }
    const seen: unknown[] = []
    tasks.on(
      'task:updated',
      function (this: unknown) {
        seen.push(this)
      },
      context,
    )
    tasks.updateTask(id, {})
    expect(seen).toEqual([context])
  })
})

describe('a listener that gives commands', () => {
  test('events arrive in generation order, whatever listeners do', () => {
    const { tasks, id } = setup()
    const generations: Record<string, number[]> = {}
    const listen = (name: string): void => {
      const seen: number[] = (generations[name] = [])
      tasks.on('task:event', ({ generation }) => seen.push(generation))
    }
    listen('before')
    tasks.on('task:stateChange', ({ to }) => {
      if (to === 'working') tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: '1' }] })
    })
    tasks.on('task:artifact', ({ generation }) => {
      if (generation < 6) tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: '2' }] })
      else if (generation === 6) tasks.updateTask(id, { state: 'completed' })
    })
    listen('after')
    walk(tasks, id, 'working')
    expect(generations).toEqual({ before: [2, 3, 4, 5, 6, 7], after: [2, 3, 4, 5, 6, 7] })
    expect(tasks.getTask(id)?.state).toBe('completed')
  })

  test('gets its own result at once, while other listeners receive it later', () => {
    const { tasks, id } = setup()
    const order: string[] = []
    tasks.on('task:stateChange', ({ to }) => {
      order.push(`first receives ${to}`)
      if (to === 'working') order.push(`cancel gives ${tasks.cancelTask(id).state}`)
    })
    tasks.on('task:stateChange', ({ to }) => order.push(`second receives ${to}`))
    expect(tasks.updateTask(id, { state: 'working' }).state).toBe('working')
    expect(order).toEqual([
      'first receives working',
      'cancel gives canceled',
      'second receives working',
      'first receives canceled',
      'second receives canceled',
    ])
  })

  test('sees only stored changes', () => {
    const { tasks, id } = setup()
    const stored: boolean[] = []
    tasks.on('task:updated', (task) => stored.push(tasks.peekTask(id) === task))
    tasks.on('task:event', (event: TaskEvent) =>
      stored.push(tasks.events(id).some((known) => known.generation === event.generation)),
    )
    walk(tasks, id, 'working', 'completed')
    expect(stored).toEqual([true, true, true, true])
  })

  test('may continue for long without holding finished commands in memory', () => {
    const { tasks, id } = setup()
    const seen: number[] = []
    tasks.on('task:updated', ({ generation }) => {
      seen.push(generation)
      if (generation < 5_000) tasks.updateTask(id, {})
    })
    tasks.updateTask(id, {})
    expect(seen).toEqual(Array.from({ length: 4_999 }, (_, index) => index + 2))
  })

  test('may destroy the manager', () => {
    const { tasks, id } = setup()
    const late = vi.fn()
    tasks.on('task:stateChange', () => tasks.destroy())
    tasks.on('task:updated', late)
    expect(tasks.updateTask(id, { state: 'working' }).state).toBe('working')
    expect(tasks.size()).toBe(0)
    expect(late).not.toHaveBeenCalled()
  })
})
