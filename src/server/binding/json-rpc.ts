/**
 * The JSON-RPC binding, without HTTP.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { describe, quote } from '../../runtime/describe.js'
import { isRecord } from '../../runtime/unread.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { Dialect, Operation } from '../../wire/dialect.js'
import { FrameStream, toA2AError } from '../streams/frame-stream.js'
import { sourceOf, type Source } from '../streams/source.js'
import type { Frame } from '../streams/sse.js'
import { chooseDialect, nonEmpty, dialectsFor } from '../negotiation.js'
import type { BindingSettings } from '../options.js'
import type { Trail } from '../observers.js'
import { requireSafeJson } from './safe-json.js'
import { perform, type Operations, type Performing, type Received } from '../operations/perform.js'
import { isPromise } from '../tasks.js'
import { hintForMethod, withHint } from '../unserved.js'
import type { Caller, Principal } from '../caller.js'

/** The answer to a request. */
export type RpcAnswer =
  | { readonly type: 'json'; readonly json: JsonObject; readonly error?: A2AError; readonly dialect: Dialect }
  | {
      readonly type: 'stream'
      readonly frames: Source<Frame>
      readonly dialect: Dialect
    }

type Id = string | number | null

interface RpcAgent<P extends Principal> extends Performing {
  /** Refuses the request by throwing, where its caller has not been admitted before. */
  readonly admit?: () => void
  readonly settings: BindingSettings<P>
  readonly operations: Operations<P>
}

/**
 * Answers one JSON-RPC request. Never rejects: errors are answers.
 *
 * @param received The body, in whose place are the parameters until they are read.
 */
export async function answerRpc<P extends Principal>(
  { admit, settings, operations, encoder, trail }: RpcAgent<P>,
  received: Received,
  version: string | null | undefined,
  callerOf: (dialect: Dialect) => Caller<P>,
): Promise<RpcAnswer> {
  let id: Id = null
  let method = 'dispatch'
  let [dialect] = settings.dialects
  let operation: Operation | undefined
  try {
    id = idOf(received)
    admit?.()
    const request = readEnvelope(received, settings.limits.maxDepth)
    method = request.method
    id = request.id ?? null
    trail?.record({ binding: 'JSONRPC', rpcId: id })
    // A version that is not supported is refused in the dialect that has the method.
    dialect = settings.dialects.find((each) => hasMethod(each, method)) ?? dialect
    const served = dialectsFor(settings.dialects, version)
    const candidates = nonEmpty(served.filter((each) => hasMethod(each, method)))
    dialect = candidates?.[0] ?? served[0]
    if (candidates === undefined) throw methodNotFound(method, received, dialect, settings.dialects)
    const [first] = candidates
    operation = first.methods.get(method)
    const chosen = chooseDialect(candidates, received.value, (taskId) =>
      operations.dialectOf?.(taskId, callerOf(first).principal),
    )
    dialect = isPromise(chosen) ? await chosen : chosen
    const caller = callerOf(dialect)
    const success = (result: JsonValue): JsonObject => ({ jsonrpc: '2.0', id, result })
    operation = dialect.methods.get(method)
    // Refused after all else is found right: a client learns first what else is wrong.
    const requireId = (): void => {
      if (request.id === undefined) throw invalidRequest('id is missing: A2A has no notifications')
    }
    if (operation === undefined) {
      requireId()
      return { type: 'json', json: success(answerFromCard(dialect, method, settings)), dialect }
    }
    const performing = { encoder, trail, onDecoded: requireId }
    const performed = await perform(operation, operations, dialect.rpc, received, caller, performing)
    if (performed.type === 'result') return { type: 'json', json: success(performed.json), dialect }
    const { entries, encode: encodeEntry } = performed
    const frames = new FrameStream(entries, {
      encode: (entry) => success(encodeEntry(entry)),
      encodeError: (thrown) => failure(id, dialect, toA2AError(thrown, method, settings.onError), trail),
      // A JSON-RPC response says itself that it is an error. Clients of 0.3 take a named event for another fault.
      namesErrors: false,
    })
    return { type: 'stream', frames, dialect }
  } catch (thrown) {
    const given = toA2AError(thrown, operation ?? 'dispatch', settings.onError)
    const error = withHint(given, settings.dialects, method, received.value)
    const json = failure(id, dialect, error, trail)
    if (operation !== undefined && dialect.errorsInStream.includes(operation)) {
      return { type: 'stream', frames: sourceOf<Frame>({ json }), dialect }
    }
    return { type: 'json', json, error, dialect }
  }
}

/** Whether a body says that it is a request of JSON-RPC. */
export function isRpcBody(body: unknown): boolean {
  return isRecord(body) && 'jsonrpc' in body
}

function hasMethod({ methods, cardMethods }: Dialect, method: string): boolean {
  return methods.has(method) || (cardMethods?.has(method) ?? false)
}

/** Answers a method that concerns the card and no task. */
function answerFromCard(
  { cardMethods }: Dialect,
  method: string,
  { card }: { readonly card: AgentCard },
): JsonValue {
  return cardMethods?.get(method)?.(card) ?? null
}

/** The error response to the request `id`. */
export function failure(id: Id, dialect: Dialect, error: A2AError, trail?: Trail): JsonObject {
  const encoded = dialect.encodeRpcError(error)
  trail?.record({ error: { code: error.code, rpcCode: encoded.code } })
  return { jsonrpc: '2.0', id, error: { ...encoded } }
}

/** Reads the envelope (JSON-RPC 2.0 §4), and leaves the parameters in its place. A2A has no notifications and no batches. */
function readEnvelope(
  received: Received,
  maxDepth: number,
): { readonly id: Id | undefined; readonly method: string } {
  const { value: body } = received
  received.value = undefined
  requireSafeJson(body, maxDepth)
  if (Array.isArray(body)) throw invalidRequest('Batch requests are not supported')
  if (typeof body !== 'object' || body === null) {
    throw invalidRequest(`A request must be an object, got ${describe(body)}`)
  }
  const { jsonrpc, id, method, params } = body as Record<string, unknown>
  if (jsonrpc !== '2.0') throw invalidRequest(`jsonrpc must be "2.0", got ${quote(jsonrpc)}`)
  if (id !== undefined && !isId(id)) throw invalidRequest('id must be a string, an integer or null')
  if (typeof method !== 'string') throw invalidRequest(`method must be a string, got ${describe(method)}`)
  // An array is valid in JSON-RPC, but no method of A2A has such parameters. `perform` refuses it.
  if (params !== undefined && params !== null && typeof params !== 'object') {
    throw invalidRequest(`params must be an object, got ${describe(params)}`)
  }
  received.value = params ?? {}
  return { id, method }
}

/** The id of a request that may otherwise be invalid. */
function idOf({ value }: Received): Id {
  const id: unknown = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : null
  return isId(id) ? id : null
}

function isId(id: unknown): id is Id {
  return typeof id === 'string' ? id.length <= 1024 : id === null || Number.isSafeInteger(id)
}

function invalidRequest(reason: string): A2AError {
  return new A2AError('INVALID_REQUEST', reason, { reason })
}

function methodNotFound(
  method: string,
  { value: params }: Received,
  dialect: Dialect,
  dialects: readonly Dialect[],
): A2AError {
  const hint = hintForMethod(dialects, method, params)
  const shown = quote(method)
  return new A2AError('METHOD_NOT_FOUND', `Method not found in A2A ${dialect.version}: ${shown}${hint}`, {
    method: shown,
  })
}
