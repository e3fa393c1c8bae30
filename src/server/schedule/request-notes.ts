/**
 * Stored notes on requests, from which another process rebuilds them.
 *
 * @module
 */
import type { TaskDocuments } from '../../core/managers.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import { REQUEST } from '../../runtime/document-kinds.js'
import { emitWarning } from '../../runtime/report.js'
import { readTrace } from '../../runtime/trace-headers.js'
import { keyOf, type Message, type TaskKey, type TaskSnapshot } from '../../core/task.js'
import { toNote, type QueuedMessage } from '../run/message-queue.js'
import type { Settings } from '../options.js'
import type { Principal } from '../caller.js'

const MISSING =
  'The store has only the id of a principal. Pass "principalOf" to createRequestHandler or createWorker'
/** In characters. Some stores refuse documents with longer ids. */
const MAX_ID = 512

/** A message and the rest of its request: the note on a task's lease, and the value of a document beside the task. */
interface RequestNote {
  readonly messageId?: string
  /** The number of messages before it in the conversation, where the message may not be stored yet. */
  readonly after?: number
  readonly metadata?: JsonObject
  readonly acceptedOutputModes?: readonly string[]
  readonly extensions?: readonly string[]
  readonly tenant?: string
  /** When the work has to end, in ms since 1970. */
  readonly deadline?: number
  /** The principal's id. */
  readonly principal?: string
  /** The trace of the request. The note on a lease has none, because the lease has one itself. */
  readonly trace?: JsonValue
}

function fromNote(note: JsonValue | undefined): RequestNote {
  const isNote = typeof note === 'object' && note !== null && !Array.isArray(note)
  // All notes are made by `toNote`.
  return isNote ? note : {}
}

type Needed<P extends Principal> = Pick<Settings<P>, 'onError' | 'principalOf' | 'dialects'>

/**
 * Documents that hold the rest of a request whose message is forwarded to the process that works on the task. A document
 * is stored before its message is sent, and deleted once a run has dealt with the message.
 */
export class RequestNotes<P extends Principal> {
  readonly #settings: Needed<P>
  readonly #documents: TaskDocuments | undefined
  #hasWarned = false

  /** @param documents - Absent where tasks are in memory: no message is forwarded there. */
  constructor(settings: Needed<P>, documents?: TaskDocuments) {
    this.#settings = settings
    this.#documents = documents
  }

  /**
   * Stores a note, unless the request has nothing but its message.
   *
   * @returns Whether this call created the note.
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  async put(task: TaskKey, queued: QueuedMessage<P>): Promise<boolean> {
    const { messageId } = queued.request.message
    // Forwarding the message alone is better than refusing it for the length of its id.
    if (this.#documents === undefined || messageId.length > MAX_ID || !isWorthNoting(queued)) return false
    const { trace } = queued
    const value = { ...toNote(queued), ...(trace && { trace }) }
    return await this.#documents.putDocument({ ...documentOf(task, messageId), value }, 0)
  }

  /** Deletes a note. A failure is reported to `onError`: the note is deleted with its task at the latest. */
  async remove(task: TaskKey, { messageId }: Message): Promise<void> {
    if (messageId.length > MAX_ID) return
    try {
      await this.#documents?.deleteDocument(documentOf(task, messageId))
    } catch (error) {
      this.#settings.onError(error, { during: 'execute', taskId: task.id })
    }
  }

  /**
   * A forwarded message, as far as it is known without reading its note.
   *
   * @param similar - Another message to the same task. Both come from the task's owner, so tenant and principal are the
   *   same.
   */
  received(task: TaskSnapshot, message: Message, similar: QueuedMessage<P> | undefined): QueuedMessage<P> {
    const { tenant } = similar?.request ?? {}
    const note = { ...(tenant !== undefined && { tenant }) }
    return this.#toQueued(task, note, message, similar?.caller.principal)
  }

