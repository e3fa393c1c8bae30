/**
 * What each operation of the protocol does with a task manager of sessions.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { Clock } from '../../runtime/clock.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { unavailable } from '../unavailable.js'
import type { Task } from '../../core/task.js'
import type { Requests, Results } from '../../wire/dialect.js'
import type { ClosableOperations } from '../binding/bindings.js'
import { pushNotSupported } from '../push/config.js'
import type { SessionTaskManager } from './session-task-manager.js'
import { ownedBy, type Caller, type Principal } from '../caller.js'

const ANSWER_ID = 'answer'

interface Asked {
  readonly id: string
  readonly tenant?: string
}

/** SendMessage, GetTask and CancelTask; nothing else is supported. */
export class SessionOperations<P extends Principal> implements ClosableOperations<P> {
  readonly #manager: SessionTaskManager
  readonly #clock: Clock
  readonly #sends = new Set<Promise<unknown>>()
  #isClosing = false

  constructor(manager: SessionTaskManager, clock: Clock) {
    this.#manager = manager
    this.#clock = clock
  }

  /** The manager ends with its handler, in the time that is left. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    const began = this.#clock.now()
    // One time for both: a manager of somebody's own may take longer.
    await settleWithin(this.#clock, graceMs, [this.#end(graceMs, began)])
  }

  /** The manager gets what is left of the time when the work has ended. */
  async #end(graceMs: number, began: number): Promise<void> {
    await settleWithin(this.#clock, graceMs, this.#sends)
    // The clock may have been set.
    const leftMs = Math.min(Math.max(Math.ceil(began + graceMs - this.#clock.now()), 0), Math.ceil(graceMs))
    await this.#manager.shutdown({ graceMs: leftMs })
  }

  /** Answers when the work is done, whether or not the client wants to wait: there is nothing to come back to before. */
  async SendMessage(request: Requests['SendMessage'], caller: Caller<P>): Promise<Results['SendMessage']> {
    if (this.#isClosing) throw unavailable()
    const { message, historyLength, tenant } = request
    if (request.pushConfig !== undefined) throw pushNotSupported()
    if (message.role !== 'user') {
      throw invalidParams('message.role', "must be the user's: only the agent speaks as the agent")
    }
    if (message.taskId !== undefined) await this.#refuseFollowUp({ ...request, id: message.taskId }, caller)
    const sent = this.#manager.sendMessage(textOf(message.parts), {
      sessionId: message.contextId,
      metadata: message.metadata,
      owner: ownedBy(caller.principal, tenant).owner ?? undefined,
    })
    this.#sends.add(sent)
    try {
      return { type: 'task', task: shown(await sent, caller), historyLength }
    } finally {
      this.#sends.delete(sent)
    }
  }

  async GetTask(request: Requests['GetTask'], caller: Caller<P>): Promise<Results['GetTask']> {
    return { task: shown(await this.#find(request, caller), caller), historyLength: request.historyLength }
  }

  async CancelTask(request: Requests['CancelTask'], caller: Caller<P>): Promise<Results['CancelTask']> {
    const task = await this.#find(request, caller)
    const isCanceled = await this.#manager.cancelTask(task.id)
    if (!isCanceled && isTerminal(task.state) && task.state !== 'canceled' && !request.evenIfEnded) {
      const message = `Cannot cancel task in terminal state: ${task.state}`
      throw new A2AError('TASK_NOT_CANCELABLE', message, { taskId: task.id, state: task.state })
    }
    return { task: shown(await this.#find(request, caller), caller) }
  }

  SendStreamingMessage(): never {
    throw unsupported('SendStreamingMessage')
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

  /** @throws {A2AError} `TASK_NOT_FOUND`, the same whether it is somebody else's or nobody's. */
  async #find({ id, tenant }: Asked, { principal }: Caller<P>): Promise<Task> {
    const task = await this.#manager.getTask(id)
    if (task === null || (task.owner ?? null) !== ownedBy(principal, tenant).owner) throw taskNotFound(id)
    return task
  }

  async #refuseFollowUp(asked: Asked, caller: Caller<P>): Promise<never> {
    const { state } = await this.#find(asked, caller)
    const message = `Each message makes a task of its own; this one is ${state}`
    throw new A2AError('UNSUPPORTED_OPERATION', message, { operation: 'SendMessage' })
  }
}

/** The clients of A2A's versions look for the answer among the artifacts (A2A 1.0 §3.7), KAOS' in the conversation. */
function shown(task: Task, { dialect }: Pick<Caller, 'dialect'>): Task {
  const answer = task.messages.at(-1)
  const isTold = task.artifacts.length > 0 || task.output !== null
  if (!dialect.isInCards || task.state !== 'completed' || answer?.role !== 'agent' || isTold) return task
  return { ...task, artifacts: [{ artifactId: ANSWER_ID, parts: answer.parts }] }
}

/** The texts, with a space between them, as KAOS joins them. */
function textOf(parts: Requests['SendMessage']['message']['parts']): string {
  const texts = parts.flatMap(({ text }) => text ?? [])
  if (texts.length === 0) throw invalidParams('message.parts', 'must contain text')
  return texts.join(' ')
}

function unsupported(operation: string): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `${operation} is not supported`, { operation })
}
