/**
 * Provider for agents of Amazon Bedrock: InvokeAgent and AgentCore Runtime.
 *
 * @module
 */
import type { Fetch } from '../../../runtime/fetch.js'
import { keepAliveClock, type Clock } from '../../../runtime/clock.js'
import { AbortScope } from '../../../http/abort.js'
import { fieldsOf } from '../../../http/json.js'
import { requireClock, requireFunctions, requireKnown } from '../../../runtime/options.js'
import { A2AError, invalidParams } from '../../../core/errors.js'
import {
  boolean,
  custom,
  list,
  nonEmptyString,
  object,
  optional,
  refine,
  text,
} from '../../../schemas/scalars.js'
import { tryRead, type Infer } from '../../../schemas/schema.js'
import { check } from '../../../wire/check.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import { providerError, Service } from '../shared/service.js'
import { bedrockAgentCore } from './agentcore.js'
import type { BedrockAgentCoreOptions } from './agentcore-runtimes.js'
import { parseSettings } from '../shared/answers.js'
import {
  loadAgentClient,
  requireRegion,
  type BedrockAgentClient,
  type InvocationResult,
  type InvokeAgentInput,
} from './bedrock-client.js'
import { toProviderError, updatesOf } from './bedrock-completion.js'
import { atAgentHost, reachability, regionOf, sessionIdOf } from './bedrock-endpoint.js'
import { fold } from '../shared/fold.js'

/** Options of {@link bedrock}. */
export interface BedrockOptions {
  /**
   * The official client, a `BedrockAgentRuntime`: one for all agents, or a function that returns one per call. Default
   * is one client per URL and region, with the credentials of the environment, which needs the package
   * `@aws-sdk/client-bedrock-agent-runtime`.
   */
  readonly client?: BedrockAgentClient | ((agent: RegisteredAgent) => BedrockAgentClient) | undefined
  /** Sends health checks; the client sends all other requests. Default is the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Measures timeouts. Default is the platform's clock. */
  readonly clock?: Clock | undefined
  /** Options for agents with a `runtimeArn` in their settings. */
  readonly agentCore?: BedrockAgentCoreOptions | undefined
}

const NAME = 'bedrock'
/** The alias that every agent has: its working draft. */
const TEST_ALIAS = 'TSTALIASID'
/** Session ids that the service accepts. */
const SESSION_ID = /^[0-9a-zA-Z._:-]{2,100}$/
/** Limit for the silence of a stream. */
const IDLE_MS = 300_000

const AGENT_KIND = 'of an agent of Bedrock, or settings.runtimeArn of one in AgentCore Runtime'
const required = (what: string) => refine(text(what), (id) => id !== '', what)

const SettingsSchema = object({
  agentId: required(`must be the id ${AGENT_KIND}`),
  aliasId: optional(nonEmptyString),
  /** Required when the URL does not contain it. */
  region: optional(nonEmptyString),
  memoryId: optional(nonEmptyString),
  /**
   * Streams the answer while the model generates it. The caller needs the permission
   * `bedrock:InvokeModelWithResponseStream`.
   */
  streamFinalResponse: optional(boolean),
})

const RefSchema = object({ sessionId: nonEmptyString, invocationId: optional(nonEmptyString) })

const ResultSchema = object({ actionGroup: nonEmptyString })

/** Results for the agent in the form of InvokeAgent. Further fields are passed on. */
const ResultsSchema = list(
  custom<InvocationResult>((value) => {
    const [result, ...others] = Object.entries(fieldsOf(value))
    const isKnown = result?.[0] === 'functionResult' || result?.[0] === 'apiResult'
    return isKnown && others.length === 0 && tryRead(ResultSchema, result[1]) !== undefined
  }, 'must be a result'),
  'must not be empty',
)

const HOW_TO_ANSWER =
  'Answer with a data part: { "returnControlInvocationResults": [{ "functionResult" or "apiResult": … }] }'

