/** What the core, and the client, add to the page of somebody who imports them, and what can be imported there at all. */
import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'

/** What it takes, and a little: growing past it is to be decided. docs/performance.md tells what it is made of. */
const LIMIT = 16_000

it(`\`import { TaskManager } from 'a2a-tasks'\`, minified and zipped, takes at most ${LIMIT} bytes`, async () => {
  const { code, gzipBytes } = await bundle(`export { TaskManager } from 'a2a-tasks'`)
  expect(code, 'eventemitter3 is counted').toContain('_eventsCount')
  expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - LIMIT} too many`).toBeLessThanOrEqual(LIMIT)
})

/**
 * Of what the official client takes, bundled in the same way. The aim is 0.8: docs/performance.md tells what it takes.
 * Growing past this is to be decided.
 */
const CLIENT_RATIO = 1

it(`\`import { A2AClient } from 'a2a-tasks/client'\` takes at most ${CLIENT_RATIO} × the official client`, async () => {
  const [ours, official] = await Promise.all([
    bundle(`export { A2AClient } from 'a2a-tasks/client'`),
    bundle(`export { ClientFactory } from '@a2a-js/sdk/client'`),
  ])
  expect(ours.code, 'eventsource-parser is counted').toContain('max-buffer-size-exceeded')
  expect(ours.code, 'zod is left out').not.toContain('_zod')
  const limit = Math.floor(official.gzipBytes * CLIENT_RATIO)
  expect(ours.gzipBytes, `${ours.gzipBytes} bytes, ${ours.gzipBytes - limit} too many`).toBeLessThanOrEqual(
    limit,
  )
})

it('a gateway is bundled without the packages that its providers may need', async () => {
  const { files } = await bundle(`export { A2AGateway, azureAI, bedrock, vertexAI } from 'a2a-tasks/gateway'`)
  expect(files.filter((file) => /@aws-sdk|@azure|google-auth/.test(file))).toEqual([])
})
