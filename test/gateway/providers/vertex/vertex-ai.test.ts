import { bearerAuth } from 'a2a-tasks/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderTask } from '../../../../src/gateway/provider.js'
import type { Fetch } from '../../../../src/runtime/fetch.js'
import { vertexAI } from '../../../../src/gateway/providers/vertex/provider.js'
import { DISCONNECT } from '../../../services/stub-server.js'
import {
  adkEvent,
  startVertexStub,
  type Framing,
  type StreamStep,
  type VertexStub,
} from '../../../services/vertex/vertex-stub.js'
import { agentAt, asked, calling, collect, fault, nowhere, serve, textsOf } from '../a2a/support/a2a.js'

let stub: VertexStub
beforeAll(async () => {
  stub = await startVertexStub()
})
afterAll(() => stub.stop())

const provider = vertexAI()

function at(settings: Record<string, string> = {}, url = stub.url) {
  const made = agentAt(url, { settings: { resource: stub.name, ...settings } })
  return { ...made, endpoint: { ...made.endpoint, auth: bearerAuth(stub.token) } }
}

const last = () => stub.requests.at(-1)
const streamed = (steps: readonly StreamStep[], settings: Record<string, string> = {}) => {
  stub.stream(...steps)
  return collect(provider.streamTask(at(settings), asked('hello'), calling()))
}
const chunkTexts = (
  updates: readonly {
    readonly chunk?: { readonly parts?: readonly { text?: string | undefined }[] | undefined } | undefined
  }[],
) => updates.flatMap(({ chunk }) => chunk?.parts?.map(({ text }) => text) ?? [])

