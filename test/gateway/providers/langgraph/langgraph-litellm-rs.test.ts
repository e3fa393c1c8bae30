import { bearerAuth } from 'a2a-tasks/client'
import { afterEach, describe, expect, it } from 'vitest'
import { langGraph } from '../../../../src/gateway/providers/langgraph/provider.js'
import type { StubServer } from '../../../services/stub-server.js'
import {
  all,
  asked,
  bodyOf,
  lgAgent,
  lgStub,
  lgTask,
  sse,
  streaming,
  type Answers,
} from './support/langgraph.js'

const call = { signal: new AbortController().signal }
const provider = langGraph({ profile: 'litellm-rs' })
const stubs: StubServer[] = []
afterEach(() => Promise.all(stubs.splice(0).map((stub) => stub.stop())))

async function start(answers: Answers) {
  const stub = await lgStub(answers)
  stubs.push(stub)
  const endpoint = { url: stub.url, auth: bearerAuth('token'), timeoutMs: 5_000 }
  return { stub, agent: lgAgent(stub.url, { settings: {}, endpoint }) }
}

const OUTPUT = { messages: [{ role: 'assistant', content: 'Hello' }] }
const DONE = {
  state: 'completed',
  artifacts: [{ artifactId: 'response', name: 'response', parts: [{ text: 'Hello' }] }],
  output: OUTPUT,
}

