import { setImmediate as turn } from 'node:timers/promises'
import { TaskManager, type TaskManagerOptions, type TaskStreamEvent } from 'a2a-tasks'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { A2AError } from '../../../src/core/errors.js'
import type { AgentInput, RegisteredAgent } from '../../../src/gateway/registry/agent.js'
import { A2AGateway } from '../../../src/gateway/gateway.js'
import type { A2AGatewayOptions, GatewayErrorContext } from '../../../src/gateway/options.js'
import type { AgentProvider, ProviderTask, TaskRef, TaskUpdate } from '../../../src/gateway/provider.js'
import { AgentRegistry } from '../../../src/gateway/registry/registry.js'

type Method = 'sendTask' | 'getTask' | 'cancelTask' | 'streamTask'

/** A call that a provider got, for the test to answer, late or never. */
export interface Call {
  readonly method: Method
  readonly agent: RegisteredAgent
  /** Of `sendTask` and `streamTask`. */
  readonly task: ProviderTask
  /** Of `getTask` and `cancelTask`. */
  readonly ref: TaskRef
  readonly signal: AbortSignal
  /** Settles the call; of a stream: tells one thing more. What is no update is nonsense on purpose. */
  readonly answer: (update: unknown) => Promise<void>
  /** Rejects the call; breaks the stream. */
  readonly fail: (error: unknown) => Promise<void>
  /** Ends the stream. */
  readonly end: () => Promise<void>
  /** Whether the reader has left the stream. */
  readonly isLeft: () => boolean
}

/** A provider whose calls hang until the test answers them. It heeds no signal unless it is told to. */
export class ScriptedProvider implements AgentProvider {
  readonly calls: Call[] = []
  /** Whether calls reject when their signal aborts. */
  heedsSignals = false
  /** Thrown, at once, by calls of the method. */
  readonly throws = new Map<Method, unknown>()
  keepsTasks = true
  readonly #seen = new Set<Call>()

  sendTask(agent: RegisteredAgent, task: ProviderTask, { signal }: { signal: AbortSignal }) {
    return this.#hang('sendTask', agent, { task }, signal)
  }

  getTask(agent: RegisteredAgent, ref: TaskRef, { signal }: { signal: AbortSignal }) {
    return this.#hang('getTask', agent, { ref }, signal)
  }

  cancelTask(agent: RegisteredAgent, ref: TaskRef, { signal }: { signal: AbortSignal }) {
    return this.#hang('cancelTask', agent, { ref }, signal)
  }

  streamTask(
    agent: RegisteredAgent,
    task: ProviderTask,
    { signal }: { signal: AbortSignal },
  ): AsyncIterable<TaskUpdate> {
    if (this.throws.has('streamTask')) throw this.throws.get('streamTask')
    const steps: (() => Promise<IteratorResult<TaskUpdate>>)[] = []
    let wake = (): void => {}
    let isLeft = false
    const push = async (step: () => Promise<IteratorResult<TaskUpdate>>): Promise<void> => {
      steps.push(step)
      wake()
      await turn()
    }
    this.#note('streamTask', agent, { task }, signal, {
      // Nonsense is for the gateway to notice.
      answer: (update) => push(() => Promise.resolve({ done: false, value: update as TaskUpdate })),
      fail: (error) =>
        push(() => {
          // Whatever services may throw.
          throw error as Error
        }),
      end: () => push(() => Promise.resolve({ done: true, value: undefined })),
      isLeft: () => isLeft,
    })
    const next = async () => {
      if (steps.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      return await (steps.shift() as (typeof steps)[number])()
    }
    const leave = (): Promise<IteratorResult<TaskUpdate>> => {
      isLeft = true
      return Promise.resolve({ done: true, value: undefined })
    }
    return { [Symbol.asyncIterator]: () => ({ next, return: leave }) }
  }

  healthCheck() {
    return Promise.resolve('online' as const)
  }

  /** The calls of a method so far. */
  of(method: Method): Call[] {
    return this.calls.filter((call) => call.method === method)
  }

  /** The latest call of a method, which there must be. */
  async last(method: Method): Promise<Call> {
    await turn()
    const call = this.of(method).at(-1)
    if (call === undefined) throw new Error(`There was no ${method}`)
    return call
  }

  /** The next call of a method, or the first that was not returned yet: sealing takes an unknown time. */
  async untilCalled(method: Method): Promise<Call> {
    for (;;) {
      await turn()
      const call = this.of(method).find((one) => !this.#seen.has(one))
      if (call === undefined) continue
      this.#seen.add(call)
      return call
    }
  }

  #hang(
    method: Method,
    agent: RegisteredAgent,
    about: { task?: ProviderTask; ref?: TaskRef },
    signal: AbortSignal,
  ): Promise<TaskUpdate> {
    if (this.throws.has(method)) throw this.throws.get(method)
    let resolve: (update: TaskUpdate) => void = () => {}
    let reject: (error: Error) => void = () => {}
    const promise = new Promise<TaskUpdate>((...settle) => ([resolve, reject] = settle))
    if (this.heedsSignals) signal.addEventListener('abort', () => reject(signal.reason as Error))
    this.#note(method, agent, about, signal, {
      answer: async (update) => {
        // Nonsense is for the gateway to notice.
        resolve(update as TaskUpdate)
        await turn()
      },
      fail: async (error) => {
        reject(error as Error)
        await turn()
      },
      end: () => Promise.reject(new Error('It is no stream')),
      isLeft: () => false,
    })
    return promise
  }

  #note(
    method: Method,
    agent: RegisteredAgent,
    about: { task?: ProviderTask; ref?: TaskRef },
    signal: AbortSignal,
    means: Pick<Call, 'answer' | 'fail' | 'end' | 'isLeft'>,
  ): void {
    // Which of them there is, the method says.
    this.calls.push({ method, agent, signal, ...(about as Pick<Call, 'task' | 'ref'>), ...means })
  }
}

