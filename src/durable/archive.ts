/**
 * Archives of ended tasks: JSON lines, each a task with its whole log.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { JsonValue } from '../core/json-types.js'
import type { TaskKey, TaskSnapshot } from '../core/task.js'
import { readElements, readGeneration, readName, readTimestamp, requireObject } from '../core/validate.js'
import { describe } from '../runtime/describe.js'
import { randomId } from '../runtime/ids.js'
import { toCheckpoint, unfold } from './cache/checkpoint.js'
import type { DurableContext } from './context.js'
import type { StoredEvent } from './stored-events.js'
import type { TaskStore } from './task-store.js'

/** Options of `archive` of a `DurableTaskManager`. */
export interface ArchiveOptions {
  /** Archives the tasks that ended longer ago than this, in ms. */
  readonly olderThanMs: number
  /**
   * Receives each task as a line of JSON, which ends with `\n`. Once what it returns has resolved, the task may be removed: the
   * line must be safe then. If it throws or rejects, the task stays, and so do those after it.
   */
  readonly write: (line: string) => void | Promise<void>
}

const EVENTS_PAGE = 500

/**
 * A task with its log, as a line. `undefined` for a task that is gone.
 *
 * @throws {A2AError} As a rejection: `STORE_FAILED`.
 */
export async function toLine<S extends string>(
  { settings, storeClient }: Pick<DurableContext<S>, 'settings' | 'storeClient'>,
  key: TaskKey,
): Promise<string | undefined> {
  const { store, lifecycle } = settings
  const stored = await storeClient.callWithRetry('get', () => store.get(key.id))
  if (stored?.checkpoint.createdAt !== key.createdAt) return undefined
  const events: StoredEvent[] = []
  for (;;) {
    const after = events.at(-1)?.generation ?? 0
    const page = await storeClient.callWithRetry('events', () => store.events(key, after, EVENTS_PAGE))
    events.push(...page)
    if (page.length < EVENTS_PAGE) break
  }
  return `${JSON.stringify({ task: toCheckpoint(unfold(stored, lifecycle)), events })}\n`
}

/**
 * Adds the tasks of an archive to a store, with their logs: a new store, which an inspector or a manager then reads. Empty lines
 * are skipped, and so are tasks that the store has: call it again after a failure. Webhooks are not in archives. A manager over
 * the store needs `retention: false`, otherwise it removes the tasks for their age.
 *
 * @param lines - What `archive` of a manager has passed to `write`, in any order.
 * @returns The number of tasks that were added.
 * @throws {TypeError} As a rejection, for a text in place of lines.
 * @throws {A2AError} As a rejection: `INVALID_PARAMS` with the number of a line that is not of an archive. Those before it are
 *   added.
 */
export async function restoreArchive(
  store: Pick<TaskStore, 'create'>,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<number> {
  const given: unknown = lines
  // Callers without types may pass any value.
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`"lines" must be lines, as those of node:readline, got ${describe(lines)}`)
  let number = 0
  let added = 0
  for await (const line of lines) {
    number += 1
    if (line.trim() === '') continue
    const { task, events } = fromLine(line, `lines[${number - 1}]`)
    const { id, createdAt, generation, state, updatedAt } = task
    const head = { id, createdAt, generation, state, hasEnded: true, updatedAt }
    // The log of a task that was restored begins later, and stores take whole ones.
    const log = events.length === generation ? events : []
    if (await store.create({ task, events: log, head, commitId: randomId() })) added += 1
  }
  return added
}

function fromLine(
  line: string,
  path: string,
): { readonly task: TaskSnapshot<string>; readonly events: readonly StoredEvent[] } {
  const json = requireObject(parsed(line, path), path)
  const task = requireObject(json['task'], `${path}.task`)
  for (const name of ['id', 'state', 'skill', 'contextId']) readName(task[name], `${path}.task.${name}`)
  for (const name of ['createdAt', 'updatedAt']) readTimestamp(task[name], `${path}.task.${name}`)
  requireGeneration(task['generation'], `${path}.task.generation`)
  readElements(json, 'events', path).forEach((event, index) => {
    const { type, generation } = requireObject(event, `${path}.events[${index}]`)
    readName(type, `${path}.events[${index}].type`)
    requireGeneration(generation, `${path}.events[${index}].generation`)
  })
  // What tells the tasks of a store apart was checked. An archive has what a manager has written.
  return json as unknown as ReturnType<typeof fromLine>
}

function requireGeneration(value: JsonValue | undefined, path: string): void {
  if (readGeneration(value, path) === undefined) throw invalidParams(path, 'is missing')
}

function parsed(line: string, path: string): JsonValue {
  try {
    return JSON.parse(line) as JsonValue
  } catch (error) {
    throw invalidParams(path, 'must be JSON', error)
  }
}
