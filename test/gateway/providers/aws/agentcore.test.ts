import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { bearerAuth } from 'a2a-tasks/client'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { toNodeListener } from '../../../../src/server/node/index.js'
import type { RegisteredAgent } from '../../../../src/gateway/registry/agent.js'
import type { ProviderTask } from '../../../../src/gateway/provider.js'
import type { AgentCoreClient } from '../../../../src/gateway/providers/aws/agentcore-client.js'
import { bedrockAgentCore } from '../../../../src/gateway/providers/aws/agentcore.js'
import { bedrock } from '../../../../src/gateway/providers/aws/bedrock.js'
import {
  agentAt,
  asked,
  calling,
  collect,
  fault,
  follow,
  nowhere,
  serve,
  textsOf,
} from '../a2a/support/a2a.js'

const ARN = 'arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/mine-0123456789'
const HOST = 'https://bedrock-agentcore.eu-central-1.amazonaws.com'
const BASE = `/runtimes/${encodeURIComponent(ARN)}`
const SESSION_HEADER = 'x-amzn-bedrock-agentcore-runtime-session-id'
const CONTEXT = '0b9d5b5e-6a3b-4e52-9d6b-1d0c2c6b7a10'
const hello = asked('Hello', { contextId: CONTEXT })

interface Seen {
  readonly method: string
  readonly path: string
  readonly session: string | undefined
  readonly authorization: string | undefined
  readonly body: unknown
}

/** An agent that takes tokens. */
function at(url: string, settings: object = {}): RegisteredAgent {
  const made = agentAt(url, { settings: { runtimeArn: ARN, ...settings } })
  return { ...made, endpoint: { ...made.endpoint, auth: bearerAuth('secret') } }
}

/** A service that answers like this, and what it was asked. */
async function service(answer: (response: ServerResponse, request: IncomingMessage) => void) {
  const seen: Seen[] = []
  const url = await serve(() => (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const text = Buffer.concat(chunks).toString()
      const session = headers[SESSION_HEADER]?.toString()
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      seen.push({ method, path, session, authorization: headers.authorization, body })
      answer(response, request)
    })
  })
  return { url, seen }
}

