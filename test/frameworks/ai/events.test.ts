/** The table of events in the guide: a case for each row, with the real package, and a row for each type that the package has. */
import { spendingOf } from 'a2a-tasks'
import { A2AClient, toolCallsIn } from 'a2a-tasks/client'
import type { AiSdkOptions } from 'a2a-tasks/ai'
import { fakeAgent } from 'a2a-tasks/testing'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { rowsOf } from '../guide.js'
import { describeWith, MODULES } from '../installed.js'
import { seenOf } from '../seen.js'
import { agentOf, answer, finish, modelOf, toolOf, type Call } from './kit.js'

type Answers = Parameters<typeof modelOf>[0]

interface Scene {
  readonly options?: AiSdkOptions
  /** What `weather` does. */
  readonly weather?: (input: never, options: never) => unknown
  readonly asks?: boolean
  readonly verdict?: string
}

const ROME = { city: 'Rome' }
const CALL: [string, string, object][] = [['weather', 'c1', ROME]]

/** What a client sees of an agent whose model gives these answers. */
async function seen(answers: Answers, scene: Scene = {}): ReturnType<typeof seenOf> {
  const model = await modelOf(answers)
  const weather = await toolOf(scene.weather ?? (() => 'clear'))
  const execute = agentOf(model, {
    ...(scene.options && { options: scene.options }),
    tools: () => ({ weather }),
    more: (sdk) => (scene.asks === true ? { toolApproval: sdk.approval({ weather: 'user-approval' }) } : {}),
  })
  return await seenOf(execute, scene.verdict === undefined ? {} : { verdict: scene.verdict })
}

/** An answer with these parts before its end. */
function answerWith(...parts: readonly object[]): object[] {
  return [...answer(['Hello']).slice(0, -1), ...parts, finish('stop')]
}

function ends(reason: string): object[] {
  return [...answer(['Half']).slice(0, -1), finish(reason)]
}

