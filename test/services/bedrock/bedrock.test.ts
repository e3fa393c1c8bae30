import { afterEach, beforeEach, expect, it } from 'vitest'
import { isInstalled, loadService, skipMissing, whenInstalled } from '../installed.js'
import { DISCONNECT } from '../stub-server.js'
import { EXCEPTIONS, startBedrockStub, type BedrockStub, type ExceptionName } from './bedrock-stub.js'

const PACKAGES = ['@aws-sdk/client-bedrock-agent-runtime', '@smithy/node-http-handler']

/** What is used of the official client. */
interface Client {
  send(command: object, options?: { abortSignal: AbortSignal }): Promise<Output>
  destroy(): void
}
interface Output {
  readonly completion: AsyncIterable<Record<string, Readonly<Record<string, unknown>>>>
  readonly sessionId: string
  readonly contentType: string
  readonly memoryId?: string
}
interface Sdk {
  readonly BedrockAgentRuntimeClient: new (options: object) => Client
  readonly InvokeAgentCommand: new (input: object) => object
}
interface Handlers {
  readonly NodeHttpHandler: new () => object
}

let stub: BedrockStub
beforeEach(async () => {
  stub = await startBedrockStub()
})
afterEach(() => stub.stop())

whenInstalled(PACKAGES, 'the Bedrock stub, as the official client sees it', () => {
  it('accepts the signature of the official client, and answers chunks, traces and returned control in their order', async () => {
    const returnControl = {
      invocationId: 'i-1',
      invocationInputs: [
        {
          functionInvocationInput: {
            actionGroup: 'weather',
            function: 'lookUp',
            parameters: [{ name: 'city', type: 'string', value: 'Bern' }],
          },
        },
      ],
    }
    const trace = { sessionId: 's:1', trace: { failureTrace: { traceId: 't', failureReason: 'none' } } }
    stub.script('Grüezi', { trace }, { returnControl }, ' wohl')
    const output = await invoke({ sessionId: 's:1', memoryId: 'm-1', enableTrace: true })
    expect(output).toMatchObject({ sessionId: 's:1', memoryId: 'm-1', contentType: 'application/json' })
    const events = await eventsOf(output)
    expect(events.map((event) => Object.keys(event)[0])).toEqual(['chunk', 'trace', 'returnControl', 'chunk'])
    expect(events.map(textOf).join('')).toBe('Grüezi wohl')
    expect(events[1]).toMatchObject({ trace })
    expect(events[2]).toEqual({ returnControl })
  })

  it('sees the request that the client sends', async () => {
    const sessionState = {
      invocationId: 'i-1',
      returnControlInvocationResults: [
        {
          functionResult: {
            actionGroup: 'weather',
            function: 'lookUp',
            responseBody: { TEXT: { body: 'sunny' } },
          },
        },
      ],
    }
    await eventsOf(await invoke({ sessionId: 's:1', inputText: undefined, sessionState, endSession: true }))
    const [request] = stub.requests
    expect(request).toMatchObject({
      method: 'POST',
      path: '/agents/AGENT1/agentAliases/ALIAS1/sessions/s%3A1/text',
      body: { sessionState, endSession: true },
      headers: { 'content-type': 'application/json', 'x-amz-security-token': stub.credentials.sessionToken },
    })
    expect(request?.headers['authorization']).toContain('/us-east-1/bedrock/aws4_request')
  })

  it.each(Object.keys(EXCEPTIONS) as ExceptionName[])(
    'throws %s, over HTTP and within the stream',
    async (name) => {
      stub.refuseNext(name, 'over HTTP')
      const thrown = { name, message: 'over HTTP', $metadata: { httpStatusCode: EXCEPTIONS[name] } }
      await expect(invoke()).rejects.toMatchObject(thrown)
      stub.script('so far', { exception: name, message: 'within' })
      await expect(invoke().then(eventsOf)).rejects.toMatchObject({ name, message: 'within' })
    },
  )

  it('throws an error of the stream that the model does not know', async () => {
    stub.script('so far', { error: 'Surprise', message: 'not modelled' })
    await expect(invoke().then(eventsOf)).rejects.toMatchObject({ name: 'Surprise', message: 'not modelled' })
  })

  it.each([
    ['another secret', { secretAccessKey: 'wrong' }, 'us-east-1'],
    ['another key', { accessKeyId: 'AKIDOTHER' }, 'us-east-1'],
    ['another session token', { sessionToken: 'other' }, 'us-east-1'],
    ['another region', {}, 'eu-west-1'],
  ])('refuses a signature with %s', async (_, credentials, region) => {
    const refused = { name: 'InvalidSignatureException', $metadata: { httpStatusCode: 403 } }
    await expect(
      invoke({}, { region, credentials: { ...stub.credentials, ...credentials } }),
    ).rejects.toMatchObject(refused)
  })

  it('says which agent it does not have, and which session id it does not take', async () => {
    await expect(invoke({ agentId: 'OTHER' })).rejects.toMatchObject({ name: 'ResourceNotFoundException' })
    await expect(invoke({ sessionId: 'a b' })).rejects.toMatchObject({ name: 'ValidationException' })
  })

  it('fails a stream that is cut', async () => {
    let proceed = (): void => {}
    stub.script('so far', new Promise<void>((resolve) => (proceed = resolve)), DISCONNECT)
    const { completion } = await invoke()
    const events = completion[Symbol.asyncIterator]()
    expect(textOf((await events.next()).value as Record<string, Record<string, unknown>>)).toBe('so far')
    proceed()
    await expect(events.next()).rejects.toThrow()
  })

  it('sees that the client leaves', async () => {
    const leave = new AbortController()
    stub.script('so far', new Promise(() => {}))
    const { completion } = await invoke({}, {}, leave.signal)
    const reading = (async () => {
      for await (const event of completion) if (textOf(event) === 'so far') leave.abort()
    })()
    await expect(reading).rejects.toThrow()
    expect(await stub.requests[0]?.abandoned).toBe(true)
  })
})

if (!isInstalled(...PACKAGES)) {
  it('the Bedrock stub is proved by the official client', (context) => skipMissing(context, ...PACKAGES))
}

async function invoke(input: object = {}, options: object = {}, abortSignal?: AbortSignal): Promise<Output> {
  const { BedrockAgentRuntimeClient, InvokeAgentCommand } = await loadService<Sdk>(
    '@aws-sdk/client-bedrock-agent-runtime',
  )
  const { NodeHttpHandler } = await loadService<Handlers>('@smithy/node-http-handler')
  const client = new BedrockAgentRuntimeClient({
    region: stub.region,
    endpoint: stub.url,
    credentials: stub.credentials,
    // Its own is for HTTP/2, which the stub does not speak.
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
    ...options,
  })
  const { agentId, agentAliasId } = stub
  const command = new InvokeAgentCommand({
    agentId,
    agentAliasId,
    sessionId: 's1',
    inputText: 'Hi',
    ...input,
  })
  return client.send(command, abortSignal && { abortSignal })
}

async function eventsOf({ completion }: Output): Promise<Record<string, Record<string, unknown>>[]> {
  const events = []
  for await (const event of completion) events.push(event)
  return events
}

function textOf({ chunk }: Readonly<Record<string, Readonly<Record<string, unknown>>>>): string {
  return new TextDecoder().decode(chunk?.['bytes'] as Uint8Array | undefined)
}
