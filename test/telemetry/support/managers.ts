/**
 * Both managers, to test that telemetry of their tasks is the same.
 *
 * @module
 */
import { TaskManager, type Clock, type Lifecycle, type TaskState } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { onTestFinished } from 'vitest'

export interface ManagerOptions<S extends string> {
  readonly clock?: Clock
  readonly lifecycle?: Lifecycle<S>
}

export type Manager<S extends string = TaskState> = TaskManager<S> | DurableTaskManager<S>

export interface MakeManager {
  readonly name: string
  /** The manager is destroyed when the test ends. */
  readonly make: <S extends string = TaskState>(options?: ManagerOptions<S>) => Manager<S>
}

export const MANAGERS: readonly MakeManager[] = [
  { name: 'a TaskManager', make: (options) => destroyed(new TaskManager(options)) },
  {
    name: 'a DurableTaskManager',
    make: (options) => destroyed(new DurableTaskManager({ store: memoryStore(), ...options })),
  },
]

function destroyed<M extends { destroy(): unknown }>(manager: M): M {
  onTestFinished(async () => {
    await manager.destroy()
  })
  return manager
}

/** Takes a new task through the states. */
export async function run(
  tasks: Manager,
  ...states: ('working' | 'input-required' | 'completed' | 'failed')[]
): Promise<string> {
  const { id } = await tasks.createTask({ skill: 'x', contextId: 'conversation' })
  for (const state of states) await tasks.updateTask(id, { state })
  return id
}
