/** A task whose replica is killed, and which another one continues: the page shows it across the change. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInspector } from 'a2a-tasks/inspector'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { closeBrowser, listen, openPage, requireChromium } from '../support/browser.js'
import { skipWithoutPostgres, startPostgres } from '../support/postgres-server.js'
import { ROOT } from '../support/repository.js'
import { OPEN } from './support/inspected.js'
import { replica } from './support/replica.js'

afterAll(closeBrowser)

it('a task that replica A began and B has ended is replayed', { timeout: 120_000 }, async (context) => {
  skipWithoutPostgres(context)
  const chromium = requireChromium(context)
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const program = ['--import', 'tsx', 'test/inspector/support/replica.ts', postgres.url]
  const a = spawn(process.execPath, program, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void a.kill('SIGKILL'))
  const [line] = (await once(a.stdout, 'data')) as [Buffer]
  const { result } = JSON.parse(String(line)) as { result: { task: { id: string } } }
  const { id } = result.task

  const b = await replica('B', postgres.url)
  onTestFinished(() => b.close())
  const { fetch } = createInspector({ ...OPEN, tasks: b.tasks, handler: b.handler, pollIntervalMs: 50 })
  const url = await listen(createServer(toNodeListener(fetch)))
  const { page } = await openPage(chromium, `${url}/#/t/${id}`)
  await page.getByText('search', { exact: true }).waitFor()
  a.kill('SIGKILL')
  await page.locator('.heading-facts').getByText('Completed').waitFor()
  await page.getByText('searched by A, booked by B').first().waitFor()
  const lanes = page.getByRole('list', { name: 'Processes' })
  expect(await lanes.locator('.bar').allTextContents()).toEqual(['A', 'B'])
  const processFact = page
    .getByRole('region', { name: 'Facts' })
    .locator('div', { hasText: 'Process' })
    .locator('dd')
  expect(await processFact.textContent()).toBe('B')

  const events = await b.tasks.events(id)
  const searched = events.findIndex((event) => event.type === 'journal' && event.entry.kind === 'step')
  await page.getByRole('slider', { name: 'Event' }).fill(String(searched))
  await page.locator('.heading-facts').getByText('Completed').waitFor({ state: 'detached' })
  await page.locator('.step summary').first().click()
  await page.getByText('"searched by A"').waitFor()
  expect(await page.getByText('book', { exact: true }).count()).toBe(0)
  expect(await processFact.textContent()).toBe('A')
})
