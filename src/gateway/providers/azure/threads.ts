/**
 * Azure AI Foundry's classic API: threads and runs.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../../core/errors.js'
import type { ArtifactInput, PartInput } from '../../../core/params.js'
import type { DeepReadonly, Message, Part } from '../../../core/task.js'
import type { JsonObject } from '../../../core/json-types.js'
import { boolean, list, nonEmptyString, object, optional, string } from '../../../schemas/scalars.js'
import { tryRead, type Infer } from '../../../schemas/schema.js'
import { check } from '../../../wire/check.js'
import type { AgentStatus } from '../../registry/agent.js'
import type { ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import type { Service, ServiceAnswer, ServiceCall } from '../shared/service.js'
import { healthOfRequest, RetainedSize, parseAnswer } from '../shared/answers.js'
import { dataUrl } from './responses-input.js'
import { EventSchema, MessageSchema, RunSchema, toParts, toRunUpdate, type Run } from './runs.js'
import { isTransient } from './responses-output.js'

export interface ThreadsSettings {
  readonly assistantId?: string
  readonly agentId?: string
  readonly apiVersion?: string
}

const RefSchema = object({ threadId: nonEmptyString, runId: nonEmptyString })
const OutputsSchema = object({
  tool_outputs: list(object({ tool_call_id: nonEmptyString, output: string }), 'must not be empty'),
})
const PageSchema = object({
  data: list(MessageSchema),
  has_more: optional(boolean),
  last_id: optional(string),
})

/** Pages of the messages of one run, with up to 100 messages each. */
const MAX_PAGES = 1_000

export class AzureThreads {
  readonly #service: Service
  readonly #assistantId: string
  readonly #apiVersion: string

  constructor(service: Service, { agentId, assistantId = agentId, apiVersion = 'v1' }: ThreadsSettings) {
    if (assistantId === undefined)
      throw invalidParams('settings.assistantId', 'is missing: pass the id of the assistant, asst_…')
    this.#service = service
    this.#assistantId = assistantId
    this.#apiVersion = apiVersion
  }

  async send(task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    const answer = await this.#service.send(await this.#prepare(task, {}, call), call)
    return this.#update(this.#readRun(answer), call)
  }

  async get(ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const answer = await this.#find(ref, this.#request('GET', pathOf(ref)), call)
    return this.#update(this.#readRun(answer), call)
  }

