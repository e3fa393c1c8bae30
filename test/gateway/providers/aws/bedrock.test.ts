import type { JsonValue } from 'a2a-tasks'
import { describe, expect, it } from 'vitest'
import { ManualClock } from 'a2a-tasks/testing'
import { bedrock } from '../../../../src/gateway/providers/aws/bedrock.js'
import type {
  BedrockAgentClient,
  InvokeAgentInput,
} from '../../../../src/gateway/providers/aws/bedrock-client.js'
import type { RegisteredAgent } from '../../../../src/gateway/registry/agent.js'
import { agentAt, asked, calling, collect, fault, nowhere, serve, textsOf } from '../a2a/support/a2a.js'
import { cpuMs } from '../../../support/cpu-time.js'

const HOST = 'https://bedrock-agent-runtime.eu-central-1.amazonaws.com'
const SETTINGS = { agentId: 'AGENT1', aliasId: 'ALIAS1' }
const agent = agentAt(HOST, { provider: 'bedrock', settings: SETTINGS })
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const chunk = (text: string) => ({ chunk: { bytes: bytes(text) } })

/** A client like the official one, that answers each call with the next of `completions`, and what it was asked. */
function official(...completions: (AsyncIterable<object> | readonly object[] | Error)[]) {
  const inputs: InvokeAgentInput[] = []
  const signals: AbortSignal[] = []
  const client: BedrockAgentClient = {
    invokeAgent(input, { abortSignal }) {
      inputs.push(input)
      signals.push(abortSignal)
      const completion = completions.shift() ?? []
      if (completion instanceof Error) return Promise.reject(completion)
      return Promise.resolve({
        completion: Symbol.asyncIterator in completion ? completion : stream(completion),
      })
    },
  }
  return { provider: bedrock({ client }), client, inputs, signals }
}

/** The events, and then the error if there is one. */
async function* stream(events: readonly object[], end?: Error): AsyncGenerator<object, undefined> {
  yield* await Promise.resolve(events)
  if (end !== undefined) throw end
}

/** An error as the client throws it. */
function exception(name: string, status?: number): Error {
  const error = Object.assign(new Error('No such luck'), status && { $metadata: { httpStatusCode: status } })
  error.name = name
  return error
}

describe('an agent of InvokeAgent', () => {
  it('is asked in a session of the conversation, and completes with the end of its answer', async () => {
    const { provider, inputs } = official([chunk('Hello, '), chunk('you')])
    const done = await provider.sendTask(agent, asked('Hi'), calling())
    expect(inputs).toEqual([
      { agentId: 'AGENT1', agentAliasId: 'ALIAS1', sessionId: 'our-context', inputText: 'Hi' },
    ])
    expect(done).toEqual({
      ref: { sessionId: 'our-context' },
      state: 'completed',
      artifacts: [{ artifactId: 'answer', parts: [{ text: 'Hello, you' }] }],
    })
  })

  it('streams its text into one artifact, and reports nothing twice', async () => {
    const euro = bytes('€')
    const cut = [{ chunk: { bytes: euro.slice(0, 1) } }, { chunk: { bytes: euro.slice(1) } }]
    const { provider } = official([{ trace: { trace: {} } }, chunk('5 '), ...cut, { later: { text: 'new' } }])
    expect(await collect(provider.streamTask(agent, asked('Hi'), calling()))).toEqual([
      { ref: { sessionId: 'our-context' }, state: 'working' },
      { chunk: { artifactId: 'answer', parts: [{ text: '5 ' }] } },
      { chunk: { artifactId: 'answer', parts: [{ text: '€' }] } },
      { ref: { sessionId: 'our-context' }, state: 'completed' },
    ])
  })

  it('cites, and makes files', async () => {
    const attribution = { citations: [{ retrievedReferences: [{ content: { text: 'Page 1' } }] }] }
    const file = { name: 'a.csv', type: 'text/csv', bytes: bytes('a,b') }
    const { provider } = official([
      { chunk: { bytes: bytes('So'), attribution } },
      { files: { files: [file] } },
    ])
    const { artifacts } = await provider.sendTask(agent, asked('Hi'), calling())
    expect(artifacts).toEqual([
      { artifactId: 'answer', parts: [{ text: 'So', metadata: { attribution } }] },
      {
        ...{ artifactId: 'answer/a.csv', name: 'a.csv' },
        parts: [{ raw: btoa('a,b'), filename: 'a.csv', mediaType: 'text/csv' }],
      },
    ])
  })

  it('continues with the conversation, whatever it is called', async () => {
    const { provider, inputs } = official()
    const strange = asked('Hi', { contextId: 'über/uns' })
    const { ref } = await provider.sendTask(agent, strange, calling())
    await provider.sendTask(agent, { ...strange, id: 'other' }, calling())
    await provider.sendTask(agent, asked('Hi', { previous: ref }), calling())
    const [first, ...others] = inputs.map(({ sessionId }) => sessionId)
    expect(first).toMatch(/^context-[0-9a-f]{64}$/)
    expect(others).toEqual([first, first])
  })

  it('shares the session of an owner with no other owner', async () => {
    const { provider, inputs } = official()
    await provider.sendTask(agent, asked('Hi', { owner: 'alice', contextId: 'trip' }), calling())
    const contextId = inputs[0]?.sessionId ?? ''
    await provider.sendTask(agent, asked('Hi', { contextId }), calling())
    expect(contextId).toMatch(/^context-/)
    expect(inputs[1]?.sessionId).not.toBe(contextId)
  })

  it('receives its settings', async () => {
    const { provider, inputs } = official()
    const settings = { ...SETTINGS, memoryId: 'me', streamFinalResponse: true }
    await provider.sendTask(agentAt(HOST, { settings }), asked('Hi'), calling())
    expect(inputs[0]).toMatchObject({
      memoryId: 'me',
      streamingConfigurations: { streamFinalResponse: true },
    })
  })
})

