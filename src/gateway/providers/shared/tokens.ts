/**
 * Tokens for services whose clouds have ways of their own to give them.
 *
 * @module
 */
import { A2AError } from '../../../core/errors.js'
import type { Authorize } from './service.js'

/** Gives a token for the next request. It keeps tokens itself, until they are about to expire. */
export type TokenSource = () => Promise<string | null | undefined>

/**
 * `Authorization: Bearer …` for every request. `load` is called when the first token is needed,
 * and again with the next request where it has failed.
 *
 * Requests are rejected with `UNAUTHENTICATED` where there is no token. Its `cause` is what `source` throws; the token is
 * in no error.
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
    // What no header can hold would be told by the error of `set`.
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

/** For `import(…).catch(rethrow)`: a bundler leaves to the run time what is caught, and bundles without the package. */
export function rethrow(cause: unknown): never {
  throw cause
}

/** A package that need not be installed. @throws {A2AError} `UNAUTHENTICATED` that says what to do without it. */
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