  async cancel(ref: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const answer = await this.#find(ref, this.#request('POST', `${pathOf(ref)}/cancel`, {}), call)
    return toRunUpdate(this.#service, this.#readRun(answer))
  }

  async *stream(task: ProviderTask, call: ProviderCall): AsyncGenerator<TaskUpdate, undefined> {
    const service = this.#service
    let artifactId = ''
    let wasStreamed = false
    for await (const { data } of service.events(await this.#prepare(task, { stream: true }, call), call)) {
      if (data === '[DONE]') return
      const json = service.parse(data)
      const event = parseAnswer(service, EventSchema, json)
      if (event.object === 'thread.run') {
        const run = parseAnswer(service, RunSchema, json)
        artifactId = run.id
        yield wasStreamed ? toRunUpdate(service, run) : await this.#update(run, call)
      } else if (event.object === undefined) {
        const code = event.error?.code ?? event.code
        throw service.error('error', { said: data, retryable: isTransient(code) })
      }
      const parts = toChunk(event)
      if (parts.length > 0) {
        wasStreamed = true
        yield { chunk: { artifactId, parts } }
      }
    }
  }

  async health(call: ProviderCall): Promise<AgentStatus> {
    const path = `/assistants/${encodeURIComponent(this.#assistantId)}`
    return await healthOfRequest(this.#service, this.#request('GET', path), call)
  }

  /** Returns the request that begins a run, or continues the one that waits. */
  async #prepare(task: ProviderTask, more: JsonObject, call: ProviderCall): Promise<ServiceCall> {
    const { ref, previous, message } = task
    if (ref !== undefined) {
      const body = { ...more, tool_outputs: toolOutputsOf(message) }
      return this.#request('POST', `${pathOf(ref)}/submit_tool_outputs`, body)
    }
    const run = { ...more, assistant_id: this.#assistantId }
    const content = { role: 'user', content: message.parts.map(toContent) }
    const thread = tryRead(RefSchema, previous)?.threadId
    if (thread === undefined) {
      return this.#request('POST', '/threads/runs', { ...run, thread: { messages: [content] } })
    }
    const path = `/threads/${encodeURIComponent(thread)}`
    await this.#service.send(this.#request('POST', `${path}/messages`, content), call)
    return this.#request('POST', `${path}/runs`, run)
  }

  /** Adds the messages of a run that is completed or incomplete. */
  async #update(run: Run, call: ProviderCall): Promise<TaskUpdate> {
    const update = toRunUpdate(this.#service, run)
    if (!['completed', 'incomplete'].includes(run.status)) return update
    const artifacts = await this.#artifactsOf(run, call)
    return { ...update, ...(artifacts.length > 0 && { artifacts }) }
  }

  async #artifactsOf({ id, thread_id: threadId }: Run, call: ProviderCall): Promise<ArtifactInput[]> {
    const parts: PartInput[] = []
    const retained = new RetainedSize(this.#service)
    let after = ''
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const query = { order: 'asc', limit: '100', run_id: id, ...(after !== '' && { after }) }
      const request = this.#request(
        'GET',
        `/threads/${encodeURIComponent(threadId)}/messages`,
        undefined,
        query,
      )
      const answer = await this.#service.send(request, call)
      retained.add(answer.text)
      const {
        data,
        has_more: hasMore,
        last_id: last = '',
      } = parseAnswer(this.#service, PageSchema, answer.json())
      for (const message of data) {
        // A spread could exceed the maximum number of arguments.
        if (message.role === 'assistant') for (const part of toParts(message)) parts.push(part)
      }
      if (hasMore !== true || last === after) return parts.length > 0 ? [{ artifactId: id, parts }] : []
      after = last
    }
    throw this.#service.error(`a run of its has more than ${MAX_PAGES} pages of messages`)
  }

  async #find(ref: TaskRef, request: ServiceCall, call: ProviderCall): Promise<ServiceAnswer> {
    const answer = await this.#service.send({ ...request, expected: [404] }, call)
    if (answer.status === 404) throw taskNotFound(ref['runId'])
    return answer
  }

  #readRun(answer: ServiceAnswer): Run {
    return parseAnswer(this.#service, RunSchema, answer.json())
  }

  #request(
    method: 'GET' | 'POST',
    path: string,
    body?: JsonObject,
    query: Readonly<Record<string, string>> = {},
  ): ServiceCall {
    const search = new URLSearchParams({ 'api-version': this.#apiVersion, ...query })
    return { method, path: `${path}?${search.toString()}`, body }
  }
}

function pathOf(ref: TaskRef): string {
  const { threadId, runId } = check(RefSchema, ref, 'ref')
  return `/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}`
}

/** @throws {A2AError} `INVALID_PARAMS`: a waiting run accepts only outputs of its tools. */
function toolOutputsOf({ parts }: DeepReadonly<Message>): JsonObject[] {
  const outputs = parts.flatMap(({ data }) => tryRead(OutputsSchema, data)?.tool_outputs ?? [])
  if (outputs.length > 0) return outputs
  const example = '{"tool_outputs": [{"tool_call_id": "…", "output": "…"}]}'
  throw invalidParams('message.parts', `must have a data part with the answer, such as ${example}`)
}

function toContent({ text, raw, url, data, mediaType }: DeepReadonly<Part>): JsonObject {
  const link = url ?? (raw === undefined ? undefined : dataUrl(raw, mediaType))
  if (link === undefined) return { type: 'text', text: text ?? JSON.stringify(data) }
  // Other files need an upload before.
  if (mediaType?.startsWith('image/') !== true) {
    throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', 'Classic agents take texts, data and images', {
      mediaType: mediaType ?? 'application/octet-stream',
    })
  }
  return { type: 'image_url', image_url: { url: link } }
}

/**
 * Returns the parts that an event adds to the answer: texts while they are written, other content when its message is
 * complete.
 */
function toChunk({ object: type, status, delta, content = [] }: Infer<typeof EventSchema>): PartInput[] {
  if (type === 'thread.message.delta') return toParts({ content: delta?.content ?? [] }, 'texts')
  if (type === 'thread.message' && status === 'completed') return toParts({ content }, 'others')
  return []
}
