/**
 * Acceptance of messages: the checks that precede any work, and what a message leads to.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import { shareJson } from '../../core/json.js'
import type { JsonValue } from '../../core/json-types.js'
import type { MaybePromise } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'
import { requireMessage } from '../../core/validate.js'
import type { IncomingMessage, SendRequest } from '../../wire/dialect.js'
import { textOf } from '../../wire/text.js'
import { ownedBy, type Caller, type Principal } from '../caller.js'
import { identified, keptId } from '../chosen-ids.js'
import type { Offer } from '../execute.js'
import { recognizes, sentId } from '../idempotency.js'
import type { Observers } from '../observers.js'
import { asAnswer } from '../run/answered-by.js'
import { withoutMark } from '../run/marks.js'
import type { QueuedMessage } from '../run/message-queue.js'
import { isPromise } from '../tasks.js'
import { acceptedAgain, acceptedBy, type AcceptedMessage } from './active-run.js'
import { deadlineIn } from './deadlines.js'
import type { OwnerTasks } from './owner-tasks.js'
import { RepeatedMessages } from './repeated-messages.js'
import type { RunScheduler, SchedulePort } from './run-scheduler.js'

/** What another user than the owner of a task is told of the answer. */
const RECEIVED = 'The answer has been received'

interface Context<P extends Principal> extends Pick<SchedulePort<P>, 'settings' | 'registry' | 'begin'> {
  readonly scheduler: RunScheduler<P>
  readonly ownerTasks: OwnerTasks
  readonly observers: Pick<Observers, 'trace'>
}

export class Acceptance<P extends Principal> {
  readonly #context: Context<P>
  readonly #repeated: RepeatedMessages | undefined

  constructor(context: Context<P>) {
    const { settings, registry } = context
    const { idempotency } = settings
    this.#context = context
    const accepted = (task: TaskSnapshot): AcceptedMessage => acceptedAgain(registry, task)
    this.#repeated = idempotency && new RepeatedMessages(settings, idempotency, accepted)
  }

