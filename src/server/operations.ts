/**
 * What each operation of the protocol does, in the core's terms.
 *
 * @module
 */
import { buildAgentCard, type AgentCardInput } from '../agent-card/index.js'
import { A2AError } from '../core/errors.js'
import { isInterrupted, isTerminal } from '../core/lifecycle.js'
import type { TaskSnapshot } from '../core/task.js'
import type { AgentCard } from '../schemas/index.js'
import type {
  Dialect,
  ListRequest,
  Operation,
  Requests,
  Results,
  StreamEntry,
  TaskPushConfig,
} from '../wire/index.js'
import { EntryStream } from './entry-stream.js'
import { sourceOf, type Source } from './frames.js'
import { requireInputModes } from './input-modes.js'
import { listTasks } from './list-tasks.js'
import { waitForNews } from './long-poll.js'
import type { Settings } from './options.js'
import { Origins } from './origins.js'
import { NO_DELIVERIES, type PushDeliveries } from './push-deliveries.js'
import { acceptWith, PushNotifications, pushNotSupported } from './push-notifications.js'
import { Runs, type Accepted, type IncomingRequest } from './runs.js'
import { Streams } from './streams.js'
import { ownedBy, requireVisible, type Caller, type Principal } from './visibility.js'

/** The operations that answer with a stream. */
export type StreamOperation = 'SendStreamingMessage' | 'SubscribeToTask'
export type Answer<O extends Operation> = O extends StreamOperation ? Source<StreamEntry> : Results[O]

/** What a binding asks beside. */
export interface TaskOrigins {
  /** The dialect in which a caller who names none has made a task, where it is not the preferred one. */
  originOf?(taskId: string, principal: Principal | undefined): Dialect | undefined
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
  readonly #runs: Runs<P>
  readonly #streams: Streams
  readonly #origins: Origins
  readonly #push: PushNotifications | undefined

  constructor(settings: Settings<P>) {
    this.#settings = settings
    this.#origins = new Origins(settings.tasks, settings.dialects[0])
    this.#runs = new Runs(settings, (taskId, caller) => this.#origins.note(taskId, caller))
    this.#streams = new Streams(settings.limits.maxStreams)
    this.#push = settings.push && new PushNotifications(settings.push, settings)
  }

  /** Empty where there are no push notifications. */
  get push(): PushDeliveries {
    return this.#push ?? NO_DELIVERIES
  }

  /** Ends all runs and streams, and then what is left to tell webhooks. */
  async close(graceMs: number): Promise<void> {
    const { clock } = this.#settings
    const now = (): number => clock.monotonic?.() ?? clock.now()
    const start = now()
    await this.#runs.close(graceMs)
    this.#streams.close()
    // Runs that have used up all of it leave tasks that have failed just now.
    await this.#push?.close(Math.max(graceMs - (now() - start), Math.min(graceMs, LAST_WORDS_MS)))
    this.#origins.close()
  }

  originOf(taskId: string, principal: Principal | undefined): Dialect | undefined {
    return this.#origins.of(taskId, principal)
  }

  async SendMessage(request: IncomingRequest, caller: Caller<P>): Promise<Results['SendMessage']> {
    this.#requireAcceptable(request, caller)
    const accepted = await this.#accept(request, caller, false)
    if (accepted.type === 'message') return accepted
    const { historyLength, returnImmediately, tenant } = request
    let task = this.#find({ id: accepted.taskId, tenant }, caller)
    if (!returnImmediately && !isTerminal(task.state) && !isInterrupted(task.state)) {
      const { tasks } = this.#settings
      const settled = tasks.waitFor(task.id, { until: 'interrupted', signal: caller.signal })
      await Promise.race([settled, accepted.broken])
      task = this.#find({ id: task.id, tenant }, caller)
    }
    return { type: 'task', task, historyLength }
  }

