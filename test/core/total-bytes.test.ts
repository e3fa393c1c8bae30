import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { defineLifecycle, TaskManager, type TaskManagerOptions, saveTasks, restoreTasks } from 'a2a-tasks'
import { setup, thrown, walk } from '../support/manager.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const TEXT = 'x'.repeat(10_000)

/** A manager with room for about `count` messages of {@link TEXT}. */
function managerFor(count: number, options: TaskManagerOptions = {}): TaskManager {
  return new TaskManager({
    ...options,
    limits: { maxTotalBytes: Math.floor(count * 12_000), ...options.limits },
  })
}

function create(tasks: TaskManager, owner?: string): string {
  return tasks.createTask({ skill: 'test', owner }).id
}

function say(tasks: TaskManager, id: string, text = TEXT): void {
  tasks.addMessage(id, { role: 'user', parts: [{ text }] })
}

/** An ended task with one message. */
function done(tasks: TaskManager, owner?: string): string {
  const id = create(tasks, owner)
  say(tasks, id)
  walk(tasks, id, 'rejected')
  return id
}

const left = (tasks: TaskManager, ids: readonly string[]): number =>
  ids.filter((id) => tasks.stateOf(id) !== null).length

describe('maxTotalBytes', () => {
  test('refuses a task too many', () => {
    const { tasks } = setup({ limits: { maxTotalBytes: 30_000 } })
    const make = (): unknown => tasks.createTask({ skill: 'test', input: TEXT })
    make()
    make()
    expect(thrown(make)).toMatchObject({
      code: 'TASK_LIMIT_REACHED',
      message: 'maxTotalBytes reached: 30000',
      data: { maxTasks: 1_000, maxTotalBytes: 30_000 },
    })
    expect(tasks.size()).toBe(3)
  })

  test.each([
    ['a message', (tasks: TaskManager, id: string) => say(tasks, id)],
    [
      'a chunk',
      (tasks: TaskManager, id: string) =>
        tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: TEXT }] }),
    ],
    [
      'an artifact',
      (tasks: TaskManager, id: string) => tasks.updateTask(id, { artifacts: [{ data: TEXT }] }),
    ],
    ['an output', (tasks: TaskManager, id: string) => tasks.updateTask(id, { output: TEXT })],
    ['a status message', (tasks: TaskManager, id: string) => tasks.updateTask(id, { message: TEXT })],
    [
      'an end with a long message',
      (tasks: TaskManager, id: string) => tasks.cancelTask(id, { message: TEXT }),
    ],
  ])('refuses %s too many, and changes nothing', (_, change) => {
    const { tasks, id } = setup({ limits: { maxTotalBytes: 5_000 } })
    const before = tasks.getTask(id)
    expect(thrown(() => change(tasks, id))).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringMatching(
        /^All tasks size \(1\d{4} bytes\) exceeds maxTotalBytes \(5000 bytes\)$/,
      ) as string,
      data: { limit: 'maxTotalBytes', max: 5_000 },
    })
    expect(tasks.getTask(id)).toEqual(before)
  })

  test('lets a task end when nothing else fits', () => {
    const { tasks, id, clock } = setup({ limits: { maxTotalBytes: 3_000 }, taskTimeoutMs: 100 })
    const other = create(tasks)
    expect(() => {
      for (;;) tasks.updateTask(id, {})
    }).toThrow('exceeds maxTotalBytes')
    tasks.cancelTask(id, { message: 'No room' })
    expect(tasks.getTask(id)).toMatchObject({ state: 'canceled', message: 'No room' })
    clock.advance(100)
    expect(tasks.stateOf(other)).toBe('failed')
  })

  test('refuses to restore too much, as a whole', () => {
    const { tasks } = setup()
    for (let i = 0; i < 3; i++) done(tasks)
    const saved = saveTasks(tasks)
    const small = managerFor(2)
    expect(thrown(() => restoreTasks(small, saved))).toMatchObject({ code: 'TASK_LIMIT_REACHED' })
    expect(small.size()).toBe(0)
  })

  test('has room again after tasks expired, were evicted or destroyed', () => {
    const { tasks, clock } = setup({ limits: { maxTotalBytes: 15_000 }, expiryMs: 100 })
    for (let round = 0; round < 20; round++) {
      clock.advance(101)
      done(tasks)
    }
    for (let round = 0; round < 20; round++) {
      tasks.destroy()
      done(tasks)
    }
    const evicting = managerFor(2, { whenFull: 'evict-terminal' })
    for (let round = 0; round < 20; round++) done(evicting)
  })

  test('has room again after contents were replaced and left the log', () => {
    const { tasks, id } = setup({ limits: { maxTotalBytes: 100_000 }, eventLogSize: 1 })
    walk(tasks, id, 'working')
    for (let round = 0; round < 50; round++) {
      tasks.updateTask(id, { output: TEXT, message: TEXT })
      tasks.updateTask(id, { artifacts: [{ artifactId: 'a', metadata: { TEXT }, parts: [] }] })
      tasks.appendArtifact(id, { artifactId: 'a', metadata: { TEXT: `${TEXT}${round}` } })
    }
  })

  test('must be positive, and may be Infinity', () => {
    expect(() => managerFor(0)).toThrow('"limits.maxTotalBytes" must be')
    expect(() => managerFor(Infinity)).not.toThrow()
  })
})

