/**
 * The extension for calls of tools: what an agent shows of the work of its model, whichever framework runs it.
 *
 * A status message has a data part with the call that has begun, goes on or is over. The artifact with the answer has the calls
 * that led to it in its metadata, so that later turns know them. Clients without the extension read a short text.
 *
 * @module
 */
import type { ReadonlyJson } from '../core/json-types.js'
import { isRecord, type Unread } from '../runtime/unread.js'

/** The URI of the extension, and the key of its data. */
export const TOOL_CALLS = 'https://a2a-tasks.dev/extensions/tool-calls/v1'

/** The entry for `capabilities.extensions` of an agent's card. */
export const TOOL_CALLS_EXTENSION = {
  uri: TOOL_CALLS,
  description: 'The calls of tools that the agent makes, with their inputs and outputs',
  required: false,
} as const

const STATES = ['called', 'progress', 'done', 'failed', 'rejected'] as const

/** One call of a tool. */
export interface ToolCall {
  /** The same in each report of the call. Models make it: unique in the turn. */
  readonly id: string
  /** The name of the tool. */
  readonly name: string
  /**
   * - `called`: the model has asked for it. It may wait for an approval.
   * - `progress`: `output` is preliminary.
   * - `done`: it has ended with `output`.
   * - `failed`: it has ended with `error`.
   * - `rejected`: it was not approved, and not done.
   */
  readonly state: (typeof STATES)[number]
  /** Absent if its JSON is longer than 16,384 characters. */
  readonly input?: ReadonlyJson
  /** Absent if its JSON is longer than 16,384 characters. */
  readonly output?: ReadonlyJson
  readonly error?: string
}

/** The most calls that are read of a message or an artifact. */
const MAX_CALLS = 1_000
/** The most characters of an id, of a name, and of an error. */
const MAX_TEXT = 2_000

/** What a message or an artifact may have. */
interface Carrier {
  readonly parts?: readonly { readonly data?: unknown }[] | undefined
  readonly metadata?: object | undefined
}

/** The parts of a status message that shows a call: a text, and the call. */
export function toolCallParts(call: ToolCall): [{ readonly text: string }, { readonly data: object }] {
  return [{ text: `${call.name}: ${call.state}` }, { data: { [TOOL_CALLS]: { calls: [call] } } }]
}

/** The metadata of an artifact to which these calls led. */
export function toolCallMetadata(calls: readonly ToolCall[]): object {
  return { [TOOL_CALLS]: { calls } }
}

/**
 * The calls of tools that a message shows, or that led to an artifact, at most 1,000. What is no call is left out.
 *
 * @example
 * for await (const event of client.stream('Book a flight')) {
 *   if (event.type === 'status') for (const { name, state } of toolCallsIn(event.message)) console.log(name, state)
 * }
 */
export function toolCallsIn(carrier: Carrier | undefined): readonly ToolCall[] {
  const places = [carrier?.metadata, ...(carrier?.parts ?? []).map(({ data }) => data)]
  const lists = places.flatMap((place) => {
    const own = isRecord(place) && Object.hasOwn(place, TOOL_CALLS) ? place[TOOL_CALLS] : undefined
    return isRecord(own) && Array.isArray(own['calls']) ? (own['calls'] as readonly unknown[]) : []
  })
  return lists.slice(0, MAX_CALLS).flatMap((given) => (isRecord(given) ? readCall(given) : []))
}

function readCall({ id, name, state, input, output, error }: Unread): ToolCall[] {
  const known = STATES.find((each) => each === state)
  if (!isText(id) || !isText(name) || known === undefined) return []
  return [
    {
      ...{ id, name, state: known },
      // Messages and artifacts are JSON.
      ...(input !== undefined && { input: input as ReadonlyJson }),
      ...(output !== undefined && { output: output as ReadonlyJson }),
      ...(isText(error) && { error }),
    },
  ]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT
}
