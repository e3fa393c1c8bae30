/**
 * The page of an inspector in a real browser.
 *
 * @module
 */
import { createServer } from 'node:http'
import axe from 'axe-core'
import { createInspector, type InspectorOptions } from 'a2a-tasks/inspector'
import { toNodeListener } from 'a2a-tasks/server/node'
import type { Page } from 'playwright-core'
import { listen, openPage } from '../../support/browser.js'

export async function serve(options: InspectorOptions): Promise<string> {
  const { fetch } = createInspector({ ...options, pollIntervalMs: 50 })
  return `${await listen(createServer(toNodeListener(fetch)))}/inspector/`
}

/** The page, and what it did that it must not: errors, refused loads, requests to elsewhere. */
export async function visit(chromium: string, url: string): Promise<{ page: Page; faults: string[] }> {
  const { page } = await openPage(chromium, 'about:blank')
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('dialog', (dialog) => {
    faults.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !/^(data|blob):/.test(request.url())) {
      faults.push(`request to ${request.url()}`)
    }
  })
  await page.goto(url)
  return { page, faults }
}

export async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    // The line before defines it.
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe }
    const { violations } = await inPage.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
  return found
}
