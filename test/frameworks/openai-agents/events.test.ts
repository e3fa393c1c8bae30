/** The table of events in the page: a case for each row, with the real package, and a row for each type of item that it has. */
import { toolCallsIn } from 'a2a-tasks/client'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'
import { openAiAgents } from 'a2a-tasks/ai'
import { expect, test } from 'vitest'
import { rowsOf } from '../guide.js'
import { describeWith, loadFramework } from '../installed.js'
import { answeredByOthers, canceledSignalOf, seenOf } from '../seen.js'
import { agentOf, answer, eventsOf, messageOf, modelOf, openAi, toolOf, type Request } from './kit.js'

const ROME = { city: 'Rome' }
const CALL: [string, string, object][] = [['weather', 'c1', ROME]]
const ABOUT = { id: 'c1', name: 'weather', input: ROME }

/** What a client sees of an agent with the tool `weather` whose model gives these answers. */
async function seen(
  answers: Parameters<typeof modelOf>[0],
  {
    weather = () => 'clear',
    more = {},
    options = {},
    verdict = 'approve',
  }: {
    readonly weather?: () => unknown
    readonly more?: object
    readonly options?: object
    readonly verdict?: string
  } = {},
): ReturnType<typeof seenOf> {
  const tools = [await toolOf('weather', weather, more)]
  return await seenOf(agentOf(await modelOf(answers), { tools, options }), { verdict })
}

