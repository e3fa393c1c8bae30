/**
 * Messages that begin tasks, each of which begins one task however often it is sent.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { MaybePromise } from '../../core/managers.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { IncomingMessage } from '../../wire/dialect.js'
import { derivedIds, messageOf, requireSame, type IdempotencySettings } from '../idempotency.js'
import type { Settings } from '../options.js'
import type { AcceptedMessage } from './active-run.js'
import { isPromise, isShared } from '../tasks.js'

/** A message that names no task. */
export interface FirstMessage {
  readonly owner: string | null
  readonly message: IncomingMessage & { readonly messageId: string }
}

/** Accepts a message as the beginning of the task with this id. */
type Begin = (taskId: string) => Promise<AcceptedMessage>
type Found =
  { readonly type: 'task'; readonly task: TaskSnapshot } | { readonly type: 'none'; readonly freeId: string }
type Needed = 'card' | 'clock' | 'tasks'

/** How often other processes may begin a task with the id that was free. */
const MAX_ATTEMPTS = 5
/** Of all replies that are kept, in characters of JSON. */
const MAX_REPLIES_SIZE = 16_777_216
/** What an entry takes beside its text, as characters. */
const ENTRY_SIZE = 256

/**
 * Derives the id of a new task from its owner and its message: the process that begins the task first holds the id,
 * and others find the task under it.
 *
 * After `ttlMs` the message may begin another task while the old one is still there, so a message has a row of ids.
 */
export class RepeatedMessages {
  readonly #settings: Pick<Settings, Needed>
  readonly #ttlMs: number
  readonly #replies: Replies
  readonly #accepted: (task: TaskSnapshot) => AcceptedMessage
  /** The latest acceptance of each message that is under way in this process. */
  readonly #latest = new Map<string, Promise<AcceptedMessage>>()

  /** @param accepted - How a task that exists answers its message. */
  constructor(
    settings: Pick<Settings, Needed>,
    { ttlMs }: IdempotencySettings,
    accepted: (task: TaskSnapshot) => AcceptedMessage,
  ) {
    this.#settings = settings
    this.#ttlMs = ttlMs
    this.#replies = new Replies()
    this.#accepted = accepted
  }

  /**
   * Accepts a message after all earlier ones with its id.
   *
   * Not `async`: over a `TaskManager` nothing is awaited between the acceptance and its caller.
   */
  accept(first: FirstMessage, begin: Begin): Promise<AcceptedMessage> {
    const key = JSON.stringify([first.owner, first.message.messageId])
    const attempt = (): Promise<AcceptedMessage> => this.#attempt(key, first, begin, 1)
    const accepting = this.#latest.get(key)?.then(attempt, attempt) ?? attempt()
    this.#latest.set(key, accepting)
    const leave = (): void => {
      if (this.#latest.get(key) === accepting) this.#latest.delete(key)
    }
    accepting.then(leave, leave)
    return accepting
  }

  #attempt(key: string, first: FirstMessage, begin: Begin, count: number): Promise<AcceptedMessage> {
    const reply = this.#replies.find(key, this.#settings.clock.now())
    if (reply !== undefined) return repeat(reply.message, first, { type: 'message', message: reply.reply })
    const { owner, message } = first
    const accept = (found: Found): Promise<AcceptedMessage> => {
      if (found.type === 'none') return this.#begin(key, first, begin, found.freeId)
      const { task } = found
      const again = (): Promise<AcceptedMessage> => this.#attempt(key, first, begin, count + 1)
      const accepted = repeat(messageOf(task, message.messageId), first, this.#accepted(task))
      return this.#isUndecided(task) ? accepted.then(() => this.#acceptKept(task, again)) : accepted
    }
    // Agents that share a manager keep their messages apart.
    const found = this.#find(owner, derivedIds(this.#settings.card.name, owner, message.messageId))
    if (!isPromise(found)) return accept(found)
    return found.then(accept).catch((error: unknown) => {
      // Another process has begun the task in between.
      const isTaken = A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'id'
      if (!isTaken || count === MAX_ATTEMPTS) throw error
      return this.#attempt(key, first, begin, count + 1)
    })
  }

  /** Whether another process works on the message, and may yet reply without the task. */
  #isUndecided({ state }: TaskSnapshot): boolean {
    const { tasks } = this.#settings
    return isShared(tasks) && state === tasks.lifecycle.initial
  }

