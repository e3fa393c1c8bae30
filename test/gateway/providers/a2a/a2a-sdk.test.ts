/** The provider for A2A agents with the official SDK's servers behind it, over HTTP. */
import { describe, expect, it } from 'vitest'
import { a2a } from '../../../../src/gateway/providers/a2a/provider.js'
import {
  asker,
  echo,
  ender,
  mirror,
  replier,
  storyteller,
  worker,
  type Agent,
} from '../../../client/interop/agents.js'
import { legacyPeer } from '../../../client/interop/sdk-legacy.js'
import { modernPeer } from '../../../client/interop/sdk-modern.js'
import { quiet, type ServeOptions } from '../../../client/interop/support/agent.js'
import { A_REF, agentAt, asked, calling, collect, fault, follow, textsOf } from './support/a2a.js'

const LINEAGE = 'https://a2a-tasks.dev/extensions/lineage/v1'

const PEERS = [
  modernPeer('1.0', 'JSONRPC'),
  modernPeer('1.0', 'HTTP+JSON'),
  modernPeer('0.3', 'JSONRPC'),
  legacyPeer('JSONRPC'),
  legacyPeer('HTTP+JSON'),
]

describe.each(PEERS)('$name behind the gateway', ({ serve }) => {
  async function at(agent: Agent, options: Partial<ServeOptions> = {}) {
    quiet()
    const { url } = await serve({ agent, ...options })
    return { provider: a2a(), agent: agentAt(url) }
  }

  it('does a task', async () => {
    const { provider, agent } = await at(echo)
    const sent = await provider.sendTask(agent, asked('Hello'), calling())
    expect(sent.ref).toEqual(A_REF)
    expect(sent.ref?.['contextId']).not.toBe('our-context')
    const done = await follow(provider, agent, sent)
    expect(done).toMatchObject({ state: 'completed', ref: sent.ref })
    expect(textsOf(done)).toEqual(['You said: Hello'])
  })

  it('streams a story, chunk by chunk', async () => {
    const { provider, agent } = await at(storyteller)
    const updates = await collect(provider.streamTask(agent, asked('Go'), calling()))
    expect(updates.filter(({ state }) => state === 'working').at(-1)).toMatchObject({
      message: { parts: [{ text: 'thinking' }] },
    })
    const output = updates.flatMap(({ artifacts = [], chunk }) => [...artifacts, ...(chunk ? [chunk] : [])])
    expect(output.map(({ artifactId }) => artifactId)).toEqual(['story', 'story', 'story'])
    expect(output.flatMap(({ parts = [] }) => parts.map(({ text }) => text))).toEqual([
      'one ',
      'two ',
      'three',
    ])
    expect(updates.filter(({ chunk }) => chunk !== undefined)).toHaveLength(2)
    expect(updates.at(-1)).toMatchObject({ state: 'completed', message: { parts: [{ text: 'done' }] } })
    const whole = await provider.getTask(agent, updates.at(-1)?.ref ?? {}, calling())
    expect(textsOf(whole)).toEqual(['one two three'])
  })

  it('is sent the task where it has no streams', async () => {
    const { provider, agent } = await at(echo, { streaming: false })
    const [only, ...others] = await collect(provider.streamTask(agent, asked('Hello'), calling()))
    expect(others).toEqual([])
    expect(textsOf(await follow(provider, agent, only ?? {}))).toEqual(['You said: Hello'])
  })

  it('replies without a task', async () => {
    const { provider, agent } = await at(replier)
    const update = await provider.sendTask(agent, asked('Ann'), calling())
    expect(update.state).toBe('completed')
    expect(textsOf(update)).toEqual(['Hello Ann'])
  })

  it('asks, and is answered', async () => {
    const { provider, agent } = await at(asker)
    const question = await follow(
      provider,
      agent,
      await provider.sendTask(agent, asked('Weather?'), calling()),
    )
    expect(question).toMatchObject({ state: 'input-required', message: { parts: [{ text: 'Which city?' }] } })
    const answered = asked('Rome', { ref: question.ref })
    const updates = await collect(provider.streamTask(agent, answered, calling()))
    expect(updates.at(-1)).toMatchObject({ state: 'completed', ref: question.ref })
    expect(updates.flatMap(textsOf)).toContain('Sunny in Rome')
  })

  it('is sent the parts as they are', async () => {
    const { provider, agent } = await at(mirror)
    const parts = [
      { text: 'a' },
      { url: 'https://x.test/a.png', mediaType: 'image/png' },
      { data: { a: [1] } },
    ]
    const message = { ...asked('a').message, parts, metadata: { lang: 'en' } }
    const sent = await provider.sendTask(agent, asked('a', { message }), calling())
    const { artifacts = [] } = await follow(provider, agent, sent)
    expect(artifacts[0]?.parts).toEqual(parts)
    const received = artifacts[1]?.parts?.[0]?.data as { metadata: unknown; messageId: string }
    expect(received.metadata).toMatchObject({ lang: 'en', [LINEAGE]: { depth: 1 } })
    expect(received.messageId).not.toBe('our-message')
  })

  it('is canceled', async () => {
    const { provider, agent } = await at(worker)
    const stream = provider.streamTask(agent, asked('Work'), calling())[Symbol.asyncIterator]()
    const { value } = (await stream.next()) as { value: { ref: { taskId: string } } }
    const canceled = await provider.cancelTask(agent, value.ref, calling())
    expect(canceled.state).toBe('canceled')
    await stream.return?.()
    const again = await provider.cancelTask(agent, value.ref, calling())
    expect(again.state).toBe('canceled')
  })

  it.each(['failed', 'rejected'] as const)('says why a task is %s', async (state) => {
    const { provider, agent } = await at(ender(state, 'No such city'))
    const done = await follow(provider, agent, await provider.sendTask(agent, asked('Hi'), calling()))
    expect(done).toMatchObject({ state, message: { parts: [{ text: 'No such city' }] } })
  })

  it('is online, and does not know every task', async () => {
    const { provider, agent } = await at(echo)
    expect(await provider.healthCheck(agent, calling())).toBe('online')
    const error = await fault(provider.getTask(agent, { taskId: 'gone' }, calling()))
    expect(error.code).toBe('TASK_NOT_FOUND')
  })
})
