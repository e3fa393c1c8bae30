/** The work that updates of a service cost: no snapshot for a chunk, one comparison for an artifact that comes again. */
import { expect, test } from 'vitest'
import { setUp } from '../support/gateway.js'

test('chunks of a stream make no snapshots of the task', async () => {
  const { gateway, provider, tasks } = setUp()
  void gateway.sendTask('a', 'go', { returnImmediately: true, id: 'x' })
  const call = await provider.untilCalled('streamTask')
  await call.answer({ state: 'working' })
  const peekTask = tasks.peekTask.bind(tasks)
  let looks = 0
  tasks.peekTask = (...args) => {
    looks += 1
    return peekTask(...args)
  }
  for (let n = 0; n < 50; n += 1) await call.answer({ chunk: { artifactId: 'r', parts: [{ text: 'x' }] } })
  expect([looks, peekTask('x')?.artifacts[0]?.parts]).toEqual([0, [{ text: 'x'.repeat(50) }]])
})

test('artifacts that are sent again are compared once each', async () => {
  const { gateway, provider, tasks } = setUp()
  const artifacts = Array.from({ length: 900 }, (_, n) => ({ artifactId: `r${n}`, parts: [{ text: 'x' }] }))
  void gateway.sendTask('a', 'go', { returnImmediately: true, id: 'x' })
  const call = await provider.untilCalled('streamTask')
  await call.answer({ state: 'working', artifacts })
  const { generation } = tasks.peekTask('x') ?? {}
  let compared = 0
  const counted = artifacts.map((artifact) => ({
    ...artifact,
    toJSON: () => {
      compared += 1
      return artifact
    },
  }))
  await call.answer({ state: 'working', artifacts: counted })
  expect([compared, tasks.peekTask('x')?.generation]).toEqual([900, generation])
})