  /** Has the task kept, unless it has changed: a task that waits for the user must not go back to its work. */
  async #acceptKept(
    { id, generation: expectedGeneration }: TaskSnapshot,
    again: () => Promise<AcceptedMessage>,
  ): Promise<AcceptedMessage> {
    const { tasks } = this.#settings
    try {
      await tasks.patchTask(id, { state: 'working', expectedGeneration })
    } catch (error) {
      const codes = ['TASK_GENERATION_MISMATCH', 'TASK_TERMINAL', 'TASK_NOT_FOUND'] as const
      if (!codes.some((code) => A2AError.is(error, code))) throw error
    }
    const task = await tasks.peekTask(id)
    return task === null || this.#isUndecided(task) ? await again() : this.#accepted(task)
  }

  #begin(key: string, { message }: FirstMessage, begin: Begin, id: string): Promise<AcceptedMessage> {
    const beginning = begin(id)
    const keep = (accepted: AcceptedMessage): void => {
      if (accepted.type === 'task') return
      this.#replies.keep(key, { message, reply: accepted.message }, this.#settings.clock.now() + this.#ttlMs)
    }
    beginning.then(keep, () => undefined)
    return beginning
  }

  /**
   * The task of this message, or the first id that is free. Retention may have removed the task of an earlier use before
   * that of a later one, so one missing task proves nothing.
   */
  #find(owner: string | null, ids: Iterator<string, never>, use = 0, freeId?: string): MaybePromise<Found> {
    const { tasks, clock } = this.#settings
    const id = ids.next().value
    const next = (task: TaskSnapshot | null): MaybePromise<Found> => {
      if (task !== null && Date.parse(task.createdAt) + this.#ttlMs > clock.now())
        return { type: 'task', task }
      if (task === null && use > 0) return { type: 'none', freeId: freeId ?? id }
      return this.#find(owner, ids, use + 1, freeId ?? (task === null ? id : undefined))
    }
    const task = tasks.peekTask(id, { owner })
    return isPromise(task) ? task.then(next) : next(task)
  }
}

/** Resolves to `accepted`, or rejects when the repeated message is not the same. */
function repeat(
  known: Parameters<typeof requireSame>[0] | undefined,
  { message }: FirstMessage,
  accepted: AcceptedMessage,
): Promise<AcceptedMessage> {
  return Promise.resolve().then(() => {
    if (known !== undefined) requireSame(known, message)
    return accepted
  })
}

interface KeptReply {
  /** The message that was replied to. */
  readonly message: IncomingMessage
  readonly reply: Message
}

/** A {@link KeptReply} as JSON: the client chooses its values, and small ones take many times the memory of their text. */
interface StoredReply {
  readonly json: string
  readonly size: number
  readonly expiresAt: number
}

/** Replies without a task, in the memory of this process. */
class Replies {
  /** The oldest first. */
  readonly #byKey = new Map<string, StoredReply>()
  #size = 0

  find(key: string, now: number): KeptReply | undefined {
    const stored = this.#byKey.get(key)
    if (stored === undefined || stored.expiresAt <= now) return undefined
    // The text is that of `keep`.
    return JSON.parse(stored.json) as KeptReply
  }

  keep(key: string, kept: KeptReply, expiresAt: number): void {
    const json = JSON.stringify(kept)
    const size = key.length + json.length + ENTRY_SIZE
    this.#delete(key)
    this.#byKey.set(key, { json, size, expiresAt })
    this.#size += size
    for (const oldest of this.#byKey.keys()) {
      if (this.#size <= MAX_REPLIES_SIZE) break
      this.#delete(oldest)
    }
  }

  #delete(key: string): void {
    this.#size -= this.#byKey.get(key)?.size ?? 0
    this.#byKey.delete(key)
  }
}
