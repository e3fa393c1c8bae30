/**
 * The delivery to one webhook by this process, with its stored progress.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { elapsed, type Clock } from '../../runtime/clock.js'
import type { TaskKey } from '../../core/task.js'
import type { PushAttempt } from './attempts.js'
import type { PushStorage, Registration, StoredProgress, Progress } from './storage.js'
import type { NotificationReader, TaskNotification } from './notifications.js'
import { Outbox, type OutboxContext, type OutboxRecord } from './outbox.js'
import type { TaskPayloads } from './payloads.js'
import type { PushFailure } from './webhook.js'

/** How long a claim on a webhook lasts, in ms. */
export const CLAIM_MS = 30_000
const RENEWAL_MS = CLAIM_MS / 3
/** A claim that was confirmed within this time, in ms, is not checked again: a webhook deleted elsewhere stops after it. */
const CERTAIN_MS = 1_000

interface DeliveryContext {
  readonly storage: PushStorage
  readonly clock: Clock
  /** The id of this process in claims. */
  readonly by: string
  readonly key: TaskKey
  readonly registration: Registration
  /** Whether other processes may continue this delivery. */
  readonly isShared: boolean
  readonly onDisabled: (failure: PushFailure) => void
  readonly onError: (error: unknown) => void
  /** Called when the stored progress was removed, or claimed by another process. */
  readonly onLost: (isBusy: boolean) => void
  /** Called after each request. */
  readonly onSent: (attempt: PushAttempt) => void
}

/** The parts of an {@link OutboxContext} that the delivery does not supply itself. */
type OutboxParts = Pick<
  OutboxContext,
  'settings' | 'observers' | 'limit' | 'firstDeliveries' | 'isOfNewTask' | 'owner' | 'dialect' | 'payloads'
> & {
  /** Opens the task's log after the generation `after`, or at the start if nothing has been delivered. */
  readonly read: (turn: (() => Promise<void>) | undefined, after: number | undefined) => NotificationReader
}

/** Stores progress one write at a time: changes during a write are combined in the next one. */
export class Delivery implements OutboxRecord {
  readonly begun: OutboxRecord['begun']
  readonly outbox: Outbox
  readonly key: TaskKey
  readonly registration: Registration
  readonly payloads: TaskPayloads | undefined
  /** Resolves when nothing more will be sent from here and the storage reflects that. */
  readonly ended: Promise<void>
  readonly #context: DeliveryContext
  #version: number
  #cursor: number | null
  /** When the claim was last confirmed. */
  #confirmedAt: number
  #isDirty = false
  #writing: Promise<void> | undefined
  /** What the last write stores, unless everything was delivered. */
  #last: Progress | undefined
  #isLost = false
  #isReleased = false
  #isClosing = false

