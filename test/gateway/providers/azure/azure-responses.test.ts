import { bearerAuth } from 'a2a-tasks/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TaskRef } from '../../../../src/gateway/provider.js'
import { azureAI } from '../../../../src/gateway/providers/azure/provider.js'
import { startAzureStub, type AzureStub } from '../../../services/azure/azure-stub.js'
import type { Step } from '../../../services/azure/script.js'
import { DISCONNECT } from '../../../services/stub-server.js'
import { agentAt, asked, calling, collect, fault, follow, nowhere, textsOf } from '../a2a/support/a2a.js'

let stub: AzureStub
beforeAll(async () => {
  stub = await startAzureStub()
})
afterAll(() => stub.stop())

const provider = azureAI()
const CALL = { id: 'call_1', name: 'weather', arguments: '{"city":"Bern"}' }

function at(settings: object = {}, url = stub.endpoint) {
  const made = agentAt(url, { settings: { agentName: 'agent', ...settings } })
  return { ...made, endpoint: { ...made.endpoint, auth: bearerAuth(stub.token) } }
}

/** Sends `hello` to an agent that does `steps`, and follows it. */
async function done(steps: readonly Step[], settings: object = {}) {
  stub.script(...steps)
  const agent = at(settings)
  return await follow(provider, agent, await provider.sendTask(agent, asked('hello'), calling()))
}

const posted = (path: string) =>
  stub.requests.filter((request) => request.method === 'POST' && request.path.endsWith(path)).at(-1)

describe('an agent of the Responses API', () => {
  it('runs a task in the background, in a conversation', async () => {
    const agent = at({ agentVersion: '2' })
    const sent = await provider.sendTask(agent, asked('hello'), calling())
    const ref = { responseId: expect.any(String) as string, conversationId: expect.any(String) as string }
    expect(sent).toEqual({ ref, state: 'submitted' })
    expect(posted('/openai/v1/responses')?.body).toEqual({
      conversation: sent.ref?.['conversationId'],
      background: true,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] }],
      agent_reference: { type: 'agent_reference', name: 'agent', version: '2' },
    })
    const end = await follow(provider, agent, sent)
    expect(end).toEqual({
      ...{ ref: sent.ref, state: 'completed' },
      artifacts: [{ artifactId: sent.ref?.['responseId'], parts: [{ text: 'Hello' }] }],
    })
  })

  it('waits for the answer where there is no background', async () => {
    stub.script({ text: 'Now' }, 'completed')
    const sent = await provider.sendTask(at({ background: false }), asked('hello'), calling())
    expect(sent.state).toBe('completed')
    expect(textsOf(sent)).toEqual(['Now'])
  })

  it('continues with the conversation of the task before', async () => {
    const agent = at()
    const { ref = {} } = await provider.sendTask(agent, asked('one'), calling())
    const next = await provider.sendTask(agent, asked('two', { previous: ref }), calling())
    expect(next.ref?.['conversationId']).toBe(ref['conversationId'])
    expect(next.ref?.['responseId']).not.toBe(ref['responseId'])
  })

  it('has its own endpoint if it is hosted', async () => {
    const sent = await provider.sendTask(at({ agentEndpoint: true }), asked('hello'), calling())
    const request = posted('/agents/agent/endpoint/protocols/openai/responses')
    expect(request?.query.get('api-version')).toBe('v1')
    expect(request?.headers['foundry-features']).toContain('AgentEndpoints')
    expect(request?.body).not.toHaveProperty('agent_reference')
    expect(sent.state).toBe('submitted')
  })

  it.each<[name: string, step: Step, code: string, retryable: boolean]>([
    ['failed', { failed: { code: 'rate_limit_exceeded', message: 'secret' } }, 'rate_limit_exceeded', true],
    ['failed', { failed: { code: 'invalid_prompt', message: 'secret' } }, 'invalid_prompt', false],
    ['incomplete', { incomplete: 'max_output_tokens' }, 'max_output_tokens', false],
  ])('has failed when it is %s, with the part there is', async (_name, step, code, retryable) => {
    const end = await done(['in_progress', { text: 'Half' }, step])
    expect(end).toMatchObject({
      state: 'failed',
      message: `The agent failed: ${code}`,
      failure: { code, retryable },
    })
    expect(textsOf(end)).toEqual(['Half'])
  })

  it('is canceled in the background', async () => {
    stub.script('in_progress', new Promise(() => {}))
    const agent = at()
    const { ref = {} } = await provider.sendTask(agent, asked('hello'), calling())
    expect((await provider.getTask(agent, ref, calling())).state).toBe('working')
    expect((await provider.cancelTask(agent, ref, calling())).state).toBe('canceled')
    expect((await provider.getTask(agent, ref, calling())).state).toBe('canceled')
  })

  it('cannot be canceled elsewhere', async () => {
    const agent = at({ background: false })
    const { ref = {} } = await provider.sendTask(agent, asked('hello'), calling())
    expect(await fault(provider.cancelTask(agent, ref, calling()))).toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
    })
  })

  it('knows no other responses', async () => {
    const ref = { responseId: 'resp_x', conversationId: 'conv_x' }
    const notFound = { code: 'TASK_NOT_FOUND', data: { taskId: 'resp_x' } }
    expect(await fault(provider.getTask(at(), ref, calling()))).toMatchObject(notFound)
    expect(await fault(provider.cancelTask(at(), ref, calling()))).toMatchObject(notFound)
  })

  it('says nothing of a status that is not known', async () => {
    expect(await fault(done([{ status: 'pondering' }]))).toMatchObject({
      code: 'PROVIDER_ERROR',
      message: expect.stringContaining('response status "pondering" is not known') as string,
    })
  })

  it('fails with a general text if its code and text are unusable', async () => {
    const code = `the password is ${'secret'.repeat(100)}`
    expect(await done([{ failed: { code, message: '' } }])).toMatchObject({
      message: 'The agent failed: error',
      failure: { code: 'error', retryable: false },
    })
  })

  it('is given parts of all kinds', async () => {
    const parts = [
      { text: 'see' },
      { raw: 'AAEC', mediaType: 'image/png' },
      { url: 'https://x.test/a.png', mediaType: 'image/png' },
      { raw: 'AAEC', mediaType: 'application/pdf', filename: 'a.pdf' },
      { url: 'https://x.test/a.pdf', mediaType: 'application/pdf' },
      { data: { n: 1 } },
    ]
    await provider.sendTask(at(), asked('see', { message: { ...asked('see').message, parts } }), calling())
    expect(posted('/responses')?.body).toMatchObject({
      input: [
        {
          content: [
            { type: 'input_text', text: 'see' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAEC' },
            { type: 'input_image', image_url: 'https://x.test/a.png' },
            { type: 'input_file', file_data: 'data:application/pdf;base64,AAEC', filename: 'a.pdf' },
            { type: 'input_file', file_url: 'https://x.test/a.pdf' },
            { type: 'input_text', text: '{"n":1}' },
          ],
        },
      ],
    })
  })
})

