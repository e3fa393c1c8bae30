/**
 * Where the server meets the platform, beside the core's clock and ids.
 *
 * @module
 */
import type { ErrorContext } from './options.js'

interface Process {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly emitWarning?: (warning: string, options: { type: string; detail: string }) => void
}

interface Runtime {
  readonly process?: Process
  readonly Deno?: { readonly env: { get(name: string): string | undefined } }
}

/** A variable of the environment. `undefined` where it is not set, may not be read, or there is no environment. */
export function environment(name: string): string | undefined {
  try {
    const { process, Deno } = globalThis as Runtime
    return process?.env?.[name] ?? Deno?.env.get(name)
  } catch {
    // Deno throws where the program may not read its environment.
    return undefined
  }
}

/** As a warning of the process on Node, Bun and Deno: seen by whoever develops, fatal to nobody. Elsewhere nothing. */
export function reportError(
  error: unknown,
  { during, taskId }: ErrorContext,
  advice = 'Pass "onError" to handle it',
): void {
  const { process } = globalThis as Runtime
  const where = taskId === undefined ? during : `${during}, task ${taskId}`
  const errors = withCauses(error)
  const texts = errors.map(textOf).join(', caused by: ')
  process?.emitWarning?.(`${where}: ${texts}. ${advice}`, {
    type: 'A2ATasksWarning',
    detail: errors.map((one) => (one instanceof Error ? one.stack : textOf(one))).join('\ncaused by: '),
  })
}

/** An error, what caused it, what caused that, and so on. */
function withCauses(error: unknown): unknown[] {
  const errors = [error]
  for (;;) {
    const last = errors.at(-1)
    const cause = last instanceof Error ? last.cause : undefined
    if (cause === undefined || errors.includes(cause)) return errors
    errors.push(cause)
  }
}

/** Some values have no text. */
function textOf(error: unknown): string {
  try {
    return String(error)
  } catch {
    return 'an error that has no text'
  }
}

/** The first 128 bits of the SHA-256 of a text, in hexadecimal. */
export async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(bytes).slice(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Keeps the process alive, where there is one, until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 60_000)
  return () => clearInterval(timer)
}

/** Whether this is Cloudflare's runtime. */
export function isCloudflareWorker(): boolean {
  const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } }
  return navigator?.userAgent === 'Cloudflare-Workers'
}

/** Looked up when it is called, so that what replaces the global one later is used. */
export const platformFetch = (url: string, init: RequestInit): Promise<Response> =>
  globalThis.fetch(url, init)

/** Lets everything else have its turn. */
export const yieldTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/** From 0 to 1. */
export const chance = (): number => Math.random()

/** A module of Node's, where the runtime has it: Node 20.16 or later, Bun, Deno. */
export function builtin(id: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }
  return process?.getBuiltinModule?.(id)
}