const json =
  (body: unknown, status = 200) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const events =
  (...all: unknown[]) =>
  (response: ServerResponse): void => {
    const lines = all.map((data) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(lines.join(''))
  }

describe('an agent of the HTTP protocol', () => {
  it('is sent a prompt in a session of the conversation', async () => {
    const { url, seen } = await service(json({ result: { role: 'assistant', content: [{ text: 'Hi' }] } }))
    const done = await bedrockAgentCore().sendTask(at(url, { qualifier: 'v 2' }), hello, calling())
    expect(seen).toEqual([
      {
        ...{ method: 'POST', path: `${BASE}/invocations?qualifier=v+2`, session: CONTEXT },
        ...{ authorization: 'Bearer secret', body: { prompt: 'Hello' } },
      },
    ])
    expect(done).toEqual({
      ...{ ref: { sessionId: CONTEXT }, state: 'completed' },
      artifacts: [{ artifactId: 'answer', parts: [{ text: 'Hi' }] }],
      output: { result: { role: 'assistant', content: [{ text: 'Hi' }] } },
    })
  })

  it('continues in the session of the conversation, whatever it is called', async () => {
    const { url, seen } = await service(json('Hi'))
    const provider = bedrockAgentCore()
    const { ref } = await provider.sendTask(at(url), asked('1', { contextId: 'short' }), calling())
    await provider.sendTask(at(url), asked('2', { contextId: 'short' }), calling())
    await provider.sendTask(at(url), asked('3', { contextId: 'other', previous: ref }), calling())
    const [first, ...others] = seen.map(({ session }) => session)
    expect(first).toMatch(/^context-[0-9a-f]{64}$/)
    expect(others).toEqual([first, first])
  })

  it('shares the session of an owner, or that of health checks, with no other caller', async () => {
    const { url, seen } = await service(json('Hi'))
    const send = async (more: Partial<ProviderTask>) => {
      await bedrockAgentCore().sendTask(at(url), asked('Hi', more), calling())
      return seen.at(-1)?.session ?? ''
    }
    const own = await send({ owner: 'alice', contextId: CONTEXT })
    const others = [own, own.toUpperCase(), 'a2a-tasks-gateway-health-check-session']
    for (const contextId of others) {
      const session = await send({ contextId })
      expect(session).toMatch(/^context-[0-9a-f]{64}$/)
      expect(others).not.toContain(session)
    }
  })

  it.each<[settings: object, path: string]>([
    [{ runtimeArn: 'x' }, 'settings.runtimeArn'],
    [{ protocol: 'mcp' }, 'settings.protocol'],
    [{ qualifer: 'v1' }, 'settings.qualifer'],
  ])('is refused before a task with %j', (settings, path) => {
    for (const provider of [bedrockAgentCore(), bedrock()]) {
      expect(() => provider.checkAgent?.(at(HOST, settings))).toThrow(
        expect.objectContaining({
          code: 'INVALID_PARAMS',
          data: expect.objectContaining({ path }) as object,
        }),
      )
      expect(() => provider.checkAgent?.(at(HOST))).not.toThrow()
    }
  })

  it('gets the payload in its format, and the signature of the given signer', async () => {
    const { url, seen } = await service(json('Hi'))
    const provider = bedrockAgentCore({
      toPayload: ({ text, id }) => ({ input: text, id }),
      authorize: ({ headers, body }) => headers.set('authorization', `signed ${body ?? ''}`),
    })
    await provider.sendTask(agentAt(url, { settings: { runtimeArn: ARN } }), hello, calling())
    const body = { input: 'Hello', id: 'our-task' }
    expect(seen).toMatchObject([{ body, authorization: `signed ${JSON.stringify(body)}` }])
  })

  it.each([
    ['a text', 'Hi', 'Hi'],
    ['the response that the contract shows', { response: 'Hi', status: 'success' }, 'Hi'],
    ['a list of blocks', { response: [{ text: 'H' }, { text: 'i' }] }, 'Hi'],
    ['a message', { output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } } }, 'Hi'],
  ])('answers with %s', async (_, body, text) => {
    const { url } = await service(json(body))
    expect(textsOf(await bedrockAgentCore().sendTask(at(url), hello, calling()))).toEqual([text])
  })

  it.each([[{ temperature: 20 }], [{ result: { temperature: 20 } }], [[1, 2]], [{ result: [{ image: 1 }] }]])(
    'answers with data, which is passed on unchanged: %j',
    async (data) => {
      const { url } = await service(json(data))
      const done = await bedrockAgentCore().sendTask(at(url), hello, calling())
      expect(done).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ data }] }], output: data })
    },
  )

  it('answers with a body that is no JSON, or empty', async () => {
    for (const [body, texts] of [['Plain {text', ['Plain {text']] as const, ['', []] as const]) {
      const { url } = await service((response) => void response.end(body))
      const done = await bedrockAgentCore().sendTask(at(url), hello, calling())
      expect([done.state, textsOf(done)]).toEqual(['completed', texts])
    }
  })

  it.each([
    ['texts', ['one ', 'two']],
    ['texts in JSON', ['"one "', '"two"']],
    ['objects with texts', [{ text: 'one ' }, { text: 'two' }, '[DONE]']],
    ['objects with data', [{ start: true }, { data: 'one ' }, { data: 'two' }]],
    [
      'what Strands makes, and tells twice',
      [
        ...[{ init_event_loop: true }, `"{'start': True, 'agent': <Agent>}"`],
        { event: { messageStart: { role: 'assistant' } } },
        { event: { contentBlockDelta: { delta: { text: 'one ' }, contentBlockIndex: 0 } } },
        ...[{ data: 'one ' }, '"one "'],
        { event: { contentBlockDelta: { delta: { text: 'two' }, contentBlockIndex: 0 } } },
        { event: { metadata: { usage: {} } } },
        { message: { role: 'assistant', content: [{ text: 'one two' }] } },
      ],
    ],
  ])('streams %s', async (_, payloads) => {
    const { url } = await service(events(...payloads))
    expect(await collect(bedrockAgentCore().streamTask(at(url), hello, calling()))).toEqual([
      { ref: { sessionId: CONTEXT }, state: 'working' },
      { chunk: { artifactId: 'answer', parts: [{ text: 'one ' }] } },
      { chunk: { artifactId: 'answer', parts: [{ text: 'two' }] } },
      { state: 'completed' },
    ])
  })

  it('streams a whole message, or an unknown object, and loses neither', async () => {
    const message = { message: { role: 'assistant', content: [{ text: 'All' }] } }
    const tool = { message: { role: 'user', content: [{ text: 'not the answer' }] } }
    const whole = await service(events({ start: true }, message, tool))
    const provider = bedrockAgentCore()
    expect(textsOf(await provider.sendTask(at(whole.url), hello, calling()))).toEqual(['All'])
    const strange = await service(events({ step: 1 }, { step: 2 }))
    expect(await provider.sendTask(at(strange.url), hello, calling())).toMatchObject({
      state: 'completed',
      artifacts: [{ parts: [{ data: { step: 1 } }, { data: { step: 2 } }] }],
    })
  })

  it.each([
    [{ error: 'boom at /app/x.py' }, 'error'],
    [
      { error: 'boom', error_type: 'ValueError', message: 'An error occurred during streaming' },
      'ValueError',
    ],
    [{ error: 'boom', error_type: 'the password is secret' }, 'error'],
  ])('fails while it streams: %j', async (error, code) => {
    const { url } = await service(events({ text: 'So far' }, error, { text: 'never read' }))
    const updates = await collect(bedrockAgentCore().streamTask(at(url), hello, calling()))
    expect(updates.at(-1)).toEqual({
      ...{ state: 'failed', message: 'The agent failed' },
      failure: { code, retryable: false },
    })
  })

  it('is not read forever when it never comes to its point', async () => {
    for (const event of [{ step: 'x'.repeat(1_000_000) }, {}]) {
      let sent = 0
      const { url } = await service((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const block = `data: ${JSON.stringify(event)}\n\n`.repeat(event.step === undefined ? 10_000 : 1)
        const write = (): void => {
          if (response.destroyed || (sent += 1) > 50) return void response.end()
          response.write(block, write)
        }
        write()
      })
      expect(await fault(bedrockAgentCore().sendTask(at(url), hello, calling()))).toMatchObject({
        code: 'PROVIDER_ERROR',
        data: { reason: 'its answer is too long' },
      })
    }
  })

  it.each([
    [429, true],
    [500, true],
    [400, false],
    [402, false],
    [404, false],
    [424, false],
  ])('is refused by the service: %i', async (status, retryable) => {
    const { url } = await service(json({ message: 'No' }, status))
    const error = await fault(bedrockAgentCore().sendTask(at(url), hello, calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { status, retryable } })
  })

  it('is canceled by stopping its session, also one that there is no more', async () => {
    for (const status of [200, 404]) {
      const { url, seen } = await service(json({}, status))
      const canceled = await bedrockAgentCore().cancelTask(at(url), { sessionId: CONTEXT }, calling())
      expect(canceled).toEqual({ state: 'canceled' })
      expect(seen).toMatchObject([
        { method: 'POST', path: `${BASE}/stopruntimesession`, session: CONTEXT, body: {} },
      ])
    }
  })

  it('cannot be asked for', async () => {
    const { url, seen } = await service(json({}))
    const error = await fault(bedrockAgentCore().getTask(at(url), { sessionId: CONTEXT }, calling()))
    expect([error.code, seen]).toEqual(['UNSUPPORTED_OPERATION', []])
  })

  it('is as well as the service: no run is begun for that', async () => {
    const { url, seen } = await service(json({}, 404))
    expect(await bedrockAgentCore().healthCheck(at(url), calling())).toBe('online')
    expect(seen).toMatchObject([{ method: 'GET', path: '/' }])
    expect(await bedrockAgentCore().healthCheck(at(await nowhere()), calling())).toBe('offline')
  })

  it.each([
    ['settings.runtimeArn', { runtimeArn: 'mine' }],
    ['settings.protocol', { protocol: 'mcp' }],
  ])('is refused for an invalid %s', async (path, settings) => {
    const error = await fault(bedrockAgentCore().sendTask(at('http://localhost', settings), hello, calling()))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path } })
  })
})