describe('an agent that returns control', () => {
  const invocationInputs = [
    { functionInvocationInput: { actionGroup: 'Weather', function: 'now', parameters: [] } },
    { apiInvocationInput: { actionGroup: 'Orders', httpMethod: 'POST', apiPath: '/orders' } },
  ]
  const returned = [chunk('Let me see'), { returnControl: { invocationId: 'inv-1', invocationInputs } }]
  const results = [{ functionResult: { actionGroup: 'Weather', function: 'now' } }]
  const answer = (data: JsonValue) =>
    asked('', {
      message: {
        ...asked('').message,
        parts: [{ text: 'Here' }, { data }],
      },
      ref: { sessionId: 'our-context', invocationId: 'inv-1' },
    })

  it('asks with what it wants worked on', async () => {
    const { provider } = official(returned)
    expect(await provider.sendTask(agent, asked('Hi'), calling())).toEqual({
      ref: { sessionId: 'our-context', invocationId: 'inv-1' },
      state: 'input-required',
      artifacts: [{ artifactId: 'answer', parts: [{ text: 'Let me see' }] }],
      message: {
        parts: [
          { text: 'The agent asks for the results of Weather.now, Orders POST /orders' },
          { data: { invocationId: 'inv-1', invocationInputs } },
        ],
      },
    })
  })

  it.each([
    ['alone', results],
    ['with their name', { returnControlInvocationResults: results }],
  ])('continues with the results, %s, in its own artifact', async (_, data) => {
    const { provider, inputs } = official([chunk('Rain')])
    const done = await provider.sendTask(agent, answer(data), calling())
    expect(inputs).toEqual([
      {
        ...{ agentId: 'AGENT1', agentAliasId: 'ALIAS1', sessionId: 'our-context' },
        sessionState: { invocationId: 'inv-1', returnControlInvocationResults: results },
      },
    ])
    expect(done).toEqual({
      ref: { sessionId: 'our-context' },
      state: 'completed',
      artifacts: [{ artifactId: 'inv-1', parts: [{ text: 'Rain' }] }],
    })
  })

  it.each([[{}], [[]], [[{ result: {} }]], [[{ functionResult: {} }]]])(
    'still waits when %j is no result',
    async (data) => {
      const { provider, inputs } = official()
      const update = await provider.sendTask(agent, answer(data), calling())
      expect(update).toMatchObject({ state: 'input-required', ref: { invocationId: 'inv-1' } })
      expect(update.message).toMatch(/^Answer with a data part/)
      expect(inputs).toEqual([])
    },
  )

  it('still waits, and at once, when a million results are none', async () => {
    const { provider } = official()
    const data = Array<number>(1_000_000).fill(0)
    const send = async (): Promise<void> => {
      const update = await provider.sendTask(agent, answer(data), calling())
      expect(update.state).toBe('input-required')
    }
    expect(await cpuMs(send)).toBeLessThan(3_000)
  })

  it('is not understood when it does not say for what', async () => {
    const { provider } = official([{ returnControl: {} }])
    const error = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: false } })
  })
})

