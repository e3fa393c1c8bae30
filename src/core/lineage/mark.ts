/**
 * Marking of messages with their lineage.
 *
 * @module
 */
import type { JsonObject } from '../json-types.js'
import type { Amounts } from '../spending.js'

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
  /** The time limit of the work, in ISO 8601. Absent without a time limit. */
  readonly deadline?: string
  /** What the task for this message may spend, by unit. Absent without a limit. */
  readonly budget?: Amounts
}

/** What hands its lineage on with a message: a run is one. */
export interface LineageSource {
  /**
   * The lineage of a message to the agent that has this URL, or this name where its card has no URL.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED` for a chain of more than `limits.maxDelegationDepth` agents; `UNSUPPORTED_OPERATION`
   *   for an agent that is on the path already, unless `mayRepeat`.
   */
  lineageTo(agent: string, options?: { readonly mayRepeat?: boolean | undefined }): Lineage
}

/** How an agent is named in a path. */
export function agentIdOf(card: {
  readonly name: string
  readonly supportedInterfaces?: readonly { readonly url: string }[]
}): string {
  return card.supportedInterfaces?.[0]?.url ?? card.name
}

function toMetadata(lineage: Lineage): JsonObject {
  return { [LINEAGE]: { ...lineage, path: [...lineage.path] } }
}

/** The message with a lineage, in place of another that it may have. */
export function withLineage<M extends LineageCarrier>(message: M, lineage: Lineage): M {
  const { metadata, extensions = [] } = message
  const others = extensions.filter((uri) => uri !== LINEAGE)
  return { ...message, metadata: { ...metadata, ...toMetadata(lineage) }, extensions: [...others, LINEAGE] }
}

export interface LineageCarrier {
  readonly metadata?: object | undefined
  readonly extensions?: readonly string[] | undefined
}