describe('an agent of the Responses API that asks', () => {
  const answer = (data: object) => ({ ...asked('').message, parts: [{ data: { ...data } as never }] })

  it('waits for the result of a function, and continues with it', async () => {
    const agent = at()
    const waiting = await done(['in_progress', { calls: [CALL] }, 'completed'])
    expect(waiting).toMatchObject({
      state: 'input-required',
      ref: { pending: ['call_1'] },
      message: {
        parts: [
          { text: 'The agent waits for the result of weather' },
          { data: { type: 'function_call', call_id: 'call_1', arguments: CALL.arguments } },
        ],
      },
    })
    const { ref = {} } = waiting
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'Rain' }
    const sent = await provider.sendTask(agent, asked('', { ref, message: answer(output) }), calling())
    expect(posted('/responses')?.body).toMatchObject({
      conversation: ref['conversationId'],
      input: [output],
    })
    expect(await follow(provider, agent, sent)).toMatchObject({ state: 'completed' })
  })

  it('refuses a text where a program has to answer', async () => {
    const { ref = {} } = await done([{ calls: [CALL] }, 'completed'])
    expect(await fault(provider.sendTask(at(), asked('Rain', { ref }), calling()))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'message.parts', reason: expect.stringContaining('"call_id": "call_1"') as string },
    })
  })

  it('is asked in another conversation if a call was left open', async () => {
    const { ref = {} } = await done([{ calls: [CALL] }, 'completed'])
    const sent = await provider.sendTask(at(), asked('Never mind', { previous: ref }), calling())
    expect(sent.ref?.['conversationId']).not.toBe(ref['conversationId'])
  })

  it('asks for nothing that it has done itself', async () => {
    const item = { type: 'function_call_output', call_id: 'call_1', output: 'Rain' }
    expect((await done([{ calls: [CALL] }, { item }, { text: 'Rain' }, 'completed'])).state).toBe('completed')
  })

  it('waits for an approval', async () => {
    const item = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'delete', server_label: 's' }
    const waiting = await done([{ text: 'May I?' }, { item }, 'completed'])
    expect(waiting).toMatchObject({
      state: 'input-required',
      ref: { pending: ['mcpr_1'] },
      message: { parts: [{ text: 'May I?' }, { data: item }] },
    })
    const { ref = {} } = waiting
    const reply = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }
    await provider.sendTask(at(), asked('', { ref, message: answer(reply) }), calling())
    expect(posted('/responses')?.body).toMatchObject({ input: [reply] })
  })

  it('waits for consent, and any word continues', async () => {
    const item = { type: 'oauth_consent_request', id: 'oauth_1', consent_link: 'https://consent.test/' }
    const waiting = await done([{ item }, 'completed'])
    expect(waiting).toMatchObject({
      state: 'auth-required',
      message: { parts: [{ text: 'The agent needs your consent: https://consent.test/' }, { data: item }] },
    })
    const { ref = {} } = waiting
    const sent = await provider.sendTask(at(), asked('Done', { ref }), calling())
    expect(sent.ref?.['conversationId']).toBe(ref['conversationId'])
  })
})

