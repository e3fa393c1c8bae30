/**
 * A way to a store that a process loses when it crashes.
 *
 * @module
 */
import type { StoredEvent } from '../../durable/stored-events.js'
import type { StoreHints, TaskStore, Transaction, TransactionResult } from '../../durable/task-store.js'

/** A moment at which a process crashes: before its n-th write reaches the store, or after the store has done it. */
export interface CrashPoint {
  readonly n: number
  /** Counts all writes, or those that add to the journal of the task. */
  readonly of: 'writes' | 'entries'
  readonly when: 'before' | 'after'
}

/** The store as a process sees it, until the process crashes. Then no call has an effect, and none resolves. */
export class CrashingStore {
  readonly asStore: TaskStore
  readonly #store: TaskStore
  readonly #point: CrashPoint | undefined
  readonly #onEvents: (events: readonly StoredEvent[]) => void
  readonly #crashed: Promise<void>
  #crash: () => void = () => undefined
  #writes = 0
  #entries = 0
  #isCrashed = false
  #calls = 0

  /** @param onEvents - Receives the events of each write once the store has them. */
  constructor(
    store: TaskStore,
    point: CrashPoint | undefined,
    onEvents: (events: readonly StoredEvent[]) => void,
  ) {
    this.#store = store
    this.#point = point
    this.#onEvents = onEvents
    this.#crashed = new Promise((resolve) => (this.#crash = resolve))
    this.asStore = new Proxy(store, { get: (target, name) => this.#property(target, name) })
  }

  get isCrashed(): boolean {
    return this.#isCrashed
  }

  /** Whether calls are under way, those of a process that has crashed included: the store may yet do them. */
  get isBusy(): boolean {
    return this.#calls > 0
  }

  /** How often the process has written. */
  get writes(): number {
    return this.#writes
  }

  /** The result of `work`, or `undefined` if the process crashes before. */
  survive<T>(work: Promise<T>): Promise<T | undefined> {
    return Promise.race([work, this.#crashed.then(() => undefined)])
  }

  #property(target: TaskStore, name: string | symbol): unknown {
    if (name === 'create')
      return (creation: Parameters<TaskStore['create']>[0]) =>
        this.#write(creation.events, () => target.create(creation))
    if (name === 'commit')
      return (commit: Parameters<TaskStore['commit']>[0]) =>
        this.#write(commit.events, () => target.commit(commit))
    if (name === 'transact' && target.transact !== undefined)
      return (transaction: Transaction) => this.#transact(target, transaction)
    if (name === 'hints') return target.hints && this.#hintsOf(target.hints)
    const value: unknown = Reflect.get(target, name)
    if (typeof value !== 'function') return value
    return (...given: unknown[]): unknown =>
      this.#isCrashed ? never() : this.#untilCrash(Reflect.apply(value, target, given))
  }

  async #write<T>(events: readonly StoredEvent[], work: () => Promise<T>): Promise<T> {
    if (this.#isCrashed) return await never()
    const crash = this.#crashAt(events)
    if (crash === 'before') return await this.#end()
    const result = await this.#counted(work())
    // Also after a crash: the store has them.
    if (result === true || result === 'committed') this.#onEvents(events)
    return crash === 'after' ? await this.#end() : await this.#untilCrash(result)
  }

  /** A crash before the write is one after the work: the database undoes it. */
  async #transact(target: TaskStore, transaction: Transaction): Promise<TransactionResult> {
    if (this.#isCrashed || target.transact === undefined) return await never()
    let events: readonly StoredEvent[] = []
    let crash: CrashPoint['when'] | undefined
    const keep = (made: typeof events): typeof events => {
      crash = this.#crashAt(made)
      if (crash !== 'before') return (events = made)
      void this.#end()
      throw new Error('The process has crashed')
    }
    const work: Transaction['work'] = (client) => {
      const made = transaction.work(client)
      return made instanceof Promise ? made.then(keep) : keep(made)
    }
    const result = await this.#counted(target.transact({ ...transaction, work }))
    if (result === 'committed') this.#onEvents(events)
    return crash === 'after' ? await this.#end() : await this.#untilCrash(result)
  }

  /** Counts a write. Returns whether the process crashes before or after it. */
  #crashAt(events: readonly StoredEvent[]): CrashPoint['when'] | undefined {
    this.#writes += 1
    if (events.some((event) => event.type === 'history' && isProgress(event))) this.#entries += 1
    const { n, of, when } = this.#point ?? {}
    return n === (of === 'writes' ? this.#writes : this.#entries) ? when : undefined
  }

  /** A result that arrives after the crash is not seen. */
  async #untilCrash<T>(result: T): Promise<Awaited<T>> {
    const value = await this.#counted(result)
    return this.#isCrashed ? await never() : value
  }

  async #counted<T>(result: T): Promise<Awaited<T>> {
    this.#calls += 1
    try {
      return await result
    } finally {
      this.#calls -= 1
    }
  }

  #hintsOf(hints: StoreHints): StoreHints {
    return {
      publish: (given) => (this.#isCrashed ? never() : hints.publish(given)),
      listen: (onHint, onGap, signal) =>
        hints.listen(
          (hint) => {
            if (!this.#isCrashed) onHint(hint)
          },
          () => {
            if (!this.#isCrashed) onGap()
          },
          signal,
        ),
    }
  }

  #end(): Promise<never> {
    this.#isCrashed = true
    this.#crash()
    return never()
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** What the work of a step spends, and is granted, gets no process further. */
function isProgress({ entry }: Extract<StoredEvent, { type: 'history' }>): boolean {
  return entry.kind !== 'grant' && !(entry.kind === 'spend' && 'step' in entry)
}
