import { afterEach, describe, expect, it } from 'vitest'
import { langGraph } from '../../../../src/gateway/providers/langgraph/provider.js'
import type { StubServer } from '../../../services/stub-server.js'
import {
  all,
  artifactsOf,
  bodyOf,
  lgAgent,
  lgStub,
  lgTask,
  REF,
  RUN,
  sse,
  streaming,
  THREAD,
  type Answers,
} from './support/langgraph.js'

const call = { signal: new AbortController().signal }
const stubs: StubServer[] = []
afterEach(() => Promise.all(stubs.splice(0).map((stub) => stub.stop())))

const METADATA = ['metadata', { run_id: 'r', attempt: 1 }] as const
const ASK = { id: 'i1', value: 'Which colour?' }

/** A stream, and what the run and its thread are when it is over. */
async function start(stream: Answers[string], status = 'success', values: object = {}) {
  const stub = await lgStub({
    'POST /threads': [200, THREAD],
    'POST /threads/t/runs/stream': stream,
    'GET /threads/t/runs/r': [200, { ...RUN, status }],
    'GET /threads/t': [200, THREAD],
    'GET /threads/t/state': [200, { values, next: [], tasks: [], metadata: { run_id: 'r' } }],
  })
  stubs.push(stub)
  return { stub, updates: () => langGraph().streamTask(lgAgent(stub.url), lgTask('hi'), call) }
}

function said(id: string, content: string, type = 'AIMessageChunk') {
  return ['messages', [{ id, content, type }, { langgraph_node: 'model' }]] as const
}

function saidAll(...texts: readonly string[]) {
  return { messages: texts.map((content) => ({ type: 'ai', content })) }
}

