/**
 * What each operation of the protocol does, in the core's terms.
 *
 * @module
 */
import { elapsed } from '../../runtime/clock.js'
import { buildAgentCard, type AgentCardInput } from '../../agent-card/build.js'
import { A2AError } from '../../core/errors.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
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
import type { AcceptedMessage } from '../runs/accepted-message.js'
import { TaskStream } from '../streams/task-stream.js'
import { sourceOf, type Source } from '../streams/frame-stream.js'
import { requireInputModes } from './input-modes.js'
import { listTasks } from './list-tasks.js'
import { waitForNews } from './long-poll.js'
import type { Settings } from '../options.js'
import { toOrigins, type Origins } from './task-dialects.js'
import { noDeliveries, toPush, type EitherDeliveries } from '../push/either.js'
import { acceptWith, pushNotSupported, type PushService } from '../push/service.js'
import { RunManager } from '../runs/run-manager.js'
import { StreamLimit } from '../streams/stream-limit.js'
import { isPending, lastSeen } from '../tasks.js'
import type { MaybePromise } from '../../core/managers.js'
import { ownedBy, requireVisible, type Caller, type Principal } from '../caller.js'

/** The operations that answer with a stream. */
export type StreamOperation = 'SendStreamingMessage' | 'SubscribeToTask'
export type Answer<O extends Operation> = O extends StreamOperation ? Source<StreamEntry> : Results[O]

/** What a binding asks beside. */
export interface TaskOrigins {
  /** The dialect in which a caller who names none has made a task, where it is not the preferred one. */
  originOf?(taskId: string, principal: Principal | undefined): MaybePromise<Dialect | undefined>
}

/** Each throws an `A2AError` for what the protocol has an error for; whatever else is thrown is for `onError`. */
export type Operations<P extends Principal> = {
  readonly [O in Operation]: (request: Requests[O], caller: Caller<P>) => Answer<O> | Promise<Answer<O>>
} & TaskOrigins

export function isStreamOperation(operation: Operation): operation is StreamOperation {
  return operation === 'SendStreamingMessage' || operation === 'SubscribeToTask'
}

/** How long webhooks have to hear of the tasks that closing has ended. */
const LAST_WORDS_MS = 1_000

/** The agent behind every binding. */
export class Agent<P extends Principal> implements Operations<P> {
  readonly #settings: Settings<P>
  readonly #runs: RunManager<P>
  readonly #streams: StreamLimit
  readonly #origins: Origins
  readonly #push: (PushService & EitherDeliveries) | undefined

  constructor(settings: Settings<P>) {
    this.#settings = settings
    this.#origins = toOrigins(settings)
    this.#runs = new RunManager(settings, (taskId, caller) => this.#origins.note(taskId, caller))
    this.#streams = new StreamLimit(settings.limits.maxStreams)
    this.#push = toPush(settings)
  }

  /** Empty where there are no push notifications. */
  get push(): EitherDeliveries {
    return this.#push ?? noDeliveries(this.#settings.tasks)
  }

  /** Ends all runs and streams, and then what is left to tell webhooks. */
  async close(graceMs: number): Promise<void> {
    const { clock } = this.#settings
    const now = (): number => elapsed(clock)
    const start = now()
    await this.#runs.close(graceMs)
    this.#streams.close()
    // Runs that have used up all of it leave tasks that have failed just now.
    await this.#push?.close(Math.max(graceMs - (now() - start), Math.min(graceMs, LAST_WORDS_MS)))
    this.#origins.close()
  }

  originOf(taskId: string, principal: Principal | undefined): MaybePromise<Dialect | undefined> {
    return this.#origins.of(taskId, principal)
  }

  async SendMessage(request: Requests['SendMessage'], caller: Caller<P>): Promise<Results['SendMessage']> {
    this.#requireAcceptable(request, caller)
    const accepted = await this.#accept(request, caller, false)
    if (accepted.type === 'message') return accepted
    const { historyLength, returnImmediately, tenant } = request
    const found = this.#find({ id: accepted.taskId, tenant }, caller)
    let task = isPending(found) ? await found : found
    if (!returnImmediately && !isTerminal(task.state) && !isInterrupted(task.state)) {
      const { tasks } = this.#settings
      const settled = tasks.waitFor(task.id, { until: 'interrupted', signal: caller.signal })
      await Promise.race([settled, accepted.broken])
      task = await this.#find({ id: task.id, tenant }, caller)
    }
    return { type: 'task', task, historyLength }
  }

  async SendStreamingMessage(
    request: Requests['SendMessage'],
    caller: Caller<P>,
  ): Promise<Source<StreamEntry>> {
    this.#requireStreaming('SendStreamingMessage')
    this.#requireAcceptable(request, caller)
    const release = this.#streams.reserve()
    let accepted: AcceptedMessage
    try {
      accepted = await this.#accept(request, caller, true)
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
      (onEnd) =>
        new TaskStream(subscription, {
          ...{ opening, contextId, historyLength, endsAtInput: true, onEnd },
          task: this.#peek(taskId),
        }),
    )
    broken.catch((error: unknown) => stream.fail(error))
    return stream
  }