const CASES: Readonly<Record<string, () => Promise<void>>> = {
  async '`output_text_delta`, `message`: text'() {
    const { task, chunks } = await seen([answer(['Hel', 'lo'], CALL), answer(['Sunny'])])
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Hello\n\nSunny' }] }])
    expect(chunks).toEqual(['Hel', 'lo', '\n\nSunny'])
    // Without pieces, the text is in the message.
    const whole = await seen([{ events: eventsOf(answer(['Whole']).output, []) }])
    expect(whole.task.artifacts).toMatchObject([{ parts: [{ text: 'Whole' }] }])
  },
  async '`message`: image and audio'() {
    const image = { type: 'image', image: 'data:image/webp;base64,AQID' }
    const audio = [
      { type: 'audio', audio: 'BAUG', format: 'wav' },
      { type: 'audio', audio: { id: 'a1' } },
    ]
    const { task } = await seen([
      answer([], [], messageOf({ type: 'output_text', text: 'Look' }, image, ...audio)),
    ])
    expect(task.artifacts[0]?.parts).toEqual([
      { text: 'Look' },
      { raw: 'AQID', mediaType: 'image/webp' },
      { raw: 'BAUG', mediaType: 'audio/wav' },
    ])
  },
  async '`message`: refusal'() {
    const { type, task } = await seen([
      answer([], [], messageOf({ type: 'refusal', refusal: 'I cannot help with this' })),
    ])
    expect(type).toBe('failed')
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'I cannot help with this' }] }])
  },
  async '`function_call`'() {
    const { calls } = await seen([answer([], CALL), answer(['Sunny'])])
    expect(calls[0]).toEqual({ ...ABOUT, state: 'called' })
  },
  async '`function_call_result`'() {
    const good = await seen([answer([], CALL), answer(['Sunny'])])
    expect(good.calls.at(-1)).toEqual({ ...ABOUT, state: 'done', output: 'clear' })
    expect(toolCallsIn(good.task.artifacts[0])).toEqual([good.calls.at(-1)])
    const large = await seen([answer([], CALL), answer(['Long'])], { weather: () => 'x'.repeat(16_385) })
    expect(large.calls.at(-1)).toEqual({ ...ABOUT, state: 'done' })
    const fail = (): never => {
      throw new Error('closed')
    }
    // The framework makes a text of the error.
    const told = await seen([answer([], CALL), answer(['No idea'])], { weather: fail })
    expect(told).toMatchObject({ type: 'completed' })
    const output = 'An error occurred while running the tool. Please try again.'
    expect(told.calls.at(-1)).toEqual({ ...ABOUT, state: 'done', output })
    const bad = await seen([answer([], CALL)], { weather: fail, more: { errorFunction: null } })
    expect(bad).toMatchObject({ type: 'failed', errors: [expect.stringContaining('closed')] })
    expect(bad.calls.at(-1)).toEqual({ ...ABOUT, state: 'failed', error: 'closed' })
  },
  async '`hosted_tool_call`'() {
    const search = { type: 'hosted_tool_call', id: 'h1', name: 'web_search_call', status: 'completed' }
    const hosted = { ...search, arguments: '{"q":1}', output: 'found', providerData: { secret: 1 } }
    const { task, calls } = await seen([answer(['Found'], [], hosted)])
    const done = { id: 'h1', name: 'web_search_call', state: 'done', input: { q: 1 }, output: 'found' }
    expect(calls.map(({ state }) => state)).toEqual(['called', 'done'])
    expect(toolCallsIn(task.artifacts[0])).toEqual([done])
    expect(JSON.stringify(task)).not.toContain('secret')
  },
  async '`hosted_tool_call`: `image_generation_call`'() {
    const image = { type: 'hosted_tool_call', id: 'h1', name: 'image_generation_call', output: 'AQID' }
    const { task } = await seen([answer(['Look'], [], image)])
    expect(task.artifacts[0]?.parts?.slice(0, 2)).toEqual([
      { text: 'Look' },
      { raw: 'AQID', mediaType: 'image/png' },
    ])
  },
  async '`needsApproval`'() {
    const more = { needsApproval: true }
    const good = await seen([answer([], CALL), answer(['Sunny'])], { more })
    expect(good.texts).toContainEqual(expect.stringContaining('weather({"city":"Rome"})?'))
    expect(good.task.history.map(({ state }) => state)).toContain('input-required')
    expect(good.calls.at(-1)).toMatchObject({ state: 'done' })
    const requests: Request[] = []
    const tools = [await toolOf('weather', () => 'clear', more)]
    const model = await modelOf([answer([], CALL), answer(['No'])], requests)
    const bad = await seenOf(agentOf(model, { tools }), { verdict: 'reject' })
    expect(bad.calls.at(-1)).toEqual({ ...ABOUT, state: 'rejected' })
    expect(toolCallsIn(bad.task.artifacts[0])).toMatchObject([{ state: 'rejected' }])
    expect(JSON.stringify(requests[1]?.input)).toContain('The user has rejected it')
  },
  async 'a handoff'() {
    const { Agent, run } = await openAi()
    const model = await modelOf([answer([], [['transfer_to_Other', 'c1', {}]]), answer(['Here I am'])])
    const { task } = await seenOf(async (task) => {
      const ai = openAiAgents(task)
      const other = new Agent({ name: 'Other', model: ai.model(model) })
      const agent = new Agent({ name: 'Travel', model: ai.model(model), handoffs: [other] })
      await ai.finish(run(agent, await ai.messages(), { stream: true }))
    })
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Here I am' }] }])
    expect(toolCallsIn(task.artifacts[0])).toMatchObject([{ name: 'transfer_to_Other', state: 'done' }])
  },
  async '`reasoning`'() {
    const reasoning = { type: 'reasoning', content: [{ type: 'input_text', text: 'I think' }] }
    expect((await seen([answer(['Yes'], [], reasoning)])).texts).toEqual([])
    const shown = await seen([answer(['Yes'], [], reasoning)], { options: { showReasoning: true } })
    expect(shown).toMatchObject({ texts: ['I think'], metadata: [{ reasoning: true }] })
  },
  async 'the usage'() {
    const { spent } = await seen([answer([], CALL), answer(['Sunny'])])
    expect(spent).toEqual({
      ...{ inputTokens: 20, outputTokens: 10, cachedInputTokens: 8, reasoningTokens: 4 },
    })
    const model = await modelOf([answer(['Hello'])])
    expect((await seenOf(agentOf(model, { isStreamed: false }))).spent).toMatchObject({ inputTokens: 10 })
  },
  async 'an error of the model, and a stream that ends early'() {
    const failed = await seen([() => Promise.reject(new Error('overloaded'))])
    expect(failed).toMatchObject({ type: 'failed', errors: ['Error: overloaded'] })
    const { messages, artifacts } = failed.task
    expect(JSON.stringify({ messages, artifacts })).not.toContain('overloaded')
    const cut = await seen([{ events: eventsOf([], ['Half']).slice(0, -1) }])
    expect(cut).toMatchObject({ type: 'failed', errors: [expect.stringContaining('before it was complete')] })
  },
  async 'a tripwire of a guardrail, and too many turns'() {
    const { Agent, run } = await openAi()
    const model = await modelOf(Array.from({ length: 5 }, () => answer([], CALL)))
    const tools = [await toolOf('weather', () => 'clear')]
    const many = await seenOf(async (task) => {
      const ai = openAiAgents(task)
      const agent = new Agent({ name: 'A', model: ai.model(model), tools: ai.tools(tools) })
      await ai.finish(run(agent, await ai.messages(), { stream: true, maxTurns: 2 }))
    })
    expect(many).toMatchObject({ type: 'failed', errors: [expect.stringContaining('Max turns')] })
    const trip = { name: 'no', execute: () => ({ tripwireTriggered: true, outputInfo: {} }) }
    const stopped = await seenOf(async (task) => {
      const ai = openAiAgents(task)
      const agent = new Agent({ name: 'A', model: ai.model(model), inputGuardrails: [trip] })
      await ai.finish(run(agent, await ai.messages(), { stream: true }))
    })
    expect(stopped).toMatchObject({ type: 'failed', errors: [expect.stringContaining('guardrail')] })
  },
  async '`signal`'() {
    const { type, signal } = await canceledSignalOf((onCall) => async (task) => {
      await agentOf(await modelOf([({ signal }) => onCall(signal)]))(task)
    })
    expect({ type, aborted: signal?.aborted }).toEqual({ type: 'canceled', aborted: true })
  },
  async '`response_started`, `model`, and the data of the provider about a response'() {
    const [first = {}, ...rest] = eventsOf(answer(['Hello']).output, ['Hello'])
    const { task, texts } = await seen([{ events: [first, { type: 'model', event: { raw: 'R' } }, ...rest] }])
    expect(texts).toEqual([])
    expect(JSON.stringify(task)).not.toContain('"R"')
  },
  async '`tool_search_call`, `tool_search_output`, `program`, `program_output`, `computer_call`, `shell_call`, `shell_call_output`, `apply_patch_call`, `apply_patch_call_output`, `compaction`, `unknown`'() {
    const { task, texts } = await seen([
      answer(['Hello'], [], { type: 'compaction', encrypted_content: 'x' }, { type: 'unknown' }),
    ])
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Hello' }] }])
    expect(texts).toEqual([])
  },
}

