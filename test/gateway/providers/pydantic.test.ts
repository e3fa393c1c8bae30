import { describe, expect, it } from 'vitest'
import { bearerAuth } from 'a2a-tasks/client'
import { pydanticAI } from '../../../src/gateway/providers/pydantic.js'
import { echo } from '../../client/interop/agents.js'
import { legacyPeer } from '../../client/interop/sdk-legacy.js'
import { modernPeer } from '../../client/interop/sdk-modern.js'
import { quiet } from '../../client/interop/support/agent.js'
import { site } from '../../http/support/http.js'
import { agentAt, asked, calling, collect, fault, follow, nowhere, textsOf } from './a2a/support/a2a.js'
import { fastA2A, type Generation } from './support/pydantic.js'

const GENERATIONS: readonly Generation[] = ['first', 'second', 'third', 'newest']

/** An answer as each generation writes it. */
function answer(generation: Generation, part: object): object {
  const isOld = generation === 'first' || generation === 'second'
  return isOld ? { kind: 'text' in part ? 'text' : 'data', ...part } : part
}

describe.each(GENERATIONS)('FastA2A, the %s generation', (generation) => {
  const result = { artifactId: 'a-1', name: 'result', parts: [answer(generation, { text: 'Paris' })] }

  it('does a task that it has accepted', async () => {
    const { url } = await fastA2A(generation, { artifacts: [result] })
    const provider = pydanticAI()
    const agent = agentAt(url)
    const sent = await provider.sendTask(agent, asked('Capital of France?'), calling())
    expect(sent).toEqual({ ref: { taskId: 'task-1', contextId: 'context-1' }, state: 'submitted' })
    const done = await follow(provider, agent, sent)
    expect(done).toMatchObject({ state: 'completed', artifacts: [{ artifactId: 'a-1', name: 'result' }] })
    expect(textsOf(done)).toEqual(['Paris'])
  })

  it('streams nothing', async () => {
    const { url } = await fastA2A(generation, {})
    const updates = await collect(pydanticAI().streamTask(agentAt(url), asked('Hi'), calling()))
    expect(updates.map(({ state }) => state)).toEqual(['submitted'])
  })

  it('gives structured results as they are', async () => {
    const data = { result: { data: 1 } }
    const metadata = { json_schema: { type: 'object' } }
    const part = answer(generation, { data, metadata })
    const { url } = await fastA2A(generation, { artifacts: [{ ...result, parts: [part] }] })
    const provider = pydanticAI()
    const sent = await provider.sendTask(agentAt(url), asked('Hi'), calling())
    const { artifacts = [] } = await follow(provider, agentAt(url), sent)
    expect(artifacts[0]?.parts).toEqual([{ data, metadata }])
  })

  it('takes files, and messages of a conversation', async () => {
    const { url, asked: requests } = await fastA2A(generation, { artifacts: [result] })
    const provider = pydanticAI()
    const agent = agentAt(url)
    const parts = [{ text: 'What is it?' }, { raw: 'AAEC', mediaType: 'image/png' }]
    const first = await provider.sendTask(
      agent,
      asked('a', { message: { ...asked('a').message, parts } }),
      calling(),
    )
    const second = await provider.sendTask(agent, asked('And now?', { previous: first.ref }), calling())
    expect(second.ref).toEqual({ taskId: 'task-2', contextId: 'context-1' })
    const { id } = asked('a')
    const bodies = requests.map(({ body }) => body).join()
    expect(bodies.replaceAll(`"${id}"`, '')).not.toContain('our-')
  })

  it('keeps working on what is canceled', async () => {
    const { url } = await fastA2A(generation, {})
    const provider = pydanticAI()
    const { ref = {} } = await provider.sendTask(agentAt(url), asked('Hi'), calling())
    expect(await provider.cancelTask(agentAt(url), ref, calling())).toEqual({ ref, state: 'submitted' })
  })

  it('fails without a word, and does not know every task', async () => {
    const { url } = await fastA2A(generation, { state: 'failed' })
    const provider = pydanticAI()
    const sent = await provider.sendTask(agentAt(url), asked('Hi'), calling())
    expect(await follow(provider, agentAt(url), sent)).toEqual({ ref: sent.ref, state: 'failed' })
    const error = await fault(provider.getTask(agentAt(url), { taskId: 'gone' }, calling()))
    expect(error.code).toBe('TASK_NOT_FOUND')
  })

  it('is looked for where it is registered, below a path too', async () => {
    const { url } = await fastA2A(generation, {}, '/agents/one')
    const provider = pydanticAI()
    const agent = agentAt(`${url}/agents/one/`)
    expect(await provider.healthCheck(agent, calling())).toBe('online')
    expect((await provider.sendTask(agent, asked('Hi'), calling())).ref).toBeDefined()
  })
})

