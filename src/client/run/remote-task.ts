/**
 * State of a remote task, built from its events, and its text.
 *
 * @module
 */
import { appendParts } from '../../core/artifacts/append-parts.js'
import type { JsonObject } from '../../core/json-types.js'
import { mergedMetadata } from '../../core/metadata.js'
import { compact } from '../../runtime/compact.js'
import { textOf } from '../../wire/text.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import type { RunResult } from './run-types.js'

/**
 * Applies `event` to `task`, in place: with a copy per event, a stream would cost the square of its chunks.
 *
 * @returns The changed task; a new one if `task` is `undefined` or the event is a snapshot.
 */
export function applyEvent(
  task: RemoteTask | undefined,
  event: Exclude<RemoteEvent, { type: 'message' }>,
): RemoteTask {
  if (event.type === 'task') return event.task
  const { taskId, contextId } = event
  const next = task ?? { id: taskId, state: 'submitted', artifacts: [], messages: [], metadata: {} }
  if (contextId) next.contextId = contextId
  if (event.type === 'status') {
    next.state = event.state
    // A status replaces the previous one, including its message.
    delete next.message
    delete next.updatedAt
    // The metadata of the event are changes of those of the task, as in the SDKs of A2A.
    if (event.metadata !== undefined)
      next.metadata = mergedMetadata(next.metadata, event.metadata) as JsonObject
    return Object.assign(next, compact({ message: event.message, updatedAt: event.updatedAt }))
  }
  const { artifact, append } = event
  const { artifacts } = next
  const index = indexOf(artifacts, artifact.artifactId)
  const known = artifacts[index]
  if (known !== undefined && append) appendTo(known, artifact)
  else artifacts[index] = artifact
  return next
}

/** Index of each artifact by id. A search per chunk would cost as much as there are artifacts. */
const POSITIONS = new WeakMap<RemoteTask['artifacts'], Map<string, number>>()

/** Index of the artifact `id`; for a new one, the index after the last. */
function indexOf(artifacts: RemoteTask['artifacts'], id: string): number {
  let positions = POSITIONS.get(artifacts)
  // Callbacks receive the task itself and may have changed it: rebuild the index when it does not match.
  const position = positions?.get(id)
  if (
    positions?.size !== artifacts.length ||
    (position !== undefined && artifacts[position]?.artifactId !== id)
  ) {
    const first = artifacts.map(({ artifactId }, index) => [artifactId, index] as const).reverse()
    positions = new Map(first)
    POSITIONS.set(artifacts, positions)
  }
  const index = positions.get(id) ?? artifacts.length
  positions.set(id, index)
  return index
}

function appendTo(known: RemoteTask['artifacts'][number], { parts, metadata }: typeof known): void {
  appendParts(known.parts, parts)
  if (metadata !== undefined) known.metadata = { ...known.metadata, ...metadata }
}

/**
 * The text of a task: its artifacts, else its status message, else the agent's last message. For a task that is not
 * `completed`, the status message comes first: it says what the agent waits for or why it stopped.
 */
export function textOfTask({ state, artifacts, message, messages }: RemoteTask): string {
  const artifactTexts = artifacts.map(textOf).filter((text) => text !== '')
  const statusText = message === undefined ? '' : textOf(message)
  const result = artifactTexts.join('\n')
  const lastMessage = messages.findLast(({ role }) => role === 'agent')
  return (
    (state === 'completed' ? result || statusText : statusText || result) ||
    (lastMessage === undefined ? '' : textOf(lastMessage))
  )
}

/**
 * A text that changes whenever the task does, at the cost of the number of its parts and not of their content. It does not tell
 * whether the chunks of a text are one part: few agents join them.
 */
export function fingerprintOf({ state, updatedAt, message, artifacts, messages }: RemoteTask): string {
  const sizes = artifacts.map(({ artifactId, parts }) => {
    const texts = parts.reduce((sum, { text = '' }) => sum + text.length, 0)
    return [artifactId, texts, parts.filter(({ text }) => text === undefined).length]
  })
  return JSON.stringify([state, updatedAt, message?.messageId, sizes, messages.length])
}

/** The result of a run whose task is terminal. */
export function resultOf(task: RemoteTask): RunResult {
  const text = textOfTask(task)
  if (task.state === 'completed') return { ok: true, type: 'completed', task, text }
  const type = task.state === 'rejected' || task.state === 'canceled' ? task.state : 'failed'
  return { ok: false, type, task, text }
}
