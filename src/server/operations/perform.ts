/**
 * Decoding, performing and encoding of one operation, for both bindings.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonValue } from '../../core/json-types.js'
import type { Codec, Codecs, Operation, StreamEntry } from '../../wire/dialect.js'
import type { Source } from '../streams/frame-stream.js'
import { TaskStream } from '../streams/task-stream.js'
import { isStreamOperation, type Operations } from './operations.js'
import type { Caller, Principal } from '../caller.js'

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

/** @throws {A2AError} As a rejection: `METHOD_NOT_FOUND` where the dialect lacks the operation; errors of both steps. */
export async function perform<P extends Principal>(
  operation: Operation,
  operations: Operations<P>,
  codecs: Codecs,
  params: unknown,
  caller: Caller<P>,
): Promise<Performed> {
  const codec = (codecs as unknown as UntypedCodecs)[operation]
  if (codec === undefined) {
    throw new A2AError('METHOD_NOT_FOUND', `${operation} is not part of this version`, { method: operation })
  }
  const answer = await (operations as unknown as UntypedOperations<P>)[operation](
    codec.decode(params),
    caller,
  )
  if (!isStreamOperation(operation)) return { type: 'result', json: codec.encode(answer) }
  const entries = answer as Source<StreamEntry>
  if (entries instanceof TaskStream) entries.profile = codec.stream
  return { type: 'stream', entries, encode: (entry) => codec.encode(entry) }
}
