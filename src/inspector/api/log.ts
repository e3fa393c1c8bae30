/**
 * The log of a task, in pages, and the task as it was at a generation.
 *
 * @module
 */
import { evolve } from '../../core/evolve.js'
import type { TaskStreamEvent } from '../../core/events.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { TaskSource } from '../source/source.js'

export interface LogPage {
  readonly events: readonly TaskStreamEvent<string>[]
  /** The generation to read on after. Absent on the last page. */
  readonly next?: number
}

const MAX_EVENTS = 2_000
const MAX_CHARACTERS = 4_194_304

/** The events after a generation. A page has at least one, whatever its size. */
export async function logPage(source: TaskSource, taskId: string, after: number): Promise<LogPage> {
  const all = await source.events(taskId, after)
  const events: TaskStreamEvent<string>[] = []
  let characters = 0
  for (const event of all) {
    characters += JSON.stringify(event).length
    if (events.length > 0 && (events.length >= MAX_EVENTS || characters > MAX_CHARACTERS)) break
    events.push(event)
  }
  const last = events.at(-1)
  return events.length === all.length || last === undefined ? { events } : { events, next: last.generation }
}

/** The task at a generation, and the event that led to it; `undefined` where the log no longer holds it. */
export async function taskAt(
  source: TaskSource,
  taskId: string,
  generation: number,
): Promise<{ task: TaskSnapshot<string>; event: TaskStreamEvent<string> } | undefined> {
  let task: TaskSnapshot<string> | undefined
  for (const event of await source.events(taskId, 0)) {
    if (event.generation > generation) return undefined
    task = evolve(task, event)
    if (event.generation === generation) return { task, event }
  }
  return undefined
}
