/**
 * One webhook that this process tells, of those that any process could.
 *
 * @module
 */
import { elapsed, type Clock } from '../../runtime/clock.js'
import { A2AError } from '../../core/errors.js'
import type { TaskKey } from '../../core/task.js'
import type { Progress, PushDocuments, Registration } from './storage.js'
import { Outbox, type OutboxClaim, type OutboxContext } from './outbox.js'
import type { Happening } from './notifications.js'
import type { TaskTexts } from './payloads.js'
import type { PushFailure } from './webhook.js'

/** For how long a webhook is claimed, in ms. */
export const CLAIM_MS = 30_000
const RENEWAL_MS = CLAIM_MS / 3
/** For how long, in ms, a claim that was seen is taken for granted: what others delete is told no longer than that. */
const CERTAIN_MS = 1_000

interface DeliveryContext {
  readonly documents: PushDocuments
  readonly clock: Clock
  /** This process, among those that claim webhooks. */
  readonly by: string
  readonly key: TaskKey
  readonly registration: Registration
  readonly onDisabled: (failure: PushFailure) => void
  readonly onError: (error: unknown) => void
  /** Is told when the webhook is another's, or nobody's, by now. `isBusy`: there was something to tell. */
  readonly onLost: (isBusy: boolean) => void
}

type Shared = 'config' | 'taskId' | 'onDisabled' | 'onFault' | 'onEnd' | 'claim' | 'read'

/** What an {@link Outbox} is made of, beside what is the delivery's. */
type OutboxParts = Omit<OutboxContext, Shared> & {
  /** Reads the task's events, after the generation `told`, if any was. */
  readonly read: (
    turn: (() => Promise<void>) | undefined,
    told: number | undefined,
  ) => ReturnType<OutboxContext['read']>
}

/** Keeps the store informed, one write at a time: what happens while one is on its way goes together in the next. */
export class Delivery implements OutboxClaim {
  readonly begun: OutboxClaim['begun']
  readonly outbox: Outbox
  readonly key: TaskKey
  readonly registration: Registration
  /** As in the {@link Outbox}. */
  readonly texts: TaskTexts | undefined
  /** Resolves when nothing more will be sent from here, and the store knows. */
  readonly ended: Promise<void>
  readonly #context: DeliveryContext
  #version: number
  #cursor: number | null
  /** When the claim was last seen to hold. */
  #seenAt: number
  #isUnwritten = false
  #writing: Promise<void> | undefined
  /** What is stored last, where that is not that all is told. */
  #last: Progress | undefined
  #isLost = false
  #isClosing = false

  /** `progress`: as it is in the store, claimed by this process. */
  constructor(
    context: DeliveryContext,
    { read, ...parts }: OutboxParts,
    progress: Progress,
    version: number,
  ) {
    this.#context = context
    this.#version = version
    this.#seenAt = this.#now()
    const { cursor, delivered, attempts, failure } = progress
    this.#cursor = cursor
    this.begun = { delivered, attempts, failure: failure ?? undefined }
    const { key, registration, onError } = context
    this.key = key
    this.registration = registration
    this.texts = parts.texts
    this.outbox = new Outbox({
      ...{ ...parts, taskId: key.id, config: registration.config, claim: this, onFault: onError },
      read: (turn) => read(turn, this.#cursor ?? undefined),
      onDisabled: (failure) => {
        this.#last = { ...this.#progress(), state: 'disabled', failure, claim: null }
        context.onDisabled(failure)
        // Whoever enables it again may be another process.
        this.outbox.stop()
      },
    })
    this.ended = this.outbox.ended.then(() => this.#end())
  }

  /** Whether nothing more is sent from here, or is about to be. */
  get isEnding(): boolean {
    return this.#last !== undefined || this.#isLost || this.outbox.state === 'done'
  }

  async isHeld(): Promise<boolean> {
    if (this.#now() - this.#seenAt > CERTAIN_MS) await this.#write()
    return !this.#isLost
  }

  onAttempt(arrived: Happening | undefined): void {
    if (arrived !== undefined) this.#cursor = arrived.generation
    else if (this.#isClosing) this.giveBack()
    void this.#write()
  }

  /** While nothing happens. */
  renew(): void {
    if (this.#now() - this.#seenAt >= RENEWAL_MS) void this.#write()
  }

  /** Tells what has happened, unless the webhook is away: then the next one may try. */
  close(): void {
    this.#isClosing = true
    if (this.outbox.state === 'retrying') this.giveBack()
    else this.outbox.close()
  }

  /** Leaves the rest to other processes. */
  giveBack(): void {
    this.#last ??= { ...this.#progress(), claim: null }
    this.outbox.stop()
  }

  /** It was deleted here. */
  stop(): void {
    this.#isLost = true
    this.outbox.stop()
  }

  #progress(): Progress {
    const { by, clock } = this.#context
    const { delivered, attempts, failure } = this.outbox
    const claim = { by, until: clock.now() + CLAIM_MS }
    return { cursor: this.#cursor, delivered, attempts, failure: failure ?? null, state: 'active', claim }
  }

  #write(): Promise<void> {
    this.#isUnwritten = true
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#isUnwritten && !this.#isLost && this.#last === undefined) {
        this.#isUnwritten = false
        const startedAt = this.#now()
        if (await this.#put(this.#progress())) this.#seenAt = startedAt
        else this.#lose()
      }
    } catch (error) {
      this.#context.onError(error)
      // Whoever reaches the store when the claim has run out goes on with it.
      this.stop()
    }
  }

  /** It is another's, or was deleted elsewhere. */
  #lose(): void {
    if (this.#isLost) return
    const isBusy = ['delivering', 'retrying'].includes(this.outbox.state)
    this.stop()
    this.#context.onLost(isBusy)
  }

  async #put(progress: Progress): Promise<boolean> {
    const { key, registration } = this
    const { documents } = this.#context
    const isPut = await documents.putOutbox(key, registration.outbox, progress, this.#version)
    if (isPut) this.#version += 1
    return isPut
  }

  async #end(): Promise<void> {
    const { outbox } = this
    const last = this.#last ?? { ...this.#progress(), claim: null }
    this.#last = last
    await this.#writing
    if (this.#isLost) return
    try {
      if (outbox.isComplete) await this.#complete(outbox.delivered)
      else await this.#put(last)
    } catch (error) {
      // Its task has gone, and it with its task.
      if (!A2AError.is(error, 'TASK_NOT_FOUND')) this.#context.onError(error)
    }
  }

  /** All is told. */
  async #complete(told: number): Promise<void> {
    const { key, registration } = this
    const { documents } = this.#context
    await documents.change(key, ({ list, next }) => {
      const isThere = list.some(({ outbox, told }) => outbox === registration.outbox && told === undefined)
      const done = list.map((one) => (one.outbox === registration.outbox ? { ...one, told } : one))
      return Promise.resolve({ result: undefined, ...(isThere && { changed: { list: done, next } }) })
    })
    await documents.deleteOutbox(key, registration.outbox)
  }

  #now(): number {
    const { clock } = this.#context
    return elapsed(clock)
  }
}