describe('an agent of the Agent Development Kit', () => {
  it('answers in a session, which the conversation continues with', async () => {
    const sent = await provider.sendTask(at(), asked('hello'), calling())
    expect(sent).toEqual({
      ref: { sessionId: expect.any(String) as string },
      state: 'completed',
      artifacts: [{ artifactId: 'answer-our-message', parts: [{ text: 'Hello' }] }],
    })
    expect(stub.requests.at(-2)?.body).toEqual({
      class_method: 'async_create_session',
      input: { user_id: 'our-context' },
    })
    const { ref = {} } = sent
    const query = (message: unknown) => ({
      class_method: 'async_stream_query',
      input: { message, user_id: 'our-context', session_id: ref['sessionId'] },
    })
    expect(last()?.path).toBe(`/v1/${stub.name}:streamQuery`)
    expect(last()?.query.get('alt')).toBe('sse')
    expect(last()?.body).toEqual(query('hello'))
    const count = stub.requests.length
    await provider.sendTask(at(), asked('more', { previous: ref }), calling())
    expect(stub.requests).toHaveLength(count + 1)
    expect(last()?.body).toEqual(query('more'))
  })

  it.each<Framing>(['lines', 'joined', 'sse'])('streams its events as %s', async (framing) => {
    stub.framing(framing)
    const updates = await streamed(['He said "{', '\\"} ', 'and left'])
    stub.framing('lines')
    expect(updates[0]).toEqual({ ref: { sessionId: expect.any(String) as string }, state: 'working' })
    expect(chunkTexts(updates)).toEqual(['He said "{', '\\"} ', 'and left'])
    expect(updates.at(-1)).toEqual({ state: 'completed' })
  })

  it('reports text that came in pieces once, and thoughts never', async () => {
    const thinking = { content: { parts: [{ text: 'Hm', thought: true }, { text: 'A' }] } }
    const events = [
      adkEvent('Hel', { partial: true }),
      adkEvent('lo', { partial: true }),
      adkEvent('Hello'),
      adkEvent('', thinking),
      adkEvent('B', { author: 'other' }),
    ]
    expect(chunkTexts(await streamed(events))).toEqual(['Hel', 'lo', 'A', 'B'])
    stub.stream(...events)
    expect(textsOf(await provider.sendTask(at(), asked('hello'), calling()))).toEqual(['HelloAB'])
  })

  it('does not take an anonymous caller for the user of an owner', async () => {
    const userOf = async (more: Partial<ProviderTask>) => {
      await provider.sendTask(at(), asked('hello', more), calling())
      return (last()?.body as { readonly input: { readonly user_id: string } }).input.user_id
    }
    const own = await userOf({ owner: 'alice', contextId: 'trip' })
    expect(own).toBe('alice/trip')
    expect(await userOf({ contextId: own })).not.toBe(own)
    expect(await userOf({ owner: 'alice/', contextId: 'trip' })).not.toBe(
      await userOf({ contextId: 'alice//trip' }),
    )
  })

  it('has failed when its model has', async () => {
    const odd = await streamed([adkEvent('', { content: undefined, error_code: 'the password is secret' })])
    expect(odd.at(-1)).toMatchObject({ message: 'The agent failed: error', failure: { code: 'error' } })
    const failed = await streamed([adkEvent('', { content: undefined, error_code: 'RESOURCE_EXHAUSTED' })])
    expect(failed.at(-1)).toEqual({
      ...{ state: 'failed', message: 'The agent failed: RESOURCE_EXHAUSTED' },
      failure: { code: 'RESOURCE_EXHAUSTED', retryable: true },
    })
    const safe = await streamed([adkEvent('', { errorCode: 'SAFETY' }), 'But still'])
    expect(safe.at(-1)).toEqual({ state: 'completed' })
  })

  it('waits for what runs long, and continues with its result', async () => {
    const part = { function_call: { id: 'f1', name: 'ask_boss', args: {} } }
    const event = adkEvent('', { content: { parts: [part] }, long_running_tool_ids: ['f1'] })
    const waiting = await streamed(['I shall ask', event])
    expect(waiting.at(-1)).toEqual({
      state: 'input-required',
      message: { parts: [{ text: 'The agent waits for the result of ask_boss' }, { data: part }] },
    })
    const answer = { function_response: { id: 'f1', name: 'ask_boss', response: { ok: true } } }
    const message = { ...asked('').message, parts: [{ data: answer }] }
    const { ref = {} } = waiting[0] ?? {}
    await provider.sendTask(at(), asked('', { ref, message }), calling())
    expect(last()?.body).toMatchObject({
      input: { session_id: ref['sessionId'], message: { role: 'user', parts: [answer] } },
    })
  })

  it('waits for the user to sign in', async () => {
    const part = { functionCall: { id: 'f1', name: 'adk_request_credential' } }
    const event = adkEvent('', { content: { parts: [part] }, longRunningToolIds: ['f1'] })
    expect((await streamed([event])).at(-1)).toMatchObject({ state: 'auth-required' })
  })

  it('calls its tools without a word to us', async () => {
    const call = adkEvent('', { content: { parts: [{ function_call: { id: 'f1', name: 'x' } }] } })
    expect((await streamed([call, 'Done'])).at(-1)).toEqual({ state: 'completed' })
  })

  it('is given files as Gemini takes them', async () => {
    const parts = [
      { text: 'see' },
      { raw: 'AAEC', mediaType: 'image/png' },
      { url: 'gs://b/a.png', mediaType: 'image/png' },
      { data: { n: 1 } },
    ]
    await provider.sendTask(at(), asked('see', { message: { ...asked('').message, parts } }), calling())
    expect(last()?.body).toMatchObject({
      input: {
        message: {
          role: 'user',
          parts: [
            { text: 'see' },
            { inline_data: { mime_type: 'image/png', data: 'AAEC' } },
            { file_data: { mime_type: 'image/png', file_uri: 'gs://b/a.png' } },
            { text: '{"n":1}' },
          ],
        },
      },
    })
  })

  it('may be asked by another method, for its own user', async () => {
    await provider.sendTask(at({ classMethod: 'stream_query', userId: 'me' }), asked('hello'), calling())
    expect(last()?.body).toMatchObject({ class_method: 'stream_query', input: { user_id: 'me' } })
  })

  it.each<[name: string, steps: StreamStep[], retryable: boolean]>([
    [
      'an error of the service',
      [{ error: { code: 429, message: 'Too much', status: 'RESOURCE_EXHAUSTED' } }],
      true,
    ],
    ['an error on its own', [{ code: 400, message: 'Bad' }], false],
    ['nothing', [], false],
    ['a connection that breaks', ['Hello', DISCONNECT], true],
  ])('has not answered with %s', async (_name, steps, retryable) => {
    expect(await fault(streamed(steps))).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable } })
  })

  it('has not answered with half an event', async () => {
    const url = await serve(() => (request, response) => {
      request.resume().on('end', () => response.end('{"content":{"parts":[{"text":"Hel'))
    })
    const updates = collect(provider.streamTask(at({ protocol: 'query' }, url), asked('hello'), calling()))
    expect(await fault(updates)).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: true } })
  })

  it('is no longer asked when its reader stops', async () => {
    stub.stream('Hello', new Promise(() => {}))
    const controller = new AbortController()
    const reason = new Error('enough')
    const left = (async () => {
      for await (const { chunk } of provider.streamTask(at(), asked('hello'), controller)) {
        if (chunk !== undefined) controller.abort(reason)
      }
    })()
    await expect(left).rejects.toBe(reason)
    expect(await last()?.abandoned).toBe(true)
  })

  it('keeps no tasks', async () => {
    const ref = { sessionId: 's' }
    const error = { code: 'UNSUPPORTED_OPERATION' }
    expect(await fault(provider.getTask(at(), ref, calling()))).toMatchObject(error)
    expect(await fault(provider.cancelTask(at(), ref, calling()))).toMatchObject(error)
  })
})

