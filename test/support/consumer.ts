/**
 * A project that depends on the built package, in its own folder: what its users see.
 *
 * @module
 */
import { execFile, type ExecFileException } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { transformSync } from 'esbuild'
import { ROOT } from './repository.js'

/** A busy machine takes many times the second or two that a program needs. */
const TIMEOUT_MS = 60_000

export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), 'a2a-tasks-'))

  constructor() {
    if (!existsSync(`${ROOT}dist/index.js`)) throw new Error('There is no dist/: run `npm run build`')
    this.write('package.json', '{ "type": "module", "private": true }')
    mkdirSync(join(this.folder, 'node_modules'))
    symlinkSync(ROOT, join(this.folder, 'node_modules/a2a-tasks'), 'junction')
  }

  /** Installs packages that this repository has, such as frameworks. A scope stands for all of its packages. */
  install(...names: readonly string[]): void {
    for (const name of names) {
      const link = join(this.folder, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules', name), link, 'junction')
    }
  }

  /** Writes a file, and gives its whole path. */
  write(name: string, text: string): string {
    const path = resolve(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** Compiles a file of TypeScript, which takes less time than a loader in each process. Returns the path of the program. */
  compile(file: string): string {
    if (!file.endsWith('.ts')) return file
    const { code } = transformSync(readFileSync(resolve(this.folder, file), 'utf8'), {
      loader: 'ts',
      target: 'node20',
      sourcefile: file,
      sourcemap: 'inline',
      // As in tsconfig.json: NestJS needs them.
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    })
    return this.write(file.replace(/\.ts$/, '.mjs'), code)
  }

  /** Returns what the program prints. A program that fails, or runs for longer than a minute, rejects with its output. */
  async run(file: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    return await new Promise((resolve, reject) => {
      execFile(
        process.execPath,
        [this.compile(file)],
        { cwd: this.folder, env: { ...process.env, ...env }, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' },
        (error, stdout, stderr) => {
          if (error === null) resolve(stdout)
          else reject(new Error(`${file} ${endOf(error)}\n\nstdout:\n${stdout}\nstderr:\n${stderr}`))
        },
      )
    })
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function endOf({ killed, code, signal }: ExecFileException): string {
  if (killed === true) return `was still running after ${TIMEOUT_MS / 1_000} s`
  return signal ? `was ended by ${signal}` : `ended with ${String(code)}`
}
