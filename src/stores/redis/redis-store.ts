/**
 * Task store in Redis.
 *
 * @module
 */
import { requireFunctions, requireKnown, requireWhole } from '../../runtime/options.js'
import type { StoredEvent } from '../../durable/stored-events.js'
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
  TaskHead,
  TaskStore,
} from '../../durable/task-store.js'
import { CallQueue, type CallLimits } from '../../durable/call-queue.js'
import { Groups, sizeOf, type GroupLimits, type Member } from '../../durable/groups.js'
import type { DocumentCursor, TaskDocument } from '../../core/managers.js'
import type { TaskKey } from '../../core/task.js'
import { toConnection, type Connection, type RedisClient } from './client.js'
import { ALL_DOCUMENTS, DELETE_DOCUMENT, DOCUMENTS, PUT_DOCUMENT } from './document-scripts.js'
import { redisHints } from './hints.js'
import { RedisFeed } from './feed.js'
import { SET_UP_FEED } from './feed-scripts.js'
import { migrateLayout, toStoreError, isEmpty, refuseEviction } from './layout.js'
import { ACQUIRE, LEASE_COUNTS, ORPHANS, RELEASE, RENEW } from './lease-scripts.js'
import { platformCrypto } from '../../runtime/crypto.js'
import { COUNT, ENDED_BEFORE, ENDED_BEYOND, LIST, UNENDED } from './query-scripts.js'
import {
  items,
  texts,
  toAllDocuments,
  toDocuments,
  toEvents,
  toGrant,
  toHeads,
  toKeys,
  toOrphans,
  toPage,
  toStored,
  toText,
} from './replies.js'
import { isReply, Scripts } from './scripts.js'
import { COMMIT, CREATE, DELETE, EVENTS, GET, HEADS } from './task-scripts.js'

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /** The clock by which leases expire, in ms since 1970. Default is the clock of Redis, one clock for all processes. */
  readonly now?: (() => number) | undefined
  /** Prefix of all keys, without braces; the store adds them. Default is `'a2a-tasks'`. */
  readonly prefix?: string | undefined
  /**
   * Number of latest entries, at least, from which `feed` continues. `migrate()` starts the feed for all processes of the
   * store, and ends it with `0`. Default is to leave the feed as it is; then `feed` of this process is refused. Processes of
   * a release without this option do not add to it: stop them first.
   */
  readonly feedSize?: number | undefined
}

/** The store that {@link redisStore} returns. */
export interface RedisStore extends TaskStore {
  /**
   * Sets the store up, or migrates an older layout without losing tasks. Safe to call concurrently and repeatedly. Rejects
   * with `STORE_FAILED`, and changes nothing, when a later release has set the store up, or when Redis may evict arbitrary
   * keys. During a migration the other methods reject with a plain error, which managers retry.
   */
  migrate(): Promise<void>
  readonly hints: StoreHints
}

