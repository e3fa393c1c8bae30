/**
 * Messages that wait for a turn on their task, and the memory that their requests take.
 *
 * @module
 */
import type { TurnEntry } from '../../core/events.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import { sizeOf } from '../../core/json.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import type { OwnerFilter } from '../../core/queries.js'
import { HeapBudget } from '../../runtime/heap-budget.js'
import type { TraceHeaders } from '../../runtime/trace-headers.js'
import type { SendRequest } from '../../wire/dialect.js'
import type { Caller, Principal } from '../caller.js'
import { unavailable } from '../unavailable.js'
import { isOfOther } from './marks.js'

/** An accepted message, with everything that a run needs to know of its request. */
export interface QueuedMessage<P extends Principal> {
  readonly request: SendRequest
  readonly caller: Caller<P>
  readonly owner: OwnerFilter
  /** When the work has to end, in ms since 1970: as the message's lineage or its request says. */
  readonly deadline?: number | undefined
  /** The trace of the request, for a run that begins later or in another process. */
  readonly trace?: TraceHeaders | undefined
  /** Whether another process accepted the message. A document beside the task may hold the rest of its request. */
  readonly isForwarded?: boolean
  /** The id of the user's message with which the turn began, where the turn has continued with another one. */
  readonly origin?: string | undefined
  /** The lease's note on the message, when its run is started over because the process that had it died. */
  readonly note?: JsonValue | undefined
  /** Later messages that were to steer this run, when it is started over. */
  readonly steering?: readonly QueuedMessage<P>[]
}

/** The id of the user's message that the turn began with. */
export function originOf<P extends Principal>({ origin, request }: QueuedMessage<P>): string {
  return origin ?? request.message.messageId
}

/** What the lease and the journal of a task say of the request beside its message. */
export function toNote<P extends Principal>(
  { request, caller, deadline }: Pick<QueuedMessage<P>, 'request' | 'caller' | 'deadline'>,
  after?: number,
): JsonObject {
  const { message, metadata, acceptedOutputModes, tenant } = request
  const { extensions, principal } = caller
  return {
    messageId: message.messageId,
    ...(after !== undefined && { after }),
    ...(metadata && { metadata }),
    acceptedOutputModes: [...acceptedOutputModes],
    extensions: [...extensions],
    ...(tenant !== undefined && { tenant }),
    ...(deadline !== undefined && { deadline }),
    ...(principal && { principal: principal.id }),
  }
}

/** The entry of the journal with which the turn of the message begins. A process that continues the turn needs no more. */
export function turnOf<P extends Principal>(queued: QueuedMessage<P>): TurnEntry {
  return { kind: 'turn', messageId: originOf(queued), note: queued.note ?? toNote(queued) }
}

/** The message in whose place a turn has continued with another one. */
export function continuedWith<P extends Principal>(
  queued: QueuedMessage<P>,
  { message, origin }: { readonly message: Message; readonly origin: string },
): QueuedMessage<P> {
  return { ...queued, origin, request: { ...queued.request, message } }
}

/**
 * Of messages that were to steer a turn which is over, those that came too late for it. A turn that has ended without its task
 * has left a message: if no others wait, perhaps one that it has seen.
 */
export function unseenMessages<P extends Principal>(
  { messages }: TaskSnapshot,
  { read, seen }: { readonly read: ReadonlySet<string>; readonly seen: number },
  steering: readonly QueuedMessage<P>[],
  doOthersWait: boolean,
): readonly QueuedMessage<P>[] {
  const seenIds = new Set(messages.slice(0, seen).map(({ messageId }) => messageId))
  const idOf = ({ request }: QueuedMessage<P>): string => request.message.messageId
  const unread = steering.filter((message) => !read.has(idOf(message)))
  const late = unread.filter((message) => !seenIds.has(idOf(message)))
  return late.length > 0 || doOthersWait ? late : unread.slice(-1)
}

type Kept = Pick<SendRequest, 'metadata' | 'acceptedOutputModes' | 'pushConfig'>

/** Several times what one body of the default size takes. */
const MIN_BYTES = 33_554_432
const SMALL = 4_096

/** Memory that runs and queues keep of requests beside the messages, whose bytes the manager of the tasks counts. */
export class HeldRequests {
  readonly #budget: HeapBudget

