/** The stand-in for AgentCore's data plane is faithful: the official client, and other signers, can use it. */
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../support/browser.js'
import { isInstalled, loadService, skipMissing } from '../installed.js'
import {
  type AgentCore,
  AGENTCORE_PACKAGES,
  type AgentCoreOptions,
  startAgentCore,
} from './start-agentcore.js'

/** What is used of `@aws-sdk/client-bedrock-agentcore`. */
interface ClientModule {
  readonly BedrockAgentCoreClient: new (options: object) => Client
  readonly InvokeAgentRuntimeCommand: new (input: object) => object
  readonly StopRuntimeSessionCommand: new (input: object) => object
  readonly GetAgentCardCommand: new (input: object) => object
}
interface Client {
  send(command: object, options?: { readonly abortSignal?: AbortSignal }): Promise<Answer>
  destroy(): void
}
interface Answer {
  readonly contentType?: string
  readonly runtimeSessionId?: string
  readonly statusCode?: number
  readonly agentCard?: object
  readonly response?: AsyncIterable<Uint8Array> & { transformToString(): Promise<string>; destroy(): void }
}
/** What is used of `aws4fetch`. */
interface SignerModule {
  readonly AwsClient: new (options: object) => { sign(url: string, init: object): Promise<Request> }
}

const SESSION = 'session-'.padEnd(40, '0')

if (!isInstalled(...AGENTCORE_PACKAGES))
  test('AgentCore is not installed', (context) => {
    skipMissing(context, ...AGENTCORE_PACKAGES)
  })
else describe('AgentCore', agentCore)

