/** The tables of the guide to browsers: a case for each row, with AI SDK's own chat and an agent over HTTP. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { ChatMetadata } from 'a2a-tasks/chat'
import { textOf } from 'a2a-tasks/client'
import { toolCallMetadata, toolCallParts, type ToolCall } from '../../../src/wire/tool-calls.js'
import type { Execute, Run } from 'a2a-tasks/server'
import { read } from '../../support/repository.js'
import { rowsOf } from '../guide.js'
import { describeWith, MODULES } from '../installed.js'
import {
  chatOf,
  lastParts,
  serve,
  signal,
  whenChanged,
  type Chat,
  type Scene,
  type UIMessage,
  type UIPart,
} from './kit.js'

/** The chat after this message, with an agent that does this. */
async function said(
  execute: Execute,
  message: object = { text: 'Hi' },
  options: object = {},
): Promise<Chat & Scene> {
  const scene = await serve(execute)
  const chat = await chatOf(scene.transport)
  await chat.sendMessage(message, options)
  return Object.assign(chat, scene)
}

async function partsOf(execute: Execute): Promise<UIPart[]> {
  return lastParts(await said(execute))
}

const show = (run: Run, call: ToolCall): void => {
  run.update({ message: { parts: toolCallParts(call) } })
}
const CALL = { id: 'c1', name: 'weather', input: { city: 'Rome' } }
const TOOL = { type: 'dynamic-tool', toolName: 'weather', toolCallId: 'c1', input: { city: 'Rome' } }

