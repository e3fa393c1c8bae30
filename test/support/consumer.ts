/**
 * A project that depends on the built package, in a folder of its own: what its users see.
 *
 * @module
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './repository.js'

const TSX = import.meta.resolve('tsx')

export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), 'a2a-tasks-'))

  constructor() {
    if (!existsSync(`${ROOT}dist/index.js`)) throw new Error('There is no dist/: run `npm run build`')
    this.write('package.json', '{ "type": "module", "private": true }')
    mkdirSync(join(this.folder, 'node_modules'))
    symlinkSync(ROOT, join(this.folder, 'node_modules/a2a-tasks'), 'junction')
  }

  /** Writes a file, and gives its whole path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** What the program prints. Rejects with what it printed when it fails, or is not done within 30 seconds. */
  async run(file: string): Promise<string> {
    const loader = file.endsWith('.ts') ? ['--import', TSX] : []
    const { stdout } = await promisify(execFile)(process.execPath, [...loader, file], {
      cwd: this.folder,
      timeout: 30_000,
    })
    return stdout
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
