/**
 * The events of a task as notifications for one webhook.
 *
 * @module
 */
import type { ArtifactChanged, OutputChanged, TaskEvent, TaskStreamEvent } from '../../core/events.js'
import { apply, thawTask } from '../../core/evolve.js'
import type { TaskSubscription } from '../../core/subscription.js'
import type { Task, TaskSnapshot } from '../../core/task.js'
import type { StreamEntry } from '../../wire/dialect.js'
import { TaskStream } from '../streams/task-stream.js'
import { lastSeen, type ServedTasks } from '../tasks.js'

/** One notification, before it is encoded. */
export interface TaskNotification {
  readonly entry: StreamEntry
  /** The task at this generation, for dialects that send whole tasks. Valid until the next notification is read. */
  readonly task: TaskSnapshot | undefined
  readonly generation: number
}

/** Where a {@link NotificationReader} begins. Without either property it begins with the task as it is. */
export interface ReaderStart {
  /** The first notification: the task as it was when the webhook was registered. */
  readonly opening?: TaskSnapshot | undefined
  /**
   * The generation of the last notification that was delivered. Where whole tasks are sent, reading continues with the
   * task as it is.
   */
  readonly after?: number | undefined
}

/** A cursor into the log of one task. */
export class NotificationReader {
  readonly #tasks: ServedTasks
  readonly #id: string
  readonly #reader: WholeTaskReader | undefined
  readonly #stream: TaskStream
  /** Where whole tasks are sent: the generation that was delivered last, which is not sent again. */
  readonly #delivered: number | undefined
  #isReleased = false

  /**
   * @param turn - Where whole tasks are sent: waits until the task may be encoded. Artifacts that come during the wait
   *   go into one notification.
   * @throws {A2AError} `TASK_NOT_FOUND` when a `TaskManager` does not have the task any more.
   */
  constructor(
    tasks: ServedTasks,
    { id, contextId }: TaskSnapshot,
    turn: (() => Promise<void>) | undefined,
    { opening, after }: ReaderStart = {},
  ) {
    const cursor = opening?.generation ?? (turn === undefined ? after : undefined)
    this.#tasks = tasks
    this.#id = id
    this.#delivered = turn && after
    const events = tasks.subscribe(id, { after: cursor, keepAlive: false })
    this.#reader = turn && new WholeTaskReader(events, turn, () => this.#task()?.generation, opening)
    this.#stream = new TaskStream(this.#reader ?? events, {
      opening,
      contextId,
      historyLength: undefined,
      endsAtInput: false,
      onEnd: () => undefined,
      after: cursor,
      task: () => this.#task(),
    })
  }

  /** Waits for the next notification; resolves to `undefined` at the end. */
  async next(): Promise<TaskNotification | undefined> {
    for (;;) {
      const { value: entry } = await this.#stream.next()
      if (entry === undefined) return undefined
      const generation = generationOf(entry)
      if (generation !== this.#delivered) return { entry, task: this.#reader?.task, generation }
    }
  }

  /** The task was removed: from now on its id may be that of another task. */
  release(): void {
    this.#isReleased = true
  }

  /** Ends after all events so far have been read. */
  close(): void {
    this.#stream.close()
  }

  /** Ends at once, also while `next()` waits. */
  end(): void {
    void this.#stream.return()
  }

  #task(): TaskSnapshot | undefined {
    return this.#isReleased ? undefined : lastSeen(this.#tasks, this.#id)
  }
}

function generationOf(entry: StreamEntry): number {
  if (entry.type === 'task') return entry.task.generation
  // Streams of tasks have no replies.
  return entry.type === 'message' ? 0 : entry.event.generation
}

type Result = Awaited<ReturnType<TaskSubscription['next']>>

/** Applies each event that is read to a copy of the task: the cost is that of the event, not of the task. */
class WholeTaskReader implements TaskSubscription {
  readonly #events: TaskSubscription
  readonly #turn: () => Promise<void>
  /** The generation of the latest event; `undefined` when the task is gone. */
  readonly #latest: () => number | undefined
  #task: Task | undefined
  /** An event that was read already, and comes next. */
  #ahead: Result | undefined

  constructor(
    events: TaskSubscription,
    turn: () => Promise<void>,
    latest: () => number | undefined,
    opening: TaskSnapshot | undefined,
  ) {
    this.#events = events
    this.#turn = turn
    this.#latest = latest
    this.#task = opening && thawTask(opening)
  }

  get task(): TaskSnapshot | undefined {
    return this.#task
  }

  async next(): Promise<Result> {
    const result = this.#ahead ?? (await this.#events.next())
    this.#ahead = undefined
    const { value: event } = result
    if (event === undefined) return result
    this.#apply(event)
    if (!isProduct(event)) return result
    await this.#turn()
    return await this.#skipTo(event)
  }

  return(): ReturnType<TaskSubscription['return']> {
    return this.#events.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Reads on to the latest artifact before the next change of state. */
  async #skipTo(first: Product): Promise<Result> {
    let product = first
    let generation = first.generation
    // Events that exist are read without waiting; the log of a task that is gone has an end.
    while (generation !== this.#latest()) {
      const result = await this.#events.next()
      const { value: event } = result
      if (event === undefined || !(isProduct(event) || isSilent(event))) {
        this.#ahead = result
        break
      }
      this.#apply(event)
      if (isProduct(event)) product = event
      generation = event.generation
    }
    // A message alone makes no notification, but the task that is sent contains it.
    return { done: false, value: { ...product, generation } }
  }

  #apply(event: TaskStreamEvent): void {
    if (event.type === 'snapshot' || event.type === 'resync') this.#task = thawTask(event.task)
    else if (this.#task !== undefined) apply(this.#task, event)
  }
}

/** Makes no notification of its own. */
function isSilent({ type }: TaskStreamEvent): boolean {
  return type === 'message' || type === 'journal'
}

type Product = Extract<TaskEvent, ArtifactChanged | OutputChanged>

function isProduct(event: TaskStreamEvent): event is Product {
  return event.type === 'artifact' || event.type === 'output'
}
