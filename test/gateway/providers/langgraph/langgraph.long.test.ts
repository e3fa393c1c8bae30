import { apiKeyAuth } from 'a2a-tasks/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TaskRef, TaskUpdate } from '../../../../src/gateway/provider.js'
import { langGraph } from '../../../../src/gateway/providers/langgraph/provider.js'
import { isInstalled, skipMissing } from '../../../services/installed.js'
import {
  LANGGRAPH_PACKAGES,
  startLangGraph,
  type LangGraphServer,
} from '../../../services/langgraph/start-langgraph.js'
import { all, artifactsOf, lgAgent, lgTask } from './support/langgraph.js'

const provider = langGraph()
const call = { signal: new AbortController().signal }

let server: LangGraphServer

function agentOf(assistantId: string) {
  return lgAgent(server.url, { settings: { assistantId } })
}

function refOf({ ref }: TaskUpdate): TaskRef {
  if (ref === undefined) throw new Error('There is no ref')
  return ref
}

function threadUrl({ threadId }: TaskRef): string {
  return `${server.url}/threads/${threadId as string}`
}

function runUrl(ref: TaskRef): string {
  return `${threadUrl(ref)}/runs/${ref['runId'] as string}`
}

/** Waits until the run has ended, by the server's word. */
async function settled(assistantId: string, update: TaskUpdate): Promise<TaskUpdate> {
  const ref = refOf(update)
  await fetch(`${runUrl(ref)}/join`)
  return await provider.getTask(agentOf(assistantId), ref, call)
}

if (isInstalled(...LANGGRAPH_PACKAGES)) {
  describe('a LangGraph server of its own makers', ofItsMakers)
  describe('a LangGraph server that wants an API key', withApiKey)
} else {
  it('LangGraph is not installed', (context) => skipMissing(context, ...LANGGRAPH_PACKAGES))
}