describe('a server as the LiteLLM-RS document has it', () => {
  it('is sent a run, whose output is the result', async () => {
    const { stub, agent } = await start({ 'POST /runs': [200, { output: OUTPUT }] })
    const task = lgTask('hi', { metadata: { tags: ['x'] } })
    expect(await provider.sendTask(agent, task, call)).toEqual(DONE)
    expect(bodyOf(stub, '/runs')).toEqual({
      input: { messages: [{ role: 'user', content: 'hi' }], context: null },
      config: { tags: ['x'] },
    })
    await provider.sendTask(agent, lgTask([{ text: 'hi' }, { data: 7 }]), call)
    expect(stub.requests[1]?.body).toMatchObject({ input: { context: 7 }, config: { tags: [] } })
  })

  it('is asked for a run by the name that the server gave it, and cancels it, with the same credentials', async () => {
    const { stub, agent } = await start({
      'POST /runs': [200, { run_id: 'r 1', status: 'pending' }],
      'GET /runs/r%201': [200, { status: 'success', output: OUTPUT }],
      'POST /runs/r%201/cancel': [200, {}],
      'GET /health': [200, {}],
    })
    const { ref = {}, state } = await provider.sendTask(agent, lgTask('hi'), call)
    expect({ ref, state }).toEqual({ ref: { runId: 'r 1' }, state: 'submitted' })
    expect(await provider.getTask(agent, ref, call)).toEqual(DONE)
    expect(await provider.cancelTask(agent, ref, call)).toEqual({ state: 'canceled' })
    expect(await provider.healthCheck(agent, call)).toBe('online')
    expect(stub.requests.map(({ headers }) => headers.authorization)).toEqual(
      asked(stub).map(() => 'Bearer token'),
    )
  })

  it.each([
    [{ status: 'running' }, { state: 'working' }],
    [{ state: 'cancelled' }, { state: 'canceled' }],
    [{ status: 'interrupted' }, { state: 'canceled' }],
    [{ state: 'input_required' }, { state: 'input-required' }],
    [{ status: 'timeout' }, { state: 'failed', failure: { code: 'timeout', retryable: true } }],
    [
      { output: { __interrupt__: [{ value: 'Sure?' }] } },
      { state: 'input-required', message: { parts: [{ text: 'Sure?' }] } },
    ],
    [
      { __error__: { error: 'ValueError', message: 'secret' } },
      { state: 'failed', message: 'The run failed', failure: { code: 'ValueError', retryable: false } },
    ],
  ])('says %j with HTTP 200', async (answer, expected) => {
    const { agent } = await start({ 'GET /runs/r': [200, answer] })
    expect(await provider.getTask(agent, { runId: 'r' }, call)).toMatchObject(expected)
  })

  it.each([[{ status: 'dreaming' }], [{}], [{ output: null }], [[]]])(
    'that says %j says nothing known',
    async (answer) => {
      const { agent } = await start({ 'GET /runs/r': [200, answer] })
      const task = provider.getTask(agent, { runId: 'r' }, call)
      await expect(task).rejects.toMatchObject({ code: 'PROVIDER_ERROR' })
    },
  )

  it('does not know a run that is gone', async () => {
    const { agent } = await start({ 'GET /runs/r': [404, {}], 'POST /runs/r/cancel': [404, {}] })
    const unknown = { code: 'TASK_NOT_FOUND' }
    await expect(provider.getTask(agent, { runId: 'r' }, call)).rejects.toMatchObject(unknown)
    await expect(provider.cancelTask(agent, { runId: 'r' }, call)).rejects.toMatchObject(unknown)
  })

  it('streams updates; the end of the stream is the end of the task', async () => {
    const { stub, agent } = await start({
      'POST /runs/stream': streaming(
        sse(
          ['metadata', { run_id: 'r' }],
          ['updates', { message: 'Thinking' }],
          ['updates', { model: OUTPUT }],
        ),
      ),
    })
    expect(await all(provider.streamTask(agent, lgTask('hi'), call))).toEqual([
      { state: 'working' },
      { ref: { runId: 'r' } },
      { state: 'working', message: 'Thinking' },
      { state: 'working' },
      { state: 'completed', artifacts: DONE.artifacts },
    ])
    expect(bodyOf(stub, '/runs/stream')).toMatchObject({ stream_mode: 'updates' })
  })

  it('streams without names of events, as the document reads them', async () => {
    const text = `data: ${JSON.stringify({ message: 'Thinking' })}\n\ndata: ${JSON.stringify({ model: OUTPUT })}\n\n`
    const { agent } = await start({ 'POST /runs/stream': streaming(text) })
    const updates = await all(provider.streamTask(agent, lgTask('hi'), call))
    expect(updates.at(1)).toEqual({ state: 'working', message: 'Thinking' })
    expect(updates.at(-1)).toEqual({ state: 'completed', artifacts: DONE.artifacts })
  })

  it('streams a failure, a question, or a refusal', async () => {
    for (const [stream, expected] of [
      [sse(['error', { error: 'ValueError', message: 'secret' }]), { state: 'failed' }],
      [sse(['updates', { __interrupt__: [{ value: 'Sure?' }] }]), { state: 'input-required' }],
    ] as const) {
      const { agent } = await start({ 'POST /runs/stream': streaming(stream) })
      expect((await all(provider.streamTask(agent, lgTask('hi'), call))).at(-1)).toMatchObject(expected)
    }
    const { agent } = await start({ 'POST /runs/stream': [401, {}] })
    const refused = all(provider.streamTask(agent, lgTask('hi'), call))
    await expect(refused).rejects.toMatchObject({ code: 'PROVIDER_ERROR', data: { status: 401 } })
  })

  it('takes no answers, and is degraded without /health', async () => {
    const { agent } = await start({ 'GET /health': [404, {}] })
    const answer = provider.sendTask(agent, lgTask('yes', { ref: { runId: 'r' } }), call)
    await expect(answer).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    expect(await provider.healthCheck(agent, call)).toBe('degraded')
  })

  it('may be LangGraph’s own, which wants to know the assistant', async () => {
    const { stub } = await start({ 'POST /runs': [200, { run_id: 'r', status: 'pending' }] })
    await provider.sendTask(lgAgent(stub.url), lgTask('hi'), call)
    expect(bodyOf(stub, '/runs')).toMatchObject({ assistant_id: 'echo' })
  })
})