export interface ErrorReport {
  readonly error: unknown
  readonly context: GatewayErrorContext
}

export interface SetUpOptions extends Partial<A2AGatewayOptions> {
  readonly agent?: Partial<AgentInput>
  readonly manager?: TaskManagerOptions
}

/** A gateway with the agent `a` of a scripted provider, in standing time. */
export function setUp({ agent = {}, manager = {}, ...options }: SetUpOptions = {}) {
  const clock = options.clock instanceof ManualClock ? options.clock : new ManualClock()
  const provider = new ScriptedProvider()
  const registry = options.registry ?? new AgentRegistry({ clock })
  registry.register(agentInput('a', agent))
  const tasks = options.tasks ?? new TaskManager({ clock, generateId: sequentialIds(), ...manager })
  const reported: ErrorReport[] = []
  const onError = (error: unknown, context: GatewayErrorContext): void => {
    reported.push({ error, context })
  }
  const providers = { custom: provider }
  const gateway = new A2AGateway({ providers, onError, ...options, registry, tasks, clock })
  return { clock, provider, registry, tasks, reported, gateway }
}

export function agentInput(id: string, others: Partial<AgentInput> = {}): AgentInput {
  const endpoint = { url: 'https://agent.example.com' }
  return { id, provider: 'custom', capabilities: ['echo'], endpoint, ...others }
}

/** An error as a provider has it: one that may pass unless it is said. */
export function serviceError(retryable = true): A2AError<'PROVIDER_ERROR'> {
  const data = { provider: 'custom', agentId: 'a', reason: 'secret of the service', retryable }
  return new A2AError('PROVIDER_ERROR', 'Provider custom of agent a: secret of the service', data)
}

/** Moves on by `ms`, and lets all that comes of it happen. */
export async function pass(clock: ManualClock, ms: number): Promise<void> {
  await turn()
  clock.advance(ms)
  await turn()
}

/** The code of what `work` rejects with; the error itself where it is none of ours. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return A2AError.is(error) ? error.code : error
  }
  return 'no error'
}

/** The texts of a task's artifacts. */
export function textsOf(task: {
  readonly artifacts: readonly { readonly parts?: readonly { readonly text?: string }[] }[]
}): string[] {
  return task.artifacts.map(({ parts = [] }) => parts.map(({ text }) => text ?? '').join(''))
}

/** The states that a subscription tells of, until it ends. */
export async function collectStates(events: AsyncIterable<TaskStreamEvent>): Promise<string[]> {
  const states: string[] = []
  for await (const event of events) {
    if ('task' in event) states.push(event.task.state)
    if (event.type === 'status') states.push(event.to)
  }
  return states
}