function agentCore(): void {
  let core: AgentCore
  let sdk: ClientModule
  beforeAll(async () => {
    core = await startAgentCore()
    sdk = await loadService<ClientModule>('@aws-sdk/client-bedrock-agentcore')
  })
  afterAll(() => core.stop())

  function client(options: object = {}): Client {
    const { url: endpoint, region, credentials } = core
    const made = new sdk.BedrockAgentCoreClient({ endpoint, region, credentials, maxAttempts: 1, ...options })
    onTestFinished(() => {
      made.destroy()
    })
    return made
  }

  function invocation(prompt: string, input: object = {}): object {
    return new sdk.InvokeAgentRuntimeCommand({
      agentRuntimeArn: core.arn,
      runtimeSessionId: SESSION,
      qualifier: 'DEFAULT',
      contentType: 'application/json',
      accept: 'application/json, text/event-stream',
      payload: new TextEncoder().encode(JSON.stringify({ prompt })),
      ...input,
    })
  }

  test('answers an invocation with JSON, and the session', async () => {
    const answer = await client().send(invocation('hi'))
    expect(answer).toMatchObject({ statusCode: 200, runtimeSessionId: SESSION })
    expect(answer.contentType).toMatch(/^application\/json/)
    const text = await answer.response?.transformToString()
    expect(text).toBe('{"result":{"role":"assistant","content":[{"text":"You said: hi"}]}}')
  })

  test('gives the container the session, and not the signature', async () => {
    const { response } = await client().send(invocation('who'))
    expect(JSON.parse((await response?.transformToString()) ?? '')).toEqual({
      sessionId: SESSION,
      headers: {},
    })
  })

  test('makes a session where none is named', async () => {
    const { runtimeSessionId } = await client().send(invocation('hi', { runtimeSessionId: undefined }))
    expect(runtimeSessionId).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('streams server-sent events', async () => {
    const { response, contentType } = await client().send(invocation('stream'))
    expect(contentType).toBe('text/event-stream')
    expect(await response?.transformToString()).toBe(
      'data: {"text":"one "}\n\ndata: {"text":"two "}\n\ndata: {"text":"three"}\n\n',
    )
  })

  test('stops what runs in a session, once', async () => {
    const runtimeSessionId = 'stopped-'.padEnd(40, '0')
    const { response } = await client().send(invocation('hold stream', { runtimeSessionId }))
    const chunks = response?.[Symbol.asyncIterator]()
    expect(new TextDecoder().decode((await chunks?.next())?.value as Uint8Array)).toContain('Working')
    expect(core.running(runtimeSessionId)).toBe(1)
    const input = { agentRuntimeArn: core.arn, runtimeSessionId }
    const stopped = await client().send(new sdk.StopRuntimeSessionCommand(input))
    expect(stopped).toMatchObject({ statusCode: 200, runtimeSessionId })
    await expect(chunks?.next()).rejects.toThrow('aborted')
    expect(core.running(runtimeSessionId)).toBe(0)
    await expect(client().send(new sdk.StopRuntimeSessionCommand(input))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      $metadata: { httpStatusCode: 404 },
    })
  })

  test('stops twice with the same token as once', async () => {
    const runtimeSessionId = 'repeated-'.padEnd(40, '0')
    await client().send(invocation('hi', { runtimeSessionId }))
    const clientToken = 'token-'.padEnd(40, '0')
    for (const attempt of [1, 2]) {
      const input = { agentRuntimeArn: core.arn, runtimeSessionId, clientToken }
      const answer = await client().send(new sdk.StopRuntimeSessionCommand(input))
      expect([attempt, answer.statusCode]).toEqual([attempt, 200])
    }
  })

  test('ends what runs when its caller leaves', async () => {
    const runtimeSessionId = 'left-'.padEnd(40, '0')
    const controller = new AbortController()
    const { response } = await client().send(invocation('hold stream', { runtimeSessionId }), {
      abortSignal: controller.signal,
    })
    await response?.[Symbol.asyncIterator]().next()
    const abandoned = core.requests.at(-1)?.abandoned
    controller.abort()
    // The client ends the request itself once its answer is no longer wanted.
    response?.destroy()
    expect(await abandoned).toBe(true)
    await expect.poll(() => core.running(runtimeSessionId)).toBe(0)
  })

  test('gives the card of an A2A runtime, and passes its messages on', async () => {
    const server = createServer((request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ name: 'Real', asked: `${request.method ?? ''} ${request.url ?? ''}` }))
    })
    const a2a = await started({ a2aUrl: await listen(server) })
    const agentRuntimeArn = a2a.a2aArn
    const { agentCard } = await client({ endpoint: a2a.url }).send(
      new sdk.GetAgentCardCommand({ agentRuntimeArn }),
    )
    expect(agentCard).toEqual({ name: 'Real', asked: 'GET /.well-known/agent-card.json' })
    const { response } = await client({ endpoint: a2a.url }).send(invocation('hi', { agentRuntimeArn }))
    expect(await response?.transformToString()).toContain('POST /')
  })

  test.each([
    ['an agent that fails', 'fail', {}, 'RuntimeClientError', 424],
    ['an agent that can only stream', 'stream', { accept: 'application/json' }, 'RuntimeClientError', 424],
    [
      'a runtime that there is not',
      'hi',
      { agentRuntimeArn: 'arn:unknown' },
      'ResourceNotFoundException',
      404,
    ],
    ['an endpoint that there is not', 'hi', { qualifier: 'prod' }, 'ResourceNotFoundException', 404],
    ['a session of 32 characters', 'hi', { runtimeSessionId: '0'.repeat(32) }, 'ValidationException', 400],
    ['a session of 257 characters', 'hi', { runtimeSessionId: '0'.repeat(257) }, 'ValidationException', 400],
  ])('refuses %s with a typed error', async (_, prompt, input, name, httpStatusCode) => {
    const answer = client().send(invocation(prompt, input))
    await expect(answer).rejects.toMatchObject({ name, $metadata: { httpStatusCode } })
  })

  test.each([
    ['key', { accessKeyId: 'AKIAOTHER' }],
    ['secret', { secretAccessKey: 'other' }],
  ])('refuses a signature with another %s', async (_, other) => {
    const answer = client({ credentials: { ...core.credentials, ...other } }).send(invocation('hi'))
    await expect(answer).rejects.toMatchObject({
      name: 'InvalidSignatureException',
      $metadata: { httpStatusCode: 403 },
    })
  })

  test('fails the next request on demand', async () => {
    core.failNext(429, 'ThrottlingException', 'Rate exceeded')
    await expect(client().send(invocation('hi'))).rejects.toMatchObject({
      name: 'ThrottlingException',
      message: 'Rate exceeded',
    })
  })

  async function post(prompt: string, options: object, change: RequestInit = {}): Promise<Response> {
    const { AwsClient } = await loadService<SignerModule>('aws4fetch')
    const aws = new AwsClient({ ...core.credentials, region: core.region, ...options })
    const headers = {
      'content-type': 'application/json',
      'x-amzn-bedrock-agentcore-runtime-session-id': SESSION,
    }
    const url = `${core.url}/runtimes/${encodeURIComponent(core.arn)}/invocations?qualifier=DEFAULT`
    const body = JSON.stringify({ prompt })
    return fetch(new Request(await aws.sign(url, { method: 'POST', headers, body }), change))
  }

  test('knows the signatures of another signer', async () => {
    expect((await post('hi', { service: 'bedrock-agentcore' })).status).toBe(200)
  })

  test('refuses a signature for another service, or another body', async () => {
    const service = await post('hi', { service: 'bedrock' })
    expect([service.status, service.headers.get('x-amzn-errortype')]).toEqual([
      403,
      'InvalidSignatureException',
    ])
    const body = await post('hi', { service: 'bedrock-agentcore' }, { body: '{"prompt":"ho"}' })
    expect(body.status).toBe(403)
  })

  test('accepts a bearer token instead of signatures if it is configured so', async () => {
    const { url, arn } = await started({ token: 'secret' })
    const statuses = ['Bearer secret', 'Bearer other', ''].map(async (authorization) => {
      const path = `/runtimes/${encodeURIComponent(arn)}/invocations`
      return (await fetch(url + path, { method: 'POST', headers: { authorization }, body: '{}' })).status
    })
    expect(await Promise.all(statuses)).toEqual([200, 401, 403])
  })
}

async function started(options: AgentCoreOptions): Promise<AgentCore> {
  const core = await startAgentCore(options)
  onTestFinished(() => core.stop())
  return core
}
