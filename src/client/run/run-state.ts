/**
 * What a run has been told of its task, and where it stands.
 *
 * @module
 */
import { isTerminal, applyEvent, fingerprintOf } from './remote-task.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import { tooLarge } from '../../http/json.js'
import type { RunHandle, RunOptions } from './run-types.js'
import type { StreamItem } from '../connection/transport.js'

export interface RunStateOptions {
  readonly maxTaskBytes: number
  readonly onUpdate: RunOptions['onUpdate']
  /** Told of an `onUpdate` that fails after it has returned. */
  readonly fail: (failure: CallbackFailure) => void
}

/** What a callback of the user threw: his, and not an answer of the agent. */
export class CallbackFailure extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('A callback failed')
    this.reason = reason
  }
}

export class RunState {
  readonly #options: RunStateOptions
  readonly #taskSize = new TaskSize()
  #handle: RunHandle
  #task: RemoteTask | undefined
  #eventCount = 0
  /** Whether what is told of other tasks is none of ours. */
  #isBound: boolean
  /** The question that was answered last. */
  #answeredQuestion: string | undefined

  constructor(handle: RunHandle, options: RunStateOptions) {
    // A stream goes on after an event only for whoever has the task as it was then.
    this.#handle = { ...handle }
    Reflect.deleteProperty(this.#handle, 'lastEventId')
    this.#isBound = handle.taskId !== undefined
    this.#options = options
  }

  get handle(): RunHandle {
    return this.#handle
  }

  get task(): RemoteTask | undefined {
    return this.#task
  }

  /** How much the agent has told. */
  get eventCount(): number {
    return this.#eventCount
  }

  /** A message goes out: the agent may answer with another task. */
  unbind(): void {
    this.#isBound = false
  }

  /** The agent has begun no conversation of that id. */
  dropContext(): void {
    this.#handle = { messageId: this.#handle.messageId }
  }

  /** Our task is `task`. What of it was not told yet still will be. */
  bind(task: RemoteTask): void {
    if (this.#task?.id !== task.id) this.#task = undefined
    this.#moveTo(task, this.#task === undefined ? undefined : this.#handle.lastEventId)
  }

  /** The task as it is in the end, told to nobody. */
  setTask(task: RemoteTask): void {
    this.#task = task
    this.#moveTo(task, undefined)
  }

  /**
   * Takes in what the agent told. Whether it says that the task has settled. `isAnswer`: it came after our message.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED`.
   * @throws {CallbackFailure}
   */
  apply({ event, id, size }: StreamItem, isReply = false): boolean {
    if (event.type === 'message') return false
    const taskId = event.type === 'task' ? event.task.id : event.taskId
    if (taskId !== this.#handle.taskId) {
      if (this.#isBound) return false
      this.#task = undefined
    }
    // What comes twice, or too late, is not told again; GetTask has the last word anyway.
    if (event.type !== 'task' && this.#task !== undefined && isAlreadySeen(id, this.#handle.lastEventId))
      return false
    this.#requireWithinLimit(event, size)
    const task = applyEvent(this.#task, event)
    this.#task = task
    // A snapshot without an id is later than whatever had one.
    this.#moveTo(task, isHeaderSafe(id) ? id : event.type === 'task' ? undefined : this.#handle.lastEventId)
    if (isReply && event.type === 'status' && !isWaiting(task)) this.#answeredQuestion = undefined
    this.#eventCount += 1
    try {
      const { onUpdate, fail } = this.#options
      const returned: unknown = onUpdate?.({ event, task, handle: this.#handle })
      if (returned !== undefined) {
        Promise.resolve(returned).catch((error: unknown) => fail(new CallbackFailure(error)))
      }
    } catch (error) {
      throw new CallbackFailure(error)
    }
    return this.isSettled(task)
  }

  /** A task that was looked at is news if it has changed. */
  reportIfChanged(task: RemoteTask): void {
    if (this.#task === undefined || fingerprintOf(task) !== fingerprintOf(this.#task)) this.#report(task)
  }

  /** The task as it settled is news if the stream told it otherwise. */
  reportFinal(task: RemoteTask): void {
    // Agents differ in what they keep of messages.
    const { messages } = task
    const reported = this.#task && {
      ...task,
      state: this.#task.state,
      artifacts: this.#task.artifacts,
      messages,
    }
    if (reported === undefined || fingerprintOf(task) !== fingerprintOf(reported)) this.#report(task)
  }

  /** What GetTask says counts: a task that works has got the answer to whatever it asked. */
  observe(task: RemoteTask): void {
    if (!isWaiting(task)) this.#answeredQuestion = undefined
  }

  /** What `task` asks is answered: if it is seen once more, it has not come to that yet. */
  markAnswered(task: RemoteTask): void {
    this.#answeredQuestion = questionOf(task)
  }

  isSettled(task: RemoteTask): boolean {
    return isTerminal(task) || (isWaiting(task) && questionOf(task) !== this.#answeredQuestion)
  }

  #report(task: RemoteTask): void {
    this.apply({ event: { type: 'task', task }, id: undefined, size: 0 })
  }

  #moveTo({ id, contextId = this.#handle.contextId }: RemoteTask, lastEventId: string | undefined): void {
    this.#isBound = true
    this.#handle = {
      messageId: this.#handle.messageId,
      taskId: id,
      ...(contextId !== undefined && { contextId }),
      ...(lastEventId !== undefined && { lastEventId }),
    }
  }

  #requireWithinLimit(event: RemoteEvent, size: number): void {
    const { maxTaskBytes } = this.#options
    const total = this.#taskSize.add(event, size)
    if (total > maxTaskBytes) throw tooLarge('maxTaskBytes', maxTaskBytes, total)
  }
}

/** How long all is that a task is made of. What was replaced no longer counts. */
class TaskSize {
  readonly #parts = new Map<string, number>()
  #total = 0

  add(event: RemoteEvent, size: number): number {
    if (event.type === 'task') {
      this.#parts.clear()
      this.#total = 0
    }
    const key = event.type === 'artifact' ? `artifact/${event.artifact.artifactId}` : event.type
    const previous = this.#parts.get(key) ?? 0
    const newSize = event.type === 'artifact' && event.append ? previous + size : size
    this.#parts.set(key, newSize)
    this.#total += newSize - previous
    return this.#total
  }
}

function isWaiting({ state }: RemoteTask): boolean {
  return state === 'input-required' || state === 'auth-required'
}

/** Tells one question of an agent from the next. */
function questionOf({ state, updatedAt, message }: RemoteTask): string {
  return `${state}/${updatedAt}/${message?.messageId}`
}

/** Whether it can stand in a header, and in a handle. */
function isHeaderSafe(id: string | undefined): id is string {
  return id !== undefined && /^[\x21-\x7e]{1,256}$/.test(id)
}

/** Agents of this library number their events. */
function isAlreadySeen(id: string | undefined, last: string | undefined): boolean {
  const numbers = /^\d+$/
  return numbers.test(id ?? '') && numbers.test(last ?? '') && Number(id) <= Number(last)
}
