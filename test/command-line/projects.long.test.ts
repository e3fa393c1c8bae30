/** `init`, `dev`, `migrate` and `completion`: what they write and serve. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { on } from 'node:events'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, type TestContext } from 'vitest'
import { ROOT } from '../support/repository.js'
import { closedUrl } from './support/agents.js'
import { install, PROGRAM, runProcess as run, temporaryFolder } from './support/program.js'

test('init writes an agent whose test passes, and overwrites nothing', async () => {
  const folder = temporaryFolder()
  const { code, stdout } = await run(['init', 'My Agent', '--javascript'], { cwd: folder })
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("cd 'My Agent'") as unknown })
  const project = join(folder, 'My Agent')
  const files = readdirSync(project)
  expect(files).toEqual(
    expect.arrayContaining(['Dockerfile', 'agent.js', 'agent.test.js', 'client.js', 'server.js']),
  )
  install(project)
  const tested = spawnSync(process.execPath, ['--test', 'agent.test.js'], { cwd: project, encoding: 'utf8' })
  expect(tested.stdout).toMatch(/^# pass 2$/m)
  const again = await run(['init', 'My Agent', '--javascript'], { cwd: folder })
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('Nothing was written') as unknown })
})

test.each([
  ['--javascript', 'Wrote 9 files of JavaScript to', false],
  [
    '--typescript',
    'Wrote 10 files of TypeScript to',
    Reflect.get(process.features, 'typescript') !== 'strip',
  ],
])('init %s names the language, and the loader that this Node needs', async (option, wrote, needsLoader) => {
  const { stdout } = await run(['init', 'agent', option], { cwd: temporaryFolder() })
  expect(stdout).toContain(wrote)
  expect(stdout.includes(`has the package tsx: this is ${process.version}`)).toBe(needsLoader)
})

test.each<[string, string, readonly RegExp[]]>([
  [
    'a wrong option',
    `import { createRequestHandler } from 'a2a-tasks/server'
export default createRequestHandler({ card: { name: 'A' }, executes: 1, execute: () => 'x' })`,
    [/^TypeError: Unknown option "executes"/, /^ {4}at agent\.js:2:\d+$/m],
  ],
  [
    'an error of its own, with its cause',
    `export default function outer() {}
function inner() { throw new Error('no city', { cause: new TypeError('a\\x1b[2Jb') }) }
inner()`,
    [
      /^Error: no city\n {4}at inner \(agent\.js:2:\d+\)\n {4}at agent\.js:3:1\n/,
      /^Caused by TypeError: a\\x1b\[2Jb\n/m,
    ],
  ],
  [
    'a mistake in its syntax',
    `export default (run) => {\n  foo(\n}`,
    [/agent\.js:3\n\}\n\^\n[^]*SyntaxError/],
  ],
])('dev shows %s with the lines of the agent, and none of the built package', async (_, code, texts) => {
  const folder = temporaryFolder()
  install(folder)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'agent.js'), code)
  const args = [PROGRAM, 'dev', 'agent.js', '--once', '--port', new URL(await closedUrl()).port]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  expect(status).toBe(1)
  for (const text of texts) expect(stderr).toMatch(text)
  expect(stderr).not.toMatch(/dist\/|\x1b/)
})

test('dev shows what the agent of a handler throws with the lines of the agent', async () => {
  const folder = temporaryFolder()
  await run(['init', '.', '--javascript'], { cwd: folder })
  install(folder)
  const path = join(folder, 'agent.js')
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(
      '*execute(run) {',
      "*execute(run) {\n    throw new Error('no planes')",
    ),
  )
  const url = (await closedUrl()).replace('127.0.0.1', 'localhost')
  const child = spawn(process.execPath, [PROGRAM, 'dev', 'agent.js', '--once', '--port', new URL(url).port], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGTERM'))
  let shown = ''
  child.stderr.on('data', (chunk) => (shown += String(chunk)))
  for await (const [chunk] of on(child.stdout, 'data')) if (String(chunk).includes('Serving')) break
  await run(['send', url, 'Ada', '-q'])
  await expect.poll(() => shown).toContain('of a2a-tasks')
  expect(shown).toMatch(/A2ATasksWarning: execute, task .+: Error: no planes/)
  expect(shown).toMatch(/ {4}at .*agent\.js:\d+/)
  expect(shown).not.toMatch(/dist\//)
})

test('dev tells the new agent its port, so that clients call it there', async () => {
  const folder = temporaryFolder()
  await run(['init', '.', '--javascript'], { cwd: folder })
  install(folder)
  const url = (await closedUrl()).replace('127.0.0.1', 'localhost')
  for await (const text of startDev(['agent.js', '--port', new URL(url).port], folder)) {
    if (!text.includes('Serving')) continue
    expect(text).not.toContain('Its card says')
    break
  }
  expect(await run(['send', url, 'Ada', '-q'])).toMatchObject({ code: 0, stdout: 'Hello, Ada!\n' })
})

test('dev says that tasks are in memory, which a restart loses', async () => {
  const folder = temporaryFolder()
  install(folder)
  writeFileSync(join(folder, 'agent.mjs'), `export default () => 'x'`)
  const port = new URL(await closedUrl()).port
  let said = ''
  for await (const text of startDev(['agent.mjs', '--port', port], folder)) {
    said += text
    if (said.includes('openTasks')) break
  }
  expect(said).toContain('Its tasks are in memory, and gone when it restarts')
})

/** Lines of a program that serves, until the test is over. */
function startDev(args: readonly string[], cwd: string): AsyncIterable<string> {
  const child = spawn(process.execPath, [PROGRAM, 'dev', ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  return (async function* () {
    for await (const [chunk] of on(child.stdout, 'data')) yield String(chunk)
  })()
}

test.each<[string, string]>([
  ['an execute function', `export default (run) => VALUE + run.text`],
  [
    'options',
    `export default { card: { name: 'A', url: 'https://prod.example' }, execute: (run) => VALUE + run.text }`,
  ],
  [
    'a handler',
    `import { createRequestHandler } from 'a2a-tasks/server'
    export default createRequestHandler({ card: { name: 'A', url: URL }, execute: (run) => VALUE + run.text })`,
  ],
])('dev serves %s, and restarts it when a file that it imports changes', async (_, code) => {
  const folder = temporaryFolder()
  install(folder)
  const url = (await closedUrl()).replace('127.0.0.1', 'localhost')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'value.js'), `export const VALUE = 'one '`)
  writeFileSync(join(folder, 'agent.js'), `import { VALUE } from './value.js'\nconst URL = '${url}'\n${code}`)
  let served = 0
  for await (const text of startDev(['agent.js', '--port', url.split(':')[2] ?? ''], folder)) {
    if (!text.includes('Serving')) continue
    served += 1
    const { stdout } = await run(['send', url, 'x', '-q'])
    expect(stdout).toBe(served === 1 ? 'one x\n' : 'two x\n')
    if (served === 2) break
    writeFileSync(join(folder, 'value.js'), `export const VALUE = 'two '`)
  }
  expect(served).toBe(2)
})

