/**
 * What a service tells of a task, as changes of ours.
 *
 * @module
 */
import { isTerminal, shortestPath, type TaskState } from '../core/lifecycle.js'
import type { MessageInput } from '../core/params.js'
import type { TaskManager } from '../core/task-manager.js'
import type { TaskSnapshot } from '../core/task.js'
import type { TaskUpdate } from './provider.js'

const QUIET: readonly TaskState[] = ['submitted', 'working']

/**
 * Changes the task as `update` says: it walks the shortest way to a state, and a state that it is in already is no step.
 * A task that the service has only accepted, but that we work on, is worked on.
 *
 * @throws {A2AError} `TASK_NOT_FOUND`, `TASK_TERMINAL`, `LIMIT_EXCEEDED`, `INVALID_PARAMS`: what the manager refuses.
 */
export function applyUpdate(tasks: TaskManager, taskId: string, update: TaskUpdate): void {
  const task = tasks.peekTask(taskId)
  const target =
    update.state === 'submitted' && task?.state !== 'submitted' ? 'working' : (update.state ?? task?.state)
  // What it throws says which it is.
  if (task === null || target === undefined || isTerminal(task.state)) {
    tasks.patchTask(taskId, {})
    return
  }
  const said = messageOf(update, task, target)
  // Services are asked again and again, and say the same: that is no change.
  const news = said !== undefined && target === task.state && isSame(said, task.message) ? undefined : said
  // An agent that asks, or is done, has said so in the conversation; how its work goes is no part of it.
  const isPart = news !== undefined && !QUIET.includes(target)
  const message = isPart ? tasks.addMessage(taskId, news).message : news
  const path = target === task.state ? [] : (shortestPath(task.state, target) ?? [target])
  // What is told of work, there is work on.
  for (const state of path.slice(0, -1)) tasks.patchTask(taskId, { state, message: null })
  if (update.chunk !== undefined) tasks.appendArtifact(taskId, update.chunk)
  const state = path.at(-1)
  const { output } = update
  const artifacts = update.artifacts?.filter(
    (artifact) => !task.artifacts.some((known) => isEqual(known, artifact)),
  )
  const changes = {
    ...(state !== undefined && { state, message: message ?? null }),
    ...(state === undefined && message !== undefined && { message }),
    ...(artifacts !== undefined && artifacts.length > 0 && { artifacts }),
    ...(output !== undefined && !isEqual(output, task.output) && { output }),
  }
  if (Object.keys(changes).length > 0) tasks.patchTask(taskId, changes)
}

/** The status message, if the service has something to say. */
function messageOf(update: TaskUpdate, task: TaskSnapshot, target: TaskState): MessageInput | undefined {
  const { message, progress, failure } = update
  const said = typeof message === 'string' ? { parts: [{ text: message }] } : message
  const metadata = {
    ...(progress !== undefined && { progress: { current: Math.min(1, Math.max(0, progress)), total: 1 } }),
    ...(failure !== undefined && { code: failure.code, retryable: failure.retryable }),
  }
  const isSilent = said === undefined || said.parts.length === 0
  if (isSilent && Object.keys(metadata).length === 0) return undefined
  const parts = isSilent ? [{ text: textFor(target, progress) }] : said.parts
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
