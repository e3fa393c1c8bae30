/**
 * Run of one message: sent once, and followed to the end of its task across broken connections.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { isTerminal } from '../../core/lifecycle.js'
import { requireBoolean, requirePositive } from '../../runtime/options.js'
import { elapsed } from '../../runtime/clock.js'
import { A2AError, type ErrorCode, invalidAnswer } from '../../core/errors.js'
import type { Message } from '../../core/task.js'
import { questionsIn } from '../../wire/question/questions.js'
import { textOf } from '../../wire/text.js'
import type { RemoteTask } from '../../wire/client/dialect.js'
import { AbortScope } from '../../http/abort.js'
import { cancel } from './cancel.js'
import type { Connection } from '../connection/connection.js'
import { hasStatus, isTransient, isUnprocessed } from '../../http/errors.js'
import { findTask, type Finding, type MessageKey } from './find-message.js'
import { toMarking, toMessage, withoutContext, type Marking, type MessageContent } from '../message.js'
import { fingerprintOf, resultOf, textOfTask } from './remote-task.js'
import { fetchTask, isInconclusive } from './patience.js'
import { pause, pauseMs, abortableSleep } from '../../http/retry.js'
import { AskedQuestions, type AgentQuestion, type QuestionAnswers } from './questions.js'
import type { RunOptions, RunResult } from './run-types.js'
import type { RunHandle } from '../../remote/runner.js'
import { isOneOf, isTaskTooLarge, RunAbandoned, toAbortReason, toFailureReason } from './run-errors.js'
import { CallbackFailure, RunState } from './run-state.js'
import type { StreamOptions } from '../connection/transport.js'

const IDLE_TIMEOUT_MS = 60_000
const POLL_INTERVAL_MS = 1_000
/** Errors by which an agent refuses streams that its card declares. */
const NO_STREAM_CODES: readonly ErrorCode[] = ['UNSUPPORTED_OPERATION', 'METHOD_NOT_FOUND']

/** One `run` or `resume` of a client: drives one message, or one handle, to its end. */
export class Run {
  readonly #connection: Connection
  readonly #options: RunOptions
  readonly #scope: AbortScope
  readonly #mark: Marking
  readonly #state: RunState
  readonly #questions = new AskedQuestions()
  #usesStreams: boolean
  /** The message in flight, which the agent may or may not have received. */
  #unconfirmed: MessageKey | undefined