function ofItsMakers(): void {
  beforeAll(async () => {
    server = await startLangGraph()
  }, 60_000)
  afterAll(() => server.stop())

  it('accepts a task, and has its answer and values when it is done', async () => {
    const sent = await provider.sendTask(agentOf('echo'), lgTask('hello'), call)
    expect(sent).toMatchObject({ state: 'submitted', ref: { assistantId: 'echo' } })
    expect(await settled('echo', sent)).toMatchObject({
      state: 'completed',
      artifacts: [{ artifactId: 'response', parts: [{ text: 'You said: hello' }] }],
      output: { messages: [{ type: 'human', content: 'hello' }, { content: 'You said: hello' }] },
    })
  })

  it('continues with a conversation, and still knows what came of the task before', async () => {
    const first = await provider.sendTask(agentOf('echo'), lgTask('one'), call)
    await settled('echo', first)
    const second = await provider.sendTask(agentOf('echo'), lgTask('two', { previous: refOf(first) }), call)
    const { output } = await settled('echo', second)
    expect(output).toMatchObject({ messages: [{ content: 'one' }, {}, { content: 'two' }, {}] })
    expect(artifactsOf([await provider.getTask(agentOf('echo'), refOf(first), call)])).toEqual({
      response: 'You said: one',
    })
  })

  it('takes a task whose conversation is busy when its turn has come', async () => {
    const first = await provider.sendTask(agentOf('hold'), lgTask('one'), call)
    const second = await provider.sendTask(agentOf('echo'), lgTask('two', { previous: refOf(first) }), call)
    expect(await provider.getTask(agentOf('echo'), refOf(second), call)).toEqual({ state: 'submitted' })
    await provider.cancelTask(agentOf('hold'), refOf(first), call)
    expect(await settled('echo', second)).toMatchObject({ state: 'completed' })
  })

  it('streams the text of a model piece by piece, and reports it once', async () => {
    const updates = await all(provider.streamTask(agentOf('tokens'), lgTask('hi'), call))
    expect(updates[0]).toMatchObject({ ref: { assistantId: 'tokens' } })
    expect(updates.filter(({ chunk }) => chunk !== undefined).length).toBeGreaterThan(1)
    expect(updates.filter(({ artifacts = [] }) => artifacts.length > 0)).toHaveLength(1)
    expect(artifactsOf(updates)).toEqual({ response: 'Hello, you' })
    expect(updates.at(-1)).toMatchObject({ state: 'completed', output: { messages: [{}, {}] } })
  })

  it('streams which steps are done, how far the work is, and the last text as the result', async () => {
    const updates = await all(provider.streamTask(agentOf('steps'), lgTask('hi'), call))
    expect(updates.flatMap(({ message }) => message ?? [])).toEqual([
      'Done: first',
      'Done: second',
      'Done: third',
    ])
    expect(updates).toContainEqual({ state: 'working', progress: 0.5 })
    expect(artifactsOf(updates)).toEqual({ response: 'three' })
    expect(updates.at(-1)?.state).toBe('completed')
  })

  it('streams only the modes of its settings', async () => {
    const quiet = langGraph({ streamMode: ['updates'] })
    const updates = await all(quiet.streamTask(agentOf('tokens'), lgTask('hi'), call))
    expect(updates.map(({ state }) => state)).toEqual([undefined, 'working', 'completed'])
    expect(artifactsOf(updates)).toEqual({ response: 'Hello, you' })
  })

  it('asks, streamed or not, and continues with the answer: a text, or data', async () => {
    const question = {
      state: 'input-required',
      message: { parts: [{ data: { question: 'Which colour?' } }] },
    }
    const asked = await all(provider.streamTask(agentOf('ask'), lgTask('hi'), call))
    expect(asked.at(-1)).toEqual(question)
    const sent = await provider.sendTask(agentOf('ask'), lgTask('hi'), call)
    expect(await settled('ask', sent)).toEqual(question)

    const [{ ref = {} } = {}] = asked
    const answered = await all(provider.streamTask(agentOf('ask'), lgTask('red', { ref }), call))
    expect(artifactsOf(answered)).toEqual({ response: 'You chose "red"' })
    expect(answered.at(-1)?.state).toBe('completed')
    const data = lgTask([{ data: { colour: 'blue' } }], { ref: refOf(sent) })
    const resumed = await settled('ask', await provider.sendTask(agentOf('ask'), data, call))
    expect(artifactsOf([resumed])).toEqual({ response: 'You chose {"colour":"blue"}' })
  })

  it('fails without a word of what the graph threw', async () => {
    const updates = await all(provider.streamTask(agentOf('fail'), lgTask('hi'), call))
    expect(updates.at(-1)).toEqual({
      state: 'failed',
      message: 'The run failed',
      failure: { code: 'Error', retryable: false },
    })
    expect(JSON.stringify(updates)).not.toContain('boom')
    const sent = await provider.sendTask(agentOf('fail'), lgTask('hi'), call)
    expect(await settled('fail', sent)).toMatchObject({ state: 'failed', failure: { code: 'error' } })
  })

  it('cancels a run that works, and says so even of a run of which the server says that it failed', async () => {
    const left = new AbortController()
    const reason = new Error('canceled')
    let ref: TaskRef = {}
    const streaming = (async () => {
      for await (const update of provider.streamTask(agentOf('hold'), lgTask('hi'), left)) {
        ref = update.ref ?? ref
        if (update.message === 'Done: begin') left.abort(reason)
      }
    })()
    await expect(streaming).rejects.toBe(reason)
    expect(await provider.getTask(agentOf('hold'), ref, call)).toEqual({ state: 'working' })
    await provider.cancelTask(agentOf('hold'), ref, call)
    expect(await settled('hold', { ref })).toEqual({ state: 'canceled' })
    const { status } = (await (await fetch(runUrl(ref))).json()) as { status: string }
    expect(status).toBe('error')
  })

  it('cancels a run before it began', async () => {
    const first = await provider.sendTask(agentOf('hold'), lgTask('one'), call)
    const second = await provider.sendTask(agentOf('hold'), lgTask('two', { previous: refOf(first) }), call)
    await provider.cancelTask(agentOf('hold'), refOf(second), call)
    expect(await provider.getTask(agentOf('hold'), refOf(second), call)).toEqual({ state: 'canceled' })
    await provider.cancelTask(agentOf('hold'), refOf(first), call)
  })

  it('reports which run it is while the run still waits for its turn', async () => {
    const first = await provider.sendTask(agentOf('hold'), lgTask('one'), call)
    const task = lgTask('two', { previous: refOf(first) })
    const stream = provider.streamTask(agentOf('echo'), task, call)[Symbol.asyncIterator]()
    const { value } = (await stream.next()) as { value: TaskUpdate }
    expect(await provider.getTask(agentOf('echo'), refOf(value), call)).toEqual({ state: 'submitted' })
    await stream.return?.()
    await provider.cancelTask(agentOf('hold'), refOf(first), call)
    expect(await settled('echo', value)).toMatchObject({ state: 'completed' })
  })

  it('begins a new conversation if the thread is gone, but accepts no answer there', async () => {
    const sent = await provider.sendTask(agentOf('ask'), lgTask('hi'), call)
    await settled('ask', sent)
    await fetch(threadUrl(refOf(sent)), { method: 'DELETE' })
    const answer = provider.sendTask(agentOf('ask'), lgTask('red', { ref: refOf(sent) }), call)
    await expect(answer).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    const next = await provider.sendTask(agentOf('echo'), lgTask('two', { previous: refOf(sent) }), call)
    expect(await settled('echo', next)).toMatchObject({ state: 'completed' })
  })

  it('does not know other tasks, nor graphs', async () => {
    const ref = refOf(await provider.sendTask(agentOf('echo'), lgTask('hi'), call))
    const other = { ...ref, runId: '00000000-0000-4000-8000-000000000000' }
    const unknown = { code: 'TASK_NOT_FOUND' }
    await expect(provider.getTask(agentOf('echo'), other, call)).rejects.toMatchObject(unknown)
    await expect(provider.cancelTask(agentOf('echo'), other, call)).rejects.toMatchObject(unknown)
    await expect(provider.sendTask(agentOf('nope'), lgTask('hi'), call)).rejects.toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { status: 404, retryable: false },
    })
  })

  it('is online', async () => {
    expect(await provider.healthCheck(agentOf('echo'), call)).toBe('online')
  })
}

function withApiKey(): void {
  let guarded: LangGraphServer
  beforeAll(async () => {
    guarded = await startLangGraph({ apiKey: 'secret' })
  }, 60_000)
  afterAll(() => guarded.stop())

  it('gets it with every call', async () => {
    const auth = apiKeyAuth({ name: 'x-api-key', value: 'secret', in: 'header' })
    const agent = lgAgent(guarded.url, { endpoint: { url: guarded.url, auth, timeoutMs: 30_000 } })
    expect(await provider.healthCheck(agent, call)).toBe('online')
    const updates = await all(provider.streamTask(agent, lgTask('hi'), call))
    expect(updates.at(-1)?.state).toBe('completed')
    const sent = await provider.sendTask(agent, lgTask('hi'), call)
    await provider.cancelTask(agent, refOf(sent), call)
  })

  it('is degraded without it, and refuses', async () => {
    const agent = lgAgent(guarded.url)
    expect(await provider.healthCheck(agent, call)).toBe('degraded')
    await expect(provider.sendTask(agent, lgTask('hi'), call)).rejects.toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { status: 401 },
    })
  })
}
