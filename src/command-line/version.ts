/**
 * Version of this package.
 *
 * @module
 */
import { createRequire } from 'node:module'

export function packageVersion(): string {
  // The package's own manifest has a version.
  return (createRequire(import.meta.url)('a2a-tasks/package.json') as { version: string }).version
}
