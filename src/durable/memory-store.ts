/**
 * Reference implementation of `TaskStore`, in the memory of one process.
 *
 * @module
 */
import type { StoredEvent } from './stored-events.js'
import { UNHELD } from './leases/lease-note.js'
import { MemoryFeed } from './feed/memory-feed.js'
import { byText } from '../core/queries.js'
import { systemClock } from '../runtime/clock.js'
import { requireFunctions, requireKnown, requireWhole } from '../runtime/options.js'
import type { JsonValue } from '../core/json-types.js'
import { type TaskSnapshot, keyOf, type TaskKey } from '../core/task.js'
import type {
  Commit,
  CommitResult,
  Creation,
  DeletionKey,
  EndedQuery,
  Grant,
  Hint,
  Lease,
  LeaseCounts,
  Orphan,
  StoredTask,
  StoreFilter,
  StoreHints,
  StoreQuery,
  TaskHead,
  TaskStore,
} from './task-store.js'
import type { StoreFeedEntry } from './feed/store-feed.js'
import type { DocumentCursor, TaskDocument } from '../core/managers.js'

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** The clock by which leases expire, in ms. Default is the system clock. */
  readonly now?: (() => number) | undefined
  /** Number of latest entries, at least, from which `feed` continues. Default is `0`: `feed` is refused. */
  readonly feedSize?: number | undefined
}

/** A store whose tasks are lost with the process. Listing costs O(all tasks): use it for tests and few tasks. */
export function memoryStore(options: MemoryStoreOptions = {}): TaskStore {
  requireKnown(options, ['now', 'feedSize'], 'memoryStore')
  requireFunctions(options, ['now'])
  const { now = () => systemClock.now(), feedSize = 0 } = options
  return new MemoryStore(now, requireWhole('feedSize', feedSize, 0))
}

/** JSON is kept as text, so that every result is a copy. */
interface Row {
  head: TaskHead
  readonly skill: string
  readonly contextId: string
  readonly owner: string | null
  /** The event of generation n is at n - 1 - `unlogged`. */
  readonly events: string[]
  /** How many events are not in the log, because the task was restored. */
  readonly unlogged: number
  checkpoint: { readonly generation: number; readonly text: string }
  readonly creationId: string
  readonly commitIds: Set<string>
  lease: { readonly id: string; readonly endsAt: number; readonly note: string | undefined } | undefined
  documents: readonly DocumentRow[]
}

interface DocumentRow {
  readonly kind: string
  readonly id: string
  readonly text: string
  readonly version: number
}

class MemoryStore implements TaskStore {
  readonly #rows = new Map<string, Row>()
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #now: () => number
  readonly feed: MemoryFeed | undefined

  constructor(now: () => number, feedSize: number) {
    this.#now = now
    if (feedSize > 0) this.feed = new MemoryFeed(feedSize)
  }

