/** The command that checks an agent: its output and its exit codes. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/repository.js'
import { BROKEN } from './support/broken-agent.js'
import { listen, listenOwn } from './support/listen.js'

const COMMAND = join(ROOT, 'test/conformance/run.mjs')

interface Ended {
  readonly code: number | string | null | undefined
  readonly stdout: string
  readonly stderr: string
}

function run(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], { maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
  })
}

/** A file of known failures until the test is over. */
function knownFile(known: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-known-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'known.json')
  writeFileSync(file, JSON.stringify(known))
  return file
}

/** The first of the servers that break the protocol. */
function listenBroken(): Promise<string> {
  const [broken] = BROKEN
  if (broken === undefined) throw new Error('There is none')
  return listen(broken.listenerOf)
}

test('an agent that passes has one line with the sums, and the exit code 0', async () => {
  const { code, stdout, stderr } = await run(await listenOwn(), '--interface', 'HTTP+JSON 1.0')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^HTTP\+JSON 1\.0: \d+ passed, 0 failed, 0 warnings, 0 known failures\n$/)
})

test('an agent that fails has a line for each failure, and the exit code 1', async () => {
  const { code, stdout } = await run(await listenBroken(), '--interface', 'JSONRPC 1.0')
  expect(code).toBe(1)
  const line = stdout.split('\n').find((each) => each.includes('cancel/unknown'))
  expect(line).toMatch(
    /^failed {2}JSONRPC 1\.0 cancel\/unknown: .+ \(1\.0 §3\.1\.5\); sent POST http.+CancelTask/,
  )
  expect(line).toMatch(/; expected the error TASK_NOT_FOUND; got HTTP 200 \{"jsonrpc":"1\.0"/)
})

test('the report is also JSON', async () => {
  const { stdout } = await run(await listenOwn(), '--interface', 'JSONRPC 1.0', '--json')
  const { interfaces, results } = JSON.parse(stdout) as { interfaces: string[]; results: unknown[] }
  expect(interfaces).toEqual(['JSONRPC 1.0'])
  expect(results).toContainEqual({
    ...{
      target: 'JSONRPC 1.0',
      check: 'cancel/unknown',
      outcome: 'passed',
      level: 'must',
      spec: '1.0 §3.1.5',
    },
    title: 'an unknown task cannot be canceled: it is not found',
  })
})

test('a known failure that passes makes the command fail', async () => {
  const file = knownFile([{ check: 'message/echo', reason: 'It was once so' }])
  const { code, stdout } = await run(await listenOwn(), '--interface', 'JSONRPC 1.0', '--known', file)
  expect(code).toBe(1)
  expect(stdout).toContain('stale  all message/echo: known to fail (It was once so), but it passed\n')
})

test.each([
  ['no URL', [], /^usage: node run\.mjs URL/],
  ['an option that does not exist', ['http://127.0.0.1:9', '--fast'], /--fast/],
  ['no agent at the URL', ['http://127.0.0.1:9'], /expected an answer within 10 s/],
])('with %s, nothing is checked, and the exit code is 2', async (_, args, message) => {
  const { code, stdout, stderr } = await run(...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

test('with a known failure of a check that does not exist, the exit code is 2', async () => {
  const file = knownFile([{ check: 'message/ecko', reason: 'Misspelt' }])
  const { code, stderr } = await run(await listenOwn(), '--known', file)
  expect(code).toBe(2)
  expect(stderr).toContain('there is no check message/ecko')
})

test('headers are sent, and the origin of the card may be replaced', async () => {
  // The agent below /locked knows only callers with a token, and its card says another address.
  const url = `${await listenOwn()}/locked`
  const without = await run(url, '--same-origin', '--interface', 'JSONRPC 1.0')
  expect(without.code).toBe(1)
  const token = ['--header', 'Authorization: Bearer ada']
  const { code, stdout } = await run(url, '--same-origin', '--interface', 'JSONRPC 1.0', ...token)
  expect(stdout).toMatch(/^JSONRPC 1\.0: \d+ passed, 0 failed/)
  expect(code).toBe(0)
})
