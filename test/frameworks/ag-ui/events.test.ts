/** The tables of the guide to AG-UI: a case for each row, with AG-UI's own client over HTTP. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { textOf } from 'a2a-tasks/client'
import type { Execute, Run } from 'a2a-tasks/server'
import { toolCallParts, type ToolCall } from '../../../src/wire/tool-calls.js'
import { read } from '../../support/repository.js'
import { rowsOf } from '../guide.js'
import { describeWith, loadFramework } from '../installed.js'
import { ofType, pageOf, shown, type AgUiEvent, type Page } from './kit.js'

async function said(
  execute: Execute,
  content: unknown = 'Hi',
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<Page> {
  const page = await pageOf(execute)
  await page.say(content, parameters)
  return page
}

const show = (run: Run, call: ToolCall): void => {
  run.update({ message: { parts: toolCallParts(call) } })
}
const CALL = { id: 'c1', name: 'weather', input: { city: 'Rome' } }
const CALLED = {
  role: 'assistant',
  toolCalls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
}

function outcomeOf({ events }: Page): unknown {
  return events.at(-1)?.['outcome']
}

const OF_AGENT: Readonly<Record<string, () => Promise<void>>> = {
  async 'text of an artifact'() {
    const page = await said(async function* () {
      yield* await Promise.resolve(['Hello, ', 'you'])
    })
    expect(page.events.map(({ type }) => type).filter((type) => type !== 'ACTIVITY_SNAPSHOT')).toEqual([
      ...['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_CONTENT'],
      ...['TEXT_MESSAGE_END', 'RUN_FINISHED'],
    ])
    expect(page.events[0]).toMatchObject({ threadId: 'thread-1', protocolVersion: '1.0' })
    expect(shown(page)).toMatchObject([
      {
        role: 'assistant',
        content: 'Hello, you',
        metadata: { a2a: { contextId: 'thread-1', state: 'completed' } },
      },
    ])
  },
  async 'an artifact that is replaced'() {
    const page = await pageOf((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'One, ' }] })
      show(run, { ...CALL, id: run.taskId, state: 'done', output: 1 })
      run.update({ message: { parts: [{ text: 'Hm' }], metadata: { reasoning: true } } })
      run.artifact({ artifactId: 'a', parts: [{ text: 'two' }] })
      run.artifact({ artifactId: 'a', parts: [{ text: 'One, three' }] }, { append: false })
    })
    await page.say('Hi')
    const once = shown(page)
    expect(once.filter(({ role }) => role !== 'reasoning')).toMatchObject([
      { content: 'One, ' },
      { toolCalls: [{ function: { name: 'weather' } }] },
      { role: 'tool', content: '1' },
      { content: 'three' },
    ])
    expect(once.filter(({ role }) => role === 'reasoning')).toMatchObject([{ content: 'Hm' }])
    expect(ofType(page, 'MESSAGES_SNAPSHOT')).toMatchObject([{ messages: [{ role: 'user', content: 'Hi' }] }])
    // What was said before stays.
    await page.say('Again')
    expect(shown(page)).toHaveLength(2 * once.length)
    expect(shown(page).slice(0, once.length)).toEqual(expect.arrayContaining(once))
  },
  async 'a file of an artifact'() {
    const page = await said((run) => {
      run.artifact({
        parts: [
          { raw: 'AQID', mediaType: 'image/png', filename: 'a.png' },
          { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
          { url: 'javascript:alert(1)', mediaType: 'text/html' },
        ],
      })
    })
    expect(shown(page)).toMatchObject([
      { activityType: 'a2a-file', content: { url: 'data:image/png;base64,AQID', mediaType: 'image/png' } },
      {
        activityType: 'a2a-file',
        content: { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
      },
    ])
  },
  async 'a data part of an artifact'() {
    const page = await said((run) => {
      run.artifact({ parts: [{ data: { n: 1 } }, { data: null }] })
    })
    expect(shown(page)).toMatchObject([
      { activityType: 'a2a-data', content: { data: { n: 1 } } },
      { activityType: 'a2a-data', content: { data: null } },
    ])
  },
  async '`metadata.sources` of an artifact'() {
    const sources = [
      { id: 's', url: 'https://example.com', title: 'Example' },
      { id: 'd', title: 'D', mediaType: 'application/pdf', filename: 'd.pdf' },
    ]
    const page = await said((run) => {
      run.artifact({ parts: [{ text: 'a' }], metadata: { sources } })
    })
    expect(shown(page).filter(({ role }) => role === 'activity')).toMatchObject([
      {
        activityType: 'a2a-source',
        content: { sourceId: 's', url: 'https://example.com', title: 'Example' },
      },
      { activityType: 'a2a-source', content: { sourceId: 'd', title: 'D', filename: 'd.pdf' } },
    ])
  },
  async 'a status message, the state of the task'() {
    const page = await said((run) => {
      run.update('Half done')
      run.update({ message: { parts: [{ data: 1 }] } })
      run.artifact({ parts: [{ text: 'All' }] })
    })
    const told = ofType(page, 'ACTIVITY_SNAPSHOT').filter(({ activityType }) => activityType === 'a2a-task')
    expect(told.map(({ content }) => content)).toContainEqual({
      ...{ taskId: expect.any(String) as string, contextId: 'thread-1' },
      ...{ state: 'working', text: 'Half done', waitsFor: [] },
    })
    expect(told.at(-1)).toMatchObject({ content: { state: 'completed' } })
    expect(new Set(told.map(({ messageId }) => messageId)).size).toBe(1)
    expect(shown(page)).toMatchObject([
      { activityType: 'a2a-data', content: { data: 1 } },
      { content: 'All' },
    ])
  },
  async 'a status message with `metadata.reasoning`'() {
    const page = await said((run) => {
      run.update({ message: { parts: [{ text: 'Hm' }], metadata: { reasoning: true } } })
    })
    expect(page.events.map(({ type }) => type).filter((type) => type.startsWith('REASONING'))).toEqual([
      ...['REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT'],
      ...['REASONING_MESSAGE_END', 'REASONING_END'],
    ])
    expect(shown(page)).toMatchObject([{ role: 'reasoning', content: 'Hm' }])
  },
  async 'a call of a tool'() {
    const page = await said((run) => {
      show(run, { ...CALL, state: 'called' })
      show(run, { ...CALL, state: 'called' })
      show(run, { id: 'c2', name: 'clock', state: 'called' })
    })
    expect(page.events.map(({ type }) => type).filter((type) => type.startsWith('TOOL'))).toEqual(
      Array(2).fill(['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END']).flat(),
    )
    expect(shown(page)).toMatchObject([
      CALLED,
      { toolCalls: [{ function: { name: 'clock', arguments: '{}' } }] },
    ])
  },
  async 'the result of a call'() {
    const page = await said((run) => {
      show(run, { ...CALL, state: 'called' })
      show(run, { ...CALL, state: 'done', output: { sky: 'clear' } })
      show(run, { ...CALL, id: 'c2', state: 'done', output: 'clear' })
      show(run, { ...CALL, id: 'c3', state: 'failed', error: 'No signal' })
    })
    expect(shown(page).filter(({ role }) => role === 'tool')).toMatchObject([
      { toolCallId: 'c1', content: '{"sky":"clear"}' },
      { toolCallId: 'c2', content: 'clear' },
      { toolCallId: 'c3', content: 'No signal', metadata: { a2a: { state: 'failed' } } },
    ])
  },
  async 'the progress of a call'() {
    const page = await said((run) => {
      show(run, { ...CALL, state: 'called' })
      for (const output of ['10 %', '50 %']) show(run, { ...CALL, state: 'progress', output })
      show(run, { ...CALL, state: 'done', output: 'clear' })
    })
    expect(shown(page).filter(({ role }) => role === 'activity')).toMatchObject([
      { activityType: 'a2a-tool-progress', content: { toolCallId: 'c1', output: '50 %' } },
    ])
  },
  async 'a call of a tool that was rejected'() {
    const page = await said((run) => show(run, { ...CALL, state: 'rejected' }))
    expect(shown(page)).toMatchObject([CALLED, { role: 'tool', metadata: { a2a: { state: 'rejected' } } }])
  },
  async 'a question with the answers `approve` and `reject`'() {
    const page = await said(async (run) => {
      show(run, { ...CALL, state: 'called' })
      const verdict = await run.approve('weather', { message: 'Look?' })
      show(run, { ...CALL, state: 'done', output: verdict })
      const second = await run.approve('pay', { message: 'Pay?' })
      return `Paid: ${second}`
    })
    const asked = { message: 'Look?', reason: 'tool_call', toolCallId: 'c1' }
    expect(page.interrupts).toMatchObject([{ ...asked, responseSchema: { enum: ['approve', 'reject'] } }])
    await page.answer('approve')
    expect(page.interrupts).toMatchObject([{ message: 'Pay?', reason: 'confirmation' }])
    expect(page.interrupts[0]).not.toHaveProperty('toolCallId')
    await page.answer('reject')
    expect(page.interrupts).toEqual([])
    // The call is shown once, in whichever run its result comes.
    expect(shown(page)).toMatchObject([
      CALLED,
      { role: 'tool', content: 'approve' },
      { content: 'Paid: reject' },
    ])
  },
  async 'a question with another schema'() {
    const page = await said(async (run) => {
      const schema = z.object({ nights: z.number().max(9) })
      const { nights } = await run.requireInput('How long?', { schema, expiresInMs: 60_000 })
      return `${nights} nights`
    })
    const asked = { reason: 'input_required', message: 'How long?', expiresAt: expect.any(String) as string }
    expect(page.interrupts).toMatchObject([{ ...asked, responseSchema: { type: 'object' } }])
    // What does not fit is refused, and the question stays.
    const { interrupts } = page
    await page.answer({ nights: 99 })
    expect(page.events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'INVALID_PARAMS' })
    await page.run({
      resume: interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: { nights: 2 } })),
    })
    expect(shown(page).at(-1)).toMatchObject({ content: '2 nights' })
  },
  async 'a question in words'() {
    const page = await said(async (run) => `You are ${textOf(await run.requireInput('Who?'))}`)
    expect(shown(page)).toMatchObject([{ content: 'Who?', metadata: { a2a: { state: 'input-required' } } }])
    expect(page.interrupts).toMatchObject([{ reason: 'input_required', message: 'Who?' }])
    await page.answer('Ann')
    expect(shown(page).at(-1)).toMatchObject({ content: 'You are Ann' })
    expect(page.tasks.listTasks()).toHaveLength(1)
  },
  async 'a question [for others](ask-the-user.md#let-others-answer)'() {
    const left = new AbortController()
    const page = await pageOf((run) =>
      run.approve('pay', { message: 'Pay?', answeredBy: ['boss'], signal: left.signal }).catch(() => 'Left'),
    )
    page.tasks.on('task:stateChange', ({ to }) => {
      if (to === 'input-required') left.abort()
    })
    await page.say('Hi')
    expect(ofType(page, 'ACTIVITY_SNAPSHOT').map(({ content }) => content)).toContainEqual(
      expect.objectContaining({ state: 'working', text: 'Pay? (approve / reject)', waitsFor: ['boss'] }),
    )
    expect(page.interrupts).toEqual([])
    expect(shown(page).filter(({ role }) => role !== 'activity')).toMatchObject([{ content: 'Left' }])
  },
  async 'the task waits for credentials'() {
    const page = await said(async (run) => {
      await run.requireAuth('Sign in')
      return 'In'
    })
    expect(page.interrupts).toMatchObject([{ reason: 'a2a:auth_required', message: 'Sign in' }])
    await page.answer('done')
    expect(shown(page).at(-1)).toMatchObject({ content: 'In' })
  },
  async 'the task completes'() {
    const page = await said((run) => run.complete('Done'))
    expect(page.events.at(-1)).toMatchObject({
      ...{ type: 'RUN_FINISHED', outcome: { type: 'success' }, result: 'Done' },
      metadata: { a2a: { contextId: 'thread-1', state: 'completed' } },
    })
    expect(shown(page)).toMatchObject([{ content: 'Done' }])
  },
  async 'a reply without a task'() {
    const page = await said((run) => run.reply('Hello'))
    expect(shown(page)).toMatchObject([{ content: 'Hello' }])
    expect(page.events.at(-1)).toMatchObject({ outcome: { type: 'success' }, result: 'Hello' })
  },
  async 'the task fails, or is rejected'() {
    for (const [code, execute] of [
      ['failed', (run: Run) => run.fail('No seat')],
      ['rejected', (run: Run) => run.reject('No seat')],
    ] as const) {
      const page = await said(execute)
      expect(page.events.at(-1)).toMatchObject({
        ...{ type: 'RUN_ERROR', message: 'No seat', code },
        metadata: { a2a: { state: code } },
      })
    }
  },
  async 'the task is canceled'() {
    const page = await pageOf(async (run) => {
      run.start()
      page.tasks.cancelTask(run.taskId)
      await new Promise<void>((resolve) => run.signal.addEventListener('abort', () => resolve()))
    })
    await page.say('Hi')
    expect(outcomeOf(page)).toEqual({ type: 'cancelled' })
  },
  async 'what the run has spent'() {
    const page = await said(async (run) => {
      run.spend({ inputTokens: 10, outputTokens: 5, cost: 0.5, model: 'm1' })
      await run.requireInput('More?')
      run.spend({ inputTokens: 7, model: 'm1' })
    })
    expect(page.events.at(-1)).toMatchObject({
      usage: [{ model: 'm1', inputTokens: 10, outputTokens: 5 }],
      metadata: { a2a: { spent: { cost: 0.5 } } },
    })
    await page.answer('Yes')
    expect(page.events.at(-1)).toMatchObject({ usage: [{ model: 'm1', inputTokens: 7, outputTokens: 0 }] })
  },
  async 'names of artifacts, other metadata'() {
    const page = await said((run) => {
      run.artifact({ name: 'NAME', parts: [{ text: 'T', metadata: { m: 'PART' } }], metadata: { m: 'META' } })
    })
    expect(JSON.stringify(page.events)).not.toMatch(/NAME|PART|META/)
  },
}

/** What the agent gets. */
async function received(content: unknown, parameters: Readonly<Record<string, unknown>> = {}): Promise<Run> {
  let got: Run | undefined
  await said((run) => void (got = run), content, parameters)
  if (got === undefined) throw new Error('The agent was not called')
  return got
}

