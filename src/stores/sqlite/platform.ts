/**
 * Where the store meets the platform.
 *
 * @module
 */

/** Milliseconds since 1970. A database in a file has no clock but that of the process that reads it. */
export const now = (): number => Date.now()

/** A module of the runtime's own, where it has it. Bundlers do not see it, and need not leave it alone. */
export function builtin(id: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }
  return process?.getBuiltinModule?.(id)
}

/** Lets other processes have their turn. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
