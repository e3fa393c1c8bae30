/**
 * Provider for agents in Amazon Bedrock AgentCore Runtime.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../../core/errors.js'
import type { JsonValue } from '../../../core/json-types.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import type { ServiceCall } from '../shared/service.js'
import { AgentCoreA2A } from './agentcore-a2a.js'
import { answerUpdates } from './agentcore-answers.js'
import { SESSION_HEADER } from './agentcore-client.js'
import { Runtimes, sessionIn, type BedrockAgentCoreOptions } from './agentcore-runtimes.js'
import { reachability } from './bedrock-endpoint.js'
import { requireFunctions } from '../../../runtime/options.js'
import { requireServiceOptions } from '../shared/service.js'
import { fold } from '../shared/fold.js'

/**
 * Provider for agents in AgentCore Runtime. An agent's `endpoint.url` is
 * `https://bedrock-agentcore.<region>.amazonaws.com`. Its settings are `runtimeArn`, and optionally `qualifier`,
 * `protocol` (`http` or `a2a`, default `http`) and `region`.
 *
 * Requests carry `endpoint.auth` (for a runtime with OAuth) or are signed by `authorize`. Without either, the official
 * client sends them. A conversation is a session of the runtime.
 *
 * - An agent of the HTTP protocol runs as long as its request, and cannot be polled. Canceling stops the whole session,
 *   with everything that the agent keeps in it. The health check tests only whether the service is reachable, since a
 *   test of the agent would start a run.
 * - An agent of the A2A protocol receives JSON-RPC of A2A 0.3. Its tasks can be polled, canceled and streamed. The
 *   health check fetches its card, in one session that all checks share, because AgentCore starts a container for it.
 */
export function bedrockAgentCore(options: BedrockAgentCoreOptions = {}): AgentProvider {
  requireServiceOptions(options, 'bedrockAgentCore', ['client', 'toPayload'])
  requireFunctions(options, ['toPayload'])
  const runtimes = new Runtimes(options)
  const http = new AgentCoreHttp(runtimes, options)
  const a2a = new AgentCoreA2A(runtimes)
  const providerFor = (agent: RegisteredAgent): AgentProvider =>
    runtimes.settingsOf(agent).protocol === 'a2a' ? a2a : http
  return {
    checkAgent: (agent) => void runtimes.settingsOf(agent),
    sendTask: async (agent, task, call) => providerFor(agent).sendTask(agent, task, call),
    getTask: async (agent, ref, call) => providerFor(agent).getTask(agent, ref, call),
    cancelTask: async (agent, ref, call) => providerFor(agent).cancelTask(agent, ref, call),
    streamTask: (agent, task, call) => providerFor(agent).streamTask(agent, task, call),
    healthCheck: async (agent, call) => providerFor(agent).healthCheck(agent, call),
  }
}

class AgentCoreHttp implements AgentProvider {
  readonly #runtimes: Runtimes
  readonly #toPayload: NonNullable<BedrockAgentCoreOptions['toPayload']>

  constructor(runtimes: Runtimes, { toPayload = toPrompt }: BedrockAgentCoreOptions) {
    this.#runtimes = runtimes
    this.#toPayload = toPayload
  }

  sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    return fold(this.streamTask(agent, task, call))
  }

  getTask(): Promise<TaskUpdate> {
    const text = 'A run of an agent in AgentCore Runtime cannot be asked for'
    return Promise.reject(new A2AError('UNSUPPORTED_OPERATION', text, { operation: 'getTask' }))
  }

  /** A session that no longer exists runs nothing, so 404 counts as canceled. */
  async cancelTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const stop = {
      ...this.#toCall(agent, 'stopruntimesession', sessionIn(ref), {}),
      expected: [404],
    }
    await this.#runtimes.serviceOf(agent).send(stop, call)
    return { state: 'canceled' }
  }

  async *streamTask(
    agent: RegisteredAgent,
    task: ProviderTask,
    call: ProviderCall,
  ): AsyncGenerator<TaskUpdate, undefined> {
    const sessionId = await this.#runtimes.sessionOf(task)
    const request = this.#toCall(agent, 'invocations', sessionId, this.#toPayload(task, agent))
    // The gateway chooses the session's id, so it can be stopped before the first response.
    yield { ref: { sessionId }, state: 'working' }
    const service = this.#runtimes.serviceOf(agent)
    yield* answerUpdates(service, service.eventsOrText(request, call))
  }

  healthCheck(agent: RegisteredAgent, call: ProviderCall): Promise<AgentStatus> {
    return reachability(this.#runtimes.plainServiceOf(agent), call)
  }

  #toCall(agent: RegisteredAgent, operation: string, sessionId: string, body: JsonValue): ServiceCall {
    const headers = { [SESSION_HEADER]: sessionId }
    return { method: 'POST', path: this.#runtimes.pathOf(agent, operation), body, headers }
  }
}

function toPrompt({ text }: ProviderTask): JsonValue {
  if (text === '')
    throw invalidParams('message.parts', 'must have a text, unless toPayload makes another payload')
  return { prompt: text }
}
