/**
 * Decoding, performing and encoding of one operation, for both bindings.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { JsonValue } from '../../core/json-types.js'
import type { Codec, Codecs, Dialect, Operation, Requests, Results, StreamEntry } from '../../wire/dialect.js'
import { shownEntry, shownResult } from '../chosen-ids.js'
import type { Source } from '../streams/source.js'
import type { Trail } from '../observers.js'
import { factsOfAnswer, factsOfRequest, recordEntries } from './facts.js'
import { TaskStream } from '../streams/task-stream.js'
import type { Caller, Principal } from '../caller.js'

type StreamOperation = 'SendStreamingMessage' | 'SubscribeToTask'
type Answer<O extends Operation> = O extends StreamOperation ? Source<StreamEntry> : Results[O]

/** Each rejects with an `A2AError` where the protocol defines an error; other errors go to `onError`. */
export type Operations<P extends Principal> = {
  readonly [O in Operation]: (request: Requests[O], caller: Caller<P>) => Answer<O> | Promise<Answer<O>>
} & {
  /** The dialect in which this principal created the task without naming a version, if it is not the preferred one. */
  dialectOf?(taskId: string, principal: Principal | undefined): Promise<Dialect | undefined>
  /** Throws if no request can succeed because the agent does not have what `operation` needs. */
  requireSupported?(operation: Operation): void
}

export function isStreamOperation(operation: Operation): operation is StreamOperation {
  return operation === 'SendStreamingMessage' || operation === 'SubscribeToTask'
}

export type Performed =
  | { readonly type: 'result'; readonly json: JsonValue }
  | {
      readonly type: 'stream'
      readonly entries: Source<StreamEntry>
      readonly encode: (entry: StreamEntry) => JsonValue
    }

/** TypeScript cannot relate the codec and the operation of one name, so both are called without their types. */
type UntypedCodecs = Partial<Record<Operation, Codec<unknown, unknown>>>
type UntypedOperations<P extends Principal> = Record<
  Operation,
  (request: unknown, caller: Caller<P>) => Promise<unknown>
>

/** What encodes `view`, as which clients see what an operation has answered with: `answer`. */
export interface Encoder {
  encode(codec: Codec<unknown, unknown>, view: unknown, answer: unknown): JsonValue
}

/** What a binding adds to the performing of an operation. */
export interface Performing {
  /** Default encodes each answer. */
  readonly encoder?: Encoder | undefined
  readonly trail?: Trail | undefined
  /** Called when the parameters are valid. It may refuse the request by throwing. */
  readonly onDecoded?: (() => void) | undefined
}

const PLAIN: Encoder = { encode: (codec, view) => codec.encode(view) }

/**
 * Parameters that are forgotten once they are read. An async function keeps its arguments and variables for as long as it
 * waits, so those of a stream or of a run would stay in memory with fields that no limit counts.
 */
export interface Received {
  value: unknown
}

/** @throws {A2AError} As a rejection: `METHOD_NOT_FOUND` where the dialect lacks the operation; errors of both steps. */
export async function perform<P extends Principal>(
  operation: Operation,
  operations: Operations<P>,
  codecs: Codecs,
  received: Received,
  caller: Caller<P>,
  { encoder = PLAIN, trail, onDecoded }: Performing = {},
): Promise<Performed> {
  const isStream = isStreamOperation(operation)
  const { dialect, extensions } = caller
  trail?.record({ operation, version: dialect.version, extensions, isStream })
  const codec = (codecs as unknown as UntypedCodecs)[operation]
  if (codec === undefined) {
    throw new A2AError('METHOD_NOT_FOUND', `${operation} is not part of this version`, { method: operation })
  }
  // A client learns that the agent lacks an operation before it learns how to call it.
  operations.requireSupported?.(operation)
  const request = decode(codec, received)
  onDecoded?.()
  trail?.record(factsOfRequest(request))
  const answer = await (operations as unknown as UntypedOperations<P>)[operation](request, caller)
  if (!isStream) {
    trail?.record(factsOfAnswer(answer))
    return { type: 'result', json: encoder.encode(codec, shownResult(answer as Results[Operation]), answer) }
  }
  const entries = answer as Source<StreamEntry>
  if (entries instanceof TaskStream) entries.profile = codec.stream
  return {
    type: 'stream',
    entries: trail === undefined ? entries : recordEntries(entries, trail),
    encode: (entry) => encoder.encode(codec, shownEntry(entry), entry),
  }
}

function decode(codec: Codec<unknown, unknown>, received: Received): unknown {
  if (Array.isArray(received.value)) throw invalidParams('params', 'must be an object, got an array')
  const request = codec.decode(received.value)
  received.value = undefined
  return request
}
