/** The table of the page: a case for each row, with the real package. */
import { A2AClient, toolCallsIn } from 'a2a-tasks/client'
import { langChain, type GraphOptions } from 'a2a-tasks/ai'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { rowsOf } from '../guide.js'
import { describeWith, loadFramework } from '../installed.js'
import { canceledSignalOf, seenOf } from '../seen.js'
import { agentOf, answer, lang, modelOf, toolOf, type Answer, type Call, type Message } from './kit.js'

const ROME = { city: 'Rome' }
const CALL: [string, string, object][] = [['weather', 'c1', ROME]]
const ABOUT = { id: 'c1', name: 'weather', input: ROME }

/** What a client sees of an agent with the tool `weather` whose model gives these answers. */
async function seen(
  answers: Parameters<typeof modelOf>[0],
  { weather = () => 'clear', options = {} }: { weather?: () => unknown; options?: object } = {},
): ReturnType<typeof seenOf> {
  const tools = [await toolOf('weather', weather)]
  return await seenOf(agentOf(await modelOf(answers), { tools, options }))
}

/** An answer with these blocks. */
function blocks(...content: readonly object[]): Answer {
  return [{ content }, ...answer([])]
}

const CASES: Readonly<Record<string, () => Promise<void>>> = {
  async '`content`: a text, or blocks of text'() {
    const { task, chunks } = await seen([answer(['Hel', 'lo'], CALL), answer(['Sunny'])])
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Hello\n\nSunny' }] }])
    expect(chunks).toEqual(['Hel', 'lo', '\n\nSunny'])
    const block = await seen([blocks({ type: 'text', text: 'Block', annotations: ['no'] })])
    expect(block.task.artifacts).toMatchObject([{ parts: [{ text: 'Block' }] }])
    expect(JSON.stringify(block.task)).not.toContain('annotations')
  },
  async '`content`: `image`, `image_url`, `audio`, `video`, `file`'() {
    const { task } = await seen([
      blocks(
        { type: 'image', mimeType: 'image/webp', data: 'AQID' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        { type: 'audio', mimeType: 'audio/wav', data: 'BAUG' },
        { type: 'video', mimeType: 'video/mp4', url: 'https://example.com/a.mp4' },
        { type: 'file', mimeType: 'application/pdf', data: 'AQID' },
        { type: 'file', fileId: 'f1' },
      ),
    ])
    expect(task.artifacts[0]?.parts).toEqual([
      { raw: 'AQID', mediaType: 'image/webp' },
      { url: 'https://example.com/a.png', mediaType: 'image/png' },
      { raw: 'BAUG', mediaType: 'audio/wav' },
      { url: 'https://example.com/a.mp4', mediaType: 'video/mp4' },
      { raw: 'AQID', mediaType: 'application/pdf' },
    ])
  },
  async '`content`: `reasoning`, `thinking`'() {
    for (const block of [
      { type: 'reasoning', reasoning: 'I think' },
      { type: 'thinking', thinking: 'I think' },
    ]) {
      expect((await seen([blocks(block)])).texts).toEqual([])
      const shown = await seen([blocks(block)], { options: { showReasoning: true } })
      expect(shown).toMatchObject({ texts: ['I think'], metadata: [{ reasoning: true }] })
    }
  },
  async '`content`: other blocks'() {
    const { task, texts } = await seen([blocks({ type: 'text', text: 'Hi' }, { type: 'other', x: 1 })])
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Hi' }] }])
    expect(texts).toEqual([])
  },
  async '`tool_calls`'() {
    const { calls } = await seen([answer([], CALL), answer(['Sunny'])])
    expect(calls[0]).toEqual({ ...ABOUT, state: 'called' })
  },
  async 'a message of a tool'() {
    const good = await seen([answer([], CALL), answer(['Sunny'])])
    expect(good.calls.at(-1)).toEqual({ ...ABOUT, state: 'done', output: 'clear' })
    expect(toolCallsIn(good.task.artifacts[0])).toEqual([good.calls.at(-1)])
    const large = await seen([answer([], CALL), answer(['Long'])], { weather: () => 'x'.repeat(16_385) })
    expect(large.calls.at(-1)).toEqual({ ...ABOUT, state: 'done' })
    const bad = await seen([answer([], CALL), answer(['No idea'])], {
      weather: () => {
        throw new Error('closed')
      },
    })
    expect(bad.type).toBe('completed')
    expect(bad.calls.at(-1)).toEqual({ ...ABOUT, state: 'failed', error: 'closed' })
    // A tool that does not exist.
    const none = await seen([answer([], [['nothing', 'c1', ROME]]), answer(['Sorry'])])
    expect(none.calls.map(({ state }) => state)).toEqual(['called', 'failed'])
  },
  async '`usage_metadata`'() {
    const { spent } = await seen([answer([], CALL), answer(['Sunny'])])
    expect(spent).toEqual({
      ...{ inputTokens: 20, outputTokens: 10, cachedInputTokens: 8, reasoningTokens: 4 },
    })
  },
  async '`response_metadata`: the reason'() {
    for (const [word, finishReason] of [
      ['length', 'length'],
      ['max_tokens', 'length'],
      ['content_filter', 'content-filter'],
    ] as const) {
      const { task } = await seen([answer(['Half'], [], word)])
      expect(task.artifacts).toMatchObject([{ metadata: { finishReason } }])
    }
    expect((await seen([answer(['Hello'], [], 'end_turn')])).task.artifacts[0]?.metadata).toBeUndefined()
  },
  async '`interrupt()`'() {
    const { interrupt } = await lang()
    const tools = [await toolOf('weather', ({ city }) => interrupt(`Ask ${city}?`))]
    const model = await modelOf([answer([], CALL), answer(['Sunny'])])
    const asked = await seenOf(agentOf(model, { tools }), { verdict: 'yes' })
    expect(asked.texts).toContain('Ask Rome?')
    expect(asked.task.history.map(({ state }) => state)).toContain('input-required')
    expect(asked.calls.at(-1)).toEqual({ ...ABOUT, state: 'done', output: 'yes' })
    const approved = await seenOf(
      agentOf(model, {
        tools,
        finish: (run): GraphOptions => ({
          ask: (value) => run.approve('weather', { message: String(value) }),
        }),
      }),
      { verdict: 'reject' },
    )
    expect(approved.calls.at(-1)).toMatchObject({ state: 'done', output: 'reject' })
  },
  async 'an error of the model, of a node, and too many steps'() {
    const failed = await seen([() => Promise.reject(new Error('overloaded'))])
    expect(failed).toMatchObject({ type: 'failed', errors: ['Error: overloaded'] })
    const { messages, artifacts } = failed.task
    expect(JSON.stringify({ messages, artifacts })).not.toContain('overloaded')
    const model = await modelOf(Array.from({ length: 9 }, () => answer([], CALL)))
    const tools = [await toolOf('weather', () => 'clear')]
    const finish = (): GraphOptions => ({ config: { recursionLimit: 3 } })
    const many = await seenOf(agentOf(model, { tools, finish }))
    expect(many).toMatchObject({ type: 'failed', errors: [expect.stringContaining('Recursion limit')] })
  },
  async 'an abort'() {
    const { type, signal } = await canceledSignalOf((onCall) => async (run) => {
      await agentOf(await modelOf([({ signal }) => onCall(signal)]))(run)
    })
    expect({ type, aborted: signal?.aborted }).toEqual({ type: 'canceled', aborted: true })
  },
  async 'the state, and events of other nodes'() {
    const { createReactAgent } = await lang()
    const model = await modelOf([answer(['Hello'])])
    let last: unknown
    const { task } = await seenOf(async (run) => {
      const ai = langChain(run)
      const agent = createReactAgent({ llm: ai.model(model), tools: [] })
      const { messages } = await ai.finish(agent, { messages: await ai.messages() })
      last = messages.at(-1)
    })
    expect(last).toMatchObject({ content: 'Hello' })
    expect(task.messages.map(({ role }) => role)).toEqual(['user'])
  },
}

const ROWS = rowsOf('langgraph', 'Where the output.*')

describeWith('@langchain/langgraph', () => {
  test('the table has a row for each case', () => {
    expect(ROWS).toEqual(Object.keys(CASES))
  })

  test.each(Object.entries(CASES))('%s', async (_, check) => {
    await check()
  })

  test('the conversation has files of the user, and the calls and texts of earlier tasks', async () => {
    const calls: Call[] = []
    const model = await modelOf([answer([], CALL), answer(['Sunny']), answer(['As I said'])], calls)
    const weather = await toolOf('weather', () => 'clear')
    const agent = fakeAgent(async (run) => {
      const { createReactAgent } = await lang()
      const ai = langChain(run)
      const graph = createReactAgent({ llm: ai.model(model), tools: ai.tools([weather]) })
      await ai.finish(graph, { messages: await ai.messages({ earlier: 20 }) })
    })
    const client = await A2AClient.connect(agent.url, { fetch: agent.fetch })
    const image = { raw: 'AQID', mediaType: 'image/png' }
    const result = await client.run({ parts: [{ text: 'Weather?' }, image] })
    if (result.type !== 'completed') throw new Error(result.type)
    await client.run('Really?', { contextId: result.task.contextId })
    expect(calls[2]?.messages).toMatchObject([
      {
        type: 'human',
        content: [
          { type: 'text', text: 'Weather?' },
          { type: 'image', mimeType: 'image/png', data: 'AQID' },
        ],
      },
      { type: 'ai', tool_calls: [{ id: 'c1', name: 'weather', args: ROME }] },
      { type: 'tool', content: 'clear', tool_call_id: 'c1', status: 'success' },
      { type: 'ai', content: 'Sunny' },
      { type: 'human', content: [{ type: 'text', text: 'Really?' }] },
    ])
  })

  test('what is no chat model, and no tool, is refused', async () => {
    const { errors } = await seenOf((run) => {
      const ai = langChain(run)
      for (const each of [{}, 'gpt-5' as never]) expect(() => ai.model(each)).toThrow('must be a chat model')
      expect(() => ai.tools({ weather: {} } as never)).toThrow('must be a list')
      const ofAiSdk = { inputSchema: {}, execute: () => 1 }
      expect(() => ai.tools([ofAiSdk])).toThrow('A tool is no tool of LangChain')
      const ofProvider = { type: 'web_search' }
      expect(ai.tools([ofProvider])).toEqual([ofProvider])
      ai.tools([{ name: 'other', invoke: () => 1 }])
    })
    expect(errors).toEqual([expect.stringContaining('"other" is no tool of LangChain')])
  })

  test('the result of a graph is no graph', async () => {
    const { errors } = await seenOf(async (run) => {
      const { createReactAgent } = await lang()
      const ai = langChain(run)
      const agent = createReactAgent({ llm: ai.model(await modelOf([answer(['Sunny'])])), tools: [] })
      await ai.finish(agent.invoke({ messages: await ai.messages() }, {}) as never, {})
    })
    expect(errors).toEqual([expect.stringContaining('ai.finish(graph, input)')])
  })

  test('a model that is not of ai.model() fails the task, and a message of code does not', async () => {
    const { createReactAgent, StateGraph, MessagesAnnotation, AIMessageChunk } = await lang()
    const { FakeListChatModel } = await loadFramework<{
      readonly FakeListChatModel: new (fields: object) => object
    }>('@langchain/core/utils/testing')
    const bare = new FakeListChatModel({ responses: ['Sunny'] })
    const { type, errors } = await seenOf(async (run) => {
      const ai = langChain(run)
      await ai.finish(createReactAgent({ llm: bare, tools: [] }), { messages: await ai.messages() })
    })
    expect({ type, errors }).toEqual({
      type: 'failed',
      errors: [expect.stringContaining('pass ai.model(…)')],
    })
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('one', () => ({ messages: [new AIMessageChunk({ content: 'Closed today' })] }))
      .addEdge('__start__', 'one')
      .compile()
    const coded = await seenOf(async (run) => {
      const ai = langChain(run)
      const { messages } = await ai.finish(graph, { messages: await ai.messages() })
      return String((messages.at(-1) as Message).content)
    })
    expect(coded).toMatchObject({ type: 'completed', errors: [] })
  })

  test.each(['v1', 'v2'] as const)('calls with the same id are calls of their own: %s', async (version) => {
    const made: string[] = []
    const tools = [
      await toolOf('weather', ({ city }) => `clear in ${String(made.push(city))}`),
      await toolOf('book', ({ city }) => `seat to ${city}`),
    ]
    const calls: [string, string, object][] = [
      ['weather', 'c1', ROME],
      ['weather', 'c1', { city: 'Oslo' }],
      ['weather', 'c1', { city: 'Oslo' }],
      ['book', 'c1', ROME],
    ]
    const results: unknown[] = []
    const model = await modelOf([
      answer([], calls),
      ({ messages }) => {
        results.push(...messages.filter(({ type }) => type === 'tool').map(({ content }) => content))
        return answer(['Done'])
      },
    ])
    const { type } = await seenOf(agentOf(model, { tools, version }))
    expect({ type, made }).toEqual({ type: 'completed', made: ['Rome', 'Oslo', 'Oslo'] })
    expect(results).toEqual(['clear in 1', 'clear in 2', 'clear in 3', 'seat to Rome'])
  })

  test('two agents of one graph, whose providers number the calls of a conversation', async () => {
    const { createReactAgent, StateGraph, MessagesAnnotation, MemorySaver, interrupt } = await lang()
    const made: string[] = []
    const weather = await toolOf('weather', ({ city }) => `clear in ${city}, ${String(made.push(city))}`)
    const book = await toolOf('book', ({ city }) => `${city}: ${String(interrupt(`Book ${city}?`))}`)
    const { type, task } = await seenOf(async (run) => {
      const ai = langChain(run)
      const tools = ai.tools([weather, book])
      const nodeOf = async (city: string): Promise<() => Promise<object>> => {
        const model = await modelOf([
          answer(
            [],
            [
              ['weather', 'weather:0', { city }],
              ['book', 'book:1', { city }],
            ],
          ),
          ({ messages }) =>
            answer([
              messages
                .slice(-2)
                .map(({ content }) => String(content))
                .join(),
            ]),
        ])
        const agent = createReactAgent({ llm: ai.model(model), tools })
        return async () => ({ messages: (await agent.invoke({ messages: [] }, {})).messages.slice(-1) })
      }
      const graph = new StateGraph(MessagesAnnotation)
        .addNode('one', await nodeOf('Rome'))
        .addNode('two', await nodeOf('Oslo'))
        .addEdge('__start__', 'one')
        .addEdge('one', 'two')
        .compile({ checkpointer: new MemorySaver() })
      await ai.finish(graph, { messages: [] })
    })
    expect({ type, made }).toEqual({ type: 'completed', made: ['Rome', 'Oslo'] })
    expect(task.artifacts[0]?.parts).toEqual([
      { text: 'clear in Rome, 1,Rome: approve\n\nclear in Oslo, 2,Oslo: approve' },
    ])
  })

  test('a node that is tried again makes its calls again', async () => {
    const { StateGraph, MessagesAnnotation, ToolNode, toolsCondition } = await lang()
    let tries = 0
    const weather = await toolOf('weather', () => {
      tries += 1
      if (tries < 3) throw new Error('503')
      return 'clear'
    })
    const llm = await modelOf([answer([], CALL), answer(['Sunny'])])
    const { type, calls } = await seenOf(async (run) => {
      const ai = langChain(run)
      const model = ai.model(llm) as { invoke(messages: unknown): Promise<object> }
      const retryPolicy = { maxAttempts: 3, initialInterval: 1, jitter: false, logWarning: false }
      const graph = new StateGraph(MessagesAnnotation)
        .addNode('agent', async ({ messages }: { messages: unknown }) => ({
          messages: [await model.invoke(messages)],
        }))
        .addNode('tools', new ToolNode(ai.tools([weather]), { handleToolErrors: false }), { retryPolicy })
        .addEdge('__start__', 'agent')
        .addConditionalEdges('agent', toolsCondition)
        .addEdge('tools', 'agent')
        .compile()
      await ai.finish(graph, { messages: await ai.messages() })
    })
    expect({ type, tries }).toEqual({ type: 'completed', tries: 3 })
    expect(calls.map(({ state }) => state)).toEqual(['called', 'failed', 'failed', 'done'])
  })
})
