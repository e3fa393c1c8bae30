import { setImmediate as turn } from 'node:timers/promises'
import {
  DurableTaskManager,
  memoryStore,
  type DurableTaskManagerOptions,
  type TaskStore,
} from 'a2a-tasks/durable'
import {
  evolve,
  type TaskEvent,
  type TaskSnapshot,
  type TaskStreamEvent,
  type TaskSubscription,
} from 'a2a-tasks'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { fromStored } from '../../../src/durable/stored-events.js'
import { onTestFinished } from 'vitest'

/** All that was begun and needs no timer is done: the memory store answers within a turn. */
export { turn }

export interface Replicas {
  readonly store: TaskStore
  readonly clock: ManualClock
  readonly managers: readonly DurableTaskManager[]
  /** The first, and the second if there is one. */
  readonly a: DurableTaskManager
  readonly b: DurableTaskManager
}

/** Managers over one store, which keep one time, and whose ids do not meet. They are destroyed when the test ends. */
export function replicas(
  count: number,
  options: Partial<DurableTaskManagerOptions> = {},
  clock = new ManualClock(),
): Replicas {
  const store = options.store ?? memoryStore({ now: () => clock.now() })
  const managers = Array.from({ length: count }, (_, index) => {
    const ids = sequentialIds()
    const generateId = (): string => `${String.fromCharCode(97 + index)}-${ids()}`
    return new DurableTaskManager({ clock, generateId, onError: () => undefined, ...options, store })
  })
  onTestFinished(async () => {
    // What is left of a test that failed is not to be waited for.
    for (const manager of managers) void manager.destroy().catch(() => undefined)
    await turn()
  })
  const [a, b = a] = managers
  if (a === undefined || b === undefined) throw new RangeError('At least one manager')
  return { store, clock, managers, a, b }
}

/** One of them, in turn. */
export function inTurn<T>(all: readonly T[], index: number): T {
  const one = all[index % all.length]
  if (one === undefined) throw new RangeError('There is none')
  return one
}

/** The whole log of a task, as the store has it. */
export async function logOf(store: TaskStore, taskId: string): Promise<TaskEvent[]> {
  const [key] = await store.heads([taskId])
  if (key === undefined) return []
  return (await store.events(key, 0, 1_000_000)).map(fromStored) as TaskEvent[]
}

/** The task that comes of a log, or of what a subscription yielded. */
export function foldAll(entries: readonly TaskStreamEvent[]): TaskSnapshot | undefined {
  return entries.reduce<TaskSnapshot | undefined>(evolve, undefined)
}

export interface Reading {
  readonly entries: TaskStreamEvent[]
  /** Settles at its end: with the error that it ended with, if any. */
  readonly ended: Promise<unknown>
}

/** Reads a subscription from now on. */
export function reading(subscription: TaskSubscription): Reading {
  const entries: TaskStreamEvent[] = []
  const read = async (): Promise<void> => {
    for await (const entry of subscription) entries.push(entry)
  }
  return { entries, ended: read().then(undefined, (error: unknown) => error) }
}

/** What a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error('It was not rejected')
    },
    (error: unknown) => error,
  )
}

/** A message of the user's. */
export function says(text: string): { role: 'user'; parts: [{ text: string }] } {
  return { role: 'user', parts: [{ text }] }
}

/** The texts of a task's messages. */
export function textsOf(task: TaskSnapshot | null | undefined): (string | undefined)[] {
  return (task?.messages ?? []).flatMap(({ parts }) => parts.map(({ text }) => text))
}
