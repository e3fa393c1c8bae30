/** Compatibility with the TaskManager module beyond the examples of its documentation: defaults, order of checks, events. */
import { EventEmitter } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import {
  DEFAULT_EXPIRY_MS,
  DEFAULT_MAX_INPUT_SIZE,
  MAX_TASKS,
  TaskManager,
  TERMINAL_STATES,
  VALID_TRANSITIONS,
} from 'a2a-tasks'
import { SSEStream } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { setup, thrown, walk } from '../support/manager.js'

describe('a manager without options', () => {
  test('has the default limits of count, age and size', () => {
    const { tasks, clock, id } = setup()
    const input = 'x'.repeat(DEFAULT_MAX_INPUT_SIZE - '""'.length)
    expect(() => tasks.createTask({ skill: 'test', input })).not.toThrow()
    expect(() => tasks.createTask({ skill: 'test', input: `${input}x` })).toThrow('Input size')
    while (tasks.size() < MAX_TASKS) tasks.createTask({ skill: 'test' })
    expect(() => tasks.createTask({ skill: 'test' })).toThrow(`Maximum task limit reached: ${MAX_TASKS}`)
    clock.advance(DEFAULT_EXPIRY_MS)
    expect(tasks.prune()).toBe(0)
    clock.advance(1)
    expect(tasks.prune()).toBe(MAX_TASKS)
    expect(tasks.getTask(id)).toBeNull()
  })

  test('has the methods of an EventEmitter', () => {
    const { tasks } = setup()
    const known = ['on', 'once', 'off', 'addListener', 'removeListener', 'removeAllListeners', 'emit']
    for (const method of [...known, 'listenerCount', 'listeners', 'eventNames']) {
      for (const emitter of [tasks, EventEmitter.prototype])
        expect(Reflect.get(emitter, method), method).toBeTypeOf('function')
    }
  })
})

describe('createTask', () => {
  test('looks at the skill, then at the size, then drops what has expired, then counts', () => {
    const { tasks, clock, id } = setup({ expiryMs: 100, maxTasks: 2, maxInputSize: 10 })
    tasks.createTask({ skill: 'test' })
    const large = 'x'.repeat(10)
    const refusal = (params: object): string => String(thrown(() => tasks.createTask(params as never)))
    expect(refusal({ skill: '', input: large })).toContain('skill')
    expect(refusal({ skill: 'test', input: large })).toContain('Input size')
    clock.advance(101)
    expect(refusal({ skill: 'test', input: large })).toContain('Input size')
    expect(tasks.getTask(id)).not.toBeNull()
    expect(tasks.createTask({ skill: 'test' }).state).toBe('submitted')
    expect(tasks.getTask(id)).toBeNull()
    expect(tasks.size()).toBe(1)
  })

  test('counts tasks that have ended', () => {
    const { tasks, id } = setup({ maxTasks: 1 })
    walk(tasks, id, 'working', 'completed')
    expect(() => tasks.createTask({ skill: 'test' })).toThrow('Maximum task limit reached: 1')
  })

  test('reports the task before it returns', () => {
    const { tasks } = setup()
    const order: string[] = []
    tasks.on('task:created', ({ id }) => order.push(`created ${id}`))
    order.push(`returned ${tasks.createTask({ skill: 'test' }).id}`)
    expect(order).toEqual(['created task-2', 'returned task-2'])
  })
})

describe('updateTask', () => {
  test('without changes emits an update with a time', () => {
    const { tasks, clock, id } = setup()
    const listener = vi.fn()
    tasks.on('task:updated', listener)
    clock.advance(5)
    expect(tasks.updateTask(id, {}).updatedAt).toBe('2026-01-01T00:00:00.005Z')
    expect(listener.mock.calls).toEqual([[tasks.getTask(id)]])
  })

  test('accepts an empty message', () => {
    const { tasks, id } = setup()
    tasks.updateTask(id, { message: 'Reading' })
    expect(tasks.updateTask(id, { message: '' }).message).toBe('')
  })
})

test('the table of transitions has a row for each state, and terminal states have no target', () => {
  expect(TERMINAL_STATES.map((state) => VALID_TRANSITIONS[state])).toEqual(TERMINAL_STATES.map(() => []))
  expect(Object.isFrozen(VALID_TRANSITIONS)).toBe(true)
})

test('the example of the stream runs', async () => {
  const taskManager = new TaskManager({ clock: new ManualClock() })
  const sseStream = new SSEStream()
  taskManager.on('task:created', (task) => {
    sseStream.send('task.created', task)
  })
  taskManager.on('task:updated', (task) => {
    sseStream.send('task.updated', task)
  })

  const { id } = taskManager.createTask({ skill: 'test' })
  const created = taskManager.peekTask(id)
  taskManager.cancelTask(id)
  sseStream.close()
  expect(await sseStream.response().text()).toBe(
    `event: task.created\ndata: ${JSON.stringify(created)}\n\n` +
      `event: task.updated\ndata: ${JSON.stringify(taskManager.peekTask(id))}\n\n`,
  )
})

test('creating, updating, reading and canceling a task costs the same however many tasks there are', () => {
  /** The time of the quickest of three rounds, in ms. */
  const timeOf = (count: number): number => {
    const tasks = new TaskManager({ maxTasks: Infinity, limits: { maxTotalBytes: Infinity } })
    for (let index = 0; index < count; index++) tasks.createTask({ skill: 'test' })
    const rounds = [1, 2, 3].map(() => {
      const began = performance.now()
      for (let index = 0; index < 300; index++) {
        const { id } = tasks.createTask({ skill: 'test' })
        tasks.updateTask(id, { state: 'working' })
        tasks.getTask(id)
        tasks.cancelTask(id)
        tasks.size()
      }
      return performance.now() - began
    })
    return Math.min(...rounds)
  }
  timeOf(10)
  // A cost that grows with the number of tasks would be 2,000 times as high.
  expect(timeOf(20_000) / timeOf(10)).toBeLessThan(200)
})
