/** The program `a2a-tasks`, as a child process. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ROOT } from '../../support/repository.js'

export const PROGRAM = join(ROOT, 'dist/command-line/main.js')

export interface Ended {
  readonly code: number | string | null | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program without a terminal, and without the settings of the user that runs the tests. */
export function run(
  args: readonly string[],
  { env = {}, cwd = tmpdir() }: { env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Promise<Ended> {
  const { PATH } = process.env
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [PROGRAM, ...args],
      { cwd, env: { PATH, HOME: tmpdir(), ...env }, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
    child.stdin?.end()
  })
}

/** A folder until the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-command-line-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Makes packages of this repository those of a project. */
export function install(folder: string, ...names: readonly string[]): void {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  for (const name of names)
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), 'junction')
  symlinkSync(ROOT, join(folder, 'node_modules/a2a-tasks'), 'junction')
}
