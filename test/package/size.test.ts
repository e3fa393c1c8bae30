/** Size of the core and of the client in a browser bundle, and the specifiers that browsers can import. */
import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'

/** What it takes, and a little: growing past it is to be decided. docs/performance.md tells what it is made of. */
const LIMIT = 16_000

it(`\`import { TaskManager } from 'a2a-tasks'\`, minified and zipped, takes at most ${LIMIT} bytes`, async () => {
  const { code, gzipBytes } = await bundle(`export { TaskManager } from 'a2a-tasks'`)
  expect(code, 'eventemitter3 is counted').toContain('_eventsCount')
  expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - LIMIT} too many`).toBeLessThanOrEqual(LIMIT)
})

/** The same for the client: about 10 kB are the schemas that read answers, 0.3 kB the checks of options. */
const CLIENT_LIMIT = 34_300

it(`\`import { A2AClient } from 'a2a-tasks/client'\` takes at most ${CLIENT_LIMIT} bytes`, async () => {
  const { code, gzipBytes } = await bundle(`export { A2AClient } from 'a2a-tasks/client'`)
  expect(code, 'eventsource-parser is counted').toContain('max-buffer-size-exceeded')
  expect(code, 'zod is counted').toContain('_zod')
  expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - CLIENT_LIMIT} too many`).toBeLessThanOrEqual(
    CLIENT_LIMIT,
  )
})

it('a gateway is bundled without the packages that its providers may need', async () => {
  const { files } = await bundle(`export { A2AGateway, azureAI, bedrock, vertexAI } from 'a2a-tasks/gateway'`)
  expect(files.filter((file) => /@aws-sdk|@azure|google-auth/.test(file))).toEqual([])
})