describe('what goes wrong at the service', () => {
  it.each([
    ['ThrottlingException', 429, true],
    ['ModelNotReadyException', 424, true],
    ['InternalServerException', 500, true],
    ['BadGatewayException', 502, true],
    ['DependencyFailedException', 424, true],
    ['ValidationException', 400, false],
    ['ResourceNotFoundException', 404, false],
    ['ServiceQuotaExceededException', 400, false],
    ['AccessDeniedException', 403, false],
    ['ConflictException', 409, false],
  ])('is reported: %s', async (name, status, retryable) => {
    const expected = { code: 'PROVIDER_ERROR', data: { retryable, reason: `${name}: No such luck` } }
    const member = name.charAt(0).toLowerCase() + name.slice(1)
    const inStream = { [member]: { message: 'No such luck' } }
    for (const completion of [exception(name, status), stream([chunk('a')], exception(name)), [inStream]]) {
      const { provider } = official(completion)
      expect(await fault(provider.sendTask(agent, asked('Hi'), calling()))).toMatchObject(expected)
    }
  })

  it('is passing when the connection fails, and not when there are no credentials', async () => {
    const { provider } = official(exception('TimeoutError'), exception('CredentialsProviderError'))
    const broken = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    expect(broken.data).toMatchObject({ retryable: true })
    const anonymous = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    expect(anonymous.data).toMatchObject({ retryable: false, reason: 'there are no AWS credentials' })
  })
})

describe('the end of a call', () => {
  /** A completion that never says more. */
  const silent: AsyncIterable<object> = {
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
  }

  it('is the end of the request', async () => {
    const { provider, signals } = official(silent)
    const controller = new AbortController()
    const updates = provider.streamTask(agent, asked('Hi'), controller)[Symbol.asyncIterator]()
    await updates.next()
    const next = updates.next()
    controller.abort(new Error('Enough'))
    await expect(next).rejects.toThrow('Enough')
    expect(signals[0]?.aborted).toBe(true)
  })

  it('comes before the request when it was aborted before', async () => {
    const { provider, inputs } = official()
    const signal = AbortSignal.abort(new Error('Enough'))
    await expect(provider.sendTask(agent, asked('Hi'), { signal })).rejects.toThrow('Enough')
    expect(inputs).toEqual([])
  })

  it('comes with leaving the stream', async () => {
    const { provider, signals } = official([chunk('a'), chunk('b')])
    for await (const { chunk: received } of provider.streamTask(agent, asked('Hi'), calling()))
      if (received) break
    expect(signals[0]?.aborted).toBe(true)
  })

  it('comes with the time limit, and with too long a silence', async () => {
    const clock = new ManualClock()
    const never: BedrockAgentClient = { invokeAgent: () => new Promise(() => {}) }
    for (const client of [never, official(silent).client]) {
      const sent = fault(bedrock({ client, clock }).sendTask(agent, asked('Hi'), calling()))
      // It waits for the answer, or for the next event, before so many turns are over.
      for (let turn = 0; turn < 10; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve))
        clock.advance(300_000)
      }
      expect(await sent).toMatchObject({ data: { reason: 'it did not answer in time', retryable: true } })
    }
  })

  it('is all that stops a run: it can be neither asked for nor canceled', async () => {
    const { provider } = official()
    const ref = { sessionId: 'our-context' }
    expect(await fault(provider.getTask(agent, ref, calling()))).toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
    })
    expect(await fault(provider.cancelTask(agent, ref, calling()))).toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
    })
  })
})

