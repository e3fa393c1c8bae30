/**
 * One message and what becomes of it, whatever happens to the connections.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../../core/errors.js'
import type { Clock } from '../../core/ports.js'
import type { Message } from '../../core/task.js'
import { invalidAnswer } from '../../wire/client/answer.js'
import { textOf } from '../../wire/text.js'
import type { RemoteTask } from '../../wire/client/dialect.js'
import { Abortion } from '../../http/abort.js'
import { cancel } from './cancel.js'
import type { Connection } from '../connection/connection.js'
import { isPassing, isUndone } from '../../http/errors.js'
import { find, isLoss, type Sought } from './find-message.js'
import { toMessage } from '../message.js'
import { requirePositive } from '../options.js'
import { hasEnded, outlineOf, textOfTask } from './remote-task.js'
import { pause, pauseMs, sleep } from '../../http/retry.js'
import type { RunHandle, RunOptions, RunResult } from './run-types.js'
import { CallbackFailure, Story } from './run-state.js'
import type { StreamOptions } from '../connection/transport.js'

export const RUN_KEYS = [
  ...[
    'signal',
    'timeoutMs',
    'headers',
    'taskId',
    'contextId',
    'acceptedOutputModes',
    'metadata',
    'pushConfig',
  ],
  ...['onUpdate', 'onInputRequired', 'onAuthRequired', 'idleTimeoutMs', 'pollIntervalMs', 'resend'],
]
const IDLE_TIMEOUT_MS = 60_000
const POLL_INTERVAL_MS = 1_000
/** What says that there are no streams, whatever the card says. */
const NO_STREAMS: readonly ErrorCode[] = ['UNSUPPORTED_OPERATION', 'METHOD_NOT_FOUND']

export class Run {
  readonly #connection: Connection
  readonly #options: RunOptions
  readonly #abortion: Abortion
  readonly #story: Story
  #streams: boolean
  /** Our message that the agent may or may not have. */
  #sent: Message | undefined

