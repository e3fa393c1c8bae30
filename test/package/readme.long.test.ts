/** The blocks of the README, pasted as a reader would: into a folder of their own, with the package as npm packs it. */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { closedUrl } from '../command-line/support/agents.js'
import { describeWith, MODULES } from '../frameworks/installed.js'
import { isPrinted } from '../support/markdown.js'
import { read, ROOT } from '../support/repository.js'

const README = read('README.md')
const folder = mkdtempSync(join(tmpdir(), 'a2a-readme-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

interface Block {
  readonly at: string
  readonly language: string
  readonly text: string
  /** The prose right before it. */
  readonly before: string
}

const FENCE = /^```(\w+)[^\n]*\n([^]*?)^```$/gm
const blocks: readonly Block[] = [...README.matchAll(FENCE)].map((match) => {
  const [, language = '', text = ''] = match
  const prose = README.slice(0, match.index).replaceAll(FENCE, '')
  const line = README.slice(0, match.index).split('\n').length
  return { at: `README.md:${line}`, language, text, before: prose.trimEnd().split('\n').at(-1) ?? '' }
})

/** Programs by the name under which a reader saves them, or by their line where the README names none. */
const programs = blocks
  .filter(({ language }) => ['ts', 'js'].includes(language))
  .map((block) => ({
    ...block,
    name: /Save (?:this|it) .*?as `([\w-]+\.mjs)`/.exec(block.before)?.[1] ?? `${block.at.slice(10)}.mjs`,
  }))

/** The block after another one, if it says what that prints. */
function outputOf({ at }: Block): string | undefined {
  const next = blocks[blocks.findIndex((block) => block.at === at) + 1]
  return next?.language === 'text' ? next.text : undefined
}

const hasSqlite = isBuiltin('node:sqlite')

let port = ''
/** Other programs of this machine may listen on the port of the README. */
const moved = (text: string): string =>
  text.replaceAll('localhost:3000', `localhost:${port}`).replace('listen(3000)', `listen(${port})`)

function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync('npm', [...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

beforeAll(async () => {
  port = new URL(await closedUrl()).port
  const tarball = npm(ROOT, 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder).trim()
  const packages = [`./${tarball}`, ...(hasSqlite ? [] : ['libsql'])]
  npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', ...packages)
  // The packages of the README as the reader installs them, but from this machine.
  symlinkSync(`${MODULES}ai`, join(folder, 'node_modules/ai'), 'junction')
  for (const { name, text } of programs) writeFileSync(join(folder, name), moved(text))
}, 240_000)

interface Ended {
  readonly code: unknown
  readonly stdout: string
  readonly stderr: string
}

function shell(command: string): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile('sh', ['-c', command], { cwd: folder, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
    child.stdin?.end()
  })
}

/** Starts a program, and waits until it answers. */
async function start(name: string): Promise<ChildProcess> {
  const server = spawn(process.execPath, [name], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => void server.kill('SIGKILL'))
  await expect
    .poll(() =>
      fetch(`http://localhost:${port}/.well-known/agent-card.json`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
  return server
}

function expectPrinted(printed: string, block: Block): void {
  const output = outputOf(block)
  expect(output).toBeDefined()
  if (!isPrinted(printed, output ?? '')) expect(printed).toBe(output)
}

const isServer = ({ text }: Block): boolean => text.includes('.listen(3000)')
const commands = blocks.filter(({ language }) => language === 'sh')

describe('the README', () => {
  it('has no block that this test leaves out', () => {
    const outputs = blocks.filter((block) => outputOf(block) !== undefined).length
    expect(blocks.length).toBe(programs.length + commands.length + outputs)
    const known =
      /^(npm install a2a-tasks ai@7 zod$|curl |npx a2a-tasks send |npm install && npm (start|test)$)/
    const lines = commands.flatMap(({ text }) => text.trimEnd().split('\n'))
    expect(lines.filter((line) => !known.test(line))).toEqual([])
  })

  it.each(programs.filter((program) => !isServer(program)))(
    'has a program at $at that prints what it says',
    async (program) => {
      const { code, stdout, stderr } = await shell(`node ${program.name}`)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expectPrinted(stdout, program)
    },
  )

  it('has an agent that answers curl', async () => {
    await start('agent.mjs')
    for (const command of commands.filter(({ text }) => text.startsWith('curl'))) {
      expectPrinted((await shell(`${moved(command.text.trimEnd())} -s`)).stdout, command)
    }
  })
})

describeWith('ai', () => {
  it('runs the first program of the README, which continues after its process is killed, and remembers', async () => {
    const [send, next] = commands.filter(({ text }) => text.startsWith('npx a2a-tasks send'))
    const talk = send === undefined ? '' : (outputOf(send) ?? '')
    const [asking, answering] = talk.split(/^> approve\n/m)
    const first = await start('travel.mjs')
    const asked = await shell(`${moved(send?.text.trimEnd() ?? '')} 2>&1`)
    expect(asked.code).toBe(5)
    const [shown, answer = ''] = asked.stdout.split(/^The agent asks: .*\nTo answer: /m)
    expect(shown).toBe(asking)
    const gone = new Promise((resolve) => first.once('exit', resolve))
    first.kill('SIGKILL')
    await gone
    await start('travel.mjs')
    const answered = await shell(`${answer.trimEnd().replace('ANSWER', 'approve')} 2>&1`)
    expect(answered).toMatchObject({ code: 0, stdout: answering })
    const remembered = await shell(`${moved(next?.text.trimEnd() ?? '')} 2>&1`)
    expect(remembered).toMatchObject({ code: 0, stdout: next && outputOf(next) })
  })
})
