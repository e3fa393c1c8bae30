/**
 * Where the gateway meets the platform, beside what its client does.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { GatewayErrorContext } from './options.js'

/** Looked up when it is called, so that what replaces the global one later is used. */
export const platformCrypto = (): typeof crypto => globalThis.crypto

/** What no program can read. */
export type AesKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** Lets everything else have its turn. */
export const yieldTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/** A variable of the environment. `undefined` where it is not set, may not be read, or there is no environment. */
export function environment(name: string): string | undefined {
  try {
    const { process, Deno } = globalThis as {
      process?: { readonly env?: Readonly<Record<string, string | undefined>> }
      Deno?: { readonly env: { get(name: string): string | undefined } }
    }
    return process?.env?.[name] ?? Deno?.env.get(name)
  } catch {
    // Deno throws where the program may not read its environment.
    return undefined
  }
}

/** As a warning of the process on Node, Bun and Deno: seen by whoever develops, fatal to nobody. Elsewhere nothing. */
export function reportError(error: unknown, { during, agentId = '' }: GatewayErrorContext): void {
  const { process } = globalThis as {
    process?: { readonly emitWarning?: (warning: string, options: { type: string; detail: string }) => void }
  }
  const { message = 'something that is no error', stack = '', cause } = error instanceof Error ? error : {}
  const { reason = '' } = A2AError.is(error, 'PROVIDER_ERROR') ? error.data : {}
  const told = message.endsWith(reason) ? message : `${message} (${reason})`
  process?.emitWarning?.(`${during}, agent ${agentId}: ${told}. Pass "onError" to handle it`, {
    type: 'A2ATasksWarning',
    detail: cause instanceof Error ? (cause.stack ?? stack) : stack,
  })
}
