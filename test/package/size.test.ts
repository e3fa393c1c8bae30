/** What the core adds to the page of somebody who imports it. */
import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'

/** What it takes, and a little: growing past it is to be decided. docs/performance.md tells what it is made of. */
const LIMIT = 16_000

it(`\`import { TaskManager } from 'a2a-tasks'\`, minified and zipped, takes at most ${LIMIT} bytes`, async () => {
  const { code, gzipBytes } = await bundle(`export { TaskManager } from 'a2a-tasks'`)
  expect(code, 'eventemitter3 is counted').toContain('_eventsCount')
  expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - LIMIT} too many`).toBeLessThanOrEqual(LIMIT)
})
