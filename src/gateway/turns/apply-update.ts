/**
 * What a service tells of a task, as changes of ours.
 *
 * @module
 */
import { describe, isPlain } from '../../runtime/describe.js'
import { isTerminal, shortestPath, type TaskState } from '../../core/lifecycle.js'
import { VALID_STATES } from '../../core/states.js'
import type { ArtifactInput, MessageInput } from '../../core/params.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { TaskUpdate } from '../provider.js'
import { providerError } from '../providers/shared/service.js'

type Changes = Parameters<TaskManager['patchTask']>[1]

const UNRECORDED: readonly TaskState[] = ['submitted', 'working']

/**
 * Changes the task as `update` says: it walks the shortest way to a state, and a state that it is in already is no step.
 * A task that the service has only accepted, but that we work on, is worked on.
 *
 * @throws {A2AError} `TASK_NOT_FOUND`, `TASK_TERMINAL`, `LIMIT_EXCEEDED`, `INVALID_PARAMS`: what the manager refuses.
 */
export function applyUpdate(tasks: TaskManager, taskId: string, update: TaskUpdate): void {
  const { chunk, ...others } = update
  const isChunk = chunk !== undefined && Object.keys(others).every((key) => key === 'ref')
  // To show the task as it is costs as much as all its chunks.
  if (isChunk && tasks.stateOf(taskId) === 'working') {
    tasks.appendArtifact(taskId, chunk)
    return
  }
  const task = tasks.peekTask(taskId)
  // What it throws says which it is.
  if (task === null || isTerminal(task.state)) tasks.patchTask(taskId, {})
  else applyTo(tasks, task, update)
}

function applyTo(tasks: TaskManager, task: TaskSnapshot, update: TaskUpdate): void {
  const target = targetOf(update, task.state)
  const message = applyMessage(tasks, task, target, messageOf(update, task, target))
  const state = applySteps(tasks, task, target, update)
  if (update.chunk !== undefined) tasks.appendArtifact(task.id, update.chunk)
  const changes = { ...statusChange(state, message), ...resultChange(update, task) }
  if (Object.keys(changes).length > 0) tasks.patchTask(task.id, changes)
}

/** The status message to set: none where the task says the same already. */
function applyMessage(
  tasks: TaskManager,
  task: TaskSnapshot,
  target: TaskState,
  message: MessageInput | undefined,
): MessageInput | undefined {
  // Services are asked again and again, and say the same: that is no change.
  if (message === undefined || (target === task.state && isSame(message, task.message))) return undefined
  // An agent that asks, or is done, has said so in the conversation; how its work goes is no part of it.
  return UNRECORDED.includes(target) ? message : tasks.addMessage(task.id, message).message
}

/** Walks up to the last step to `target`, and returns that step: its change carries the message and the results. */
function applySteps(
  tasks: TaskManager,
  task: TaskSnapshot,
  target: TaskState,
  update: TaskUpdate,
): TaskState | undefined {
  const path = target === task.state ? [] : (shortestPath(task.state, target) ?? [target])
  // What is told of work, there is work on.
  const steps = target === 'working' && bringsResult(update) ? path : path.slice(0, -1)
  for (const state of steps) tasks.patchTask(task.id, { state, message: null })
  return path[steps.length]
}

function statusChange(state: TaskState | undefined, message: MessageInput | undefined): Changes {
  if (state !== undefined) return { state, message: message ?? null }
  return message === undefined ? {} : { message }
}

function resultChange({ artifacts = [], output }: TaskUpdate, task: TaskSnapshot): Changes {
  const changed = changedArtifacts(artifacts, task)
  return {
    ...(changed.length > 0 && { artifacts: changed }),
    ...(output !== undefined && !isEqual(output, task.output) && { output }),
  }
}

const KEYS = ['ref', 'state', 'message', 'artifacts', 'chunk', 'output', 'progress', 'failure']

/** @throws {A2AError} `PROVIDER_ERROR` for what is no update: a provider may be anybody's. */
export function requireUpdate(update: unknown, agent: RegisteredAgent): asserts update is TaskUpdate {
  const fault = faultOf(update)
  if (fault !== undefined) throw providerError(agent.provider, agent, fault)
}

function faultOf(update: unknown): string | undefined {
  if (typeof update !== 'object' || update === null || !isPlain(update)) {
    return `its answer must be an update such as { state: 'completed' }, got ${describe(update)}`
  }
  const unknown = Object.keys(update).find((key) => !KEYS.includes(key))
  if (unknown !== undefined) return `its update has "${unknown.slice(0, 80)}"; known are ${KEYS.join(', ')}`
  const { state = 'working' } = update as { readonly state?: unknown }
  return isState(state) ? undefined : 'it says a state that is not known'
}

function isState(state: unknown): state is TaskState {
  return VALID_STATES.some((known) => known === state)
}

/** A result says that there is work, unless the service says more. */
function targetOf(update: TaskUpdate, current: TaskState): TaskState {
  const state = update.state ?? current
  return state === 'submitted' && (current !== 'submitted' || bringsResult(update)) ? 'working' : state
}

function bringsResult({ chunk, artifacts = [] }: TaskUpdate): boolean {
  return chunk !== undefined || artifacts.length > 0
}

/** The status message, if the service has something to say. */
function messageOf(update: TaskUpdate, task: TaskSnapshot, target: TaskState): MessageInput | undefined {
  const { message, progress, failure } = update
  const content = typeof message === 'string' ? { parts: [{ text: message }] } : message
  const metadata = {
    ...(progress !== undefined && { progress: { current: Math.min(1, Math.max(0, progress)), total: 1 } }),
    ...(failure !== undefined && { code: failure.code, retryable: failure.retryable }),
  }
  const isEmpty = content === undefined || content.parts.length === 0
  if (isEmpty && Object.keys(metadata).length === 0) return undefined
  const parts = isEmpty ? [{ text: textFor(target, progress) }] : content.parts
  const { id: taskId, contextId } = task
  return { role: 'agent', parts, taskId, contextId, ...(Object.keys(metadata).length > 0 && { metadata }) }
}

function textFor(state: TaskState, progress: number | undefined): string {
  return progress === undefined ? `The task is ${state}` : `${Math.round(progress * 100)} %`
}

/** Whether it says what the task's status says already, under whatever id. */
function isSame({ parts, metadata }: MessageInput, known: TaskSnapshot['message']): boolean {
  return typeof known === 'object' && isEqual([parts, metadata], [known.parts, known.metadata])
}

/** Of JSON whose keys are in the same order: one that says the same otherwise is only told once more. */
function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** The artifacts that say something new, each compared with the one that it would take the place of. */
function changedArtifacts(
  artifacts: NonNullable<TaskUpdate['artifacts']>,
  task: TaskSnapshot,
): ArtifactInput[] {
  if (artifacts.length === 0) return []
  const known = new Map(task.artifacts.map((artifact) => [artifact.artifactId, artifact]))
  const unnamed = new Set(task.artifacts.filter(isUnnamed).map((artifact) => JSON.stringify(artifact)))
  return artifacts.filter((artifact) =>
    isUnnamed(artifact)
      ? !unnamed.has(JSON.stringify(artifact))
      : !isEqual(known.get(artifact.artifactId), artifact),
  )
}

function isUnnamed({ artifactId }: { readonly artifactId?: string | undefined }): boolean {
  return artifactId === undefined
}
