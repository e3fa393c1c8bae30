/** What the page copies and saves: requests, programs, tests and files that are then run and read. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, textOf } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import type { Page } from 'playwright-core'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { install, temporaryFolder } from '../command-line/support/program.js'
import { closeBrowser, listen, requireChromium } from '../support/browser.js'
import { ROOT } from '../support/repository.js'
import { OPEN } from './support/inspected.js'
import { serve, visit } from './support/visit.js'

afterAll(closeBrowser)

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** An agent over HTTP, whose task has asked and has ended, in the page. */
async function asked(chromium: string): Promise<{ page: Page; faults: string[]; tasks: TaskManager }> {
  const tasks = new TaskManager()
  const server = createServer()
  const url = await listen(server)
  const handler = createRequestHandler({
    card: { name: 'Shop', url },
    tasks,
    anonymous: 'shared',
    async execute(run) {
      const colour = textOf(await run.requireInput("Which colour, 'red' or $HOME?"))
      run.artifact({ artifactId: 'a', name: 'Receipt', parts: [{ text: `sold: ` }] })
      run.artifact({ artifactId: 'a', parts: [{ text: colour }] })
      const raw = { raw: PIXEL, mediaType: 'image/png', filename: 'receipt.png' }
      run.artifact({ artifactId: 'b', parts: [raw, { data: { paid: true } }] })
    },
  })
  server.on('request', toNodeListener(handler.fetch))
  onTestFinished(() => handler.close({ graceMs: 0 }))
  const { page, faults } = await visit(chromium, `${await serve({ ...OPEN, tasks, handler })}#/agent`)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByLabel('Message').fill('it\'s `a` "shirt"')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByLabel(/^Which colour/).fill('blue')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.getByRole('link', { name: 'Open the task' }).click()
  await page.locator('.heading-facts').getByText('Completed').waitFor()
  return { page, faults, tasks }
}

/** The agent is in this process, so the program runs beside it. */
async function output(program: string, args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, [...args])).stdout
}

async function copied(page: Page, name: string): Promise<string> {
  await page.getByText('Copy', { exact: true }).click()
  await page.getByRole('button', { name, exact: true }).click()
  await page.getByText(/^Copied/).waitFor()
  await page.getByText('Copy', { exact: true }).click()
  return await page.evaluate<string>('navigator.clipboard.readText()')
}

it(
  'a task is copied as a curl request and as a program, which both run',
  { timeout: 60_000 },
  async (context) => {
    const { page, faults, tasks } = await asked(requireChromium(context))
    const curl = await copied(page, 'As curl')
    const answer: unknown = JSON.parse(await output('bash', ['-c', curl]))
    expect(answer).toMatchObject({ result: { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } } })
    expect(tasks.listTasks()).toHaveLength(2)
    expect(tasks.listTasks().at(-1)?.messages[0]?.parts).toEqual([{ text: 'it\'s `a` "shirt"' }])

    const folder = temporaryFolder()
    install(folder)
    writeFileSync(join(folder, 'client.mjs'), await copied(page, 'As client code'))
    expect(await output(process.execPath, [join(folder, 'client.mjs')])).toBe('completed sold: blue\n')
    expect(faults).toEqual([])
  },
)

it(
  'a task is saved as a test, which vitest runs, and its file as it is',
  { timeout: 90_000 },
  async (context) => {
    const { page, faults } = await asked(requireChromium(context))
    await page.getByText('Copy', { exact: true }).click()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as a test' }).click(),
    ])
    const folder = temporaryFolder()
    install(folder, 'vitest')
    await saved.saveAs(join(folder, saved.suggestedFilename()))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const ran = execFileSync(
      process.execPath,
      [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder],
      {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], NO_COLOR: '1' },
      },
    )
    expect(ran).toMatch(/Tests {2}1 passed/)

    await page.getByRole('img', { name: 'receipt.png' }).waitFor()
    expect(await page.evaluate(`document.querySelector('.file img').naturalWidth`)).toBe(1)
    const [picture] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save', exact: true }).click(),
    ])
    expect(picture.suggestedFilename()).toBe('receipt.png')
    expect(readFileSync(await picture.path()).toString('base64')).toBe(PIXEL)
    expect(faults).toEqual([])
  },
)