/**
 * Opens a store in Redis (tested with 7.0). Call `migrate()` before its other methods.
 *
 * - Pass your own client of `ioredis` or `redis`, also one of sentinels or of a cluster. You connect and close it. Hints use a
 *   duplicate of the client, which all stores of the process over this client share.
 * - Listen to the client's `error` event. Without a listener, a client of `redis` ends the process when its connection
 *   breaks, although it would reconnect.
 *
 * Durability depends on the configuration of Redis:
 *
 * - With `appendonly yes` and `appendfsync always`, acknowledged changes survive a crash of Redis and of its machine.
 * - With `everysec`, the default of `appendonly yes`, a crash of the machine may lose about one second.
 * - Without `appendonly`, a crash loses everything since the last snapshot.
 * - Replication is asynchronous, so a failover may lose changes that the replica had not received.
 * - Memory must suffice for all tasks. With `maxmemory-policy noeviction`, a full Redis refuses changes and loses nothing.
 *
 * Each method is one script, and so one atomic step, except on many tasks:
 *
 * - Reads and appends cost O(what is read or appended).
 * - Commits of different tasks that wait at the same time share a script, up to 64 of them or 1 Mi UTF-16 units. If Redis fails in
 *   the middle of it, those before are stored, and the store sends each again.
 * - A list or a count first indexes the live tasks that changed since the last one, and then costs O(what is found). With
 *   several conditions it examines the tasks that meet the narrowest one. After 500 tasks to index, 5,000 to examine, or
 *   4 MiB found, it continues in another step. It may miss tasks that change between steps.
 * - `renew`, `delete`, `heads` and `leaseCounts` process a thousand tasks in a step.
 * - At most 8 reads and 128 changes are sent before their replies; others wait in this process. Renewals of leases are sent
 *   at once, so they wait for no more than these.
 *
 * All keys share one hash tag: a cluster keeps the whole store on one of its masters. `keyPrefix` of the client comes before all
 * keys and channels.
 *
 * Methods reject with `STORE_FAILED` when an operator has to act: the store is not set up, a later release has set it up, or
 * the connection's user lacks a permission. They reject with the driver's error in all other cases.
 *
 * @example
 * const client = createClient({ url })
 * client.on('error', (error) => logger.error(error.message))
 * await client.connect()
 * const store = redisStore(client)
 * await store.migrate()
 * const tasks = new DurableTaskManager({ store })
 * @throws {TypeError} for a client of another package, and for an option that is unknown or has the wrong type.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  requireKnown(options, ['now', 'prefix', 'feedSize'], 'redisStore')
  const { now, prefix = 'a2a-tasks', feedSize } = options
  requireFunctions(options, ['now'])
  if (typeof prefix !== 'string' || !/^[^{}]+$/.test(prefix)) {
    throw new TypeError('"prefix" must be a text that is not empty and has no braces')
  }
  const time = (): string => (now === undefined ? '' : String(now()))
  if (feedSize !== undefined) requireWhole('feedSize', feedSize, 0)
  return new Store(toConnection(client), queueOf(client), `{${prefix}}`, time, feedSize)
}

/**
 * The most calls that a client sends before their replies. Redis runs them in their order, so they are what a renewal of
 * leases can wait for. A script that reads is short, and its reply is at most some megabytes. The limits are high enough for
 * a connection that is never idle.
 */
const LIMITS: CallLimits = { reads: 8, changes: 128, requests: Infinity, all: Infinity }

const queues = new WeakMap<object, CallQueue>()

/** The queue of all stores over this client, which share its connection. */
function queueOf(client: RedisClient): CallQueue {
  const queue = queues.get(client) ?? new CallQueue(() => LIMITS)
  queues.set(client, queue)
  return queue
}

/** The most tasks that one script receives. */
const BATCH = 1_000

/** A group is one script, for whose time Redis serves no other client: some milliseconds. */
const GROUPS: GroupLimits = { members: 64, size: 1_048_576, groups: 2 }

/** A commit, with the texts that its script takes. */
interface WrittenCommit extends Member {
  readonly texts: readonly string[]
}

class Store implements RedisStore {
  #wasSetUp = false
  readonly hints: StoreHints
  readonly #scripts: Scripts
  readonly #queue: CallQueue
  /** Returns an empty text for the clock of Redis. */
  readonly #now: () => string
  readonly #feedSize: number | undefined
  readonly #groups: Groups<WrittenCommit, CommitResult>
  readonly feed: RedisFeed | undefined

