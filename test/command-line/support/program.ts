/** The program `a2a-tasks`, in this process or as a child process. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { run as runCommand } from '../../../src/command-line/program.js'
import { terminalOf } from '../../../src/command-line/terminal/terminal.js'
import { ROOT } from '../../support/repository.js'

export const PROGRAM = join(ROOT, 'dist/command-line/main.js')

export interface Ended {
  readonly code: number | string | null | undefined
  readonly stdout: string
  readonly stderr: string
}

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** Runs the program without a terminal, and without the settings of the user that runs the tests. */
export function runProcess(
  args: readonly string[],
  { env = {}, cwd = tmpdir() }: Surroundings = {},
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

/** As `runProcess`, in this process, from the sources: a process takes many times as long as a command. */
export async function run(
  args: readonly string[],
  { env = {}, cwd = tmpdir() }: Surroundings = {},
): Promise<Ended> {
  const ended = { stdout: '', stderr: '' }
  const terminal = terminalOf({
    stdin: {},
    stdout: { write: (text) => (ended.stdout += text) },
    stderr: { write: (text) => (ended.stderr += text) },
    env: { HOME: tmpdir(), XDG_CONFIG_HOME: tmpdir(), ...env },
    cwd: () => cwd,
  })
  return { code: await runCommand(args, terminal), ...ended }
}

/** A folder until the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-command-line-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

/** Makes packages of this repository those of a project. */
export function install(folder: string, ...names: readonly string[]): void {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  for (const name of names)
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), 'junction')
  symlinkSync(ROOT, join(folder, 'node_modules/a2a-tasks'), 'junction')
}
