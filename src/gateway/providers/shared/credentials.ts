/**
 * The credentials that an agent's service was sent: whatever it answers, they are told to nobody.
 *
 * @module
 */
import type { Fetch } from '../../../runtime/fetch.js'
import type { RegisteredAgent } from '../../registry/agent.js'

/** Of the latest requests. */
const MAX_RECORDED = 64
/** What is shorter is no secret, and stands in many words. */
const MIN_LENGTH = 4
/** Said by everybody. */
const PUBLIC_HEADER = /^(accept|content-type|a2a-.*)$/
const SECRET_PARAMETER = /key|token|secret|sig|auth|password/i

const sent = new WeakMap<RegisteredAgent['endpoint'], Set<string>>()

/** Sends requests to the agent's service, and remembers what {@link redactCredentials} leaves out. */
export function recordingCredentials(fetch: Fetch, { endpoint }: RegisteredAgent): Fetch {
  return (url, init) => {
    const known = sent.get(endpoint) ?? new Set<string>()
    sent.set(endpoint, known)
    for (const value of valuesOf(url, new Headers(init.headers))) {
      // The latest are the last.
      known.delete(value)
      known.add(value)
    }
    for (const value of known) if (known.size > MAX_RECORDED) known.delete(value)
    return fetch(url, init)
  }
}

/** The text with `…` in place of every header's value, and every key in a query, that the service was sent. */
export function redactCredentials(text: string, { endpoint }: RegisteredAgent): string {
  // A shorter one may be a part of a longer one.
  const values = [...(sent.get(endpoint) ?? [])].sort((a, b) => b.length - a.length)
  return values.reduce((redacted, value) => redacted.replaceAll(value, '…'), text)
}

function valuesOf(url: string, headers: Headers): string[] {
  const values = [...headers].flatMap(([name, value]) => {
    if (PUBLIC_HEADER.test(name)) return []
    if (name === 'cookie') return [value, ...value.split('; ').map((pair) => pair.replace(/^[^=]*=/, ''))]
    // After `Bearer` or the like.
    return [value, value.replace(/^\S+ +/, '')]
  })
  for (const [name, value] of new URL(url).searchParams) if (SECRET_PARAMETER.test(name)) values.push(value)
  return values.filter(({ length }) => length >= MIN_LENGTH)
}
