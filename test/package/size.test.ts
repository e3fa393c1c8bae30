/** The sizes of the package in a bundle, against the figures that the pages name. */
import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'
import { read } from '../support/repository.js'
import { kBOf, SIZES } from '../support/sizes.js'

const TOLERANCE = 0.05

it.each(Object.entries(SIZES))('the %s takes what the table of sizes says', async (_, { code, kB }) => {
  const measured = await kBOf(code)
  const share = Math.abs(measured - kB) / kB
  expect(share, `${measured} kB: correct test/support/sizes.ts and the pages`).toBeLessThan(TOLERANCE)
})

it.each([
  ['agentTool', 4.5],
  ['openAiAgentTool', 4.5],
  ['langChainAgentTool', 4.5],
  ['agentModel', 5],
])('%s takes at most %s kB', async (name, kB) => {
  expect(await kBOf(`export { ${name} } from 'a2a-tasks/ai'`)).toBeLessThanOrEqual(kB)
})

it('an endpoint of AG-UI takes at most 7.7 kB beside the server and the client that it needs', async () => {
  const others = `${SIZES.client.code}; ${SIZES.server.code};`
  const all = await kBOf(`${others} export { createAgUiHandler } from 'a2a-tasks/ag-ui'`)
  expect(all - (await kBOf(others))).toBeLessThanOrEqual(7.7)
})

it('a server of MCP takes at most 13 kB beside the server and the client that it needs', async () => {
  const others = `${SIZES.client.code}; ${SIZES.server.code};`
  const all = await kBOf(`${others} export { createMcpHandler } from 'a2a-tasks/mcp'`)
  expect(all - (await kBOf(others))).toBeLessThanOrEqual(13)
})

it('docs/README.md names the size of the core', () => {
  expect(read('docs/README.md')).toContain(`${SIZES.core.kB} kB minified and gzipped`)
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