  /**
   * Accepts a message: as the beginning of a new task, as an answer to a task that waits, or as a follow-up of one that is
   * worked on. A message that was accepted before leads to the same task or reply.
   *
   * @throws {A2AError} `UNAVAILABLE`; `RATE_LIMITED`; `INVALID_PARAMS`; for a task that the message names: `TASK_NOT_FOUND`,
   *   `TASK_GENERATION_MISMATCH`, `TASK_TERMINAL`, `UNSUPPORTED_OPERATION` by `onFollowUp`. What `execute.accept` throws.
   *   Where tasks are shared, `STORE_FAILED`.
   */
  accept(
    given: SendRequest<IncomingMessage>,
    caller: Caller<P>,
    isStream: boolean,
  ): Promise<AcceptedMessage> {
    const { chosenId, tenant } = given
    const repeated = recognizes(this.#context.settings.idempotency, caller) ? this.#repeated : undefined
    const messageId = repeated && sentId(given.message, caller)
    const unsigned = withoutMark(given.message)
    const message = messageId === undefined ? unsigned : { ...unsigned, messageId }
    const request = message === given.message ? given : { ...given, message }
    const { scheduler } = this.#context
    const isNamed = chosenId !== undefined || message.taskId !== undefined
    if (chosenId !== undefined && scheduler.acceptChosen !== undefined) {
      const accept = (): Promise<AcceptedMessage> => this.#accept(request, caller, isStream)
      return scheduler.acceptChosen(accept, chosenId, () => ownedBy(caller.principal, tenant))
    }
    if (repeated === undefined || messageId === undefined || isNamed)
      return this.#accept(request, caller, isStream)
    const sent = { ...ownedBy(caller.principal, tenant), message: { ...message, messageId } }
    return repeated.accept(sent, (newId) => this.#accept(request, caller, isStream, newId))
  }

  /** @param newId - The id of the task, if the message begins one. Default is one of the task manager's choice. */
  async #accept(
    given: SendRequest<IncomingMessage>,
    caller: Caller<P>,
    isStream: boolean,
    newId?: string,
  ): Promise<AcceptedMessage> {
    this.#context.registry.requireOpen()
    const owner = ownedBy(caller.principal, given.tenant)
    const identifying = identified(this.#context.settings, given, owner)
    const request = isPromise(identifying) ? await identifying : identifying
    if (request.message.role !== 'user') {
      throw invalidParams('message.role', 'must be that of the user, not of the agent')
    }
    // The same checks as the core's, before any work begins. Messages are JSON: their interface only lacks an index signature.
    const { taskId } = requireMessage(request.message as unknown as JsonValue, 'message')
    if (caller.ownsJson) {
      shareJson(request.message.parts)
      shareJson(request.message.metadata)
    }
    const chosen = newId === undefined ? request : { ...request, chosenId: newId }
    const deadline = deadlineIn(request, this.#context.settings.clock)
    const queued = { request: chosen, caller, owner, deadline, trace: this.#context.observers.trace() }
    this.#context.registry.held.requireRoom(request)
    const checking = this.#context.settings.windows?.requireLeft(owner.owner)
    if (checking !== undefined) await checking
    if (taskId !== undefined) {
      const accepted = this.#followUp(taskId, queued)
      return isPromise(accepted) ? await accepted : accepted
    }
    return await this.#acceptNew(request, queued, isStream)
  }

  /** The message begins a new task, if there is room for one. */
  async #acceptNew(
    request: SendRequest,
    queued: QueuedMessage<P> & { readonly owner: ReturnType<typeof ownedBy> },
    isStream: boolean,
  ): Promise<AcceptedMessage> {
    const { settings, registry, scheduler, ownerTasks, begin } = this.#context
    const { caller, owner } = queued
    const loading = scheduler.loadReferences?.(request, owner)
    const references = loading && (await loading)
    registry.requireRoom(owner)
    const accepting = settings.execute.accept?.({ ...toOffer(request, caller), ...owner })
    if (accepting !== undefined) await accepting
    const counting = ownerTasks.count(owner)
    const live = isPromise(counting) ? await counting : counting
    // Other messages may have been accepted in between, and the agent may be closing.
    if (accepting !== undefined || isPromise(counting)) registry.requireRoom(owner)
    const refusing = live && ownerTasks.refusal(owner, live)
    if (refusing !== undefined) throw await refusing
    const active = begin(queued, { isStream, references })
    const response = await active.run.response.wait()
    if (response.type === 'message') return response
    if (active.stored !== undefined) await active.stored
    return { ...acceptedBy(active, response.taskId, active.opening), isNew: true }
  }

  /** A task whose id the client chose is kept under another one: it is looked up where there is none with that id. */
  #followUp(taskId: string, message: QueuedMessage<P>): MaybePromise<AcceptedMessage> {
    return this.#send(taskId, message, (error) => {
      const ofOther = (): Promise<AcceptedMessage> => this.#answerOfOther(taskId, message, error)
      const kept = keptId(message.owner, taskId)
      if (kept === taskId) return ofOther()
      const { request } = message
      const own = { ...request, message: { ...request.message, taskId: kept } }
      return this.#send(kept, { ...message, request: own }, ofOther)
    })
  }

  /** @param onMissing - Called with the error when the owner of the message has no such task. */
  #send(
    taskId: string,
    message: QueuedMessage<P>,
    onMissing: (error: unknown) => MaybePromise<AcceptedMessage>,
  ): MaybePromise<AcceptedMessage> {
    const onError = (error: unknown): MaybePromise<AcceptedMessage> => {
      if (!A2AError.is(error, 'TASK_NOT_FOUND')) throw error
      return onMissing(error)
    }
    try {
      const accepted: MaybePromise<AcceptedMessage> = this.#context.scheduler.followUp(taskId, message)
      return isPromise(accepted) ? accepted.catch(onError) : accepted
    } catch (error) {
      return onError(error)
    }
  }

  /**
   * The task is another's, and may ask something that this caller may answer. He gets a message, and nothing of the task.
   *
   * @param error - That of a task which does not exist.
   */
  async #answerOfOther(
    taskId: string,
    { request, ...queued }: QueuedMessage<P>,
    error: unknown,
  ): Promise<AcceptedMessage> {
    const { settings, scheduler } = this.#context
    const { owner } = queued.owner
    const task = typeof owner === 'string' ? await settings.tasks.peekTask(taskId) : null
    const message = task && typeof owner === 'string' ? asAnswer(task, owner, request.message) : undefined
    if (task === null || message === undefined) throw error
    const ofTask = { owner: task.owner ?? null }
    await scheduler.followUp(taskId, { ...queued, owner: ofTask, request: { ...request, message } })
    const receipt = { messageId: settings.generateId(), role: 'agent' as const, parts: [{ text: RECEIVED }] }
    return { type: 'message', message: receipt }
  }
}

function toOffer<P extends Principal>(
  { message, metadata = {}, tenant }: SendRequest,
  { principal }: Caller<P>,
): Omit<Offer<P>, 'owner'> {
  return { message, text: textOf(message), metadata, tenant, principal }
}
