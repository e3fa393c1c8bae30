/** The sizes of the package in a bundle, against the figures that the pages name. */
import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'
import { read } from '../support/repository.js'
import { ADDED, addedBy, kBOf, SIZES } from '../support/sizes.js'

const TOLERANCE = 0.05

it.each(Object.entries(SIZES))('the %s takes what the table of sizes says', async (_, { code, kB }) => {
  const measured = await kBOf(code)
  const share = Math.abs(measured - kB) / kB
  expect(share, `${measured} kB: correct test/support/sizes.ts and the pages`).toBeLessThan(TOLERANCE)
})

it.each(ADDED)('$name adds at most $kB kB to an application with the $beside', async (added) => {
  expect(await addedBy(added)).toBeLessThanOrEqual(added.kB)
})

it('docs/README.md names the size of the core', () => {
  expect(read('docs/README.md')).toContain(`${SIZES.core.kB} kB minified and gzipped`)
})

it('docs/README.md names what the others add', () => {
  const page = read('docs/README.md')
  for (const { name, kB } of ADDED) {
    const [, named] = new RegExp(`\\| .*\`${name}\`.* \\| ([\\d.]+) kB +\\|`).exec(page) ?? []
    expect(Number(named), name).toBe(kB)
  }
})

it('a bundle has the dependencies of its part', async () => {
  const core = await bundle(SIZES.core.code)
  expect(core.code, 'eventemitter3').toContain('_eventsCount')
  for (const text of ['"deleted"', 'parentTaskId']) expect(core.code, 'views').not.toContain(text)
  const { code } = await bundle(SIZES.client.code)
  expect(code, 'eventsource-parser').toContain('max-buffer-size-exceeded')
  expect(code, 'zod').not.toContain('_zod')
})

it('a gateway is bundled without the packages that its providers may need', async () => {
  const { files } = await bundle(`export { A2AGateway, azureAI, bedrock, vertexAI } from 'a2a-tasks/gateway'`)
  expect(files.filter((file) => /@aws-sdk|@azure|google-auth/.test(file))).toEqual([])
})