describe('a stream of the Responses API', () => {
  const streamed = (steps: readonly Step[], more: object = {}) => {
    stub.script(...steps)
    return collect(provider.streamTask(at(), asked('hello', more), calling()))
  }

  it('reports texts as they are written, and nothing twice', async () => {
    const updates = await streamed(['in_progress', { text: 'Hel' }, { text: 'lo' }, 'completed'])
    const { ref } = updates[0] ?? {}
    const artifactId = ref?.['responseId']
    expect(updates).toEqual([
      { ref, state: 'submitted' },
      { ref, state: 'submitted' },
      { ref, state: 'working' },
      { chunk: { artifactId, parts: [{ text: 'Hel' }] } },
      { chunk: { artifactId, parts: [{ text: 'lo' }] } },
      { ref, state: 'completed' },
    ])
    // Later calls return the same result whole.
    const whole = await provider.getTask(at(), ref ?? {}, calling())
    expect(whole.artifacts).toEqual([{ artifactId, parts: [{ text: 'Hello' }] }])
  })

  it('ends with a question', async () => {
    const updates = await streamed([{ calls: [CALL] }, 'completed'])
    expect(updates.at(-1)).toMatchObject({ state: 'input-required', ref: { pending: ['call_1'] } })
  })

  it('breaks, and the task is still known', async () => {
    let cut = (): void => {}
    stub.script('in_progress', new Promise<void>((resolve) => (cut = resolve)), DISCONNECT)
    let known: TaskRef | undefined
    const broken = (async () => {
      for await (const { ref, state } of provider.streamTask(at(), asked('hello'), calling())) {
        known = ref
        if (state === 'working') cut()
      }
    })()
    expect(await fault(broken)).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: true } })
    expect((await provider.getTask(at(), known ?? {}, calling())).ref).toEqual(known)
  })

  it('reports an error of the service', async () => {
    const error = { code: 'server_error', message: 'Oops' }
    expect(await fault(streamed(['in_progress', { error }]))).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { retryable: true, reason: expect.stringContaining('server_error') as string },
    })
  })

  it('ends when its reader stops', async () => {
    stub.script('in_progress', new Promise(() => {}))
    const controller = new AbortController()
    const updates = provider.streamTask(at(), asked('hello'), controller)
    const reason = new Error('enough')
    const left = (async () => {
      for await (const { state } of updates) if (state === 'working') controller.abort(reason)
    })()
    await expect(left).rejects.toBe(reason)
    expect(await posted('/responses')?.abandoned).toBe(true)
  })
})

describe('the health of an agent of Azure AI Foundry', () => {
  it.each([
    [200, 'online'],
    [401, 'degraded'],
    [403, 'degraded'],
    [404, 'offline'],
    [503, 'degraded'],
  ])('with HTTP %i is %s', async (status, health) => {
    stub.failNext(status)
    expect(await provider.healthCheck(at(), calling())).toBe(health)
    const { path, query } = stub.requests.at(-1) ?? {}
    expect(path).toBe('/api/projects/project/agents/agent')
    expect(query?.get('api-version')).toBe('v1')
  })

  it('is offline if it cannot be reached', async () => {
    expect(await provider.healthCheck(at({}, await nowhere()), calling())).toBe('offline')
  })
})

describe('the settings of an agent of Azure AI Foundry', () => {
  it.each([
    [{ agentName: undefined, assistantId: 'asst_1' }, 'settings.agentName'],
    [{ api: 'threads' }, 'settings.assistantId'],
    [{ api: 'v2' }, 'settings.api'],
    [{ background: 'yes' }, 'settings.background'],
    [{ agentVerion: '2' }, 'settings.agentVerion'],
  ])('%j lack %s', async (settings, path) => {
    const agent = at(JSON.parse(JSON.stringify({ agentName: 'agent', ...settings })) as object)
    const bare = {
      ...agent,
      settings: JSON.parse(JSON.stringify({ agentName: 'agent', ...settings })) as never,
    }
    expect(await fault(provider.sendTask(bare, asked('hello'), calling()))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path },
    })
    expect(() => provider.checkAgent?.(bare)).toThrow(new RegExp(`^${path} `))
  })

  it('need no name: it is the id of the agent', async () => {
    await provider.sendTask({ ...at(), id: 'support', settings: {} }, asked('hello'), calling())
    expect(posted('/responses')?.body).toMatchObject({ agent_reference: { name: 'support' } })
  })

  it('are right before a task, or the agent is not asked', () => {
    expect(() => provider.checkAgent?.(at())).not.toThrow()
    expect(() => provider.checkAgent?.(at({ api: 'threads', assistantId: 'asst_1' }))).not.toThrow()
    expect(() => provider.checkAgent?.(at({ agentVerion: '2' }))).toThrow(
      /^settings\.agentVerion is unknown, did you mean "agentVersion"\?; known are api, agentName, /,
    )
  })

  it('are not the options of the provider', () => {
    expect(() => azureAI({ agentName: 'agent' } as never)).toThrow(
      new TypeError(
        'Unknown option "agentName" of azureAI; known are fetch, authorize, urlGuard, clock, credentials',
      ),
    )
  })
})
