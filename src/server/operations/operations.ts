/**
 * The operations of the protocol.
 *
 * @module
 */
import { elapsed } from '../../runtime/clock.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { TaskDocuments } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type {
  Dialect,
  ListRequest,
  Operation,
  PushConfig,
  Requests,
  Results,
  StreamEntry,
  TaskPushConfig,
} from '../../wire/dialect.js'
import type { AcceptedMessage } from '../schedule/accepted-message.js'
import { TaskStream } from '../streams/task-stream.js'
import { sourceOf, type Source } from '../streams/frame-stream.js'
import { requireInputModes } from './input-modes.js'
import { acceptInContext, mayAnswer } from './answer-by-context.js'
import { listTasks } from './list-tasks.js'
import { waitForChange } from './long-poll.js'
import { PageTokens } from './page-tokens.js'
import { toExtendedCard, type Settings } from '../options.js'
import { TaskDialects } from './task-dialects.js'
import { MemoryDocuments } from '../memory-documents.js'
import { pushNotSupported } from '../push/config.js'
import { NO_DELIVERIES, type PushDeliveries } from '../push/health.js'
import { PushRegistry, type Register } from '../push/registry.js'
import { RunManager } from '../schedule/run-manager.js'
import { Observers } from '../observers.js'
import { NO_WEBHOOKS, type HandlerStats } from '../stats.js'
import { StreamLimit } from '../streams/stream-limit.js'
import type { MaybePromise } from '../../core/managers.js'
import { findChosen, requireVisible } from '../chosen-ids.js'
import { isPromise, isShared, lastSeen } from '../tasks.js'
import { ownedBy, type Caller, type Principal } from '../caller.js'

/** The operations that answer with a stream. */
export type StreamOperation = 'SendStreamingMessage' | 'SubscribeToTask'
export type Answer<O extends Operation> = O extends StreamOperation ? Source<StreamEntry> : Results[O]

/** What bindings need besides operations. */
export interface DialectLookup {
  /** The dialect in which this principal created the task without naming a version, if it is not the preferred one. */
  dialectOf?(taskId: string, principal: Principal | undefined): Promise<Dialect | undefined>
}

/** Each rejects with an `A2AError` where the protocol defines an error; other errors go to `onError`. */
export type Operations<P extends Principal> = {
  readonly [O in Operation]: (request: Requests[O], caller: Caller<P>) => Answer<O> | Promise<Answer<O>>
} & DialectLookup & {
    /** Throws if no request can succeed because the agent does not have what `operation` needs. */
    requireSupported?(operation: Operation): void
  }

export function isStreamOperation(operation: Operation): operation is StreamOperation {
  return operation === 'SendStreamingMessage' || operation === 'SubscribeToTask'
}

const NO_CONTEXT = `is required without authentication. To allow lists of all tasks, set "authenticate" on the handler, \
or anonymous: 'shared'`

/** The least time, in ms, to deliver to streams and webhooks how closing has ended tasks. */
const LAST_DELIVERIES_MS = 1_000

/** The agent behind every binding. */
export class Agent<P extends Principal> implements Operations<P> {
  readonly observers = new Observers()
  readonly #settings: Settings<P>
  readonly #runs: RunManager<P>
  readonly #streams: StreamLimit
  readonly #documents: TaskDocuments
  readonly #dialects: TaskDialects
  readonly #push: PushRegistry | undefined
  readonly #pageTokens = new PageTokens()

  constructor(settings: Settings<P>) {
    this.#settings = settings
    const { tasks, push, limits } = settings
    this.#documents = isShared(tasks) ? tasks.documents : new MemoryDocuments(tasks)
    this.#dialects = new TaskDialects(settings, this.#documents)
    const note = (taskId: string, caller: Caller<P>): void => this.#dialects.note(taskId, caller)
    this.#runs = new RunManager(settings, note, this.observers)
    this.#streams = new StreamLimit(limits)
    this.#push = push && new PushRegistry(push, { ...settings, observers: this.observers }, this.#documents)
  }

  get push(): PushDeliveries {
    return this.#push ?? NO_DELIVERIES
  }

