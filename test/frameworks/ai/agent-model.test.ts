/** Remote agents as language models of the real AI SDK. */
import { agentModel, aiSdk, type AgentModel, type AgentModelOptions } from 'a2a-tasks/ai'
import { A2AClient, textOf } from 'a2a-tasks/client'
import type { Execute, Run } from 'a2a-tasks/server'
import { fakeAgent, type FakeAgent } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { describeWith, loadFramework } from '../installed.js'
import { agentOf, answer, finish, modelOf, toolOf } from './kit.js'

interface Result {
  readonly text: string
  readonly reasoningText: string | undefined
  readonly content: readonly (object & { readonly type: string })[]
  readonly files: readonly { readonly mediaType: string; readonly base64: string }[]
  readonly sources: readonly object[]
  readonly toolCalls: readonly object[]
  readonly toolResults: readonly object[]
  readonly usage: object
  readonly finishReason: string
  readonly rawFinishReason: string | undefined
  readonly warnings: readonly object[] | undefined
  readonly response: { readonly messages: readonly object[] }
}

interface Framework {
  readonly generateText: (options: object) => Promise<Result>
  readonly streamText: (options: object) => { readonly [K in keyof Result]: PromiseLike<Result[K]> } & {
    readonly stream: AsyncIterable<{
      readonly type: string
      readonly text?: string
      readonly error?: unknown
    }>
  }
}

const ai = (): Promise<Framework> => loadFramework<Framework>('ai')

// AI SDK prints them.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

