/**
 * Azure AI Foundry's Responses API.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../../core/errors.js'
import type { JsonObject } from '../../../core/json-types.js'
import { list, nonEmptyString, object, optional, string } from '../../../schemas/scalars.js'
import { tryRead } from '../../../schemas/schema.js'
import { check } from '../../../wire/check.js'
import type { AgentStatus } from '../../registry/agent.js'
import type { ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import type { Service, ServiceAnswer } from '../shared/service.js'
import { healthOfRequest, parseAnswer } from '../shared/answers.js'
import { answersOf, contentOf } from './responses-input.js'
import { isTransient, ResponseSchema, toResponseUpdate } from './responses-output.js'

export interface ResponsesSettings {
  readonly agentName: string
  readonly agentVersion?: string
  readonly agentEndpoint?: boolean
  readonly background?: boolean
  readonly apiVersion?: string
}

/** Header for agent endpoints, which are a preview. */
const PREVIEW = { 'foundry-features': 'HostedAgents=V1Preview,AgentEndpoints=V1Preview' }

const RefSchema = object({
  responseId: nonEmptyString,
  conversationId: nonEmptyString,
  pending: optional(list(string)),
})
const ConversationSchema = object({ id: nonEmptyString })
const EventSchema = object({
  type: string,
  response: optional(ResponseSchema),
  delta: optional(string),
  code: optional(string),
})
const DELTAS = ['response.output_text.delta', 'response.refusal.delta']

export class AzureResponses {
  readonly #service: Service
  readonly #settings: ResponsesSettings

  constructor(service: Service, settings: ResponsesSettings) {
    this.#service = service
    this.#settings = settings
  }

  async send(task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    const { conversationId, body } = await this.#prepare(task, call)
    const answer = await this.#service.send({ ...this.#request('POST', '/responses'), body }, call)
    return this.#update(answer, conversationId)
  }

  async get(ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const { responseId, conversationId } = check(RefSchema, ref, 'ref')
    const path = `/responses/${encodeURIComponent(responseId)}`
    return this.#update(await this.#find(responseId, this.#request('GET', path), call), conversationId)
  }

  async cancel(ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const { responseId, conversationId } = check(RefSchema, ref, 'ref')
    if (this.#settings.background === false) {
      const reason = 'Azure AI Foundry cancels only what runs in the background'
      throw new A2AError('UNSUPPORTED_OPERATION', reason, { operation: 'cancelTask' })
    }
    const path = `/responses/${encodeURIComponent(responseId)}/cancel`
    return this.#update(await this.#find(responseId, this.#request('POST', path), call), conversationId)
  }

  async *stream(task: ProviderTask, call: ProviderCall): AsyncGenerator<TaskUpdate, undefined> {
    const service = this.#service
    const { conversationId, body } = await this.#prepare(task, call)
    const request = { ...this.#request('POST', '/responses'), body: { ...body, stream: true } }
    let artifactId = ''
    let wasStreamed = false
    for await (const { data } of service.events(request, call)) {
      const { type, response, delta, code } = parseAnswer(service, EventSchema, service.parse(data))
      if (type === 'error') throw service.error('error', { said: data, retryable: isTransient(code) })
      if (response !== undefined) {
        artifactId = response.id
        yield toResponseUpdate(service, response, conversationId, wasStreamed)
      } else if (DELTAS.includes(type) && delta !== undefined) {
        wasStreamed = true
        yield { chunk: { artifactId, parts: [{ text: delta }] } }
      }
    }
  }

  async health(call: ProviderCall): Promise<AgentStatus> {
    const { agentName, apiVersion = 'v1' } = this.#settings
    const path = `/agents/${encodeURIComponent(agentName)}?api-version=${encodeURIComponent(apiVersion)}`
    return await healthOfRequest(this.#service, { method: 'GET', path }, call)
  }

  /** Returns the request body, and the conversation it belongs to. */
  async #prepare(
    task: ProviderTask,
    call: ProviderCall,
  ): Promise<{ readonly conversationId: string; readonly body: JsonObject }> {
    const { agentName: name, agentVersion: version, agentEndpoint, background = true } = this.#settings
    const answers = answersOf(task.message)
    const known = tryRead(RefSchema, task.ref ?? task.previous)
    const pending = known?.pending ?? []
    if (task.ref !== undefined && pending.length > 0 && answers.length === 0) {
      const example = `{"type": "function_call_output", "call_id": ${JSON.stringify(pending[0])}, "output": "…"}`
      throw invalidParams('message.parts', `must have a data part with the answer, such as ${example}`)
    }
    const content = contentOf(task.message)
    const input = [...answers, ...(content.length > 0 ? [{ type: 'message', role: 'user', content }] : [])]
    // A conversation with an unanswered call accepts nothing but its answer.
    const isOpen = known !== undefined && (task.ref !== undefined || pending.length === 0)
    const conversationId = isOpen ? known.conversationId : await this.#createConversation(call)
    // Earlier versions of the API named this field `agent`.
    const agent_reference = { type: 'agent_reference', name, ...(version !== undefined && { version }) }
    const body = {
      conversation: conversationId,
      input,
      background,
      ...(agentEndpoint !== true && { agent_reference }),
    }
    return { conversationId, body }
  }

  async #createConversation(call: ProviderCall): Promise<string> {
    const answer = await this.#service.send({ ...this.#request('POST', '/conversations'), body: {} }, call)
    return parseAnswer(this.#service, ConversationSchema, answer.json()).id
  }

  async #find(
    responseId: string,
    request: Parameters<Service['send']>[0],
    call: ProviderCall,
  ): Promise<ServiceAnswer> {
    const answer = await this.#service.send({ ...request, expected: [404] }, call)
    if (answer.status === 404) throw taskNotFound(responseId)
    return answer
  }

  #update(answer: ServiceAnswer, conversationId: string): TaskUpdate {
    const response = parseAnswer(this.#service, ResponseSchema, answer.json())
    return toResponseUpdate(this.#service, response, conversationId)
  }

  #request<M extends 'GET' | 'POST'>(method: M, path: string) {
    const {
      agentName,
      agentEndpoint,
      apiVersion = agentEndpoint === true ? 'v1' : undefined,
    } = this.#settings
    const base =
      agentEndpoint === true
        ? `/agents/${encodeURIComponent(agentName)}/endpoint/protocols/openai`
        : '/openai/v1'
    const query = apiVersion === undefined ? '' : `?api-version=${encodeURIComponent(apiVersion)}`
    return { method, path: base + path + query, ...(agentEndpoint === true && { headers: PREVIEW }) }
  }
}
