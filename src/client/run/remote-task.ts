/**
 * A remote task as its events make it, and what it says.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import { compact } from '../../wire/client/fields.js'
import { textOf } from '../../wire/text.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'

const TERMINAL_STATES: readonly TaskState[] = ['completed', 'failed', 'canceled', 'rejected']

export function isTerminal({ state }: { readonly state: TaskState }): boolean {
  return TERMINAL_STATES.includes(state)
}

/** `task` after `event`: changed in place, so that a stream of chunks costs what its chunks cost. */
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
    // A status takes the place of the one before, message and all.
    delete next.message
    delete next.updatedAt
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

/** Where each artifact stands: to search for it would cost as much as there are. */
const POSITIONS = new WeakMap<RemoteTask['artifacts'], Map<string, number>>()

/** Where `id` stands; behind the last if it is new. */
function indexOf(artifacts: RemoteTask['artifacts'], id: string): number {
  let positions = POSITIONS.get(artifacts)
  // Whoever is told of the task may have changed it.
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
  for (const part of parts) known.parts.push(part)
  if (metadata !== undefined) known.metadata = { ...known.metadata, ...metadata }
}

/**
 * What a task has to say: its artifacts, else its status message, else the last message of the agent. Of a task that
 * waits, or did not come to its end, first what its status says of that.
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

/** What changes when the task does. */
export function fingerprintOf({ state, updatedAt, message, artifacts, messages }: RemoteTask): string {
  const sizes = artifacts.map(({ artifactId, parts }) => [artifactId, parts.length])
  return JSON.stringify([state, updatedAt, message?.messageId, sizes, messages.length])
}
