/** Agents with the real AI SDK and its mock model, over a task manager in memory. */
import { spendingOf, TaskManager } from 'a2a-tasks'
import { A2AClient, textOf, toolCallsIn, type ToolCall } from 'a2a-tasks/client'
import { aiSdk, type AiSdk, type ApprovalRule, type ModelLike } from 'a2a-tasks/ai'
import type { Execute, Run } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { describeWith } from '../installed.js'
import { answeredByOthers } from '../seen.js'
import { agentOf, ai, answer, finish, modelOf, toolOf, type Call } from './kit.js'

describeWith('ai', () => {
  test('a streamed answer is one artifact that grows, and its usage a bill', async () => {
    const model = await modelOf([answer(['Hello', ' ', 'Ada'])])
    const chunks: string[] = []
    const { client } = await served(agentOf(model))
    const result = await client.run('Hi', {
      onUpdate: ({ event }) => {
        if (event.type === 'artifact') chunks.push(textOf(event.artifact))
      },
    })
    expect(result).toMatchObject({ type: 'completed', text: 'Hello Ada' })
    expect(chunks).toEqual(['Hello', ' ', 'Ada'])
    const { artifacts, spent } = about(result)
    expect(artifacts).toMatchObject([{ parts: [{ text: 'Hello Ada' }] }])
    expect(spent).toEqual({
      ...{ inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 2 },
    })
  })

  test('the loop of the framework calls tools, which clients see, and later turns know', async () => {
    const calls: Call[] = []
    const model = await modelOf(
      [answer(['Let me see.'], [['weather', 'c1', { city: 'Rome' }]]), answer(['Sunny']), answer(['Again'])],
      calls,
    )
    const weather = await toolOf(({ city }: { city: string }) => ({ city, sky: 'clear' }))
    const seen: ToolCall[] = []
    const { client } = await served(agentOf(model, { tools: () => ({ weather }), more: () => ({}) }))
    const result = await client.run('Weather?', {
      onUpdate: ({ event }) => {
        if (event.type === 'status') seen.push(...toolCallsIn(event.message))
      },
    })
    expect(result).toMatchObject({ type: 'completed', text: 'Let me see.\n\nSunny' })
    const done = {
      id: 'c1',
      name: 'weather',
      input: { city: 'Rome' },
      output: { city: 'Rome', sky: 'clear' },
    }
    // A change of the bill comes with the status message that there is.
    expect([...new Set(seen.map(({ state }) => state))]).toEqual(['called', 'done'])
    expect(toolCallsIn(about(result).artifacts[0])).toEqual([{ ...done, state: 'done' }])
    expect(about(result).spent).toMatchObject({ inputTokens: 20, outputTokens: 10 })
    expect(calls[1]?.prompt.at(-1)).toMatchObject({
      role: 'tool',
      content: [{ output: { type: 'json', value: done.output } }],
    })
  })

  test('earlier tasks of the conversation are memory, with the calls of tools', async () => {
    const calls: Call[] = []
    const model = await modelOf(
      [answer([], [['weather', 'c1', { city: 'Rome' }]]), answer(['Sunny']), answer(['As I said: sunny'])],
      calls,
    )
    const weather = await toolOf(() => 'clear')
    const { client } = await served(async (run) => {
      const { streamText, isStepCount } = await ai()
      const sdk = aiSdk(run)
      const messages = await sdk.messages({ earlier: 20 })
      await sdk.finish(
        streamText({
          model: sdk.model(model),
          tools: sdk.tools({ weather }),
          messages,
          stopWhen: isStepCount(5),
        }),
      )
    })
    const first = await client.run('Weather?')
    await client.run('Really?', { contextId: about(first).contextId })
    expect(calls[2]?.prompt.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
    expect(calls[2]?.prompt[2]?.content).toMatchObject([
      { toolCallId: 'c1', output: { type: 'text', value: 'clear' } },
    ])
  })

  test.each([
    ['approve', 'Booked', { type: 'text', value: 'done' }],
    ['reject', 'Not booked', { type: 'execution-denied' }],
  ])('an approval asks the user: %s', async (verdict, text, output) => {
    const calls: Call[] = []
    const model = await modelOf([answer([], [['book', 'c1', { city: 'Rome' }]]), answer([text])], calls)
    let booked = 0
    const book = await toolOf(() => {
      booked += 1
      return 'done'
    })
    const { client } = await served(
      agentOf(model, {
        tools: () => ({ book }),
        more: (sdk) => ({ toolApproval: sdk.approval({ book: 'user-approval' }) }),
      }),
    )
    const asked: string[] = []
    const result = await client.run('Book', {
      onInputRequired: (question) => {
        asked.push(question.message === undefined ? '' : textOf(question.message))
        return verdict
      },
    })
    expect(asked).toEqual([expect.stringContaining('book({"city":"Rome"})?')])
    expect(result).toMatchObject({ type: 'completed', text })
    expect(booked).toBe(verdict === 'approve' ? 1 : 0)
    expect(calls[1]?.prompt.at(-1)?.content).toMatchObject([{ output }])
    expect(toolCallsIn(about(result).artifacts[0])).toMatchObject([
      { state: verdict === 'approve' ? 'done' : 'rejected' },
    ])
  })

  test.each([
    ['approve', ['boss', 'deputy']],
    ['reject', ({ input }: { readonly input: unknown }) => [(input as { readonly city: string }).city]],
  ])('others than the owner of the task give an approval: %s', async (verdict, answeredBy) => {
    const city = 'boss'
    const model = await modelOf([answer([], [['book', 'c1', { city }]]), answer(['Said'])])
    const book = await toolOf(() => 'done')
    const execute = agentOf(model, {
      tools: () => ({ book }),
      more: (sdk) => ({ toolApproval: sdk.approval({ book: 'user-approval' }, { answeredBy }) }),
    })
    const { result, asked } = await answeredByOthers(execute, verdict)
    expect(asked).toEqual(['boss: book({"city":"boss"})?'])
    expect(result).toMatchObject({ type: 'completed', text: 'Said' })
    expect(toolCallsIn(about(result).artifacts[0])).toMatchObject([
      { state: verdict === 'approve' ? 'done' : 'rejected' },
    ])
  })

  test('a tool that waits for an approval that nobody asks for fails the task, and says what to do', async () => {
    const model = await modelOf([answer([], [['book', 'c1', { city: 'Rome' }]])])
    const book = await toolOf(() => 'done', { needsApproval: true })
    const { client, errors } = await served(agentOf(model, { tools: () => ({ book }) }))
    expect(await client.run('Book')).toMatchObject({ type: 'failed' })
    expect(errors).toEqual([expect.stringContaining("toolApproval: ai.approval({ book: 'user-approval' })")])
  })

  test('a rule for a tool that is not there fails the task before another tool runs without it', async () => {
    const model = await modelOf([answer([], [['book', 'c1', { city: 'Rome' }]])])
    let booked = 0
    const book = await toolOf(() => (booked += 1))
    const { client, errors } = await served(
      agentOf(model, {
        tools: () => ({ book }),
        more: (sdk) => ({ toolApproval: sdk.approval({ books: 'user-approval' }) }),
      }),
    )
    expect(await client.run('Book')).toMatchObject({ type: 'failed' })
    expect(errors).toEqual([expect.stringContaining('a rule for "books"; the tools are book')])
    expect(booked).toBe(0)
  })

  test.each<[string, Readonly<Record<string, ApprovalRule>>]>([
    ['the code does not pass it on', { book: 'user-approval' }],
    ['a rule names no tool', { books: 'user-approval' }],
    [
      'a function of the input decides',
      { book: ({ city }: { city: string }) => (city === 'Rome' ? 'user-approval' : undefined) },
    ],
    ['a rule denies it', { book: 'denied' }],
  ])('a tool is not called where AI SDK does not ask for its approval: %s', async (_, rules) => {
    const model = await modelOf([answer([], [['book', 'c1', { city: 'Rome' }]]), answer(['Booked'])])
    let booked = 0
    const book = await toolOf(() => (booked += 1))
    const more = (sdk: AiSdk): object => {
      sdk.approval(rules)
      return {}
    }
    const { client, errors } = await served(agentOf(model, { tools: () => ({ book }), more }))
    expect(await client.run('Book')).toMatchObject({ type: 'failed' })
    expect(errors).toEqual([expect.stringContaining('"book" was not called: AI SDK did not ask')])
    expect(booked).toBe(0)
  })

  test('a tool without a rule, and one whose rule lets the call pass, need no question', async () => {
    const model = await modelOf([
      answer(
        [],
        [
          ['book', 'c1', { city: 'Rome' }],
          ['weather', 'c2', { city: 'Rome' }],
        ],
      ),
      answer(['Done']),
    ])
    const tool = await toolOf(() => 'yes')
    for (const passes of [true, false]) {
      const more = (sdk: AiSdk): object => {
        const toolApproval = sdk.approval({ book: () => 'not-applicable' })
        return passes ? { toolApproval } : {}
      }
      const { client } = await served(agentOf(model, { tools: () => ({ book: tool, weather: tool }), more }))
      expect(await client.run('Book')).toMatchObject({ type: 'completed', text: 'Done' })
    }
  })

  test('AI SDK 6, which does not know the option, calls no model', async () => {
    let calls = 0
    const model = await modelOf([() => ((calls += 1), answer(['Hi']))])
    const { client, errors } = await served(async (run) => {
      // As version 6 calls it.
      const request = { prompt: [], headers: { 'user-agent': 'ai/6.0.326' } } as never
      await aiSdk(run).model(model).doStream(request)
    })
    expect(await client.run('Hi')).toMatchObject({ type: 'failed' })
    expect(errors).toEqual([expect.stringContaining('needs AI SDK 7, and this is version 6.0.326')])
    expect(calls).toBe(0)
  })

  test('a failure of a model that the code catches is none, and one that it does not catch is', async () => {
    const fails = [...answer(['Half']).slice(0, -2), { type: 'error', error: new Error('overloaded') }]
    const [broken, works] = [await modelOf([fails, fails]), await modelOf([answer(['Hello'])])]
    const { streamText } = await ai()
    const use = (run: Run, order: readonly ModelLike[]) => {
      const sdk = aiSdk(run)
      return order.map((model) => async () => {
        const result = streamText({ model: sdk.model(model), prompt: 'Hi', onError: () => undefined })
        await sdk.finish(result)
      })
    }
    const caught = await served(async (run) => {
      const [first, second] = use(run, [broken, works])
      await first?.().catch(() => undefined)
      await second?.()
    })
    expect(await caught.client.run('Hi')).toMatchObject({ type: 'completed' })
    const uncaught = await served(async (run) => {
      const [first, second] = use(run, [works, broken])
      await first?.()
      await second?.()
    })
    expect(await uncaught.client.run('Hi')).toMatchObject({ type: 'failed' })
    expect(uncaught.errors).toEqual(['Error: overloaded'])
  })

  test('a failure of the run in a tool goes to no model, and another conversation goes on', async () => {
    const calls: Call[] = []
    const model = await modelOf([answer([], [['read', 'c1', {}]]), answer(['It failed'])], calls)
    const other = await modelOf([answer(['Short'])])
    const read = await toolOf(() => 'x'.repeat(2_000_000))
    const { streamText, isStepCount } = await ai()
    const { client } = await served(async (run) => {
      const sdk = aiSdk(run)
      const options = { tools: sdk.tools({ read }), prompt: 'Hi', onError: () => undefined }
      const stopWhen = isStepCount(3)
      const failure = await sdk
        .finish(streamText({ model: sdk.model(model), stopWhen, ...options }))
        .catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'LIMIT_EXCEEDED' })
      await sdk.finish(streamText({ model: sdk.model(other), ...options }))
    })
    expect(await client.run('Hi')).toMatchObject({ type: 'completed', text: 'Short' })
    expect(calls).toHaveLength(1)
  })

  test.each([
    [new Error('Too slow'), 'Too slow'],
    [undefined, 'AbortError: This operation was aborted'],
  ])('a signal of the code that aborts fails the task with its reason: %s', async (reason, text) => {
    const own = new AbortController()
    const model = await modelOf([
      ({ abortSignal }) =>
        new Promise((_, reject) => {
          abortSignal?.addEventListener('abort', () => reject(new Error('aborted')))
          own.abort(reason)
        }),
    ])
    const { client, errors } = await served(agentOf(model, { more: () => ({ abortSignal: own.signal }) }))
    expect(await client.run('Hi')).toMatchObject({ type: 'failed' })
    expect(errors).toEqual([expect.stringContaining(text)])
  })

  test('a model that the code forgets to wrap fails the task, and says what to do', async () => {
    const model = await modelOf([answer(['Hello'])])
    const { client, errors } = await served(agentOf(model, { more: () => ({ model }) }))
    expect(await client.run('Hi')).toMatchObject({ type: 'failed' })
    expect(errors).toEqual([expect.stringContaining('pass "model: ai.model(…)"')])
  })

  test.each([Infinity, NaN])('usage of %s is left out of the bill', async (total) => {
    const end = { ...finish('stop'), usage: { inputTokens: { total }, outputTokens: { total: 5 } } }
    const { client } = await served(agentOf(await modelOf([[...answer(['Hi']).slice(0, -1), end]])))
    const result = await client.run('Hi')
    expect(result).toMatchObject({ type: 'completed' })
    expect(about(result).spent).toEqual({ outputTokens: 5 })
  })

  test.each(['reasoning-delta', 'tool-input-delta', 'text-delta'])(
    'a model that sends %s without end fails the task',
    async (type) => {
      let sent = 0
      const model: ModelLike = {
        ...{ specificationVersion: 'v4', provider: 'endless', modelId: 'endless', supportedUrls: {} },
        doGenerate: () => Promise.reject(new Error('no')),
        doStream: () => {
          const pull = (controller: ReadableStreamDefaultController<{ type: string }>): void => {
            sent += 1
            if (sent > 100_000) controller.error(new Error('It was read without end'))
            const part = { type, id: 'r', delta: 'x'.repeat(100_000) }
            controller.enqueue(part)
          }
          return Promise.resolve({ stream: new ReadableStream({ pull }) })
        },
      }
      const { client, errors } = await served(async (run) => {
        const { streamText } = await ai()
        const sdk = aiSdk(run)
        const hidden = sdk.model(model, { show: false })
        await sdk.finish(streamText({ model: hidden, prompt: 'Hi', onError: () => undefined }))
      })
      expect(await client.run('Hi')).toMatchObject({ type: 'failed' })
      expect(errors).toEqual([expect.stringContaining('The answer of the model is larger')])
      expect(sent).toBeLessThan(1_000)
    },
  )

  test('an output with more levels than a message can have is none of an error', async () => {
    const calls: Call[] = []
    const model = await modelOf([answer([], [['pay', 'c1', {}]]), answer(['Paid'])], calls)
    const pay = await toolOf(() => JSON.parse('['.repeat(97) + ']'.repeat(97)) as unknown)
    const { client } = await served(agentOf(model, { tools: () => ({ pay }) }))
    expect(await client.run('Pay')).toMatchObject({ type: 'completed', text: 'Paid' })
    expect(JSON.stringify(calls[1]?.prompt.at(-1)?.content)).not.toContain('error')
  })

  test.each(['__proto__', 'constructor'])(
    'an output with a field %s is an error for the model',
    async (key) => {
      const calls: Call[] = []
      const model = await modelOf([answer([], [['pay', 'c1', {}]]), answer(['Paid'])], calls)
      let made = 0
      const pay = await toolOf(() => JSON.parse(`{"n": ${(made += 1)}, "all": [{"${key}": {}}]}`) as unknown)
      const { client } = await served(agentOf(model, { tools: () => ({ pay }) }))
      const result = await client.run('Pay')
      expect(result).toMatchObject({ type: 'completed', text: 'Paid' })
      const error = `The tool was called, and its output is lost: it has a field "${key}"`
      expect(calls[1]?.prompt.at(-1)?.content).toMatchObject([{ output: { value: `Error: ${error}` } }])
      expect(toolCallsIn(about(result).artifacts[0])).toMatchObject([{ id: 'c1', state: 'failed', error }])
      expect(made).toBe(1)
    },
  )

  test('a tool in ai.tools that asks the user fails the task, and says what to do', async () => {
    const calls: Call[] = []
    const model = await modelOf([answer([], [['where', 'c1', {}]]), answer(['It failed'])], calls)
    const { client, errors } = await served(async (run) => {
      const where = await toolOf(() => run.requireInput('Where?'))
      await agentOf(model, { tools: () => ({ where }) })(run)
    })
    expect(await client.run('Go')).toMatchObject({ type: 'failed' })
    expect(errors).toEqual([expect.stringContaining('must be left out of ai.tools()')])
    expect(calls).toHaveLength(1)
  })

  const inOneTurn = [
    answer(
      [],
      [
        ['where', 'c1', { city: 'from' }],
        ['where', 'c2', { city: 'to' }],
      ],
    ),
    answer(['Noted']),
  ]

  test('two tools that ask in one turn of the model ask one after the other, where AI SDK calls one at a time', async () => {
    const model = await modelOf(inOneTurn)
    const asked: string[] = []
    const { client } = await served(async (run) => {
      const where = await toolOf(async ({ city }: { city: string }) => {
        const said = await run.requireInput(`Where ${city}?`)
        return textOf(said)
      })
      const { streamText, isStepCount } = await ai()
      const sdk = aiSdk(run)
      const options = { tools: { where }, prompt: 'Go', stopWhen: isStepCount(3), toolCallConcurrency: 1 }
      await sdk.finish(streamText({ model: sdk.model(model), ...options }))
    })
    const result = await client.run('Go', {
      onInputRequired: ({ message }) => {
        asked.push(message === undefined ? '' : textOf(message))
        return 'Rome'
      },
    })
    expect(result).toMatchObject({ type: 'completed', text: 'Noted' })
    expect(asked).toEqual(['Where from?', 'Where to?'])
  })

  test('two calls that need an approval in one turn of the model are asked one after the other', async () => {
    const model = await modelOf(inOneTurn)
    const where = await toolOf(({ city }: { city: string }) => city)
    const more = (sdk: AiSdk): object => ({ toolApproval: sdk.approval({ where: 'user-approval' }) })
    const { client } = await served(agentOf(model, { tools: () => ({ where }), more }))
    const asked: string[] = []
    const result = await client.run('Go', {
      onQuestions: (questions) => {
        asked.push(...questions.map(({ message }) => message))
        return Object.fromEntries(
          questions.map(({ id }, at) => [id, asked.length + at > 1 ? 'reject' : 'approve']),
        )
      },
    })
    expect(result).toMatchObject({ type: 'completed', text: 'Noted' })
    expect(asked).toEqual(['where({"city":"from"})?', 'where({"city":"to"})?'])
    expect(
      toolCallsIn(about(result).artifacts[0])
        .map(({ state }) => state)
        .toSorted(),
    ).toEqual(['done', 'rejected'])
  })

  test('a generator of a tool ends when its task is canceled', async () => {
    const model = await modelOf([answer([], [['watch', 'c1', {}]])])
    let [pulled, isReturned] = [0, false]
    const watch = await toolOf(async function* () {
      try {
        for (;;) {
          await new Promise(setImmediate)
          yield (pulled += 1)
        }
      } finally {
        isReturned = true
      }
    })
    const { client } = await served(agentOf(model, { tools: () => ({ watch }) }))
    const run = client.run('Watch', {
      onUpdate: ({ task }) => {
        if (pulled > 3) void client.cancelTask(task.id)
      },
    })
    expect(await run).toMatchObject({ type: 'canceled' })
    await expect.poll(() => isReturned).toBe(true)
  })

  test('code may end without awaiting finish', async () => {
    const model = await modelOf([answer(['Late'])])
    const { client } = await served(async (run) => {
      const { streamText } = await ai()
      const sdk = aiSdk(run)
      void sdk.finish(streamText({ model: sdk.model(model), prompt: 'Go', onError: () => undefined }))
      await run.step('quick', () => 1)
      return 'Done'
    })
    expect(await client.run('Go')).toMatchObject({ type: 'completed' })
  })

  test('an error of a tool goes to the model', async () => {
    const calls: Call[] = []
    const model = await modelOf(
      [answer([], [['weather', 'c1', { city: 'Rome' }]]), answer(['No idea'])],
      calls,
    )
    const weather = await toolOf(() => {
      throw new RangeError('The station is closed')
    })
    const { client } = await served(agentOf(model, { tools: () => ({ weather }) }))
    const result = await client.run('Weather?')
    expect(result).toMatchObject({ type: 'completed', text: 'No idea' })
    expect(calls[1]?.prompt.at(-1)?.content).toMatchObject([
      { output: { type: 'error-text', value: 'RangeError: The station is closed' } },
    ])
    expect(toolCallsIn(about(result).artifacts[0])).toMatchObject([
      { state: 'failed', error: 'The station is closed' },
    ])
  })

  test.each<[string, object[]]>([
    [
      'an error in the stream',
      [...answer(['Half']).slice(0, -2), { type: 'error', error: new Error('overloaded') }],
    ],
    ['the finish reason "error"', [...answer(['Half']).slice(0, -1), finish('error')]],
    ['a stream that ends too early', answer(['Half']).slice(0, -1)],
  ])('%s fails the task', async (_, parts) => {
    const { client, errors } = await served(agentOf(await modelOf([parts])))
    expect(await client.run('Hi')).toMatchObject({ type: 'failed' })
    expect(errors).toHaveLength(1)
  })

  test('a call that the provider says can be made again is, and replaces what it had written', async () => {
    let attempts = 0
    const model = await modelOf([
      () => {
        attempts += 1
        if (attempts > 1) return answer(['Whole'])
        const error = Object.assign(new Error('overloaded'), { isRetryable: true })
        return [...answer(['Half']).slice(0, -2), { type: 'error', error }]
      },
    ])
    const { client } = await served(async (run) => {
      const { streamText } = await ai()
      const sdk = aiSdk(run)
      const retry = { attempts: 2, backoff: { initialMs: 1 } }
      await sdk.finish(streamText({ model: sdk.model(model, { retry }), prompt: run.text }))
    })
    expect(await client.run('Hi')).toMatchObject({ type: 'completed', text: 'Whole' })
  })

  test('a canceled task aborts the model', async () => {
    const begun = deferred<Call>()
    const model = await modelOf([
      (call) => {
        begun.resolve(call)
        return new Promise((_, reject) =>
          call.abortSignal?.addEventListener('abort', () => reject(new Error('aborted'))),
        )
      },
    ])
    const { client, errors, tasks } = await served(agentOf(model))
    const running = client.run('Hi')
    const { abortSignal } = await begun.promise
    tasks.cancelTask(tasks.listTasks()[0]?.id ?? '')
    expect(await running).toMatchObject({ type: 'canceled' })
    expect(abortSignal?.aborted).toBe(true)
    expect(errors).toEqual([])
  })

  test('files are parts, sources are metadata, and reasoning is shown on demand', async () => {
    const parts = [
      ...answer(['Look: ']).slice(0, -1),
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'A picture' },
      { type: 'reasoning-delta', id: 'r', delta: ' helps' },
      { type: 'reasoning-end', id: 'r' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'url', url: new URL('https://example.com/a.png') },
      },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com', title: 'Example' },
      finish('length'),
    ]
    const seen: string[] = []
    const { client } = await served(agentOf(await modelOf([parts]), { options: { showReasoning: true } }))
    const result = await client.run('Show', {
      onUpdate: ({ event }) => {
        if (event.type === 'status' && event.message) seen.push(textOf(event.message))
      },
    })
    expect(about(result).artifacts).toMatchObject([
      {
        parts: [
          { text: 'Look: ' },
          { raw: 'AQID', mediaType: 'image/png' },
          { url: 'https://example.com/a.png', mediaType: 'image/png' },
          {},
        ],
        metadata: {
          sources: [{ id: 's', url: 'https://example.com', title: 'Example' }],
          finishReason: 'length',
        },
      },
    ])
    expect(seen).toContain('A picture helps')
  })

  test('generateText is as durable, and a hidden model shows nothing', async () => {
    const { MockLanguageModelV4 } = await (
      await import('../installed.js')
    ).loadFramework<{
      MockLanguageModelV4: new (options: object) => Parameters<ReturnType<typeof aiSdk>['model']>[0]
    }>('ai/test')
    const model = new MockLanguageModelV4({
      doGenerate: () =>
        Promise.resolve({
          content: [{ type: 'text', text: 'Loud' }],
          ...{
            finishReason: { unified: 'stop', raw: undefined },
            usage: (finish('stop') as { usage: object }).usage,
          },
          ...{ warnings: [], request: { body: () => 'no data' } },
        }),
    })
    const { client } = await served(async (run) => {
      const { generateText } = await ai()
      const sdk = aiSdk(run)
      const hidden = await generateText({ model: sdk.model(model, { show: false }), prompt: 'Hi' })
      await sdk.finish(generateText({ model: sdk.model(model), prompt: hidden.text }))
    })
    const result = await client.run('Hi')
    expect(result).toMatchObject({ type: 'completed', text: 'Loud' })
    expect(about(result).spent).toMatchObject({ inputTokens: 20 })
  })

  test('files of the user are files for the model', async () => {
    const calls: Call[] = []
    const { client } = await served(agentOf(await modelOf([answer(['Nice'])], calls)))
    await client.run({
      parts: [
        { text: 'Look' },
        { raw: 'AQID', mediaType: 'image/png', filename: 'a.png' },
        { data: { a: 1 } },
      ],
    })
    expect(calls[0]?.prompt).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'file', mediaType: 'image/png' },
          { type: 'text', text: '{"a":1}' },
        ],
      },
    ])
  })

  test('a tool that nobody executes is refused', async () => {
    const { client, errors } = await served(
      agentOf(await modelOf([]), { tools: () => ({ ask: { description: 'A question' } }) }),
    )
    await client.run('Hi')
    expect(errors).toEqual([expect.stringContaining('The tool "ask" has no function "execute"')])
    const listed = await served((run) => void aiSdk(run).tools([] as never))
    await listed.client.run('Hi')
    expect(listed.errors).toEqual([expect.stringContaining('ai.tools({ weather })')])
  })
})

async function served(execute: Execute) {
  const tasks = new TaskManager()
  const errors: string[] = []
  const agent = fakeAgent(execute, { tasks, onError: (error) => errors.push(String(error)) })
  return { client: await A2AClient.connect(agent.url, { fetch: agent.fetch }), errors, tasks }
}

function about(result: object) {
  const { task } = result as {
    task: { contextId: string; artifacts?: { parts: object[]; metadata?: object }[]; metadata?: object }
  }
  return { contextId: task.contextId, artifacts: task.artifacts ?? [], spent: spendingOf(task)?.total }
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve }
}
