import { describe, expect, test } from 'vitest'
import { evolve, type TaskSnapshot, type TaskStreamEvent } from 'a2a-tasks'
import { collect, setup, walk } from '../support/manager.js'

const label = ({ type, generation }: TaskStreamEvent): string => `${type} ${generation}`

function appendTo(tasks: ReturnType<typeof setup>['tasks'], id: string, times: number): void {
  for (let i = 0; i < times; i++) tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: `${i}` }] })
}

describe('subscribe', () => {
  test('begins with a snapshot, then yields events as they come, and ends with the task', async () => {
    const { tasks, id } = setup()
    const reading = collect(tasks.subscribe(id))
    walk(tasks, id, 'working')
    await Promise.resolve()
    appendTo(tasks, id, 2)
    walk(tasks, id, 'completed')
    expect((await reading).map(label)).toEqual([
      'snapshot 1',
      'status 2',
      'artifact 3',
      'artifact 4',
      'status 5',
    ])
  })

  test('replays after a cursor, then continues', async () => {
    const { tasks, id } = setup()
    walk(tasks, id, 'working')
    appendTo(tasks, id, 3)
    const reading = collect(tasks.subscribe(id, { after: 2 }))
    appendTo(tasks, id, 1)
    walk(tasks, id, 'failed')
    expect((await reading).map(({ generation }) => generation)).toEqual([3, 4, 5, 6, 7])
  })

  test('a subscriber sees every event once, or a resync', async () => {
    const { tasks, id } = setup({ eventLogSize: 4 })
    const fast = tasks.subscribe(id, { after: 0 })
    const slow = tasks.subscribe(id, { after: 0 })
    const seen: { fast: TaskStreamEvent[]; slow: TaskStreamEvent[] } = { fast: [], slow: [] }
    seen.slow.push((await slow.next()).value as TaskStreamEvent)
    walk(tasks, id, 'working')
    for (let i = 0; i < 10; i++) {
      appendTo(tasks, id, 1)
      for (const last = (): number => seen.fast.at(-1)?.generation ?? 0; last() < i + 3;) {
        seen.fast.push((await fast.next()).value as TaskStreamEvent)
      }
    }
    walk(tasks, id, 'completed')
    seen.fast.push(...(await collect(fast)))
    seen.slow.push(...(await collect(slow)))

    expect(seen.fast.map(({ generation }) => generation)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    expect(seen.slow.map(label)).toEqual(['created 1', 'resync 13'])
    for (const entries of [seen.fast, seen.slow]) {
      expect(entries.reduce<TaskSnapshot | undefined>(evolve, undefined)).toEqual(tasks.getTask(id))
    }
  })

  test('of a cursor that the task never reached is a resync', async () => {
    const { tasks, id } = setup()
    const reading = tasks.subscribe(id, { after: 99 })
    expect((await reading.next()).value).toMatchObject({ type: 'resync', generation: 1 })
  })

  test('of a task that has ended yields the remaining events, and ends', async () => {
    const { tasks, id } = setup()
    walk(tasks, id, 'working', 'completed')
    expect((await collect(tasks.subscribe(id))).map(label)).toEqual(['snapshot 3'])
    expect((await collect(tasks.subscribe(id, { after: 1 }))).map(label)).toEqual(['status 2', 'status 3'])
    expect(await collect(tasks.subscribe(id, { after: 3 }))).toEqual([])
  })

  test('ends when its signal aborts, before or while it waits', async () => {
    const { tasks, id } = setup()
    expect(await collect(tasks.subscribe(id, { signal: AbortSignal.abort() }))).toEqual([])
    const controller = new AbortController()
    const reading = collect(tasks.subscribe(id, { signal: controller.signal }))
    await Promise.resolve()
    controller.abort()
    expect((await reading).map(label)).toEqual(['snapshot 1'])
  })

  test('ends when its signal aborted before the first read', async () => {
    const { tasks, id } = setup()
    const controller = new AbortController()
    const events = tasks.subscribe(id, { signal: controller.signal })
    controller.abort()
    expect(await collect(events)).toEqual([])
  })

  test.each([
    [
      { afer: 2 },
      'subscribe(): "afer" is unknown, did you mean "after"?; known are after, signal, keepAlive',
    ],
    [{ keepAlive: 1 }, 'keepAlive must be a boolean, got a number'],
    [{ signal: {} }, 'signal must be an AbortSignal, got an object'],
    [2, 'subscribe() takes an object, got a number'],
  ])('refuses the options %j', (options, message) => {
    const { tasks, id } = setup()
    expect(() => tasks.subscribe(id, options as never)).toThrow(message)
  })

  test('ends when the reader leaves, also while a read waits', async () => {
    const { tasks, id } = setup()
    for await (const entry of tasks.subscribe(id)) {
      expect(label(entry)).toBe('snapshot 1')
      break
    }
    const events = tasks.subscribe(id, { after: 1 })
    const waiting = events.next()
    await events.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })

  test('serves reads that do not wait for each other in order', async () => {
    const { tasks, id } = setup()
    const events = tasks.subscribe(id, { after: 0 })
    const reads = Promise.all([events.next(), events.next(), events.next()])
    walk(tasks, id, 'working', 'completed')
    expect((await reads).map(({ value }) => label(value as TaskStreamEvent))).toEqual([
      'created 1',
      'status 2',
      'status 3',
    ])
  })

  test('throws when the task is removed before it ends, after the last read event', async () => {
    const { tasks, clock, id } = setup({ expiryMs: 100 })
    const expiring = tasks.subscribe(id, { after: 0 })
    walk(tasks, id, 'working')
    clock.advance(101)
    tasks.prune()
    expect(label((await expiring.next()).value as TaskStreamEvent)).toBe('created 1')
    expect(label((await expiring.next()).value as TaskStreamEvent)).toBe('status 2')
    await expect(expiring.next()).rejects.toMatchObject({ code: 'TASK_EXPIRED', data: { taskId: id } })

    const second = setup()
    const destroyed = collect(second.tasks.subscribe(second.id))
    second.tasks.destroy()
    await expect(destroyed).rejects.toMatchObject({ code: 'MANAGER_DESTROYED' })
  })

  test('yields frozen entries', async () => {
    const { tasks, id } = setup()
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'x' }] })
    for await (const entry of tasks.subscribe(id, { after: 1 })) {
      expect(entry.type === 'artifact' && Object.isFrozen(entry.artifact.parts?.[0])).toBe(true)
      break
    }
  })

  test.each([-1, 1.5, NaN, '1', null])('refuses the cursor %j', (after) => {
    const { tasks, id } = setup()
    expect(() => tasks.subscribe(id, { after: after as number })).toThrow('after must be a generation')
    expect(() => tasks.events(id, { after: after as number })).toThrow('after must be a generation')
  })
})

