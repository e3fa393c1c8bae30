/** The command line of MCP's inspector calls tools of an agent, in both generations. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { describeWith, MODULES } from '../installed.js'
import { serve, textOf, type Address, type Json } from './kit.js'

const LAUNCHER = `${MODULES}@modelcontextprotocol/inspector/clients/launcher/build/index.js`

/** Runs one method, and reads the result. */
async function inspect(era: string, { url }: Address, ...args: readonly string[]): Promise<Json> {
  // It keeps its settings, and the tokens of users, in the home.
  const home = mkdtempSync(join(tmpdir(), 'mcp-inspector-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const given = ['--cli', url.href, '--transport', 'http', '--protocol-era', era, ...args]
  const { stdout } = await promisify(execFile)(process.execPath, [LAUNCHER, ...given], {
    env: { PATH: process.env['PATH'], HOME: home },
  })
  return JSON.parse(stdout) as Json
}

const call = (message: string): string[] => [
  '--method',
  'tools/call',
  '--tool-name',
  'default',
  '--tool-arg',
  `message=${message}`,
]

describeWith('@modelcontextprotocol/inspector', () => {
  it.each(['legacy', 'modern'])('%s: lists the tools, and calls one that answers at once', async (era) => {
    const served = await serve((run) => `You said: ${run.text}`)
    const { tools } = await inspect(era, served, '--method', 'tools/list')
    expect(tools).toMatchObject([{ name: 'default', description: 'Does it' }])
    expect(textOf(await inspect(era, served, ...call('Hi')))).toBe('You said: Hi')
  })

  it.each(['legacy', 'modern'])('%s: follows a long call to its end', async (era) => {
    let goOn = (): void => undefined
    const held = new Promise<void>((resolve) => (goOn = resolve))
    const served = await serve(
      async (run) => {
        await held
        return `You said: ${run.text}`
      },
      { waitMs: 0 },
    )
    const called = inspect(era, served, ...call('Later'))
    await expect.poll(() => served.tasks.listTasks()[0]?.state).toBe('working')
    goOn()
    expect(textOf(await called)).toBe('You said: Later')
  })
})
