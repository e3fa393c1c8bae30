/**
 * LangGraph's API: threads and their runs.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../../core/errors.js'
import type { JsonObject, JsonValue } from '../../../core/json-types.js'
import { nonEmptyString, object, optional, string } from '../../../schemas/scalars.js'
import { check } from '../../../wire/check.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import { Service, type ServiceAnswer } from '../shared/service.js'
import { parseAnswer, parseSettings } from '../shared/answers.js'
import type { LangGraphOptions, LangGraphStreamMode } from './options.js'
import {
  asking,
  completed,
  failed,
  RunSchema,
  StateSchema,
  ThreadSchema,
  type ThreadState,
} from './answers.js'
import { healthOf } from './health.js'
import { answerOf, configOf, inputOf } from './input.js'
import { RunEventReader, runEvents } from './stream.js'

/** Ids of a task. They are stored in handles, so any field added later must be optional. */
const RefSchema = object({ threadId: nonEmptyString, runId: nonEmptyString, assistantId: nonEmptyString })
type RunRef = Readonly<{ threadId: string; runId: string; assistantId: string }>

const SettingsSchema = object({ assistantId: optional(string) })

/** A run to begin. */
interface RunRequest {
  readonly threadId: string
  readonly assistantId: string
  readonly body: JsonObject
}

export class LangGraphServer implements AgentProvider {
  readonly #options: LangGraphOptions
  readonly #streamMode: readonly LangGraphStreamMode[]

  constructor(options: LangGraphOptions, streamMode: readonly LangGraphStreamMode[]) {
    this.#options = options
    this.#streamMode = streamMode
  }

  checkAgent(agent: RegisteredAgent): void {
    parseSettings(agent, SettingsSchema)
  }

  async sendTask(agent: RegisteredAgent, task: ProviderTask, call: ProviderCall): Promise<TaskUpdate> {
    const service = this.#service(agent)
    const { threadId, assistantId, body } = await this.#prepare(service, agent, task, call)
    const path = `${pathOf(threadId)}/runs`
    try {
      const answer = await service.send({ method: 'POST', path, body }, call)
      const { run_id: runId } = parseAnswer(service, RunSchema, answer.json())
      return { ref: { threadId, runId, assistantId }, state: 'submitted' }
    } catch (error) {
      throw await refusal(service, threadId, error, call)
    }
  }

