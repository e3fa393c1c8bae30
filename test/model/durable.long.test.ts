/** The specification of durable functions in `durable.qnt`: its invariants hold, and each mutation of it is found. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { isInstalled, skipMissing } from '../services/installed.js'
import { samples } from '../support/samples.js'

const QUINT = '@informalsystems/quint'
const CLI = fileURLToPath(new URL(`../services/node_modules/${QUINT}/dist/src/cli.js`, import.meta.url))
const SPECIFICATION = fileURLToPath(new URL('durable.qnt', import.meta.url))
const TIMEOUT_MS = 240_000

/** What the simulator says of random ways through a module. */
async function simulate(module: string, invariant: string): Promise<string> {
  const options = ['--main', module, '--invariant', invariant, '--seed', '1', '--max-steps', '30']
  const count = ['--max-samples', String(samples(5_000))]
  // The other backend is a program that it would download.
  const args = [CLI, 'run', SPECIFICATION, '--backend=typescript', ...options, ...count]
  return await new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: TIMEOUT_MS }, (_, stdout, stderr) => {
      resolve(stdout + stderr)
    })
  })
}

it('keeps its invariants', { timeout: TIMEOUT_MS }, async (context) => {
  skipMissing(context, QUINT)
  expect(await simulate('protocol', 'isSafe')).toContain('No violation found')
})

it.each([
  { found: 'its end', module: 'protocol', invariant: 'isUnfinished' },
  { found: 'a commit without compare', module: 'commitWithoutCompare', invariant: 'isSafe' },
  { found: 'a renewal after a loss', module: 'renewalAfterLoss', invariant: 'isSafe' },
  { found: 'a step outside the commit', module: 'stepOutsideTheCommit', invariant: 'isSafe' },
])('finds $found', { timeout: TIMEOUT_MS }, async ({ module, invariant }) => {
  if (isInstalled(QUINT)) expect(await simulate(module, invariant)).toContain('[violation] Found an issue')
})
