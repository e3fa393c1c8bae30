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
import type { ListRequest, Operation, Requests, Results, SendRequest, StreamEntry } from '../wire/index.js'
import { EntryStream } from './entry-stream.js'
import { sourceOf, type Source } from './frames.js'
import { requireInputModes } from './input-modes.js'
import { listTasks } from './list-tasks.js'
import type { Settings } from './options.js'
import { Runs, type Accepted } from './runs.js'
import { Streams } from './streams.js'
import { ownedBy, requireVisible, type Caller, type Principal } from './visibility.js'

/** The operations that answer with a stream. */
export type StreamOperation = 'SendStreamingMessage' | 'SubscribeToTask'
export type Answer<O extends Operation> = O extends StreamOperation ? Source<StreamEntry> : Results[O]

/** Each throws an `A2AError` for what the protocol has an error for; whatever else is thrown is for `onError`. */
export type Operations<P extends Principal> = {
  readonly [O in Operation]: (request: Requests[O], caller: Caller<P>) => Answer<O> | Promise<Answer<O>>
}

export function isStreamOperation(operation: Operation): operation is StreamOperation {
  return operation === 'SendStreamingMessage' || operation === 'SubscribeToTask'
}

/** The agent behind every binding. */
export class Agent<P extends Principal> implements Operations<P> {
  readonly #settings: Settings<P>
  readonly #runs: Runs<P>
  readonly #streams: Streams

  constructor(settings: Settings<P>) {
    this.#settings = settings
    this.#runs = new Runs(settings)
    this.#streams = new Streams(settings.limits.maxStreams)
  }

  /** Ends all runs and streams. */
  async close(graceMs: number): Promise<void> {
    await this.#runs.close(graceMs)
    this.#streams.close()
  }

  async SendMessage(request: SendRequest, caller: Caller<P>): Promise<Results['SendMessage']> {
    this.#requireAcceptable(request, caller)
    const accepted = await this.#runs.accept(request, caller, false)
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

  async SendStreamingMessage(request: SendRequest, caller: Caller<P>): Promise<Source<StreamEntry>> {
    this.#requireStreaming('SendStreamingMessage')
    this.#requireAcceptable(request, caller)
    const release = this.#streams.reserve()
    let accepted: Accepted
    try {
      accepted = await this.#runs.accept(request, caller, true)
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
          generation: this.#generationOf(taskId),
        }),
    )
    broken.catch((error: unknown) => stream.fail(error))
    return stream
  }

  GetTask(request: Requests['GetTask'], caller: Caller<P>): Results['GetTask'] {
    return { task: this.#find(request, caller), historyLength: request.historyLength }
  }

  ListTasks(request: ListRequest, caller: Caller<P>): Results['ListTasks'] {
    return listTasks(this.#settings.tasks, request, ownedBy(caller.principal, request.tenant))
  }

  CancelTask(request: Requests['CancelTask'], caller: Caller<P>): Results['CancelTask'] {
    const { id, state, message } = this.#find(request, caller)
    // Canceling twice is canceling once (A2A 1.0 §3.3.1).
    if (state !== 'canceled') {
      this.#settings.tasks.cancelTask(id, message === undefined ? {} : { message: null })
    }
    return { task: this.#find(request, caller) }
  }

  SubscribeToTask(request: Requests['SubscribeToTask'], caller: Caller<P>): Source<StreamEntry> {
    this.#requireStreaming('SubscribeToTask')
    const { id, state, contextId, generation } = this.#find(request, caller)
    const { lastGeneration } = caller
    // Whoever takes up a stream again still gets its end.
    const hasMore = lastGeneration !== undefined && lastGeneration < generation
    if (isTerminal(state) && !request.evenIfEnded && !hasMore) {
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
          generation: this.#generationOf(id),
        }),
    )
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

  #find({ id, tenant }: { id: string; tenant?: string | undefined }, { principal }: Caller<P>): TaskSnapshot {
    return requireVisible(this.#settings.tasks, id, ownedBy(principal, tenant))
  }

  #generationOf(id: string): () => number {
    return () => this.#settings.tasks.peekTask(id)?.generation ?? 0
  }

  #requireStreaming(operation: string): void {
    if (this.#settings.card.capabilities.streaming) return
    throw new A2AError('UNSUPPORTED_OPERATION', 'Streaming is not supported', { operation })
  }

  #requireAcceptable(request: SendRequest, { extensions: declared }: Caller<P>): void {
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

function pushNotSupported(): A2AError {
  return new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported', {})
}