describe('a Pydantic AI agent', () => {
  it('that answers only in the conversation has its answer in the result', async () => {
    const history = [
      { role: 'agent', kind: 'message', messageId: 'm-2', parts: [{ kind: 'text', text: 'Paris' }] },
    ]
    const { url } = await fastA2A('second', { history })
    const provider = pydanticAI()
    const sent = await provider.sendTask(agentAt(url), asked('Hi'), calling())
    expect(textsOf(await follow(provider, agentAt(url), sent))).toEqual(['Paris'])
  })

  it('in a state that FastA2A does not know counts as working', async () => {
    const { url } = await fastA2A('first', { state: 'unknown' })
    const provider = pydanticAI()
    const { ref = {} } = await provider.sendTask(agentAt(url), asked('Hi'), calling())
    expect((await provider.getTask(agentAt(url), ref, calling())).state).toBe('working')
  })

  it('gets the credentials of its endpoint, or what is signed', async () => {
    const { url, asked: requests } = await fastA2A('third', {})
    const endpoint = { url, timeoutMs: 5_000, auth: bearerAuth('s3cret') }
    await pydanticAI().sendTask(agentAt(url, { endpoint }), asked('Hi'), calling())
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer s3cret', 'Bearer s3cret'])
    const signed: (string | undefined)[] = []
    const provider = pydanticAI({
      authorize: ({ body }) => void signed.push(body),
    })
    await provider.sendTask(agentAt(url), asked('Hi'), calling())
    // What is signed is what is sent.
    expect(signed).toEqual([undefined, requests.at(-1)?.body])
  })

  it('is online, degraded or offline', async () => {
    const provider = pydanticAI()
    const { url } = await fastA2A('first', {})
    expect(await provider.healthCheck(agentAt(url), calling())).toBe('online')
    const broken = await site(() => ({ status: 500 }))
    expect(await provider.healthCheck(agentAt(broken.url), calling())).toBe('degraded')
    const empty = await site(() => ({ status: 404 }))
    expect(await provider.healthCheck(agentAt(empty.url), calling())).toBe('degraded')
    const noJson = await site(() => ({ body: '<html>' }))
    expect(await provider.healthCheck(agentAt(noJson.url), calling())).toBe('degraded')
    expect(await provider.healthCheck(agentAt(await nowhere()), calling())).toBe('offline')
    const error = await fault(provider.sendTask(agentAt(empty.url), asked('Hi'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { provider: 'pydantic_ai', status: 404 } })
  })
})

describe.each([modernPeer('0.3', 'JSONRPC'), legacyPeer('JSONRPC')])('as does $name', ({ serve }) => {
  it('a task is accepted, and asked for', async () => {
    quiet()
    const { url } = await serve({ agent: echo })
    // It listens at /a2a, and FastA2A at the root.
    const provider = pydanticAI({ fetch: (to, init) => fetch(to.endsWith('/') ? `${to}a2a` : to, init) })
    const agent = agentAt(url)
    const done = await follow(provider, agent, await provider.sendTask(agent, asked('Hello'), calling()))
    expect(textsOf(done)).toEqual(['You said: Hello'])
  })
})
