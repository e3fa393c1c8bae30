/**
 * The repository, as the tests of the package see it.
 *
 * @module
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** All files that are tracked, or would be if they were added; paths from the root. */
export const FILES: readonly string[] = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard'],
  { cwd: ROOT, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => file !== '' && existsSync(ROOT + file))

/** All pages in Markdown. `llms.txt` has the name that coding agents look for. */
export const PAGES: readonly string[] = FILES.filter(
  (file) => file.endsWith('.md') || file === 'docs/llms.txt',
)

/** Paths from `src/`. */
export const SOURCES: readonly string[] = FILES.filter((file) => /^src\/.*\.ts$/.test(file)).map((file) =>
  file.slice('src/'.length),
)

/** The faces of the folders of `src/`. */
export const INDEXES: readonly string[] = SOURCES.filter((file) => /(^|\/)index\.ts$/.test(file))

export function read(file: string): string {
  return readFileSync(ROOT + file, 'utf8')
}

interface Target {
  readonly types: string
  readonly default: string
}

interface Manifest {
  readonly files: readonly string[]
  readonly exports: Record<string, string | { readonly import: Target; readonly require: Target }>
  readonly dependencies: Record<string, string>
}

export const MANIFEST = JSON.parse(read('package.json')) as Manifest

/** The entries with code, as users import them from: `''`, `'/testing'`, … */
export const ENTRIES: readonly string[] = Object.keys(MANIFEST.exports)
  .filter((specifier) => specifier !== './package.json')
  .map((specifier) => specifier.slice(1))