describe('a manager that is full of', () => {
  const BYTES = 8_000_000
  const many = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(index))
  const deep = (depth: number): unknown => (depth === 0 ? [] : [deep(depth - 1)])
  const chunks =
    (text: string): Act =>
    (tasks, id) =>
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: text.concat(String(++count)) }] })
  const messages =
    (make: () => unknown): Act =>
    (tasks, id) =>
      tasks.addMessage(id, { role: 'user', parts: [{ data: make() }] })
  const inputs =
    (make: () => unknown): Act =>
    (tasks) =>
      tasks.createTask({ skill: 'test', input: make() })
  type Act = (tasks: TaskManager, id: string) => unknown
  let count = 0

  test.each<[string, Act]>([
    ['small tasks', (tasks) => create(tasks)],
    ['chunks of text', chunks('some words of the answer ')],
    ['long texts', chunks(TEXT)],
    ['wide texts', chunks('…'.repeat(10_000))],
    ['empty objects', messages(() => many(5_000, () => ({})))],
    ['empty arrays', inputs(() => many(5_000, () => []))],
    ['nested arrays', messages(() => deep(90))],
    ['fractions', inputs(() => many(5_000, (index) => index + 0.5))],
    ['objects of different keys', messages(() => many(2_000, () => ({ [`k${++count}`]: 1 })))],
    ['keys that are small integers', messages(() => many(100, () => ({ 1000: 1 })))],
    ['keys of one object', inputs(() => Object.fromEntries(many(5_000, () => [`k${++count}`, 1])))],
    ['outputs that were replaced', (tasks, id) => tasks.updateTask(id, { output: many(500, () => ({})) })],
  ])('%s takes about maxTotalBytes of heap', async (_, act) => {
    // What the test before has left, this turn of the event loop may still hold.
    await setImmediate()
    gc()
    const before = process.memoryUsage().heapUsed
    const tasks = new TaskManager({
      maxTasks: Infinity,
      eventLogSize: Infinity,
      limits: { maxTotalBytes: BYTES, maxMessages: Infinity },
    })
    const id = create(tasks)
    expect(() => {
      for (;;) act(tasks, id)
    }).toThrow('maxTotalBytes')
    // A reader copies the chunks of a text into one.
    JSON.stringify(tasks.peekTask(id))
    gc()
    const taken = process.memoryUsage().heapUsed - before
    expect(taken).toBeGreaterThan(BYTES / 3)
    expect(taken).toBeLessThan(BYTES * 1.7)
    expect(tasks.size()).toBeGreaterThan(0)
    tasks.destroy()
  })
})

test('names that are small integers allocate no array', () => {
  const tasks = new TaskManager()
  const data = Array.from({ length: 5_000 }, () => ({ 1000: 1, a: { 999: 2 } }))
  gc()
  const before = process.memoryUsage().heapUsed
  const { id } = tasks.createTask({ skill: 'test', input: data })
  const copy = tasks.getTask(id)
  gc()
  // Two copies of 10,000 objects, of which each would take 12 kB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(16_000_000)
  expect(copy?.input).toEqual(data)
  expect(JSON.stringify(copy?.input)).toBe(JSON.stringify(data))
})

