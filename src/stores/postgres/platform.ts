/**
 * Where the store meets the platform.
 *
 * @module
 */

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Tells what this store prepares on a connection from what others do. */
export const uniqueId = (): string => crypto.randomUUID()