/**
 * Provider for agents of Amazon Bedrock. An agent's `endpoint.url` is
 * `https://bedrock-agent-runtime.<region>.amazonaws.com`; of `bedrock-runtime`, which serves models, the provider uses the
 * agents of the same region. Its settings are `agentId`, and optionally `aliasId` (default is `TSTALIASID`, the working
 * draft), `region`, `memoryId` and `streamFinalResponse`. An agent with `runtimeArn` in its settings is handled by
 * {@link bedrockAgentCore}.
 *
 * A conversation is a session of the service. A run lasts as long as its request: it cannot be polled, and stops only
 * with the request. An agent that returns control makes its task `input-required`, with the invocations as data; a
 * message with their results continues it.
 *
 * AWS signs every request and frames every response, so InvokeAgent always uses the official client, and
 * `endpoint.auth` is refused with `INVALID_PARAMS`.
 *
 * @throws {TypeError} for an option that is unknown or of the wrong type.
 */
export function bedrock(options: BedrockOptions = {}): AgentProvider {
  requireKnown(options, ['client', 'fetch', 'clock', 'agentCore'], 'bedrock')
  requireFunctions(options, ['fetch'])
  if (options.clock !== undefined) requireClock(options.clock)
  const agents = new InvokeAgent(options)
  const runtimes = bedrockAgentCore(options.agentCore)
  const providerFor = ({ settings }: RegisteredAgent): AgentProvider =>
    settings['runtimeArn'] === undefined ? agents : runtimes
  return {
    checkAgent: (agent) => providerFor(agent).checkAgent?.(agent),
    sendTask: (agent, task, call) => providerFor(agent).sendTask(agent, task, call),
    getTask: (agent, ref, call) => providerFor(agent).getTask(agent, ref, call),
    cancelTask: (agent, ref, call) => providerFor(agent).cancelTask(agent, ref, call),
    streamTask: (agent, task, call) => providerFor(agent).streamTask(agent, task, call),
    healthCheck: (agent, call) => providerFor(agent).healthCheck(agent, call),
  }
}

class InvokeAgent implements AgentProvider {
  readonly #options: BedrockOptions
  readonly #clients = new Map<string, Promise<BedrockAgentClient>>()

  constructor(options: BedrockOptions) {
    this.#options = options
  }

  checkAgent(given: RegisteredAgent): void {
    const agent = atAgentHost(given)
    const { region } = readSettings(agent)
    if (this.#options.client === undefined) requireRegion(agent, region)
  }

  sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    return fold(this.streamTask(agent, task, call))
  }

  getTask(): Promise<TaskUpdate> {
    return Promise.reject(unsupported('A run of a Bedrock agent cannot be asked for', 'getTask'))
  }

  cancelTask(): Promise<TaskUpdate> {
    return Promise.reject(unsupported('A run of a Bedrock agent ends only with its request', 'cancelTask'))
  }