describe('an agent that is not set up right', () => {
  const refusal = (given: RegisteredAgent, task = asked('Hi')) =>
    fault(official().provider.sendTask(given, task, calling()))

  it('is at the host of the agents where the URL is that of the models, as in the document', async () => {
    const urls: string[] = []
    const { provider } = official()
    const own = bedrock({
      client: ({ endpoint }) => {
        urls.push(endpoint.url)
        throw new Error('Enough')
      },
      fetch: (url) => {
        urls.push(url)
        return Promise.resolve(new Response())
      },
    })
    for (const host of ['bedrock-runtime.us-east-1', 'bedrock-runtime-fips.us-gov-west-1']) {
      const agent = agentAt(`https://${host}.amazonaws.com/`, { settings: SETTINGS })
      expect(() => provider.checkAgent?.(agent)).not.toThrow()
      await fault(own.sendTask(agent, asked('Hi'), calling()))
      expect(await own.healthCheck(agent, calling())).toBe('online')
    }
    expect(urls).toEqual([
      'https://bedrock-agent-runtime.us-east-1.amazonaws.com/',
      'https://bedrock-agent-runtime.us-east-1.amazonaws.com/',
      'https://bedrock-agent-runtime-fips.us-gov-west-1.amazonaws.com/',
      'https://bedrock-agent-runtime-fips.us-gov-west-1.amazonaws.com/',
    ])
  })

  it('has an error with the right host', async () => {
    const error = await refusal(agentAt('https://bedrock.us-east-1.amazonaws.com'))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path: 'endpoint.url' } })
    expect(error.message).toContain('must be https://bedrock-agent-runtime.us-east-1.amazonaws.com')
  })

  it('in AgentCore, too', async () => {
    const settings = { runtimeArn: 'arn:aws:bedrock-agentcore:us-east-1:1:runtime/x' }
    const error = await refusal(agentAt(HOST, { settings }))
    expect(error.message).toContain('must be https://bedrock-agentcore.eu-central-1.amazonaws.com')
  })

  it.each([
    ['settings.agentId', { settings: {} }],
    ['settings.aliasId', { settings: { agentId: 'AGENT1', aliasId: '' } }],
    ['settings.memoryId', { settings: { ...SETTINGS, memoryId: 1 } }],
    ['settings.alias', { settings: { ...SETTINGS, alias: 'ALIAS1' } }],
  ])('has an error for %s, even before a task', async (path, more) => {
    const given = agentAt(HOST, more)
    expect(await refusal(given)).toMatchObject({ code: 'INVALID_PARAMS', data: { path } })
    expect(() => official().provider.checkAgent?.(given)).toThrow(new RegExp(`^${path} `))
  })

  it('has no error when nothing is wrong', () => {
    expect(() => official().provider.checkAgent?.(agent)).not.toThrow()
    expect(() => bedrock().checkAgent?.(agent)).not.toThrow()
  })

  it('has an error for credentials that are not of AWS', async () => {
    const auth = { apply: () => undefined }
    const error = await refusal({ ...agent, endpoint: { ...agent.endpoint, auth } })
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path: 'endpoint.auth' } })
  })

  it('takes texts only', async () => {
    expect(await refusal(agent, asked(''))).toMatchObject({ data: { path: 'message.parts' } })
  })

  it('has an error that names the missing region or package', async () => {
    const own = agentAt('https://bedrock.internal', { settings: SETTINGS })
    expect(await fault(bedrock().sendTask(own, asked('Hi'), calling()))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'settings.region' },
    })
    expect(() => bedrock().checkAgent?.(own)).toThrow(/^settings\.region must name the region/)
    expect(() => official().provider.checkAgent?.(own)).not.toThrow()
    const error = await fault(bedrock().sendTask(agent, asked('Hi'), calling()))
    expect(error).toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    expect(error.message).toContain('npm install @aws-sdk/client-bedrock-agent-runtime')
  })
})

describe('the health of an agent', () => {
  it.each([
    [404, 'online'],
    [403, 'online'],
    [503, 'degraded'],
  ])('is by whether the service is there: %i is %s', async (status, expected) => {
    const url = await serve(() => (_, response) => response.writeHead(status).end())
    const { provider, inputs } = official()
    expect(await provider.healthCheck(agentAt(url, { settings: SETTINGS }), calling())).toBe(expected)
    expect(inputs).toEqual([])
  })

  it('is not known of one that is not set up right', async () => {
    const there = agentAt(HOST)
    expect(await fault(official().provider.healthCheck(there, calling()))).toMatchObject({
      code: 'INVALID_PARAMS',
    })
  })

  it('is offline if it cannot be reached', async () => {
    const there = agentAt(await nowhere(), { settings: SETTINGS })
    expect(await official().provider.healthCheck(there, calling())).toBe('offline')
  })
})

it('passes each agent to the function that makes clients', async () => {
  const { client, inputs } = official([chunk('Hi')])
  const seen: string[] = []
  const provider = bedrock({
    client: ({ id }) => {
      seen.push(id)
      return client
    },
  })
  expect(textsOf(await provider.sendTask(agent, asked('Hi'), calling()))).toEqual(['Hi'])
  expect([seen, inputs.length]).toEqual([['agent-1'], 1])
})
