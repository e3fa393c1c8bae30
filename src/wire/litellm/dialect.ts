/**
 * Dialect of LiteLLM-RS' A2A gateway.
 *
 * @module
 */
import type { JsonObject } from '../../core/json-types.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import { check } from '../check.js'
import type { Codecs, Dialect, Operation } from '../dialect.js'
import { describeError } from '../errors.js'
import { encodeError } from './errors.js'
import { fromTask, TaskIdSchema, TaskSchema } from './schemas.js'
import { toTask, toUpdate } from './tasks.js'
import { toV03Card } from '../v0-3/card.js'
import { notReply } from '../view.js'

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
    // The document's gateway returns nothing, which JSON-RPC has no result for.
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
 * - A task is what is sent, under an id of the client's choice, and what is answered when the work on it is done; a
 *   task that is there already takes the instruction as an answer. Of what is sent, only `input.instruction` is
 *   required.
 * - `metadata.agent_id`, `provider` and `tags` come back as they were sent. Tasks of other dialects have the agent that
 *   `metadata.agentId` of their message names, or `default`, the provider `custom` and no tags.
 * - `content` of an artifact is base64, or, of a text type, text.
 * - The states `auth-required` and `rejected` are shown as `input_required` and `failed`, the latter with the error
 *   code `TASK_REJECTED`; a stream ends at both states that are `input_required`. An error is `retryable` where the metadata of the agent's message says `retryable: true`.
 * - `task_cancel` answers with the task; `ping` with `{ status: 'online' }`.
 * - In a stream, each `partial_output` holds what came since the one before, or, after a gap, all there is; `progress` is
 *   told where the agent counts.
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
      // The document's word for an agent whose health check succeeds.
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
    // The document's card is a registry's record, with secrets, and is not published. This is what cards of all
    // versions have in common, as 0.3 says it: nothing that a card of several versions would contradict.
    encodeCard(card) {
      const { name, description, version } = card
      return { name, description, version, url: toV03Card(card)['url'] ?? '' }
    },
  }
}