  stats(): HandlerStats {
    const webhooks = this.#push?.count() ?? NO_WEBHOOKS
    return { runs: this.#runs.count, streams: this.#streams.count, webhooks }
  }

  /** Ends all runs and streams, and then the deliveries to webhooks. */
  async close(graceMs: number): Promise<void> {
    const { clock } = this.#settings
    const start = elapsed(clock)
    await this.#runs.close(graceMs)
    // Runs may have used all of it, and closing has ended their tasks just now.
    const restMs = Math.max(graceMs - (elapsed(clock) - start), Math.min(graceMs, LAST_DELIVERIES_MS))
    await Promise.all([this.#streams.close(clock, restMs), this.#push?.close(restMs)])
    this.#dialects.close()
    if (this.#documents instanceof MemoryDocuments) this.#documents.close()
  }

  dialectOf(taskId: string, principal: Principal | undefined): Promise<Dialect | undefined> {
    return this.#dialects.of(taskId, principal)
  }

  async SendMessage(request: Requests['SendMessage'], caller: Caller<P>): Promise<Results['SendMessage']> {
    this.#requireAcceptable(request, caller)
    const accepted = await this.#accept(request, caller, false)
    if (accepted.type === 'message') return accepted
    const { historyLength, returnImmediately, tenant } = request
    const { tasks } = this.#settings
    const seen = accepted.isNew ? lastSeen(tasks, accepted.taskId) : undefined
    const found = seen ?? this.#find({ id: accepted.taskId, tenant }, caller)
    let task = isPromise(found) ? await found : found
    // Over a TaskManager the task may end during this: the answer still shows it as the message was accepted.
    if (accepted.registering !== undefined) await accepted.registering
    if (!returnImmediately && !isTerminal(task.state) && !isInterrupted(task.state)) {
      const settled = tasks.waitFor(task.id, { until: 'interrupted', signal: caller.signal })
      await Promise.race([settled, accepted.broken])
      const waited = lastSeen(tasks, task.id)
      const isSame = waited?.createdAt === task.createdAt
      task = isSame ? waited : await this.#find({ id: task.id, tenant }, caller)
    }
    return { type: 'task', task, historyLength }
  }

  async SendStreamingMessage(
    request: Requests['SendMessage'],
    caller: Caller<P>,
  ): Promise<Source<StreamEntry>> {
    this.#requireAcceptable(request, caller)
    const release = this.#streams.reserve(ownedBy(caller.principal, request.tenant).owner)
    let accepted: AcceptedMessage
    try {
      accepted = await this.#accept(request, caller, true)
      if (accepted.type === 'task' && accepted.registering !== undefined) await accepted.registering
    } catch (error) {
      release()
      throw error
    }
    if (accepted.type === 'message') {
      release()
      return sourceOf<StreamEntry>({ ...accepted, last: true })
    }
    const { taskId, opening, broken } = accepted
    const subscription = this.#settings.tasks.subscribe(taskId, { after: opening?.generation })
    const { historyLength } = request
    const { contextId = '' } = opening ?? {}
    const stream = this.#streams.open(
      release,
      (listeners) =>
        new TaskStream(subscription, {
          ...{ opening, contextId, historyLength, endsAtInput: true, ...listeners },
          task: this.#peek(taskId),
        }),
    )
    broken.catch((error: unknown) => stream.fail(error))
    return stream
  }

  async GetTask(request: Requests['GetTask'], caller: Caller<P>): Promise<Results['GetTask']> {
    const { historyLength, currentGeneration: after } = request
    const found = this.#find(request, caller)
    let task = isPromise(found) ? await found : found
    if (after !== undefined && task.generation <= after && !isTerminal(task.state)) {
      const { tasks, longPollMs: timeoutMs } = this.#settings
      await waitForChange(tasks, this.#streams, { task, after, timeoutMs, signal: caller.signal })
      task = await this.#find(request, caller)
    }
    return { task, historyLength }
  }

  ListTasks(request: ListRequest, caller: Caller<P>): Promise<Results['ListTasks']> {
    const { tasks, anonymous } = this.#settings
    if (caller.principal === undefined && !request.contextId && anonymous !== 'shared') {
      throw invalidParams('contextId', NO_CONTEXT)
    }
    const owner = ownedBy(caller.principal, request.tenant)
    return listTasks(tasks, request, owner, isShared(tasks) ? undefined : this.#pageTokens)
  }

  async CancelTask(request: Requests['CancelTask'], caller: Caller<P>): Promise<Results['CancelTask']> {
    const { id, state, message } = await this.#find(request, caller)
    // Canceling is idempotent (A2A 1.0 §3.3.1).
    const isDone = (now: string): boolean => now === 'canceled' || request.evenIfEnded === true
    if (!isTerminal(state) || !isDone(state)) {
      try {
        await this.#settings.tasks.cancelTask(id, message === undefined ? {} : { message: null })
      } catch (error) {
        // Another process may have ended the task in between.
        if (!A2AError.is(error, 'TASK_NOT_CANCELABLE') || !isDone(error.data.state)) throw error
      }
    }
    return { task: await this.#find(request, caller) }
  }

  async SubscribeToTask(
    request: Requests['SubscribeToTask'],
    caller: Caller<P>,
  ): Promise<Source<StreamEntry>> {
    const { id, state, contextId, generation, owner = null } = await this.#find(request, caller)
    const { lastGeneration } = caller
    // A client that resumes a stream still receives its end. One that has received it is refused, so that it stops.
    const hasMore = lastGeneration === undefined ? request.evenIfEnded : lastGeneration < generation
    if (isTerminal(state) && !hasMore) {
      const message = `Cannot subscribe to a task in terminal state: ${state}`
      throw new A2AError('TASK_TERMINAL', message, { taskId: id, state })
    }
    const release = this.#streams.reserve(owner)
    const subscription = this.#settings.tasks.subscribe(id, { after: lastGeneration })
    return this.#streams.open(
      release,
      (listeners) =>
        new TaskStream(subscription, {
          ...{ contextId, historyLength: undefined, endsAtInput: false, ...listeners, after: lastGeneration },
          task: this.#peek(id),
        }),
    )
  }

  async CreateTaskPushNotificationConfig(
    { taskId: id, tenant, config }: Requests['CreateTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<TaskPushConfig> {
    const push = this.#requirePush()
    const { id: taskId } = await this.#find({ id, tenant }, caller)
    const register = await push.prepare(config, caller, taskId, false)
    // The task may have been removed while the configuration was checked.
    return await register(taskId, await this.#find({ id: taskId, tenant }, caller))
  }

  async GetTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['GetTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<TaskPushConfig> {
    const push = this.#requirePush()
    return await push.get(await this.#find({ id: taskId, tenant }, caller), id)
  }

  async ListTaskPushNotificationConfigs(
    request: Requests['ListTaskPushNotificationConfigs'],
    caller: Caller<P>,
  ): Promise<Results['ListTaskPushNotificationConfigs']> {
    const push = this.#requirePush()
    return await push.list(await this.#find({ ...request, id: request.taskId }, caller), request)
  }

  async DeleteTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['DeleteTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<null> {
    const push = this.#requirePush()
    await push.delete(await this.#find({ id: taskId, tenant }, caller), id)
    return null
  }

  async GetExtendedAgentCard(_: unknown, { principal }: Caller<P>): Promise<AgentCard> {
    const { card, extendedCard } = this.#settings
    if (!card.capabilities.extendedAgentCard) {
      const operation = 'GetExtendedAgentCard'
      throw new A2AError('UNSUPPORTED_OPERATION', 'There is no extended agent card', { operation })
    }
    if (extendedCard === undefined) {
      throw new A2AError(
        'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
        'The extended agent card is not configured',
        {},
      )
    }
    if (principal === undefined) throw new A2AError('UNAUTHENTICATED', 'Authentication required', {})
    return toExtendedCard(await extendedCard(principal))
  }

  /**
   * Accepts a message. Not `async`: over a `TaskManager` each microtask between the acceptance and the reading of the task
   * lets the executor change it, and then a caller that does not wait receives a later state.
   */
  #accept(request: Requests['SendMessage'], caller: Caller<P>, isStream: boolean): Promise<AcceptedMessage> {
    if (!mayAnswer(this.#settings, request)) return this.#acceptAsNamed(request, caller, isStream)
    const owner = ownedBy(caller.principal, request.tenant)
    return acceptInContext(this.#settings.tasks, request, owner, (named) =>
      this.#acceptAsNamed(named, caller, isStream),
    )
  }

  #acceptAsNamed(
    request: Requests['SendMessage'],
    caller: Caller<P>,
    isStream: boolean,
  ): Promise<AcceptedMessage> {
    const { pushConfig } = request
    const accept = (): Promise<AcceptedMessage> =>
      this.#dialects.afterStoring(this.#runs.accept(request, caller, isStream), caller)
    return pushConfig === undefined ? accept() : this.#acceptWith(pushConfig, accept, request, caller)
  }

  /** Accepts a message that names a webhook. If the webhook is refused, so is the message. */
  async #acceptWith(
    pushConfig: PushConfig,
    accept: () => Promise<AcceptedMessage>,
    request: Requests['SendMessage'],
    caller: Caller<P>,
  ): Promise<AcceptedMessage> {
    const register = await this.#prepareWebhook(pushConfig, request, caller)
    return await this.#acceptAndRegister(accept, register)
  }

  async #acceptAndRegister(
    accept: () => Promise<AcceptedMessage>,
    register: Register,
  ): Promise<AcceptedMessage> {
    const accepted = await accept()
    if (accepted.type === 'message') return accepted
    const { taskId } = accepted
    const task = this.#settings.tasks.peekTask(taskId)
    if (isPromise(task)) {
      await register(taskId, await task)
      return accepted
    }
    const registering = register(taskId, task)
    // The operation awaits it, unless its task is gone first.
    registering.catch(() => undefined)
    return { ...accepted, registering }
  }

  async #prepareWebhook(
    pushConfig: PushConfig,
    { message, tenant, chosenId }: Requests['SendMessage'],
    caller: Caller<P>,
  ): Promise<Register> {
    const push = this.#requirePush()
    // Whether a task of another owner has webhooks must not be revealed either.
    const { tasks } = this.#settings
    const known =
      message.taskId !== undefined
        ? await this.#find({ id: message.taskId, tenant }, caller)
        : chosenId && (await findChosen(tasks, chosenId, ownedBy(caller.principal, tenant)))
    return await push.prepare(pushConfig, caller, known ? known.id : undefined, true)
  }

  #requirePush(): PushRegistry {
    if (this.#push === undefined) throw pushNotSupported()
    return this.#push
  }

  #find(
    { id, tenant }: { id: string; tenant?: string | undefined },
    { principal }: Caller<P>,
  ): MaybePromise<TaskSnapshot> {
    return requireVisible(this.#settings.tasks, id, ownedBy(principal, tenant))
  }

  #peek(id: string): () => TaskSnapshot | undefined {
    return () => lastSeen(this.#settings.tasks, id)
  }

  requireSupported(operation: Operation): void {
    if (operation.includes('PushNotification')) this.#requirePush()
    if (!isStreamOperation(operation) || this.#settings.card.capabilities.streaming) return
    throw new A2AError('UNSUPPORTED_OPERATION', 'Streaming is not supported', { operation })
  }

  #requireAcceptable(request: Requests['SendMessage'], { extensions: declared }: Caller<P>): void {
    const { card, checkInputModes } = this.#settings
    if (checkInputModes) requireInputModes(card, request.message.parts)
    // A2A 1.0 §4.6.3.
    const missing = (card.capabilities.extensions ?? []).flatMap(({ uri, required }) =>
      required === true && uri !== undefined && !declared.includes(uri) ? [uri] : [],
    )
    if (missing.length === 0) return
    const message = `Extension support required: ${missing.join(', ')}`
    throw new A2AError('EXTENSION_SUPPORT_REQUIRED', message, { extensions: missing })
  }
}
