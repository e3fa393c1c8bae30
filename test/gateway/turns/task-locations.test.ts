import { describe, expect, test } from 'vitest'
import type { SendTaskOptions } from '../../../src/gateway/turns/input.js'
import { agentInput, setUp } from '../support/gateway.js'

/** Sends a message in the context `talk`, has it answered, and gives the place of the task before it. */
function conversation() {
  const all = setUp()
  const { gateway, provider, registry } = all
  registry.register(agentInput('b'))
  let count = 0
  const say = async (
    agentId: string,
    options: SendTaskOptions = {},
    contextId = 'talk',
    update: object = {},
  ) => {
    const sent = gateway.sendTask(agentId, { parts: [{ text: 'x' }], contextId }, options)
    const call = await provider.last('sendTask')
    count += 1
    await call.answer({ state: 'completed', ref: { r: count }, ...update })
    await sent
    return call.task.previous
  }
  return { ...all, say }
}

describe('a new task in a known context', () => {
  test('continues with the conversation of the task before', async () => {
    const { say } = conversation()
    expect([await say('a'), await say('a'), await say('a')]).toEqual([undefined, { r: 1 }, { r: 2 }])
  })

  test('does not continue with that of another context, agent or owner', async () => {
    const { say } = conversation()
    await say('a')
    expect(await say('a', {}, 'other')).toBeUndefined()
    expect(await say('b')).toBeUndefined()
    expect(await say('a', { owner: 'ada' })).toBeUndefined()
    expect(await say('a', { owner: 'bob' })).toBeUndefined()
    expect(await say('a', { owner: 'ada' })).toEqual({ r: 4 })
    expect(await say('a')).toEqual({ r: 1 })
  })

  test('does not continue with that of another service of the same agent', async () => {
    const { say, registry, gateway } = conversation()
    await say('a')
    registry.register(agentInput('a', { provider: 'custom', settings: { x: 1 } }))
    expect(await say('a')).toEqual({ r: 1 })
    registry.register(agentInput('a', { provider: 'langgraph' }))
    expect(await gateway.handleOf('task-1')).toBeNull()
  })

  test('passes over tasks of which it is not known where they are', async () => {
    const { say } = conversation()
    await say('a')
    await say('a', {}, 'talk', { ref: undefined })
    expect(await say('a')).toEqual({ r: 1 })
  })

  test('continues with nothing when the task before is gone', async () => {
    const { say, clock, tasks } = conversation()
    await say('a')
    clock.advance(86_400_001)
    tasks.prune()
    expect(await say('a')).toBeUndefined()
  })
})