test('migrate creates the tables of a SQLite file, by the driver of the project', async () => {
  const folder = temporaryFolder()
  install(folder, 'libsql', '@libsql', '@neon-rs', 'detect-libc')
  const first = await run(['migrate', 'tasks.db'], { cwd: folder })
  expect(first).toEqual({ code: 0, stdout: 'The SQLite store is up to date\n', stderr: '' })
  expect((await run(['migrate', 'tasks.db', '--json'], { cwd: folder })).code).toBe(0)
  expect(readdirSync(folder)).toContain('tasks.db')
})

test('migrate says why a database was not reached, without its password', async () => {
  const folder = temporaryFolder()
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const { host } = new URL(await closedUrl())
  for (const scheme of ['postgres', 'redis']) {
    const env = { DATABASE_URL: `${scheme}://me:hunter22@${host}/0` }
    const { code, stderr } = await run(['migrate', '$DATABASE_URL'], { cwd: folder, env })
    expect(code).toBe(3)
    expect(stderr).toMatch(/was not migrated: .*ECONNREFUSED/)
    expect(stderr).not.toContain('hunter22')
  }
})

test.each(['bash', 'zsh'])('completion for %s is a script that the shell reads', async (shell) => {
  const { code, stdout } = await run(['completion', shell])
  expect(code).toBe(0)
  expect(stdout).toContain('--junit')
  if (isMissing(shell)) return
  const { status, stderr } = spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test('bash completes commands and options', async (context) => {
  requireShell(context, 'bash')
  const { stdout } = await run(['completion', 'bash'])
  const complete = (...words: readonly string[]): string => {
    const script = `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
      _a2a_tasks; echo "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim()
  }
  expect(complete('a2a-tasks', 'ca')).toBe('card cancel')
  expect(complete('a2a-tasks', 'check', '--ju')).toBe('--junit')
})

function isMissing(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status !== 0
}

function requireShell({ skip }: TestContext, shell: string): void {
  if (isMissing(shell)) skip(`Not installed: ${shell}`)
}
