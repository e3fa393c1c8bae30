/**
 * Task store in SQLite.
 *
 * @module
 */
import type { StoredEvent } from '../../durable/stored-events.js'
import type { TaskSnapshot, TaskKey } from '../../core/task.js'
import type {
  Commit,
  CommitResult,
  Creation,
  DeletionKey,
  EndedQuery,
  Grant,
  Lease,
  LeaseCounts,
  Orphan,
  StoredTask,
  StoreFilter,
  StoreQuery,
  TaskHead,
  TaskStore,
  Transaction,
  TransactionResult,
} from '../../durable/task-store.js'
import type { DocumentCursor, TaskDocument } from '../../core/managers.js'
import { Groups, sizeOf, type GroupLimits, type Member } from '../../durable/groups.js'
import { Connection, isLocked, type Row, type SqliteDatabase } from './database.js'
import { toStoreError } from './failures.js'
import { setUpFeed, SqliteFeed } from './feed.js'
import { validated, type SqliteStoreOptions } from './options.js'
import { countQuery, listQuery, queriesFor, secondOf, type Queries } from './queries.js'
import { documentOf, keyOf, noteOf, numberOf, documentsKeyOf } from './rows.js'
import { migrate, requireMigrated } from './schema.js'
import { SyncWork } from './sync-work.js'
import { fromColumn, fromJson, toColumn, toJson } from './text.js'

/** The store that {@link sqliteStore} returns. */
export interface SqliteStore extends TaskStore {
  /**
   * Creates the tables, or migrates those of an older version without losing tasks. Safe to call concurrently and
   * repeatedly. Rejects with `STORE_FAILED`, and changes nothing, when a later release has created the tables.
   */
  migrate(): Promise<void>
}

/**
 * Opens a store in a SQLite database that you have opened and that you close. Call `migrate()` before its other methods. For
 * a file, `openTasks` does all of this.
 *
 * - Each method is one transaction. Commits of different tasks that are requested in the same turn of the event loop share one, up
 *   to 256 of them or 1 Mi UTF-16 units of JSON; all other methods complete theirs before they return. Reads and appends cost O(what
 *   is read or appended).
 * - Other processes may open the same file. If several processes write to it, use WAL mode (`PRAGMA journal_mode = WAL`).
 * - While another process writes, a write blocks this process for up to the connection's `busy_timeout`, which the store sets
 *   to 5 s if it is 0. With `PRAGMA busy_timeout = 100` a server serves other requests in between, because the manager
 *   retries.
 * - Acknowledged changes survive the process. With `PRAGMA synchronous = FULL`, the default of SQLite, they also survive a
 *   power failure.
 *
 * Methods reject with `STORE_FAILED` when an operator has to act: the tables are missing, the file is read-only, or the
 * connection is closed. They reject with the driver's error in all other cases.
 *
 * @throws {TypeError} for a value that is not a synchronous database, and for an unknown option or one of the wrong type.
 */
export function sqliteStore(database: SqliteDatabase, options: SqliteStoreOptions = {}): SqliteStore {
  const { now, prefix, feedSize } = validated(options)
  return new Store(new Connection(database), prefix, now, feedSize)
}

const ALL = -1

/** One transaction blocks the process for some milliseconds. */
const LIMITS: GroupLimits = { members: 256, size: 1_048_576, groups: 1 }

type Change = Omit<Commit, 'events' | 'checkpoint'>

/** A commit, with the texts of its events and of its checkpoint. */
interface WrittenCommit extends Member {
  readonly change: Change
  readonly texts: readonly string[]
  readonly whole: string | undefined
}

class Store implements SqliteStore {
  readonly #connection: Connection
  readonly #prefix: string
  readonly #queries: Queries
  readonly #now: () => number
  readonly #feedSize: number | undefined
  readonly #groups: Groups<WrittenCommit, CommitResult>
  readonly feed: SqliteFeed | undefined
  #isMigrated = false

  constructor(connection: Connection, prefix: string, now: () => number, feedSize: number | undefined) {
    this.#connection = connection
    this.#prefix = prefix
    this.#queries = queriesFor(prefix)
    this.#now = now
    this.#feedSize = feedSize
    const send = (members: readonly WrittenCommit[]): Promise<readonly CommitResult[]> =>
      this.#write('commit', () =>
        members.map(({ change, texts, whole }) => this.#commit(change, () => texts, whole)),
      )
    this.#groups = new Groups(LIMITS, { send, mayBeOfOne: (error) => !isLocked(error) })
    if (feedSize === undefined || feedSize === 0) return
    this.feed = new SqliteFeed(prefix, feedSize, {
      read: (work) => this.#read('feed', work),
      write: (work) => this.#write('feed', work),
    })
  }