  /** `progress` is what the storage has, claimed by this process. */
  constructor(
    context: DeliveryContext,
    { read, ...parts }: OutboxParts,
    { value, version }: Pick<StoredProgress, 'value' | 'version'>,
  ) {
    this.#context = context
    this.#version = version
    this.#confirmedAt = this.#now()
    const { cursor, delivered, attempts, failure } = value
    this.#cursor = cursor
    this.begun = { delivered, attempts, failure: failure ?? undefined }
    const { key, registration, onError } = context
    this.key = key
    this.registration = registration
    this.payloads = parts.payloads
    this.outbox = new Outbox({
      ...parts,
      taskId: key.id,
      config: registration.config,
      trace: registration.trace,
      record: this,
      onFault: onError,
      read: (turn) => read(turn, this.#cursor ?? undefined),
      onDisabled: (failure) => this.#onDisabled(failure),
    })
    this.ended = this.outbox.ended.then(() => this.#end())
  }

  /** The generation of the last notification that has arrived; `null` before the first. */
  get cursor(): number | null {
    return this.#cursor
  }

  /** Whether nothing more is sent from here, or will not be soon. */
  get isEnding(): boolean {
    return this.#last !== undefined || this.#isLost || this.outbox.state === 'done'
  }

  async isHeld(): Promise<boolean> {
    if (!this.#context.isShared || this.#now() - this.#confirmedAt > CERTAIN_MS) await this.#write()
    return !this.#isLost
  }

  onAttempt(arrived: TaskNotification | undefined): void {
    if (arrived !== undefined) this.#cursor = arrived.generation
    else if (this.#isClosing && this.#context.isShared) this.giveUp()
    void this.#write()
  }

  onSent(attempt: PushAttempt): void {
    this.#context.onSent(attempt)
  }

  /** Renews the claim, if nothing has been written for a while. */
  renew(): void {
    if (this.#now() - this.#confirmedAt >= RENEWAL_MS) void this.#write()
  }

  /** Delivers what has happened so far. A webhook that fails is left to other processes, if there are any. */
  close(): void {
    this.#isClosing = true
    if (this.#context.isShared && this.outbox.state === 'retrying') this.giveUp()
    else this.outbox.close()
  }

  /** Stops, and leaves the rest to other processes. */
  giveUp(): void {
    this.#last ??= { ...this.#progress(), claim: null }
    this.outbox.stop()
  }

  /** Stops without storing anything: the configuration was deleted. */
  stop(): void {
    this.#isLost = true
    this.outbox.stop()
  }

  /** The task ended and was then removed, its documents with it: the rest of its events is delivered from memory. */
  release(): void {
    this.#isReleased = true
    this.outbox.release()
  }

  #onDisabled(failure: PushFailure): void {
    this.#context.onDisabled(failure)
    if (this.#context.isShared) {
      this.#last = { ...this.#progress(), state: 'disabled', failure, claim: null }
      // The process that enables it again may be another one.
      this.outbox.stop()
    } else {
      void this.#write()
    }
  }

  #progress(): Progress {
    const { by, clock } = this.#context
    const { delivered, attempts, failure, state } = this.outbox
    return {
      cursor: this.#cursor,
      delivered,
      attempts,
      failure: failure ?? null,
      state: state === 'disabled' ? state : 'active',
      claim: { by, until: clock.now() + CLAIM_MS },
    }
  }

  #write(): Promise<void> {
    this.#isDirty = true
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#isDirty && !this.#isLost && !this.#isReleased && this.#last === undefined) {
        this.#isDirty = false
        const startedAt = this.#now()
        if (await this.#put(this.#progress())) this.#confirmedAt = startedAt
        else this.#lose()
      }
    } catch (error) {
      this.#context.onError(error)
      // When the claim has run out, a process that reaches the store takes the delivery over.
      this.stop()
    }
  }

  #lose(): void {
    if (this.#isLost || this.#isReleased) return
    const { isBusy } = this.outbox
    this.stop()
    this.#context.onLost(isBusy)
  }

  async #put(progress: Progress): Promise<boolean> {
    const { storage } = this.#context
    const isStored = await storage.putOutbox(this.key, this.registration.outbox, progress, this.#version)
    if (isStored) this.#version += 1
    return isStored
  }

  async #end(): Promise<void> {
    const { outbox } = this
    const { isShared, onError } = this.#context
    const last = this.#last ?? { ...this.#progress(), claim: null }
    this.#last = last
    await this.#writing
    if (this.#isLost || this.#isReleased) return
    try {
      if (outbox.isComplete) await this.#complete(outbox.delivered)
      // In memory no other process continues: its health shows how the delivery has ended.
      else await this.#put(isShared ? last : { ...this.#progress(), claim: null })
    } catch (error) {
      // The progress is removed with its task.
      if (!A2AError.is(error, 'TASK_NOT_FOUND')) onError(error)
    }
  }

  /** Records in the configuration that everything was delivered. */
  async #complete(delivered: number): Promise<void> {
    const { key, registration } = this
    const { storage } = this.#context
    await storage.change(key, ({ list, next }) => {
      const isThere = list.some(({ outbox, told }) => outbox === registration.outbox && told === undefined)
      const done = list.map((one) => (one.outbox === registration.outbox ? { ...one, told: delivered } : one))
      return Promise.resolve({ result: undefined, ...(isThere && { changed: { list: done, next } }) })
    })
    await storage.deleteOutbox(key, registration.outbox)
  }

  #now(): number {
    return elapsed(this.#context.clock)
  }
}