  constructor(connection: Connection, handle: RunHandle, options: RunOptions, isInvented = false) {
    const { timeoutMs = Infinity, idleTimeoutMs, pollIntervalMs, onUpdate } = options
    requirePositive('timeoutMs', timeoutMs)
    requirePositive('idleTimeoutMs', idleTimeoutMs ?? IDLE_TIMEOUT_MS)
    requirePositive('pollIntervalMs', pollIntervalMs ?? POLL_INTERVAL_MS)
    const { clock, maxTaskBytes } = connection.settings
    this.#connection = connection
    this.#options = options
    this.#story = new Story(isInvented ? { ...handle, isOwnContext: true } : handle, {
      maxTaskBytes,
      onUpdate,
      fail: (failure) => this.#abortion.abort(failure),
    })
    this.#streams = connection.card.capabilities.streaming === true
    // A signal that is aborted already is no error here: nothing has been sent.
    this.#abortion = new Abortion(clock, undefined)
  }

  /** Sends `message`, or takes up what the handle says. Rejects with what a callback throws, and with nothing else. */
  async drive(message: Message | undefined): Promise<RunResult> {
    const { signal, timeoutMs = Infinity } = this.#options
    const abort = (): void =>
      this.#abortion.abort(
        new A2AError('REQUEST_ABORTED', 'The run was aborted', {}, { cause: signal?.reason }),
      )
    signal?.addEventListener('abort', abort)
    if (signal?.aborted) abort()
    else this.#abortion.arm(timeoutMs, 'The run did not end')
    try {
      this.#signal.throwIfAborted()
      if (message === undefined) await this.#locate()
      for (let current = message; ;) {
        const result = await this.#turn(current)
        if (result !== undefined && 'ok' in result) return result
        current = result
      }
    } catch (error) {
      return await this.#broken(error)
    } finally {
      this.#abortion.dispose()
      signal?.removeEventListener('abort', abort)
    }
  }

  /** A run that was given up before the agent had answered is found as a lost answer is. */
  async #locate(): Promise<void> {
    const { messageId, taskId } = this.#story.handle
    if (taskId !== undefined) return
    const finding = await this.#find(this.#story.handle, this.#signal)
    if (finding.type === 'found') this.#story.bind(finding.task)
    else if (finding.type === 'unknown' && finding.error !== undefined) throw finding.error
    else
      throw new A2AError('TASK_NOT_FOUND', `The agent tells of no task for message ${messageId}`, {
        taskId: '',
      })
  }

  /** Up to the end, or to the next message of ours, or until the task is to be followed again. */
  async #turn(message: Message | undefined): Promise<RunResult | Message | undefined> {
    const reply = message === undefined ? undefined : await this.#submit(message)
    this.#sent = undefined
    if (reply !== undefined) return { ok: true, type: 'message', message: reply, text: textOf(reply) }
    const task = await this.#settle()
    if (hasEnded(task)) return ended(task)
    const { onAuthRequired, onInputRequired } = this.#options
    const text = textOfTask(task)
    const { handle } = this.#story
    if (task.state === 'auth-required') {
      if (onAuthRequired === undefined) return { ok: false, type: task.state, task, text, handle }
      await this.#call(() => onAuthRequired(task))
      this.#story.answer(task)
      return undefined
    }
    const answer = await this.#call(() => onInputRequired?.(task))
    if (answer === undefined) return { ok: false, type: 'input-required', task, text, handle }
    const { contextId = handle.contextId } = task
    const { generateId } = this.#connection.settings
    const next = await this.#call(() => toMessage(answer, { taskId: task.id, contextId }, generateId))
    this.#story.answer(task)
    return next
  }

  /** A callback's error is the caller's, and not an answer of the agent. It is not waited for when the run is over. */
  #call<T>(callback: () => T | Promise<T>): Promise<T> {
    return this.#abortion.race(async () => {
      try {
        return await callback()
      } catch (error) {
        throw new CallbackFailure(error)
      }
    })
  }

  /**
   * Sends `message` once, as far as anybody can tell. Ends with what the agent told of the task in the story, or with its
   * reply where it needs none.
   */
  async #submit(message: Message): Promise<Message | undefined> {
    const { pacing } = this.#connection.settings
    this.#story.unbind()
    for (let attempt = 1, wasLost = false; ; attempt += 1) {
      const { told } = this.#story
      try {
        return await this.#send(message)
      } catch (error) {
        this.#requireGoing(error)
        // It came to be: whatever broke then, the task can be followed.
        if (this.#story.told > told) return undefined
        if (!wasLost && this.#isOurs(message) && isOneOf(error, ['INVALID_PARAMS', 'TASK_NOT_FOUND'])) {
          // The agent takes no conversation that it has not begun (A2A 1.0 §3.4.1).
          this.#story.dropContext()
          return await this.#submit(withoutContext(message))
        }
        const isRefused = isUndone(error)
        if (this.#streams && ((isRefused && !isPassing(error)) || isOneOf(error, NO_STREAMS))) {
          this.#streams = false
          continue
        }
        // What may pass was repeated by the connection already.
        if (isRefused || !isLoss(error)) {
          // Who refuses a message that was sent again may have got the first one after all.
          if (!wasLost || !(await this.#isThere(message))) throw error
          return undefined
        }
        wasLost = true
        const finding = await this.#find(message, this.#signal)
        if (finding.type === 'found') {
          this.#story.bind(finding.task)
          return undefined
        }
        if (finding.type === 'unknown' || this.#options.resend === false) throw error
        if (attempt >= pacing.attempts) throw error
        await pause(pacing, this.#signal, attempt, error)
      }
    }
  }

  /** An id that nobody else knows: the conversation has our task only. */
  #isOurs({ taskId, contextId }: Sought): boolean {
    const { handle } = this.#story
    return taskId === undefined && handle.isOwnContext === true && contextId === handle.contextId
  }

  async #isThere(message: Message): Promise<boolean> {
    const finding = await this.#find(message, this.#signal)
    if (finding.type === 'found') this.#story.bind(finding.task)
    return finding.type === 'found'
  }

  #find(message: Sought, signal: AbortSignal): ReturnType<typeof find> {
    const { messageId } = this.#story.handle
    return find(this.#connection, message, signal, { isOurs: this.#isOurs(message), since: messageId })
  }

  async #send(message: Message): Promise<Message | undefined> {
    this.#sent = message
    const { acceptedOutputModes = [], metadata, pushConfig } = this.#options
    const params = {
      message,
      returnImmediately: true,
      acceptedOutputModes,
      ...(metadata !== undefined && { metadata }),
      ...(pushConfig !== undefined && { pushConfig }),
    }
    if (this.#streams) {
      const { told } = this.#story
      for await (const item of this.#connection.stream('SendStreamingMessage', params, this.#streamOptions)) {
        if (item.event.type === 'message') return item.event.message
        if (this.#story.take(item, true)) return undefined
      }
      if (this.#story.told === told) throw invalidAnswer('the stream has no event')
      return undefined
    }
    const sent = await this.#connection.call('SendMessage', params, this.#callOptions)
    if (sent.type === 'message') return sent.message
    this.#story.take({ event: sent, id: undefined, size: 0 })
    return undefined
  }

  /** Follows the task until it has ended or waits for us; what a stream says of that counts only if GetTask says so, too. */
  async #settle(): Promise<RemoteTask> {
    const id = this.#story.handle.taskId
    if (id === undefined) throw invalidAnswer('it names no task')
    let outline: string | undefined
    for (let quiet = 0, isHasty = false; ;) {
      const task = await this.#look(id)
      if (this.#story.isSettled(task)) {
        this.#story.conclude(task)
        return task
      }
      const last = outline
      outline = outlineOf(task)
      quiet = outline === last ? quiet + 1 : 0
      // A stream that resumes after its last event goes on from the task as its events made it.
      if (!this.#streams || this.#story.handle.lastEventId === undefined) this.#story.look(task)
      const since = timeOf(this.#connection.settings.clock)
      const hasSettled = this.#streams && (await this.#follow(id))
      // Whoever only claims that the task has settled is asked no faster for it.
      isHasty = hasSettled && quiet === 0 && !isHasty
      if (!isHasty) await this.#wait(quiet, since)
    }
  }

  /** The task as the agent tells of it, however often one has to ask. */
  async #look(id: string): Promise<RemoteTask> {
    const { pacing } = this.#connection.settings
    for (let failures = 1; ; failures += 1) {
      try {
        const task = await this.#connection.call('GetTask', { id }, this.#callOptions)
        this.#story.saw(task)
        return task
      } catch (error) {
        this.#requireGoing(error)
        const { task } = this.#story
        // The agent need not keep what it has told.
        if (A2AError.is(error, 'TASK_NOT_FOUND') && task !== undefined && hasEnded(task)) return task
        const mayPass = isLoss(error) || A2AError.is(error, 'INTERNAL')
        if (!mayPass || failures > 2 * pacing.attempts) throw error
        await pause(pacing, this.#signal, failures, error)
      }
    }
  }

  /** Reads on in a stream until it ends, breaks, or says that the task has settled: whether it says so. */
  async #follow(id: string): Promise<boolean> {
    const { lastEventId } = this.#story.handle
    try {
      const options = { ...this.#streamOptions, lastEventId }
      for await (const item of this.#connection.stream('SubscribeToTask', { id }, options)) {
        if (this.#story.take(item)) return true
      }
    } catch (error) {
      this.#requireGoing(error)
      // A task that has just ended has no stream either: that costs a look more, and is no reason to give up streams.
      if (isOneOf(error, ['METHOD_NOT_FOUND', 'INVALID_AGENT_RESPONSE'])) this.#streams = false
      if (A2AError.is(error, 'LIMIT_EXCEEDED')) throw error
    }
    return false
  }

  /** Until the next look; a stream that was open since then has taken that time already. */
  async #wait(quiet: number, since: number): Promise<void> {
    const { pollIntervalMs = POLL_INTERVAL_MS } = this.#options
    const { clock, pacing } = this.#connection.settings
    const pollMs = pollIntervalMs * Math.min(10, 1.5 ** Math.min(quiet, 20)) * (0.9 + 0.2 * pacing.random())
    const delayMs = this.#streams && quiet === 0 ? pauseMs(pacing, 1) : pollMs
    const restMs = delayMs - Math.max(0, timeOf(clock) - since)
    if (restMs > 0) await sleep(clock, restMs, this.#signal)
  }

  get #signal(): AbortSignal {
    return this.#abortion.signal
  }

  get #callOptions(): { signal: AbortSignal; headers: RunOptions['headers'] } {
    return { signal: this.#signal, headers: this.#options.headers }
  }

  get #streamOptions(): StreamOptions {
    return { ...this.#callOptions, idleTimeoutMs: this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS }
  }

  /** @throws what ends the run: the caller's signal, its time limit, a callback, what the agent sends without end. */
  #requireGoing(error: unknown): void {
    if (error instanceof CallbackFailure || isFlood(error)) throw error
    if (this.#signal.aborted) throw this.#signal.reason
  }

  /** The run cannot go on: what remains to be said of it. */
  async #broken(error: unknown): Promise<RunResult> {
    const isAborted = this.#signal.aborted
    const cause: unknown = isAborted ? this.#signal.reason : error
    const failure = [error, cause].find((each) => each instanceof CallbackFailure)
    const isOver = isAborted && A2AError.is(cause, 'REQUEST_TIMED_OUT')
    let canceled: RemoteTask | undefined
    if ((isAborted && !isOver) || isFlood(error) || failure !== undefined) {
      canceled = await cancel(this.#connection, this.#options.headers, (signal) => this.#seek(signal))
    }
    if (failure !== undefined) throw failure.reason
    if (canceled !== undefined && !isFlood(error)) {
      if (hasEnded(canceled)) return ended(canceled)
      this.#story.keep(canceled)
    }
    const reason = A2AError.is(cause)
      ? cause
      : new A2AError('INTERNAL', `The run broke off: ${String(cause)}`, {}, { cause })
    const { task, handle } = this.#story
    const type = isOver ? 'timed-out' : isAborted ? 'aborted' : 'error'
    return { ok: false, type, text: reason.message, error: reason, handle, ...(task && { task }) }
  }

  /** The task to be canceled. */
  async #seek(signal: AbortSignal): Promise<string | undefined> {
    const { taskId } = this.#story.handle
    if (taskId !== undefined || this.#sent === undefined) return taskId
    const finding = await this.#find(this.#sent, signal)
    if (finding.type !== 'found') return undefined
    this.#story.bind(finding.task)
    return finding.task.id
  }
}

function withoutContext(message: Message): Message {
  const rest = { ...message }
  delete rest.contextId
  return rest
}

function timeOf(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now()
}

function ended(task: RemoteTask): RunResult {
  const text = textOfTask(task)
  if (task.state === 'completed') return { ok: true, type: 'completed', task, text }
  const type = task.state === 'rejected' || task.state === 'canceled' ? task.state : 'failed'
  return { ok: false, type, task, text }
}

function isOneOf(error: unknown, codes: readonly ErrorCode[]): boolean {
  return A2AError.is(error) && codes.includes(error.code)
}

/** More of one task than may be kept. */
function isFlood(error: unknown): boolean {
  // An agent's own limit of that name has its answer for a cause.
  return (
    A2AError.is(error, 'LIMIT_EXCEEDED') && error.data.limit === 'maxTaskBytes' && error.cause === undefined
  )
}
