import type { TaskEvent, TaskSnapshot } from 'a2a-tasks'
import type {
  DurableTaskManager,
  DurableTaskManagerOptions,
  LeasedTasks,
  LeasedTasksListener,
} from 'a2a-tasks/durable'
import { memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, type Faults } from '../../support/faulty-store.js'
import { replicas, turn, type Replicas } from './durable.js'

/** A call of a worker's listener. */
export type ListenerCall =
  | { readonly changed: TaskSnapshot; readonly events: readonly TaskEvent[] }
  | { readonly lost: string; readonly reason: Error }
  | { readonly orphan: TaskSnapshot; readonly note: unknown }

export interface Worker {
  readonly leased: LeasedTasks
  /** All calls, in order. */
  readonly calls: ListenerCall[]
  /** The types of the events that others made. */
  readonly receivedTypes: () => string[][]
}

export function worker(tasks: DurableTaskManager): Worker {
  const calls: ListenerCall[] = []
  const listener: LeasedTasksListener = {
    onNews: (changed, events) => calls.push({ changed, events }),
    onLost: (lost, reason) => calls.push({ lost, reason }),
    onOrphan: (orphan, note) => calls.push({ orphan, note }),
  }
  const receivedTypes = (): string[][] =>
    calls.flatMap((each) => ('changed' in each ? [each.events.map(({ type }) => type)] : []))
  return { leased: tasks.lease(listener), calls, receivedTypes }
}

export interface Workers extends Replicas {
  readonly here: Worker
  readonly there: Worker
  readonly faults: Faults
}

/** Two managers over one store, which can fail for the first only, and a worker at each. */
export function workers(options: Partial<DurableTaskManagerOptions> = {}): Workers {
  const clock = new ManualClock()
  const inner = memoryStore({ now: () => clock.now() })
  const faults: Faults = {}
  const first = replicas(1, { ...options, store: faultyStore(inner, faults) }, clock)
  const ids = { count: 0 }
  const generateId = (): string => `there-${(ids.count += 1)}`
  const second = replicas(1, { generateId, ...options, store: inner }, clock)
  const [here, there] = [worker(first.a), worker(second.a)]
  const managers = [first.a, second.a]
  return { store: inner, clock, managers, a: first.a, b: second.a, here, there, faults }
}

/** Lets time pass in steps of a second, and what is due in it happen. */
export async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    clock.advance(Math.min(1_000, left))
    await turn()
  }
}
