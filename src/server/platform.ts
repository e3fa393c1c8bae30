/**
 * Where the server meets the platform, beside the core's clock and ids.
 *
 * @module
 */
import type { ErrorContext } from './options.js'

interface Process {
  readonly emitWarning?: (warning: string, options: { type: string; detail: string }) => void
}

/** As a warning of the process on Node, Bun and Deno: seen by whoever develops, fatal to nobody. Elsewhere nothing. */
export function reportError(error: unknown, { during, taskId }: ErrorContext): void {
  const { process } = globalThis as { process?: Process }
  const where = taskId === undefined ? during : `${during}, task ${taskId}`
  process?.emitWarning?.(`${where}: ${textOf(error)}. Pass "onError" to handle it`, {
    type: 'A2ATasksWarning',
    detail: error instanceof Error ? String(error.stack) : '',
  })
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
