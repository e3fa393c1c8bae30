/** Approvals beside other calls of tools: AI SDK sends an answer when no call of the last step is open. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Execute, Run } from 'a2a-tasks/server'
import { toolCallParts, type ToolCall } from '../../../src/wire/tool-calls.js'
import { describeWith } from '../installed.js'
import { chatOf, lastParts, serve, type Chat, type UIPart } from './kit.js'

function show(run: Run, id: string, name: string, state: ToolCall['state'], output?: string): void {
  const call = { id, name, state, input: { id }, ...(output !== undefined && { output }) }
  run.update({ message: { parts: toolCallParts(call) } })
}

const CASES: Readonly<Record<string, readonly [execute: Execute, end: readonly object[]]>> = {
  'a call that waits': [
    async (run) => {
      for (const name of ['weather', 'pay']) show(run, name, name, 'called')
      await run.approve('pay', { message: 'Pay?', toolCallId: 'pay' })
      for (const name of ['weather', 'pay']) show(run, name, name, 'done', 'did')
      return 'End'
    },
    [
      { toolCallId: 'weather', output: 'did' },
      { toolCallId: 'pay', output: 'did', input: { id: 'pay' } },
    ],
  ],
  'a call that goes on': [
    async (run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'Hm.' }] })
      show(run, 'pay', 'pay', 'called')
      show(run, 'weather', 'weather', 'progress', 'clouds')
      await run.approve('pay', { message: 'Pay?', toolCallId: 'pay' })
      for (const name of ['pay', 'weather']) show(run, name, name, 'done', 'did')
      return 'End'
    },
    [{ text: 'Hm.' }, { toolCallId: 'weather', output: 'did' }, { toolCallId: 'pay', output: 'did' }],
  ],
  'another call that is approved': [
    async (run) => {
      for (const id of ['a', 'b']) show(run, id, 'pay', 'called')
      for (const id of ['a', 'b']) {
        await run.approve('pay', { message: `Pay ${id}?`, toolCallId: id })
        show(run, id, 'pay', 'done', 'did')
      }
      return 'End'
    },
    [
      { toolCallId: 'b', output: 'did' },
      { toolCallId: 'a', output: 'did' },
      { toolCallId: 'pay#b#1', input: { message: 'Pay b?' }, output: 'approve' },
    ],
  ],
  'two approvals at a time': [
    async (run) => {
      for (const id of ['a', 'b', 'c']) show(run, id, 'pay', 'called')
      await Promise.all(['a', 'b'].map((id) => run.approve('pay', { message: `Pay ${id}?`, toolCallId: id })))
      for (const id of ['a', 'b', 'c']) show(run, id, 'pay', 'done', 'did')
      return 'End'
    },
    [
      { toolCallId: 'b', output: 'did' },
      { toolCallId: 'c', output: 'did' },
      { toolCallId: 'a', output: 'did' },
      { toolCallId: 'pay#b#1', output: 'approve' },
    ],
  ],
  'a call whose tool asks': [
    async (run) => {
      for (const name of ['look', 'book']) show(run, name, name, 'called')
      await run.approve('book', { message: 'Book?' })
      for (const name of ['look', 'book']) show(run, name, name, 'done', 'did')
      return 'End'
    },
    [
      { toolCallId: 'look', output: 'did' },
      { toolCallId: 'book', output: 'did', approval: { id: 'book#1', approved: true } },
    ],
  ],
  'a tool that asks by another name, twice': [
    async (run) => {
      show(run, 'book', 'book', 'called')
      for (const message of ['Sure?', 'Really?']) await run.approve('sure', { message })
      show(run, 'book', 'book', 'done', 'did')
      return 'End'
    },
    [
      { toolCallId: 'book', output: 'did' },
      { toolCallId: 'sure#1', output: 'approve' },
      { toolCallId: 'sure#2', output: 'approve' },
    ],
  ],
  'a tool that asks twice': [
    async (run) => {
      show(run, 'book', 'book', 'called')
      for (const message of ['Sure?', 'Really?']) await run.approve('book', { message, toolCallId: 'book' })
      show(run, 'book', 'book', 'done', 'did')
      return 'End'
    },
    [
      { toolCallId: 'book', output: 'did' },
      { toolCallId: 'book#book#2', output: 'approve' },
    ],
  ],
}

/** Approves what is asked until the reply ends. */
async function approveAll(chat: Chat, next: () => Promise<Chat>): Promise<Chat> {
  for (let page = chat; ; page = await next()) {
    const asked = lastParts(page).find(({ state }) => state === 'approval-requested')
    if (asked === undefined) return page
    const id = asked.approval?.id
    await page.addToolApprovalResponse({ id, approved: true })
    const isAsked = (part: UIPart): boolean =>
      part.state === 'approval-requested' || part.text === 'End' || page.error !== undefined
    await expect.poll(() => page.status === 'ready' && lastParts(page).some(isAsked)).toBe(true)
  }
}

describeWith('ai', () => {
  test.each(Object.entries(CASES))('an approval beside %s', async (_, [execute, end]) => {
    const { transport, tasks } = await serve(execute)
    const chat = await chatOf(transport)
    await chat.sendMessage({ text: 'Hi' })
    await approveAll(chat, () => Promise.resolve(chat))
    expect(tasks.listTasks()).toMatchObject([{ state: 'completed' }])
    expect(lastParts(chat)).toMatchObject([...end, { text: 'End' }])
    // A page that is opened again at each question shows the same, and so does one that is opened at the end.
    const reloaded = async (): Promise<Chat> => {
      const page = await chatOf(transport, { id: 'chat-2' })
      await page.resumeStream()
      return page
    }
    const other = await chatOf(transport, { id: 'chat-2' })
    await other.sendMessage({ text: 'Hi' })
    await approveAll(other, reloaded)
    for (const page of [await reloaded(), await reloaded()])
      expect(lastParts(page)).toMatchObject([...end, { text: 'End' }])
  })

  test('a message after a question has only what is new', async () => {
    const { transport } = await serve(async (run) => {
      const artifactId = 'a'
      run.artifact({ artifactId, parts: [{ text: 'Hm.' }] })
      show(run, 'w', 'weather', 'done', 'did')
      show(run, 'n', 'nights', 'called')
      const { nights } = await run.requireInput('How long?', { schema: z.object({ nights: z.int() }) })
      show(run, 'n', 'nights', 'done', String(nights))
      const [, { data }] = toolCallParts({ id: 'w', name: 'weather', state: 'done', output: 'did' })
      run.artifact({ artifactId, parts: [{ text: '\n\nSo long' }], metadata: data })
      await run.approve('pay', { message: 'Pay?' })
      run.artifact({ artifactId, parts: [{ text: '\n\nEnd' }], metadata: data })
    })
    const chat = await chatOf(transport)
    await chat.sendMessage({ text: 'Hi' })
    const asked = [{ text: 'Hm.' }, { toolCallId: 'w' }, { toolCallId: 'n' }, { type: 'data-question' }]
    expect(lastParts(chat)).toMatchObject(asked)
    await chat.sendMessage({ parts: [{ type: 'data-answers', data: { 'input#1': { nights: 2 } } }] })
    await approveAll(chat, async () => {
      await expect.poll(() => chat.status).toBe('ready')
      return chat
    })
    const end = [
      { toolCallId: 'n', output: '2' },
      { text: 'So long' },
      { toolCallId: 'pay#1' },
      { text: 'End' },
    ]
    expect(lastParts(chat)).toMatchObject(end)
    await chat.resumeStream()
    expect(lastParts(chat)).toMatchObject(end)
  })
})
