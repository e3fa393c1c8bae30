/**
 * Where the client meets the platform.
 *
 * @module
 */
import type { Clock, GenerateId } from '../core/ports.js'

/** Sends a request: what `globalThis.fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Looked up when it is called, so that what replaces the global one later is used. */
export const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)

/** Unlike those of the core's clock, its timers keep the process alive: somebody awaits what they are for. */
export const clientClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

/** From 0 to 1. */
export const chance = (): number => Math.random()

/** The SHA-256 of a text. */
export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

/** A UUID v4. Pages that did not come over HTTPS have no `randomUUID`. */
export const randomId: GenerateId = () => {
  const secure: Partial<Pick<typeof crypto, 'randomUUID'>> = crypto
  return secure.randomUUID?.() ?? uuidOf(crypto.getRandomValues(new Uint8Array(16)))
}

/** RFC 9562 §5.4: all is chance, but for the version, 4, and the two bits of the variant. */
function uuidOf(random: Uint8Array): string {
  const marked = random.map((byte, at) =>
    at === 6 ? 0x40 | (byte & 0x0f) : at === 8 ? 0x80 | (byte & 0x3f) : byte,
  )
  const hex = Array.from(marked, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