const OF_USER: Readonly<Record<string, () => Promise<void>>> = {
  async 'a text'() {
    expect((await received('Hello')).message).toMatchObject({
      parts: [{ text: 'Hello' }],
      contextId: 'thread-1',
    })
  },
  async 'an image, audio, a video, a document'() {
    const { message } = await received([
      { type: 'text', text: 'Look' },
      { type: 'image', source: { type: 'data', value: 'AQID', mimeType: 'image/png' } },
      { type: 'document', source: { type: 'url', value: 'https://example.com/a.pdf' } },
    ])
    expect(message.parts).toEqual([
      { text: 'Look' },
      { raw: 'AQID', mediaType: 'image/png' },
      { url: 'https://example.com/a.pdf' },
    ])
    const page = await pageOf(() => 'Hi')
    const file = [{ type: 'image', source: { type: 'file', value: 'file-1', provider: 'x' } }]
    await expect(page.say(file)).rejects.toThrow('HTTP 400')
  },
  async 'several messages since the last reply'() {
    const page = await pageOf((run) => `${run.message.parts.length} of ${run.messages.length}`)
    page.agent.addMessage({ id: 'first', role: 'user', content: 'One' })
    await page.say('Two')
    expect(shown(page).at(-1)).toMatchObject({ content: '2 of 1' })
    // Earlier ones are in the context of the agent.
    await page.say('Three')
    expect(shown(page).at(-1)).toMatchObject({ content: '1 of 1' })
    expect(page.tasks.listTasks().map(({ contextId }) => contextId)).toEqual(['thread-1', 'thread-1'])
  },
  async '`resume` with the status `resolved`'() {
    const ask: Execute = async (run) => {
      const { a, b } = await run.ask({
        a: { message: 'A?', schema: z.string() },
        b: { message: 'B?', schema: z.number() },
      })
      return `${a} ${b}`
    }
    const page = await said(ask)
    const [first, second] = page.interrupts
    await page.run({
      resume: [
        { interruptId: second?.id ?? '', status: 'resolved', payload: 2 },
        { interruptId: first?.id ?? '', status: 'resolved', payload: 'x' },
      ],
    })
    expect(shown(page).at(-1)).toMatchObject({ content: 'x 2' })
    // What the user has said before is not said again.
    expect(page.tasks.listTasks()[0]?.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
    expect(JSON.stringify(page.tasks.listTasks()[0]?.messages)).not.toContain('"Hi"},{"text":"Hi"')
  },
  async '`resume` with the status `cancelled`'() {
    const approval = await said(async (run) => run.approve('pay', { message: 'Pay?' }))
    await approval.answer(undefined, 'cancelled')
    expect(shown(approval).at(-1)).toMatchObject({ content: 'reject' })
    const question = await said(async (run) => textOf(await run.requireInput('Who?')))
    await question.answer(undefined, 'cancelled')
    expect(outcomeOf(question)).toEqual({ type: 'cancelled' })
    expect(question.tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
  },
  async 'a text while a question in words waits'() {
    const page = await said(async (run) => `You are ${textOf(await run.requireInput('Who?'))}`)
    // Such as a page that is opened again, and has forgotten the interrupts.
    const { messages } = page.agent
    const again = Object.assign(Object.create(page.agent) as Page['agent'], {
      messages,
      pendingInterrupts: [],
    })
    again.addMessage({ id: 'late', role: 'user', content: 'Ann' })
    await again.runAgent({}, {})
    expect(again.messages.at(-1)).toMatchObject({ content: 'You are Ann' })
    expect(page.tasks.listTasks()).toHaveLength(1)
  },
  async '`state`, `tools`, `context`, `forwardedProps`'() {
    const context = [{ description: 'Place', value: 'Rome' }]
    const { metadata } = await received('Hi', { context, forwardedProps: { x: 1 } })
    expect(metadata).toMatchObject({ 'ag-ui': { context, forwardedProps: { x: 1 } } })
    expect((await received('Hi')).metadata).not.toHaveProperty('ag-ui')
  },
  async 'messages with the roles `system` and `developer`'() {
    const page = await pageOf((run) => JSON.stringify(run.message))
    page.agent.addMessage({ id: 's', role: 'system', content: 'SECRET' })
    await page.say('Hi')
    expect(shown(page).at(-1)).toMatchObject({ content: expect.not.stringContaining('SECRET') as string })
  },
}

const GUIDE = read('docs/guides/ag-ui.md')

describeWith('@ag-ui/client', () => {
  test('the tables of the guide have a row for each case', () => {
    expect(rowsOf('ag-ui', 'What an agent says')).toEqual(Object.keys(OF_AGENT))
    expect(rowsOf('ag-ui', 'What the user says')).toEqual(Object.keys(OF_USER))
  })

  test('each event of AG-UI is one of the endpoint, or the guide says that it makes none', async () => {
    const { EventType } = await loadFramework<{ readonly EventType: Readonly<Record<string, string>> }>(
      '@ag-ui/core',
    )
    const types = Object.keys(EventType)
    expect(types.length).toBeGreaterThan(25)
    const made = read('src/ag-ui/types.ts')
    const [, others = ''] = /AG-UI has events that the endpoint does not make: (.*)\.$/m.exec(GUIDE) ?? []
    expect(types.filter((type) => !made.includes(`'${type}'`) && !others.includes(`\`${type}\``))).toEqual([])
  })

  test.each([...Object.entries(OF_AGENT), ...Object.entries(OF_USER)])('%s', async (_, check) => {
    await check()
  })

  test('every event is one of the schemas of AG-UI, with no other fields', async () => {
    const { EventSchema } = await loadFramework<{
      readonly EventSchema: { readonly parse: (event: AgUiEvent) => AgUiEvent }
    }>('@ag-ui/core/schemas')
    const page = await said((run) => {
      run.artifact({ parts: [{ text: 'T' }, { data: 1 }] })
      show(run, { ...CALL, state: 'failed', error: 'No' })
      run.spend({ inputTokens: 1 })
    })
    for (const event of page.events) expect(EventSchema.parse(event)).toEqual(event)
  })
})
