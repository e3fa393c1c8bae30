/**
 * Environment variables, built-in modules and other features of the platform.
 *
 * @module
 */
import { parseUrl } from './url.js'

interface Platform {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>
    readonly getBuiltinModule?: (id: string) => unknown
  }
  readonly Deno?: { readonly env: { get(name: string): string | undefined } }
  readonly navigator?: { readonly userAgent?: string }
  readonly document?: unknown
  readonly location?: { readonly href?: string }
}

/** An environment variable; `undefined` if it is not set or not readable, or the platform has no environment. */
export function environment(name: string): string | undefined {
  try {
    const { process, Deno } = globalThis as Platform
    return process?.env?.[name] ?? Deno?.env.get(name)
  } catch {
    // Deno throws if the program has no permission to read its environment.
    return undefined
  }
}

/**
 * A built-in module of Node; `undefined` on platforms without it. Node 20.16 or later, Bun and Deno have them. Bundlers
 * cannot see this import, so bundles for browsers work without it.
 */
export function builtin(id: string): unknown {
  const { process } = globalThis as Platform
  return process?.getBuiltinModule?.(id)
}

/** The most bytes that the JavaScript heap may have; `undefined` on platforms that do not report it. */
export function heapLimitBytes(): number | undefined {
  try {
    const v8 = builtin('v8') as { getHeapStatistics?: () => { heap_size_limit?: unknown } } | undefined
    const limit = v8?.getHeapStatistics?.().heap_size_limit
    return typeof limit === 'number' && limit > 0 && limit < Infinity ? limit : undefined
  } catch {
    // Runtimes that imitate Node may have the function and not implement it.
    return undefined
  }
}

/** An eighth of the heap, in bytes; `0` on platforms that do not report it. */
export function shareOfHeap(): number {
  return Math.floor((heapLimitBytes() ?? 0) / 8)
}

/** True on Cloudflare's runtime. */
export function isCloudflareWorker(): boolean {
  const { navigator } = globalThis as Platform
  return navigator?.userAgent === 'Cloudflare-Workers'
}

/** True in a page of a browser. */
export function isBrowserPage(): boolean {
  return (globalThis as Platform).document !== undefined
}

/** The URL of the page, or of the script of a worker. `undefined` outside of browsers. */
export function pageUrl(): URL | undefined {
  const { location } = globalThis as Platform
  return location?.href === undefined ? undefined : parseUrl(location.href)
}

/** A property of the global object, which packages share under a registered symbol. */
export function globalRegistry(key: symbol): unknown {
  return (globalThis as { readonly [key: symbol]: unknown })[key]
}

/**
 * A value that all copies of this library in the process share: bundlers load modules again at each change. Only this
 * library writes under `key`.
 */
export function sharedByCopies<T>(key: symbol, create: () => T): T {
  const shared = globalThis as { [key: symbol]: T | undefined }
  return (shared[key] ??= create())
}