describe('eviction', () => {
  test('is at the expense of the owner that holds most tasks, those that ended first', () => {
    const tasks = new TaskManager({ maxTasks: 10, whenFull: 'evict-terminal' })
    const bobs = done(tasks, 'bob')
    const adas = Array.from({ length: 9 }, () => done(tasks, 'ada'))
    for (const owner of ['cleo', 'ada', 'cleo', 'dan', 'bob', undefined]) create(tasks, owner)
    expect([left(tasks, adas), left(tasks, [bobs])]).toEqual([3, 1])
    expect(tasks.stateOf(adas[5] as string)).toBeNull()
  })

  test('of owners that hold the same, takes what ended first', () => {
    const tasks = new TaskManager({ maxTasks: 4, whenFull: 'evict-terminal' })
    const ids = ['a', 'b', 'c', 'd'].map((owner) => create(tasks, owner))
    for (const index of [2, 0, 3, 1]) walk(tasks, ids[index] as string, 'rejected')
    const order: string[] = []
    tasks.on('task:evicted', ({ owner = '' }) => order.push(owner))
    for (let i = 0; i < 4; i++) create(tasks, `new ${i}`)
    expect(order).toEqual(['c', 'a', 'd', 'b'])
  })

  test('removes no task of others for an owner that holds more than half', () => {
    for (const whenFull of ['evict-terminal', 'evict'] as const) {
      const tasks = new TaskManager({ maxTasks: 10, whenFull })
      const bobs = Array.from({ length: 7 }, () => done(tasks, 'bob'))
      for (let i = 0; i < 6; i++) create(tasks, 'ada')
      expect(left(tasks, bobs)).toBe(4)
      expect(thrown(() => create(tasks, 'ada'))).toMatchObject({ code: 'TASK_LIMIT_REACHED' })
      expect(left(tasks, bobs)).toBe(4)
      create(tasks, 'bob')
      expect(left(tasks, bobs)).toBe(3)
    }
  })

  test('never touches a task that has not ended with evict-terminal', () => {
    const tasks = new TaskManager({ maxTasks: 10, whenFull: 'evict-terminal' })
    const ids = Array.from({ length: 10 }, () => create(tasks, 'ada'))
    for (const id of ids) walk(tasks, id, 'working', 'input-required')
    expect(() => create(tasks, 'bob')).toThrow('Maximum task limit reached: 10')
    expect(left(tasks, ids)).toBe(10)
  })

  test('makes room for bytes at the expense of the owner that holds most of them', () => {
    const tasks = managerFor(10, { whenFull: 'evict-terminal' })
    const bobs = Array.from({ length: 2 }, () => done(tasks, 'bob'))
    const small = Array.from({ length: 20 }, () => create(tasks, 'eve'))
    for (const id of small) walk(tasks, id, 'rejected')
    const adas = Array.from({ length: 5 }, () => done(tasks, 'ada'))
    const id = create(tasks, 'cleo')
    say(tasks, id)
    say(tasks, id)
    expect([left(tasks, bobs), left(tasks, small)]).toEqual([2, 20])
    expect(left(tasks, adas)).toBeLessThan(5)
    expect(tasks.stateOf(adas.at(-1) as string)).not.toBeNull()
  })
})

