/** A store that counts its calls and what it is given to store. */
import type { Commit, TaskStore } from 'a2a-tasks/durable'

/** How often each method was called, and how many events were stored: `stored`. */
export type Counts = Map<string, number>

export function countedStore(store: TaskStore, counts: Counts): TaskStore {
  const add = (name: string, count: number): unknown => counts.set(name, (counts.get(name) ?? 0) + count)
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      return (...given: unknown[]): unknown => {
        add(name, 1)
        if (name === 'commit') add('stored', (given[0] as Commit).events.length)
        return Reflect.apply(value, target, given)
      }
    },
  })
}

/** What was counted since `before`, without the names that were not. */
export function countedSince(counts: Counts, before: Counts): Record<string, number> {
  const since = [...counts].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
  return Object.fromEntries(since.filter(([, count]) => count > 0))
}
