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
import type {
  Dialect,
  IncomingMessage,
  ListRequest,
  Operation,
  Requests,
  Results,
  SendRequest,
  StreamEntry,
  TaskPushConfig,
} from '../../wire/dialect.js'
import { TaskStream } from '../streams/task-stream.js'
import { sourceOf, type Source } from '../streams/source.js'
import { listTasks } from './list-tasks.js'
import { isStreamOperation, type Operations } from './perform.js'
import { waitForChange } from './long-poll.js'
import { PageTokens } from './page-tokens.js'
import { Sending } from './sending.js'
import { toExtendedCard, type Settings } from '../options.js'
import { TaskDialects } from './task-dialects.js'
import { MemoryDocuments } from '../memory-documents.js'
import { NO_DELIVERIES, type PushDeliveries } from '../push/health.js'
import { PushRegistry, requirePush } from '../push/registry.js'
import { questionFor } from '../run/answered-by.js'
import { RunManager } from '../schedule/run-manager.js'
import { Observers } from '../observers.js'
import { NO_WEBHOOKS, type HandlerStats } from '../stats.js'
import { StreamLimit } from '../streams/stream-limit.js'
import { requireVisible } from '../chosen-ids.js'
import { isPromise, isShared, lastSeen } from '../tasks.js'
import { ownedBy, type Caller, type Principal } from '../caller.js'

const NO_CONTEXT = `is required without authentication. To allow lists of all tasks, set "authenticate" on the handler, \
or anonymous: 'shared'`

/** The least time, in ms, to deliver to streams and webhooks how closing has ended tasks. */
const LAST_DELIVERIES_MS = 1_000

/** The agent behind every binding. */
export class Agent<P extends Principal> implements Operations<P> {
  readonly observers = new Observers()
  readonly #settings: Settings<P>
  readonly #runs: RunManager<P>
  readonly #sending: Sending<P>
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
    this.#runs = new RunManager(settings, this.#dialects, this.observers)
    this.#streams = new StreamLimit(limits)
    this.#push = push && new PushRegistry(push, { ...settings, observers: this.observers }, this.#documents)
    const { acceptance } = this.#runs
    this.#sending = new Sending(settings, { acceptance, dialects: this.#dialects, push: this.#push })
  }

  get push(): PushDeliveries {
    return this.#push ?? NO_DELIVERIES
  }

  stats(): HandlerStats {
    const webhooks = this.#push?.count() ?? NO_WEBHOOKS
    return { runs: this.#runs.count, streams: this.#streams.count, webhooks }
  }

  /** Does the turn of a task, as `Worker.run` says. */
  take(taskId: string): Promise<void> {
    return this.#runs.take(taskId)
  }

  /** Looks for turns that no process does. */
  takeDue(): void {
    this.#runs.takeDue()
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

  async SendMessage(
    request: SendRequest<IncomingMessage>,
    caller: Caller<P>,
  ): Promise<Results['SendMessage']> {
    this.#sending.requireAcceptable(request, caller)
    const accepted = await this.#sending.accept(request, caller, false)
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
    request: SendRequest<IncomingMessage>,
    caller: Caller<P>,
  ): Promise<Source<StreamEntry>> {
    this.#sending.requireAcceptable(request, caller)
    const release = this.#streams.reserve(ownedBy(caller.principal, request.tenant).owner)
    let accepted: Awaited<ReturnType<Sending<P>['accept']>>
    try {
      accepted = await this.#sending.accept(request, caller, true)
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
    let task: TaskSnapshot
    try {
      const found = this.#find(request, caller)
      task = isPromise(found) ? await found : found
    } catch (error) {
      return { task: await this.#findQuestion(request, caller, error), historyLength }
    }
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
    const push = requirePush(this.#push)
    const { id: taskId } = await this.#find({ id, tenant }, caller)
    const register = await push.prepare(config, caller, taskId, false)
    // The task may have been removed while the configuration was checked.
    return await register(taskId, await this.#find({ id: taskId, tenant }, caller))
  }

  async GetTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['GetTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<TaskPushConfig> {
    const push = requirePush(this.#push)
    return await push.get(await this.#find({ id: taskId, tenant }, caller), id)
  }

  async ListTaskPushNotificationConfigs(
    request: Requests['ListTaskPushNotificationConfigs'],
    caller: Caller<P>,
  ): Promise<Results['ListTaskPushNotificationConfigs']> {
    const push = requirePush(this.#push)
    return await push.list(await this.#find({ ...request, id: request.taskId }, caller), request)
  }

  async DeleteTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['DeleteTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<null> {
    const push = requirePush(this.#push)
    await push.delete(await this.#find({ id: taskId, tenant }, caller), id)
    return null
  }

  async GetExtendedAgentCard(_: unknown, { principal }: Caller<P>): Promise<Results['GetExtendedAgentCard']> {
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

  #find(
    { id, tenant }: { id: string; tenant?: string | undefined },
    { principal }: Caller<P>,
  ): ReturnType<typeof requireVisible> {
    return requireVisible(this.#settings.tasks, id, ownedBy(principal, tenant))
  }

  /**
   * The question of another's task, for a caller who may answer it.
   *
   * @param error - That of a task which does not exist.
   */
  async #findQuestion(
    { id, tenant }: Requests['GetTask'],
    { principal }: Caller<P>,
    error: unknown,
  ): Promise<TaskSnapshot> {
    const { owner } = ownedBy(principal, tenant)
    if (!A2AError.is(error, 'TASK_NOT_FOUND') || owner === null) throw error
    const task = await this.#settings.tasks.peekTask(id)
    const question = task === null ? undefined : questionFor(task, owner)
    if (question === undefined) throw error
    return question
  }

  #peek(id: string): () => ReturnType<typeof lastSeen> {
    return () => lastSeen(this.#settings.tasks, id)
  }

  requireSupported(operation: Operation): void {
    if (operation.includes('PushNotification')) requirePush(this.#push)
    if (!isStreamOperation(operation) || this.#settings.card.capabilities.streaming) return
    throw new A2AError('UNSUPPORTED_OPERATION', 'Streaming is not supported', { operation })
  }
}