describe('whenFull: evict', () => {
  function waiting(tasks: TaskManager, owner: string): string {
    const id = create(tasks, owner)
    walk(tasks, id, 'working', 'input-required')
    return id
  }

  test("one owner whose tasks wait does not block another, nor remove the other's ended task", () => {
    const tasks = new TaskManager({ whenFull: 'evict' })
    const bobs = done(tasks, 'bob')
    const adas: string[] = []
    for (let i = 0; i < 999; i++) adas.push(waiting(tasks, 'ada'))
    for (let i = 0; i < 100; i++) create(tasks, 'bob')
    expect([left(tasks, adas), left(tasks, [bobs])]).toEqual([899, 1])
    expect(tasks.stateOf(adas[100] as string)).toBe('input-required')
    expect(tasks.stateOf(adas[99] as string)).toBeNull()
    adas.push(waiting(tasks, 'ada'))
    expect([left(tasks, adas), left(tasks, [bobs])]).toEqual([899, 1])
    expect(tasks.stateOf(adas[100] as string)).toBeNull()
  })

  test('cancels the task, notifies its readers, and removes it', async () => {
    const tasks = new TaskManager({ maxTasks: 2, whenFull: 'evict' })
    const mine = waiting(tasks, 'ada')
    const other = waiting(tasks, 'ada')
    const evicted = vi.fn()
    tasks.on('task:evicted', ({ id, state }) => void evicted(id, state))
    const signal = tasks.signalOf(mine)
    const ended = tasks.waitFor(mine)
    const created = create(tasks, 'bob')
    expect(evicted.mock.calls).toEqual([[mine, 'canceled']])
    expect(signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
    expect(await ended).toMatchObject({ state: 'canceled', message: 'Canceled to make room for other tasks' })
    expect([mine, other, created].map((each) => tasks.stateOf(each))).toEqual([
      null,
      'input-required',
      'submitted',
    ])
  })

  test('needs an owner that holds less than half as much, or takes the oldest of its own that wait', () => {
    const tasks = new TaskManager({ maxTasks: 6, whenFull: 'evict' })
    const adas = Array.from({ length: 4 }, () => waiting(tasks, 'ada'))
    for (let i = 0; i < 2; i++) create(tasks, 'bob')
    expect(() => create(tasks, 'bob')).toThrow('Maximum task limit reached: 6')
    adas.push(waiting(tasks, 'ada'))
    expect(adas.map((id) => tasks.stateOf(id) !== null)).toEqual([false, true, true, true, true])
    create(tasks, 'cleo')
    create(tasks, 'cleo')
    expect(() => create(tasks, 'cleo')).toThrow('Maximum task limit reached: 6')
  })

  test('takes ended tasks first, unless the owner of those that wait holds more than half', () => {
    const tasks = new TaskManager({ maxTasks: 10, whenFull: 'evict' })
    const adas = Array.from({ length: 5 }, () => waiting(tasks, 'ada'))
    const bobs = Array.from({ length: 5 }, () => done(tasks, 'bob'))
    create(tasks, 'cleo')
    expect([left(tasks, adas), left(tasks, bobs)]).toEqual([5, 4])
    adas.push(waiting(tasks, 'ada'))
    expect([left(tasks, adas), left(tasks, bobs)]).toEqual([6, 3])
    create(tasks, 'cleo')
    expect([left(tasks, adas), left(tasks, bobs)]).toEqual([5, 3])
  })

  test('holds for bytes too', () => {
    const tasks = managerFor(10, { whenFull: 'evict' })
    const adas = Array.from({ length: 9 }, () => {
      const id = create(tasks, 'ada')
      say(tasks, id)
      walk(tasks, id, 'working', 'input-required')
      return id
    })
    const bobs = create(tasks, 'bob')
    say(tasks, bobs)
    say(tasks, bobs)
    expect(left(tasks, adas)).toBeLessThan(9)
    expect(tasks.stateOf(adas.at(-1) as string)).toBe('input-required')
    expect(() => {
      for (;;) say(tasks, bobs)
    }).toThrow('exceeds maxTotalBytes')
    expect(left(tasks, adas)).toBeGreaterThan(4)
  })

  test('makes room for bytes of a task that waits, and never removes this one for it', () => {
    const tasks = managerFor(10, { whenFull: 'evict' })
    const [first = '', ...others] = Array.from({ length: 9 }, () => {
      const id = create(tasks, 'ada')
      say(tasks, id)
      walk(tasks, id, 'working', 'input-required')
      return id
    })
    const fill = (): void => {
      for (let count = 0; count < 20; count++) say(tasks, first)
    }
    expect(fill).toThrow('exceeds maxTotalBytes')
    expect([tasks.stateOf(first), left(tasks, others)]).toEqual(['input-required', 0])
  })

  test('leaves tasks alone that a lifecycle does not let be canceled', () => {
    const lifecycle = defineLifecycle(
      { open: ['asked', 'closed'], asked: ['closed'], closed: [] },
      { interrupted: ['asked'] },
    )
    const tasks = new TaskManager({ lifecycle, maxTasks: 2, whenFull: 'evict' })
    for (let i = 0; i < 2; i++)
      tasks.updateTask(tasks.createTask({ skill: 'test', owner: 'ada' }).id, { state: 'asked' })
    expect(() => tasks.createTask({ skill: 'test', owner: 'bob' })).toThrow('Maximum task limit reached: 2')
  })
})
