/**
 * The protocol's operations over a KAOS task manager.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import { isSameOwner } from '../../core/queries.js'
import type { Clock } from '../../runtime/clock.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../../server/unavailable.js'
import type { Task } from '../../core/task.js'
import type { Requests, Results, StreamEntry } from '../../wire/dialect.js'
import type { ClosableOperations } from '../../server/binding/bindings.js'
import { pushNotSupported } from '../../server/push/config.js'
import { AnswerPieces } from './answer-pieces.js'
import type { SessionMessageOptions, SessionTaskManager } from './session-task-manager.js'
import type { Source } from '../../server/streams/source.js'
import { ownedBy, type Caller, type Principal } from '../../server/caller.js'

const ANSWER_ID = 'answer'

interface TaskTarget {
  readonly id: string
  readonly tenant?: string
}

/** Supports SendMessage, GetTask and CancelTask. Every other operation is refused. */
export class SessionOperations<P extends Principal> implements ClosableOperations<P> {
  readonly #manager: SessionTaskManager
  readonly #clock: Clock
  readonly #sends = new Set<Promise<unknown>>()
  #isClosing = false

  constructor(manager: SessionTaskManager, clock: Clock) {
    this.#manager = manager
    this.#clock = clock
  }

  /** Waits for messages that are being worked on, then shuts the manager down, within `graceMs` in all. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    const began = this.#clock.now()
    // The outer limit holds even if the integrator's manager exceeds its share.
    await settleWithin(this.#clock, graceMs, [this.#end(graceMs, began)])
  }

  /** Passes to the manager the time that the work has left of `graceMs`. */
  async #end(graceMs: number, began: number): Promise<void> {
    await settleWithin(this.#clock, graceMs, this.#sends)
    // The system clock may be set back or forth during the wait.
    const leftMs = Math.min(Math.max(Math.ceil(began + graceMs - this.#clock.now()), 0), Math.ceil(graceMs))
    await this.#manager.shutdown({ graceMs: leftMs })
  }

  /** Answers when the work is done, also when the client asks to return immediately: KAOS has no task before that. */
  async SendMessage(request: Requests['SendMessage'], caller: Caller<P>): Promise<Results['SendMessage']> {
    const { historyLength } = request
    return { type: 'task', task: await this.#send(request, caller), historyLength }
  }

  /** The answer in pieces, for chats: no task streams, so clients of A2A get an error. */
  async SendStreamingMessage(
    request: Requests['SendStreamingMessage'],
    caller: Caller<P>,
  ): Promise<Source<StreamEntry>> {
    if (caller.dialect.isInCards) throw unsupported('SendStreamingMessage')
    const pieces = new AnswerPieces(this.#clock)
    const sent = this.#send(request, caller, pieces.onText)
    sent.then(pieces.end, pieces.fail)
    // What is refused is refused before the stream begins.
    await pieces.begun
    return pieces
  }

  async #send(
    request: Requests['SendMessage'],
    caller: Caller<P>,
    onText?: SessionMessageOptions['onText'],
  ): Promise<Task> {
    if (this.#isClosing) throw unavailable()
    const { message, tenant } = request
    if (request.pushConfig !== undefined) throw pushNotSupported()
    if (message.role !== 'user') {
      throw invalidParams('message.role', 'must be that of the user, not of the agent')
    }
    if (message.taskId !== undefined) await this.#refuseFollowUp({ ...request, id: message.taskId }, caller)
    const sent = this.#manager.sendMessage(textOf(message.parts), {
      sessionId: message.contextId,
      metadata: message.metadata,
      owner: ownedBy(caller.principal, tenant).owner ?? undefined,
      ...(onText && { onText }),
    })
    this.#sends.add(sent)
    try {
      return withAnswerArtifact(await sent, caller)
    } finally {
      this.#sends.delete(sent)
    }
  }

  async GetTask(request: Requests['GetTask'], caller: Caller<P>): Promise<Results['GetTask']> {
    return {
      task: withAnswerArtifact(await this.#find(request, caller), caller),
      historyLength: request.historyLength,
    }
  }

  async CancelTask(request: Requests['CancelTask'], caller: Caller<P>): Promise<Results['CancelTask']> {
    const task = await this.#find(request, caller)
    const isCanceled = await this.#manager.cancelTask(task.id)
    if (!isCanceled && isTerminal(task.state) && task.state !== 'canceled' && !request.evenIfEnded) {
      const message = `Cannot cancel task in terminal state: ${task.state}`
      throw new A2AError('TASK_NOT_CANCELABLE', message, { taskId: task.id, state: task.state })
    }
    return { task: withAnswerArtifact(await this.#find(request, caller), caller) }
  }

  ListTasks(): never {
    throw unsupported('ListTasks')
  }

  SubscribeToTask(): never {
    throw unsupported('SubscribeToTask')
  }

  CreateTaskPushNotificationConfig(): never {
    throw pushNotSupported()
  }

  GetTaskPushNotificationConfig(): never {
    throw pushNotSupported()
  }

  ListTaskPushNotificationConfigs(): never {
    throw pushNotSupported()
  }

  DeleteTaskPushNotificationConfig(): never {
    throw pushNotSupported()
  }

  GetExtendedAgentCard(): never {
    throw unsupported('GetExtendedAgentCard')
  }

  /** @throws {A2AError} `TASK_NOT_FOUND`, also for the task of another owner (A2A 1.0 §3.3.2). */
  async #find({ id, tenant }: TaskTarget, { principal }: Caller<P>): Promise<Task> {
    const task = await this.#manager.getTask(id)
    if (task === null || !isSameOwner(ownedBy(principal, tenant).owner, task.owner)) throw taskNotFound(id)
    return task
  }

  async #refuseFollowUp(target: TaskTarget, caller: Caller<P>): Promise<never> {
    const { state } = await this.#find(target, caller)
    const message = `Each message makes a task of its own; this one is ${state}`
    throw new A2AError('UNSUPPORTED_OPERATION', message, { operation: 'SendMessage' })
  }
}

/** Adds the answer as an artifact for A2A clients (A2A 1.0 §3.7). KAOS clients read it from the conversation. */
function withAnswerArtifact(task: Task, { dialect }: Pick<Caller, 'dialect'>): Task {
  const answer = task.messages.at(-1)
  const hasResult = task.artifacts.length > 0 || task.output !== null
  if (!dialect.isInCards || task.state !== 'completed' || answer?.role !== 'agent' || hasResult) return task
  return { ...task, artifacts: [{ artifactId: ANSWER_ID, parts: answer.parts }] }
}

/** The texts of the parts, joined with spaces as KAOS does. */
function textOf(parts: Requests['SendMessage']['message']['parts']): string {
  const texts = parts.flatMap(({ text }) => text ?? [])
  if (texts.length === 0) throw invalidParams('message.parts', 'must contain text')
  return texts.join(' ')
}

function unsupported(operation: string): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `${operation} is not supported`, { operation })
}
