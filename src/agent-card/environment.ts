/**
 * Where the agent is, by the environment that it runs in.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { environment } from '../runtime/environment.js'

/**
 * `http://BIND_HOST:PORT`, as the environment has them at this moment. Default is `http://127.0.0.1:3000`, also where the
 * runtime has no environment or does not let it be read.
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

/** An empty variable counts as one that is not set. */
function variable(name: string): string | undefined {
  const value = environment(name)
  return value === '' ? undefined : value
}
