/** The checks of a server over HTTP, against the server of the official SDK, and all broken ones. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/repository.js'
import { ALL_CHECKS, checkAgent, readKnown } from '../../src/conformance/suite.js'
import { BROKEN } from './support/broken-agent.js'
import { failuresOf, INTERFACES } from './support/failures.js'
import { listen } from './support/listen.js'
import { serveOfficialAgent } from './support/official-agent.js'

const KNOWN = join(ROOT, 'test/conformance/known/sdk-1.3.0.json')

test('the server of the official SDK fails as its list of known failures says, and nowhere else', async () => {
  const { url, close } = await serveOfficialAgent()
  onTestFinished(close)
  const report = await checkAgent(url, { known: readKnown(KNOWN) })
  expect(report.interfaces).toEqual(INTERFACES)
  expect(failuresOf(report)).toEqual([])
  expect(report.stale).toEqual([])
})

test('each check fails on a server that breaks the protocol', { timeout: 240_000 }, async () => {
  const failed = new Set<string>()
  for (const { listenerOf } of BROKEN) {
    const { results } = await checkAgent(await listen(listenerOf))
    for (const { check, outcome } of results) if (outcome === 'failed') failed.add(check)
  }
  expect(ALL_CHECKS.map(({ id }) => id).filter((id) => !failed.has(id))).toEqual([])
})
