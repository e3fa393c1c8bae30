/**
 * Webhooks as documents beside their tasks.
 *
 * Each task has one document with all its configurations, so that every change of them is atomic, and one document per
 * webhook for the progress of its delivery, which exists while there may be more to deliver.
 *
 * @module
 */
import { allDocuments } from '../../runtime/all-documents.js'
import type { TaskDocument, TaskDocuments } from '../../core/managers.js'
import { taskNotFound } from '../../core/errors.js'
import type { JsonValue } from '../../core/json-types.js'
import type { TaskKey } from '../../core/task.js'
import { WEBHOOK_OUTBOX, WEBHOOKS } from '../../runtime/document-kinds.js'
import type { TraceHeaders } from '../../runtime/trace-headers.js'
import { unavailable } from '../unavailable.js'
import type { Listed } from './listing.js'
import type { PushFailure } from './webhook.js'

/** A configuration as it is stored. */
export interface Registration extends Listed {
  /** The id of the document with its {@link Progress}; a new one when the configuration is replaced. */
  readonly outbox: string
  /** How many notifications have arrived; set once all have. The name is a part of the stored format. */
  readonly told?: number
  /** The trace in which it was registered. */
  readonly trace?: TraceHeaders
}

interface Configurations {
  /** The latest is the last. */
  readonly list: readonly Registration[]
  /** The number of the next registration. */
  readonly next: number
}

/** How far the delivery to a webhook has come. */
export interface Progress {
  /** The generation of the last notification that has arrived. */
  readonly cursor: number | null
  readonly delivered: number
  /** How often the notification after it was sent. */
  readonly attempts: number
  readonly failure: PushFailure | null
  readonly state: 'active' | 'disabled'
  /** The process that delivers, and until when no other process does, in ms since the epoch. */
  readonly claim: { readonly by: string; readonly until: number } | null
}

/** The content of a document, and how often it has been written. */
interface Versioned<T> {
  readonly value: T
  readonly version: number
}

export type StoredProgress = Versioned<Progress> & { readonly key: TaskKey; readonly outbox: string }
type StoredConfigurations = Versioned<Configurations> & { readonly key: TaskKey }

/** The id of the only document of its kind that a task has. */
const ALL = 'configurations'
const NONE: Versioned<Configurations> = { value: { list: [], next: 1 }, version: 0 }
const PAGE = 500
/** How many conflicting changes are tolerated before one gives up. */
const MAX_ROUNDS = 50

/** The outcome of a decision about configurations; without `changed` nothing is written. */
interface Change<T> {
  readonly result: T
  readonly changed?: Configurations
}

/** Reads and writes the documents of webhooks. Over a store, methods reject with `STORE_FAILED`. */
export class PushStorage {
  readonly #documents: TaskDocuments
  readonly #pageSize: number

  /** @param isShared - Whether the documents are in a store, and not in memory. */
  constructor(documents: TaskDocuments, isShared: boolean) {
    this.#documents = documents
    // In memory all are read at once: no task can go between two pages.
    this.#pageSize = isShared ? PAGE : Infinity
  }

  async configurations(key: TaskKey): Promise<Versioned<Configurations>> {
    const [found] = await this.#documents.documents(key, WEBHOOKS)
    return found === undefined ? NONE : toConfigurations(found)
  }

  /**
   * Changes the configurations of a task atomically.
   *
   * @param decide - Called again after a conflict with another change.
   * @throws {A2AError} As a rejection: what `decide` throws; `TASK_NOT_FOUND`; `UNAVAILABLE` after too many conflicts.
   */
  async change<T>(key: TaskKey, decide: (present: Configurations) => Promise<Change<T>>): Promise<T> {
    let refused: number | undefined
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const { value, version } = await this.configurations(key)
      // Refused at the version that is still current: not by a conflict, so the task is gone.
      if (version === refused) throw taskNotFound(key.id)
      const { result, changed } = await decide(value)
      if (changed === undefined) return result
      if (await this.#documents.putDocument(documentOf(key, WEBHOOKS, ALL, changed), version)) return result
      refused = version
    }
    throw unavailable('is changing the webhooks of this task')
  }

  /** The progress of the webhooks of one task, by {@link Registration.outbox}. */
  async outboxes(key: TaskKey): Promise<ReadonlyMap<string, StoredProgress>> {
    const found = await this.#documents.documents(key, WEBHOOK_OUTBOX)
    return new Map(found.map((document) => [document.id, toProgress(document)]))
  }

  /** Resolves to `false` when the document is not at `version`, unless this write was stored and the answer lost. */
  async putOutbox(key: TaskKey, outbox: string, value: Progress, version: number): Promise<boolean> {
    if (await this.#documents.putDocument(documentOf(key, WEBHOOK_OUTBOX, outbox, value), version))
      return true
    const found = (await this.outboxes(key)).get(outbox)
    const isClaimed = value.claim !== null && found?.value.claim?.by === value.claim.by
    return isClaimed && found.version === version + 1
  }

  async deleteOutbox(key: TaskKey, outbox: string): Promise<void> {
    await this.#documents.deleteDocument({ key, kind: WEBHOOK_OUTBOX, id: outbox })
  }

  async *allOutboxes(): AsyncGenerator<StoredProgress> {
    const all = allDocuments(this.#documents, WEBHOOK_OUTBOX, this.#pageSize)
    for await (const document of all) yield toProgress(document)
  }

  async *allConfigurations(): AsyncGenerator<StoredConfigurations> {
    const all = allDocuments(this.#documents, WEBHOOKS, this.#pageSize)
    for await (const document of all) yield toConfigurations(document)
  }
}

function documentOf(
  key: TaskKey,
  kind: string,
  id: string,
  value: Configurations | Progress,
): Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'> {
  // Both are JSON, in which properties that are `undefined` are left out.
  return { key, kind, id, value: value as unknown as JsonValue }
}

function toConfigurations({ key, value, version }: TaskDocument): StoredConfigurations {
  // Only `documentOf` writes documents of this kind.
  return { key, version, value: value as unknown as Configurations }
}

function toProgress({ key, id, value, version }: TaskDocument): StoredProgress {
  // Only `documentOf` writes documents of this kind.
  return { key, outbox: id, version, value: value as unknown as Progress }
}
