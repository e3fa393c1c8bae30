/**
 * Provider for A2A agents.
 *
 * @module
 */
import { A2AClient } from '../../../client/a2a-client.js'
import type { MessageContent } from '../../../client/message.js'
import type { ClientOptions } from '../../../client/options.js'
import type { RemoteEvent, RemoteTask } from '../../../wire/client/dialect.js'
import { A2AError, taskNotFound } from '../../../core/errors.js'
import { lineageOfTask, readLineage } from '../../../core/lineage/lineage.js'
import type { LineageSource } from '../../../core/lineage/mark.js'
import { isPassingStatus } from '../../../http/errors.js'
import { raceAbort } from '../../../runtime/abort.js'
import { compact } from '../../../runtime/compact.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import { providerError, requireServiceOptions, type ServiceOptions } from '../shared/service.js'
import { ClientCache, toClientOptions, type Connect } from './clients.js'
import { repeat, sendOnce, toMessage } from './sending.js'
import { toReplyUpdate, toTaskUpdate, toUpdates } from './updates.js'

/** Options of {@link a2a}. */
export interface A2AOptions
  extends
    ServiceOptions,
    Pick<
      ClientOptions,
      'headers' | 'extensions' | 'limits' | 'retry' | 'protocolVersions' | 'protocolBindings' | 'generateId'
    > {}

const CLIENT_KEYS = [
  'headers',
  'extensions',
  'limits',
  'retry',
  'protocolVersions',
  'protocolBindings',
  'generateId',
] as const satisfies readonly (keyof A2AOptions)[]

/**
 * Provider for agents that speak A2A 1.0 or 0.3, over JSON-RPC or HTTP+JSON. An agent's `endpoint.url` is its base URL
 * or the URL of its card. The card is fetched once, and again with every health check.
 *
 * The parts of messages and artifacts are passed on unchanged. The agent has its own ids for tasks, messages and
 * conversations. Of those of the gateway it sees the id of the task, in the lineage of its messages.
 *
 * @throws {TypeError | RangeError} for an option with an invalid value. The error names the option.
 * @example
 * const gateway = new A2AGateway({ providers: { a2a: a2a() } })
 */
export function a2a(options: A2AOptions = {}): AgentProvider {
  requireServiceOptions(options, 'a2a', CLIENT_KEYS)
  const { authorize, ...others } = options
  // Validates the options now, not with the first task.
  new A2AClient(others)
  return new A2AProvider('a2a', (agent, signal) =>
    A2AClient.connect(agent.endpoint.url, {
      ...others,
      ...toClientOptions({ ...others, authorize }, agent),
      timeoutMs: Math.min(agent.endpoint.timeoutMs, CARD_TIMEOUT_MS),
      signal,
    }),
  )
}

/** Time limit for a card. */
const CARD_TIMEOUT_MS = 10_000
/** Limit for the silence of a stream. After it, the gateway polls the task instead. */
const IDLE_MS = 300_000
const UNKNOWN_CONTEXT =
  'it takes no context ids of clients, so that it cannot be found out whether it has the message'

interface OpenStream {
  readonly events: AsyncGenerator<RemoteEvent, undefined>
  readonly first: IteratorResult<RemoteEvent, undefined>
}

export class A2AProvider implements AgentProvider {
  readonly #name: string
  readonly #clients: ClientCache

  constructor(name: string, connect: Connect) {
    this.#name = name
    this.#clients = new ClientCache(connect)
  }

  sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    return this.#withClient(agent, call, async (client, limits) => {
      const options = { ...limits, lineage: lineageFor(task), returnImmediately: true }
      const sent = await sendOnce(toMessage(task, client), (message) => client.send(message, options))
      return sent.type === 'task' ? toTaskUpdate(sent.task) : toReplyUpdate(sent.message)
    })
  }

  getTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    return this.#withClient(agent, call, async (client, limits) =>
      toTaskUpdate(await client.getTask(taskIdOf(ref), limits)),
    )
  }

  cancelTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const taskId = taskIdOf(ref)
    return this.#withClient(agent, call, async (client, limits) => {
      const canceled = client.cancelTask(taskId, limits).catch((error: unknown): Promise<RemoteTask> => {
        if (A2AError.is(error, 'TASK_NOT_CANCELABLE')) return client.getTask(taskId, limits)
        throw error
      })
      return toTaskUpdate(await canceled)
    })
  }

  async *streamTask(
    agent: RegisteredAgent,
    task: ProviderTask,
    call: ProviderCall,
  ): AsyncGenerator<TaskUpdate, undefined> {
    const client = await this.#withClient(agent, call, (connected) => Promise.resolve(connected))
    if (client.card.capabilities.streaming === true) {
      const stream = await this.#open(client, agent, task, call)
      if (stream !== undefined) {
        try {
          const toUpdate = toUpdates()
          for (let next = stream.first; !next.done;) {
            yield toUpdate(next.value)
            next = await this.#translateErrors(agent, call, () => stream.events.next())
          }
        } finally {
          await stream.events.return(undefined)
        }
        return
      }
    }
    yield await this.sendTask(agent, task, call)
  }

  async repeatTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    return await this.#withClient(agent, call, async (client, limits) => {
      const repeated = await repeat(client, toMessage(task, client), { ...limits, lineage: lineageFor(task) })
      return repeated ?? Promise.reject(providerError(this.#name, agent, UNKNOWN_CONTEXT))
    })
  }

  /** Opens a stream. `undefined`: the card promises streams that the agent does not have. */
  async #open(
    client: A2AClient,
    agent: RegisteredAgent,
    task: ProviderTask,
    call: ProviderCall,
  ): Promise<OpenStream | undefined> {
    const options = { ...limitsOf(agent, call), lineage: lineageFor(task), idleTimeoutMs: IDLE_MS }
    const open = async (message: MessageContent): Promise<OpenStream> => {
      const events = client.stream(message, options)
      return { events, first: await events.next() }
    }
    try {
      return await this.#translateErrors(agent, call, () => sendOnce(toMessage(task, client), open))
    } catch (error) {
      // The refused request has had no effect.
      if (A2AError.is(error, 'UNSUPPORTED_OPERATION')) return undefined
      throw error
    }
  }

  async healthCheck(agent: RegisteredAgent, call: ProviderCall): Promise<AgentStatus> {
    try {
      await this.#translateErrors(agent, call, () =>
        raceAbort(call.signal, this.#clients.refresh(agent, call.signal)),
      )
      return 'online'
    } catch (error) {
      call.signal.throwIfAborted()
      const isUnreachable = A2AError.is(error, 'PROVIDER_ERROR') && error.data.status === undefined
      return isUnreachable && error.data.retryable ? 'offline' : 'degraded'
    }
  }

  #withClient<T>(
    agent: RegisteredAgent,
    call: ProviderCall,
    work: (client: A2AClient, limits: Limits) => Promise<T>,
  ): Promise<T> {
    return this.#translateErrors(agent, call, async () => {
      // Concurrent calls share the request for the card, so aborting one of them does not abort it.
      const client = await raceAbort(call.signal, this.#clients.get(agent))
      return await work(client, limitsOf(agent, call))
    })
  }

  async #translateErrors<T>(
    agent: RegisteredAgent,
    { signal }: ProviderCall,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      throw this.#toError(agent, error)
    }
  }

  #toError(agent: RegisteredAgent, error: unknown): unknown {
    if (!A2AError.is(error)) return error
    const { message } = error
    switch (error.code) {
      case 'TASK_NOT_FOUND':
      case 'UNSUPPORTED_OPERATION':
      case 'PROVIDER_ERROR':
        return error
      case 'METHOD_NOT_FOUND':
        return new A2AError(
          'UNSUPPORTED_OPERATION',
          message,
          { operation: error.data.method },
          { cause: error },
        )
      case 'RATE_LIMITED':
      case 'UNAVAILABLE': {
        const { retryAfterMs } = error.data
        return this.#error(agent, error, { retryable: true, ...compact({ retryAfterMs }) })
      }
      case 'EXTERNAL_SERVICE_ERROR': {
        const { status } = error.data
        return this.#error(agent, error, { retryable: isPassingStatus(status), ...compact({ status }) })
      }
      default:
        return this.#error(agent, error, { retryable: error.code === 'REQUEST_TIMED_OUT' })
    }
  }

  #error(agent: RegisteredAgent, cause: A2AError, about: Parameters<typeof providerError>[3]): A2AError {
    const { code, message } = cause
    if (!quotesAgent(cause)) return providerError(this.#name, agent, message, { ...about, cause })
    return providerError(this.#name, agent, `it answers with ${code}`, { ...about, said: message, cause })
  }
}

interface Limits {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

function limitsOf({ endpoint }: RegisteredAgent, { signal }: ProviderCall): Limits {
  return { signal, timeoutMs: endpoint.timeoutMs }
}

/** The gateway's task is the parent of the agent's. */
function lineageFor({ id, message }: ProviderTask): LineageSource {
  return lineageOfTask(id, readLineage(message.metadata))
}

function taskIdOf({ taskId }: TaskRef): string {
  if (typeof taskId === 'string') return taskId
  throw taskNotFound('')
}

/** Whether the error contains text from the agent: its error response, or the beginning of an unreadable one. */
function quotesAgent({ code, cause }: A2AError): boolean {
  return code === 'INVALID_AGENT_RESPONSE' || (cause !== undefined && !(cause instanceof Error))
}