  async *streamTask(
    agent: RegisteredAgent,
    task: ProviderTask,
    call: ProviderCall,
  ): AsyncGenerator<TaskUpdate, undefined> {
    const service = this.#service(agent)
    const { threadId, assistantId, body } = await this.#prepare(service, agent, task, call)
    const path = `${pathOf(threadId)}/runs/stream`
    // The run continues without its connection, so that a broken stream can be replaced by polling.
    const sent = { ...body, stream_mode: [...this.#streamMode], on_disconnect: 'continue' }
    const events = new RunEventReader(service)
    let ref: RunRef | undefined
    try {
      for await (const event of runEvents(service, { method: 'POST', path, body: sent }, call)) {
        const update = events.read(event)
        const { runId } = events
        if (runId !== undefined && runId !== ref?.runId)
          yield { ref: (ref = { threadId, runId, assistantId }) }
        if (update !== undefined) yield update
      }
    } catch (error) {
      throw ref === undefined ? await refusal(service, threadId, error, call) : error
    }
    if (ref === undefined) throw service.error('its stream does not say which run it is of')
    yield events.end(await this.getTask(agent, ref, call))
  }

  async getTask(agent: RegisteredAgent, given: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const service = this.#service(agent)
    const ref = check(RefSchema, given, 'ref')
    const answer = await service.send({ method: 'GET', path: runPath(ref), expected: [404] }, call)
    if (answer.status === 404) {
      if (await wasCanceled(service, ref, call)) return { state: 'canceled' }
      throw taskNotFound(ref.runId)
    }
    const { status } = parseAnswer(service, RunSchema, answer.json())
    switch (status) {
      case 'pending':
        return { state: 'submitted' }
      case 'running':
        return { state: 'working' }
      case 'success':
        return toUpdate(await stateOf(service, ref, call))
      case 'error':
      case 'timeout':
        return (await wasCanceled(service, ref, call)) ? { state: 'canceled' } : failed(status)
      case 'interrupted': {
        if (await wasCanceled(service, ref, call)) return { state: 'canceled' }
        const state = await stateOf(service, ref, call)
        return isWaiting(state) ? toUpdate(state) : { state: 'canceled' }
      }
      default:
        throw service.error(`its run status ${JSON.stringify(status.slice(0, 100))} is not known`)
    }
  }

  /**
   * Does not wait for the end of the run. The cancellation is recorded in the thread's metadata, since some servers
   * report a canceled run as `error`.
   */
  async cancelTask(agent: RegisteredAgent, given: TaskRef, call: ProviderCall): Promise<TaskUpdate> {
    const service = this.#service(agent)
    const ref = check(RefSchema, given, 'ref')
    const answer = await service.send(
      { method: 'POST', path: `${runPath(ref)}/cancel`, body: {}, expected: [404] },
      call,
    )
    if (answer.status === 404) throw taskNotFound(ref.runId)
    const body = { metadata: { [canceledKey(ref)]: true } }
    await service.send({ method: 'PATCH', path: pathOf(ref.threadId), body, expected: [404] }, call)
    return {}
  }

  healthCheck(agent: RegisteredAgent, call: ProviderCall): Promise<AgentStatus> {
    return healthOf(this.#service(agent), ['/ok', '/health'], call)
  }

  #service(agent: RegisteredAgent): Service {
    return new Service('langgraph', agent, this.#options)
  }

  async #prepare(
    service: Service,
    agent: RegisteredAgent,
    task: ProviderTask,
    call: ProviderCall,
  ): Promise<RunRequest> {
    const body = { ...configOf(task), metadata: { a2a_task_id: task.id } }
    if (task.ref !== undefined) {
      const { threadId, assistantId } = check(RefSchema, task.ref, 'ref')
      const command = { resume: answerOf(task) }
      return { threadId, assistantId, body: { ...body, assistant_id: assistantId, command } }
    }
    const assistantId = assistantOf(agent)
    const { input = inputOf, multitaskStrategy = 'enqueue' } = this.#options
    const others: Record<string, JsonValue> = {
      assistant_id: assistantId,
      input: input(task),
      multitask_strategy: multitaskStrategy,
      // The thread of an old conversation may have been deleted; the conversation can still continue.
      if_not_exists: 'create',
    }
    const threadId =
      task.previous === undefined
        ? await createThread(service, task, call)
        : check(RefSchema, task.previous, 'previous').threadId
    return { threadId, assistantId, body: { ...body, ...others } }
  }
}

/** Without a setting, the graph has the name of the agent. */
function assistantOf(agent: RegisteredAgent): string {
  const { assistantId = '' } = parseSettings(agent, SettingsSchema)
  return assistantId === '' ? agent.id : assistantId
}

async function createThread(service: Service, task: ProviderTask, call: ProviderCall): Promise<string> {
  const body = { metadata: { a2a_context_id: task.contextId } }
  const answer = await service.send({ method: 'POST', path: '/threads', body }, call)
  return parseAnswer(service, ThreadSchema, answer.json()).thread_id
}

function pathOf(threadId: string): string {
  return `/threads/${encodeURIComponent(threadId)}`
}

function runPath({ threadId, runId }: RunRef): string {
  return `${pathOf(threadId)}/runs/${encodeURIComponent(runId)}`
}

function threadAnswer(service: Service, threadId: string, call: ProviderCall): Promise<ServiceAnswer> {
  return service.send({ method: 'GET', path: pathOf(threadId), expected: [404] }, call)
}

/**
 * Returns the reason why a run was refused. Servers respond with 409 or 422 for a busy thread, and some of them also
 * for one that does not exist.
 */
async function refusal(
  service: Service,
  threadId: string,
  error: unknown,
  call: ProviderCall,
): Promise<unknown> {
  if (!A2AError.is(error, 'PROVIDER_ERROR')) return error
  const { status } = error.data
  if (status !== 409 && status !== 422) return error
  const answer = await threadAnswer(service, threadId, call)
  if (answer.status === 404) return taskNotFound(threadId)
  if (parseAnswer(service, ThreadSchema, answer.json()).status !== 'busy') return error
  return service.error('its thread has a run that has not ended', { status, retryable: true, cause: error })
}

function canceledKey({ runId }: RunRef): string {
  return `a2a_canceled_${runId}`
}

async function wasCanceled(service: Service, ref: RunRef, call: ProviderCall): Promise<boolean> {
  const answer = await threadAnswer(service, ref.threadId, call)
  if (answer.status === 404) return false
  const { metadata } = parseAnswer(service, ThreadSchema, answer.json())
  return metadata?.[canceledKey(ref)] === true
}

/**
 * Returns the thread's state at the end of this run, even if a later run has changed it. Without values if it is not
 * known any more.
 */
async function stateOf(
  service: Service,
  { threadId, runId }: RunRef,
  call: ProviderCall,
): Promise<ThreadState> {
  const answer = await service.send({ method: 'GET', path: `${pathOf(threadId)}/state` }, call)
  const state = parseAnswer(service, StateSchema, answer.json())
  const writer = state.metadata?.run_id
  if (typeof writer !== 'string' || writer === runId) return state
  const body = { limit: 1, metadata: { run_id: runId } }
  const path = `${pathOf(threadId)}/history`
  const history = (await service.send({ method: 'POST', path, body }, call)).json()
  const [own] = Array.isArray(history) ? history : []
  return own === undefined ? { values: undefined } : parseAnswer(service, StateSchema, own)
}

function isWaiting({ next, tasks }: ThreadState): boolean {
  return (next ?? []).length > 0 || (tasks ?? []).some(({ interrupts }) => (interrupts ?? []).length > 0)
}

function toUpdate(state: ThreadState): TaskUpdate {
  if (!isWaiting(state)) return completed(state.values)
  return asking((state.tasks ?? []).flatMap(({ interrupts }) => interrupts ?? []))
}
