/**
 * The package under test, built in its own folder, so that concurrent builds and runs change nothing.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as Core from 'a2a-tasks'

export type Library = typeof Core

export interface Build {
  readonly library: Library
  /** The file that `a2a-tasks` resolves to. */
  readonly entry: string
  /** The same, as an import specifier. */
  readonly url: string
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function build(): Promise<Build> {
  // Within node_modules, eventemitter3 resolves as it does for a user.
  const cache = `${ROOT}node_modules/.cache/a2a-tasks-bench`
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(`${cache}/`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(`${folder}/package.json`, JSON.stringify({ type: 'module', sideEffects: false }))
  const tsup = `${ROOT}node_modules/tsup/dist/cli-default.js`
  execFileSync(process.execPath, [tsup, '--silent', '--no-dts', '--out-dir', `${folder}/dist`], {
    ...{ cwd: ROOT, stdio: 'inherit' },
  })
  const entry = `${folder}/dist/index.js`
  const url = pathToFileURL(entry).href
  // What was built from src/index.ts has its exports.
  return { library: (await import(url)) as Library, entry, url }
}