const OF_AGENT: Readonly<Record<string, () => Promise<void>>> = {
  async 'text of an artifact'() {
    const text = await partsOf(async function* () {
      yield* await Promise.resolve(['Hello, ', 'you'])
    })
    expect(text).toEqual([{ type: 'text', text: 'Hello, you', state: 'done' }])
    const mixed = await partsOf((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'Let me look.' }] })
      show(run, { ...CALL, state: 'called' })
      run.artifact({ artifactId: 'a', parts: [{ text: 'Sunny' }] })
    })
    expect(mixed).toMatchObject([{ text: 'Let me look.' }, TOOL, { text: 'Sunny' }])
  },
  async 'an artifact that is replaced'() {
    const replaced = await partsOf((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'One, ' }] })
      show(run, { ...CALL, state: 'done', output: 1 })
      run.artifact({ artifactId: 'a', parts: [{ text: 'two' }, { data: { n: 1 } }] })
      run.artifact({ artifactId: 'b', parts: [{ text: 'Another' }] })
      run.artifact(
        { artifactId: 'a', parts: [{ text: 'One, three' }, { data: { n: 1 } }] },
        { append: false },
      )
      run.artifact({ artifactId: 'a', parts: [{ text: '!' }] })
    })
    expect(replaced).toMatchObject([
      { text: 'One, ' },
      { ...TOOL, output: 1 },
      { text: 'Another' },
      { text: 'three' },
      { type: 'data-json', data: { n: 1 } },
      { text: '!' },
    ])
    // The same again changes nothing, and neither does a longer one.
    const grown = await partsOf((run) => {
      for (const text of ['One', 'One', 'One and two'])
        run.artifact({ artifactId: 'a', parts: [{ text }] }, { append: false })
    })
    expect(grown).toEqual([{ type: 'text', text: 'One and two', state: 'done' }])
    const earlier = await said(async (run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'Draft' }] })
      await run.requireInput('Is it good?')
      run.artifact({ artifactId: 'a', parts: [{ text: 'Final' }] }, { append: false })
    })
    await earlier.sendMessage({ text: 'No' })
    expect(earlier.messages.map(({ parts }) => parts.map(({ text }) => text).join(' '))).toEqual([
      'Hi',
      ' Draft Is it good?',
      'No',
      ' Final',
    ])
  },
  async 'a file of an artifact'() {
    const parts = await partsOf((run) => {
      run.artifact({
        parts: [
          { raw: 'AQID', mediaType: 'image/png', filename: 'a.png' },
          { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
          { url: 'javascript:alert(1)', mediaType: 'text/html' },
        ],
      })
    })
    expect(parts).toEqual([
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AQID' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
    ])
  },
  async 'a data part of an artifact'() {
    const parts = await partsOf((run) => {
      run.artifact({ parts: [{ data: { n: 1 } }, { data: null }] })
    })
    expect(parts).toMatchObject([
      { type: 'data-json', data: { n: 1 } },
      { type: 'data-json', data: null },
    ])
  },
  async '`metadata.sources` of an artifact'() {
    const sources = [
      { id: 's', url: 'https://example.com', title: 'Example' },
      { id: 'd', title: 'D', mediaType: 'application/pdf', filename: 'd.pdf' },
      { id: 'j', url: 'javascript:alert(1)' },
    ]
    const parts = await partsOf((run) => {
      for (const text of ['a', 'b'])
        run.artifact({ artifactId: 'a', parts: [{ text }], metadata: { sources } })
    })
    expect(parts.filter(({ type }) => type !== 'text')).toMatchObject([
      { type: 'source-url', sourceId: 's', url: 'https://example.com', title: 'Example' },
      { type: 'source-document', sourceId: 'd', title: 'D', filename: 'd.pdf' },
    ])
  },
  async 'a status message'() {
    const { onChange, changed } = whenChanged((messages) =>
      JSON.stringify(messages.at(-1)?.metadata ?? '').includes('"text":"Reading"'),
    )
    const { transport } = await serve(async (run) => {
      run.update({ message: { parts: [{ text: 'Reading' }, { data: { page: 1 } }] } })
      await changed
      return 'Read'
    })
    const chat = await chatOf(transport, { onChange })
    await chat.sendMessage({ text: 'Hi' })
    expect(lastParts(chat)).toMatchObject([{ type: 'data-json', data: { page: 1 } }, { text: 'Read' }])
    expect(chat.messages.at(-1)?.metadata).toMatchObject({ a2a: { state: 'completed', contextId: chat.id } })
  },
  async 'a status message with `metadata.reasoning`'() {
    const parts = await partsOf((run) =>
      run.update({ message: { parts: [{ text: 'Hm' }], metadata: { reasoning: true } } }),
    )
    expect(parts).toMatchObject([{ type: 'reasoning', text: 'Hm', state: 'done' }])
  },
  async 'a call of a tool'() {
    const of = (...calls: readonly Pick<ToolCall, 'state' | 'output' | 'error'>[]): Promise<UIPart[]> =>
      partsOf((run) => calls.forEach((call) => show(run, { ...CALL, ...call })))
    expect(await of({ state: 'called' })).toMatchObject([{ ...TOOL, state: 'input-available' }])
    const progress = { state: 'progress', output: 'clouds' } as const
    expect(await of(progress)).toMatchObject([{ ...TOOL, output: 'clouds', preliminary: true }])
    expect(await of({ state: 'called' }, progress, { state: 'done', output: 'sun' })).toMatchObject([
      { ...TOOL, state: 'output-available', output: 'sun' },
    ])
    expect(await of({ state: 'failed', error: 'closed' })).toMatchObject([
      { ...TOOL, state: 'output-error', errorText: 'closed' },
    ])
    // Of an agent whose status messages the page has missed.
    const metadata = toolCallMetadata([{ ...CALL, state: 'done', output: 'sun' }])
    const late = await partsOf((run) => {
      run.artifact({ parts: [{ text: 'Sunny' }], metadata })
    })
    expect(late).toMatchObject([{ ...TOOL, output: 'sun' }, { text: 'Sunny' }])
  },
  async 'a call of a tool that was rejected'() {
    const parts = await partsOf((run) => {
      show(run, { ...CALL, state: 'called' })
      show(run, { ...CALL, state: 'rejected' })
    })
    expect(parts).toMatchObject([{ ...TOOL, state: 'output-denied', approval: { approved: false } }])
  },
  async 'a question with the answers `approve` and `reject`'() {
    for (const [approved, state] of [
      [true, 'output-available'],
      [false, 'output-denied'],
    ] as const) {
      const { onChange, changed } = whenChanged((messages) =>
        JSON.stringify(messages).includes('"state":"completed"'),
      )
      const { transport } = await serve(async (run) => {
        show(run, { ...CALL, state: 'called' })
        const verdict = await run.approve('weather', { message: 'Look at the sky?', toolCallId: CALL.id })
        show(run, {
          ...CALL,
          ...(verdict === 'approve' ? { state: 'done', output: 'sun' } : { state: 'rejected' }),
        })
        return verdict === (await run.approve('pay', { message: 'Pay?' })) ? 'The same' : 'Another'
      })
      const chat = await chatOf(transport, { onChange })
      await chat.sendMessage({ text: 'Hi' })
      const id = `weather#${CALL.id}#1`
      const approval = { id, requestReason: 'Look at the sky?' }
      expect(lastParts(chat)).toMatchObject([{ ...TOOL, state: 'approval-requested', approval }])
      await chat.addToolApprovalResponse({ id, approved })
      await expect
        .poll(() => chat.status === 'ready' && lastParts(chat))
        .toMatchObject([
          { ...TOOL, state, approval: { id, approved } },
          { type: 'dynamic-tool', toolName: 'pay', state: 'approval-requested', input: { message: 'Pay?' } },
        ])
      await chat.addToolApprovalResponse({ id: 'pay#1', approved })
      await changed
      await expect.poll(() => chat.status).toBe('ready')
      expect(lastParts(chat)).toMatchObject([{ state }, { toolName: 'pay', state }, { text: 'The same' }])
      expect(chat.messages).toHaveLength(2)
    }
  },
  async 'a question with another schema'() {
    const chat = await said(async (run) => {
      const { nights } = await run.requireInput('How long?', { schema: z.object({ nights: z.int().min(1) }) })
      return `${nights} nights`
    })
    const question = { id: 'input#1', message: 'How long?', schema: { required: ['nights'] } }
    expect(lastParts(chat)).toMatchObject([{ type: 'data-question', id: 'input#1', data: question }])
    const answer = (nights: number): Promise<void> =>
      chat.sendMessage({ parts: [{ type: 'data-answers', data: { 'input#1': { nights } } }] })
    await answer(0)
    expect(chat.error?.message).toContain('nights must be at least 1')
    await answer(2)
    expect(lastParts(chat)).toMatchObject([{ text: '2 nights' }])
    expect(chat.tasks.listTasks()).toHaveLength(1)
  },
  async 'a question in words'() {
    const chat = await said(async (run) => {
      run.artifact({ parts: [{ text: 'I have two.' }] })
      return textOf(await run.requireInput('Which one?'))
    })
    expect(lastParts(chat)).toMatchObject([{ text: 'I have two.' }, { text: 'Which one?' }])
    await chat.sendMessage({ text: 'The red one' })
    expect(lastParts(chat)).toMatchObject([{ text: 'The red one' }])
  },
  async 'a question [for others](ask-the-user.md#let-others-answer)'() {
    const left = new AbortController()
    const { transport } = await serve((run) =>
      run.approve('pay', { message: 'Pay?', answeredBy: ['boss'], signal: left.signal }).catch(() => 'Left'),
    )
    const told = (message: UIMessage | undefined): ChatMetadata['a2a'] | undefined =>
      (message?.metadata as Partial<ChatMetadata> | undefined)?.a2a
    const waits: unknown[] = []
    const onChange = (messages: readonly UIMessage[]): void => {
      const a2a = told(messages.at(-1))
      if (a2a === undefined || a2a.waitsFor.length === 0) return
      waits.push(a2a)
      left.abort()
    }
    const chat = await chatOf(transport, { onChange })
    await chat.sendMessage({ text: 'Hi' })
    expect(waits[0]).toMatchObject({ state: 'working', text: 'Pay? (approve / reject)', waitsFor: ['boss'] })
    expect(lastParts(chat)).toMatchObject([{ type: 'text', text: 'Left' }])
    expect(told(chat.messages.at(-1))?.waitsFor).toEqual([])
  },
  async 'the task waits for credentials'() {
    const chat = await said(async (run) => {
      await run.requireAuth('Log in')
      return 'In'
    })
    expect(chat.messages.at(-1)?.metadata).toMatchObject({ a2a: { state: 'auth-required' } })
    expect(lastParts(chat)).toMatchObject([{ type: 'text', text: 'Log in' }])
  },
  async 'the task completes without a text'() {
    const parts = await partsOf((run) => run.complete('Done'))
    expect(parts).toEqual([{ type: 'text', text: 'Done', state: 'done' }])
    const both = await partsOf((run) => {
      run.artifact({ parts: [{ text: 'Result' }] })
      run.complete('Done')
    })
    expect(both).toMatchObject([{ text: 'Result' }])
  },
  async 'a reply without a task'() {
    const chat = await said((run) => run.reply({ parts: [{ text: 'Hello' }, { data: 1 }] }))
    expect(lastParts(chat)).toMatchObject([{ text: 'Hello' }, { type: 'data-json', data: 1 }])
    expect(chat.tasks.listTasks()).toEqual([])
  },
  async 'the task fails, or is rejected'() {
    const failed = await said((run) => run.fail('No such city'))
    expect([failed.status, failed.error?.message]).toEqual(['error', 'No such city'])
    const rejected = await said((run) => run.reject('Not today'))
    expect([rejected.status, rejected.error?.message]).toEqual(['error', 'Not today'])
  },
  async 'the task is canceled'() {
    const { given: begun, give: begin } = signal()
    const { transport, tasks } = await serve(async (run) => {
      run.start()
      begin()
      await new Promise<void>((resolve) => run.signal.addEventListener('abort', () => resolve()))
    })
    const chat = await chatOf(transport)
    const sent = chat.sendMessage({ text: 'Hi' })
    await begun
    for (const { id } of tasks.listTasks()) tasks.cancelTask(id)
    await sent
    expect([chat.status, chat.messages.at(-1)?.metadata]).toMatchObject([
      'ready',
      { a2a: { state: 'canceled' } },
    ])
  },
  async 'names of artifacts, other metadata, spending'() {
    const { messages } = await said((run) => {
      run.artifact({
        name: 'NAME',
        parts: [{ text: 'Text', metadata: { m: 'PART' } }],
        metadata: { m: 'META' },
      })
      run.spend({ SPENT: 1 })
    })
    expect(JSON.stringify(messages)).not.toMatch(/NAME|PART|META|SPENT/)
  },
}

