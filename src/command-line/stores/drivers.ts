/**
 * Drivers of databases, from the project in which the program is called.
 *
 * @module
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { usageFailure } from '../failure.js'

export interface Driver {
  readonly name: string
  /** The exports of the package: those of CommonJS are the default. */
  readonly module: Readonly<Record<string, unknown>>
}

/**
 * Loads the first of these packages that the project at `cwd` has.
 *
 * @throws {CommandFailure} that names the packages, if it has none of them.
 */
export async function loadDriver(names: readonly string[], cwd: string): Promise<Driver> {
  const { resolve } = createRequire(join(cwd, 'package.json'))
  for (const name of names) {
    let path
    try {
      path = resolve(name)
    } catch {
      continue
    }
    // A module of the user.
    const loaded = (await import(pathToFileURL(path).href)) as Record<string, unknown>
    const { default: inner } = loaded
    const isModule = typeof inner === 'object' && inner !== null
    return { name, module: { ...loaded, ...(isModule && inner) } }
  }
  throw usageFailure(
    `This needs the package ${names.map((name) => `"${name}"`).join(' or ')}, and ${cwd} has none`,
    `Run there: npm install ${names[0] ?? ''}`,
  )
}
