/**
 * Where agent cards meet the platform: its environment, its clock and its timers.
 *
 * @module
 */
interface Runtime {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> }
  readonly Deno?: { readonly env: { get(name: string): string | undefined } }
}

/** A variable of the environment. `undefined` where it is not set or empty, may not be read, or there is no environment. */
export function environment(name: string): string | undefined {
  try {
    const { process, Deno } = globalThis as Runtime
    const value = process?.env?.[name] ?? Deno?.env.get(name)
    return value === '' ? undefined : value
  } catch {
    // Deno throws where the program may not read its environment.
    return undefined
  }
}

/** Milliseconds since 1970. */
export function now(): number {
  return Date.now()
}

/**
 * What `work` comes to, within `timeoutMs`; its signal is aborted then, and heeding it is not required. The timer keeps
 * the process alive, unlike that of `AbortSignal.timeout`: somebody awaits what it is for.
 */
export async function within<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let stop = (): void => {}
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      const error = new Error(`no answer within ${timeoutMs} ms`)
      reject(error)
      controller.abort(error)
    }, timeoutMs)
    stop = () => clearTimeout(timer)
  })
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    stop()
  }
}
