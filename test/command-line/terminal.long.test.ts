/** The program in a real terminal: Ctrl-C once and twice, questions, and colours. */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { A2AClient } from 'a2a-tasks/client'
import { expect, onTestFinished, test, vi, type TestContext } from 'vitest'
import { listenOwn } from '../conformance/support/listen.js'
import { serveAgent } from './support/agents.js'
import { PROGRAM, temporaryFolder } from './support/program.js'

const WAIT = { timeout: 60_000, interval: 50 }

function requireTmux(context: TestContext): void {
  requireProgram(context, 'tmux', '-V')
}

/** Skips the test, and says why, where there is no such program. Where `CI` is set, it fails. */
function requireProgram({ skip }: TestContext, name: string, option: string): void {
  if (spawnSync(name, [option]).status === 0) return
  const reason = `Not installed: ${name}. Run: apt-get install ${name}`
  if (process.env['CI']) throw new Error(reason)
  skip(reason)
}

/** A terminal that runs the program, and then shows its exit code. */
class Screen {
  readonly #name = `a2a-${randomUUID()}`

  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    program: readonly string[] = [process.execPath, PROGRAM],
  ) {
    const quoted = (word: string): string => `'${word}'`
    const variables = Object.entries({ PATH: process.env['PATH'] ?? '', HOME: tmpdir(), ...env })
    const environment = ['env', '-i', 'TERM=screen', ...variables.map(([name, value]) => `${name}=${value}`)]
    const command = [...environment, ...program, ...args].map(quoted).join(' ')
    this.#tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '250',
      '-y',
      '50',
      `${command}; echo "[exit $?]"; exec cat`,
    )
    onTestFinished(() => void spawnSync('tmux', ['-L', this.#name, 'kill-server']))
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#name, ...args], { encoding: 'utf8' })
  }

  /** Keys by their names in tmux, such as `C-c`. */
  press(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys)
  }

  /** What is on the screen, with the sequences of its colours if they are asked for. */
  text(...options: readonly string[]): string {
    return this.#tmux('capture-pane', '-p', '-J', ...options)
  }

  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    return await vi.waitFor(() => {
      const text = this.text()
      expect(text).toMatch(pattern)
      // It has just matched.
      return pattern.exec(text) as RegExpExecArray
    }, WAIT)
  }
}

async function statesOf(url: string): Promise<string[]> {
  const client = await A2AClient.connect(url)
  return (await client.listTasks()).tasks.map(({ state }) => state)
}

test('Ctrl-C cancels the task', async (context) => {
  requireTmux(context)
  const url = await serveAgent()
  const screen = new Screen(['send', url, 'wait'])
  await screen.shows(/working {2}Waiting/)
  screen.press('C-c')
  await screen.shows(/Canceling the task[^]*\[exit 130\]/)
  expect(await statesOf(url)).toEqual(['canceled'])
})

test('a second Ctrl-C leaves a task whose end is not confirmed, and prints how to resume', async (context) => {
  requireTmux(context)
  const url = await serveAgent({ holdsCancel: true })
  const screen = new Screen(['send', url, 'wait'])
  await screen.shows(/working {2}Waiting/)
  screen.press('C-c')
  await screen.shows(/Canceling the task/)
  screen.press('C-c')
  await screen.shows(/a2a-tasks resume a2a1_[\w-]+[^]*\[exit 130\]/)
  expect(await statesOf(url)).toEqual(['working'])
})

test('Ctrl-C ends watch, and not the task', async (context) => {
  requireTmux(context)
  const url = await serveAgent()
  const { task } = (await (await A2AClient.connect(url)).send('wait', { returnImmediately: true })) as {
    task: { id: string }
  }
  const screen = new Screen(['watch', url, task.id])
  await screen.shows(/working {2}Waiting/)
  screen.press('C-c')
  await screen.shows(/a2a-tasks resume a2a1_[^]*\[exit 130\]/)
  expect(await statesOf(url)).toEqual(['working'])
})

test('a question is asked, and its hostile text is shown and not obeyed', async (context) => {
  requireTmux(context)
  const screen = new Screen(['send', await serveAgent(), 'ask'])
  await screen.shows(/Who are you\? \\x1b\[31mred\\x1b\]0;title\\x07\\x1b\]52;c[^]*> /)
  screen.press('Enter')
  // It asks again. What is typed before that may be lost.
  await screen.shows(/^> *\n> /m)
  screen.press('Ada', 'Enter')
  await screen.shows(/completed[^]*^Hello Ada\n\[exit 0\]/m)
})

test('a form is filled in line by line, and what the agent refuses is asked again', async (context) => {
  requireTmux(context)
  const screen = new Screen(['send', await serveAgent(), 'form'])
  await screen.shows(/Where\?\n {2}city\n> /)
  screen.press('X', 'Enter')
  await screen.shows(/^ {2}class\n {4}1\) first\n {4}2\) second\n> /m)
  screen.press('3', 'Enter')
  await screen.shows(/a number from 1 to 2\n> $/m)
  screen.press('2', 'Enter')
  await screen.shows(/city must have at least 2 characters\n {2}city\n> $/m)
  screen.press('Rome', 'Enter')
  await screen.shows(/^\{"city":"Rome","class":"second"\}\n\[exit 0\]/m)
})

test('Ctrl-D leaves a form, and the address of an authorization is shown on a line', async (context) => {
  requireTmux(context)
  const url = await serveAgent()
  const left = new Screen(['send', url, 'form'])
  await left.shows(/^> /m)
  left.press('C-d')
  await left.shows(/To answer: npx a2a-tasks send[^]*\[exit 5\]/)
  const login = new Screen(['send', url, 'login'])
  await login.shows(/^To authorize, open: https:\/\/login\.example\/\?state=1\nWaiting until/m)
  await login.shows(/No answer came in time\n\[exit 0\]/)
})

