/**
 * The names of hosts under which an inspector answers.
 *
 * @module
 */
import { describe, quote } from '../runtime/describe.js'

/** No other site can have them: their addresses are of the machine of the browser. */
const LOOPBACK = ['localhost', '*.localhost', '127.0.0.1', '[::1]']
const MAX_HOSTS = 100
const HOST = /^(?<name>(?:\*\.)?[\w.-]{1,255}|\[[\da-f:.]{2,64}\])(?<port>:\d{1,5})?$/i

/** @throws {TypeError} */
export function toHosts(hosts: unknown = []): readonly string[] {
  const wanted = `"hosts" must be an array of at most ${MAX_HOSTS} hosts, such as 'agent.example', '*.agent.example' or 'agent.example:8443'`
  if (!Array.isArray(hosts) || hosts.length > MAX_HOSTS)
    throw new TypeError(`${wanted}, got ${describe(hosts)}`)
  const own = hosts.map((host: unknown) => {
    if (typeof host === 'string' && HOST.test(host)) return host.toLowerCase()
    throw new TypeError(`${wanted}, got ${quote(host)}`)
  })
  return [...LOOPBACK, ...own]
}

/** Whether the name of a host, whatever its port, is one of `hosts`. */
export function hasName(hosts: readonly string[], host: string): boolean {
  const name = nameOf(host)
  return name !== undefined && hosts.some((each) => isMatch(nameOf(each), name))
}

/** Whether a host is one of `hosts` as it is written, its port included. */
export function hasHost(hosts: readonly string[], host: string): boolean {
  return hosts.some((each) => isMatch(each, host.toLowerCase()))
}

function isMatch(pattern: string | undefined, host: string): boolean {
  return pattern === host || (pattern?.startsWith('*.') === true && host.endsWith(pattern.slice(1)))
}

function nameOf(host: string): string | undefined {
  return HOST.exec(host)?.groups?.['name']?.toLowerCase().replace(/\.$/, '')
}