const CASES: Readonly<Record<string, () => Promise<void>>> = {
  async '`text-start`, `text-delta`, `text-end`'() {
    const citations = [{ text: 'Hello' }]
    const begun = answer(['Hel', 'lo'], CALL).map((part) =>
      'type' in part && part.type === 'text-end' ? { ...part, citations } : part,
    )
    const { task } = await seen([begun, answer(['Sunny'])])
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Hello\n\nSunny' }] }])
    expect(JSON.stringify(task)).not.toContain('citations')
  },
  async '`file`'() {
    const image = { type: 'file', mediaType: 'image/png' }
    const { task } = await seen([
      answerWith(
        { ...image, data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
        { ...image, data: { type: 'data', data: 'BAUG' } },
        { ...image, data: { type: 'url', url: new URL('https://example.com/a.png') } },
      ),
    ])
    expect(task.artifacts[0]?.parts).toEqual([
      { text: 'Hello' },
      { raw: 'AQID', mediaType: 'image/png' },
      { raw: 'BAUG', mediaType: 'image/png' },
      { url: 'https://example.com/a.png', mediaType: 'image/png' },
    ])
  },
  async '`source`'() {
    const url = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com', title: 'Example' }
    const file = { type: 'source', sourceType: 'document', id: 'd', title: 'D', mediaType: 'application/pdf' }
    const many = Array.from({ length: 200 }, () => url)
    const first = [...answer([], CALL).slice(0, -1), url, finish('tool-calls')]
    const { task } = await seen([first, answerWith(file, ...many)])
    const sources = task.artifacts[0]?.metadata?.['sources']
    expect(sources).toMatchObject([
      { id: 's', url: 'https://example.com', title: 'Example' },
      { id: 'd', title: 'D', mediaType: 'application/pdf' },
      ...many.slice(0, 98).map(({ id }) => ({ id })),
    ])
    const silent = [...answer([]).slice(0, -1), url, finish('stop')]
    expect((await seen([silent])).task.artifacts[0]?.metadata).toMatchObject({ sources: [{ id: 's' }] })
  },
  async '`tool-call`'() {
    const { calls } = await seen([answer([], CALL), answer(['Sunny'])])
    expect(calls[0]).toEqual({ id: 'c1', name: 'weather', input: ROME, state: 'called' })
  },
  async '`tool-result`, `tool-error`'() {
    const about = { id: 'c1', name: 'weather', input: ROME }
    const good = await seen([answer([], CALL), answer(['Sunny'])])
    expect(good.calls.at(-1)).toEqual({ ...about, state: 'done', output: 'clear' })
    expect(toolCallsIn(good.task.artifacts[0])).toEqual([good.calls.at(-1)])
    const bad = await seen([answer([], CALL), answer(['No idea'])], {
      weather: () => {
        throw new Error('closed')
      },
    })
    expect(bad.calls.at(-1)).toEqual({ ...about, state: 'failed', error: 'closed' })
    const large = await seen([answer([], CALL), answer(['Long'])], { weather: () => 'x'.repeat(16_385) })
    expect(large.calls.at(-1)).toEqual({ ...about, state: 'done' })
  },
  async '`tool-result`, preliminary'() {
    const { calls } = await seen([answer([], CALL), answer(['Sunny'])], {
      async *weather() {
        yield await Promise.resolve('cloudy')
        yield 'clear'
      },
    })
    expect(calls.map(({ state, output }) => [state, output])).toEqual([
      ['called', undefined],
      ['progress', 'cloudy'],
      ['progress', 'clear'],
      ['done', 'clear'],
    ])
  },
  async '`tool-output-denied`'() {
    const { calls, task } = await seen([answer([], CALL), answer(['No'])], { asks: true, verdict: 'reject' })
    expect(calls.at(-1)).toEqual({ id: 'c1', name: 'weather', input: ROME, state: 'rejected' })
    expect(toolCallsIn(task.artifacts[0])).toMatchObject([{ state: 'rejected' }])
  },
  async '`tool-approval-request`, `tool-approval-response`'() {
    const { texts, calls, task } = await seen([answer([], CALL), answer(['Sunny'])], { asks: true })
    expect(texts).toContainEqual(expect.stringContaining('weather({"city":"Rome"})?'))
    expect(task.history.map(({ state }) => state)).toContain('input-required')
    expect(calls.at(-1)).toMatchObject({ state: 'done' })
  },
  async '`reasoning-start`, `reasoning-delta`, `reasoning-end`'() {
    const parts = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'I ' },
      { type: 'reasoning-delta', id: 'r', delta: 'think' },
      { type: 'reasoning-end', id: 'r' },
    ]
    expect((await seen([answerWith(...parts)])).texts).toEqual([])
    const shown = await seen([answerWith(...parts)], { options: { showReasoning: true } })
    expect(shown).toMatchObject({ texts: ['I think'], metadata: [{ reasoning: true }] })
  },
  async '`finish-step`, `finish`: the usage'() {
    const { task } = await seen([answer([], CALL), answer(['Sunny'])])
    expect(spendingOf(task)?.total).toEqual({
      ...{ inputTokens: 20, outputTokens: 10, cachedInputTokens: 8, reasoningTokens: 4 },
    })
  },
  async '`finish-step`, `finish`: the reason'() {
    for (const reason of ['length', 'content-filter', 'other']) {
      const { type, task } = await seen([ends(reason)])
      expect(type).toBe('completed')
      expect(task.artifacts).toMatchObject([
        { parts: [{ text: 'Half' }], metadata: { finishReason: reason } },
      ])
    }
    // Also where the model has said nothing.
    const silent = [...answer([]).slice(0, -1), finish('length')]
    expect((await seen([silent])).task.artifacts).toMatchObject([{ metadata: { finishReason: 'length' } }])
    expect((await seen([answer(['Hello'])])).task.artifacts[0]?.metadata).toBeUndefined()
  },
  async '`finish-step`, `finish`: `error` or `interrupted`'() {
    const failed = await seen([ends('error')])
    expect(failed).toMatchObject({ type: 'failed', errors: [expect.stringContaining('with an error')] })
    const cut = await seen([ends('interrupted')])
    expect(cut).toMatchObject({ type: 'failed', errors: [expect.stringContaining('before it was complete')] })
  },
  async '`error`, and a stream that ends early'() {
    const error = { type: 'error', error: new Error('overloaded') }
    const failed = await seen([[...answer(['Half']).slice(0, -2), error]])
    expect(failed).toMatchObject({ type: 'failed', errors: ['Error: overloaded'] })
    // Operators read it in `failure`; no client does.
    const { messages, artifacts } = failed.task
    expect(JSON.stringify({ messages, artifacts })).not.toContain('overloaded')
    expect(await seen([answer(['Half']).slice(0, -1)])).toMatchObject({ type: 'failed' })
  },
  async '`abort`'() {
    let begin: (call: Call) => void = () => undefined
    const begun = new Promise<Call>((resolve) => (begin = resolve))
    const model = await modelOf([
      (call) => {
        begin(call)
        return new Promise((_, reject) =>
          call.abortSignal?.addEventListener('abort', () => reject(new Error('aborted'))),
        )
      },
    ])
    const agent = fakeAgent(agentOf(model))
    const client = await A2AClient.connect(agent.url, { fetch: agent.fetch })
    const running = client.run('Hi')
    await begun
    agent.tasks.cancelTask(agent.tasks.listTasks()[0]?.id ?? '')
    expect(await running).toMatchObject({ type: 'canceled' })
  },
  async '`tool-input-start`, `tool-input-delta`, `tool-input-end`'() {
    const input = [
      { type: 'tool-input-start', id: 'c1', toolName: 'weather' },
      { type: 'tool-input-delta', id: 'c1', delta: JSON.stringify(ROME) },
      { type: 'tool-input-end', id: 'c1' },
    ]
    const whole = answer([], CALL)
    const { calls } = await seen([whole.toSpliced(1, 0, ...input), answer(['Sunny'])])
    expect(calls.map(({ state }) => state)).toEqual(['called', 'done'])
  },
  async '`reasoning-file`, `custom`'() {
    const file = {
      ...{ type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
    }
    const { task, texts } = await seen([answerWith(file, { type: 'custom', kind: 'a.b' })])
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Hello' }] }])
    expect(texts).toEqual([])
  },
  async '`start`, `start-step`, `steering-message`'() {
    // AI SDK makes them of every answer.
    const { texts, task } = await seen([answer(['Hello'])])
    expect(texts).toEqual([])
    expect(task.messages.map(({ role }) => role)).toEqual(['user'])
  },
  async '`raw`, `ping`, and the request, headers and body of the response'() {
    const { type, texts, task } = await seen([answerWith({ type: 'raw', rawValue: 'R' }, { type: 'ping' })])
    expect({ type, texts }).toEqual({ type: 'completed', texts: [] })
    expect(JSON.stringify(task)).not.toContain('"R"')
  },
}