  async GetTask(request: Requests['GetTask'], caller: Caller<P>): Promise<Results['GetTask']> {
    const { historyLength, currentGeneration: after } = request
    const found = this.#find(request, caller)
    let task = isPending(found) ? await found : found
    if (after !== undefined && task.generation <= after && !isTerminal(task.state)) {
      const { tasks, longPollMs: timeoutMs } = this.#settings
      await waitForNews(tasks, this.#streams, { taskId: task.id, after, timeoutMs, signal: caller.signal })
      task = await this.#find(request, caller)
    }
    return { task, historyLength }
  }

  ListTasks(request: ListRequest, caller: Caller<P>): Promise<Results['ListTasks']> {
    return listTasks(this.#settings.tasks, request, ownedBy(caller.principal, request.tenant))
  }

  async CancelTask(request: Requests['CancelTask'], caller: Caller<P>): Promise<Results['CancelTask']> {
    const found = this.#find(request, caller)
    const { id, state, message } = isPending(found) ? await found : found
    // Canceling twice is canceling once (A2A 1.0 §3.3.1).
    const isDone = (now: string): boolean => now === 'canceled' || request.evenIfEnded === true
    if (!isTerminal(state) || !isDone(state)) {
      try {
        await this.#settings.tasks.cancelTask(id, message === undefined ? {} : { message: null })
      } catch (error) {
        // Where tasks are shared, another process may have ended it meanwhile.
        if (!A2AError.is(error, 'TASK_NOT_CANCELABLE') || !isDone(error.data.state)) throw error
      }
    }
    return { task: await this.#find(request, caller) }
  }

  async SubscribeToTask(
    request: Requests['SubscribeToTask'],
    caller: Caller<P>,
  ): Promise<Source<StreamEntry>> {
    this.#requireStreaming('SubscribeToTask')
    const found = this.#find(request, caller)
    const { id, state, contextId, generation } = isPending(found) ? await found : found
    const { lastGeneration } = caller
    // Whoever takes up a stream again still gets its end. Who has that is refused, or he would come back for ever.
    const hasMore = lastGeneration === undefined ? request.evenIfEnded : lastGeneration < generation
    if (isTerminal(state) && !hasMore) {
      const message = `Cannot subscribe to a task in terminal state: ${state}`
      throw new A2AError('TASK_TERMINAL', message, { taskId: id, state })
    }
    const release = this.#streams.reserve()
    const subscription = this.#settings.tasks.subscribe(id, { after: lastGeneration })
    return this.#streams.open(
      release,
      (onEnd) =>
        new TaskStream(subscription, {
          ...{ contextId, historyLength: undefined, endsAtInput: false, onEnd, after: lastGeneration },
          task: this.#peek(id),
        }),
    )
  }

  async CreateTaskPushNotificationConfig(
    { taskId: id, tenant, config }: Requests['CreateTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<TaskPushConfig> {
    const push = this.#requirePush()
    const found = this.#find({ id, tenant }, caller)
    if (isPending(found)) await found
    const ticket = await push.prepare(config, caller, id, false)
    try {
      // It may be gone by now.
      const found = this.#find({ id, tenant }, caller)
      const registered = ticket.register(id, isPending(found) ? await found : found)
      return isPending(registered) ? await registered : registered
    } finally {
      ticket.cancel()
    }
  }

  async GetTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['GetTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<TaskPushConfig> {
    const push = this.#requirePush()
    const found = this.#find({ id: taskId, tenant }, caller)
    return push.get(isPending(found) ? await found : found, id)
  }

  async ListTaskPushNotificationConfigs(
    request: Requests['ListTaskPushNotificationConfigs'],
    caller: Caller<P>,
  ): Promise<Results['ListTaskPushNotificationConfigs']> {
    const push = this.#requirePush()
    const found = this.#find({ ...request, id: request.taskId }, caller)
    return push.list(isPending(found) ? await found : found, request)
  }

  async DeleteTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['DeleteTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): Promise<null> {
    const push = this.#requirePush()
    const found = this.#find({ id: taskId, tenant }, caller)
    const deleted = push.delete(isPending(found) ? await found : found, id)
    if (isPending(deleted)) await deleted
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
    return this.#checkCard(await extendedCard(principal))
  }

  /** A card that makes no sense is the agent's fault, and nothing that the client could mend. */
  #checkCard(input: AgentCardInput): AgentCard {
    try {
      return buildAgentCard(input)
    } catch (cause) {
      throw new TypeError('"extendedCard" is no card', { cause })
    }
  }

  /** Takes a message in, with the webhook that it names. */
  #accept(request: Requests['SendMessage'], caller: Caller<P>, isStream: boolean): Promise<AcceptedMessage> {
    const { pushConfig } = request
    const accept = (): Promise<AcceptedMessage> =>
      this.#origins.keep(this.#runs.accept(request, caller, isStream), caller)
    return pushConfig === undefined ? accept() : this.#acceptWith(pushConfig, accept, request, caller)
  }

  async #acceptWith(
    pushConfig: PushConfig,
    accept: () => Promise<AcceptedMessage>,
    { message, tenant, chosenId }: Requests['SendMessage'],
    caller: Caller<P>,
  ): Promise<AcceptedMessage> {
    const push = this.#requirePush()
    // Whether a task that the caller may not see has webhooks is not theirs to know either.
    if (message.taskId !== undefined) {
      const found = this.#find({ id: message.taskId, tenant }, caller)
      if (isPending(found)) await found
    }
    const { tasks } = this.#settings
    const known = chosenId !== undefined && tasks.peekTask(chosenId, ownedBy(caller.principal, tenant))
    const chosen = isPending(known) ? await known : known
    const taskId = message.taskId ?? (chosen ? chosenId : undefined)
    return await acceptWith(accept, () => push.prepare(pushConfig, caller, taskId, true), tasks)
  }

  #requirePush(): PushService {
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

  #requireStreaming(operation: string): void {
    if (this.#settings.card.capabilities.streaming) return
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