describe('a stream', () => {
  it('asks for texts, steps and what nodes write, and is not the life of its run', async () => {
    const { stub, updates } = await start(streaming(sse(METADATA)))
    await all(updates())
    expect(bodyOf(stub, '/threads/t/runs/stream')).toMatchObject({
      assistant_id: 'echo',
      stream_mode: ['messages-tuple', 'updates', 'custom'],
      on_disconnect: 'continue',
    })
  })

  it('has JSON over many lines, and reports each text once', async () => {
    const events = sse(METADATA, said('1', 'Hel'), said('1', ''), said('1', 'lo'))
    expect(events.split('\n').length).toBeGreaterThan(20)
    const { updates } = await start(streaming(events), 'success', saidAll('Hello'))
    expect(await all(updates())).toEqual([
      { ref: REF },
      {
        state: 'working',
        artifacts: [{ artifactId: 'response', name: 'response', parts: [{ text: 'Hel' }] }],
      },
      { state: 'working', chunk: { artifactId: 'response', parts: [{ text: 'lo' }] } },
      { state: 'completed', artifacts: [], output: saidAll('Hello') },
    ])
  })

  it('reports the text that began last, and at the end the result', async () => {
    const events = sse(
      METADATA,
      said('1', 'first '),
      said('2', 'sec'),
      said('1', 'of two'),
      said('2', 'ond'),
      said('3', 'a tool', 'tool'),
    )
    const artifacts = artifactsOf(
      await all((await start(streaming(events), 'success', saidAll('second'))).updates()),
    )
    expect(artifacts).toEqual({ response: 'second' })
    const other = await all((await start(streaming(events), 'success', saidAll('polished'))).updates())
    expect(artifactsOf(other.slice(0, -1))).toEqual({ response: 'second' })
    expect(artifactsOf(other)).toEqual({ response: 'polished' })
  })

  it('reports what nodes write themselves where it is a text or progress', async () => {
    const written = ['Searching', { message: 'Reading', progress: 0.25 }, { progress: 7 }, { rows: 3 }, [1]]
    const events = sse(METADATA, ...written.map((data) => ['custom', data] as const))
    const updates = await all((await start(streaming(events))).updates())
    expect(updates.slice(1, -1)).toEqual([
      { state: 'working', message: 'Searching' },
      { state: 'working', message: 'Reading', progress: 0.25 },
    ])
  })

  it('has events that mean nothing here', async () => {
    const events = `: heartbeat\n\n${sse(METADATA, ['feedback', {}], ['updates', null], ['messages', {}], ['end', null])}event: end\ndata:\n\n`
    const updates = await all((await start(streaming(events))).updates())
    expect(updates.map(({ state }) => state)).toEqual([undefined, 'completed'])
  })

  it('that ends before its run reports a question, a failure, or that the work continues', async () => {
    const states = []
    for (const last of [
      ['updates', { __interrupt__: [ASK] }],
      ['error', { error: 'ValueError', message: 'secret' }],
      ['updates', { step: null }],
    ] as const) {
      const { updates } = await start(streaming(sse(METADATA, last)), 'running')
      states.push((await all(updates())).at(-1))
    }
    expect(states).toEqual([
      { state: 'input-required', message: { parts: [{ text: 'Which colour?' }] } },
      {
        state: 'failed',
        message: 'The run failed',
        failure: { code: 'ValueError', retryable: false },
      },
      { state: 'working' },
    ])
  })

  it('with an error names its kind, unless the run was canceled', async () => {
    const events = sse(METADATA, ['error', { error: 'ValueError', message: 'secret' }])
    const failed = await all((await start(streaming(events), 'error')).updates())
    expect(failed.at(-1)).toMatchObject({ state: 'failed', failure: { code: 'ValueError' } })
    const canceled = await all((await start(streaming(events), 'interrupted')).updates())
    expect(canceled.at(-1)).toEqual({ state: 'canceled' })
    const odd = sse(METADATA, ['error', { error: 'ask <me> for more' }])
    const unnamed = await all((await start(streaming(odd), 'error')).updates())
    expect(unnamed.at(-1)).toMatchObject({ failure: { code: 'error' } })
  })

  it.each([
    ['questions', ['updates', { __interrupt__: Array(100).fill({ value: 'x'.repeat(10_000) }) }]],
    ['questions of nothing', ['updates', { __interrupt__: Array(50_000).fill({}) }]],
  ] as const)('with no end of %s is an error', async (_name, event) => {
    const { updates } = await start(streaming(sse(METADATA) + sse(event).repeat(20)), 'running')
    await expect(all(updates())).rejects.toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { reason: 'its answer is too long' },
    })
  })

  it('that breaks, or has no JSON, is an error after which the task can still be asked for', async () => {
    for (const end of ['cut', 'event: updates\ndata: {"half\n\n']) {
      const { updates } = await start((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(sse(METADATA, said('1', 'Hel')) + (end === 'cut' ? '' : end), () => {
          if (end === 'cut') response.destroy()
        })
      })
      const taken: object[] = []
      const broken = (async () => {
        for await (const update of updates()) taken.push(update)
      })()
      await expect(broken).rejects.toMatchObject({ code: 'PROVIDER_ERROR', data: { retryable: true } })
      expect(taken).toHaveLength(2)
      expect(taken[0]).toEqual({ ref: REF })
    }
  })

  it('says which run it is of before the first event, by its headers', async () => {
    const location = { 'content-location': '/threads/t/runs/r' }
    const { updates } = await start((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...location })
      response.flushHeaders()
    })
    const stream = updates()[Symbol.asyncIterator]()
    expect(await stream.next()).toEqual({ done: false, value: { ref: REF } })
    await stream.return?.()
  })

  it('that never says which run it is of is an error', async () => {
    const { updates } = await start(streaming(sse(['updates', { step: null }])))
    await expect(all(updates())).rejects.toMatchObject({ code: 'PROVIDER_ERROR' })
  })

  it('is left when its reader stops', async () => {
    const { stub, updates } = await start((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(sse(METADATA))
    })
    for await (const { ref } of updates()) {
      expect(ref).toEqual(REF)
      break
    }
    expect(await stub.requests.at(-1)?.abandoned).toBe(true)
  })
})
