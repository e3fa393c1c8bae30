/**
 * Where the gateway meets the platform, beside what its client does.
 *
 * @module
 */

/** Looked up when it is called, so that what replaces the global one later is used. */
export const platformCrypto = (): typeof crypto => globalThis.crypto

/** What no program can read. */
export type AesKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

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
