/**
 * A2A agents in AgentCore Runtime, which passes JSON-RPC through to them.
 *
 * @module
 */
import { parseAgentCard } from '../../../agent-card/parse.js'
import { A2AClient } from '../../../client/a2a-client.js'
import { A2AError } from '../../../core/errors.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import { A2AProvider } from '../a2a/provider.js'
import { toClientOptions } from '../a2a/clients.js'
import { SESSION_HEADER } from './agentcore-client.js'
import { sessionIn, type Runtimes } from './agentcore-runtimes.js'
import { HEALTH_SESSION } from './bedrock-endpoint.js'

const NAME = 'bedrock_agentcore'
const CARD_TIMEOUT_MS = 10_000

export class AgentCoreA2A implements AgentProvider {
  readonly #runtimes: Runtimes

  constructor(runtimes: Runtimes) {
    this.#runtimes = runtimes
  }

  async sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    const sessionId = await this.#runtimes.sessionOf(task)
    return withSession(sessionId, await this.#providerFor(sessionId).sendTask(agent, task, call))
  }

  async getTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const sessionId = sessionIn(ref)
    return withSession(sessionId, await this.#providerFor(sessionId).getTask(agent, ref, call))
  }

  async cancelTask(agent: RegisteredAgent, ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const sessionId = sessionIn(ref)
    return withSession(sessionId, await this.#providerFor(sessionId).cancelTask(agent, ref, call))
  }

  async *streamTask(
    agent: RegisteredAgent,
    task: ProviderTask,
    call: ProviderCall,
  ): AsyncGenerator<TaskUpdate, undefined> {
    const sessionId = await this.#runtimes.sessionOf(task)
    for await (const update of this.#providerFor(sessionId).streamTask(agent, task, call)) {
      yield withSession(sessionId, update)
    }
  }

  async healthCheck(agent: RegisteredAgent, call: ProviderCall): Promise<AgentStatus> {
    const path = this.#runtimes.pathOf(agent, 'invocations/.well-known/agent-card.json')
    const headers = { [SESSION_HEADER]: HEALTH_SESSION }
    const request = { method: 'GET', path, headers, timeoutMs: CARD_TIMEOUT_MS } as const
    try {
      const answer = await this.#runtimes.serviceOf(agent).send(request, call)
      parseAgentCard(answer.json())
      return 'online'
    } catch (error) {
      call.signal.throwIfAborted()
      const { status, retryable } = A2AError.is(error, 'PROVIDER_ERROR') ? error.data : {}
      return status === undefined && retryable === true ? 'offline' : 'degraded'
    }
  }

  /** Returns a provider that sends all requests to this session. A client falls back to requests without a stream. */
  #providerFor(sessionId: string): A2AProvider {
    return new A2AProvider(NAME, (agent) => Promise.resolve(this.#clientOf(agent, sessionId)))
  }

  #clientOf(agent: RegisteredAgent, sessionId: string): A2AClient {
    const url = agent.endpoint.url.replace(/\/+$/, '') + this.#runtimes.pathOf(agent, 'invocations')
    return new A2AClient({
      ...toClientOptions(this.#runtimes.optionsFor(agent), agent),
      headers: { [SESSION_HEADER]: sessionId },
      card: {
        name: agent.name,
        capabilities: { streaming: true },
        supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
      },
    })
  }
}

/** Adds the session to the `ref`: the task exists only there. */
function withSession(sessionId: string, update: TaskUpdate): TaskUpdate {
  return update.ref === undefined ? update : { ...update, ref: { ...update.ref, sessionId } }
}
