/**
 * A2A as Agent Engine serves it: 0.3, over HTTP, in the JSON of its Protocol Buffers.
 *
 * @module
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { DISCONNECT, objectOf, sendJson, type Pause, type StubRequest } from '../stub-server.js'
import { sendGoogleError } from './google-error.js'

type Json = Record<string, unknown>

export type TaskState =
  | 'SUBMITTED'
  | 'WORKING'
  | 'COMPLETED'
  | 'FAILED'
  | 'CANCELLED'
  | 'INPUT_REQUIRED'
  | 'REJECTED'
  | 'AUTH_REQUIRED'

/** A state comes with what the agent says about it; a text is an artifact. Each GET of a task walks to its next state. */
export type A2AStep =
  | { readonly state: TaskState; readonly says?: string }
  | { readonly artifact: string }
  /** An answer that is not a task. */
  | { readonly message: string }
  | Pause
  | typeof DISCONNECT

interface Task {
  readonly json: Json & { id: string; contextId: string; status: Json; artifacts: Json[] }
  steps: A2AStep[]
}

const ENDED = /_(COMPLETED|FAILED|CANCELLED|REJECTED)$/
const NOW = '2026-02-02T02:40:00Z'

export class A2A {
  readonly scripts: A2AStep[][] = []
  readonly #tasks = new Map<string, Task>()

  /** Answers a path below `a2a/v1`; false where there is no such call. */
  async answer(request: StubRequest, path: string, response: ServerResponse): Promise<boolean> {
    const [, id = '', action] = /^tasks\/([^/:]+)(?::(\w+))?$/.exec(path) ?? []
    const call = `${request.method} ${id === '' ? path : `tasks:${action ?? 'get'}`}`
    if (call === 'GET card') sendJson(response, 200, cardOf(request))
    else if (call === 'POST message:send') await this.#send(request, response)
    else if (call === 'POST message:stream') await this.#stream(this.#accept(request), response)
    else if (call.startsWith('GET tasks:') || call === 'POST tasks:cancel') {
      const task = this.#tasks.get(decodeURIComponent(id))
      if (!task) sendGoogleError(response, 404, 'NOT_FOUND', `Task not found: ${id}`)
      else if (action === 'cancel') cancel(task, response)
      else if (action === 'subscribe') await this.#stream(task, response)
      else {
        poll(task)
        sendJson(response, 200, task.json)
      }
    } else return false
    return true
  }

  /** The task that a message is for, or a new one. The message is `message`, or as it was called in the schema, `request`. */
  #accept(request: StubRequest): Task {
    const body = objectOf(request.body)
    const message = objectOf(body['message'] ?? body['request'])
    const taskId = message['taskId']
    const known = typeof taskId === 'string' ? this.#tasks.get(taskId) : undefined
    const contextId = typeof message['contextId'] === 'string' ? message['contextId'] : randomUUID()
    const id = randomUUID()
    const status = { state: 'TASK_STATE_SUBMITTED', timestamp: NOW }
    const json = { id, contextId, status, artifacts: [], history: [{ ...message, taskId: id, contextId }] }
    const task: Task = known ?? { json, steps: [] }
    task.steps = this.scripts.shift() ?? [{ artifact: 'Hello' }, { state: 'COMPLETED' }]
    this.#tasks.set(task.json.id, task)
    return task
  }

  /** Walks to the end only where it was asked to block: in Protocol Buffers, not to say is to say no. */
  async #send(request: StubRequest, response: ServerResponse): Promise<void> {
    const task = this.#accept(request)
    const { blocking } = objectOf(objectOf(request.body)['configuration'])
    const [first] = task.steps
    if (typeof first === 'object' && 'message' in first) {
      sendJson(response, 200, { message: agentMessage(task, first.message) })
      return
    }
    while (blocking === true && task.steps.length > 0) {
      const step = task.steps.shift()
      if (step === DISCONNECT) return void response.destroy()
      if (step instanceof Promise) await step
      else apply(task, step)
    }
    sendJson(response, 200, { task: task.json })
  }

  async #stream(task: Task, response: ServerResponse): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (event: Json): void => void response.write(`data: ${JSON.stringify(event)}\n\n`)
    const [first] = task.steps
    if (!(typeof first === 'object' && 'message' in first)) send({ task: task.json })
    for (;;) {
      const step = task.steps.shift()
      if (step === undefined) break
      if (step === DISCONNECT) return void response.destroy()
      if (step instanceof Promise) await step
      else for (const event of apply(task, step)) send(event)
    }
    response.end()
  }
}

function cardOf({ headers, path }: StubRequest): Json {
  return {
    protocolVersion: '0.3.0',
    name: 'agent',
    description: 'An agent on Agent Engine',
    url: `http://${headers.host ?? ''}${path.replace('/v1/card', '')}`,
    preferredTransport: 'HTTP+JSON',
    version: '1.0.0',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'chat', name: 'Chat', description: 'Talks', tags: ['chat'] }],
    supportsAuthenticatedExtendedCard: true,
  }
}

function poll(task: Task): void {
  for (;;) {
    const [step, ...rest] = task.steps
    if (step === undefined || step instanceof Promise || step === DISCONNECT) return
    task.steps = rest
    apply(task, step)
    if ('state' in step) return
  }
}

function cancel(task: Task, response: ServerResponse): void {
  if (ENDED.test(String(task.json.status['state']))) {
    sendGoogleError(response, 400, 'FAILED_PRECONDITION', 'Task cannot be canceled')
    return
  }
  task.steps = []
  task.json.status = { state: 'TASK_STATE_CANCELLED', timestamp: NOW }
  sendJson(response, 200, task.json)
}

/** Does a step, and gives the events of it. */
function apply(task: Task, step: Exclude<A2AStep, Pause | typeof DISCONNECT> | undefined): Json[] {
  if (step === undefined) return []
  const { id: taskId, contextId } = task.json
  if ('message' in step) return [{ message: agentMessage(task, step.message) }]
  if ('artifact' in step) {
    const artifact = { artifactId: randomUUID(), parts: [{ text: step.artifact }] }
    task.json.artifacts.push(artifact)
    return [{ artifactUpdate: { taskId, contextId, artifact, append: false, lastChunk: true } }]
  }
  const state = `TASK_STATE_${step.state}`
  const message = step.says === undefined ? {} : { message: agentMessage(task, step.says) }
  task.json.status = { state, timestamp: NOW, ...message }
  const final = ENDED.test(state) || /_REQUIRED$/.test(state)
  return [{ statusUpdate: { taskId, contextId, status: task.json.status, final } }]
}

function agentMessage({ json: { id: taskId, contextId } }: Task, text: string): Json {
  return { messageId: randomUUID(), taskId, contextId, role: 'ROLE_AGENT', content: [{ text }] }
}
