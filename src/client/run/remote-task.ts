/**
 * A remote task as its events make it, and what it says.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import { compact } from '../../wire/client/fields.js'
import { textOf } from '../../wire/text.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'

const ENDED: readonly TaskState[] = ['completed', 'failed', 'canceled', 'rejected']

export function hasEnded({ state }: { readonly state: TaskState }): boolean {
  return ENDED.includes(state)
}

/** `task` after `event`: changed in place, so that a stream of chunks costs what its chunks cost. */
export function fold(
  task: RemoteTask | undefined,
  event: Exclude<RemoteEvent, { type: 'message' }>,
): RemoteTask {
  if (event.type === 'task') return event.task
  const { taskId, contextId } = event
  const folded = task ?? { id: taskId, state: 'submitted', artifacts: [], messages: [], metadata: {} }
  if (contextId) folded.contextId = contextId
  if (event.type === 'status') {
    folded.state = event.state
    // A status takes the place of the one before, message and all.
    delete folded.message
    delete folded.updatedAt
    return Object.assign(folded, compact({ message: event.message, updatedAt: event.updatedAt }))
  }
  const { artifact, append } = event
  const { artifacts } = folded
  const index = indexOf(artifacts, artifact.artifactId)
  const known = artifacts[index]
  if (known !== undefined && append) appendTo(known, artifact)
  else artifacts[index] = artifact
  return folded
}

/** Where each artifact stands: to search for it would cost as much as there are. */
const PLACES = new WeakMap<RemoteTask['artifacts'], Map<string, number>>()

/** Where `id` stands; behind the last if it is new. */
function indexOf(artifacts: RemoteTask['artifacts'], id: string): number {
  let places = PLACES.get(artifacts)
  // Whoever is told of the task may have changed it.
  const place = places?.get(id)
  if (places?.size !== artifacts.length || (place !== undefined && artifacts[place]?.artifactId !== id)) {
    const first = artifacts.map(({ artifactId }, index) => [artifactId, index] as const).reverse()
    places = new Map(first)
    PLACES.set(artifacts, places)
  }
  const index = places.get(id) ?? artifacts.length
  places.set(id, index)
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
  const made = artifacts.map(textOf).filter((text) => text !== '')
  const said = message === undefined ? '' : textOf(message)
  const result = made.join('\n')
  const last = messages.findLast(({ role }) => role === 'agent')
  return (state === 'completed' ? result || said : said || result) || (last === undefined ? '' : textOf(last))
}

/** What changes when the task does. */
export function outlineOf({ state, updatedAt, message, artifacts, messages }: RemoteTask): string {
  const sizes = artifacts.map(({ artifactId, parts }) => [artifactId, parts.length])
  return JSON.stringify([state, updatedAt, message?.messageId, sizes, messages.length])
}