describeWith('ai', () => {
  describe.each<[string, (options: object) => Promise<Result>]>([
    ['generateText', async (options) => await (await ai()).generateText(options)],
    ['streamText', streamed],
  ])('%s', (_, call) => {
    test('gets texts, files and data of the agent', async () => {
      const model = modelFor((run) => {
        run.artifact({ artifactId: 'a', parts: [{ text: 'Your ' }] })
        run.artifact({
          artifactId: 'a',
          parts: [{ text: 'seat' }, { raw: 'iVBORw0KGgo=', mediaType: 'image/png' }],
        })
        run.artifact({ artifactId: 'b', parts: [{ data: { seat: '12A' } }] })
      })
      const { text, files, finishReason } = await call({ model, prompt: 'To Rome' })
      expect(text).toBe('Your seat{"seat":"12A"}')
      expect(files.map(({ mediaType, base64 }) => [mediaType, base64])).toEqual([
        ['image/png', 'iVBORw0KGgo='],
      ])
      expect(finishReason).toBe('stop')
    })

    test('gets files with a URL as sources and texts, and downloads none', async () => {
      const model = modelFor((run) => {
        const url = 'http://10.255.255.1/a.pdf'
        run.artifact({
          artifactId: 'a',
          parts: [{ text: 'Here: ' }, { url, filename: 'a.pdf' }, { url: 'javascript:alert(1)' }],
          metadata: { sources: [{ id: 's', url: 'javascript:alert(2)', title: 'Click' }] },
        })
        run.artifact({ artifactId: 'b', parts: [{ url: 'cid:1', mediaType: 'image/png' }] })
      })
      const { text, files, sources } = await call({ model, prompt: 'To Rome' })
      expect(text).toBe('Here: javascript:alert(1)cid:1')
      expect(files).toEqual([])
      expect(sources).toMatchObject([{ id: 'a/1', url: 'http://10.255.255.1/a.pdf', title: 'a.pdf' }])
    })

    test('an answer that is only a file with a URL continues the conversation', async () => {
      const contexts: string[] = []
      const model = modelFor((run) => {
        contexts.push(run.task.contextId)
        run.artifact({ parts: [{ url: 'https://a.example/a.pdf' }] })
      })
      const first = await call({ model, prompt: 'One' })
      expect(first.text).toBe('https://a.example/a.pdf')
      await call({ model, messages: [...first.response.messages, { role: 'user', content: 'Two' }] })
      expect(contexts[1]).toBe(contexts[0])
    })

    test('gets reasoning, calls of tools, sources, the finish reason and the usage', async () => {
      const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://a.example', title: 'A' }
      const reasoning = ['reasoning-start', 'reasoning-delta', 'reasoning-end'].map((type) => ({
        ...{ type, id: 'r', delta: 'Rome is warm' },
      }))
      const remote = await modelOf([
        [
          ...reasoning,
          ...answer(
            [],
            [
              ['weather', 'c1', { city: 'Rome' }],
              ['broken', 'c2', {}],
            ],
          ),
        ],
        [...answer(['Sunny']).slice(0, -1), source, finish('length')],
      ])
      const weather = await toolOf(() => 'clear')
      const broken = await toolOf(() => {
        throw new Error('closed')
      })
      const execute = agentOf(remote, {
        options: { showReasoning: true },
        tools: () => ({ weather, broken }),
      })
      const result = await call({ model: modelFor(execute), prompt: 'Weather?' })
      expect(result.text).toBe('Sunny')
      expect(result.reasoningText).toBe('Rome is warm')
      // Both run at the same time.
      const called = result.content.filter(({ type }) => type.startsWith('tool-'))
      expect(called.sort(byType)).toMatchObject([
        { type: 'tool-call', toolName: 'weather', input: { city: 'Rome' }, providerExecuted: true },
        { type: 'tool-call', toolName: 'broken', providerExecuted: true },
        { type: 'tool-error', toolName: 'broken', error: 'closed' },
        { type: 'tool-result', toolName: 'weather', output: 'clear' },
      ])
      expect(result.sources).toMatchObject([{ id: 's', url: 'https://a.example', title: 'A' }])
      expect([result.finishReason, result.rawFinishReason]).toEqual(['length', 'length'])
      expect(result.usage).toMatchObject({
        ...{ inputTokens: 20, outputTokens: 10 },
        inputTokenDetails: { cacheReadTokens: 8 },
        outputTokenDetails: { reasoningTokens: 4 },
      })
    })

    test('a question ends the answer, and the next message answers it', async () => {
      const agent = agentFor(async (run: Run) => {
        run.spend({ inputTokens: 3 })
        const seat = textOf(await run.requireInput('Window or aisle?'))
        run.spend({ inputTokens: 4 })
        return `Booked ${seat}`
      })
      const model = modelOfAgent(agent)
      const first = await call({ model, prompt: 'To Rome' })
      expect([first.text, first.finishReason, first.rawFinishReason]).toEqual([
        ...['Window or aisle?', 'stop', 'input-required'],
      ])
      const messages = [
        { role: 'user', content: 'To Rome' },
        ...first.response.messages,
        { role: 'user', content: 'Window' },
      ]
      const second = await call({ model, messages })
      expect(second.text).toBe('Booked Window')
      expect([first.usage, second.usage]).toMatchObject([{ inputTokens: 3 }, { inputTokens: 4 }])
      expect(agent.tasks.listTasks()).toHaveLength(1)
    })

    test('the next message continues the conversation', async () => {
      const contexts: string[] = []
      const model = modelFor((run) => {
        contexts.push(run.task.contextId)
        return `You said ${run.text}`
      })
      const first = await call({ model, prompt: 'One' })
      const messages = [...first.response.messages, { role: 'user', content: 'Two' }]
      expect((await call({ model, messages })).text).toBe('You said Two')
      expect(contexts[1]).toBe(contexts[0])
    })

    test('a status message is the answer if there is no other one', async () => {
      const model = modelFor((run) => run.complete('All done'))
      expect((await call({ model, prompt: 'Go' })).text).toBe('All done')
    })

    test('an agent that fails is an error', async () => {
      const model = modelFor((run) => run.fail('No seats'))
      await expect(call({ model, prompt: 'Go' })).rejects.toThrow('Fake agent: failed: No seats')
    })

    test('an abort cancels the task of the agent', async () => {
      const controller = new AbortController()
      const agent = agentFor(async (run) => {
        run.update({ message: 'Searching' })
        controller.abort()
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      })
      const canceled = new Promise((resolve) => {
        agent.tasks.on('task:stateChange', ({ to }) => {
          if (to === 'canceled') resolve(to)
        })
      })
      const calling = call({ model: modelOfAgent(agent), prompt: 'Go', abortSignal: controller.signal })
      await expect(calling).rejects.toThrow(/abort/i)
      expect(await canceled).toBe('canceled')
    })

    test('an answer without end is an error, and its task is canceled', async () => {
      const agent = agentFor(async (run) => {
        for (let n = 0; !run.signal.aborted; n += 1) {
          run.artifact(
            { artifactId: 'a', parts: [{ text: `${n}${'x'.repeat(500_000)}` }] },
            { append: false },
          )
          await new Promise((resolve) => setImmediate(resolve))
        }
      })
      const calling = call({ model: modelOfAgent(agent), prompt: 'Go' })
      await expect(calling).rejects.toThrow('is larger than the 67108864 bytes')
      expect(agent.tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
    })

    test('what an agent cannot use is a warning', async () => {
      const { warnings = [] } = await call({
        ...{ model: modelFor('Hi'), system: 'Be brief', temperature: 0.5, prompt: 'Go' },
        tools: { weather: await toolOf(() => 'clear') },
      })
      expect(warnings.map((warning) => ({ feature: '', ...warning }).feature).sort()).toEqual([
        'system messages',
        'temperature',
        'tools',
      ])
    })
  })

  test('a text streams as it comes, and what replaces it is a text of its own', async () => {
    const deltas: string[] = []
    let see = (): void => {}
    const isSeen = new Promise<void>((resolve) => (see = resolve))
    const model = modelFor(async (run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'Draft' }] })
      await isSeen
      run.artifact({ artifactId: 'a', parts: [{ text: ' two' }] })
      run.artifact({ artifactId: 'a', parts: [{ text: 'Final' }] }, { append: false })
    })
    const { stream } = (await ai()).streamText({ model, prompt: 'Go' })
    for await (const { type, text } of stream) {
      if (type === 'text-start') deltas.push('|')
      if (type === 'text-delta') deltas.push(text ?? '')
      if (type === 'text-delta') see()
    }
    expect(deltas).toEqual(['|', 'Draft', ' two', '|', 'Final'])
  })

  test('files of the user reach the agent', async () => {
    const received: unknown[] = []
    const model = modelFor((run) => {
      received.push(...run.message.parts)
      return 'Thanks'
    })
    const content = [
      { type: 'text', text: 'See' },
      { type: 'file', data: new Uint8Array([1, 2, 3]), mediaType: 'application/pdf', filename: 'a.pdf' },
      { type: 'file', data: new URL('https://a.example/b.png'), mediaType: 'image/png' },
    ]
    await (await ai()).generateText({ model, messages: [{ role: 'user', content }] })
    expect(received).toEqual([
      { text: 'See' },
      { raw: 'AQID', mediaType: 'application/pdf', filename: 'a.pdf' },
      { url: 'https://a.example/b.png', mediaType: 'image/png' },
    ])
  })

  test('a conversation begins in a given context', async () => {
    const model = modelFor((run) => run.task.contextId, { contextId: 'chat-1' })
    expect((await (await ai()).generateText({ model, prompt: 'Go' })).text).toBe('chat-1')
  })

  test('an agent of this library can have an agent as its model', async () => {
    const model = modelFor((run) => `You said ${run.text}`)
    const outer = agentFor(async (run) => {
      const sdk = aiSdk(run)
      await sdk.finish(
        (await loadFramework<{ streamText: (options: object) => never }>('ai')).streamText({
          model: sdk.model(model),
          messages: await sdk.messages(),
        }),
      )
    })
    const result = await new A2AClient({ card: outer.card, fetch: outer.fetch }).run('Hi')
    expect(result).toMatchObject({ type: 'completed', text: 'You said Hi' })
  })
})

/** As `generateText`, of a stream. */
async function streamed(options: object): Promise<Result> {
  const result = (await ai()).streamText({ ...options, onError: () => undefined })
  for await (const part of result.stream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') throw new Error('The stream was aborted')
  }
  const names = [
    ...['text', 'reasoningText', 'content', 'files', 'sources', 'toolCalls', 'toolResults', 'usage'],
    ...['finishReason', 'rawFinishReason', 'warnings', 'response'],
  ] as const
  const values = names.map(async (name) => [name, await result[name]] as const)
  return Object.fromEntries(await Promise.all(values)) as unknown as Result
}

function byType(a: { readonly type: string }, b: { readonly type: string }): number {
  return a.type.localeCompare(b.type)
}

function agentFor(script: string | Execute): FakeAgent {
  return fakeAgent(script)
}

function modelFor(script: string | Execute, options?: AgentModelOptions): AgentModel {
  return modelOfAgent(agentFor(script), options)
}

function modelOfAgent({ card, fetch }: FakeAgent, options?: AgentModelOptions): AgentModel {
  return agentModel(new A2AClient({ card, fetch }), options)
}
