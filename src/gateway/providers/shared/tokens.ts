/**
 * Bearer tokens from the credential libraries of clouds.
 *
 * @module
 */
import { A2AError } from '../../../core/errors.js'
import type { Authorize } from './service.js'

/** Returns a token for the next request. It caches tokens itself, until they are about to expire. */
export type TokenSource = () => Promise<string | null | undefined>

/**
 * Adds `Authorization: Bearer …` to every request. `load` is called for the first request, and again after a failure.
 *
 * Requests are rejected with `UNAUTHENTICATED` without a token. Its `cause` is the error of the token source; no error
 * contains the token.
 */
export function bearerFrom(source: string, load: () => Promise<TokenSource>): Authorize {
  let tokens: Promise<TokenSource> | undefined
  const startLoading = (): Promise<TokenSource> => {
    const loading = load()
    loading.catch(() => {
      tokens = undefined
    })
    return loading
  }
  return async ({ headers }) => {
    const token = await tokenOf(source, (tokens ??= startLoading()))
    // The error of `Headers.set` would quote an invalid value.
    if (!token || !/^[\x21-\x7e]+$/.test(token)) throw noToken(`${source} gives no token`)
    headers.set('authorization', `Bearer ${token}`)
  }
}

async function tokenOf(source: string, tokens: Promise<TokenSource>): Promise<string | null | undefined> {
  try {
    return await (
      await tokens
    )()
  } catch (cause) {
    throw A2AError.is(cause) ? cause : noToken(`${source} gives no token`, cause)
  }
}

/**
 * For `import(…).catch(rethrow)`: bundlers resolve a caught import at run time, so they can build without the package.
 */
export function rethrow(cause: unknown): never {
  throw cause
}

/**
 * Loads an optional package.
 *
 * @throws {A2AError} `UNAUTHENTICATED` with the alternatives when it is not installed.
 */
export async function loadPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const others = 'or set endpoint.auth of the agent, or credentials or authorize of the provider'
    throw noToken(`install ${name}, ${others}`, cause)
  }
}

function noToken(reason: string, cause?: unknown): A2AError<'UNAUTHENTICATED'> {
  const options = cause === undefined ? undefined : { cause }
  return new A2AError('UNAUTHENTICATED', `There are no credentials: ${reason}`, {}, options)
}
