/** What `init` writes, as its user has it: the packed package is installed, its test passes, and its agent is checked. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/repository.js'
import { closedUrl } from './support/agents.js'
import { run, temporaryFolder } from './support/program.js'

function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync('npm', [...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Installs the package as npm packs it, in place of the version that is published. */
function installPacked(folder: string): void {
  const tarball = npm(ROOT, 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder).trim()
  const file = join(folder, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> }
  manifest.dependencies['a2a-tasks'] = `file:./${tarball}`
  writeFileSync(file, JSON.stringify(manifest))
  npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund')
}

test(
  'the agent in JavaScript passes its test, and the checks through its own script',
  { timeout: 240_000 },
  async () => {
    const folder = temporaryFolder()
    expect((await run(['init', '.', '--javascript'], { cwd: folder })).code).toBe(0)
    installPacked(folder)
    npm(folder, 'test')
    const url = await closedUrl()
    const { port } = new URL(url)
    const env = { ...process.env, PORT: port, AGENT_URL: url }
    const server = spawn(process.execPath, ['server.js'], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    await once(server.stdout, 'data')
    const checked = npm(folder, 'exec', '--', 'a2a-tasks', 'check', url)
    expect(checked).toMatch(/: \d+ passed, \d+ skipped\n$/)
    expect(execFileSync(process.execPath, ['client.js', url], { cwd: folder, encoding: 'utf8' })).toMatch(
      /completed Hello, Ada!\n$/,
    )
    const exited = once(server, 'exit')
    server.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
)

test(
  'the agent in TypeScript passes the compiler and its test on every Node',
  { timeout: 240_000 },
  async () => {
    const folder = temporaryFolder()
    expect((await run(['init', '.', '--typescript'], { cwd: folder })).code).toBe(0)
    installPacked(folder)
    npm(folder, 'run', 'types')
    expect(npm(folder, 'test')).toMatch(/^(# |ℹ )pass 2$/m)
  },
)