  /** A {@link received} message with what its note says. `similar` as there. */
  async recall(
    task: TaskSnapshot,
    received: QueuedMessage<P>,
    similar: QueuedMessage<P> | undefined,
  ): Promise<QueuedMessage<P>> {
    const { message } = received.request
    const { principal } = received.caller
    const documents = (await this.#documents?.documents(keyOf(task), REQUEST)) ?? []
    const found = documents.find(({ id }) => id === message.messageId)
    if (found === undefined) return principal === undefined ? this.received(task, message, similar) : received
    const note = fromNote(found.value)
    const known = principal ?? similar?.caller.principal
    return this.#toQueued(task, note, message, await this.#principalOf(note, known))
  }

  /** A message with what the note on its task's lease says. */
  async restore(
    task: TaskSnapshot,
    message: Message,
    leaseNote: JsonValue | undefined,
  ): Promise<QueuedMessage<P>> {
    const note = fromNote(leaseNote)
    return this.#toQueued(task, note, message, await this.#principalOf(note, undefined))
  }

  /**
   * The messages that a process which died has left unanswered: first the one that it worked on, with those that steer it, then
   * those that wait.
   */
  unanswered(
    task: TaskSnapshot,
    leaseNote: JsonValue | undefined,
    isSteered: (message: Message) => boolean,
  ): readonly QueuedMessage<P>[] {
    const [first, ...later] = unansweredMessages(task, leaseNote)
    const received = (message: Message): QueuedMessage<P> => this.received(task, message, undefined)
    const steering = later.filter(isSteered)
    const waiting = later.filter((message) => !steering.includes(message)).map(received)
    if (first === undefined) return waiting
    const interrupted = { ...received(first), note: leaseNote ?? null, steering: steering.map(received) }
    return [interrupted, ...waiting]
  }

  async #principalOf({ principal: id }: RequestNote, known: P | undefined): Promise<P | undefined> {
    if (id === undefined || known?.id === id) return known
    const { principalOf } = this.#settings
    if (principalOf !== undefined) return await principalOf(id)
    if (!this.#hasWarned) emitWarning('A run was restarted without "run.principal"', MISSING)
    this.#hasWarned = true
    return undefined
  }

  #toQueued(
    task: TaskSnapshot,
    note: RequestNote,
    message: Message,
    principal: P | undefined,
  ): QueuedMessage<P> {
    const { acceptedOutputModes = [], extensions = [], metadata, tenant, deadline } = note
    const [dialect] = this.#settings.dialects
    return {
      request: {
        message,
        returnImmediately: true,
        acceptedOutputModes,
        ...(metadata && { metadata }),
        ...(tenant !== undefined && { tenant }),
      },
      caller: { dialect, namesVersion: false, principal, extensions },
      owner: { owner: task.owner ?? null },
      isForwarded: true,
      deadline,
      trace: readTrace(note.trace),
    }
  }
}

/** The messages that a process which died has left unanswered: the one it worked on, and all later ones. */
function unansweredMessages(
  { messages }: TaskSnapshot,
  leaseNote: JsonValue | undefined,
): readonly [Message | undefined, ...Message[]] {
  const { messageId, after = messages.length } = fromNote(leaseNote)
  const isFromUser = ({ role }: TaskSnapshot['messages'][number]): boolean => role === 'user'
  const named = messages.findIndex((message) => isFromUser(message) && message.messageId === messageId)
  // If the noted message was never stored, messages sent to the dead process after it may have been.
  const left = messages.slice(named === -1 ? after : named).filter(isFromUser)
  const latest = messages.filter(isFromUser).slice(-1)
  // Snapshots are frozen. Runs expose these messages as read-only, so nothing writes to them.
  const [first, ...later] = (left.length > 0 ? left : latest) as unknown as readonly Message[]
  return [first, ...later]
}

function isWorthNoting<P extends Principal>(queued: QueuedMessage<P>): boolean {
  const { request, caller, trace, deadline } = queued
  const { metadata, acceptedOutputModes, tenant } = request
  const { extensions, principal } = caller
  if ([metadata, tenant, principal, trace, deadline].some((value) => value !== undefined)) return true
  return acceptedOutputModes.length > 0 || extensions.length > 0
}

function documentOf(task: TaskKey, messageId: string): { key: TaskKey; kind: string; id: string } {
  return { key: keyOf(task), kind: REQUEST, id: messageId }
}
