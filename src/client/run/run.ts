/**
 * One message and what becomes of it, whatever happens to the connections.
 *
 * @module
 */
import { elapsed, type Clock } from '../../runtime/clock.js'
import { A2AError, type ErrorCode } from '../../core/errors.js'
import type { Message } from '../../core/task.js'
import { invalidAnswer } from '../../wire/client/answer.js'
import { textOf } from '../../wire/text.js'
import type { RemoteTask } from '../../wire/client/dialect.js'
import { Abortion } from '../../http/abort.js'
import { cancel } from './cancel.js'
import type { Connection } from '../connection/connection.js'
import { isPassing, isUndone } from '../../http/errors.js'
import { findTask, isInconclusive, type MessageKey } from './find-message.js'
import { toMessage } from '../message.js'
import { requirePositive } from '../options.js'
import { isTerminal, fingerprintOf, textOfTask } from './remote-task.js'
import { pause, pauseMs, sleep } from '../../http/retry.js'
import type { RunHandle, RunOptions, RunResult } from './run-types.js'
import { CallbackFailure, RunState } from './run-state.js'
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
const NO_STREAM_CODES: readonly ErrorCode[] = ['UNSUPPORTED_OPERATION', 'METHOD_NOT_FOUND']

export class Run {
  readonly #connection: Connection
  readonly #options: RunOptions
  readonly #abortion: Abortion
  readonly #state: RunState
  #usesStreams: boolean
  /** Our message that the agent may or may not have. */
  #unconfirmed: Message | undefined

