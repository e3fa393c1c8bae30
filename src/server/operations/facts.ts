/**
 * Facts about requests and responses for observers: ids and states, and no content.
 *
 * @module
 */
import type { TaskSnapshot } from '../../core/task.js'
import type { StreamEntry } from '../../wire/dialect.js'
import type { Source } from '../streams/source.js'
import type { RequestFacts, Trail } from '../observers.js'

interface AnyRequest {
  readonly id?: string
  readonly taskId?: string
  readonly tenant?: string
  readonly contextId?: string
  readonly message?: {
    readonly messageId?: string
    readonly taskId?: string
    readonly contextId?: string
    readonly referenceTaskIds?: readonly string[]
  }
}

/** @param request - The decoded parameters of any operation. */
export function factsOfRequest(request: unknown): RequestFacts {
  // Every operation's parameters have these names for these things; the id of a webhook comes with a `taskId`.
  const { id, taskId = id, tenant, contextId, message } = request as AnyRequest
  return {
    tenant,
    taskId: message === undefined ? taskId : message.taskId,
    contextId: message === undefined ? contextId : message.contextId,
    messageId: message?.messageId,
    referenceTaskIds: message?.referenceTaskIds,
  }
}

/** @param answer - The result of any operation that does not stream. */
export function factsOfAnswer(answer: unknown): RequestFacts {
  const isObject = typeof answer === 'object' && answer !== null
  // Only task views have a `task`.
  return isObject && 'task' in answer ? factsOfTask(answer.task as TaskSnapshot) : {}
}

function factsOfTask({ id, contextId, state }: TaskSnapshot): RequestFacts {
  return { taskId: id, contextId, state }
}

function factsOfEntry(entry: StreamEntry): RequestFacts {
  if (entry.type === 'task') return factsOfTask(entry.task)
  if (entry.type === 'message') return {}
  const { event, contextId } = entry
  const about = { taskId: event.taskId, contextId }
  if (event.type === 'status') return { ...about, state: event.to }
  const { artifactId } = event.artifact
  return typeof artifactId === 'string' ? { ...about, artifactId } : about
}

/** Records each entry when it is read. */
export function recordEntries(entries: Source<StreamEntry>, trail: Trail): Source<StreamEntry> {
  return {
    async next() {
      const result = await entries.next()
      if (!result.done) trail.record(factsOfEntry(result.value))
      return result
    },
    return: () => entries.return(),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Calls `onEnd` when the reader has left, which it does after the last element too. */
export function untilLeft<T>(source: Source<T>, onEnd: () => void): Source<T> {
  return {
    next: () => source.next(),
    return() {
      onEnd()
      return source.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
