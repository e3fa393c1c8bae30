/**
 * Conversion of updates from services to changes of tasks.
 *
 * @module
 */
import { stepsTo } from '../../core/advance.js'
import { withJoinedTexts } from '../../core/artifacts/append-parts.js'
import { describe, isPlain } from '../../runtime/describe.js'
import { isTerminal, type TaskState } from '../../core/lifecycle.js'
import { amountsOf } from '../../core/spending.js'
import { VALID_STATES } from '../../core/states.js'
import type { ArtifactInput, MessageInput } from '../../core/params.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { TaskUpdate } from '../provider.js'
import { providerError } from '../providers/shared/service.js'
import { isAtWork, type TurnTasks } from './tasks.js'

type Changes = Parameters<TurnTasks['patchTask']>[1]

/**
 * Applies an update to a task. It walks the shortest path to the update's state; the current state is not a step. A
 * task that the service reports as accepted, but that is already working here, stays working.
 *
 * @throws {A2AError} `TASK_NOT_FOUND`, `TASK_TERMINAL`, `LIMIT_EXCEEDED`, `INVALID_PARAMS`: what the manager throws.
 */
export function applyUpdate(tasks: TurnTasks, taskId: string, update: TaskUpdate): void {
  const { chunk, ...others } = update
  const isChunk = chunk !== undefined && Object.keys(others).every((key) => key === 'ref')
  // Peeking at the task costs as much as all its chunks together, so a stream of chunks avoids it.
  if (isChunk && tasks.stateOf(taskId) === 'working') {
    tasks.appendArtifact(taskId, chunk)
    return
  }
  const task = tasks.peekTask(taskId)
  // The manager throws the error that fits.
  if (task === null || isTerminal(task.state)) tasks.patchTask(taskId, {})
  else applyTo(tasks, task, update)
}

function applyTo(tasks: TurnTasks, task: TaskSnapshot, update: TaskUpdate): void {
  const target = targetOf(update, task.state)
  const message = applyMessage(tasks, task, target, messageOf(update, task, target))
  const state = applySteps(tasks, task, target, update)
  if (update.chunk !== undefined) tasks.appendArtifact(task.id, update.chunk)
  const changes = { ...statusChange(state, message), ...resultChange(update, task) }
  if (Object.keys(changes).length > 0) tasks.patchTask(task.id, changes)
}

/** Returns the status message to set: none when the task has the same message already. */
function applyMessage(
  tasks: TurnTasks,
  task: TaskSnapshot,
  target: TaskState,
  message: MessageInput | undefined,
): MessageInput | undefined {
  // Polling returns the same message repeatedly, which is not a change.
  if (message === undefined || (target === task.state && isSame(message, task.message))) return undefined
  // Questions and results belong to the conversation; reports of progress do not.
  return isAtWork(target) ? message : tasks.addMessage(task.id, message).message
}

/** Walks up to the last step to `target`, and returns that step. Its change carries the message and the results. */
function applySteps(
  tasks: TurnTasks,
  task: TaskSnapshot,
  target: TaskState,
  update: TaskUpdate,
): TaskState | undefined {
  const path = pathTo(tasks, task, target)
  // Results need a task that is working, so this step comes before them.
  const steps = target === 'working' && bringsResult(update) ? path : path.slice(0, -1)
  for (const state of steps) tasks.patchTask(task.id, { state, message: null })
  return path[steps.length]
}

/** From a state of the manager's own lifecycle, work goes on if no step leads to the target. */
function pathTo(tasks: TurnTasks, { id, state }: TaskSnapshot, target: TaskState): readonly TaskState[] {
  if (!isOwn(state)) return stepsTo(state, target)
  if (state === target) return []
  return tasks.can(id, target) ? [target] : ['working', ...stepsTo('working', target)]
}

/** Whether only the manager's own lifecycle has the state. */
function isOwn(state: TaskState): boolean {
  return !VALID_STATES.includes(state)
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

const KEYS = ['ref', 'state', 'message', 'artifacts', 'chunk', 'output', 'progress', 'failure', 'spent']

/**
 * Checks an update at run time, since providers may be written by users without types.
 *
 * @throws {A2AError} `PROVIDER_ERROR` for anything that is not an update.
 */
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
  const { state = 'working', spent = {} } = update as { readonly state?: unknown; readonly spent?: unknown }
  if (amountsOf(spent) === undefined) return 'it says "spent" that is no object of amounts'
  return isState(state) ? undefined : 'it says a state that is not known'
}

function isState(state: unknown): state is TaskState {
  return VALID_STATES.some((known) => known === state)
}

/**
 * Results imply `working`, unless the update names another state. A state of the manager's own lifecycle is a kind of
 * `working`, which services do not know.
 */
function targetOf(update: TaskUpdate, current: TaskState): TaskState {
  const state = update.state ?? current
  if (isAtWork(state) && isOwn(current)) return current
  return state === 'submitted' && (current !== 'submitted' || bringsResult(update)) ? 'working' : state
}

function bringsResult({ chunk, artifacts = [] }: TaskUpdate): boolean {
  return chunk !== undefined || artifacts.length > 0
}

/** Returns the status message, if the update has content for one. */
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

/** Compares content only: every report has another message id. */
function isSame({ parts, metadata }: MessageInput, known: TaskSnapshot['message']): boolean {
  return typeof known === 'object' && isEqual([parts, metadata], [known.parts, known.metadata])
}

/** Compares JSON with keys in the same order. A different order counts as a change, which is harmless. */
function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Returns the artifacts that differ from the ones they would replace. */
function changedArtifacts(
  artifacts: NonNullable<TaskUpdate['artifacts']>,
  task: TaskSnapshot,
): ArtifactInput[] {
  if (artifacts.length === 0) return []
  // The task of an agent may have each chunk of a text as a part of its own.
  const known = new Map(task.artifacts.map((artifact) => [artifact.artifactId, withJoinedTexts(artifact)]))
  const unnamed = new Set(task.artifacts.filter(isUnnamed).map((artifact) => JSON.stringify(artifact)))
  return artifacts.filter((artifact) =>
    isUnnamed(artifact)
      ? !unnamed.has(JSON.stringify(artifact))
      : !isEqual(known.get(artifact.artifactId), withJoinedTexts(artifact)),
  )
}

function isUnnamed({ artifactId }: { readonly artifactId?: string | undefined }): boolean {
  return artifactId === undefined
}
