/**
 * The package under test, built in its own folder, so that concurrent builds and runs change nothing.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
const TSUP = 'node_modules/tsup/dist/cli-default.js'

/** The working tree. */
export async function build(): Promise<Build> {
  const folder = newFolder()
  run(ROOT, process.execPath, TSUP, '--silent', '--no-dts', '--out-dir', `${folder}/dist`)
  return load(`${folder}/dist`)
}

/** The same code as modules of its own: nothing that the compiler learns of the one is known of the other. */
export async function copyOf({ entry }: Build): Promise<Build> {
  const folder = newFolder()
  cpSync(join(entry, '..'), `${folder}/dist`, { recursive: true })
  return load(`${folder}/dist`)
}

/** A commit, in a working tree of its own that is gone when the process ends. */
export async function buildCommit(ref: string): Promise<Build> {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-tasks-bench-'))
  const tree = join(folder, 'tree')
  process.once('exit', () => {
    run(ROOT, 'git', 'worktree', 'remove', '--force', tree)
    rmSync(folder, { recursive: true, force: true })
  })
  run(ROOT, 'git', 'worktree', 'add', '--quiet', '--detach', tree, ref)
  // Packages of another version are other code: they are a part of what is measured.
  if (packagesOf(tree) === packagesOf(ROOT))
    symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  else run(tree, 'npm', 'ci', '--no-audit', '--no-fund', '--silent')
  run(tree, process.execPath, TSUP, '--silent', '--no-dts')
  return load(join(tree, 'dist'))
}

/** Ended by a signal, the process removes what it has built too. The signal may come from the terminal and from a parent. */
export function endTidily(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
}

/** Within node_modules, eventemitter3 resolves as it does for a user. */
function newFolder(): string {
  const cache = join(ROOT, 'node_modules/.cache/a2a-tasks-bench')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(`${cache}/`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(`${folder}/package.json`, JSON.stringify({ type: 'module', sideEffects: false }))
  return folder
}

async function load(dist: string): Promise<Build> {
  const entry = join(dist, 'index.js')
  const url = pathToFileURL(entry).href
  // What was built from src/index.ts has its exports, or those that it had at its commit.
  return { library: (await import(url)) as Library, entry, url }
}

/** The locked packages, without the version of this one. */
function packagesOf(tree: string): string {
  // npm writes it so.
  const { packages } = JSON.parse(readFileSync(join(tree, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, object>
  }
  return JSON.stringify({ ...packages, '': undefined })
}

function run(cwd: string, command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd, stdio: 'inherit' })
}
