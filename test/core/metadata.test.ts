/** Changes of a task's metadata, over every manager. */
import { evolve, TaskManager, type A2AError, type TaskSnapshot } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { expect, onTestFinished, test } from 'vitest'

const SMALL = { maxInputSize: 100 }

const managers = [
  ['memory', () => new TaskManager(SMALL)],
  ['a store', () => new DurableTaskManager({ store: memoryStore(), ...SMALL })],
] as const

test.each(managers)('merge key by key, and null removes, over %s', async (_, open) => {
  const tasks = open()
  onTestFinished(() => void tasks.destroy())
  const { id } = await tasks.createTask({ skill: 's', metadata: { kept: 1, city: 'Rome', gone: true } })
  const change = { city: { name: 'Bonn' }, gone: null, absent: null, left: undefined, new: [null] }
  const { metadata, generation, state } = await tasks.updateTask(id, { metadata: change })
  expect({ metadata, generation, state }).toEqual({
    metadata: { kept: 1, city: { name: 'Bonn' }, new: [null] },
    generation: 2,
    state: 'submitted',
  })
})

test.each(managers)('are in the log, from which the task results, over %s', async (_, open) => {
  const tasks = open()
  onTestFinished(() => void tasks.destroy())
  const { id } = await tasks.createTask({ skill: 's', metadata: { at: 'first' } })
  await tasks.updateTask(id, { state: 'working', message: 'Begun' })
  await tasks.updateTask(id, { metadata: { at: 'second' } })
  await tasks.patchTask(id, { state: 'completed', metadata: { at: null, end: true } })
  const events = await tasks.events(id)
  const seen: unknown[] = []
  let task: TaskSnapshot | undefined
  for (const event of events) {
    task = evolve(task, event)
    seen.push(task.metadata)
  }
  expect(task).toEqual(await tasks.getTask(id))
  expect(seen).toEqual([{ at: 'first' }, { at: 'first' }, { at: 'second' }, { end: true }])
  // A client that replaces its status with that of the event keeps the message.
  expect(events[2]).toMatchObject({ type: 'status', from: 'working', to: 'working', message: 'Begun' })
})

test.each(managers)('are refused as a whole, over %s', async (_, open) => {
  const tasks = open()
  onTestFinished(() => void tasks.destroy())
  const { id } = await tasks.createTask({ skill: 's', input: 'x'.repeat(60), metadata: { a: 1 } })
  const change = async (metadata: object): Promise<unknown> => {
    try {
      await tasks.updateTask(id, { message: 'Changed', metadata })
      return undefined
    } catch (error) {
      return (error as A2AError).code
    }
  }
  const own = 'https://a2a-tasks.dev/extensions/spending/v1'
  expect(await change({ long: 'x'.repeat(40) })).toBe('LIMIT_EXCEEDED')
  expect(await change({ when: () => 1 })).toBe('INVALID_PARAMS')
  expect(await change([])).toBe('INVALID_PARAMS')
  expect(await change({ [own]: {} })).toBe('INVALID_PARAMS')
  expect(await change({ [own]: null })).toBe('INVALID_PARAMS')
  expect(await tasks.getTask(id)).toMatchObject({ metadata: { a: 1 }, generation: 1 })
  // What a change removes makes room for what it adds.
  expect(await change({ a: null, b: 'x'.repeat(20) })).toBeUndefined()
  const create = async (): Promise<unknown> => await tasks.createTask({ skill: 's', metadata: { [own]: {} } })
  await expect(create()).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
})

test('belong to the costs of their task', () => {
  const tasks = new TaskManager({ limits: { maxTotalBytes: 100_000 } })
  onTestFinished(() => tasks.destroy())
  const { id } = tasks.createTask({ skill: 's' })
  const fill = (): void => {
    for (let key = 0; key < 1_000; key += 1)
      tasks.patchTask(id, { metadata: { [`key ${key}`]: 'x'.repeat(500) } })
  }
  expect(fill).toThrow(expect.objectContaining({ code: 'LIMIT_EXCEEDED' }) as Error)
})
