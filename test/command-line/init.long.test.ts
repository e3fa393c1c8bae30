/** What `init` writes, as its user has it: the packed package is installed, its test passes, and its agent is checked. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { describeWith, MODULES } from '../frameworks/installed.js'
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
  // AI SDK is linked: it is large, and its version is locked in its folder.
  const dependencies = { ...manifest.dependencies, 'a2a-tasks': `file:./${tarball}`, ai: undefined }
  writeFileSync(file, JSON.stringify({ ...manifest, dependencies }))
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

describeWith('ai', () => {
  /** A project with what the LLM agent needs. */
  async function llmProject(language: string): Promise<string> {
    const folder = temporaryFolder()
    expect((await run(['init', '.', '--llm', language], { cwd: folder })).code).toBe(0)
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      dependencies: { ai: expect.stringMatching(/^\^7/) as unknown },
    })
    installPacked(folder)
    symlinkSync(`${MODULES}ai`, join(folder, 'node_modules/ai'), 'junction')
    return folder
  }

  test(
    'the LLM agent passes its test, asks before it books, and continues after its process is killed',
    { timeout: 240_000 },
    async () => {
      const folder = await llmProject('--javascript')
      expect(npm(folder, 'test')).toMatch(/^(# |ℹ )pass 2$/m)
      const url = await closedUrl()
      const env = { ...process.env, PORT: new URL(url).port, AGENT_URL: url, AI_GATEWAY_API_KEY: '' }
      const start = async () => {
        const server = spawn(process.execPath, ['server.js'], {
          ...{ cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] },
        })
        onTestFinished(() => void server.kill('SIGKILL'))
        await once(server.stdout, 'data')
        return server
      }
      const killed = await start()
      const asked = await run(['send', url, 'A trip to Rome', '--context', 'trip'])
      expect(asked).toMatchObject({
        code: 5,
        stderr: expect.stringContaining('book({"city":"Rome"})?') as unknown,
      })
      const gone = once(killed, 'exit')
      killed.kill('SIGKILL')
      await gone
      const server = await start()
      const [, task = ''] = /--task (\S+)/.exec(asked.stderr) ?? []
      expect(await run(['send', url, 'approve', '--task', task, '-q'])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/Pack for the sun\.\n$/) as unknown,
      })
      expect(await run(['send', url, 'Where do I go?', '--context', 'trip', '-q'])).toMatchObject({
        code: 0,
        stdout: 'You have a flight to Rome, and it is sunny there.\n',
      })
      const called = execFileSync(process.execPath, ['client.js', url], { cwd: folder, encoding: 'utf8' })
      expect(called).toMatch(/Pack for the sun\.\n$/)
      const exited = once(server, 'exit')
      server.kill('SIGTERM')
      expect(await exited).toEqual([0, null])
    },
  )

  test('the LLM agent in TypeScript passes the compiler and its test', { timeout: 240_000 }, async () => {
    const folder = await llmProject('--typescript')
    npm(folder, 'run', 'types')
    expect(npm(folder, 'test')).toMatch(/^(# |ℹ )pass 2$/m)
  })
})