  constructor(connection: Connection, handle: RunHandle, options: RunOptions, isOwnContext = false) {
    const { timeoutMs = Infinity, idleTimeoutMs, pollIntervalMs, onUpdate } = options
    requirePositive('timeoutMs', timeoutMs)
    requirePositive('idleTimeoutMs', idleTimeoutMs ?? IDLE_TIMEOUT_MS)
    requirePositive('pollIntervalMs', pollIntervalMs ?? POLL_INTERVAL_MS)
    const { clock, maxTaskBytes } = connection.settings
    this.#connection = connection
    this.#options = options
    this.#state = new RunState(isOwnContext ? { ...handle, isOwnContext: true } : handle, {
      maxTaskBytes,
      onUpdate,
      fail: (failure) => this.#abortion.abort(failure),
    })
    this.#usesStreams = connection.card.capabilities.streaming === true
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
      if (message === undefined) await this.#locateTask()
      for (let current = message; ;) {
        const result = await this.#turn(current)
        if (result !== undefined && 'ok' in result) return result
        current = result
      }
    } catch (error) {
      return await this.#toFailure(error)
    } finally {
      this.#abortion.dispose()
      signal?.removeEventListener('abort', abort)
    }
  }

  /** A run that was given up before the agent had answered is found as a lost answer is. */
  async #locateTask(): Promise<void> {
    const { messageId, taskId } = this.#state.handle
    if (taskId !== undefined) return
    const found = await this.#findTask(this.#state.handle, this.#signal)
    if (found.type === 'found') this.#state.bind(found.task)
    else if (found.type === 'unknown' && found.error !== undefined) throw found.error
    else
      throw new A2AError('TASK_NOT_FOUND', `The agent tells of no task for message ${messageId}`, {
        taskId: '',
      })
  }

  /** Up to the end, or to the next message of ours, or until the task is to be followed again. */
  async #turn(message: Message | undefined): Promise<RunResult | Message | undefined> {
    const reply = message === undefined ? undefined : await this.#submit(message)
    this.#unconfirmed = undefined
    if (reply !== undefined) return { ok: true, type: 'message', message: reply, text: textOf(reply) }
    const task = await this.#followUntilSettled()
    if (isTerminal(task)) return resultOf(task)
    const { onAuthRequired, onInputRequired } = this.#options
    const text = textOfTask(task)
    const { handle } = this.#state
    if (task.state === 'auth-required') {
      if (onAuthRequired === undefined) return { ok: false, type: task.state, task, text, handle }
      await this.#runCallback(() => onAuthRequired(task))
      this.#state.markAnswered(task)
      return undefined
    }
    const answer = await this.#runCallback(() => onInputRequired?.(task))
    if (answer === undefined) return { ok: false, type: 'input-required', task, text, handle }
    const { contextId = handle.contextId } = task
    const { generateId } = this.#connection.settings
    const next = await this.#runCallback(() => toMessage(answer, { taskId: task.id, contextId }, generateId))
    this.#state.markAnswered(task)
    return next
  }

  /** A callback's error is the caller's, and not an answer of the agent. It is not waited for when the run is over. */
  #runCallback<T>(callback: () => T | Promise<T>): Promise<T> {
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
    this.#state.unbind()
    for (let attempt = 1, wasLost = false; ; attempt += 1) {
      const { eventCount } = this.#state
      try {
        return await this.#send(message)
      } catch (error) {
        this.#throwIfOver(error)
        // It came to be: whatever broke then, the task can be followed.
        if (this.#state.eventCount > eventCount) return undefined
        if (
          !wasLost &&
          this.#isAloneInContext(message) &&
          isOneOf(error, ['INVALID_PARAMS', 'TASK_NOT_FOUND'])
        ) {
          // The agent takes no conversation that it has not begun (A2A 1.0 §3.4.1).
          this.#state.dropContext()
          return await this.#submit(withoutContext(message))
        }
        const wasRefused = isUndone(error)
        if (this.#usesStreams && ((wasRefused && !isPassing(error)) || isOneOf(error, NO_STREAM_CODES))) {
          this.#usesStreams = false
          continue
        }
        // What may pass was repeated by the connection already.
        if (wasRefused || !isInconclusive(error)) {
          // Who refuses a message that was sent again may have got the first one after all.
          if (!wasLost || !(await this.#hasArrived(message))) throw error
          return undefined
        }
        wasLost = true
        const found = await this.#findTask(message, this.#signal)
        if (found.type === 'found') {
          this.#state.bind(found.task)
          return undefined
        }
        if (found.type === 'unknown' || this.#options.resend === false) throw error
        if (attempt >= pacing.attempts) throw error
        await pause(pacing, this.#signal, attempt, error)
      }
    }
  }

  /** An id that nobody else knows: the conversation has our task only. */
  #isAloneInContext({ taskId, contextId }: MessageKey): boolean {
    const { handle } = this.#state
    return taskId === undefined && handle.isOwnContext === true && contextId === handle.contextId
  }

  async #hasArrived(message: Message): Promise<boolean> {
    const found = await this.#findTask(message, this.#signal)
    if (found.type === 'found') this.#state.bind(found.task)
    return found.type === 'found'
  }

  #findTask(message: MessageKey, signal: AbortSignal): ReturnType<typeof findTask> {
    const { messageId } = this.#state.handle
    return findTask(this.#connection, message, signal, {
      isOwnContext: this.#isAloneInContext(message),
      earlierMessageId: messageId,
    })
  }

  async #send(message: Message): Promise<Message | undefined> {
    this.#unconfirmed = message
    const { acceptedOutputModes = [], metadata, pushConfig } = this.#options
    const params = {
      message,
      returnImmediately: true,
      acceptedOutputModes,
      ...(metadata !== undefined && { metadata }),
      ...(pushConfig !== undefined && { pushConfig }),
    }
    if (this.#usesStreams) {
      const { eventCount } = this.#state
      for await (const item of this.#connection.stream('SendStreamingMessage', params, this.#streamOptions)) {
        if (item.event.type === 'message') return item.event.message
        if (this.#state.apply(item, true)) return undefined
      }
      if (this.#state.eventCount === eventCount) throw invalidAnswer('the stream has no event')
      return undefined
    }
    const sent = await this.#connection.call('SendMessage', params, this.#callOptions)
    if (sent.type === 'message') return sent.message
    this.#state.apply({ event: sent, id: undefined, size: 0 })
    return undefined
  }

  /** Follows the task until it has ended or waits for us; what a stream says of that counts only if GetTask says so, too. */
  async #followUntilSettled(): Promise<RemoteTask> {
    const id = this.#state.handle.taskId
    if (id === undefined) throw invalidAnswer('it names no task')
    let fingerprint: string | undefined
    for (let unchangedPolls = 0, skipsPause = false; ;) {
      const task = await this.#poll(id)
      if (this.#state.isSettled(task)) {
        this.#state.reportFinal(task)
        return task
      }
      const last = fingerprint
      fingerprint = fingerprintOf(task)
      unchangedPolls = fingerprint === last ? unchangedPolls + 1 : 0
      // A stream that resumes after its last event goes on from the task as its events made it.
      if (!this.#usesStreams || this.#state.handle.lastEventId === undefined)
        this.#state.reportIfChanged(task)
      const since = elapsed(this.#connection.settings.clock)
      const streamSaysSettled = this.#usesStreams && (await this.#follow(id))
      // Whoever only claims that the task has settled is asked no faster for it.
      skipsPause = streamSaysSettled && unchangedPolls === 0 && !skipsPause
      if (!skipsPause) await this.#waitForNextPoll(unchangedPolls, since)
    }
  }

  /** The task as the agent tells of it, however often one has to ask. */
  async #poll(id: string): Promise<RemoteTask> {
    const { pacing } = this.#connection.settings
    for (let failures = 1; ; failures += 1) {
      try {
        const task = await this.#connection.call('GetTask', { id }, this.#callOptions)
        this.#state.observe(task)
        return task
      } catch (error) {
        this.#throwIfOver(error)
        const { task } = this.#state
        // The agent need not keep what it has told.
        if (A2AError.is(error, 'TASK_NOT_FOUND') && task !== undefined && isTerminal(task)) return task
        const mayPass = isInconclusive(error) || A2AError.is(error, 'INTERNAL')
        if (!mayPass || failures > 2 * pacing.attempts) throw error
        await pause(pacing, this.#signal, failures, error)
      }
    }
  }

  /** Reads on in a stream until it ends, breaks, or says that the task has settled: whether it says so. */
  async #follow(id: string): Promise<boolean> {
    const { lastEventId } = this.#state.handle
    try {
      const options = { ...this.#streamOptions, lastEventId }
      for await (const item of this.#connection.stream('SubscribeToTask', { id }, options)) {
        if (this.#state.apply(item)) return true
      }
    } catch (error) {
      this.#throwIfOver(error)
      // A task that has just ended has no stream either: that costs a look more, and is no reason to give up streams.
      if (isOneOf(error, ['METHOD_NOT_FOUND', 'INVALID_AGENT_RESPONSE'])) this.#usesStreams = false
      if (A2AError.is(error, 'LIMIT_EXCEEDED')) throw error
    }
    return false
  }

  /** Until the next look; a stream that was open since then has taken that time already. */
  async #waitForNextPoll(unchangedPolls: number, since: number): Promise<void> {
    const { pollIntervalMs = POLL_INTERVAL_MS } = this.#options
    const { clock, pacing } = this.#connection.settings
    const pollMs =
      pollIntervalMs * Math.min(10, 1.5 ** Math.min(unchangedPolls, 20)) * (0.9 + 0.2 * pacing.random())
    const delayMs = this.#usesStreams && unchangedPolls === 0 ? pauseMs(pacing, 1) : pollMs
    const restMs = delayMs - Math.max(0, elapsed(clock) - since)
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
  #throwIfOver(error: unknown): void {
    if (error instanceof CallbackFailure || isTaskTooLarge(error)) throw error
    if (this.#signal.aborted) throw this.#signal.reason
  }

  /** The run cannot go on: what remains to be said of it. */
  async #toFailure(error: unknown): Promise<RunResult> {
    const isAborted = this.#signal.aborted
    const cause: unknown = isAborted ? this.#signal.reason : error
    const failure = [error, cause].find((each) => each instanceof CallbackFailure)
    const hasTimedOut = isAborted && A2AError.is(cause, 'REQUEST_TIMED_OUT')
    let canceled: RemoteTask | undefined
    if ((isAborted && !hasTimedOut) || isTaskTooLarge(error) || failure !== undefined) {
      canceled = await cancel(this.#connection, this.#options.headers, (signal) =>
        this.#findTaskToCancel(signal),
      )
    }
    if (failure !== undefined) throw failure.reason
    if (canceled !== undefined && !isTaskTooLarge(error)) {
      if (isTerminal(canceled)) return resultOf(canceled)
      this.#state.setTask(canceled)
    }
    const reason = A2AError.is(cause)
      ? cause
      : new A2AError('INTERNAL', `The run broke off: ${String(cause)}`, {}, { cause })
    const { task, handle } = this.#state
    const type = hasTimedOut ? 'timed-out' : isAborted ? 'aborted' : 'error'
    return { ok: false, type, text: reason.message, error: reason, handle, ...(task && { task }) }
  }

  /** The task to be canceled. */
  async #findTaskToCancel(signal: AbortSignal): Promise<string | undefined> {
    const { taskId } = this.#state.handle
    if (taskId !== undefined || this.#unconfirmed === undefined) return taskId
    const found = await this.#findTask(this.#unconfirmed, signal)
    if (found.type !== 'found') return undefined
    this.#state.bind(found.task)
    return found.task.id
  }
}

function withoutContext(message: Message): Message {
  const rest = { ...message }
  delete rest.contextId
  return rest
}

function resultOf(task: RemoteTask): RunResult {
  const text = textOfTask(task)
  if (task.state === 'completed') return { ok: true, type: 'completed', task, text }
  const type = task.state === 'rejected' || task.state === 'canceled' ? task.state : 'failed'
  return { ok: false, type, task, text }
}

function isOneOf(error: unknown, codes: readonly ErrorCode[]): boolean {
  return A2AError.is(error) && codes.includes(error.code)
}

/** More of one task than may be kept. */
function isTaskTooLarge(error: unknown): boolean {
  // An agent's own limit of that name has its answer for a cause.
  return (
    A2AError.is(error, 'LIMIT_EXCEEDED') && error.data.limit === 'maxTaskBytes' && error.cause === undefined
  )
}
