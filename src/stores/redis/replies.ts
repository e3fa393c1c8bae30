/**
 * Conversion of Redis replies to the results of the store.
 *
 * @module
 */
import type { StoredEvent } from '../../durable/stored-events.js'
import type { TaskSnapshot, TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { Grant, Orphan, StoredTask } from '../../durable/task-store.js'
import type { TaskDocument } from '../../core/managers.js'

export function toText(value: unknown): string {
  return JSON.stringify(value)
}

/** A client may be configured to return bytes instead of texts. */
export function texts(reply: unknown): string[] {
  return items(reply).map(String)
}

export function items(reply: unknown): unknown[] {
  if (Array.isArray(reply)) return reply
  throw new TypeError(`Redis answered ${String(reply)} in place of a list`)
}

/** What a script found, and the cursor to continue from, unless it reached the end. */
export function toPage(reply: unknown): readonly [found: unknown, next: string | undefined] {
  const [next, found] = items(reply)
  return [found, next === null ? undefined : texts([next])[0]]
}

export function toStored(reply: unknown): StoredTask {
  const [checkpoint = '', ...events] = texts(reply)
  // The store wrote it as a task.
  return { checkpoint: JSON.parse(checkpoint) as TaskSnapshot<string>, events: toEvents(events) }
}

export function toEvents(events: readonly string[]): StoredEvent[] {
  // The store wrote them as events.
  return events.map((event) => JSON.parse(event) as StoredEvent)
}

export function toHeads(reply: unknown): (TaskKey & { readonly generation: number })[] {
  return inGroups(texts(reply), 3, ([id, createdAt, generation]) => ({
    ...{ id, createdAt, generation: Number(generation) },
  }))
}

export function toKeys(reply: unknown): TaskKey[] {
  return inGroups(texts(reply), 2, ([id, createdAt]) => ({ id, createdAt }))
}

/** `undefined` when the task has no lease. */
export function toGrant(reply: unknown): Grant | undefined {
  const [leaseId, generation, note] = texts(reply)
  if (leaseId === undefined) return undefined
  const replaced = note === undefined ? {} : { replaced: { note: toNote(note) } }
  return { leaseId, generation: Number(generation), ...replaced }
}

export function toOrphans(reply: unknown): Orphan[] {
  return inGroups(texts(reply), 4, ([id, createdAt, leaseId, note]) => ({
    key: { id, createdAt },
    leaseId,
    note: toNote(note),
  }))
}

/** The documents of one task, ordered by id. */
export function toDocuments(
  reply: unknown,
  { id: taskId, createdAt }: TaskKey,
  kind: string,
): TaskDocument[] {
  return inGroups(texts(reply), 3, ([id, version, json]) => ({
    ...{ key: { id: taskId, createdAt }, kind, id, value: toJson(json), version: Number(version) },
  })).sort((a, b) => (a.id < b.id ? -1 : 1))
}

export function toAllDocuments(reply: unknown, kind: string): TaskDocument[] {
  return inGroups(texts(reply), 5, ([taskId, createdAt, id, version, json]) => ({
    ...{ key: { id: taskId, createdAt }, kind, id, value: toJson(json), version: Number(version) },
  }))
}

function toNote(text: string): JsonValue | undefined {
  return text === '' ? undefined : toJson(text)
}

function toJson(text: string): JsonValue {
  // The store writes only what `toText` returns.
  return JSON.parse(text) as JsonValue
}

type Five = readonly [string, string, string, string, string]

function inGroups<T>(all: readonly string[], size: number, read: (group: Five) => T): T[] {
  const groups = Array.from({ length: all.length / size }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
  // Each group has `size` items. A reader of fewer ignores the rest of the type.
  return groups.map((group) => read(group as unknown as Five))
}