  async SendStreamingMessage(request: IncomingRequest, caller: Caller<P>): Promise<Source<StreamEntry>> {
    this.#requireStreaming('SendStreamingMessage')
    this.#requireAcceptable(request, caller)
    const release = this.#streams.reserve()
    let accepted: Accepted
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
        new EntryStream(subscription, {
          ...{ opening, contextId, historyLength, endsAtInput: true, onEnd },
          task: this.#peek(taskId),
        }),
    )
    broken.catch((error: unknown) => stream.fail(error))
    return stream
  }

  async GetTask(request: Requests['GetTask'], caller: Caller<P>): Promise<Results['GetTask']> {
    const { historyLength, currentGeneration: after } = request
    let task = this.#find(request, caller)
    if (after !== undefined && task.generation <= after && !isTerminal(task.state)) {
      const { tasks, longPollMs: timeoutMs } = this.#settings
      await waitForNews(tasks, this.#streams, { taskId: task.id, after, timeoutMs, signal: caller.signal })
      task = this.#find(request, caller)
    }
    return { task, historyLength }
  }

  ListTasks(request: ListRequest, caller: Caller<P>): Results['ListTasks'] {
    return listTasks(this.#settings.tasks, request, ownedBy(caller.principal, request.tenant))
  }

  CancelTask(request: Requests['CancelTask'], caller: Caller<P>): Results['CancelTask'] {
    const { id, state, message } = this.#find(request, caller)
    // Canceling twice is canceling once (A2A 1.0 §3.3.1).
    const isLate = isTerminal(state) && request.evenIfEnded === true
    if (state !== 'canceled' && !isLate) {
      this.#settings.tasks.cancelTask(id, message === undefined ? {} : { message: null })
    }
    return { task: this.#find(request, caller) }
  }

  SubscribeToTask(request: Requests['SubscribeToTask'], caller: Caller<P>): Source<StreamEntry> {
    this.#requireStreaming('SubscribeToTask')
    const { id, state, contextId, generation } = this.#find(request, caller)
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
        new EntryStream(subscription, {
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
    this.#find({ id, tenant }, caller)
    const ticket = await push.prepare(config, caller, id, false)
    try {
      // It may be gone by now.
      return ticket.register(this.#find({ id, tenant }, caller).id)
    } finally {
      ticket.cancel()
    }
  }

  GetTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['GetTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): TaskPushConfig {
    const push = this.#requirePush()
    return push.get(this.#find({ id: taskId, tenant }, caller).id, id)
  }

  ListTaskPushNotificationConfigs(
    request: Requests['ListTaskPushNotificationConfigs'],
    caller: Caller<P>,
  ): Results['ListTaskPushNotificationConfigs'] {
    const push = this.#requirePush()
    this.#find({ ...request, id: request.taskId }, caller)
    return push.list(request)
  }

  DeleteTaskPushNotificationConfig(
    { taskId, tenant, id }: Requests['DeleteTaskPushNotificationConfig'],
    caller: Caller<P>,
  ): null {
    const push = this.#requirePush()
    push.delete(this.#find({ id: taskId, tenant }, caller).id, id)
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
  #accept(request: IncomingRequest, caller: Caller<P>, isStream: boolean): Promise<Accepted> {
    const { pushConfig, message, tenant } = request
    const accept = (): Promise<Accepted> => this.#runs.accept(request, caller, isStream)
    if (pushConfig === undefined) return accept()
    const push = this.#requirePush()
    // Whether a task that the caller may not see has webhooks is not theirs to know either.
    if (message.taskId !== undefined) this.#find({ id: message.taskId, tenant }, caller)
    const taskId = message.taskId ?? request.chosenId
    return acceptWith(accept, () => push.prepare(pushConfig, caller, taskId, true))
  }

  #requirePush(): PushNotifications {
    if (this.#push === undefined) throw pushNotSupported()
    return this.#push
  }

  #find({ id, tenant }: { id: string; tenant?: string | undefined }, { principal }: Caller<P>): TaskSnapshot {
    return requireVisible(this.#settings.tasks, id, ownedBy(principal, tenant))
  }

  #peek(id: string): () => TaskSnapshot | undefined {
    return () => this.#settings.tasks.peekTask(id) ?? undefined
  }

  #requireStreaming(operation: string): void {
    if (this.#settings.card.capabilities.streaming) return
    throw new A2AError('UNSUPPORTED_OPERATION', 'Streaming is not supported', { operation })
  }

  #requireAcceptable(request: IncomingRequest, { extensions: declared }: Caller<P>): void {
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