describe('an agent of the A2A protocol', () => {
  /** An A2A agent behind the service, which is no more than its paths. */
  async function a2a(execute: Execute) {
    const handler = createRequestHandler({
      card: { name: 'Own', url: 'http://container.internal/' },
      execute,
    })
    const listener = toNodeListener(handler.fetch)
    const seen: { path: string | undefined; session: string | undefined }[] = []
    const url = await serve(() => (request, response) => {
      seen.push({ path: request.url, session: request.headers[SESSION_HEADER]?.toString() })
      const isCard = request.url === `${BASE}/invocations/.well-known/agent-card.json`
      request.url = isCard ? '/.well-known/agent-card.json' : '/'
      listener(request, response)
    })
    return { provider: bedrockAgentCore(), agent: at(url, { protocol: 'a2a' }), seen }
  }

  it('does a task, which is asked for in its session', async () => {
    const { provider, agent, seen } = await a2a(({ text }) => `You said ${text}`)
    const sent = await provider.sendTask(agent, hello, calling())
    const done = await follow(provider, agent, sent)
    expect(done).toMatchObject({
      state: 'completed',
      ref: { sessionId: CONTEXT, taskId: sent.ref?.['taskId'] },
    })
    expect(textsOf(done)).toEqual(['You said Hello'])
    expect(new Set(seen.map(({ path, session }) => `${path ?? ''} ${session ?? ''}`))).toEqual(
      new Set([`${BASE}/invocations ${CONTEXT}`]),
    )
  })

  it('streams, and asks, and is answered in the same task', async () => {
    const { provider, agent } = await a2a(async ({ requireInput }) => {
      const { parts } = await requireInput('Which?')
      return `So ${parts[0]?.text ?? ''}`
    })
    const asking = (await collect(provider.streamTask(agent, hello, calling()))).at(-1)
    expect(asking).toMatchObject({ state: 'input-required', ref: { sessionId: CONTEXT } })
    const answer = asked('blue', { contextId: CONTEXT, ref: asking?.ref })
    const done = await follow(provider, agent, await provider.sendTask(agent, answer, calling()))
    expect(done).toMatchObject({ state: 'completed', ref: { taskId: asking?.ref?.['taskId'] } })
    expect(textsOf(done)).toEqual(['So blue'])
  })

  it('is canceled', async () => {
    const { provider, agent } = await a2a(
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined))),
    )
    const { ref } = await provider.sendTask(agent, hello, calling())
    expect(await provider.cancelTask(agent, ref ?? {}, calling())).toMatchObject({ state: 'canceled' })
  })

  it('is as well as its card, which is fetched in one session only', async () => {
    const { provider, agent, seen } = await a2a(() => 'Hi')
    for (let times = 0; times < 2; times += 1)
      expect(await provider.healthCheck(agent, calling())).toBe('online')
    const [session, other] = seen.map((each) => each.session)
    expect([other, session?.length]).toEqual([session, 38])
    const failing = await service(json({}, 424))
    expect(await provider.healthCheck(at(failing.url, { protocol: 'a2a' }), calling())).toBe('degraded')
    expect(await provider.healthCheck(at(await nowhere(), { protocol: 'a2a' }), calling())).toBe('offline')
  })
})

