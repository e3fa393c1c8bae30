/**
 * State of a run: the task so far, the handle to resume it, and the question that was answered last.
 *
 * @module
 */
import { isTerminal } from '../../core/lifecycle.js'
import { applyEvent, fingerprintOf } from './remote-task.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import { awaitedOthersOf } from '../../wire/question/questions.js'
import { tooLarge } from '../../http/json.js'
import { Said } from './said.js'
import type { RunOptions, RunUpdate } from './run-types.js'
import type { RunHandle } from '../../remote/runner.js'
import type { StreamItem } from '../connection/transport.js'

interface RunStateOptions {
  readonly maxTaskBytes: number
  readonly onUpdate: RunOptions['onUpdate']
  /** Whether the task has in the end what the agent has said in this turn. */
  readonly keepUpdates: boolean
  /** Called when the promise that `onUpdate` returned rejects. */
  readonly onCallbackFailure: (failure: CallbackFailure) => void
}

/** Wraps what a callback of the user threw, to distinguish it from an error of the agent. */
export class CallbackFailure extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('A callback failed')
    this.reason = reason
  }
}

/** What a run knows of its task. Calls `onUpdate` for each event of it. */
export class RunState {
  readonly #options: RunStateOptions
  readonly #taskSize = new TaskSize()
  readonly #said = new Said()
  #handle: RunHandle
  #task: RemoteTask | undefined
  #eventCount = 0
  /** Ignores events of other tasks when set. */
  #isBound: boolean
  #answeredQuestion: string | undefined
  #isWhole = true
  #isInterrupted = false

  constructor(handle: RunHandle, options: RunStateOptions) {
    // Resuming a stream after an event requires the task as it was then, which a handle does not have.
    this.#handle = withoutEventId(handle)
    this.#isBound = handle.taskId !== undefined
    this.#options = options
  }

  get handle(): RunHandle {
    return this.#handle
  }

  get task(): RemoteTask | undefined {
    return this.#task
  }

  /** Whether no event of the task can be missing. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Number of events applied. */
  get eventCount(): number {
    return this.#eventCount
  }

  /** Events before the next one may get lost. */
  interrupt(): void {
    this.#isInterrupted = true
  }

  /** Accepts another task: the agent may respond to the next message with a new one. */
  unbind(): void {
    this.#isBound = false
    this.#said.clear()
    // The events of the next stream follow no earlier one.
    this.#handle = withoutEventId(this.#handle)
  }

  /** Forgets the context id, which the agent refused. */
  dropContext(): void {
    this.#handle = { messageId: this.#handle.messageId }
  }

