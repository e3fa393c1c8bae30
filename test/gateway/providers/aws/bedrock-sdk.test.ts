/** InvokeAgent as the official client speaks it, to a service that checks signatures and frames its answers. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bedrock } from '../../../../src/gateway/providers/aws/bedrock.js'
import type { BedrockAgentClient } from '../../../../src/gateway/providers/aws/bedrock-client.js'
import { startBedrockStub, type BedrockStub } from '../../../services/bedrock/bedrock-stub.js'
import { DISCONNECT } from '../../../services/stub-server.js'
import { isInstalled, loadService, skipMissing } from '../../../services/installed.js'
import { agentAt, asked, calling, collect, fault, textsOf } from '../a2a/support/a2a.js'

const PACKAGES = ['@aws-sdk/client-bedrock-agent-runtime', '@smithy/node-http-handler']

interface ClientModule {
  readonly BedrockAgentRuntime: new (options: object) => BedrockAgentClient & { destroy(): void }
}
interface HandlerModule {
  readonly NodeHttpHandler: new () => object
}

if (!isInstalled(...PACKAGES))
  test('The client of Bedrock is not installed', (context) => {
    skipMissing(context, ...PACKAGES)
  })
else describe('the official client of Bedrock', official)

function official(): void {
  let stub: BedrockStub
  let sdk: ClientModule & HandlerModule
  beforeAll(async () => {
    stub = await startBedrockStub()
    sdk = {
      ...(await loadService<ClientModule>('@aws-sdk/client-bedrock-agent-runtime')),
      ...(await loadService<HandlerModule>('@smithy/node-http-handler')),
    }
  }, 60_000)
  afterAll(() => stub.stop())

  function at(aliasId = stub.agentAliasId) {
    const { url: endpoint, region, credentials, agentId } = stub
    // Its own way is HTTP/2, which the stub does not speak.
    const requestHandler = new sdk.NodeHttpHandler()
    const client = new sdk.BedrockAgentRuntime({
      ...{ endpoint, region, credentials, requestHandler, maxAttempts: 1 },
    })
    onTestFinished(() => client.destroy())
    return { provider: bedrock({ client }), agent: agentAt(endpoint, { settings: { agentId, aliasId } }) }
  }

  test('streams text, cut where it may be', async () => {
    const euro = Buffer.from('€')
    const cut = [euro.subarray(0, 1), euro.subarray(1)].map((part) => ({
      chunk: { bytes: part.toString('base64') },
    }))
    stub.script('5 ', ...cut, { trace: { sessionId: 'x' } })
    const { provider, agent } = at()
    const updates = await collect(provider.streamTask(agent, asked('Hi'), calling()))
    expect(updates).toEqual([
      { ref: { sessionId: 'our-context' }, state: 'working' },
      { chunk: { artifactId: 'answer', parts: [{ text: '5 ' }] } },
      { chunk: { artifactId: 'answer', parts: [{ text: '€' }] } },
      { ref: { sessionId: 'our-context' }, state: 'completed' },
    ])
    expect(stub.requests.at(-1)).toMatchObject({
      path: '/agents/AGENT1/agentAliases/ALIAS1/sessions/our-context/text',
      body: { inputText: 'Hi' },
    })
  })

  test('cites, and makes files', async () => {
    const attribution = { citations: [{ retrievedReferences: [{ content: { text: 'Page 1' } }] }] }
    const bytes = Buffer.from('a,b').toString('base64')
    stub.script(
      { chunk: { bytes: Buffer.from('So').toString('base64'), attribution } },
      { files: { files: [{ name: 'a.csv', type: 'text/csv', bytes }] } },
    )
    const { provider, agent } = at()
    const { artifacts } = await provider.sendTask(agent, asked('Hi'), calling())
    expect(artifacts).toMatchObject([
      { parts: [{ text: 'So', metadata: { attribution } }] },
      { parts: [{ raw: bytes, filename: 'a.csv', mediaType: 'text/csv' }] },
    ])
  })

  test('returns control, and takes the results', async () => {
    const invocationInputs = [{ functionInvocationInput: { actionGroup: 'Weather', function: 'now' } }]
    stub.script({ returnControl: { invocationId: 'inv-1', invocationInputs } })
    const { provider, agent } = at()
    const asking = await provider.sendTask(agent, asked('Hi'), calling())
    expect(asking).toMatchObject({
      state: 'input-required',
      message: { parts: [{}, { data: { invocationId: 'inv-1', invocationInputs } }] },
    })
    const responseBody = { TEXT: { body: '20°' } }
    const returnControlInvocationResults = [
      { functionResult: { actionGroup: 'Weather', function: 'now', responseBody } },
    ]
    const message = { ...asked('').message, parts: [{ data: { returnControlInvocationResults } }] }
    stub.script('Warm')
    const done = await provider.sendTask(agent, asked('', { message, ref: asking.ref }), calling())
    expect([done.state, textsOf(done)]).toEqual(['completed', ['Warm']])
    expect(stub.requests.at(-1)?.body).toEqual({
      sessionState: { invocationId: 'inv-1', returnControlInvocationResults },
    })
  })

  test.each([
    ['ThrottlingException', 429, true],
    ['ModelNotReadyException', 424, true],
    ['DependencyFailedException', 424, true],
    ['ValidationException', 400, false],
    ['AccessDeniedException', 403, false],
  ] as const)('reports %s, at once and in the stream', async (name, status, retryable) => {
    const { provider, agent } = at()
    stub.refuseNext(name, 'No such luck')
    const refused = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    const reason = `${name}: No such luck`
    expect(refused).toMatchObject({ code: 'PROVIDER_ERROR', data: { status, retryable, reason } })
    stub.script('So far', { exception: name, message: 'No such luck' })
    const late = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    expect(late).toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable, reason } })
  })

  test('reports unknown agents', async () => {
    const { provider, agent } = at('OTHER')
    const error = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { status: 404, retryable: false } })
  })

  test('reports a connection that breaks', async () => {
    stub.script('So far', DISCONNECT)
    const { provider, agent } = at()
    const error = await fault(provider.sendTask(agent, asked('Hi'), calling()))
    const data = { retryable: true, reason: 'Error: aborted' }
    expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data })
  })

  test('leaves when the call is aborted, or the stream left', async () => {
    const { provider, agent } = at()
    const controller = new AbortController()
    for (const leave of [() => controller.abort(new Error('Enough')), undefined]) {
      stub.script('So far', new Promise(() => {}))
      const signal = leave === undefined ? calling().signal : controller.signal
      const updates = provider.streamTask(agent, asked('Hi'), { signal })[Symbol.asyncIterator]()
      await updates.next()
      expect((await updates.next()).value).toMatchObject({ chunk: { parts: [{ text: 'So far' }] } })
      if (leave === undefined) await updates.return?.()
      else {
        leave()
        await expect(updates.next()).rejects.toThrow('Enough')
      }
      expect(await stub.requests.at(-1)?.abandoned).toBe(true)
    }
  })
}
