/**
 * Tasks in PostgreSQL.
 *
 * @module
 */
import type { TaskEvent } from '../../core/events.js'
import type { TaskSnapshot } from '../../core/task.js'
import type {
  Commit,
  CommitResult,
  Creation,
  DocumentCursor,
  EndedQuery,
  Lease,
  Orphan,
  StoredTask,
  StoreFilter,
  StoreHints,
  StoreQuery,
  TaskDocument,
  TaskKey,
  TaskStore,
} from '../../durable/index.js'
import type { Parameter, PostgresClient } from './clients.js'
import { connectionOf, type Connection, type Row } from './connection.js'
import { documentStatements, type DocumentStatements } from './document-statements.js'
import { hintsOf } from './hints.js'
import { leaseStatements, type LeaseStatements } from './lease-statements.js'
import { countStatement, listStatement } from './query-statements.js'
import { migration } from './schema.js'
import { taskStatements, type TaskStatements } from './task-statements.js'
import { fromColumn, fromJson, toArray, toColumn, toJson, toOwner } from './text.js'

export interface PostgresStoreOptions {
  /** The schema that the tables are in, a name of lower-case letters, digits and `_`. Default is `a2a_tasks`. */
  readonly schema?: string | undefined
  /** What leases run out by, in ms since 1970. Default: the clock of the database. */
  readonly now?: (() => number) | undefined
  /**
   * Whether statements are prepared, which takes planning them off every call. `false` where a pooler stands in between
   * that hands each statement to another connection, and does not know what is prepared. Default is `true`.
   */
  readonly prepare?: boolean | undefined
  /**
   * The client that listens for hints, where it is not the same: LISTEN needs a connection of its own, for as long as it
   * listens. `false`: there are no hints, and managers look by themselves. Default: the client of the store.
   */
  readonly listen?: PostgresClient | false | undefined
}

export interface PostgresStore extends TaskStore {
  /**
   * Creates the schema and its tables where they are missing, and brings those of an older version up to date, all or
   * nothing. Many may call it at once. Before it was called once, everything else fails.
   *
   * @throws {Error} As a rejection: when the tables are of a later version than this release knows.
   */
  migrate(): Promise<void>
}

/**
 * A store in a database of PostgreSQL, 11 or later, by the client that the application has: a `Pool` of `pg`, the `sql`
 * of `postgres`, or a `PGlite`. It expects the isolation level READ COMMITTED, which is the server's default. Each
 * method is one statement; one that found something else than it expected asks by another what it is. The client stays the caller's, who closes it.
 *
 * @throws {TypeError | RangeError} naming what makes no sense.
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): PostgresStore {
  return new Store(client, options)
}

/** So that what is named after it, too, has no more than the 63 bytes that PostgreSQL allows. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,49}$/
/** What PostgreSQL says of tables, schemas and columns that are not there. */
const UNDEFINED = new Set<unknown>(['42P01', '3F000', '42703'])

type Statements = TaskStatements & LeaseStatements & DocumentStatements

class Store implements PostgresStore {
  readonly hints: StoreHints | undefined
  readonly #connection: Connection
  /** Quoted. */
  readonly #schema: string
  readonly #sql: Statements
  readonly #now: (() => number) | undefined

