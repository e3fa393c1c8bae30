/**
 * Provider for agents that are functions of this process.
 *
 * @module
 */
import { knownNames } from '../../runtime/known-names.js'
import { A2AError } from '../../core/errors.js'
import { describe } from '../../runtime/describe.js'
import { raceAbort } from '../../runtime/abort.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { AgentStatus, RegisteredAgent } from '../registry/agent.js'
import { requireUpdate } from '../turns/apply-update.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../provider.js'
import { providerError } from './shared/service.js'
import { fold } from './shared/fold.js'

/** Arguments that every handler receives in addition to the task. */
export interface CustomCall extends ProviderCall {
  readonly agent: RegisteredAgent
}

/** A result of a handler: a text, or an update of the task. */
export type Said = string | TaskUpdate

/**
 * The agent's work on a message. A text is its result; several texts stream into one result. When it returns, the task
 * is completed, unless it has reported another state, or a `ref` for `getTask`. Results after a terminal or interrupted
 * state are not read.
 */
export type CustomRun = (
  task: ProviderTask,
  call: CustomCall,
) => Said | AsyncIterable<Said> | Promise<Said | AsyncIterable<Said>>

/** Handlers of {@link custom}. Only `run` is required. */
export interface CustomHandlers {
  /** An error that it throws fails the task. `onError` of the gateway receives the error; clients do not. */
  readonly run: CustomRun
  /** Returns the current task, by the `ref` that `run` reported. Without this handler a task ends with `run`. */
  readonly getTask?: ((ref: TaskRef, call: CustomCall) => TaskUpdate | Promise<TaskUpdate>) | undefined
  /** Cancels a task that continues elsewhere. The work of `run` is stopped by its `signal`. */
  readonly cancelTask?: ((ref: TaskRef, call: CustomCall) => TaskUpdate | Promise<TaskUpdate>) | undefined
  /** Default is `online`. An error that it throws means `offline`. */
  readonly healthCheck?: ((call: CustomCall) => AgentStatus | Promise<AgentStatus>) | undefined
}

const KEYS = ['run', 'getTask', 'cancelTask', 'healthCheck'] as const

/**
 * Creates a provider from one function, or from handlers.
 *
 * @throws {TypeError} when `run` is missing, or a handler is unknown or not a function.
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
    throw new TypeError(`Unknown handler "${unknown}" of custom${knownNames(unknown, KEYS)}`)
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
    // One artifact per message: a later turn has its own result.
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

  /** Yields the results of the function, in order. */
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
      // Not awaited: a generator that waits for something else would block the caller.
      iterator.return?.().catch(() => {
        // The iterator is abandoned in any case.
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
      // The error that was thrown is in the cause, for the author of the function.
      throw providerError(agent.provider, agent, 'its function failed', {
        cause,
        said: cause instanceof Error ? cause.message : String(cause),
      })
    }
  }
}

/** Checks a result at run time, before later results replace it. */
function requireResult(result: unknown, agent: RegisteredAgent): Said {
  if (typeof result === 'string') return result
  if (typeof result !== 'object' || result === null)
    throw providerError(
      agent.provider,
      agent,
      `it must return or yield a text or an update, got ${describe(result)}`,
    )
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
