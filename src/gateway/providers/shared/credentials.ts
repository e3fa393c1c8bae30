/**
 * Record of the credentials sent to an agent's service, to redact them from its errors.
 *
 * @module
 */
import type { Fetch } from '../../../runtime/fetch.js'
import type { RegisteredAgent } from '../../registry/agent.js'

/** Number of values kept per endpoint, the most recent ones. */
const MAX_RECORDED = 64
/** A shorter value is no secret, and occurs in ordinary words. */
const MIN_LENGTH = 4
/** Headers without secrets. */
const PUBLIC_HEADER = /^(accept|content-type|a2a-.*)$/
const SECRET_PARAMETER = /key|token|secret|sig|auth|password/i

const sent = new WeakMap<RegisteredAgent['endpoint'], Set<string>>()

/** Returns a `fetch` that records the values which {@link redactCredentials} removes. */
export function recordingCredentials(fetch: Fetch, { endpoint }: RegisteredAgent): Fetch {
  return (url, init) => {
    const known = sent.get(endpoint) ?? new Set<string>()
    sent.set(endpoint, known)
    for (const value of valuesOf(url, new Headers(init.headers))) {
      // Moves the value to the end, so that the oldest are first.
      known.delete(value)
      known.add(value)
    }
    for (const value of known) if (known.size > MAX_RECORDED) known.delete(value)
    return fetch(url, init)
  }
}

/** Replaces every recorded value of a header or of a secret query parameter with `…`. */
export function redactCredentials(text: string, { endpoint }: RegisteredAgent): string {
  // Longest first, since a value may contain a shorter one.
  const values = [...(sent.get(endpoint) ?? [])].sort((a, b) => b.length - a.length)
  return values.reduce((redacted, value) => redacted.replaceAll(value, '…'), text)
}

function valuesOf(url: string, headers: Headers): string[] {
  const values = [...headers].flatMap(([name, value]) => {
    if (PUBLIC_HEADER.test(name)) return []
    if (name === 'cookie') return [value, ...value.split('; ').map((pair) => pair.replace(/^[^=]*=/, ''))]
    // Without the scheme, such as `Bearer`.
    return [value, value.replace(/^\S+ +/, '')]
  })
  for (const [name, value] of new URL(url).searchParams) if (SECRET_PARAMETER.test(name)) values.push(value)
  return values.filter(({ length }) => length >= MIN_LENGTH)
}
