/** AgentCore Runtime: the real container, reached by the official client, by a signer, and with a token. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bearerAuth } from 'a2a-tasks/client'
import type { RegisteredAgent } from '../../../../src/gateway/registry/agent.js'
import type { AgentProvider } from '../../../../src/gateway/provider.js'
import type { AgentCoreClient } from '../../../../src/gateway/providers/aws/agentcore-client.js'
import { bedrockAgentCore } from '../../../../src/gateway/providers/aws/agentcore.js'
import {
  AGENTCORE_PACKAGES,
  startAgentCore,
  type AgentCore,
} from '../../../services/agentcore/start-agentcore.js'
import { isInstalled, loadService, skipMissing } from '../../../services/installed.js'
import { agentAt, asked, calling, collect, fault, textsOf } from '../a2a/support/a2a.js'

interface ClientModule {
  readonly BedrockAgentCore: new (options: object) => AgentCoreClient & { destroy(): void }
}
interface SignerModule {
  readonly AwsClient: new (options: object) => {
    sign(url: string, init: object): Promise<{ readonly headers: Headers }>
  }
}

const CONTEXT = '0b9d5b5e-6a3b-4e52-9d6b-1d0c2c6b7a10'
const ask = (text: string) => asked(text, { contextId: CONTEXT })

if (!isInstalled(...AGENTCORE_PACKAGES))
  test('AgentCore is not installed', (context) => {
    skipMissing(context, ...AGENTCORE_PACKAGES)
  })
else describe('AgentCore', container)

function container(): void {
  const token = 'secret-token'
  let signed: AgentCore
  let tokened: AgentCore
  let sdk: ClientModule & SignerModule
  // A container takes its time to start.
  beforeAll(async () => {
    ;[signed, tokened] = await Promise.all([startAgentCore(), startAgentCore({ token })])
    sdk = {
      ...(await loadService<ClientModule>('@aws-sdk/client-bedrock-agentcore')),
      ...(await loadService<SignerModule>('aws4fetch')),
    }
  }, 60_000)
  afterAll(async () => {
    await signed.stop()
    await tokened.stop()
  })

  interface Reached {
    readonly provider: AgentProvider
    readonly agent: RegisteredAgent
    readonly core: AgentCore
  }

  const WAYS: Readonly<Record<string, (runtimeArn?: string) => Reached>> = {
    'the official client': (runtimeArn = signed.arn) => {
      const { url: endpoint, region, credentials } = signed
      const client = new sdk.BedrockAgentCore({ endpoint, region, credentials, maxAttempts: 1 })
      onTestFinished(() => client.destroy())
      const agent = agentAt(endpoint, { settings: { runtimeArn } })
      return { provider: bedrockAgentCore({ client }), agent, core: signed }
    },
    'a signer': (runtimeArn = signed.arn) => {
      const { url, region, credentials } = signed
      const signer = new sdk.AwsClient({ ...credentials, region, service: 'bedrock-agentcore' })
      const provider = bedrockAgentCore({
        async authorize({ method, url: target, headers, body }) {
          const { headers: made } = await signer.sign(target.href, { method, headers, body })
          for (const name of ['authorization', 'x-amz-date']) headers.set(name, made.get(name) ?? '')
        },
      })
      return { provider, agent: agentAt(url, { settings: { runtimeArn } }), core: signed }
    },
    'a token': (runtimeArn = tokened.arn) => {
      const agent = agentAt(tokened.url, { settings: { runtimeArn } })
      const endpoint = { ...agent.endpoint, auth: bearerAuth(token) }
      return { provider: bedrockAgentCore(), agent: { ...agent, endpoint }, core: tokened }
    },
  }

  describe.each(Object.keys(WAYS))('with %s', (name) => {
    const way = (runtimeArn?: string): Reached => {
      const found = WAYS[name]
      if (found === undefined) throw new Error(`No way ${name}`)
      return found(runtimeArn)
    }

    test.each([
      ['Hello', 'You said: Hello'],
      ['response', 'In a list'],
      ['text', 'Plain text'],
      ['json text', 'Text in JSON'],
      ['stream', 'one two three'],
      ['words', 'one two three'],
      ['strands', 'Hello, you'],
    ])('answers %s', async (prompt, text) => {
      const { provider, agent } = way()
      const done = await provider.sendTask(agent, ask(prompt), calling())
      expect([done.state, textsOf(done), done.ref]).toEqual(['completed', [text], { sessionId: CONTEXT }])
    })

    test('is in the session of the conversation', async () => {
      const { provider, agent } = way()
      expect((await provider.sendTask(agent, ask('who'), calling())).output).toMatchObject({
        sessionId: CONTEXT,
      })
    })

    test('streams as it works', async () => {
      const { provider, agent } = way()
      const updates = await collect(provider.streamTask(agent, ask('stream'), calling()))
      expect(updates.filter(({ chunk }) => chunk !== undefined)).toHaveLength(3)
    })

    test('fails, at once and in the stream', async () => {
      const { provider, agent } = way()
      const error = await fault(provider.sendTask(agent, ask('fail'), calling()))
      expect(error).toMatchObject({ code: 'PROVIDER_ERROR', data: { status: 424, retryable: false } })
      const late = await provider.sendTask(agent, ask('fail late'), calling())
      expect(late).toMatchObject({ state: 'failed', failure: { code: 'error' }, message: 'The agent failed' })
    })

    test('is stopped', async () => {
      const { provider, agent, core } = way()
      const updates = provider.streamTask(agent, ask('hold stream'), calling())[Symbol.asyncIterator]()
      const { ref } = (await updates.next()).value as { ref: { sessionId: string } }
      expect((await updates.next()).value).toMatchObject({ chunk: { parts: [{ text: 'Working' }] } })
      expect(await provider.cancelTask(agent, ref, calling())).toEqual({ state: 'canceled' })
      expect(core.running(CONTEXT)).toBe(0)
      await expect(updates.next()).rejects.toMatchObject({
        code: 'PROVIDER_ERROR',
        data: { retryable: true },
      })
      expect(await provider.cancelTask(agent, ref, calling())).toEqual({ state: 'canceled' })
    })

    test('reports unknown runtimes, and throttling', async () => {
      const { provider, agent } = way('arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/none')
      const none = await fault(provider.sendTask(agent, ask('Hello'), calling()))
      expect(none).toMatchObject({ code: 'PROVIDER_ERROR', data: { status: 404, retryable: false } })
      const reached = way()
      reached.core.failNext(429, 'ThrottlingException', 'Rate exceeded')
      const throttled = await fault(reached.provider.sendTask(reached.agent, ask('Hello'), calling()))
      expect(throttled).toMatchObject({ code: 'PROVIDER_ERROR', data: { status: 429, retryable: true } })
    })

    test('is there', async () => {
      const { provider, agent } = way()
      expect(await provider.healthCheck(agent, calling())).toBe('online')
    })
  })
}