  constructor(
    client: PostgresClient,
    { schema = 'a2a_tasks', now, prepare = true, listen = client }: PostgresStoreOptions,
  ) {
    if (!SCHEMA.test(schema)) {
      throw new RangeError(
        `"schema" must be of lower-case letters, digits and "_", no more than 50, got ${JSON.stringify(schema)}`,
      )
    }
    this.#connection = connectionOf(client, prepare)
    this.#schema = `"${schema}"`
    this.#sql = {
      ...taskStatements(this.#schema),
      ...leaseStatements(this.#schema),
      ...documentStatements(this.#schema),
    }
    this.#now = now
    if (listen !== false) {
      this.hints = hintsOf(`${schema}_hints`, this.#connection, connectionOf(listen, prepare))
    }
  }

  async migrate(): Promise<void> {
    await this.#connection.rows(migration(this.#schema), [])
  }

  async create({ task, events, head, commitId, lease }: Creation): Promise<boolean> {
    const { skill, contextId, owner } = task
    const creationId = toColumn(commitId)
    const change = [
      ...[...keyOf(head), head.generation, toColumn(head.state), head.hasEnded, head.updatedAt],
      ...[toColumn(skill), toColumn(contextId), toOwner(owner)],
      ...[lease ? toColumn(lease.id) : null, lease ? Math.ceil(lease.ttlMs) : null, this.#time()],
      ...[toJson(task), noteOf(lease), creationId, toArray(events.map(toJson))],
    ]
    const whyNot = [toColumn(head.id), creationId]
    return (await this.#change(this.#sql.create, change, this.#sql.whyNotCreated, whyNot)) === 'true'
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const { key, expectedGeneration, head, checkpoint } = commit
    const expected = [...keyOf(key), expectedGeneration]
    const commitId = toColumn(commit.commitId)
    const leaseId = commit.leaseId === undefined ? null : toColumn(commit.leaseId)
    const events = commit.events.map(toJson)
    const [event] = events
    const isOne = event !== undefined && events.length === 1
    const change = [
      ...[
        ...expected,
        head.generation,
        toColumn(head.state),
        head.hasEnded,
        head.updatedAt,
        leaseId,
        commitId,
      ],
      isOne ? event : toArray(events),
      ...(checkpoint ? [toJson(checkpoint)] : []),
    ]
    const sql = checkpoint ? this.#sql.commitWhole : this.#sql.commit
    const whyNot = [...expected, commitId, leaseId]
    const result = await this.#change(sql[isOne ? 'one' : 'many'], change, this.#sql.whyNotCommitted, whyNot)
    // The statements give no others.
    return (result ?? 'missing') as CommitResult
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    const [row] = await this.#rows(this.#sql.get, [toColumn(taskId)])
    return row && toStored(row)
  }

  async heads(taskIds: readonly string[]): Promise<readonly (TaskKey & { readonly generation: number })[]> {
    if (taskIds.length === 0) return []
    const rows = await this.#rows(this.#sql.heads, [toArray(taskIds.map(toColumn))])
    return rows.map((row) => ({ ...toKey(row), generation: Number(row[2]) }))
  }

  async events(key: TaskKey, after: number, limit: number): Promise<readonly TaskEvent<string>[]> {
    const [row] = await this.#rows(this.#sql.events, [...keyOf(key), after, limit])
    return toEvents(row?.[0])
  }

  async list(query: StoreQuery): Promise<readonly StoredTask[]> {
    const { text, parameters } = listStatement(this.#schema, query)
    return (await this.#rows(text, parameters)).map(toStored)
  }

  async count(filter: StoreFilter): Promise<number> {
    const { text, parameters } = countStatement(this.#schema, filter)
    return toCount(await this.#rows(text, parameters))
  }

  async unended(createdBefore: string, limit: number): Promise<readonly TaskKey[]> {
    return (await this.#rows(this.#sql.unended, [createdBefore, limit])).map(toKey)
  }

  async ended(query: EndedQuery): Promise<readonly TaskKey[]> {
    const state = toColumn(query.state)
    const rows =
      'beyond' in query
        ? await this.#rows(this.#sql.endedBeyond, [state, query.beyond, query.limit])
        : await this.#rows(this.#sql.endedBefore, [state, query.updatedBefore, query.limit])
    return rows.map(toKey)
  }

  async delete(keys: readonly TaskKey[]): Promise<number> {
    if (keys.length === 0) return 0
    return toCount(await this.#rows(this.#sql.delete, keyArrays(keys)))
  }

  async acquire(key: TaskKey, lease: Lease): Promise<string | undefined> {
    const wanted = [...keyOf(key), toColumn(lease.id)]
    const time = this.#time()
    const change = [...wanted, Math.ceil(lease.ttlMs), time, noteOf(lease)]
    const leaseId = await this.#change(this.#sql.acquire, change, this.#sql.whyNotAcquired, [...wanted, time])
    return leaseId === undefined ? undefined : fromColumn(leaseId)
  }

  async renew(
    leases: readonly { readonly key: TaskKey; readonly id: string }[],
    ttlMs: number,
  ): Promise<readonly string[]> {
    if (leases.length === 0) return []
    const rows = await this.#rows(this.#sql.renew, [
      ...keyArrays(leases.map(({ key }) => key)),
      ...[toArray(leases.map(({ id }) => toColumn(id))), Math.ceil(ttlMs), this.#time()],
    ])
    return rows.map(([id]) => fromColumn(id ?? ''))
  }

  async release(key: TaskKey, leaseId: string, expectedGeneration?: number): Promise<boolean> {
    const parameters = [...keyOf(key), toColumn(leaseId), expectedGeneration ?? null]
    const { release, whyNotReleased } = this.#sql
    return (await this.#change(release, parameters, whyNotReleased, parameters)) !== 'false'
  }

  async orphans(limit: number): Promise<readonly Orphan[]> {
    const rows = await this.#rows(this.#sql.orphans, [this.#time(), limit])
    return rows.map((row) => ({
      key: toKey(row),
      leaseId: fromColumn(row[2] ?? ''),
      note: row[3] == null ? undefined : fromJson(row[3]),
    }))
  }

  async putDocument(
    { key, kind, id, value }: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean> {
    const parameters = [...keyOf(key), toColumn(kind), toColumn(id), toJson(value)]
    const rows =
      expectedVersion === 0
        ? await this.#rows(this.#sql.insertDocument, parameters)
        : await this.#rows(this.#sql.updateDocument, [...parameters, expectedVersion])
    return rows.length > 0
  }

  async deleteDocument({ key, kind, id }: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean> {
    const parameters = [...keyOf(key), toColumn(kind), toColumn(id)]
    return (await this.#rows(this.#sql.deleteDocument, parameters)).length > 0
  }

  async documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]> {
    const rows = await this.#rows(this.#sql.documents, [...keyOf(key), toColumn(kind)])
    return rows.map((row) => toDocument(kind, row))
  }

  async allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]> {
    const parameters = [toColumn(kind), limit]
    const rows = after
      ? await this.#rows(this.#sql.allDocumentsAfter, [
          ...[...parameters, toColumn(after.taskId), after.createdAt, toColumn(after.id)],
        ])
      : await this.#rows(this.#sql.allDocuments, parameters)
    return rows.map((row) => toDocument(kind, row))
  }

  /** `null`: the database's. */
  #time(): number | null {
    return this.#now === undefined ? null : Math.floor(this.#now())
  }

  /**
   * What `text` selects where it made its change, and `why` where it made none: `undefined` where there was nothing to
   * change. Each time that it has to be tried again, somebody else got something done.
   */
  async #change(
    text: string,
    parameters: readonly Parameter[],
    why: string,
    whyParameters: readonly Parameter[],
  ): Promise<string | undefined> {
    for (;;) {
      const [made] = await this.#rows(text, parameters)
      const [answer] = made ?? (await this.#rows(why, whyParameters))[0] ?? [undefined]
      if (answer !== null) return answer
    }
  }

  async #rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    try {
      return await this.#connection.rows(text, parameters)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && UNDEFINED.has(error.code))) throw error
      const where = `schema ${this.#schema.replaceAll('"', '')}`
      const message = `The tables of "a2a-tasks" (${where}) are not set up: ${error.message}. Call migrate() first`
      throw new Error(message, { cause: error })
    }
  }
}

function keyOf({ id, createdAt }: TaskKey): [string, string] {
  return [toColumn(id), createdAt]
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

function toCount([row]: readonly Row[]): number {
  return Number(row?.[0])
}

function toEvents(json: string | null | undefined): TaskEvent<string>[] {
  // They went in as events.
  return json == null ? [] : (JSON.parse(json) as TaskEvent<string>[])
}

function toStored([checkpoint, events]: Row): StoredTask {
  // It went in as a task.
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