const ROWS = rowsOf('openai-agents', 'Where the events.*')

interface Protocol {
  readonly protocol: {
    readonly OutputModelItem: {
      readonly options: readonly {
        readonly shape: { readonly type: { readonly value: string } | { unwrap(): { value: string } } }
      }[]
    }
  }
}

describeWith('@openai/agents', () => {
  test('the table of events has a row for each case, and for each type of item', async () => {
    expect(ROWS).toEqual(Object.keys(CASES))
    const { protocol } = await loadFramework<Protocol>('@openai/agents')
    const types = protocol.OutputModelItem.options.map(({ shape: { type } }) =>
      'unwrap' in type ? type.unwrap().value : type.value,
    )
    expect(types.length).toBeGreaterThan(10)
    expect(types.filter((type) => !ROWS.some((row) => row.includes(`\`${type}\``)))).toEqual([])
  })

  test.each(Object.entries(CASES))('%s', async (_, check) => {
    await check()
  })

  test('the conversation has files of the user, and the calls and texts of earlier tasks', async () => {
    const requests: Request[] = []
    const model = await modelOf([answer([], CALL), answer(['Sunny']), answer(['As I said'])], requests)
    const weather = await toolOf('weather', () => 'clear')
    const agent = fakeAgent(async (task) => {
      const { Agent, run } = await openAi()
      const ai = openAiAgents(task)
      const agent = new Agent({ name: 'Travel', model: ai.model(model), tools: ai.tools([weather]) })
      await ai.finish(run(agent, await ai.messages({ earlier: 20 }), { stream: true }))
    })
    const client = await A2AClient.connect(agent.url, { fetch: agent.fetch })
    const image = { raw: 'AQID', mediaType: 'image/png' }
    const file = { url: 'https://example.com/a.pdf', mediaType: 'application/pdf', filename: 'a.pdf' }
    const result = await client.run({ parts: [{ text: 'Weather?' }, image, file] })
    if (result.type !== 'completed') throw new Error(result.type)
    await client.run('Really?', { contextId: result.task.contextId })
    expect(requests[2]?.input).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Weather?' },
          { type: 'input_image', image: 'data:image/png;base64,AQID' },
          { type: 'input_file', file: { url: 'https://example.com/a.pdf' }, filename: 'a.pdf' },
        ],
      },
      { type: 'function_call', callId: 'c1', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call_result', callId: 'c1', output: 'clear' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Sunny' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'Really?' }] },
    ])
  })

  test('a name is no model, and a tool that runs here and is no function is refused', async () => {
    const { errors } = await seenOf((task) => {
      const ai = openAiAgents(task)
      expect(() => ai.model('gpt-5' as never)).toThrow('one of a provider')
      expect(() => ai.tools({ weather: {} } as never)).toThrow('must be a list')
      ai.tools([{ type: 'shell', name: 'shell' }])
    })
    expect(errors).toEqual([expect.stringContaining('The tool "shell" is no function')])
  })

  test.each([true, false])(
    'a model that is not of ai.model() fails the task: streamed %s',
    async (stream) => {
      const model = await modelOf([answer(['Sunny'])])
      const { type, errors } = await seenOf(async (task) => {
        const { Agent, run } = await openAi()
        const ai = openAiAgents(task)
        await ai.finish(run(new Agent({ name: 'Travel', model }), await ai.messages(), { stream }))
      })
      expect({ type, errors }).toEqual({
        type: 'failed',
        errors: [expect.stringContaining('pass "model: ai.model(…)" to new Agent()')],
      })
    },
  )

  test.each([
    ['{"city": ', {}],
    ['"Rome"', {}],
    ['["Rome"]', { needsApproval: false }],
    ['{"city": ', { needsApproval: true }],
  ])('the model learns that it has called a tool with %s: %j', async (text, more) => {
    const requests: Request[] = []
    const made: unknown[] = []
    const { z } = await loadFramework<{ z: { object(shape: object): object; string(): object } }>('zod')
    const parameters = z.object({ city: z.string() })
    const tools = [
      await toolOf('weather', (input) => `clear ${made.push(input)}`, { ...more, parameters }),
      await toolOf('hotel', () => 'full', { needsApproval: true, parameters }),
    ]
    const call = { type: 'function_call', callId: 'c0', name: 'weather', arguments: text }
    const given = [answer([], [['hotel', 'c2', ROME]], call), answer([], CALL), answer(['Sunny'])]
    const { type, calls, texts } = await seenOf(agentOf(await modelOf(given, requests), { tools }))
    expect({ type, made }).toEqual({ type: 'completed', made: [ROME] })
    expect(JSON.stringify(requests[1]?.input)).toMatch(/An error occurred|Invalid/)
    expect(calls.at(-1)).toEqual({ ...ABOUT, state: 'done', output: 'clear 1' })
    expect(texts.filter((each) => each.includes('hotel('))).toHaveLength(1)
  })

  test('others than the owner of the task give an approval', async () => {
    const tools = [await toolOf('weather', () => 'clear', { needsApproval: true })]
    const model = await modelOf([answer([], CALL), answer(['Sunny'])])
    const execute = agentOf(model, { tools, approval: { answeredBy: ['boss'] } })
    const { result, asked } = await answeredByOthers(execute, 'approve')
    expect(asked).toEqual(['boss: weather({"city":"Rome"})?'])
    expect(result).toMatchObject({ type: 'completed', text: 'Sunny' })
  })

  test('arguments that are no JSON, where a function decides about approvals, fail the task', async () => {
    const tools = [await toolOf('weather', () => 'clear', { needsApproval: () => Promise.resolve(false) })]
    const call = { type: 'function_call', callId: 'c1', name: 'weather', arguments: '{"city": ' }
    const { type, errors } = await seenOf(agentOf(await modelOf([answer([], [], call)]), { tools }))
    expect(type).toBe('failed')
    expect(errors).toEqual([expect.stringContaining('arguments that are no JSON object')])
  })
})