  migrate(): Promise<void> {
    return asPromise('migrate', () => {
      migrate(this.#connection, this.#prefix)
      setUpFeed(this.#connection, this.#prefix, this.#feedSize)
    })
  }

  create({ task, events, head, commitId, lease }: Creation): Promise<boolean> {
    return this.#write('create', (connection, queries) => {
      const present = connection.rows(queries.taskById, toColumn(head.id))[0]
      if (present !== undefined) {
        return connection.rows(queries.isCreation, numberOf(present, 'key'), commitId).length > 0
      }
      connection.run(
        queries.insertTask,
        ...[toColumn(head.id), head.createdAt, head.generation, toColumn(head.state)],
        ...[Number(head.hasEnded), head.updatedAt, secondOf(head.updatedAt), toColumn(task.skill)],
        ...[toColumn(task.contextId), task.owner === undefined ? null : toColumn(task.owner), commitId],
      )
      const key = numberOf(connection.rows(queries.taskById, toColumn(head.id))[0], 'key')
      this.#append(key, head.generation - events.length + 1, events.map(toJson), commitId)
      connection.run(queries.putCheckpoint, key, head.generation, toJson(task))
      if (lease !== undefined && !head.hasEnded) this.#putLease(key, lease)
      return true
    })
  }

  async commit({ events, checkpoint, ...change }: Commit): Promise<CommitResult> {
    const texts = events.map(toJson)
    const whole = checkpoint && toJson(checkpoint)
    return await this.#groups.commit({
      ...{ taskId: change.key.id, commitId: change.commitId, size: sizeOf(texts) + (whole?.length ?? 0) },
      ...{ change, texts, whole },
    })
  }

  async transact({ work, ...change }: Transaction): Promise<TransactionResult> {
    const syncWork = new SyncWork(this.#connection, work)
    try {
      return await this.#write('transact', () => this.#commit(change, () => syncWork.run().map(toJson)))
    } catch (error) {
      return syncWork.refused(error)
    }
  }

  get(taskId: string): Promise<StoredTask | undefined> {
    return this.#read('get', (connection, queries) => {
      const task = connection.rows(queries.taskById, toColumn(taskId))[0]
      return task && this.#stored(numberOf(task, 'key'))
    })
  }

  heads(taskIds: readonly string[]): Promise<readonly (TaskKey & { readonly generation: number })[]> {
    return this.#read('heads', (connection, queries) =>
      connection
        .rows(queries.heads, toJson(taskIds.map(toColumn)))
        .map((row) => ({ ...keyOf(row), generation: numberOf(row, 'generation') })),
    )
  }

  events(key: TaskKey, after: number, limit: number): Promise<readonly StoredEvent[]> {
    return this.#read('events', () => {
      const task = this.#task(key)
      return task === undefined ? [] : this.#events(numberOf(task, 'key'), after, limit)
    })
  }

  list(query: StoreQuery): Promise<readonly StoredTask[]> {
    const { sql, parameters } = listQuery(this.#prefix, query)
    return this.#read('list', (connection) =>
      connection.rows(sql, ...parameters).map((row) => this.#stored(numberOf(row, 'key'))),
    )
  }

  count(filter: StoreFilter): Promise<number> {
    const { sql, parameters } = countQuery(this.#prefix, filter)
    return this.#read('count', (connection) => numberOf(connection.rows(sql, ...parameters)[0], 'count'))
  }

  unended(createdBefore: string, limit: number): Promise<readonly TaskKey[]> {
    return this.#read('unended', (connection, queries) =>
      connection.rows(queries.unended, createdBefore, limit).map(keyOf),
    )
  }

  ended(query: EndedQuery): Promise<readonly TaskKey[]> {
    const { limit } = query
    const state = toColumn(query.state)
    return this.#read('ended', (connection, queries) => {
      const rows =
        'beyond' in query
          ? connection.rows(queries.endedBeyond, state, limit, query.beyond)
          : connection.rows(queries.endedBefore, state, query.updatedBefore, limit)
      return rows.map(keyOf)
    })
  }

  delete(keys: readonly DeletionKey[]): Promise<readonly TaskKey[]> {
    return this.#write('delete', (connection, queries) =>
      keys.filter((given) => {
        const task = this.#task(given)
        if (task === undefined) return false
        const [key, generation] = [numberOf(task, 'key'), numberOf(task, 'generation')]
        if (generation !== (given.expectedGeneration ?? generation)) return false
        connection.run(queries.deleteDocuments, toColumn(given.id), given.createdAt)
        connection.run(queries.deleteLease, key)
        connection.run(queries.deleteCheckpoint, key)
        connection.run(queries.deleteEvents, key)
        connection.run(queries.deleteTask, key)
        return true
      }),
    )
  }

  acquire(given: TaskKey, lease: Lease): Promise<Grant | undefined> {
    return this.#write('acquire', (connection, queries) => {
      const task = this.#task(given)
      if (task === undefined || numberOf(task, 'ended') === 1) return undefined
      const [key, generation] = [numberOf(task, 'key'), numberOf(task, 'generation')]
      const held = this.#lease(key)
      const isOfAnother = held !== undefined && held.id !== lease.id
      if (isOfAnother && held.endsAt > this.#now()) return { leaseId: held.id, generation }
      const replaced = isOfAnother
        ? { replaced: { note: noteOf(connection.rows(queries.leaseNote, key)[0]) } }
        : {}
      this.#putLease(key, lease)
      return { leaseId: lease.id, generation, ...replaced }
    })
  }

  renew(
    leases: readonly { readonly key: TaskKey; readonly id: string }[],
    ttlMs: number,
  ): Promise<readonly string[]> {
    return this.#write('renew', (connection, queries) => {
      const endsAt = this.#now() + ttlMs
      const isRenewed = ({ key, id }: (typeof leases)[number]): boolean =>
        connection.run(queries.renewLease, endsAt, toColumn(key.id), key.createdAt, toColumn(id)) > 0
      return leases.filter(isRenewed).map(({ id }) => id)
    })
  }

  release(given: TaskKey, leaseId: string, expectedGeneration?: number, next?: Lease): Promise<boolean> {
    return this.#write('release', (connection, queries) => {
      const task = this.#task(given)
      const key = task && numberOf(task, 'key')
      if (task === undefined || key === undefined || this.#lease(key)?.id !== leaseId) return true
      if (expectedGeneration !== undefined && numberOf(task, 'generation') !== expectedGeneration)
        return false
      if (next === undefined) connection.run(queries.deleteLease, key)
      else this.#putLease(key, next)
      return true
    })
  }

  orphans(limit: number): Promise<readonly Orphan[]> {
    return this.#read('orphans', (connection, queries) =>
      connection.rows(queries.orphans, this.#now(), limit).map((row) => ({
        key: keyOf(row),
        leaseId: fromColumn(row['lease_id']),
        note: noteOf(row),
      })),
    )
  }

  leaseCounts(limit: number): Promise<LeaseCounts> {
    return this.#read('leaseCounts', (connection, queries) => {
      const now = this.#now()
      const count = (query: string): number =>
        connection.rows(query, now, limit).reduce((sum, row) => sum + numberOf(row, 'count'), 0)
      const [first] = connection.rows(queries.firstEnd, now)
      return {
        expired: count(queries.expiredCount),
        oldestMs: first === undefined ? 0 : now - numberOf(first, 'ends_at'),
        held: count(queries.heldCount),
      }
    })
  }

  putDocument(
    { key, kind, id, value }: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean> {
    const documentKey = [...documentsKeyOf(kind, key), toColumn(id)]
    return this.#write('putDocument', (connection, queries) => {
      if (this.#task(key) === undefined) return false
      const changed =
        expectedVersion === 0
          ? connection.run(queries.insertDocument, ...documentKey, toJson(value))
          : connection.run(queries.updateDocument, toJson(value), ...documentKey, expectedVersion)
      return changed > 0
    })
  }

  deleteDocument({ key, kind, id }: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean> {
    return this.#write(
      'deleteDocument',
      (connection, queries) =>
        connection.run(queries.deleteDocument, ...documentsKeyOf(kind, key), toColumn(id)) > 0,
    )
  }

  documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]> {
    return this.#read('documents', (connection, queries) =>
      connection.rows(queries.documents, ...documentsKeyOf(kind, key)).map((row) => documentOf(kind, row)),
    )
  }

  allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]> {
    return this.#read('allDocuments', (connection, queries) => {
      const rows =
        after === undefined
          ? connection.rows(queries.firstDocuments, toColumn(kind), limit)
          : connection.rows(
              queries.nextDocuments,
              ...documentsKeyOf(kind, { id: after.taskId, createdAt: after.createdAt }),
              ...[toColumn(after.id), limit],
            )
      return rows.map((row) => documentOf(kind, row))
    })
  }

  #write<T>(operation: string, work: (connection: Connection, queries: Queries) => T): Promise<T> {
    return asPromise(operation, () => {
      this.#requireMigrated(operation)
      return this.#connection.write(() => work(this.#connection, this.#queries))
    })
  }

  #read<T>(operation: string, work: (connection: Connection, queries: Queries) => T): Promise<T> {
    return asPromise(operation, () => {
      this.#requireMigrated(operation)
      return this.#connection.read(() => work(this.#connection, this.#queries))
    })
  }

  /** @param textsOf - Makes the texts of the events. Called only if the change can be made. */
  #commit(change: Change, textsOf: () => readonly string[], whole?: string): CommitResult {
    const { expectedGeneration, head, commitId, leaseId, expires } = change
    const [connection, queries] = [this.#connection, this.#queries]
    const task = this.#task(change.key)
    if (task === undefined) return 'missing'
    const key = numberOf(task, 'key')
    const first = expectedGeneration + 1
    if (numberOf(task, 'generation') !== expectedGeneration) {
      const isCommit = connection.rows(queries.isCommit, key, first, commitId).length > 0
      return isCommit ? 'committed' : 'conflict'
    }
    if (leaseId !== undefined && this.#lease(key)?.id !== leaseId) return 'lease-lost'
    this.#append(key, first, textsOf(), commitId)
    this.#moveTo(head, task)
    if (whole !== undefined) connection.run(queries.putCheckpoint, key, head.generation, whole)
    if (head.hasEnded) connection.run(queries.deleteLease, key)
    else if (expires !== undefined) connection.run(queries.expireLease, key, toColumn(expires))
    return 'committed'
  }

  #requireMigrated(operation: string): void {
    if (this.#isMigrated) return
    requireMigrated(this.#connection, this.#prefix, operation)
    this.#isMigrated = true
  }

  #task({ id, createdAt }: TaskKey): Row | undefined {
    return this.#connection.rows(this.#queries.taskOf, toColumn(id), createdAt)[0]
  }

  #stored(key: number): StoredTask {
    const checkpoint = this.#connection.rows(this.#queries.checkpoint, key)[0]
    return {
      // The store wrote it as a task.
      checkpoint: fromJson(checkpoint?.['json']) as unknown as TaskSnapshot<string>,
      events: this.#events(key, numberOf(checkpoint, 'generation'), ALL),
    }
  }

  #events(key: number, after: number, limit: number): StoredEvent[] {
    const rows = this.#connection.rows(this.#queries.events, key, after, limit)
    // The store wrote them as events.
    return rows.map(({ json }) => fromJson(json) as unknown as StoredEvent)
  }

  #append(key: number, first: number, texts: readonly string[], commitId: string): void {
    for (const [index, text] of texts.entries()) {
      const id = index === 0 ? commitId : null
      this.#connection.run(this.#queries.insertEvent, key, first + index, text, id)
    }
  }

  #moveTo({ generation, updatedAt, state, hasEnded }: TaskHead, from: Row): void {
    const key = numberOf(from, 'key')
    const second = secondOf(updatedAt)
    const isInState = from['state'] === toColumn(state) && numberOf(from, 'ended') === Number(hasEnded)
    // SQLite writes an index whenever an UPDATE names one of its columns, even if the value stays the same.
    if (isInState && from['updated_second'] === second) {
      this.#connection.run(this.#queries.updateGeneration, generation, updatedAt, key)
    } else {
      const columns = [second, toColumn(state), Number(hasEnded)]
      this.#connection.run(this.#queries.updateHead, generation, updatedAt, ...columns, key)
    }
  }

  #lease(key: number): { readonly id: string; readonly endsAt: number } | undefined {
    const row = this.#connection.rows(this.#queries.lease, key)[0]
    return row && { id: fromColumn(row['id']), endsAt: numberOf(row, 'ends_at') }
  }

  #putLease(key: number, { id, ttlMs, note }: Lease): void {
    const text = note === undefined ? null : toJson(note)
    this.#connection.run(this.#queries.putLease, key, toColumn(id), this.#now() + ttlMs, text)
  }
}

/** Runs a synchronous step. Errors of `run` become rejections. */
function asPromise<T>(operation: string, run: () => T): Promise<T> {
  return new Promise((resolve) => {
    try {
      resolve(run())
    } catch (error) {
      throw toStoreError(error, operation)
    }
  })
}
