/**
 * A real browser, where there is one. `.ci/run` installs it.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium, type Browser, type Page } from 'playwright-core'
import { onTestFinished, type TestContext } from 'vitest'

const PATHS = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Where Chromium is. Call it before anything else: where there is none, the test is skipped, and nothing cleaned up. */
export function requireChromium({ skip }: TestContext): string {
  const path = PATHS.find((path) => path !== '' && existsSync(path))
  if (path !== undefined) return path
  const text = 'There is no Chromium here: apt-get install chromium, or name it in CHROMIUM'
  // .ci/run installs it.
  if (process.env['CI']) throw new Error(text)
  return skip(text)
}

let launched: Promise<Browser> | undefined

/** For `afterAll` of each file that opens pages. */
export async function closeBrowser(): Promise<void> {
  await (await launched)?.close()
  launched = undefined
}

/** A page with storage of its own, open until the test is finished. `failure` rejects with the first error that the page does not catch. */
export async function openPage(
  executablePath: string,
  url: string,
): Promise<{ readonly page: Page; readonly failure: Promise<never> }> {
  // As root, which CI is, Chromium has no sandbox. What it opens is ours.
  const browser = await (launched ??= chromium.launch({ executablePath, args: ['--no-sandbox'] }))
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const failure = new Promise<never>((_, reject) => page.on('pageerror', reject))
  // It may come before a caller waits for it.
  failure.catch(() => {})
  page.setDefaultTimeout(15_000)
  await page.goto(url)
  return { page, failure }
}

/** Listens on loopback until the test is finished, and gives where. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
