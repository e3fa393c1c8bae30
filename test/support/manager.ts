import { TaskManager, type TaskManagerOptions, type TaskState } from 'a2a-tasks'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'

/** A manager with predictable time and ids, with one task of each id that is asked for. */
export function setup(options: TaskManagerOptions = {}): {
  tasks: TaskManager
  clock: ManualClock
  id: string
} {
  const clock = new ManualClock()
  const tasks = new TaskManager({ clock, generateId: sequentialIds(), ...options })
  const { id } = tasks.createTask({ skill: 'test' })
  return { tasks, clock, id }
}

/** Walks a task to `state` by a legal path. */
export function walk(tasks: TaskManager, id: string, ...states: TaskState[]): void {
  for (const state of states) tasks.updateTask(id, { state })
}

/** What `run` throws. */
export function thrown(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown')
}

/** All that an iterable yields, until it ends. */
export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of iterable) items.push(item)
  return items
}