describe('the official client', () => {
  const agent = agentAt(HOST, {
    settings: { runtimeArn: ARN, qualifier: 'v1' },
  })

  /** One like it. */
  function official(answer: () => Partial<Awaited<ReturnType<AgentCoreClient['invokeAgentRuntime']>>>) {
    const inputs: object[] = []
    const client: AgentCoreClient = {
      invokeAgentRuntime: async (input) => {
        inputs.push({ ...input, payload: new TextDecoder().decode(input.payload) })
        return await Promise.resolve({ contentType: 'application/json', statusCode: 200, ...answer() })
      },
      stopRuntimeSession: async (input) => await Promise.resolve(inputs.push(input) && {}),
      getAgentCard: async (input) => await Promise.resolve({ agentCard: inputs.push(input) && {} }),
    }
    return { client, provider: bedrock({ agentCore: { client } }), inputs }
  }

  const body = (text: string) => ({ transformToWebStream: () => new Blob([text]).stream() })
  const target = { agentRuntimeArn: ARN, qualifier: 'v1', runtimeSessionId: CONTEXT }

  it('sends calls that have no other credentials', async () => {
    const { provider, inputs } = official(() => ({ response: body('{"result":"Hi"}') }))
    const done = await provider.sendTask(agent, hello, calling())
    expect([done.state, textsOf(done)]).toEqual(['completed', ['Hi']])
    await provider.cancelTask(agent, done.ref ?? {}, calling())
    expect(inputs).toEqual([
      {
        ...{ ...target, payload: '{"prompt":"Hello"}', contentType: 'application/json' },
        accept: 'application/json, text/event-stream',
      },
      target,
    ])
  })

  it('streams', async () => {
    const { provider } = official(() => ({
      contentType: 'text/event-stream',
      response: body('data: {"text":"one "}\n\ndata: {"text":"two"}\n\n'),
    }))
    const updates = await collect(provider.streamTask(agent, hello, calling()))
    expect(updates.flatMap(({ chunk }) => chunk?.parts?.map(({ text }) => text) ?? [])).toEqual([
      'one ',
      'two',
    ])
  })

  it.each([
    [
      { name: 'ThrottlingException', $metadata: { httpStatusCode: 429 } },
      { status: 429, retryable: true },
    ],
    [
      { name: 'RuntimeClientError', $metadata: { httpStatusCode: 424 } },
      { status: 424, retryable: false },
    ],
    [
      { name: 'TimeoutError' },
      { retryable: true, reason: expect.stringMatching(/ cannot be reached: No such luck$/) as string },
    ],
    [{ name: 'CredentialsProviderError' }, { retryable: false, reason: 'There are no AWS credentials' }],
  ])('fails: %j', async (fields, data) => {
    const { provider } = official(() => {
      throw Object.assign(new Error('No such luck'), fields)
    })
    expect(await fault(provider.sendTask(agent, hello, calling()))).toMatchObject({
      code: 'PROVIDER_ERROR',
      data,
    })
  })

  it('is said to be missing where it is not installed', async () => {
    const error = await fault(bedrockAgentCore().sendTask(agent, hello, calling()))
    expect(error.message).toContain('npm install @aws-sdk/client-bedrock-agentcore')
  })
})