  /** Continues with `task`. Later events of it are reported as usual. */
  bind(task: RemoteTask): void {
    if (this.#task?.id !== task.id) this.#task = undefined
    this.#moveTo(task, this.#task === undefined ? undefined : this.#handle.lastEventId)
  }

  /** Sets the final task without a call of `onUpdate`. */
  setTask(task: RemoteTask): void {
    this.#task = task
    this.#moveTo(task, undefined)
  }

  /**
   * Applies one event and calls `onUpdate`, except for a snapshot of what it knows. `isReply` marks events that respond to
   * a message just sent.
   *
   * @returns `true` if the event settles the task: terminal, or waiting for the user.
   * @throws {A2AError} `LIMIT_EXCEEDED` for `maxTaskBytes`.
   * @throws {CallbackFailure}
   */
  apply({ event, id, size }: StreamItem, isReply = false): boolean {
    if (event.type === 'message' || !this.#accepts(event, id)) return false
    this.#requireWithinLimit(event, size)
    this.#trackGaps(event, id)
    const isKnown = !isReply && event.type === 'task' && isSame(event.task, this.#task)
    const task = applyEvent(this.#task, event)
    this.#task = task
    // A snapshot without an id is later than the last event that had one.
    this.#moveTo(task, isHeaderSafe(id) ? id : event.type === 'task' ? undefined : this.#handle.lastEventId)
    if (this.#options.keepUpdates && event.type === 'status' && event.message !== undefined)
      this.#said.add(event.message, size)
    if (isReply && event.type === 'status' && !isWaiting(task)) this.#answeredQuestion = undefined
    this.#eventCount += 1
    if (!isKnown) this.#notify({ event, task, handle: this.#handle })
    return this.isSettled(task)
  }

  /** Whether the event is of the run's task, and no replay. Forgets its task if the run goes on with another one. */
  #accepts(event: Exclude<RemoteEvent, { type: 'message' }>, id: string | undefined): boolean {
    const taskId = event.type === 'task' ? event.task.id : event.taskId
    if (taskId !== this.#handle.taskId) {
      if (this.#isBound) return false
      this.#task = undefined
    }
    // Replayed events are not reported again. `GetTask` decides in the end.
    return event.type === 'task' || this.#task === undefined || !isAlreadySeen(id, this.#handle.lastEventId)
  }

  /** Between two streams events may get lost, unless their ids tell. A snapshot has them all. */
  #trackGaps({ type }: RemoteEvent, id: string | undefined): void {
    const { lastEventId } = this.#handle
    const isNext = areNumbers(id, lastEventId) ? Number(id) === Number(lastEventId) + 1 : !this.#isInterrupted
    this.#isWhole = type === 'task' || (this.#isWhole && isNext)
    this.#isInterrupted = false
  }

  /** Reports a polled task if it changed. */
  reportIfChanged(task: RemoteTask): void {
    if (!isAlike(task, this.#task)) this.#report(task)
  }

  /** Reports the settled task if it differs from what the stream reported. */
  reportFinal(task: RemoteTask): void {
    // Agents differ in which messages they keep: ignore them.
    const { messages } = task
    const reported = this.#task && {
      ...task,
      state: this.#task.state,
      artifacts: this.#task.artifacts,
      messages,
    }
    if (!isAlike(task, reported)) this.#report(task)
  }

  /** A polled task has all events. One that works has received the answer to its question: the next question is a new one. */
  observe(task: RemoteTask): void {
    this.#isWhole = true
    if (!isWaiting(task)) this.#answeredQuestion = undefined
  }

  /** Marks the question of `task` as answered. Seen again, it means that the agent has not processed the answer yet. */
  markAnswered(task: RemoteTask): void {
    this.#answeredQuestion = questionOf(task)
  }

  /** Whether the latest message answers a question. */
  get isAnswering(): boolean {
    return this.#answeredQuestion !== undefined
  }

  /** The agent has refused the answer: the question is asked again. */
  forgetAnswer(): void {
    this.#answeredQuestion = undefined
  }

  /** The settled task, with what the agent has said in this turn. */
  complete(task: RemoteTask): RemoteTask {
    return this.#said.addTo(task)
  }

  /** Terminal, or waiting for the user with a question that has not been answered. Others answer without this client. */
  isSettled(task: RemoteTask): boolean {
    if (isTerminal(task.state)) return true
    const isAsked = isWaiting(task) && awaitedOthersOf(task) === undefined
    return isAsked && questionOf(task) !== this.#answeredQuestion
  }

  /** Calls `onUpdate`. Its rejection, if it returns a promise, goes to `onCallbackFailure`. @throws {CallbackFailure} */
  #notify(update: RunUpdate): void {
    const { onUpdate, onCallbackFailure } = this.#options
    try {
      const returned: unknown = onUpdate?.(update)
      if (returned !== undefined) {
        Promise.resolve(returned).catch((error: unknown) => onCallbackFailure(new CallbackFailure(error)))
      }
    } catch (error) {
      throw new CallbackFailure(error)
    }
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

/** Size of all content of a task, in UTF-16 code units. Replaced content does not count. */
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

function withoutEventId(handle: RunHandle): RunHandle {
  const rest = { ...handle }
  Reflect.deleteProperty(rest, 'lastEventId')
  return rest
}

/** A stream begins with the task that a poll has just returned. */
function isSame(task: RemoteTask, known: RemoteTask | undefined): boolean {
  return isAlike(task, known) && JSON.stringify(task) === JSON.stringify(known)
}

function isAlike(task: RemoteTask, known: RemoteTask | undefined): boolean {
  return known !== undefined && fingerprintOf(task) === fingerprintOf(known)
}

function isWaiting({ state }: RemoteTask): boolean {
  return state === 'input-required' || state === 'auth-required'
}

/** Identifies a question: differs between one question of an agent and the next. */
function questionOf({ state, updatedAt, message }: RemoteTask): string {
  return `${state}/${updatedAt}/${message?.messageId}`
}

/** Returns whether an event id can be sent in the header `Last-Event-ID`. */
function isHeaderSafe(id: string | undefined): id is string {
  return id !== undefined && /^[\x21-\x7e]{1,256}$/.test(id)
}

/** Agents of this library number their events: a lower number, or the same, was seen. */
function isAlreadySeen(id: string | undefined, last: string | undefined): boolean {
  return areNumbers(id, last) && Number(id) <= Number(last)
}

function areNumbers(...ids: readonly (string | undefined)[]): boolean {
  return ids.every((id) => /^\d+$/.test(id ?? ''))
}