  async *streamTask(
    given: RegisteredAgent,
    task: ProviderTask,
    { signal }: ProviderCall,
  ): AsyncGenerator<TaskUpdate, undefined> {
    const agent = atAgentHost(given)
    const input = await toInput(agent, task)
    if (input === undefined) {
      // Nothing is sent, so the agent still waits for its results.
      yield { ...(task.ref && { ref: task.ref }), state: 'input-required', message: HOW_TO_ANSWER }
      return
    }
    const { sessionId, sessionState } = input
    signal.throwIfAborted()
    const scope = new AbortScope(this.#options.clock ?? keepAliveClock, signal)
    let hasEnded = false
    try {
      scope.arm(agent.endpoint.timeoutMs)
      const { completion } = await scope.race(async () => {
        const client = await this.#clientOf(agent)
        return await client.invokeAgent(input, { abortSignal: scope.signal })
      })
      if (completion === undefined) throw providerError(NAME, agent, 'its response has no completion')
      yield { ref: { sessionId }, state: 'working' }
      const artifactId = sessionState?.invocationId ?? 'answer'
      yield* updatesOf(agent, sessionId, artifactId, withIdleTimeout(completion, scope))
      hasEnded = true
    } catch (cause) {
      signal.throwIfAborted()
      if (!A2AError.is(cause, 'REQUEST_TIMED_OUT')) throw toProviderError(agent, cause)
      throw providerError(NAME, agent, 'it did not answer in time', { retryable: true, cause })
    } finally {
      scope.dispose()
      // Leaving the stream ends the request.
      if (!hasEnded) scope.abort(new A2AError('REQUEST_ABORTED', 'The stream was left', {}))
    }
  }

  /** Tests whether the service is reachable. A test of the agent itself would start a run, which costs. */
  async healthCheck(given: RegisteredAgent, call: ProviderCall): Promise<AgentStatus> {
    const agent = atAgentHost(given)
    readSettings(agent)
    const { fetch, clock } = this.#options
    return await reachability(new Service(NAME, agent, { fetch, clock }), call)
  }

  async #clientOf(agent: RegisteredAgent): Promise<BedrockAgentClient> {
    const { client } = this.#options
    if (client !== undefined) return typeof client === 'function' ? client(agent) : client
    const { region } = readSettings(agent)
    const key = `${agent.endpoint.url} ${region ?? ''}`
    const known = this.#clients.get(key)
    if (known !== undefined) return await known
    const loading = loadAgentClient(agent, requireRegion(agent, region))
    this.#clients.set(key, loading)
    loading.catch(() => this.#clients.delete(key))
    return await loading
  }
}

/** Yields the events of `completion` until it is silent for too long or the request is aborted. */
async function* withIdleTimeout(
  completion: AsyncIterable<object>,
  scope: AbortScope,
): AsyncGenerator<object, undefined> {
  const events = completion[Symbol.asyncIterator]()
  for (;;) {
    scope.arm(IDLE_MS)
    const next = await scope.race(() => events.next())
    // The time that the consumer takes is not silence of the stream.
    scope.arm(Infinity)
    if (next.done === true) return
    yield next.value
  }
}

function readSettings(agent: RegisteredAgent): Infer<typeof SettingsSchema> {
  regionOf(agent, 'bedrock-agent-runtime')
  if (agent.endpoint.auth !== undefined) {
    throw invalidParams('endpoint.auth', 'must be absent: agents of Bedrock take AWS credentials only')
  }
  return parseSettings(agent, SettingsSchema)
}

/** Returns the input of InvokeAgent, or `undefined` when the agent waits for results and the message has none. */
async function toInput(
  agent: RegisteredAgent,
  { contextId, owner, message, text, ref, previous }: ProviderTask,
): Promise<InvokeAgentInput | undefined> {
  const { agentId, aliasId: agentAliasId = TEST_ALIAS, memoryId, streamFinalResponse } = readSettings(agent)
  const known = ref ?? previous
  const { sessionId, invocationId } =
    known === undefined ? { sessionId: await sessionIdOf({ contextId, owner }, SESSION_ID) } : readRef(known)
  const call = {
    agentId,
    agentAliasId,
    sessionId,
    ...(memoryId !== undefined && { memoryId }),
    ...(streamFinalResponse !== undefined && { streamingConfigurations: { streamFinalResponse } }),
  }
  if (ref !== undefined && invocationId !== undefined) {
    const results = resultsIn(message)
    return results && { ...call, sessionState: { invocationId, returnControlInvocationResults: results } }
  }
  if (text === '') throw invalidParams('message.parts', 'must have a text: the agent takes nothing else')
  return { ...call, inputText: text }
}

function readRef(ref: TaskRef): { sessionId: string; invocationId?: string } {
  return check(RefSchema, ref, 'ref')
}

/** Returns the results in the first data part that has some: the list itself, or an object with it. */
function resultsIn({ parts }: ProviderTask['message']): InvocationResult[] | undefined {
  for (const { data } of parts) {
    const { returnControlInvocationResults: given = data } = fieldsOf(data)
    const results = tryRead(ResultsSchema, given)
    if (results !== undefined) return results
  }
  return undefined
}

function unsupported(text: string, operation: string): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', text, { operation })
}