  create({ task, events, head, commitId, lease }: Creation): Promise<boolean> {
    return step(() => {
      const present = this.#rows.get(head.id)
      if (present !== undefined) return present.creationId === commitId
      const { skill, contextId, owner = null } = task
      const texts = events.map(toText)
      this.#rows.set(head.id, {
        head: { ...head },
        skill,
        contextId,
        owner,
        events: texts,
        unlogged: head.generation - events.length,
        checkpoint: { generation: head.generation, text: toText(task) },
        creationId: commitId,
        commitIds: new Set(),
        lease: lease && !head.hasEnded ? this.#leaseOf(lease) : undefined,
        documents: [],
      })
      this.feed?.add({ ...keyOf(head), skill, contextId, owner }, texts)
      return true
    })
  }

  commit({
    key,
    expectedGeneration,
    events,
    head,
    checkpoint,
    commitId,
    leaseId,
    expires,
  }: Commit): Promise<CommitResult> {
    return step(() => {
      const row = this.#row(key)
      if (row === undefined) return 'missing'
      if (row.commitIds.has(commitId)) return 'committed'
      if (row.head.generation !== expectedGeneration) return 'conflict'
      if (leaseId !== undefined && row.lease?.id !== leaseId) return 'lease-lost'
      // Serialization can throw, so it comes before the first change.
      const texts = events.map(toText)
      const kept = checkpoint && { generation: head.generation, text: toText(checkpoint) }
      row.events.push(...texts)
      row.checkpoint = kept ?? row.checkpoint
      row.commitIds.add(commitId)
      row.head = { ...head }
      if (head.hasEnded) row.lease = undefined
      else if (row.lease !== undefined && row.lease.id === expires) row.lease = { ...row.lease, endsAt: 0 }
      this.feed?.add(subjectOf(row), texts)
      return 'committed'
    })
  }

  get(taskId: string): Promise<StoredTask | undefined> {
    return step(() => {
      const row = this.#rows.get(taskId)
      return row && toStored(row)
    })
  }

  heads(taskIds: readonly string[]): Promise<readonly (TaskKey & { readonly generation: number })[]> {
    return step(() =>
      [...new Set(taskIds)].flatMap((taskId) => {
        const row = this.#rows.get(taskId)
        return row === undefined ? [] : [{ ...keyOf(row.head), generation: row.head.generation }]
      }),
    )
  }

  events(key: TaskKey, after: number, limit: number): Promise<readonly StoredEvent[]> {
    return step(() => {
      const row = this.#row(key)
      return row === undefined ? [] : toEvents(eventsAfter(row, after).slice(0, limit))
    })
  }

  list({ after, limit, ...filter }: StoreQuery): Promise<readonly StoredTask[]> {
    return step(() =>
      this.#all()
        .filter((row) => matches(row, filter) && (after === undefined || byLatest(after, row.head) < 0))
        .sort((a, b) => byLatest(a.head, b.head))
        .slice(0, limit)
        .map(toStored),
    )
  }

  count(filter: StoreFilter): Promise<number> {
    return step(() => this.#all().filter((row) => matches(row, filter)).length)
  }

  unended(createdBefore: string, limit: number): Promise<readonly TaskKey[]> {
    return step(() =>
      this.#all()
        .map(({ head }) => head)
        .filter(({ hasEnded, createdAt }) => !hasEnded && createdAt < createdBefore)
        .sort((a, b) => byText(a.createdAt, b.createdAt))
        .slice(0, limit)
        .map(keyOf),
    )
  }

  ended(query: EndedQuery): Promise<readonly TaskKey[]> {
    return step(() => {
      const latestFirst = this.#all()
        .map(({ head }) => head)
        .filter(({ hasEnded, state }) => hasEnded && state === query.state)
        .sort(byLatest)
      const selected =
        'beyond' in query
          ? latestFirst.slice(query.beyond)
          : latestFirst.filter(({ updatedAt }) => updatedAt < query.updatedBefore)
      return selected.reverse().slice(0, query.limit).map(keyOf)
    })
  }

  delete(keys: readonly DeletionKey[]): Promise<readonly TaskKey[]> {
    return step(() =>
      keys.filter((key) => {
        const row = this.#row(key)
        const { expectedGeneration = row?.head.generation } = key
        if (row === undefined || row.head.generation !== expectedGeneration) return false
        this.feed?.add(subjectOf(row))
        return this.#rows.delete(key.id)
      }),
    )
  }

  acquire(key: TaskKey, lease: Lease): Promise<Grant | undefined> {
    return step(() => {
      const row = this.#row(key)
      if (row === undefined || row.head.hasEnded) return undefined
      const present = row.lease
      const { generation } = row.head
      const hasOther = present !== undefined && present.id !== lease.id
      if (hasOther && present.endsAt > this.#now()) return { leaseId: present.id, generation }
      row.lease = this.#leaseOf(lease)
      const replaced = hasOther ? { replaced: { note: noteOf(present) } } : {}
      return { leaseId: lease.id, generation, ...replaced }
    })
  }

  renew(
    leases: readonly { readonly key: TaskKey; readonly id: string }[],
    ttlMs: number,
  ): Promise<readonly string[]> {
    return step(() =>
      leases.flatMap(({ key, id }) => {
        const row = this.#row(key)
        if (row?.lease?.id !== id) return []
        row.lease = { ...row.lease, endsAt: this.#now() + ttlMs }
        return [id]
      }),
    )
  }

  release(key: TaskKey, leaseId: string, expectedGeneration?: number, next?: Lease): Promise<boolean> {
    return step(() => {
      const row = this.#row(key)
      if (row?.lease?.id !== leaseId) return true
      if (expectedGeneration !== undefined && row.head.generation !== expectedGeneration) return false
      row.lease = next && this.#leaseOf(next)
      return true
    })
  }

  orphans(limit: number): Promise<readonly Orphan[]> {
    return step(() => {
      const now = this.#now()
      return this.#all()
        .flatMap(({ head, lease }) => (lease && lease.endsAt <= now ? [{ head, lease }] : []))
        .sort((a, b) => a.lease.endsAt - b.lease.endsAt)
        .slice(0, limit)
        .map(({ head, lease }) => ({ key: keyOf(head), leaseId: lease.id, note: noteOf(lease) }))
    })
  }

  leaseCounts(limit: number): Promise<LeaseCounts> {
    return step(() => {
      const now = this.#now()
      const leases = this.#all().flatMap(({ lease }) => lease ?? [])
      const expired = leases.filter(({ endsAt }) => endsAt <= now)
      const next = leases.filter(({ endsAt }) => endsAt > now).sort((a, b) => a.endsAt - b.endsAt)
      const ends = expired.map(({ endsAt }) => endsAt).filter((endsAt) => endsAt !== 0)
      return {
        expired: Math.min(limit, expired.length),
        oldestMs: ends.reduce((oldest, endsAt) => Math.max(oldest, now - endsAt), 0),
        held: next.slice(0, limit).filter(({ id }) => !UNHELD.includes(id)).length,
      }
    })
  }

  putDocument(
    { key, kind, id, value }: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean> {
    return step(() => {
      const row = this.#row(key)
      if (row === undefined) return false
      const present = row.documents.find((document) => document.kind === kind && document.id === id)
      if ((present?.version ?? 0) !== expectedVersion) return false
      const written = { kind, id, text: toText(value), version: expectedVersion + 1 }
      row.documents = [...row.documents.filter((document) => document !== present), written]
      return true
    })
  }

  deleteDocument({ key, kind, id }: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean> {
    return step(() => {
      const row = this.#row(key)
      const left = row?.documents.filter((document) => document.kind !== kind || document.id !== id) ?? []
      if (row === undefined || left.length === row.documents.length) return false
      row.documents = left
      return true
    })
  }

  documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]> {
    return step(() => documentsOf(this.#row(key), kind))
  }

  allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]> {
    return step(() =>
      this.#all()
        .flatMap((row) => documentsOf(row, kind))
        .sort((a, b) => byCursor(cursorOf(a), cursorOf(b)))
        .filter((document) => after === undefined || byCursor(after, cursorOf(document)) < 0)
        .slice(0, limit),
    )
  }

  readonly hints: StoreHints = {
    publish: (hints) =>
      step(() => {
        for (const hint of hints) for (const listener of this.#listeners) listener(hint)
      }),
    listen: (onHint) =>
      step(() => {
        // Its own function for each call: a callback that listens twice is called twice.
        const listener = (hint: Hint): void => onHint(hint)
        this.#listeners.add(listener)
        return () => step(() => void this.#listeners.delete(listener))
      }),
  }

  #all(): Row[] {
    return [...this.#rows.values()]
  }

  #row({ id, createdAt }: TaskKey): Row | undefined {
    const row = this.#rows.get(id)
    return row?.head.createdAt === createdAt ? row : undefined
  }

  #leaseOf({ id, ttlMs, note }: Lease): Row['lease'] {
    return { id, endsAt: this.#now() + ttlMs, note: note === undefined ? undefined : toText(note) }
  }
}

/** Runs one atomic step. What it throws becomes a rejection, as with a driver. */
function step<T>(run: () => T): Promise<T> {
  return new Promise((resolve) => resolve(run()))
}

function toText(value: unknown): string {
  return JSON.stringify(value)
}

function noteOf({ note }: NonNullable<Row['lease']>): JsonValue | undefined {
  return note === undefined ? undefined : toJson(note)
}

function toJson(text: string): JsonValue {
  // `toText` made the text.
  return JSON.parse(text) as JsonValue
}

function toEvents(texts: readonly string[]): StoredEvent[] {
  // `toText` made the texts from events.
  return texts.map((text) => JSON.parse(text) as StoredEvent)
}

function subjectOf({ head, skill, contextId, owner }: Row): StoreFeedEntry['task'] {
  return { ...keyOf(head), skill, contextId, owner }
}

function eventsAfter({ events, unlogged }: Row, generation: number): string[] {
  return events.slice(Math.max(0, generation - unlogged))
}

function toStored(row: Row): StoredTask {
  // `toText` made the text from a task.
  const checkpoint = JSON.parse(row.checkpoint.text) as TaskSnapshot<string>
  return { checkpoint, events: toEvents(eventsAfter(row, checkpoint.generation)) }
}

function documentsOf(row: Row | undefined, kind: string): TaskDocument[] {
  if (row === undefined) return []
  return row.documents
    .filter((document) => document.kind === kind)
    .sort((a, b) => byText(a.id, b.id))
    .map(({ id, text, version }) => ({ key: keyOf(row.head), kind, id, value: toJson(text), version }))
}

function cursorOf({ key, id }: TaskDocument): DocumentCursor {
  return { taskId: key.id, createdAt: key.createdAt, id }
}

function matches({ head, skill, contextId, owner }: Row, filter: StoreFilter): boolean {
  const { updatedSince } = filter
  if (updatedSince !== undefined && head.updatedAt < updatedSince) return false
  return (
    isWanted(filter.state, head.state) &&
    isWanted(filter.skill, skill) &&
    isWanted(filter.contextId, contextId) &&
    isWanted(filter.owner, owner)
  )
}

function isWanted(wanted: string | null | undefined, value: string | null): boolean {
  return wanted === undefined || wanted === value
}

function byLatest(a: Pick<TaskHead, 'updatedAt' | 'id'>, b: Pick<TaskHead, 'updatedAt' | 'id'>): number {
  return byText(b.updatedAt, a.updatedAt) || byText(b.id, a.id)
}

function byCursor(a: DocumentCursor, b: DocumentCursor): number {
  return byText(a.taskId, b.taskId) || byText(a.createdAt, b.createdAt) || byText(a.id, b.id)
}
