/** The module with the page: current, and small. */
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createInspector } from 'a2a-tasks/inspector'
import { TaskManager } from 'a2a-tasks'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { ENTRIES } from '../../.config/entries.js'
import { ASSET, pageAsset } from '../../.config/inspector-page.js'
import { read, ROOT } from '../support/repository.js'
import { READ } from './support/inspected.js'

it('the page is what its sources make', async () => {
  expect(read(ASSET) === (await pageAsset(ROOT)), 'Run npm run page').toBe(true)
})

it('no other entry of the package loads the inspector, so a program without it pays nothing', async () => {
  const entries = ENTRIES.filter((entry) => entry !== 'inspector/index')
  const inputsOf = async (names: readonly string[]): Promise<string[]> => {
    const { metafile } = await build({
      entryPoints: names.map((name) => join(ROOT, 'src', `${name}.ts`)),
      ...{ bundle: true, write: false, outdir: 'out', metafile: true, format: 'esm', platform: 'node' },
      ...{ packages: 'external', logLevel: 'error' },
    })
    return Object.keys(metafile.inputs).filter((file) => file.includes('src/inspector/'))
  }
  expect(await inputsOf(entries)).toEqual([])
  expect(await inputsOf(['inspector/index'])).not.toEqual([])
})

const LIMIT = 60_000

it(`the document, zipped, takes at most ${LIMIT} bytes, and names nothing to load`, async () => {
  const { fetch } = createInspector({ ...READ, tasks: new TaskManager() })
  const html = await (await fetch(new Request('http://localhost/'))).text()
  expect(gzipSync(html).length).toBeLessThanOrEqual(LIMIT)
  expect(html).not.toMatch(/<(script|img|link|iframe)[^>]+(src|href)="(?!data:,")/)
  expect(html).not.toMatch(/@import|url\(\s*['"]?(https?:)?\/\//)
})
