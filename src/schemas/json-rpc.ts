/**
 * JSON-RPC 2.0 envelope (A2A 1.0 §9.3).
 *
 * @module
 */
import { JsonValueSchema } from './json.js'
import { exactlyOneOf } from './one-of.js'
import { custom, literal, object, optional, string, wholeNumber } from './scalars.js'
import type { Infer } from './schema.js'

/** A number must be a safe integer, so that the response carries the id of the request unchanged. */
export const JsonRpcIdSchema = custom<string | number | null>(
  (value) => typeof value === 'string' || value === null || Number.isSafeInteger(value),
  'must be a string, an integer or null',
)
export type JsonRpcId = Infer<typeof JsonRpcIdSchema>

/** `params` may be any JSON here. The schema of the method's request checks them. */
export const JsonRpcRequestSchema = object({
  jsonrpc: literal('2.0'),
  id: JsonRpcIdSchema,
  method: string,
  params: optional(JsonValueSchema),
})
export type JsonRpcRequest = Infer<typeof JsonRpcRequestSchema>

/** `data` may be any JSON here: A2A 1.0 sends an array of details (§9.5), other versions leave it open. */
export const JsonRpcErrorSchema = object({
  code: wholeNumber((code) => Number.isSafeInteger(code), 'must be an integer'),
  message: string,
  data: optional(JsonValueSchema),
})
export type JsonRpcError = Infer<typeof JsonRpcErrorSchema>

/** A response: a result or an error, never both (JSON-RPC 2.0 §5). */
export const JsonRpcResponseSchema = exactlyOneOf(
  object({
    jsonrpc: literal('2.0'),
    id: JsonRpcIdSchema,
    result: optional(JsonValueSchema),
    error: optional(JsonRpcErrorSchema),
  }),
  ['result', 'error'],
)
export type JsonRpcResponse = Infer<typeof JsonRpcResponseSchema>
