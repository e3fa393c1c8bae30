/**
 * Task store in PostgreSQL.
 *
 * @module
 */
import type { StoredEvent } from '../../durable/stored-events.js'
import type { TaskSnapshot, TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
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
  StoreHints,
  StoreQuery,
  TaskStore,
  Transaction,
  TransactionResult,
} from '../../durable/task-store.js'
import type { DocumentCursor, TaskDocument } from '../../core/managers.js'
import { Groups, type GroupLimits } from '../../durable/groups.js'
import { CallQueue, limitsFor, type StoreOperation } from '../../durable/call-queue.js'
import type { Parameter, PostgresClient } from './clients.js'
import { commitStatement, groupStatement, keyOf, whyNotCommitted, written } from './commits.js'
import type { WrittenCommit } from './commits.js'
import { connectionOf } from './connection.js'
import type { Connection, Row, Statements } from './statements.js'
import { documentStatements, type DocumentStatements } from './document-statements.js'
import { CHANGES, toStoreError, isAnswer, isStale, ofTransaction, refusedToChange } from './errors.js'
import { feedSetUp, PostgresFeed } from './feed.js'
import { hintsOf, joinedHints } from './hints.js'
import { leaseStatements, type LeaseStatements } from './lease-statements.js'
import { countStatement, listStatement } from './query-statements.js'
import { queueOf } from './queue.js'
import { validated, requireRoom, type PostgresStoreOptions } from './options.js'
import { migration, STEPS } from './schema.js'
import { ANY_GENERATION, taskStatements, type TaskStatements } from './task-statements.js'
import { transact } from './transact.js'
import { fromColumn, fromJson, toArray, toColumn, toJson, toJsonArray, toOwner } from './text.js'

/** The store that {@link postgresStore} returns. */
export interface PostgresStore extends TaskStore {
  /**
   * Creates the schema and its tables, or migrates those of an older version, all or nothing. Safe to call concurrently. The
   * other methods fail until it has been called once.
   *
   * @throws {A2AError} As a rejection: `STORE_FAILED` when the tables are of a later version than this release knows, when
   *   the database is not encoded as UTF8, and when the user lacks the right to create them.
   */
  migrate(): Promise<void>
}

