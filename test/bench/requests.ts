/**
 * Requests of the server benchmarks, and their expected responses.
 */
import { textOf } from './workload.js'

export const REPLY = 'A summary of a few words, as agents write them'

/** An alias, not an interface: the peer takes records. */
export type RpcBody = {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: unknown
}

/** As much of a JSON-RPC answer as the benchmarks look at. */
export interface RpcAnswer {
  readonly error?: unknown
  readonly result?: {
    readonly task?: WireTask
    readonly artifactUpdate?: { readonly artifact: WireArtifact }
  }
}

interface WireArtifact {
  readonly parts?: readonly { readonly text?: string }[]
}

export interface WireTask {
  readonly id: string
  readonly status: { readonly state: string }
  readonly artifacts?: readonly WireArtifact[]
  readonly history?: readonly unknown[]
}

export function sendBody(
  index: number,
  method = 'SendMessage',
  text = textOf(index),
  configuration = {},
): RpcBody {
  const message = { messageId: `message-${index}`, role: 'ROLE_USER', parts: [{ text }] }
  return { jsonrpc: '2.0', id: index, method, params: { message, configuration } }
}

export function getBody(index: number, id: string): RpcBody {
  return { jsonrpc: '2.0', id: index, method: 'GetTask', params: { id } }
}

/** The task that both sides must answer with: completed, with the reply as its artifact and the message as history. */
export function requireCompleted(task: WireTask | undefined): WireTask {
  const isRight =
    task?.status.state === 'TASK_STATE_COMPLETED' &&
    task.artifacts?.length === 1 &&
    task.artifacts[0]?.parts?.[0]?.text === REPLY &&
    task.history?.length === 1
  if (!isRight) throw new Error(`Not the task that was to be: ${JSON.stringify(task)}`)
  return task
}

/** The text of the message whose task never ends. */
export const ENDLESS = 'Go on for ever'

/** The text of the message whose answer is large. */
export const LARGE = 'Answer at length'
export const LARGE_BYTES = 4_000_000

/** The text of the message whose answer comes in chunks. */
export const IN_CHUNKS = 'Answer bit by bit'
