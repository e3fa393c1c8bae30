/**
 * Agents that are functions of this process, or whatever else their author writes.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { describe } from '../../runtime/describe.js'
import { raceAbort } from '../../runtime/abort.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { AgentStatus, RegisteredAgent } from '../registry/agent.js'
import { requireUpdate } from '../turns/apply-update.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../provider.js'
import { providerError } from './shared/service.js'
import { fold } from './shared/fold.js'

/** What every handler is told beside the task. */
export interface CustomCall extends ProviderCall {
  readonly agent: RegisteredAgent
}

/** A text, or anything else that can be said of a task. */
export type Said = string | TaskUpdate

/**
 * The agent's work on a message. A text is its result; texts one after the other stream into one result. When it is over
 * the task is completed, unless it has told another state, or a `ref` by which `getTask` knows how it goes on. What
 * comes after an end or a question is not read.
 */
export type CustomRun = (
  task: ProviderTask,
  call: CustomCall,
) => Said | AsyncIterable<Said> | Promise<Said | AsyncIterable<Said>>

export interface CustomHandlers {
  /** What it throws fails the task; whoever runs the gateway is told what it was, and clients are not. */
  readonly run: CustomRun
  /** The task as it is now, by the `ref` that `run` told. Without it a task is over when `run` is. */
  readonly getTask?: ((ref: TaskRef, call: CustomCall) => TaskUpdate | Promise<TaskUpdate>) | undefined
  /** Has a task stop that goes on elsewhere. What `run` does is stopped by its `signal`. */
  readonly cancelTask?: ((ref: TaskRef, call: CustomCall) => TaskUpdate | Promise<TaskUpdate>) | undefined
  /** Default is `online`; what it throws is `offline`. */
  readonly healthCheck?: ((call: CustomCall) => AgentStatus | Promise<AgentStatus>) | undefined
}

const KEYS = ['run', 'getTask', 'cancelTask', 'healthCheck'] as const

/**
 * The smallest way to make a provider: one function.
 *
 * @throws {TypeError} when there is no `run`, or a handler is no function.
 *
 * @example
 * const poet = custom(async function* ({ text }) {
 *   yield `Ode to ${text}: `
 *   yield 'O!'
 * })
 */
export function custom(given: CustomRun | CustomHandlers): AgentProvider {
  const handlers: CustomHandlers = typeof given === 'function' ? { run: given } : given
  for (const key of KEYS) {
    const handler: unknown = handlers[key]
    const mayBeAbsent = key !== 'run' && handler === undefined
    if (!mayBeAbsent && typeof handler !== 'function')
      throw new TypeError(`"${key}" of custom() must be a function`)
  }
  const unknown = Object.keys(handlers).find((key) => !KEYS.some((known) => known === key))
  if (unknown !== undefined) {
    throw new TypeError(`Unknown handler "${unknown}" of custom; known are ${KEYS.join(', ')}`)
  }
  return new CustomProvider(handlers)
}

class CustomProvider implements AgentProvider {
  readonly keepsTasks: boolean
  readonly #handlers: CustomHandlers

  constructor(handlers: CustomHandlers) {
    this.#handlers = handlers
    this.keepsTasks = handlers.getTask !== undefined || handlers.cancelTask !== undefined
  }

  async sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    return await fold(this.streamTask(agent, task, call))
  }

  async *streamTask(
    agent: RegisteredAgent,
    task: ProviderTask,
    { signal }: ProviderCall,
  ): AsyncGenerator<TaskUpdate, undefined> {
    // Of one message: what a later turn says is another result.
    const artifactId = `answer-${task.message.messageId}`
    let continues = false
    yield { state: 'working' }
    for await (const result of this.#results(agent, task, signal)) {
      const update =
        typeof result === 'string' ? { chunk: { artifactId, parts: [{ text: result }] } } : result
      if (typeof result !== 'string' || result !== '') yield update
      const { state, ref } = update
      if (state !== undefined && (isTerminal(state) || isInterrupted(state))) return
      continues ||= ref !== undefined && this.#handlers.getTask !== undefined
    }
    if (!continues) yield { state: 'completed' }
  }

  getTask(agent: RegisteredAgent, ref: TaskRef, { signal }: ProviderCall): Promise<TaskUpdate> {
    const { getTask } = this.#handlers
    if (getTask === undefined) return Promise.reject(unsupported('getTask', agent))
    return this.#invoke(agent, signal, () => getTask(ref, { agent, signal }))
  }

  cancelTask(agent: RegisteredAgent, ref: TaskRef, { signal }: ProviderCall): Promise<TaskUpdate> {
    const { cancelTask } = this.#handlers
    if (cancelTask === undefined) return Promise.reject(unsupported('cancelTask', agent))
    return this.#invoke(agent, signal, () => cancelTask(ref, { agent, signal }))
  }

  async healthCheck(agent: RegisteredAgent, { signal }: ProviderCall): Promise<AgentStatus> {
    const { healthCheck } = this.#handlers
    if (healthCheck === undefined) return 'online'
    try {
      return await this.#invoke(agent, signal, () => healthCheck({ agent, signal }))
    } catch {
      signal.throwIfAborted()
      return 'offline'
    }
  }

  /** What the function says, one after the other. */
  async *#results(
    agent: RegisteredAgent,
    task: ProviderTask,
    signal: AbortSignal,
  ): AsyncGenerator<Said, undefined> {
    const result = await this.#invoke(agent, signal, () => this.#handlers.run(task, { agent, signal }))
    if (!isIterable(result)) {
      yield requireResult(result, agent)
      return
    }
    const iterator = result[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await this.#invoke(agent, signal, () => iterator.next())
        if (next.done === true) return
        yield requireResult(next.value, agent)
      }
    } finally {
      // Nobody waits for it: one that waits for something else would keep the caller.
      iterator.return?.().catch(() => {
        // It is left anyway.
      })
    }
  }

  async #invoke<T>(agent: RegisteredAgent, signal: AbortSignal, work: () => T | PromiseLike<T>): Promise<T> {
    try {
      signal.throwIfAborted()
      return await raceAbort(signal, Promise.resolve(work()))
    } catch (cause) {
      signal.throwIfAborted()
      if (A2AError.is(cause, 'PROVIDER_ERROR') || A2AError.is(cause, 'TASK_NOT_FOUND')) throw cause
      if (A2AError.is(cause, 'UNSUPPORTED_OPERATION')) throw cause
      // What it is, its author knows from the cause.
      throw providerError(agent.provider, agent, 'its function failed', {
        cause,
        said: cause instanceof Error ? cause.message : String(cause),
      })
    }
  }
}

/** Functions without types may say anything. Here, before what comes later hides it. */
function requireResult(result: unknown, agent: RegisteredAgent): Said {
  if (typeof result === 'string') return result
  if (typeof result !== 'object' || result === null)
    throw providerError(agent.provider, agent, `it must say a text or an update, got ${describe(result)}`)
  requireUpdate(result, agent)
  return result
}

function isIterable(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}

function unsupported(
  operation: string,
  { id, provider }: RegisteredAgent,
): A2AError<'UNSUPPORTED_OPERATION'> {
  return new A2AError('UNSUPPORTED_OPERATION', `Provider ${provider} of agent ${id} has no ${operation}`, {
    operation,
  })
}
