/** `check` of an agent for other work, and of one that asks for credentials. */
import { expect, test } from 'vitest'
import type { Report } from '../../src/conformance/suite.js'
import { listenOwn } from '../conformance/support/listen.js'
import { serveAgent } from './support/agents.js'
import { run } from './support/program.js'

const ONE = ['--interface', 'JSONRPC 1.0']

test('checks of what an agent for other work does not do are skipped, unless they are asked for', async () => {
  const url = await serveAgent()
  const lenient = await run(['check', url, '--json', ...ONE])
  const { results } = JSON.parse(lenient.stdout) as Report
  const reasons = new Set(results.filter(({ outcome }) => outcome === 'skipped').map(({ reason }) => reason))
  expect([...reasons].toSorted()).toEqual([
    'the agent does not do what "reply" says',
    'the agent does not repeat the text of "echo"',
  ])
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([])
  expect(lenient.code).toBe(0)
  expect((await run(['check', url, '--strict', ...ONE])).code).toBe(1)
})

test('an agent that only asks for an approval breaks no rule', async () => {
  const { stdout, code } = await run(['check', await serveAgent({ asksOnly: true }), '--json', ...ONE])
  const { results } = JSON.parse(stdout) as Report
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([])
  const [question] = results.filter(({ check }) => check === 'message/question')
  expect(question).toMatchObject({
    outcome: 'skipped',
    reason: 'the agent asks again after the answer "Ada"',
  })
  expect(code).toBe(0)
})

test('credentials are sent, and no report has them', async () => {
  // The agent below /locked knows only callers with a token, and its card says another address.
  const url = `${await listenOwn()}/locked`
  const args = ['check', url, '--same-origin', '--json', ...ONE]
  const without = await run(args)
  expect(without.code).toBe(1)
  const token = 'ada_lovelace_1815'
  const right = await run([...args, '--bearer', token])
  expect(right.code).toBe(0)
  const wrong = await run([...args, '--bearer', `${token}-`, '--header', 'X-Key: key-of-ada'])
  expect(wrong.code).toBe(1)
  expect(wrong.stdout).toContain('authorization: …')
  expect(right.stdout + wrong.stdout).not.toMatch(/ada_lovelace|key-of-ada/)
})