  constructor(connection: Connection, handle: RunHandle, options: RunOptions, isOwnContext = false) {
    const { timeoutMs = Infinity, idleTimeoutMs, pollIntervalMs, onUpdate, keepUpdates = true } = options
    requirePositive('timeoutMs', timeoutMs)
    requirePositive('idleTimeoutMs', idleTimeoutMs ?? IDLE_TIMEOUT_MS)
    requirePositive('pollIntervalMs', pollIntervalMs ?? POLL_INTERVAL_MS)
    requireBoolean('keepUpdates', keepUpdates)
    const { clock, maxTaskBytes } = connection.settings
    this.#connection = connection
    this.#options = options
    this.#mark = toMarking(options.lineage, connection.card)
    this.#state = new RunState(isOwnContext ? { ...handle, isOwnContext: true } : handle, {
      maxTaskBytes,
      onUpdate,
      keepUpdates,
      onCallbackFailure: (failure) => this.#scope.abort(failure),
    })
    this.#usesStreams = connection.card.capabilities.streaming === true
    // Not linked to the caller's signal: an abort before the start is a result, not an error.
    this.#scope = new AbortScope(clock, undefined)
  }

  /** Sends `message`, or resumes from the handle without one. Rejects only with what a callback throws. */
  async drive(message: Message | undefined): Promise<RunResult> {
    const { signal, timeoutMs = Infinity } = this.#options
    const ignore = onAbort(signal, () => this.#scope.abort(toAbortReason(signal?.reason)))
    if (!signal?.aborted) this.#scope.arm(timeoutMs, 'The run did not end')
    // An earlier process may have sent the message: an abort finds its task.
    if (message === undefined || this.#options.repeats) this.#unconfirmed = message ?? this.#state.handle
    try {
      this.#signal.throwIfAborted()
      for (let current = await this.#toSend(message); ;) {
        const result = await this.#turn(current)
        if (result !== undefined && 'ok' in result) return result
        current = result
      }
    } catch (error) {
      return await this.#toFailure(error)
    } finally {
      this.#scope.dispose()
      ignore()
    }
  }

  /** The message, if it is still to be sent. Otherwise there is a task to follow. */
  async #toSend(message: Message | undefined): Promise<Message | undefined> {
    if (message === undefined) {
      await this.#locateTask()
      return undefined
    }
    if (await this.#hasArrivedBefore(message)) return undefined
    await this.#reportStart()
    return message
  }

  /** Finds the task of a handle without task id: its run was abandoned before the agent responded. */
  async #locateTask(): Promise<void> {
    const { messageId, taskId } = this.#state.handle
    if (taskId !== undefined) return
    const found = await this.#findTask(this.#state.handle, this.#signal)
    if (found.type === 'found') return
    if (found.type === 'unknown' && found.error !== undefined) throw found.error
    throw new A2AError('TASK_NOT_FOUND', `The agent reports no task for message ${messageId}`, {
      taskId: '',
    })
  }

  /**
   * Whether an earlier attempt has sent the message, or may have: then its task is followed, and the message not sent.
   *
   * @throws {A2AError} `INVALID_AGENT_RESPONSE` if the agent does not say, and there is no task to follow.
   */
  async #hasArrivedBefore(message: Message): Promise<boolean> {
    if (this.#options.repeats === undefined) return false
    const found = await this.#findTask(message, this.#signal)
    this.#unconfirmed = undefined
    if (found.type === 'nowhere') return false
    if (found.type === 'unknown' && found.error !== undefined) throw found.error
    if (found.type === 'unknown' && message.taskId === undefined)
      throw invalidAnswer(`it does not tell whether message ${message.messageId} has arrived`)
    return true
  }

  async #reportStart(): Promise<void> {
    const { onStart } = this.#options
    if (onStart !== undefined) await this.#runCallback(() => onStart(this.#state.handle))
  }

  /**
   * One turn of the conversation.
   *
   * @returns The result of the run, the user's next message, or `undefined` to follow the same task again.
   */
  async #turn(message: Message | undefined): Promise<RunResult | Message | undefined> {
    const reply = message === undefined ? undefined : await this.#say(message)
    this.#unconfirmed = undefined
    if (reply !== undefined) return { ok: true, type: 'message', message: reply, text: textOf(reply) }
    const settled = await this.#followUntilSettled()
    const task = this.#state.complete(settled)
    if (isTerminal(task.state)) return resultOf(task)
    const { onAuthRequired, onInputRequired, onQuestions } = this.#options
    const text = textOfTask(task)
    const { handle } = this.#state
    const isAuth = task.state === 'auth-required'
    if (isAuth && onAuthRequired === undefined)
      return { ok: false, type: 'auth-required', task, text, handle }
    const questions = this.#questions.of(task)
    if (questions.length === 0 && questionsIn(task.message).length > 0) {
      // The agent has their answers, and has not read them yet.
      this.#state.markAnswered(settled)
      return undefined
    }
    const answer = isAuth
      ? await this.#answersTo(questions, task, (asked) => onAuthRequired?.(task, asked))
      : ((questions.length > 0
          ? await this.#answersTo(questions, task, (asked) => onQuestions?.(asked, task))
          : undefined) ?? (await this.#runCallback(() => onInputRequired?.(task))))
    if (answer === undefined) {
      if (!isAuth) return { ok: false, type: 'input-required', task, text, handle }
      this.#state.markAnswered(settled)
      return undefined
    }
    const { contextId = handle.contextId } = task
    const { generateId } = this.#connection.settings
    const next = await this.#runCallback(() => toMessage(answer, { taskId: task.id, contextId }, generateId))
    this.#state.markAnswered(settled)
    return next
  }

  /** Submits a message. If the agent refuses the answer that it gives, its questions are asked again. */
  async #say(message: Message): Promise<Message | undefined> {
    try {
      const reply = await this.#submit(message)
      this.#questions.taken()
      return reply
    } catch (error) {
      if (!this.#questions.isRefusal(error) && !(await this.#hasEnded(error))) throw error
      this.#state.forgetAnswer()
      return undefined
    }
  }

  /** Whether the agent refuses an answer because its task has ended since it asked: the task is the result then. */
  async #hasEnded(error: unknown): Promise<boolean> {
    const { taskId: id } = this.#state.handle
    if (id === undefined || !this.#state.isAnswering || isInconclusive(error)) return false
    const reading = this.#connection.call('GetTask', { id, historyLength: 0 }, this.#callOptions)
    const task = await reading.catch(() => undefined)
    return task !== undefined && isTerminal(task.state)
  }

  /** What the user answers to questions by their ids; `undefined` if nothing. */
  async #answersTo(
    questions: readonly AgentQuestion[],
    task: RemoteTask,
    ask: (asked: readonly AgentQuestion[]) => unknown,
  ): Promise<MessageContent | undefined> {
    for (let asked = questions; ; asked = this.#questions.of(task)) {
      const answers = await this.#runCallback(() => ask(asked))
      if (typeof answers !== 'object' || answers === null || Object.keys(answers).length === 0)
        return undefined
      // A list has names that are of no question.
      const values = answers as QuestionAnswers
      const message = await this.#runCallback(() => this.#questions.answer(asked, values))
      if (message !== undefined) return message
    }
  }

  /** Calls a callback of the user and marks what it throws. Stops waiting for it when the run is aborted. */
  #runCallback<T>(callback: () => T | Promise<T>): Promise<T> {
    return this.#scope.race(async () => {
      try {
        return await callback()
      } catch (error) {
        throw new CallbackFailure(error)
      }
    })
  }

  /**
   * Sends `message`, and again only where the agent has certainly not received it. The task is in the state afterwards.
   *
   * @returns The agent's reply if it is a message without a task.
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
        // The task exists: it can be followed, whatever broke.
        if (this.#state.eventCount > eventCount) return undefined
        if (!wasLost && this.#isContextRefused(message, error)) {
          this.#state.dropContext()
          await this.#reportStart()
          return await this.#submit(withoutContext(message))
        }
        if (this.#areStreamsRefused(error)) {
          this.#usesStreams = false
          continue
        }
        // The connection has already retried transient errors.
        if (isUnprocessed(error) || !isInconclusive(error)) {
          // The agent may refuse the second copy because it received the first one.
          if (!wasLost || !(await this.#hasArrived(message))) throw error
          return undefined
        }
        wasLost = true
        const found = await this.#findTask(message, this.#signal, hasStatus(error))
        if (found.type === 'found') return undefined
        if (found.type === 'unknown' || this.#options.resend === false) throw error
        if (attempt >= pacing.attempts) throw error
        await pause(pacing, this.#signal, attempt, error)
      }
    }
  }

  /** Whether the agent refuses context ids that it has not generated (A2A 1.0 §3.4.1). */
  #isContextRefused(message: MessageKey, error: unknown): boolean {
    return this.#isAloneInContext(message) && isOneOf(error, ['INVALID_PARAMS', 'TASK_NOT_FOUND'])
  }

  #areStreamsRefused(error: unknown): boolean {
    if (!this.#usesStreams) return false
    return (isUnprocessed(error) && !isTransient(error)) || isOneOf(error, NO_STREAM_CODES)
  }

  /** Returns whether the context id was generated by this run, so that the context can only have this run's task. */
  #isAloneInContext({ taskId, contextId }: MessageKey): boolean {
    const { handle } = this.#state
    return taskId === undefined && handle.isOwnContext === true && contextId === handle.contextId
  }

  async #hasArrived(message: Message): Promise<boolean> {
    return (await this.#findTask(message, this.#signal)).type === 'found'
  }

  /** Searches for the task of a message, and continues with it. */
  async #findTask(message: MessageKey, signal: AbortSignal, isQuick = false): Promise<Finding> {
    const { messageId } = this.#state.handle
    const found = await findTask(this.#connection, message, signal, {
      isOwnContext: this.#isAloneInContext(message),
      earlierMessageId: messageId,
      isQuick,
    })
    if (found.type === 'found') this.#state.bind(found.task)
    return found
  }

  async #send(message: Message): Promise<Message | undefined> {
    this.#unconfirmed = message
    const { acceptedOutputModes = [], metadata, pushConfig } = this.#options
    const params = {
      message: this.#mark(message),
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
      if (this.#state.eventCount === eventCount) throw this.#connection.endedEarly()
      return undefined
    }
    const sent = await this.#connection.call('SendMessage', params, this.#callOptions)
    if (sent.type === 'message') return sent.message
    this.#state.apply({ event: sent, id: undefined, size: 0 })
    return undefined
  }

  /** Follows the task until it is terminal or waits for the user. `GetTask` decides; a stream only reports. */
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
      // A stream that resumes after its last event continues from the state that its events built.
      const isReplayed = this.#usesStreams && this.#state.handle.lastEventId !== undefined
      if (!isReplayed) this.#state.reportIfChanged(task)
      const since = elapsed(this.#connection.settings.clock)
      const streamSaysSettled = this.#usesStreams && (await this.#follow(id))
      // Skip the pause once: an agent whose streams keep claiming a settled task must not cause a busy loop.
      skipsPause = streamSaysSettled && unchangedPolls === 0 && !skipsPause
      if (!skipsPause) await this.#waitForNextPoll(unchangedPolls, since)
    }
  }

  /** Fetches the task. One that has ended or waits is returned as it is known if the agent does not say more. */
  async #poll(id: string): Promise<RemoteTask> {
    const { task, isWhole } = this.#state
    const seen = task && this.#state.isSettled(task) ? task : undefined
    const polled = await fetchTask(this.#connection, id, this.#callOptions, seen, isWhole)
    this.#state.observe(polled)
    return polled
  }

  /** Follows a stream until it ends, breaks or settles the task. @returns `true` if it settled the task. */
  async #follow(id: string): Promise<boolean> {
    const { lastEventId } = this.#state.handle
    this.#state.interrupt()
    try {
      const options = { ...this.#streamOptions, lastEventId }
      for await (const item of this.#connection.stream('SubscribeToTask', { id }, options)) {
        if (this.#state.apply(item)) return true
      }
    } catch (error) {
      this.#throwIfOver(error)
      // UNSUPPORTED_OPERATION may also mean that the task has just ended: poll again, and keep using streams.
      if (isOneOf(error, ['METHOD_NOT_FOUND', 'INVALID_AGENT_RESPONSE'])) this.#usesStreams = false
      if (A2AError.is(error, 'LIMIT_EXCEEDED')) throw error
    }
    return false
  }

  /** Pauses until the next poll, less the time since `since` that a stream was open. */
  async #waitForNextPoll(unchangedPolls: number, since: number): Promise<void> {
    const { pollIntervalMs = POLL_INTERVAL_MS } = this.#options
    const { clock, pacing } = this.#connection.settings
    const pollMs =
      pollIntervalMs * Math.min(10, 1.5 ** Math.min(unchangedPolls, 20)) * (0.9 + 0.2 * pacing.random())
    const delayMs = this.#usesStreams && unchangedPolls === 0 ? pauseMs(pacing, 1) : pollMs
    const restMs = delayMs - Math.max(0, elapsed(clock) - since)
    if (restMs > 0) await abortableSleep(clock, restMs, this.#signal)
  }

  get #signal(): AbortSignal {
    return this.#scope.signal
  }

  get #callOptions(): { signal: AbortSignal; headers: RunOptions['headers'] } {
    return { signal: this.#signal, headers: this.#options.headers }
  }

  get #streamOptions(): StreamOptions {
    return { ...this.#callOptions, idleTimeoutMs: this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS }
  }

  /** @throws whatever ends the run: an abort, the time limit, a failed callback, a task over `maxTaskBytes`. */
  #throwIfOver(error: unknown): void {
    if (error instanceof CallbackFailure || isTaskTooLarge(error)) throw error
    if (this.#signal.aborted) throw this.#signal.reason
  }

  /**
   * The result of a run that cannot continue. Cancels the task after an abort, a failed callback or a limit, unless another
   * process continues with it.
   */
  async #toFailure(error: unknown): Promise<RunResult> {
    const isAborted = this.#signal.aborted
    const cause: unknown = isAborted ? this.#signal.reason : error
    const failure = [error, cause].find((each) => each instanceof CallbackFailure)
    const hasTimedOut = isAborted && A2AError.is(cause, 'REQUEST_TIMED_OUT')
    let canceled: RemoteTask | undefined
    const isCanceled = (isAborted && !hasTimedOut) || isTaskTooLarge(error) || failure !== undefined
    if (isCanceled && !(cause instanceof RunAbandoned)) {
      canceled = await cancel(this.#connection, this.#options.headers, (signal) =>
        this.#findTaskToCancel(signal),
      )
    }
    if (failure !== undefined) throw failure.reason
    if (canceled !== undefined && !isTaskTooLarge(error)) {
      if (isTerminal(canceled.state)) return resultOf(canceled)
      this.#state.setTask(canceled)
    }
    const reason = toFailureReason(cause)
    const { task, handle } = this.#state
    const type = hasTimedOut ? 'timed-out' : isAborted ? 'aborted' : 'error'
    return { ok: false, type, text: reason.message, error: reason, handle, ...(task && { task }) }
  }

  /** The id of the task to cancel; `undefined` if the agent has none. */
  async #findTaskToCancel(signal: AbortSignal): Promise<string | undefined> {
    const { taskId } = this.#state.handle
    if (taskId !== undefined || this.#unconfirmed === undefined) return taskId
    const found = await this.#findTask(this.#unconfirmed, signal)
    return found.type === 'found' ? found.task.id : undefined
  }
}
