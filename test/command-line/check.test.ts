/** `check`: its report, its exit codes, and what it keeps to itself. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Result } from '../../src/conformance/suite.js'
import { bySection, sectionOf, toJUnit } from '../../src/command-line/render/check-report.js'
import { BROKEN } from '../conformance/support/broken-agent.js'
import { listen, listenOwn } from '../conformance/support/listen.js'
import { run, temporaryFolder } from './support/program.js'

/** The first of the servers that break the protocol. */
function listenBroken(): Promise<string> {
  const [broken] = BROKEN
  if (broken === undefined) throw new Error('There is none')
  return listen(broken.listenerOf)
}

const ONE = ['--interface', 'JSONRPC 1.0']

test('an agent that passes has its sections and the exit code 0', async () => {
  const { code, stdout } = await run(['check', await listenOwn(), '--strict', ...ONE])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^A2A 1\.0 §3\.1 Core operations {2}\d+ passed\n/)
  expect(stdout).toMatch(/\nJSONRPC 1\.0: \d+ passed\n$/)
})

test('an agent that fails has what was sent, expected and got, the exit code 1, and failures in JUnit', async () => {
  const file = join(temporaryFolder(), 'junit.xml')
  const { code, stdout } = await run(['check', await listenBroken(), '--strict', '--junit', file, ...ONE])
  expect(code).toBe(1)
  expect(stdout).toMatch(/failed {2}cancel\/unknown, JSONRPC 1\.0: .+ \(1\.0 §3\.1\.5\)\n +sent +POST http/)
  expect(readFileSync(file, 'utf8')).toMatch(/<testsuite name="1\.0 §3\.1" tests="\d+" failures="[1-9]/)
})

test('known failures are accepted, and one that passes makes the command fail', async () => {
  const folder = temporaryFolder()
  const url = await listenOwn()
  writeFileSync(
    join(folder, 'known.json'),
    JSON.stringify([{ check: 'message/echo', reason: 'It was once so' }]),
  )
  const stale = await run(['check', url, '--known', 'known.json', ...ONE], { cwd: folder })
  expect(stale).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('message/echo is known to fail') as unknown,
  })
  writeFileSync(join(folder, 'known.json'), JSON.stringify([{ check: 'message/ecko', reason: 'Misspelt' }]))
  const misspelt = await run(['check', url, '--known', 'known.json'], { cwd: folder })
  expect(misspelt).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no check message/ecko') as unknown,
  })
})

test('sections are in the order of the specification', () => {
  const specs = [
    'RFC 9110 §15.5.6',
    '0.3 §7.1',
    '1.0 §11.3.2',
    '1.0 §3.1.1, §3.2.2',
    '1.0 §9.4.2',
    '1.0 A.2.1',
  ]
  expect(specs.map(sectionOf)).toEqual(['RFC 9110', '0.3 §7', '1.0 §11', '1.0 §3.1', '1.0 §9', '1.0 A.2'])
  const results = specs.map((spec) => ({ spec }) as Result)
  expect([...bySection(results).keys()]).toEqual([
    '1.0 §3.1',
    '1.0 §9',
    '1.0 §11',
    '1.0 A.2',
    '0.3 §7',
    'RFC 9110',
  ])
})

test('JUnit is XML whatever an agent answers', () => {
  const result: Result = {
    ...{
      target: 'JSONRPC 1.0',
      check: 'message/echo',
      title: 'a "title"',
      level: 'must',
      spec: '1.0 §3.1.1',
    },
    ...{ outcome: 'failed', sent: '<a>', expected: ']]>&', got: '\x00\x1b\ud800\uffff' },
  }
  const xml = toJUnit({ interfaces: [], results: [result], stale: [] })
  expect(xml).toContain('message="expected ]]&gt;&amp;"')
  expect(xml).toContain('got: \\x00\\x1b\ufffd\ufffd')
})
