/**
 * The LangGraph API of the LiteLLM-RS document: runs without threads, each with its output.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../../core/errors.js'
import type { TaskState } from '../../../core/lifecycle.js'
import type { JsonObject, JsonValue } from '../../../core/json-types.js'
import { nonEmptyString, nullish, object, optional, string, unknown } from '../../../schemas/scalars.js'
import { check } from '../../../wire/check.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import { Service } from '../shared/service.js'
import { parseAnswer, parseSettings } from '../shared/answers.js'
import type { LangGraphOptions } from './options.js'
import { asking, completed, failed, fieldsOf, InterruptsSchema, lastTextOf, response } from './answers.js'
import { healthOf } from './health.js'
import { configOf, inputOf } from './input.js'
import { errorNameOf, runEvents, type RunEvent } from './stream.js'

const RefSchema = object({ runId: nonEmptyString })
const SettingsSchema = object({ assistantId: optional(string) })

/** The document specifies neither the name of a run's id nor the absence of its output. */
const AnswerSchema = object({
  run_id: nullish(string),
  id: nullish(string),
  status: nullish(string),
  state: nullish(string),
  output: optional(unknown),
})

/** Run statuses of LangGraph, and the states of the document. */
const STATES: ReadonlyMap<string, TaskState> = new Map([
  ['pending', 'submitted'],
  ['running', 'working'],
  ['success', 'completed'],
  ['completed', 'completed'],
  ['error', 'failed'],
  ['failed', 'failed'],
  ['timeout', 'failed'],
  // Without a thread a run cannot continue, so it was canceled.
  ['interrupted', 'canceled'],
  ['cancelled', 'canceled'],
  ['input_required', 'input-required'],
])

export class LiteLlmRsServer implements AgentProvider {
  readonly #options: LangGraphOptions

  constructor(options: LangGraphOptions) {
    this.#options = options
  }

  checkAgent(agent: RegisteredAgent): void {
    parseSettings(agent, SettingsSchema)
  }

  async sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    const service = this.#service(agent)
    const answer = await service.send(
      { method: 'POST', path: '/runs', body: this.#bodyOf(agent, task) },
      call,
    )
    const json = answer.json()
    const { run_id, id } = parseAnswer(service, AnswerSchema, json)
    const runId = run_id ?? id
    return {
      ...(typeof runId === 'string' && runId !== '' && { ref: { runId } }),
      ...toUpdate(service, json),
    }
  }

  /**
   * The end of the stream completes the task: the document has no other end of a run. The output is that of the last
   * step.
   */
  async *streamTask(
    agent: RegisteredAgent,
    task: ProviderTask,
    call: ProviderCall,
  ): AsyncGenerator<TaskUpdate, undefined> {
    const service = this.#service(agent)
    const body = { ...this.#bodyOf(agent, task), stream_mode: 'updates' }
    let lastText: string | undefined
    yield { state: 'working' }
    for await (const event of runEvents(service, { method: 'POST', path: '/runs/stream', body }, call)) {
      if (event.event === 'error') {
        yield failed(errorNameOf(event.data))
        return
      }
      const { update, text } = this.#read(service, event)
      lastText = text ?? lastText
      if (update !== undefined) yield update
      if (update?.state === 'input-required') return
    }
    yield {
      state: 'completed',
      ...(lastText !== undefined && { artifacts: [response([{ text: lastText }])] }),
    }
  }

  async getTask(agent: RegisteredAgent, given: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const service = this.#service(agent)
    const { runId } = check(RefSchema, given, 'ref')
    const path = `/runs/${encodeURIComponent(runId)}`
    const answer = await service.send({ method: 'GET', path, expected: [404] }, call)
    if (answer.status === 404) throw taskNotFound(runId)
    return toUpdate(service, answer.json())
  }

  async cancelTask(agent: RegisteredAgent, given: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const { runId } = check(RefSchema, given, 'ref')
    const path = `/runs/${encodeURIComponent(runId)}/cancel`
    const answer = await this.#service(agent).send({ method: 'POST', path, expected: [404] }, call)
    if (answer.status === 404) throw taskNotFound(runId)
    return { state: 'canceled' }
  }

  healthCheck(agent: RegisteredAgent, call: ProviderCall): Promise<AgentStatus> {
    return healthOf(this.#service(agent), ['/health'], call)
  }

  #service(agent: RegisteredAgent): Service {
    return new Service('langgraph', agent, this.#options)
  }

  #bodyOf(agent: RegisteredAgent, task: ProviderTask): JsonObject {
    if (task.ref !== undefined) {
      throw new A2AError('UNSUPPORTED_OPERATION', 'A run without a thread cannot receive an answer', {
        operation: 'answer',
      })
    }
    const { input = inputOf } = this.#options
    const { assistantId } = parseSettings(agent, SettingsSchema)
    const given: JsonValue = input(task)
    return {
      // Not in the document, but LangGraph's own servers require it.
      ...(assistantId !== undefined && { assistant_id: assistantId }),
      input: Array.isArray(given) || typeof given !== 'object' ? given : { context: null, ...given },
      config: { tags: [] },
      ...configOf(task),
    }
  }

  #read(
    service: Service,
    { event, data }: RunEvent,
  ): { readonly update?: TaskUpdate; readonly text?: string | undefined } {
    const fields = fieldsOf(data)
    const { __interrupt__: interrupts, message } = fields
    if (event === 'metadata') {
      const { run_id: runId } = fields
      return typeof runId === 'string' && runId !== '' ? { update: { ref: { runId } } } : {}
    }
    if (interrupts !== undefined) {
      return { update: asking(parseAnswer(service, InterruptsSchema, interrupts)) }
    }
    const text = Object.values(fields)
      .map(lastTextOf)
      .findLast((each) => each !== undefined)
    return { text, update: { state: 'working', ...(typeof message === 'string' && { message }) } }
  }
}

function toUpdate(service: Service, json: unknown): TaskUpdate {
  const { status: runStatus, state, output } = parseAnswer(service, AnswerSchema, json)
  const { __interrupt__: interrupts, __error__: error } = { ...fieldsOf(json), ...fieldsOf(output) }
  // A failed run has the HTTP status 200.
  if (error !== undefined) return failed(errorNameOf(error))
  if (interrupts !== undefined) return asking(parseAnswer(service, InterruptsSchema, interrupts))
  const status = state ?? runStatus ?? (output === undefined || output === null ? '' : 'completed')
  const target = STATES.get(status)
  if (target === undefined) {
    throw service.error(`its run status ${JSON.stringify(status.slice(0, 100))} is not known`)
  }
  if (target === 'completed') return completed(output)
  return target === 'failed' ? failed(status) : { state: target }
}
