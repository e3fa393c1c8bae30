/**
 * Errors of MCP: the JSON-RPC error, and the HTTP status that goes with it.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'

/** Codes of JSON-RPC, and those that MCP 2026-07-28 adds. */
export const CODES = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  header: -32020,
  capability: -32021,
  version: -32022,
} as const

export class Refusal extends Error {
  readonly code: number
  /** Clients of the generation with sessions take every other status than 200 for a failure of the connection. */
  readonly status: number
  readonly data: JsonObject | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: keyof typeof CODES,
    message: string,
    {
      status = 200,
      data,
      headers = {},
    }: { status?: number; data?: JsonObject; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.code = CODES[code]
    this.status = status
    this.data = data
    this.headers = headers
  }
}
