/**
 * The agent's URL from environment variables.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { environment } from '../runtime/environment.js'

/**
 * Returns `http://BIND_HOST:PORT` from the current environment. Default is `http://127.0.0.1:3000`, also on runtimes
 * without an environment or without permission to read it. An empty variable counts as unset.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path `PORT` or `BIND_HOST`.
 */
export function urlFromEnvironment(): string {
  const port = variable('PORT') ?? '3000'
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw invalidParams('PORT', `must be an integer from 1 to 65535, got ${port.slice(0, 20)}`)
  }
  const host = variable('BIND_HOST') ?? '127.0.0.1'
  if (!/^[\w.-]+$|^\[?[\da-f:.]*:[\da-f:.]*\]?$/i.test(host)) {
    throw invalidParams('BIND_HOST', `must be a host name or an address, got ${host.slice(0, 50)}`)
  }
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${Number(port)}`
}

function variable(name: string): string | undefined {
  const value = environment(name)
  return value === '' ? undefined : value
}
