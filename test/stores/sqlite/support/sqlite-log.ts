/**
 * A task whose log tells who wrote what, and what is wrong with such a log.
 *
 * @module
 */
import type { TaskSnapshot } from 'a2a-tasks'
import type { Commit, Creation, StoredTask, TaskKey, TaskStore, StoredEvent } from 'a2a-tasks/durable'

/** Of a commit of several events, each says which it is. */
export interface Entry {
  readonly writer: string
  readonly commit: number
  readonly index: number
  readonly last: boolean
}

const TIME = '2026-01-01T00:00:00.000Z'

export function snapshot(
  id: string,
  generation: number,
  output: TaskSnapshot['output'] = null,
): TaskSnapshot {
  return {
    ...{ id, contextId: 'context', skill: 'write', state: 'working', input: null, output },
    ...{ messages: [], artifacts: [], metadata: {}, history: [{ state: 'working', timestamp: TIME }] },
    ...{ generation, createdAt: TIME, updatedAt: TIME },
  }
}

export function creationOf(id: string): Creation {
  const created: StoredEvent = {
    ...{ type: 'created', taskId: id, generation: 1, timestamp: TIME, state: 'working' },
    ...{ contextId: 'context', skill: 'write', input: null, metadata: {} },
  }
  return {
    ...{ task: snapshot(id, 1), events: [created], commitId: `create-${id}` },
    head: { id, createdAt: TIME, generation: 1, state: 'working', hasEnded: false, updatedAt: TIME },
  }
}

/** Of one to three events, every seventh with a checkpoint. */
export function commitOf(key: TaskKey, generation: number, writer: string, commit: number): Commit {
  const size = 1 + (commit % 3)
  const events = Array.from({ length: size }, (_, index): StoredEvent => {
    const output = { writer, commit, index, last: index === size - 1 }
    return {
      ...{ type: 'output', taskId: key.id, generation: generation + 1 + index, timestamp: TIME },
      output,
    }
  })
  const reached = generation + size
  return {
    ...{ key, expectedGeneration: generation, events, commitId: `${writer}-${commit}-${generation}` },
    head: { ...key, generation: reached, state: 'working', hasEnded: false, updatedAt: TIME },
    ...(commit % 7 === 0 && { checkpoint: snapshot(key.id, reached) }),
  }
}

/** What each writer has written, in the order of the log, once that has been found without a gap. */
export async function readLog(store: TaskStore, taskId: string): Promise<readonly Entry[]> {
  const stored = await store.get(taskId)
  if (stored === undefined) return []
  const events = await store.events(stored.checkpoint, 0, Number.MAX_SAFE_INTEGER)
  const [head] = await store.heads([taskId])
  requireEqual('the generations of the log', events.map(generationOf), range(1, head?.generation ?? 0))
  requireEqual('the generations after the checkpoint', generationsOf(stored), range(1, head?.generation ?? 0))
  return events.flatMap((event) => {
    // `commitOf` made it.
    return event.type === 'output' ? [event.output as unknown as Entry] : []
  })
}

function generationsOf({ checkpoint, events }: StoredTask): number[] {
  return [...range(1, checkpoint.generation), ...events.map(generationOf)]
}

function generationOf({ generation }: StoredEvent): number {
  return generation
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

function requireEqual(what: string, actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== should) throw new Error(`${what}: expected ${should}, got ${is}`)
}
