/** Tasks, messages and updates of each binding and version, in one form. */

import { collect, eventsIn, parse, type StreamAnswer } from './http.js'
import { expectResult, type Called } from './answers.js'
import { ensure, Mismatch, type Sent } from './mismatch.js'
import type { SseEvent } from './sse.js'
import type { Target } from './targets.js'
import type { WireArtifact, WireBody, WireMessage, WireStatus, WireTask } from './wire.js'

export interface PlainTask {
  readonly raw: WireTask
  readonly id: string
  readonly contextId: string
  readonly state: string
  /** The text of the message of the status. */
  readonly message: string
  readonly artifacts: readonly { readonly id: string | undefined; readonly text: string }[]
  /** The texts of all artifacts. */
  readonly text: string
  readonly history: readonly { readonly role: string | undefined; readonly text: string }[]
}

export interface Update {
  readonly raw: WireBody
  readonly event: SseEvent
  readonly kind: 'task' | 'message' | 'status' | 'artifact'
  /** Of a task, or of an artifact. */
  readonly id?: string | undefined
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  readonly state?: string
  readonly status?: WireStatus | undefined
  readonly final?: boolean | undefined
  readonly text?: string
  readonly append?: boolean
}

const TERMINAL = ['completed', 'failed', 'canceled', 'rejected']

/** `input-required` for each spelling of the state. */
function stateName(state: string | undefined): string {
  const name = String(state)
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replace(/_/g, '-')
  return name === 'cancelled' ? 'canceled' : name
}

export function isTerminal({ state }: { readonly state?: string }): boolean {
  return state !== undefined && TERMINAL.includes(state)
}

/** The task in the answer to a message. */
export function sentTask(answer: Called): PlainTask {
  const result = expectResult(answer, 'a task')
  const task = result.task ?? (result.kind === 'task' ? result : undefined)
  ensure(answer, task !== undefined, 'a task', answer.text)
  return toTask(answer, task)
}

/** The task that GetTask and CancelTask answer with. */
export function plainTask(answer: Called): PlainTask {
  return toTask(answer, expectResult(answer, 'a task'))
}

/** The message that a message is answered with. */
export function sentMessage(answer: Called): WireMessage & { readonly text: string } {
  const result = expectResult(answer, 'a message')
  const message = result.message ?? (result.kind === 'message' ? result : undefined)
  ensure(answer, message !== undefined && result.task === undefined, 'a message and no task', answer.text)
  return { ...message, text: textOf(message) }
}

function toTask(answer: Sent, raw: Partial<WireTask>): PlainTask {
  ensure(answer, isTask(raw), 'a task with id and status', raw)
  const { id, contextId, status, artifacts = [], history = [] } = raw
  const message = status.message ?? status.update
  return {
    raw,
    id,
    contextId,
    state: stateName(status.state),
    message: message === undefined ? '' : textOf(message),
    artifacts: artifacts.map((artifact) => ({ id: artifact.artifactId, text: textOf(artifact) })),
    text: artifacts.map(textOf).join(''),
    history: history.map((each) => ({ role: each.role, text: textOf(each) })),
  }
}

function isTask(raw: Partial<WireTask>): raw is WireTask {
  return typeof raw.id === 'string' && raw.id !== '' && typeof raw.status === 'object'
}

export function expectState(answer: Called, task: PlainTask, ...states: readonly string[]): void {
  ensure(
    answer,
    states.includes(task.state),
    `the state ${states.join(' or ')}`,
    `${task.state}: ${answer.text}`,
  )
}

/** The texts of a message or an artifact. */
function textOf({ parts, content }: WireMessage | WireArtifact = {}): string {
  return (parts ?? content ?? []).map((part) => part.text ?? '').join('')
}

/** The update in an event of a stream: its `kind` is `task`, `message`, `status`, `artifact`, or `undefined`. */
export function updateOf(target: Target, stream: StreamAnswer, event: SseEvent): Update {
  const json = parse(event.data)
  ensure(stream, typeof json === 'object' && json !== null, 'JSON in the data of an event', event.text)
  const value = target.isJsonRpc ? json.result : json
  ensure(stream, typeof value === 'object' && value !== null, 'a result in the event', event.text)
  const isByKind = target.isJsonRpc && !target.isModern
  const wrapped = isByKind ? byKind(value) : value
  const { task, message, statusUpdate, artifactUpdate } = wrapped
  const base = { raw: value, event }
  if (task !== undefined) return { ...base, kind: 'task', ...toTask(stream, task), taskId: task.id }
  if (message !== undefined) return { ...base, kind: 'message', text: textOf(message) }
  if (statusUpdate !== undefined) {
    const { taskId, contextId, status, final } = statusUpdate
    return { ...base, kind: 'status', taskId, contextId, state: stateName(status?.state), final, status }
  }
  if (artifactUpdate !== undefined) {
    const { taskId, contextId, artifact, append = false } = artifactUpdate
    const { artifactId: id } = artifact ?? {}
    return { ...base, kind: 'artifact', taskId, contextId, id, text: textOf(artifact), append }
  }
  throw new Mismatch(stream, 'a task, a message, a status update or an artifact update', event.text)
}

const KINDS: Readonly<Record<string, string>> = {
  task: 'task',
  message: 'message',
  'status-update': 'statusUpdate',
  'artifact-update': 'artifactUpdate',
}

function byKind(value: WireBody): WireBody {
  const name = KINDS[value.kind ?? '']
  return name === undefined ? {} : { [name]: value }
}

/** All updates of a stream, until the agent closes it. */
export async function updatesOf(target: Target, stream: StreamAnswer): Promise<Update[]> {
  return (await collect(stream)).map((event) => updateOf(target, stream, event))
}

/** The next update of a stream. */
export async function nextUpdate(target: Target, stream: StreamAnswer): Promise<Update> {
  const { value } = await eventsIn(stream).next()
  ensure(stream, value !== undefined, 'another event', 'the end of the stream')
  return updateOf(target, stream, value)
}

/** The text of each artifact that the updates build, by id (§4.2.2). */
export function artifactsOf(updates: readonly Update[]): string[] {
  const texts = new Map<string | undefined, string>()
  for (const { kind, id, text = '', append = false } of updates) {
    if (kind === 'artifact') texts.set(id, append ? (texts.get(id) ?? '') + text : text)
  }
  return [...texts.values()]
}
