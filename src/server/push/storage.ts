/**
 * Webhooks in the store of their tasks. A task has one document with all its configurations, so that each change of
 * them is one step, and one beside it for each webhook that there is something to tell.
 *
 * @module
 */
import { taskNotFound } from '../../core/errors.js'
import type { TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { unavailable } from '../unavailable.js'
import type { DocumentCursor, TaskDocument, TaskDocuments } from '../../core/documents.js'
import type { Listed } from './listing.js'
import type { PushFailure } from './webhook.js'

/** A configuration as it is stored. */
export interface Registration extends Listed {
  /** The id of its {@link Progress}: another one when the configuration is replaced. */
  readonly outbox: string
  /** How many notifications have arrived, once all have. */
  readonly told?: number
}

interface Configurations {
  /** The latest is the last. */
  readonly list: readonly Registration[]
  /** The number of the one that comes next. */
  readonly next: number
}

/** How far a webhook was told of its task: there while there may be more to tell. */
export interface Progress {
  /** The generation of the last notification that has arrived. */
  readonly cursor: number | null
  readonly delivered: number
  /** How often the one after it was sent. */
  readonly attempts: number
  readonly failure: PushFailure | null
  readonly state: 'active' | 'disabled'
  /** Who tells it, and until when nobody else does, in ms since 1970. */
  readonly claim: { readonly by: string; readonly until: number } | null
}

/** What a document holds, and how often it has been written. */
interface Versioned<T> {
  readonly value: T
  readonly version: number
}

export type StoredProgress = Versioned<Progress> & { readonly key: TaskKey; readonly outbox: string }
type StoredConfigurations = Versioned<Configurations> & { readonly key: TaskKey }

const CONFIGURATIONS = 'push'
/** The only one of its kind that a task has. */
const ALL = 'configurations'
const OUTBOX = 'push-outbox'
const NONE: Versioned<Configurations> = { value: { list: [], next: 1 }, version: 0 }
const PAGE = 500
/** How often somebody else may be faster. */
const MAX_ROUNDS = 50

/** What becomes of configurations: nothing, where they are not `changed`. */
interface Change<T> {
  readonly result: T
  readonly changed?: Configurations
}

/** Methods reject with `STORE_FAILED`. */
export class PushDocuments {
  readonly #documents: TaskDocuments

  constructor(documents: TaskDocuments) {
    this.#documents = documents
  }

  async configurations(key: TaskKey): Promise<Versioned<Configurations>> {
    const [found] = await this.#documents.documents(key, CONFIGURATIONS)
    return found === undefined ? NONE : toConfigurations(found)
  }

  /**
   * Changes the configurations of a task.
   *
   * @param decide - May be asked again, where others come first.
   * @throws {A2AError} As a rejection, what `decide` throws; `TASK_NOT_FOUND`; `UNAVAILABLE`.
   */
  async change<T>(key: TaskKey, decide: (present: Configurations) => Promise<Change<T>>): Promise<T> {
    let refused: number | undefined
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const { value, version } = await this.configurations(key)
      // It was not refused because somebody else was faster.
      if (version === refused) throw taskNotFound(key.id)
      const { result, changed } = await decide(value)
      if (changed === undefined) return result
      if (await this.#documents.putDocument(documentOf(key, CONFIGURATIONS, ALL, changed), version))
        return result
      refused = version
    }
    throw unavailable('is changing the webhooks of this task')
  }

  /** Of one task, by the ids of their registrations. */
  async outboxes(key: TaskKey): Promise<ReadonlyMap<string, StoredProgress>> {
    const found = await this.#documents.documents(key, OUTBOX)
    return new Map(found.map((document) => [document.id, toProgress(document)]))
  }

  /** `false` when it is not at `version`, or is gone, and what is there is not this writer's. */
  async putOutbox(key: TaskKey, outbox: string, value: Progress, version: number): Promise<boolean> {
    if (await this.#documents.putDocument(documentOf(key, OUTBOX, outbox, value), version)) return true
    // It may have been put, and the store's answer lost.
    const found = (await this.outboxes(key)).get(outbox)
    const isClaimed = value.claim !== null && found?.value.claim?.by === value.claim.by
    return isClaimed && found.version === version + 1
  }

  async deleteOutbox(key: TaskKey, outbox: string): Promise<void> {
    await this.#documents.deleteDocument({ key, kind: OUTBOX, id: outbox })
  }

  async *allOutboxes(): AsyncGenerator<StoredProgress> {
    for await (const document of this.#all(OUTBOX)) yield toProgress(document)
  }

  async *allConfigurations(): AsyncGenerator<StoredConfigurations> {
    for await (const document of this.#all(CONFIGURATIONS)) yield toConfigurations(document)
  }

  async *#all(kind: string): AsyncGenerator<TaskDocument> {
    let after: DocumentCursor | undefined
    do {
      const page: readonly TaskDocument[] = await this.#documents.allDocuments(kind, after, PAGE)
      yield* page
      const last = page.length < PAGE ? undefined : page.at(-1)
      after = last && { taskId: last.key.id, createdAt: last.key.createdAt, id: last.id }
    } while (after !== undefined)
  }
}

function documentOf(
  key: TaskKey,
  kind: string,
  id: string,
  value: Configurations | Progress,
): Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'> {
  // Both are JSON: what is absent in them is left out.
  return { key, kind, id, value: value as unknown as JsonValue }
}

function toConfigurations({ key, value, version }: TaskDocument): StoredConfigurations {
  // It went in as such.
  return { key, version, value: value as unknown as Configurations }
}

function toProgress({ key, id, value, version }: TaskDocument): StoredProgress {
  // It went in as such.
  return { key, outbox: id, version, value: value as unknown as Progress }
}
