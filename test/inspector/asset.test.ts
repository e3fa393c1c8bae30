/** The module with the page: current, and small. */
import { gzipSync } from 'node:zlib'
import { createInspector } from 'a2a-tasks/inspector'
import { TaskManager } from 'a2a-tasks'
import { expect, it } from 'vitest'
import { ASSET, pageAsset } from '../../.config/inspector-page.js'
import { read, ROOT } from '../support/repository.js'
import { READ } from './support/inspected.js'

it('the page is what its sources make', async () => {
  expect(read(ASSET) === (await pageAsset(ROOT)), 'Run npm run page').toBe(true)
})

const LIMIT = 60_000

it(`the document, zipped, takes at most ${LIMIT} bytes, and names nothing to load`, async () => {
  const { fetch } = createInspector({ ...READ, tasks: new TaskManager() })
  const html = await (await fetch(new Request('http://host.test/'))).text()
  expect(gzipSync(html).length).toBeLessThanOrEqual(LIMIT)
  expect(html).not.toMatch(/<(script|img|link|iframe)[^>]+(src|href)="(?!data:,")/)
  expect(html).not.toMatch(/@import|url\(\s*['"]?(https?:)?\/\//)
})