describe('another agent on Agent Engine', () => {
  const query = { protocol: 'query' }

  it.each([
    ['a text', 'Hi', { text: 'Hi' }],
    ['an output', { input: 'hello', output: 'Hi' }, { text: 'Hi' }],
    ['data', { n: [1] }, { data: { n: [1] } }],
    ['nothing', null, { data: null }],
  ])('answers a query with %s', async (_name, output, part) => {
    stub.answer(output)
    expect(await provider.sendTask(at(query), asked('hello'), calling())).toEqual({
      state: 'completed',
      artifacts: [{ artifactId: 'answer-our-message', parts: [part] }],
    })
    expect(last()?.path).toBe(`/v1/${stub.name}:query`)
    expect(last()?.body).toEqual({ class_method: 'query', input: { input: 'hello' } })
  })

  it('streams what it likes, of which the last is the answer', async () => {
    const updates = await streamed([{ actions: [] }, { output: 'Hi', messages: [] }], query)
    expect(last()?.body).toEqual({ class_method: 'stream_query', input: { input: 'hello' } })
    expect(updates).toEqual([
      { ref: {}, state: 'working' },
      { state: 'completed', artifacts: [{ artifactId: 'answer-our-message', parts: [{ text: 'Hi' }] }] },
    ])
  })

  it.each([
    [400, 'INVALID_ARGUMENT', false],
    [429, 'RESOURCE_EXHAUSTED', true],
    [503, 'UNAVAILABLE', true],
  ])('is refused with HTTP %i', async (status, name, retryable) => {
    stub.refuseNext(status, name, 'No', { 'retry-after': '7' })
    expect(await fault(provider.sendTask(at(query), asked('hello'), calling()))).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { provider: 'vertex_ai', status, retryable, retryAfterMs: 7_000 },
    })
  })

  it('answers what can be understood', async () => {
    stub.failNext(200, { result: 1 })
    expect(await fault(provider.sendTask(at(query), asked('hello'), calling()))).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { reason: expect.stringContaining('answer.output') as string },
    })
  })
})

