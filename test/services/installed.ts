/**
 * Check for the packages of this folder. Only the tests that speak to real services need them, so
 * the root's `npm ci` leaves them out; without them those tests say what is missing, and are skipped.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, type TestContext } from 'vitest'

const MODULES = fileURLToPath(new URL('node_modules/', import.meta.url))

/** Which of these packages are not there. */
function missing(packages: readonly string[]): string[] {
  return packages.filter((name) => !existsSync(`${MODULES}${name}/package.json`))
}

/** Whether all of these packages are there. */
export function isInstalled(...packages: readonly string[]): boolean {
  return missing(packages).length === 0
}

/** Tests that need these packages. Without them there are none: have one that {@link skipMissing} skips. */
export function whenInstalled(packages: readonly string[], name: string, body: () => void): void {
  if (isInstalled(...packages)) describe(name, body)
}

/**
 * Skips the test, and says which of these packages it lacks and how to install them. Where `CI` is set, nothing is left out:
 * there it fails.
 */
export function skipMissing({ skip }: TestContext, ...packages: readonly string[]): void {
  const absent = missing(packages)
  if (absent.length === 0) return
  const reason = `Not installed: ${absent.join(', ')}. Run: npm run test:services`
  if (process.env['CI']) throw new Error(reason)
  skip(reason)
}

/**
 * A package of this folder, loaded when it is needed. Types cannot come from it, as the type check must pass where it
 * is not installed: say as `T` what you use of it.
 */
export async function loadService<T>(specifier: string): Promise<T> {
  return (await import(/* @vite-ignore */ specifier)) as T
}