  constructor(
    connection: Connection,
    queue: CallQueue,
    root: string,
    now: () => string,
    feedSize: number | undefined,
  ) {
    this.hints = redisHints(connection, `${connection.channelPrefix}${root}:hints`)
    this.#scripts = new Scripts(connection, connection.keyPrefix + root)
    this.#queue = queue
    this.#now = now
    this.#feedSize = feedSize
    const send = async (members: readonly WrittenCommit[]): Promise<readonly CommitResult[]> => {
      const args = members.flatMap((member) => [member.texts.length, ...member.texts])
      // The script returns only results of this type.
      return texts(await this.#run('commit', COMMIT, args)) as CommitResult[]
    }
    this.#groups = new Groups(GROUPS, { send, mayBeOfOne: isReply })
    if (feedSize === undefined || feedSize === 0) return
    this.feed = new RedisFeed(feedSize, (...given) => this.#run('feed', ...given))
  }

  async migrate(): Promise<void> {
    await refuseEviction(this.#scripts)
    await migrateLayout(this.#scripts)
    if (this.#feedSize !== undefined) await this.#run('feed', SET_UP_FEED, [this.#feedSize > 0 ? 1 : 0])
  }

  async create({ task, events, head, commitId, lease }: Creation): Promise<boolean> {
    const texts = [
      ...['created', head.createdAt, ...changedFields(head), 'whole', head.generation],
      ...['skill', task.skill, 'context', task.contextId],
      ...(task.owner === undefined ? [] : ['owner', task.owner]),
    ]
    const granted =
      lease === undefined || head.hasEnded ? ['', '', ''] : [lease.id, noteOf(lease), lease.ttlMs]
    const known = [head.id, commitId, toText(task), this.#now(), ...granted]
    return isOne(await this.#run('create', CREATE, [...known, texts.length, ...texts, ...entries(events)]))
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const { key, expectedGeneration, events, head, checkpoint, commitId, leaseId = '', expires = '' } = commit
    const written = [
      ...[key.id, key.createdAt, `${expectedGeneration}`, commitId, leaseId],
      ...[head.state, head.hasEnded ? '1' : '0', head.updatedAt, `${head.generation}`],
      ...[checkpoint === undefined ? '' : toText(checkpoint), expires, ...entries(events)],
    ]
    return await this.#groups.commit({ taskId: key.id, commitId, size: sizeOf(written), texts: written })
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    const reply = await this.#run('get', GET, [taskId])
    return reply === null ? undefined : toStored(reply)
  }

  async heads(taskIds: readonly string[]): Promise<readonly (TaskKey & { readonly generation: number })[]> {
    const batches = inBatches([...new Set(taskIds)])
    return (await Promise.all(batches.map((ids) => this.#run('heads', HEADS, ids)))).flatMap(toHeads)
  }

  async events(key: TaskKey, after: number, limit: number): Promise<readonly StoredEvent[]> {
    if (limit <= 0) return []
    return toEvents(texts(await this.#run('events', EVENTS, [key.id, key.createdAt, after + 1, limit])))
  }

  async list({ after, limit, ...filter }: StoreQuery): Promise<readonly StoredTask[]> {
    const tasks: StoredTask[] = []
    let cursor: string | undefined = after === undefined ? '' : `${after.updatedAt}${after.id}`
    while (cursor !== undefined && tasks.length < limit) {
      const args = [cursor, filter.updatedSince ?? '', limit - tasks.length, ...indexes(filter)]
      const [found, next] = toPage(await this.#run('list', LIST, args))
      tasks.push(...items(found).map(toStored))
      cursor = next
    }
    return tasks
  }

  async count(filter: StoreFilter): Promise<number> {
    let count = 0
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const args = [cursor, filter.updatedSince ?? '', ...indexes(filter)]
      const [found, next] = toPage(await this.#run('count', COUNT, args))
      count += Number(found)
      cursor = next
    }
    return count
  }

  async unended(createdBefore: string, limit: number): Promise<readonly TaskKey[]> {
    return limit <= 0 ? [] : toKeys(await this.#run('unended', UNENDED, [createdBefore, limit]))
  }

  async ended(query: EndedQuery): Promise<readonly TaskKey[]> {
    const { state, limit } = query
    if (limit <= 0) return []
    const reply =
      'beyond' in query
        ? await this.#run('ended', ENDED_BEYOND, [state, query.beyond, query.beyond + limit - 1])
        : await this.#run('ended', ENDED_BEFORE, [state, query.updatedBefore, limit])
    return toKeys(reply)
  }

  async delete(keys: readonly DeletionKey[]): Promise<readonly TaskKey[]> {
    const deleted: TaskKey[] = []
    for (const batch of inBatches(keys)) {
      const args = batch.flatMap(({ id, createdAt, expectedGeneration = '' }) => [
        id,
        createdAt,
        expectedGeneration,
      ])
      deleted.push(...toKeys(await this.#run('delete', DELETE, args)))
    }
    return deleted
  }

  async acquire(key: TaskKey, lease: Lease): Promise<Grant | undefined> {
    const args = [this.#now(), key.id, key.createdAt, lease.id, noteOf(lease), lease.ttlMs]
    return toGrant(await this.#run('acquire', ACQUIRE, args))
  }

  async renew(
    leases: readonly { readonly key: TaskKey; readonly id: string }[],
    ttlMs: number,
  ): Promise<readonly string[]> {
    const batches = inBatches(leases).map((batch) =>
      this.#run('renew', RENEW, [
        ...[this.#now(), ttlMs],
        ...batch.flatMap(({ key, id }) => [key.id, key.createdAt, id]),
      ]),
    )
    return (await Promise.all(batches)).flatMap(texts)
  }

  async release(key: TaskKey, leaseId: string, expectedGeneration?: number, next?: Lease): Promise<boolean> {
    const args = [this.#now(), key.id, key.createdAt, leaseId, expectedGeneration ?? '']
    const lease = next === undefined ? [] : [next.id, noteOf(next), next.ttlMs]
    return isOne(await this.#run('release', RELEASE, [...args, ...lease]))
  }

  async orphans(limit: number): Promise<readonly Orphan[]> {
    return limit <= 0 ? [] : toOrphans(await this.#run('orphans', ORPHANS, [this.#now(), limit]))
  }

  async leaseCounts(limit: number): Promise<LeaseCounts> {
    let counts: LeaseCounts = { expired: 0, oldestMs: 0, held: 0 }
    for (let seen = 0, isOver = false; !isOver;) {
      const size = Math.min(BATCH, limit - seen)
      const reply = await this.#run('leaseCounts', LEASE_COUNTS, [this.#now(), limit, seen, size])
      const [expired = 0, oldestMs = 0, held = 0, looked = 0] = items(reply).map(Number)
      counts = { expired, oldestMs, held: counts.held + held }
      seen += looked
      isOver = looked < size || seen >= limit
    }
    return counts
  }

  async putDocument(
    { key, kind, id, value }: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean> {
    const documentKey = [key.id, key.createdAt, kind, id]
    const args = [
      ...documentKey,
      expectedVersion,
      expectedVersion + 1,
      platformCrypto().randomUUID(),
      toText(value),
    ]
    return isOne(await this.#run('putDocument', PUT_DOCUMENT, args))
  }

  async deleteDocument({ key, kind, id }: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean> {
    return isOne(await this.#run('deleteDocument', DELETE_DOCUMENT, [key.id, key.createdAt, kind, id]))
  }

  async documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]> {
    return toDocuments(await this.#run('documents', DOCUMENTS, [key.id, key.createdAt, kind]), key, kind)
  }

  async allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]> {
    if (limit <= 0) return []
    const cursor = after === undefined ? [] : [after.taskId, after.createdAt, after.id]
    return toAllDocuments(await this.#run('allDocuments', ALL_DOCUMENTS, [kind, limit, ...cursor]), kind)
  }

  async #run(
    operation: keyof TaskStore,
    script: string,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    try {
      const answer = await this.#queue.run(operation, () => this.#scripts.run(script, args))
      this.#wasSetUp = true
      return answer
    } catch (error) {
      // A replica that has not synchronized yet is empty for a moment.
      throw this.#wasSetUp && isEmpty(error) ? error : toStoreError(error, operation)
    }
  }
}

/** The fields of the task's hash that a commit changes. */
function changedFields({ generation, state, hasEnded, updatedAt }: TaskHead): (string | number)[] {
  return ['generation', generation, 'state', state, 'ended', hasEnded ? 1 : 0, 'updated', updatedAt]
}

function entries(events: readonly StoredEvent[]): string[] {
  return events.flatMap((event) => [`${event.generation}`, toText(event)])
}

function noteOf({ note }: Lease): string {
  return note === undefined ? '' : toText(note)
}

/** The indexes of the tasks that meet each condition, or the index of all tasks when there is no condition. */
function indexes({ state, skill, contextId, owner }: StoreFilter): string[] {
  const named = [
    ...(state === undefined ? [] : [`state:${state}`]),
    ...(skill === undefined ? [] : [`skill:${skill}`]),
    ...(contextId === undefined ? [] : [`context:${contextId}`]),
    ...(owner === undefined ? [] : [owner === null ? 'unowned' : `owner:${owner}`]),
  ]
  return named.length === 0 ? ['all'] : named
}

function inBatches<T>(all: readonly T[]): T[][] {
  const count = Math.ceil(all.length / BATCH)
  return Array.from({ length: count }, (_, index) => all.slice(index * BATCH, (index + 1) * BATCH))
}

function isOne(reply: unknown): boolean {
  return Number(reply) === 1
}
