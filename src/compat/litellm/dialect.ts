/**
 * Dialect of LiteLLM-RS' A2A gateway.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import { check } from '../../wire/check.js'
import type { Codecs, Dialect, Operation } from '../../wire/dialect.js'
import { describeError } from '../../wire/errors.js'
import { encodeError } from './errors.js'
import { fromTask, TaskIdSchema, TaskSchema } from './schemas.js'
import { toTask, toUpdate } from './tasks.js'
import { toV03Card } from '../../wire/v0-3/card.js'
import { notReply } from '../../wire/view.js'

const METHODS: readonly (readonly [method: string, operation: Operation])[] = [
  ['task_send', 'SendMessage'],
  ['task_send_subscribe', 'SendStreamingMessage'],
  ['task_get', 'GetTask'],
  ['task_cancel', 'CancelTask'],
]

function rpcCodecs() {
  const fromTaskId = (params: unknown): { id: string } => ({ id: check(TaskIdSchema, params).task_id })
  return {
    SendMessage: {
      decode: (params) => fromTask(check(TaskSchema, params)),
      encode: (sent) => toTask(notReply(sent).task),
    },
    SendStreamingMessage: {
      decode: (params) => fromTask(check(TaskSchema, params)),
      encode: (entry) => toUpdate(notReply(entry)),
      stream: { endsAtAuth: true },
    },
    GetTask: { decode: fromTaskId, encode: ({ task }) => toTask(task) },
    // The document's gateway returns nothing, but JSON-RPC requires a result.
    CancelTask: { decode: fromTaskId, encode: ({ task }) => toTask(task) },
  } satisfies Codecs
}

const RPC = rpcCodecs()

/** The document's `Capability` for each skill. Skills have no schemas. */
function capabilitiesOf({ skills }: AgentCard): JsonObject {
  return { capabilities: skills.map(({ id, description }) => ({ name: id, description })) }
}

/**
 * Dialect of LiteLLM-RS' A2A gateway, over JSON-RPC: `task_send`, `task_get`, `task_cancel`, `task_send_subscribe`,
 * `agent_capabilities` and `ping`.
 *
 * - The client sends a task under an id of its choice, and receives the task when the work on it is done. If the task
 *   exists, the instruction is an answer to it. Only `input.instruction` is required.
 * - `metadata.agent_id`, `provider` and `tags` are returned as they were sent. Tasks of other dialects have the agent
 *   that `metadata.agentId` of their message names, or `default`, the provider `custom` and no tags.
 * - `content` of an artifact is base64, or text if its type is one of text.
 * - The states `auth-required` and `rejected` are shown as `input_required` and `failed`, the latter with the error
 *   code `TASK_REJECTED`. A stream ends at both states that are shown as `input_required`. An error is `retryable` when
 *   the metadata of the agent's message has `retryable: true`.
 * - `task_cancel` returns the task, and `ping` returns `{ status: 'online' }`.
 * - In a stream, each `partial_output` contains the output since the previous one, or all output after a gap.
 *   `progress` is present when the agent reports a count and a total.
 */
export function litellm(): Dialect {
  return {
    version: 'litellm',
    isInCards: false,
    extensionsHeader: 'A2A-Extensions',
    mediaType: 'application/json',
    methods: new Map(METHODS),
    rpc: RPC,
    cardMethods: new Map([
      ['agent_capabilities', capabilitiesOf],
      // The document's value for an agent whose health check succeeds.
      ['ping', () => ({ status: 'online' })],
    ]),
    routes: [],
    rest: {},
    hasTenants: false,
    errorsInStream: [],
    encodeRpcError: encodeError,
    encodeHttpError: (error, status) => ({
      status: status ?? describeError(error).http,
      body: { ...encodeError(error) },
    }),
    // The document's card is a record of a registry, contains secrets, and is not published. This card has the fields
    // that the cards of all versions share, as 0.3 writes them, and contradicts no card of several versions.
    encodeCard(card) {
      const { name, description, version } = card
      return { name, description, version, url: toV03Card(card)['url'] ?? '' }
    },
  }
}
