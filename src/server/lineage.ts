/**
 * Lineage of a message: the tasks and agents that have led to it, in the metadata of the message.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { JsonObject } from '../core/json-types.js'
import type { AgentCard } from '../schemas/agent-card.js'

/** The extension, and its key in `message.metadata`. */
export const LINEAGE = 'https://a2a-tasks.dev/extensions/lineage/v1'

/** What a message says of the delegations that have led to it. */
export interface Lineage {
  /** The task whose code sends the message. */
  readonly parentTaskId: string
  /** The task at the beginning of the chain. */
  readonly rootTaskId: string
  /** The number of delegations, from 1. */
  readonly depth: number
  /** The agents of the chain, in order: their URLs, or their names where a card has no URL. */
  readonly path: readonly string[]
}

/** The lineage of a received message; `undefined` where it has none, or not a valid one. */
export function readLineage(metadata: { readonly [key: string]: unknown } | undefined): Lineage | undefined {
  const given = metadata?.[LINEAGE]
  if (typeof given !== 'object' || given === null) return undefined
  const { parentTaskId, rootTaskId, depth, path } = given as Partial<Record<keyof Lineage, unknown>>
  if (typeof parentTaskId !== 'string' || typeof rootTaskId !== 'string') return undefined
  if (typeof depth !== 'number' || !Number.isInteger(depth) || depth < 1 || !Array.isArray(path))
    return undefined
  const agents = path.filter((agent) => typeof agent === 'string')
  return { parentTaskId, rootTaskId, depth, path: agents }
}

/** How an agent is named in a path. */
export function agentIdOf(
  card: Pick<AgentCard, 'name'> & Partial<Pick<AgentCard, 'supportedInterfaces'>>,
): string {
  return card.supportedInterfaces?.[0]?.url ?? card.name
}

/**
 * The lineage of a message that the code of `taskId` sends to `agent`.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED` for a chain of more than `maxDepth` delegations; `UNSUPPORTED_OPERATION` for an agent that
 *   is on the path already, unless `mayRepeat`.
 */
export function nextLineage(
  received: Lineage | undefined,
  own: string,
  taskId: string,
  agent: string,
  { maxDepth, mayRepeat }: { readonly maxDepth: number; readonly mayRepeat: boolean },
): Lineage {
  const depth = (received?.depth ?? 0) + 1
  const path = [...(received?.path ?? []), own]
  if (depth > maxDepth) {
    throw new A2AError(
      'LIMIT_EXCEEDED',
      `Delegations (${depth}) exceed limits.maxDelegationDepth (${maxDepth})`,
      { limit: 'limits.maxDelegationDepth', max: maxDepth, actual: depth },
    )
  }
  if (path.includes(agent) && !mayRepeat) {
    const text = `The agent ${agent} has led to this task already: allow it by "mayRepeat"`
    throw new A2AError('UNSUPPORTED_OPERATION', text, { operation: 'run.delegate' })
  }
  return { parentTaskId: taskId, rootTaskId: received?.rootTaskId ?? taskId, depth, path }
}

export function toMetadata(lineage: Lineage): JsonObject {
  return { [LINEAGE]: { ...lineage, path: [...lineage.path] } }
}