test('Ctrl-C at a question cancels the task, and Ctrl-D leaves the question', async (context) => {
  requireTmux(context)
  const url = await serveAgent()
  const canceled = new Screen(['send', url, 'ask'])
  await canceled.shows(/^> /m)
  canceled.press('C-c')
  await canceled.shows(/\[exit 130\]/)
  expect(await statesOf(url)).toEqual(['canceled'])
  const left = new Screen(['send', url, 'ask'])
  await left.shows(/^> /m)
  left.press('C-d')
  await left.shows(/To answer: npx a2a-tasks send[^]*\[exit 5\]/)
})

test('a terminal has colours, unless NO_COLOR is set', async (context) => {
  requireTmux(context)
  const url = await serveAgent()
  const colored = new Screen(['get', url, 'nope'])
  await colored.shows(/\[exit 4\]/)
  expect(colored.text('-e')).toContain('\x1b[31mError:')
  const plain = new Screen(['get', url, 'nope'], { NO_COLOR: '1' })
  await plain.shows(/\[exit 4\]/)
  expect(plain.text('-e')).not.toContain('\x1b[')
})

test('check shows a dot for each check, and then the report', async (context) => {
  requireTmux(context)
  const screen = new Screen(['check', await listenOwn(), '--strict', '--interface', 'JSONRPC 1.0'])
  await screen.shows(/Checking JSONRPC 1\.0\n\.{50,}\n[^]*JSONRPC 1\.0: \d+ passed/)
})

test.for([
  ['bash', '', '--norc'],
  ['zsh', 'autoload -U compinit; compinit -D -u;', '-f'],
])(
  '%s completes commands and options as they are typed',
  async ([shell = '', setup = '', plain = ''], context) => {
    requireTmux(context)
    requireProgram(context, shell, '--version')
    const folder = temporaryFolder()
    const { stdout } = spawnSync(process.execPath, [PROGRAM, 'completion', shell], { encoding: 'utf8' })
    writeFileSync(join(folder, 'completion'), stdout)
    const screen = new Screen([plain, '-i'], { HOME: folder }, [shell])
    screen.press(`${setup} PS1='ready> '; source ${join(folder, 'completion')}`, 'Enter')
    await screen.shows(/^ready> /m)
    screen.press('a2a-tasks com', 'Tab')
    await screen.shows(/^ready> a2a-tasks completion/m)
    screen.press('C-u', 'a2a-tasks check --jun', 'Tab')
    await screen.shows(/^ready> a2a-tasks check --junit/m)
  },
)

/** A browser that notes its arguments, and keeps the page of the file that it is opened with. */
function browserIn(folder: string): {
  readonly opened: string
  readonly page: string
  readonly env: { readonly PATH: string; readonly TMPDIR: string }
} {
  const [opened, page] = [join(folder, 'opened'), join(folder, 'page')]
  const program = join(folder, process.platform === 'darwin' ? 'open' : 'xdg-open')
  writeFileSync(program, `#!/bin/sh\ncp -p "$1" ${page}\nprintf %s "$*" > ${opened}\n`)
  chmodSync(program, 0o755)
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  return { opened, page, env: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, TMPDIR: temporary } }
}

test('inspect opens the page in the browser, serves it, and ends with Ctrl-C', async (context) => {
  requireTmux(context)
  const { opened, page: redirect, env } = browserIn(temporaryFolder())
  const url = await serveAgent()
  const { task } = (await (await A2AClient.connect(url)).send('wait', { returnImmediately: true })) as {
    task: { id: string }
  }
  const screen = new Screen(['inspect', url], env)
  const [, page = ''] = await screen.shows(/The inspector is at (http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/)/)
  // Other users of the machine can read the arguments of the browser.
  await vi.waitFor(() => expect(readFileSync(opened, 'utf8')).toContain(env.TMPDIR), WAIT)
  expect(readFileSync(opened, 'utf8')).not.toContain(new URL(page).pathname.slice(1, -1))
  expect(readFileSync(redirect, 'utf8')).toContain(`content="0; url=${page}"`)
  expect(statSync(redirect).mode & 0o777).toBe(0o600)
  expect(await (await fetch(page)).text()).toContain('<title>Tasks</title>')
  const headers = { 'x-a2a-inspector': '1', 'content-type': 'application/json' }
  const list = await (await fetch(`${page}api/tasks`, { headers })).text()
  expect(list).toContain(task.id)
  // A stream that is open does not keep the program from its end.
  const stream = await fetch(`${page}api/changes`, { headers })
  await fetch(`${page}api/tasks/${task.id}/cancel`, { method: 'POST', headers, body: '{}' })
  expect(await statesOf(url)).toEqual(['canceled'])
  screen.press('C-c')
  await screen.shows(/\[exit 130\]/)
  await expect(stream.text()).rejects.toThrow()
  await expect(fetch(page)).rejects.toThrow()
  expect(readdirSync(env.TMPDIR)).toEqual([])
})

test('inspect --no-open opens no browser, and a fault is said in one line', async (context) => {
  requireTmux(context)
  const { opened, env } = browserIn(temporaryFolder())
  const screen = new Screen(['inspect', await serveAgent(), '--no-open', '--read-only'], env)
  await screen.shows(/The inspector is at http/)
  screen.press('C-c')
  await screen.shows(/\[exit 130\]/)
  expect(existsSync(opened)).toBe(false)
  const refused = new Screen(['inspect', 'none.db'], env)
  await refused.shows(/Error: There is no file "none\.db"[^]*\[exit 2\]/)
})