  /** @param max The bytes of heap. Default is an eighth of its limit. */
  constructor(max?: number) {
    this.#budget = new HeapBudget({ min: MIN_BYTES, small: SMALL, max })
  }

  /** @throws {A2AError} `UNAVAILABLE` when this request would keep too much. */
  requireRoom(request: Kept): void {
    const cost = costOf(request)
    if (cost > 0 && !this.#budget.hasRoom(cost)) throw unavailable('keeps too much of other requests')
  }

  add({ request }: { readonly request: Kept }): void {
    this.#budget.add(costOf(request))
  }

  /** For a request that was added. */
  remove({ request }: { readonly request: Kept }): void {
    this.#budget.remove(costOf(request))
  }
}

/** The estimated bytes of heap. */
function costOf({ metadata, acceptedOutputModes, pushConfig }: Kept): number {
  if (metadata === undefined && acceptedOutputModes.length === 0 && pushConfig === undefined) return 0
  return sizeOf([metadata ?? null, acceptedOutputModes, pushConfig ?? null]).cost
}

/** One queue for each task, first in, first out. */
export class MessageQueues<P extends Principal> {
  readonly #byTask = new Map<string, QueuedMessage<P>[]>()
  readonly #held: HeldRequests

  constructor(held: HeldRequests) {
    this.#held = held
  }

  has(taskId: string): boolean {
    return this.#byTask.has(taskId)
  }

  /** Whether a message waits that may begin a turn. */
  hasRequest(taskId: string): boolean {
    return this.#byTask.get(taskId)?.some(({ request }) => !isOfOther(request.message)) === true
  }

  /** Removes what others than the owner have answered: code that has ended asks no more. */
  removeAnswersOfOthers(taskId: string): void {
    const queue = this.#byTask.get(taskId) ?? []
    const answers = queue.filter(({ request }) => isOfOther(request.message))
    if (answers.length > 0)
      this.remove(taskId, new Set(answers.map(({ request }) => request.message.messageId)))
  }

  includes(taskId: string, message: QueuedMessage<P>): boolean {
    return this.#byTask.get(taskId)?.includes(message) === true
  }

  push(taskId: string, message: QueuedMessage<P>): void {
    this.#of(taskId).push(message)
    this.#held.add(message)
  }

  /** Puts messages before those that wait already. */
  unshift(taskId: string, messages: readonly QueuedMessage<P>[]): void {
    if (messages.length > 0) this.#of(taskId).unshift(...messages)
    for (const message of messages) this.#held.add(message)
  }

  /** The message that comes next. */
  first(taskId: string): QueuedMessage<P> | undefined {
    return this.#byTask.get(taskId)?.[0]
  }

  /** The messages that no note of another process can rebuild. */
  unnoted(taskId: string): readonly QueuedMessage<P>[] {
    return (this.#byTask.get(taskId) ?? []).filter(({ isForwarded }) => isForwarded !== true)
  }

  /** A note on the message is stored. */
  noted(taskId: string, message: QueuedMessage<P>): void {
    const queue = this.#byTask.get(taskId)
    const at = queue?.indexOf(message) ?? -1
    if (at !== -1) queue?.splice(at, 1, { ...message, isForwarded: true })
  }

  shift(taskId: string): QueuedMessage<P> | undefined {
    const queue = this.#byTask.get(taskId)
    const next = queue?.shift()
    if (queue?.length === 0) this.#byTask.delete(taskId)
    if (next !== undefined) this.#held.remove(next)
    return next
  }

  /** Removes the messages with these ids. */
  remove(taskId: string, messageIds: ReadonlySet<string>): void {
    const queue = this.#byTask.get(taskId) ?? []
    this.delete(taskId)
    for (const message of queue) {
      if (!messageIds.has(message.request.message.messageId)) this.push(taskId, message)
    }
  }

  delete(taskId: string): void {
    for (const message of this.#byTask.get(taskId) ?? []) this.#held.remove(message)
    this.#byTask.delete(taskId)
  }

  #of(taskId: string): QueuedMessage<P>[] {
    const queue = this.#byTask.get(taskId) ?? []
    this.#byTask.set(taskId, queue)
    return queue
  }
}