const ROWS = rowsOf('llm-agents', 'Where the events.*')

describeWith('ai', () => {
  test('the table of events has a row for each case, and for each type of the stream', () => {
    expect(ROWS).toEqual(Object.keys(CASES))
    const declared = readFileSync(`${MODULES}ai/dist/index.d.ts`, 'utf8')
    const [, union = ''] = /^type TextStreamPart<.*?> = (.*);$/m.exec(declared) ?? []
    const types = [...union.matchAll(/TextStream\w+/g)].map(([name]) => {
      return new RegExp(`^type ${name}(?:<.*>)? = [^]*?\\btype: '([\\w-]+)'`, 'm').exec(declared)?.[1] ?? name
    })
    expect(types.length).toBeGreaterThan(20)
    expect(types.filter((type) => !ROWS.some((row) => row.includes(`\`${type}\``)))).toEqual([])
  })

  test.each(Object.entries(CASES))('%s', async (_, check) => {
    await check()
  })

  test('a call of a tool that does not exist, or that is no step, is shown to its end', async () => {
    const { calls, task } = await seen([answer([], [['nothing', 'c1', ROME]]), answer(['Sorry'])])
    expect(calls.map(({ state }) => state)).toEqual(['called', 'failed'])
    expect(toolCallsIn(task.artifacts[0])).toMatchObject([{ name: 'nothing', state: 'failed', input: ROME }])
  })

  test('calls after the last text are kept for later turns, as those that the provider makes', async () => {
    const silent = await seen([answer(['Let me see.'], CALL), answer([])])
    expect(toolCallsIn(silent.task.artifacts[0])).toMatchObject([{ id: 'c1', state: 'done' }])
    const search = { toolCallId: 'p1', toolName: 'search' }
    const { task } = await seen([
      answerWith(
        { type: 'tool-call', ...search, input: '{"q":1}', providerExecuted: true, dynamic: true },
        { type: 'tool-result', ...search, result: { found: 2 }, dynamic: true },
      ),
    ])
    expect(toolCallsIn(task.artifacts[0])).toEqual([
      { id: 'p1', name: 'search', state: 'done', input: { q: 1 }, output: { found: 2 } },
    ])
  })
})
