/**
 * Errors and events as the Azure stub writes them, and what its two APIs share.
 *
 * @module
 */
import type { ServerResponse } from 'node:http'
import { sendJson } from '../stub-server.js'
import { Cursor, DEFAULT_SCRIPT, type Step } from './script.js'

export type Json = Record<string, unknown>

/** The time of everything here: a fixed second, so that nothing depends on the clock. */
export const NOW = 1_770_000_000

export class Shared {
  readonly scripts: Step[][] = []
  /** What a cancel leads to; by default the run comes to `cancelled`. */
  onCancel: readonly Step[] = ['cancelled']
  #ids = 0

  id(prefix: string): string {
    this.#ids += 1
    return `${prefix}_${String(this.#ids).padStart(6, '0')}`
  }

  cursor(): Cursor {
    return new Cursor(this.scripts.shift() ?? DEFAULT_SCRIPT)
  }
}

/** An error as the SDK reads it: message, type, param, code. */
export function sendError(response: ServerResponse, status: number, message: string, code?: string): void {
  const type = status === 404 ? 'not_found_error' : 'invalid_request_error'
  sendJson(response, status, { error: { message, type, param: null, code: code ?? null } })
}

export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
}

export function sendEvent(response: ServerResponse, event: string, data: unknown): void {
  response.write(`event: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
}
