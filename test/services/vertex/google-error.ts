import type { ServerResponse } from 'node:http'
import { sendJson } from '../stub-server.js'

/** An error as Google's REST services write it: `google.rpc.Status`, with the HTTP status as its code. */
export function sendGoogleError(
  response: ServerResponse,
  code: number,
  status: string,
  message: string,
  details: readonly unknown[] = [],
): void {
  sendJson(response, code, googleError(code, status, message, details))
}

export function googleError(
  code: number,
  status: string,
  message: string,
  details: readonly unknown[] = [],
): unknown {
  return { error: { code, message, status, ...(details.length > 0 && { details }) } }
}