describe('events', () => {
  test('returns the entries after a cursor', () => {
    const { tasks, id } = setup()
    walk(tasks, id, 'working', 'completed')
    expect(tasks.events(id).map(label)).toEqual(['created 1', 'status 2', 'status 3'])
    expect(tasks.events(id, { after: 2 }).map(label)).toEqual(['status 3'])
    expect(tasks.events(id, { after: 3 })).toEqual([])
  })

  test('keeps the latest eventLogSize, and answers an older cursor with a resync', () => {
    const { tasks, id } = setup({ eventLogSize: 5 })
    appendTo(tasks, id, 20)
    expect(tasks.events(id, { after: 16 }).map(({ generation }) => generation)).toEqual([17, 18, 19, 20, 21])
    const [resync, ...rest] = tasks.events(id, { after: 15 })
    expect(resync).toMatchObject({ type: 'resync', generation: 21, task: tasks.getTask(id) })
    expect(rest).toEqual([])
  })

  test('holds less where events are large', () => {
    const { tasks, id } = setup()
    const text = 'x'.repeat(300_000)
    for (let i = 0; i < 40; i++)
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text }] }, { append: false })
    const held = (after: number): boolean => tasks.events(id, { after })[0]?.type === 'artifact'
    expect(held(38)).toBe(true)
    expect(held(20)).toBe(false)
  })

  test('keeps small events beside a large one that fits', () => {
    const { tasks, id } = setup({ eventLogSize: 10, limits: { maxOutputSize: 3_000_000 } })
    for (let i = 0; i < 10; i++) tasks.updateTask(id, {})
    tasks.updateTask(id, { output: 'x'.repeat(2_200_000) })
    expect(tasks.events(id, { after: 5 }).map(({ generation }) => generation)).toEqual([
      6, 7, 8, 9, 10, 11, 12,
    ])
  })

  test('holds an event that is larger than all of the log as long as it is the latest', () => {
    const { tasks, id } = setup()
    const parts = [{ text: 'x'.repeat(5_000_000) }]
    tasks.appendArtifact(id, { artifactId: 'a', parts })
    expect(tasks.events(id, { after: 1 }).map(label)).toEqual(['artifact 2'])
    tasks.updateTask(id, { message: 'next' })
    expect(tasks.events(id, { after: 2 }).map(label)).toEqual(['status 3'])
    expect(tasks.events(id, { after: 1 }).map(label)).toEqual(['resync 3'])
  })
})