/** The message that the agent gets. */
async function received(parts: readonly object[]): Promise<unknown> {
  let got: unknown
  await said((run) => void (got = run.message), { parts })
  return got
}

const OF_USER: Readonly<Record<string, () => Promise<void>>> = {
  async 'a text'() {
    expect(await received([{ type: 'text', text: 'Hi' }])).toMatchObject({ parts: [{ text: 'Hi' }] })
  },
  async 'a file'() {
    const file = { type: 'file', mediaType: 'image/png', filename: 'a.png' }
    const urls = ['data:image/png;base64,AQID', 'https://example.com/a.png']
    const about = { mediaType: 'image/png', filename: 'a.png' }
    expect(await received(urls.map((url) => ({ ...file, url })))).toMatchObject({
      parts: [
        { raw: 'AQID', ...about },
        { url: urls[1], ...about },
      ],
    })
  },
  'a `data-answers` part': () =>
    OF_AGENT['a question with another schema']?.() ?? Promise.reject(new Error()),
  async 'another data part'() {
    expect(await received([{ type: 'data-place', data: { x: 1 } }])).toMatchObject({
      parts: [{ data: { x: 1 } }],
    })
  },
  'an approval': () =>
    OF_AGENT['a question with the answers `approve` and `reject`']?.() ?? Promise.reject(new Error()),
  async 'a message that is edited, `regenerate()`'() {
    const chat = await said((run) => run.text)
    await chat.regenerate()
    await chat.sendMessage({ text: 'Hello', messageId: chat.messages[0]?.id })
    expect(lastParts(chat)).toMatchObject([{ text: 'Hello' }])
    const tasks = chat.tasks.listTasks()
    expect(tasks.map(({ contextId }) => contextId)).toEqual(Array(3).fill(chat.id))
    // A message that is sent twice by itself is one.
    const ids = tasks.flatMap(({ messages }) => messages.map(({ messageId }) => messageId))
    expect(new Set(ids).size).toBe(3)
  },
  async '`stop()`'() {
    const { given: begun, give: begin } = signal()
    const { given: aborted, give: abort } = signal()
    const { transport, tasks } = await serve(async (run) => {
      run.artifact({ parts: [{ text: 'Half' }] })
      begin()
      await new Promise<void>((resolve) => run.signal.addEventListener('abort', () => resolve()))
      abort()
    })
    const chat = await chatOf(transport)
    const sent = chat.sendMessage({ text: 'Hi' })
    await begun
    await chat.stop()
    await Promise.all([sent, aborted])
    expect(tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
    expect(chat.status).toBe('ready')
  },
  async '`headers`'() {
    const seen: unknown[] = []
    const scene = await serve(() => 'Hi', {
      authenticate: (request) => {
        seen.push(request.headers.get('x-user'))
        return { id: 'ann' }
      },
    })
    const chat = await chatOf(scene.transport)
    await chat.sendMessage({ text: 'Hi' }, { headers: { 'x-user': 'ann' } })
    expect(chat.error).toBeUndefined()
    expect(new Set(seen)).toEqual(new Set(['ann']))
  },
  async '`body`, `metadata`'() {
    let metadata: unknown
    await said(
      (run) => void (metadata = run.metadata),
      { text: 'Hi' },
      { body: { a: 1, b: 1 }, metadata: { b: 2 } },
    )
    expect(metadata).toMatchObject({ a: 1, b: 2 })
  },
  async 'the messages before'() {
    const chat = await said((run) => `${run.messages.length} messages`)
    await chat.sendMessage({ text: 'More' })
    expect(lastParts(chat)).toMatchObject([{ text: '1 messages' }])
  },
  async '`addToolOutput`'() {
    const chat = await said((run) => show(run, { ...CALL, state: 'called' }))
    expect(lastParts(chat)).toMatchObject([{ ...TOOL, providerExecuted: true }])
  },
}

const GUIDE = read('docs/guides/browsers-and-react.md')

describeWith('ai', () => {
  test('a reply without end is an error, and its task is canceled', async () => {
    const { transport, tasks } = await serve(async (run) => {
      while (!run.signal.aborted) {
        run.update({ message: { parts: [{ raw: 'AAAA'.repeat(100_000), mediaType: 'image/png' }] } })
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    const message = { id: 'u', role: 'user' as const, parts: [{ type: 'text', text: 'Go' }] }
    const stream = await transport.sendMessages({
      ...{ chatId: 'c', trigger: 'submit-message' as const, messageId: undefined, abortSignal: undefined },
      messages: [message],
    })
    const errors: unknown[] = []
    for await (const chunk of stream) if (chunk.type === 'error') errors.push(chunk.errorText)
    expect(errors).toEqual([expect.stringContaining('larger than the 67108864 bytes')])
    expect(tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
  })

  const approvals = (chat: Chat): UIPart[] =>
    chat.messages.flatMap(({ parts }) => parts).filter(({ state = '' }) => state === 'approval-requested')

  test.each([
    ['of a call', 'weather', CALL.id],
    ['of no call', 'pay', undefined],
  ])('an approval %s is asked again after words, and answered there', async (_, name, toolCallId) => {
    const chat = await said(async (run) => {
      if (toolCallId !== undefined) show(run, { ...CALL, state: 'called' })
      const verdict = await run.approve(name, { message: 'Sure?', toolCallId })
      if (toolCallId !== undefined) show(run, { ...CALL, state: 'done', output: 'sun' })
      return `You ${verdict}`
    })
    await chat.sendMessage({ text: 'What does it cost?' })
    await chat.sendMessage({ text: 'And tomorrow?' })
    expect([chat.status, chat.error]).toEqual(['ready', undefined])
    expect(chat.messages).toHaveLength(6)
    const ids = approvals(chat).map(({ approval }) => approval?.id)
    expect([ids.length, new Set(ids).size]).toEqual([3, 3])
    const again = await chatOf(chat.transport)
    await again.resumeStream()
    expect(lastParts(again)).toMatchObject([
      { toolName: name, state: 'approval-requested', approval: { id: ids.at(-1) } },
    ])
    await chat.addToolApprovalResponse({ id: ids.at(-1), approved: true })
    await expect.poll(() => lastParts(chat).at(-1)).toMatchObject({ text: 'You approve' })
    expect(chat.messages).toHaveLength(6)
    const call = { ...TOOL, state: 'output-available', output: 'sun' }
    expect(lastParts(chat)).toMatchObject([
      { toolName: name, state: 'output-available', approval: { approved: true } },
      ...(toolCallId === undefined ? [] : [call]),
      { text: 'You approve' },
    ])
    await again.resumeStream()
    const plain = (parts: UIPart[]): unknown => JSON.parse(JSON.stringify(parts))
    expect(plain(lastParts(again))).toEqual(plain(lastParts(chat)))
  })

  test('the tables of the guide have a row for each case', () => {
    expect(rowsOf('browsers-and-react', 'What an agent says')).toEqual(Object.keys(OF_AGENT))
    expect(rowsOf('browsers-and-react', 'What the user says')).toEqual(Object.keys(OF_USER))
  })

  test('each piece of AI SDK is one of the transport, or the guide says that no agent makes it', () => {
    const declared = readFileSync(`${MODULES}ai/dist/index.d.ts`, 'utf8')
    const [, union = ''] =
      /^type UIMessageChunk<[^]*?> = ([^]*?)^(?:declare|type|interface)/m.exec(declared) ?? []
    const types = [...union.matchAll(/^\s+type: '([\w-]+)'/gm)].map(([, type = '']) => type)
    expect(types.length).toBeGreaterThan(20)
    const made = read('src/chat/types.ts')
    const [, others = ''] = /AI SDK has pieces that no agent makes: (.*)\.$/m.exec(GUIDE) ?? []
    expect(types.filter((type) => !made.includes(`'${type}'`) && !others.includes(`\`${type}\``))).toEqual([])
  })

  test.each([...Object.entries(OF_AGENT), ...Object.entries(OF_USER)])('%s', async (_, check) => {
    await check()
  })
})
