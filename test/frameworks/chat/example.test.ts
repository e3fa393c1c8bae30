/** The application of examples/chat in a browser: two users, a form, calls of tools, an approval, a reload, and a stop. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { closeBrowser, openPage, requireChromium } from '../../support/browser.js'
import { read, ROOT } from '../../support/repository.js'
import { startServer } from '../../services/server-process.js'
import { describeWith } from '../installed.js'

/** A copy of the example beside its packages. */
function createApp(): string {
  const folder = mkdtempSync(fileURLToPath(new URL('../app-', import.meta.url)))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(`${ROOT}examples/chat`, folder, { recursive: true })
  mkdirSync(`${folder}/node_modules`)
  symlinkSync(ROOT, `${folder}/node_modules/a2a-tasks`, 'junction')
  return folder
}

afterAll(closeBrowser)

test('the page of examples/chat is short', () => {
  const lines = read('examples/chat/main.jsx').split('\n')
  expect(lines.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(60)
})

describeWith('@ai-sdk/react', () => {
  test('a user answers a form, sees calls of tools, reloads, approves, and stops', async (context) => {
    const chromium = requireChromium(context)
    const { url } = await startServer([process.execPath, 'server.mjs'], {
      cwd: createApp(),
      env: { PORT: '0', AGENT_PORT: '0', NO_COLOR: '1' },
      port: /http:\/\/127\.0\.0\.1:(\d+)/,
    })
    const { page, failure } = await openPage(chromium, url)
    const talk = (async () => {
      const send = async (text: string): Promise<void> => {
        await page.getByLabel('Message').fill(text)
        await page.getByRole('button', { name: 'Send' }).click()
      }
      const answer = async (nights: string): Promise<void> => {
        await page.getByLabel('nights').fill(nights)
        await page.getByLabel('breakfast').check()
        await page.getByRole('button', { name: 'Answer' }).click()
      }
      await send('A trip to Rome')
      await answer('2')
      await page.getByText('Let me look at the weather.').waitFor()
      await page.reload()
      await page.getByText('⚙ weather: Sunny, 24 °C').waitFor()
      await page.getByText('Book the flight for 42 €?').waitFor()
      // The messages before are those that the page has kept.
      expect(await page.locator('.user').allInnerTexts()).toEqual([
        'A trip to Rome',
        '{"nights":2,"breakfast":true}',
      ])
      expect(await page.getByLabel('Message').isDisabled()).toBe(true)
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('⚙ book: A flight to Rome').waitFor()
      await page.getByText('Have a good trip!').waitFor()
      expect(await page.getByText('Let me look at the weather.').count()).toBe(1)

      await send('Another one')
      await answer('1')
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByRole('button', { name: 'Send' }).waitFor()

      const bob = await page.context().newPage()
      await bob.goto(`${url}/?user=bob`)
      await bob.getByPlaceholder('Write as bob').waitFor()
      expect(await bob.locator('.user').count()).toBe(0)
    })()
    await Promise.race([talk, failure])
  })
})
