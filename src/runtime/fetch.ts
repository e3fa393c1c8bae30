/**
 * The port for HTTP requests, and the platform's `fetch` behind it.
 *
 * @module
 */

/** Sends a request, like `globalThis.fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** The platform's `fetch`, looked up per call so that a replacement of the global takes effect. */
export const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)