describe('the agent of the LiteLLM-RS document', () => {
  it('is run, and is done with its answer', async () => {
    const seen: unknown[] = []
    const url = await serve(() => (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        seen.push(request.url, JSON.parse(Buffer.concat(chunks).toString()))
        response.end(seen.length === 2 ? '{"reply":"Hi"}' : '')
      })
    })
    // The id of the agent is that of the engine.
    const settings = { profile: 'litellm-rs', project: 'p', location: 'l' }
    const agent = agentAt(url, { settings, id: 'research' })
    const message = { ...asked('hello').message, metadata: { lang: 'en' } }
    const own = { ...agent, endpoint: { ...agent.endpoint, auth: bearerAuth('x') } }
    expect(await provider.sendTask(own, asked('hello', { message }), calling())).toEqual({
      state: 'completed',
      artifacts: [{ artifactId: 'answer-our-message', parts: [{ data: { reply: 'Hi' } }] }],
    })
    expect(await collect(provider.streamTask(own, asked('hello'), calling()))).toEqual([
      { state: 'completed' },
    ])
    const path = '/v1/projects/p/locations/l/agents/research:run'
    expect(seen).toEqual([
      ...[path, { userInput: { text: 'hello' }, context: { lang: 'en' } }],
      ...[path, { userInput: { text: 'hello' }, context: null }],
    ])
  })
})

describe('the health of an agent on Agent Engine', () => {
  it.each([
    [200, 'online'],
    [401, 'degraded'],
    [403, 'degraded'],
    [404, 'offline'],
    [500, 'degraded'],
  ])('with HTTP %i is %s', async (status, health) => {
    if (status !== 200) stub.refuseNext(status, 'X', 'No')
    expect(await provider.healthCheck(at(), calling())).toBe(health)
    expect(last()).toMatchObject({ method: 'GET', path: `/v1/${stub.name}` })
  })

  it('is offline if it cannot be reached', async () => {
    expect(await provider.healthCheck(at({}, await nowhere()), calling())).toBe('offline')
  })
})

describe('the settings of an agent on Agent Engine', () => {
  it.each([
    ['https://us-central1-aiplatform.googleapis.com', {}, 'us-central1'],
    ['https://europe-west10-aiplatform.googleapis.com/', {}, 'europe-west10'],
    ['https://us-central1-aiplatform.googleapis.com', { location: 'eu' }, 'eu'],
    ['https://us-central1-aiplatform.googleapis.com.evil.test', {}, undefined],
    ['https://aiplatform.googleapis.com', {}, undefined],
  ])('have the location of the URL %s with %j: %s', async (url, given, location) => {
    const urls: string[] = []
    const fetch: Fetch = (target) => {
      urls.push(target)
      return Promise.resolve(Response.json({}))
    }
    const own = vertexAI({ fetch, authorize: () => undefined })
    const agent = agentAt(url, { settings: { project: 'p', engineId: '42', ...given } })
    if (location === undefined) {
      expect(() => own.checkAgent?.(agent)).toThrow(/^settings.location is missing/)
      return
    }
    await own.healthCheck(agent, calling())
    expect(urls).toEqual([
      `${url.replace(/\/$/, '')}/v1/projects/p/locations/${location}/reasoningEngines/42`,
    ])
  })

  const [, project = '', , location = '', , engineId = ''] =
    'projects/project/locations/us-central1/reasoningEngines/42'.split('/')

  it('may name the engine in parts', async () => {
    const agent = { ...at(), settings: { project, location, engineId } }
    expect(await provider.healthCheck(agent, calling())).toBe('online')
  })

  it.each([
    [{}, 'settings.project'],
    [{ project, engineId }, 'settings.location'],
    [{ project, location }, 'settings.engineId'],
    [{ resource: 'projects/p/agents/1' }, 'settings.resource'],
    [{ project, location, engineId, protocol: 'grpc' }, 'settings.protocol'],
    [{ project, location, engineId, profile: 'other' }, 'settings.profile'],
    [{ project, location, engineId, userID: 'u' }, 'settings.userID'],
  ])('%j lack %s', async (settings, path) => {
    const agent = { ...at(), settings }
    expect(await fault(provider.sendTask(agent, asked('hello'), calling()))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path },
    })
    expect(() => provider.checkAgent?.(agent)).toThrow(new RegExp(`^${path} `))
    expect(() => provider.checkAgent?.(at())).not.toThrow()
  })

  it('are not the options of the provider', () => {
    expect(() => vertexAI({ project: 'p' } as never)).toThrow(/^Unknown option "project" of vertexAI/)
  })
})
