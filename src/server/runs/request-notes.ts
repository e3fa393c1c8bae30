/**
 * Requests that this process has not seen: made anew of what was noted of them.
 *
 * @module
 */
import { type Message, type TaskSnapshot, keyOf, type TaskKey } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { TaskDocuments } from '../../core/documents.js'
import type { Queued } from './question.js'
import type { Settings } from '../options.js'
import { fromNote, toNote, type RunNote } from './run-note.js'
import type { Principal } from '../caller.js'

const KIND = 'request'
/** In characters. Not every store keeps a document under a longer name. */
const MAX_ID = 512

/**
 * What came with a message that one process has taken in, and another is to work on. It stands beside the task, by the
 * message's id, from before the message is sent until it is worked on.
 */
export class NotedRequests<P extends Principal> {
  readonly #settings: Settings<P>
  readonly #documents: TaskDocuments

  constructor(settings: Settings<P>, documents: TaskDocuments) {
    this.#settings = settings
    this.#documents = documents
  }

  /**
   * @returns Whether there is a note now that was not there before.
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  async put(task: TaskKey, given: Queued<P>): Promise<boolean> {
    const { messageId } = given.request.message
    // A message without what came with it is better than one that is refused for its id.
    if (messageId.length > MAX_ID || !isWorthNoting(given)) return false
    return await this.#documents.putDocument({ ...documentOf(task, messageId), value: toNote(given) }, 0)
  }

  /** One that cannot be removed goes with its task. */
  async remove(task: TaskKey, { messageId }: Message): Promise<void> {
    if (messageId.length > MAX_ID) return
    try {
      await this.#documents.deleteDocument(documentOf(task, messageId))
    } catch (error) {
      this.#settings.onError(error, { during: 'execute', taskId: task.id })
    }
  }

  /** What is known of a message at once. `like` is another to the same task: both come from the task's owner. */
  heard(message: Message, like: Queued<P> | undefined): Queued<P> {
    const { tenant } = like?.request ?? {}
    const queued = this.#toQueued(
      { ...(tenant !== undefined && { tenant }) },
      message,
      like?.caller.principal,
    )
    return { ...queued, isHeard: true }
  }

  /** All that is known of a message that was {@link heard}. `like` as there. */
  async recall(task: TaskKey, heard: Queued<P>, like: Queued<P> | undefined): Promise<Queued<P>> {
    const { message } = heard.request
    const { principal } = heard.caller
    const documents = await this.#documents.documents(keyOf(task), KIND)
    const found = documents.find(({ id }) => id === message.messageId)
    if (found === undefined) return principal === undefined ? this.heard(message, like) : heard
    const note = fromNote(found.value)
    return {
      ...this.#toQueued(note, message, await this.#principalOf(note, principal ?? like?.caller.principal)),
      isHeard: true,
    }
  }

  /** The request that a lease tells of. */
  async restore(message: Message, note: JsonValue | undefined): Promise<Queued<P>> {
    const told = fromNote(note)
    const queued = this.#toQueued(told, message, await this.#principalOf(told, undefined))
    return { ...queued, isHeard: true }
  }

  async #principalOf({ principal: id }: RunNote, known: P | undefined): Promise<P | undefined> {
    if (id === undefined || known?.id === id) return known
    return await this.#settings.principalOf?.(id)
  }

  #toQueued(note: RunNote, message: Message, principal: P | undefined): Queued<P> {
    const { acceptedOutputModes = [], extensions = [], metadata, tenant } = note
    const [dialect] = this.#settings.dialects
    const beside = { ...(metadata && { metadata }), ...(tenant !== undefined && { tenant }) }
    return {
      request: { message, returnImmediately: true, acceptedOutputModes, ...beside },
      caller: { dialect, namesVersion: false, principal, extensions },
    }
  }
}

/** What is left to do of a task whose holder has died: the message that was worked on, and those that came after it. */
export function toDo(
  { messages }: TaskSnapshot,
  note: JsonValue | undefined,
): readonly [Message | undefined, ...Message[]] {
  const { messageId, after = messages.length } = fromNote(note)
  const isSaid = ({ role }: TaskSnapshot['messages'][number]): boolean => role === 'user'
  const named = messages.findIndex((message) => isSaid(message) && message.messageId === messageId)
  // One that never came to be stored was not the only one, perhaps, that was sent to its holder.
  const left = messages.slice(named === -1 ? after : named).filter(isSaid)
  const latest = messages.filter(isSaid).slice(-1)
  // Conversations are frozen, and runs show their messages as what cannot be written to.
  const [first, ...later] = (left.length > 0 ? left : latest) as unknown as readonly Message[]
  return [first, ...later]
}

function isWorthNoting<P extends Principal>({ request, caller }: Queued<P>): boolean {
  const { metadata, acceptedOutputModes, tenant } = request
  const { extensions, principal } = caller
  if ([metadata, tenant, principal].some((value) => value !== undefined)) return true
  return acceptedOutputModes.length > 0 || extensions.length > 0
}

function documentOf(task: TaskKey, messageId: string): { key: TaskKey; kind: string; id: string } {
  return { key: keyOf(task), kind: KIND, id: messageId }
}
