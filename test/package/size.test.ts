/** Size of the core and of the client in a browser bundle, and the specifiers that browsers can import. */
import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'
import { read } from '../support/repository.js'

/**
 * The size, and a little more. docs/design/performance.md says what it is made of. Counts the files that are loaded at the
 * start: what reads a feed, lists children, forks and redrives is loaded on its first use.
 */
const LIMIT = 23_450

it(`\`import { TaskManager } from 'a2a-tasks'\`, minified and zipped, takes at most ${LIMIT} bytes`, async () => {
  const { code, codeOnDemand, gzipBytes } = await bundle(`export { TaskManager } from 'a2a-tasks'`, {
    splitting: true,
  })
  expect(code, 'eventemitter3 is counted').toContain('_eventsCount')
  for (const text of ['"deleted"', 'parentTaskId']) {
    expect(codeOnDemand).toContain(text)
    expect(code, 'what reads a feed and lists children is loaded on demand').not.toContain(text)
  }
  expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - LIMIT} too many`).toBeLessThanOrEqual(LIMIT)
  expect(read('docs/README.md')).toContain(`${Math.round(gzipBytes / 1_000)} kB minified and gzipped`)
})

/**
 * The same for the client. Counts the files that are loaded at the start: the entry, and what it imports by statements. The
 * code for tasks of a `taskManager` is its own file, which only clients with a `taskManager` load.
 */
const CLIENT_LIMIT = 30_600

/** A bundler that makes one file of all adds that code. */
const CLIENT_IN_ONE_FILE = 36_000

it(`\`import { A2AClient } from 'a2a-tasks/client'\` takes at most ${CLIENT_LIMIT} bytes`, async () => {
  const { code, codeOnDemand, gzipBytes } = await bundle(`export { A2AClient } from 'a2a-tasks/client'`, {
    splitting: true,
  })
  expect(code, 'eventsource-parser is counted').toContain('max-buffer-size-exceeded')
  expect(code + codeOnDemand, 'the client needs no zod').not.toContain('_zod')
  expect(codeOnDemand, 'delegation is loaded on demand').toContain('with an agent already')
  expect(code).not.toContain('with an agent already')
  expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - CLIENT_LIMIT} too many`).toBeLessThanOrEqual(
    CLIENT_LIMIT,
  )
})

it(`the client in one file takes at most ${CLIENT_IN_ONE_FILE} bytes`, async () => {
  const { code, gzipBytes } = await bundle(`export { A2AClient } from 'a2a-tasks/client'`)
  expect(code, 'delegation is counted').toContain('with an agent already')
  expect(gzipBytes, `${gzipBytes} bytes, ${gzipBytes - CLIENT_IN_ONE_FILE} too many`).toBeLessThanOrEqual(
    CLIENT_IN_ONE_FILE,
  )
})

it('a gateway is bundled without the packages that its providers may need', async () => {
  const { files } = await bundle(`export { A2AGateway, azureAI, bedrock, vertexAI } from 'a2a-tasks/gateway'`)
  expect(files.filter((file) => /@aws-sdk|@azure|google-auth/.test(file))).toEqual([])
})
