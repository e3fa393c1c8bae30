/** Pages that are closed, opened again, or stopped while the agent works. */
import { expect, test } from 'vitest'
import { toolCallParts } from '../../../src/wire/tool-calls.js'
import { describeWith } from '../installed.js'
import { chatOf, lastParts, serve, signal, whenChanged } from './kit.js'

const HI = { id: 'm1', role: 'user' as const, parts: [{ type: 'text', text: 'Hi' }] }

/** A message from a page that is closed as soon as it has seen a text. */
async function sendAndLeave(transport: Awaited<ReturnType<typeof serve>>['transport']): Promise<void> {
  const stream = await transport.sendMessages({
    ...{ trigger: 'submit-message', chatId: 'chat-1', messageId: undefined, messages: [HI] },
    abortSignal: undefined,
  })
  const reader = stream.getReader()
  for (let type: string | undefined; type !== 'text-delta';) type = (await reader.read()).value?.type
  await reader.cancel()
}

describeWith('ai', () => {
  test('a page that is opened again shows the reply from its beginning, and goes on', async () => {
    const { given: goes, give: go } = signal()
    const { transport, tasks } = await serve(async (run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'One ' }] })
      run.update({ message: { parts: toolCallParts({ id: 'c', name: 'look', state: 'called' }) } })
      await goes
      run.update({ message: { parts: toolCallParts({ id: 'c', name: 'look', state: 'done', output: 1 }) } })
      run.artifact({ artifactId: 'a', parts: [{ text: 'two' }] })
    })
    await sendAndLeave(transport)
    const { onChange, changed } = whenChanged((messages) => JSON.stringify(messages).includes('"look"'))
    const kept = [HI, { id: 'm1-reply', role: 'assistant', parts: [{ type: 'text', text: 'On' }] }]
    const chat = await chatOf(transport, { messages: structuredClone(kept), onChange })
    const resumed = chat.resumeStream()
    await changed
    go()
    await resumed
    expect(chat.messages.map(({ id }) => id)).toEqual(['m1', 'm1-reply'])
    expect(lastParts(chat)).toMatchObject([
      { text: 'One ' },
      { toolName: 'look', state: 'output-available', output: 1 },
      { text: 'two' },
    ])
    expect(tasks.listTasks()).toMatchObject([{ state: 'completed' }])
    // What has ended is shown as well, at the same place.
    const late = await chatOf(transport, { messages: structuredClone(kept) })
    await late.resumeStream()
    expect(late.messages.slice(1)).toEqual(chat.messages.slice(1))
    const other = await chatOf(transport, { id: 'chat-2' })
    await other.resumeStream()
    expect([other.status, other.messages]).toEqual(['ready', []])
  })

  test('what the user has answered and is asked is shown again', async () => {
    const { transport } = await serve(async (run) => {
      run.artifact({ parts: [{ text: 'Hello' }] })
      await run.requireInput('Who?')
      run.artifact({ artifactId: 'b', parts: [{ text: 'Hi' }] })
      const first = await run.approve('pay', { message: 'Pay?' })
      const second = await run.approve('book', { message: 'Book?' })
      return `${first}, ${second}`
    })
    const { onChange, changed } = whenChanged((messages) => JSON.stringify(messages).includes('Book?'))
    const chat = await chatOf(transport, { onChange })
    await chat.sendMessage({ text: 'Hi' })
    await chat.sendMessage({ text: 'Ann' })
    await chat.addToolApprovalResponse({ id: 'pay#1', approved: false })
    await changed
    await expect.poll(() => chat.status).toBe('ready')
    const again = await chatOf(transport)
    await again.resumeStream()
    expect(lastParts(again)).toMatchObject([
      { text: 'Hi' },
      { toolName: 'pay', state: 'output-denied', approval: { id: 'pay#1', approved: false } },
      { toolName: 'book', state: 'approval-requested', approval: { id: 'book#1' } },
    ])
    expect(again.messages.at(-1)?.id).toBe(chat.messages.at(-1)?.id)
    await again.addToolApprovalResponse({ id: 'book#1', approved: true })
    await expect.poll(() => lastParts(again).at(-1)).toMatchObject({ text: 'reject, approve' })
  })

  test('a resumption that another one replaces leaves the task alone, and one that is stopped cancels it', async () => {
    const { transport, tasks } = await serve(async (run) => {
      run.artifact({ parts: [{ text: 'One' }] })
      await new Promise<void>((resolve) => run.signal.addEventListener('abort', () => resolve()))
    })
    await sendAndLeave(transport)
    let shown = signal()
    const onChange = (messages: readonly object[]): void => {
      if (JSON.stringify(messages).includes('"One"')) shown.give()
    }
    const chat = await chatOf(transport, { onChange })
    const first = chat.resumeStream()
    await shown.given
    const second = chat.resumeStream()
    await first
    shown = signal()
    await shown.given
    expect(tasks.listTasks()).toMatchObject([{ state: 'working' }])
    await chat.stop()
    await second
    await expect.poll(() => tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
  })
})