/**
 * Opens a store in PostgreSQL 11 or later, with the encoding UTF8. Call `migrate()` before its other methods.
 *
 * - Pass your own client: a `Pool` of `pg`, the `sql` of `postgres`, or a `PGlite`. The store does not close it.
 * - Listen to the `error` event of a `Pool` of `pg`. It reports idle connections that break, as when the server restarts.
 *   Without a listener it ends the process.
 * - While a task is followed, hints occupy one connection of a `Pool`, however many stores of the process share it.
 * - Calls that wait longer than 4 s for a connection of a `Pool` are refused, and managers repeat them.
 * - Renewals of leases do not wait behind requests: the store keeps one connection of the client free for them, and one for
 *   changes. A client with one connection, as a `PGlite` has, makes one call at a time, renewals first and then changes. The
 *   store cannot hold back what your application sends over the same client.
 * - Each method is one statement. A refused change takes a second one to find the reason. `transact` occupies a connection while
 *   its work is done.
 * - Commits of different tasks that wait at the same time share a statement, up to 128 of them or 1 Mi UTF-16 units of JSON. A
 *   commit to a task whose row is locked, or that the database refuses, is sent again alone.
 * - The store expects the default isolation level, READ COMMITTED. Under a stricter one, concurrent changes fail more often.
 *
 * Methods reject with `STORE_FAILED` when an operator has to act: the tables are missing, a privilege is missing, or a
 * pooler does not support prepared statements. They reject with the driver's error in all other cases.
 *
 * @example
 * const pool = new Pool({ connectionString })
 * pool.on('error', (error) => logger.error(error.message))
 * const store = postgresStore(pool)
 * await store.migrate()
 * const tasks = new DurableTaskManager({ store })
 * @throws {TypeError | RangeError} for an invalid option; the message names it.
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): PostgresStore {
  return new Store(client, options)
}

const MAX_TRIES = 100
const COMMITTED: Row = ['committed']
const GROUPS: GroupLimits = { members: 128, size: 1_048_576, groups: 2 }

type Sql = TaskStatements & LeaseStatements & DocumentStatements

class Store implements PostgresStore {
  readonly hints: StoreHints | undefined
  readonly feed: PostgresFeed | undefined
  readonly #given: readonly [client: PostgresClient, options: PostgresStoreOptions]
  readonly #connection: Connection
  /** Those of the transaction that this store belongs to. */
  readonly #joined: Statements | undefined
  readonly #queue: CallQueue
  /** The quoted schema name. */
  readonly #schema: string
  readonly #sql: Sql
  readonly #now: (() => number) | undefined
  readonly #feedSize: number | undefined
  readonly #readOnly: boolean
  readonly #groups: Groups<WrittenCommit, CommitResult>

  constructor(client: PostgresClient, options: PostgresStoreOptions, joined?: Statements) {
    const { schema, now, prepare, listen = client, feedSize, readOnly } = validated(options)
    this.#given = [client, options]
    this.#connection = connectionOf('client', client, prepare)
    this.#joined = joined
    this.#queue = joined === undefined ? queueOf(client) : new CallQueue(() => limitsFor(1))
    this.#schema = `"${schema}"`
    this.#sql = {
      ...taskStatements(this.#schema),
      ...leaseStatements(this.#schema),
      ...documentStatements(this.#schema),
    }
    this.#now = now
    this.#feedSize = feedSize
    this.#readOnly = readOnly
    this.#groups = new Groups(GROUPS, { send: (commits) => this.#commitAll(commits), mayBeOfOne: isAnswer })
    if (feedSize !== undefined && feedSize > 0) {
      this.feed = new PostgresFeed(this.#schema, feedSize, (...given) => this.#rows('feed', ...given))
    }
    if (listen === false) return
    const notify = (text: string, payloads: string) => this.#rows('publish', text, [payloads])
    if (joined !== undefined) this.hints = joinedHints(`${schema}_hints`, notify)
    else {
      if (listen === client) requireRoom(client)
      this.hints = hintsOf(`${schema}_hints`, notify, connectionOf('listen', listen, prepare))
    }
  }

  within(client: unknown): TaskStore {
    return new Store(...this.#given, this.#connection.within(client))
  }

  async migrate(): Promise<void> {
    const text = migration(this.#schema, STEPS, feedSetUp(this.#schema, this.#feedSize))
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#rows('migrate', text, [])
        return
      } catch (error) {
        // Another process has migrated the schema at the same time.
        if (!isStale(error) || tries === MAX_TRIES) throw error
      }
    }
  }

  async create({ task, events, head, commitId, lease }: Creation): Promise<boolean> {
    const { skill, contextId, owner } = task
    const granted = head.hasEnded ? undefined : lease
    const creationId = toColumn(commitId)
    const change = [
      ...[...keyOf(head), head.generation, toColumn(head.state), head.hasEnded, head.updatedAt],
      ...[toColumn(skill), toColumn(contextId), toOwner(owner)],
      ...[granted ? toColumn(granted.id) : null, granted ? Math.ceil(granted.ttlMs) : null, this.#time()],
      ...[toJson(task), noteOf(granted), creationId, toJsonArray(events.map(toJson))],
    ]
    const whyNot = [toColumn(head.id), creationId]
    const { create, whyNotCreated } = this.#sql
    const attempt = (): Promise<Row | undefined> => this.#row('create', create, change)
    return (await this.#change('create', attempt, whyNotCreated, whyNot))?.[0] === 'true'
  }

  async commit(commit: Commit): Promise<CommitResult> {
    return await this.#groups.commit(written(commit))
  }

  transact(transaction: Transaction): Promise<TransactionResult> {
    return this.#call('transact', () => transact(this.#connection, this.#sql, transaction))
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    const [row] = await this.#rows('get', this.#sql.get, [toColumn(taskId)])
    return row && toStored(row)
  }

  async heads(taskIds: readonly string[]): Promise<readonly (TaskKey & { readonly generation: number })[]> {
    if (taskIds.length === 0) return []
    const rows = await this.#rows('heads', this.#sql.heads, [toArray(taskIds.map(toColumn))])
    return rows.map((row) => ({ ...toKey(row), generation: Number(row[2]) }))
  }

  async events(key: TaskKey, after: number, limit: number): Promise<readonly StoredEvent[]> {
    const [row] = await this.#rows('events', this.#sql.events, [...keyOf(key), after, limit])
    return toEvents(row?.[0])
  }

  async list(query: StoreQuery): Promise<readonly StoredTask[]> {
    const { text, parameters } = listStatement(this.#schema, query)
    return (await this.#rows('list', text, parameters)).map(toStored)
  }

  async count(filter: StoreFilter): Promise<number> {
    const { text, parameters } = countStatement(this.#schema, filter)
    return toCount(await this.#rows('count', text, parameters))
  }

  async unended(createdBefore: string, limit: number): Promise<readonly TaskKey[]> {
    return (await this.#rows('unended', this.#sql.unended, [createdBefore, limit])).map(toKey)
  }

  async ended(query: EndedQuery): Promise<readonly TaskKey[]> {
    const state = toColumn(query.state)
    const rows =
      'beyond' in query
        ? await this.#rows('ended', this.#sql.endedBeyond, [state, query.beyond, query.limit])
        : await this.#rows('ended', this.#sql.endedBefore, [state, query.updatedBefore, query.limit])
    return rows.map(toKey)
  }

  async delete(keys: readonly DeletionKey[]): Promise<readonly TaskKey[]> {
    if (keys.length === 0) return []
    const generations = toArray(
      keys.map(({ expectedGeneration = ANY_GENERATION }) => `${expectedGeneration}`),
    )
    return (await this.#rows('delete', this.#sql.delete, [...keyArrays(keys), generations])).map(toKey)
  }

  async acquire(key: TaskKey, lease: Lease): Promise<Grant | undefined> {
    const wanted = [...keyOf(key), toColumn(lease.id)]
    const time = this.#time()
    const change = [...wanted, Math.ceil(lease.ttlMs), time, noteOf(lease)]
    const { acquire, whyNotAcquired } = this.#sql
    const attempt = (): Promise<Row | undefined> => this.#row('acquire', acquire, change)
    const row = await this.#change('acquire', attempt, whyNotAcquired, [...wanted, time])
    return row && toGrant(row)
  }

  async renew(
    leases: readonly { readonly key: TaskKey; readonly id: string }[],
    ttlMs: number,
  ): Promise<readonly string[]> {
    if (leases.length === 0) return []
    const rows = await this.#rows('renew', this.#sql.renew, [
      ...keyArrays(leases.map(({ key }) => key)),
      ...[toArray(leases.map(({ id }) => toColumn(id))), Math.ceil(ttlMs), this.#time()],
    ])
    return rows.map(([id]) => fromColumn(id ?? ''))
  }

  async release(key: TaskKey, leaseId: string, expectedGeneration?: number, next?: Lease): Promise<boolean> {
    const parameters = [...keyOf(key), toColumn(leaseId), expectedGeneration ?? null]
    const { release, replace, whyNotReleased } = this.#sql
    const attempt = (): Promise<Row | undefined> => {
      if (next === undefined) return this.#row('release', release, parameters)
      const lease = [toColumn(next.id), Math.ceil(next.ttlMs), noteOf(next), this.#time()]
      return this.#row('release', replace, [...parameters, ...lease])
    }
    return (await this.#change('release', attempt, whyNotReleased, parameters))?.[0] !== 'false'
  }

  async orphans(limit: number): Promise<readonly Orphan[]> {
    const rows = await this.#rows('orphans', this.#sql.orphans, [this.#time(), limit])
    return rows.map((row) => ({
      key: toKey(row),
      leaseId: fromColumn(row[2] ?? ''),
      note: toNote(row[3]),
    }))
  }

  async leaseCounts(limit: number): Promise<LeaseCounts> {
    const [row = []] = await this.#rows('leaseCounts', this.#sql.leaseCounts, [this.#time(), limit])
    const [expired, oldestMs, held] = row.map(Number)
    return { expired: expired ?? 0, oldestMs: oldestMs ?? 0, held: held ?? 0 }
  }

  async putDocument(
    { key, kind, id, value }: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean> {
    const parameters = [...keyOf(key), toColumn(kind), toColumn(id), toJson(value)]
    const rows =
      expectedVersion === 0
        ? await this.#rows('putDocument', this.#sql.insertDocument, parameters)
        : await this.#rows('putDocument', this.#sql.updateDocument, [...parameters, expectedVersion])
    return rows.length > 0
  }

  async deleteDocument({ key, kind, id }: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean> {
    const parameters = [...keyOf(key), toColumn(kind), toColumn(id)]
    return (await this.#rows('deleteDocument', this.#sql.deleteDocument, parameters)).length > 0
  }

  async documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]> {
    const rows = await this.#rows('documents', this.#sql.documents, [...keyOf(key), toColumn(kind)])
    return rows.map((row) => toDocument(kind, row))
  }

  async allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]> {
    const parameters = [toColumn(kind), limit]
    const rows = after
      ? await this.#rows('allDocuments', this.#sql.allDocumentsAfter, [
          ...[...parameters, toColumn(after.taskId), after.createdAt, toColumn(after.id)],
        ])
      : await this.#rows('allDocuments', this.#sql.allDocuments, parameters)
    return rows.map((row) => toDocument(kind, row))
  }

  /** Answers those of several that it has carried out. */
  async #commitAll(commits: readonly WrittenCommit[]): Promise<readonly (CommitResult | undefined)[]> {
    const [commit] = commits
    if (commit !== undefined && commits.length === 1) return [await this.#commitOne(commit)]
    const { text, parameters } = groupStatement(this.#sql, commits)
    const numbers = new Set((await this.#rows('commit', text, parameters)).map(([number]) => Number(number)))
    return commits.map((_, index) => (numbers.has(index + 1) ? 'committed' : undefined))
  }

  async #commitOne(commit: WrittenCommit): Promise<CommitResult> {
    const { text, parameters } = commitStatement(this.#sql, commit)
    const why = whyNotCommitted(this.#sql, commit.change)
    const attempt = async (): Promise<Row | undefined> => {
      const changed = await this.#call('commit', () => this.#statements.count(text, parameters))
      return changed > 0 ? COMMITTED : undefined
    }
    const [result] = (await this.#change('commit', attempt, why.text, why.parameters)) ?? []
    // The statements return only results of this type.
    return (result ?? 'missing') as CommitResult
  }

  get #statements(): Statements {
    return this.#joined ?? this.#connection
  }

  /** The time by the store's own clock, or `null` for the clock of the database. */
  #time(): number | null {
    return this.#now === undefined ? null : Math.floor(this.#now())
  }

  /**
   * Runs `change`, and runs `why` when it changed nothing. Resolves to the row of either, or to `undefined` when neither
   * returns one. A `why` that finds no reason means that a concurrent change succeeded in between, so the
   * change is retried, up to `MAX_TRIES` times.
   */
  async #change(
    operation: StoreOperation,
    change: () => Promise<Row | undefined>,
    why: string,
    whyParameters: readonly Parameter[],
  ): Promise<Row | undefined> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const answer = (await change()) ?? (await this.#row(operation, why, whyParameters))
      if (answer?.[0] !== null) return answer
    }
    throw new Error(`The database made no change and reported no reason: ${operation}`)
  }

  async #row(
    operation: StoreOperation,
    text: string,
    parameters: readonly Parameter[],
  ): Promise<Row | undefined> {
    return (await this.#rows(operation, text, parameters))[0]
  }

  #rows(operation: StoreOperation, text: string, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    return this.#call(operation, () => this.#statements.rows(text, parameters))
  }

  async #call<T>(operation: StoreOperation, statement: () => Promise<T>): Promise<T> {
    if (this.#readOnly && CHANGES.has(operation)) throw refusedToChange(operation)
    try {
      return await this.#queue.run(operation, statement)
    } catch (error) {
      const failure = toStoreError(error, operation, this.#schema.replaceAll('"', ''))
      throw this.#joined === undefined ? failure : ofTransaction(failure, operation)
    }
  }
}

function keyArrays(keys: readonly TaskKey[]): [string, string] {
  return [toArray(keys.map(({ id }) => toColumn(id))), toArray(keys.map(({ createdAt }) => createdAt))]
}

function noteOf(lease: Lease | undefined): string | null {
  return lease?.note === undefined ? null : toJson(lease.note)
}

function toKey([id, createdAt]: Row): TaskKey {
  return { id: fromColumn(id ?? ''), createdAt: createdAt ?? '' }
}

function toGrant([leaseId, generation, note]: Row): Grant {
  const replaced = note == null ? {} : { replaced: { note: toNote(note) } }
  return { leaseId: fromColumn(leaseId ?? ''), generation: Number(generation), ...replaced }
}

function toNote(json: string | null | undefined): JsonValue | undefined {
  return json == null || json === '' ? undefined : fromJson(json)
}

function toCount([row]: readonly Row[]): number {
  return Number(row?.[0])
}

function toEvents(json: string | null | undefined): StoredEvent[] {
  // The column holds events that this store wrote.
  return json == null ? [] : (JSON.parse(json) as StoredEvent[])
}

function toStored([checkpoint, events]: Row): StoredTask {
  // The column holds a task that this store wrote.
  return { checkpoint: JSON.parse(checkpoint ?? '') as TaskSnapshot<string>, events: toEvents(events) }
}

function toDocument(kind: string, row: Row): TaskDocument {
  const [, , id, version, json] = row
  return {
    key: toKey(row),
    kind,
    id: fromColumn(id ?? ''),
    version: Number(version),
    value: fromJson(json ?? ''),
  }
}
