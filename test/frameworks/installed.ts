/**
 * The packages of this folder. The root's install leaves them out: without them, tests say what is missing, and are skipped.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'vitest'

export const MODULES = fileURLToPath(new URL('node_modules/', import.meta.url))

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

/** Mastra needs Node 22.13 or later: `npm run test:mastra` takes it from npm. */
export const runsMastra = major > 22 || (major === 22 && minor >= 13)

/** Tests that need this package. Where `CI` is set, nothing is left out: there they fail without it. */
export function describeWith(name: string, body: () => void): void {
  if (existsSync(`${MODULES}${name}/package.json`)) describe(name, body)
  else if (process.env['CI'])
    test(`${name} is installed`, () => {
      throw new Error('npm ci --prefix test/frameworks')
    })
  else test.skip(`${name} is not installed: npm ci --prefix test/frameworks`, () => undefined)
}

/** Loads a package. Types cannot come from it: the type check passes where it is not installed. Say as `T` what you use. */
export async function loadFramework<T>(specifier: string): Promise<T> {
  return (await import(/* @vite-ignore */ specifier)) as T
}
