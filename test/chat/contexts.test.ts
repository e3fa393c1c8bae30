/** Chats with an agent that chooses the ids of its contexts itself. */
import { expect, it } from 'vitest'
import { createAgUiHandler } from 'a2a-tasks/ag-ui'
import { a2aChatTransport, type ChatMessage, type ChatMetadata } from 'a2a-tasks/chat'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'

interface Body {
  readonly id: unknown
  readonly method: string
  readonly params: { readonly message?: { readonly contextId?: string } }
}

/** Refuses contexts that it has not begun. */
function choosyAgent() {
  const agent = fakeAgent((run) => `${run.messages.length} of ${run.contextId}`)
  const refused: string[] = []
  const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
    const body = JSON.parse(typeof init?.body === 'string' ? init.body : '{}') as Partial<Body>
    const contextId = body.params?.message?.contextId
    const isKnown = agent.tasks.listTasks().some((task) => task.contextId === contextId)
    if (contextId === undefined || isKnown) return await agent.fetch(url, init)
    refused.push(contextId)
    const error = { code: -32602, message: 'Unknown context' }
    return Response.json({ jsonrpc: '2.0', id: body.id, error })
  }
  return { client: new A2AClient({ card: agent.card, fetch }), tasks: agent.tasks, refused }
}

it('useChat: a message is sent again without the context, and the next one in that of the agent', async () => {
  const { client, tasks, refused } = choosyAgent()
  const transport = a2aChatTransport(client)
  const messages: ChatMessage[] = []
  const say = async (id: string): Promise<string | undefined> => {
    const parts = [{ type: 'text', text: id }]
    messages.push({ id, role: 'user', parts })
    const stream = await transport.sendMessages({
      ...{ trigger: 'submit-message', chatId: 'chat-1', messageId: undefined, messages },
    })
    let metadata: ChatMetadata | undefined
    let reply = ''
    const reader = stream.getReader()
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const { value } = read
      if (value.type === 'start') reply = value.messageId
      if (value.type === 'error') throw new Error(value.errorText)
      if (value.type === 'start' || value.type === 'message-metadata')
        metadata = value.messageMetadata ?? metadata
    }
    messages.push({ id: reply, role: 'assistant', metadata, parts: [] })
    return metadata?.a2a.contextId
  }
  const contextId = await say('m1')
  expect(refused[0]).toBe('chat-1')
  const before = refused.length
  expect(await say('m2')).toBe(contextId)
  expect(messages.map(({ id }) => id)).toEqual(['m1', 'm1-reply', 'm2', 'm2-reply'])
  expect(refused).toHaveLength(before)
  expect(tasks.listTasks().map((task) => task.contextId)).toEqual([contextId, contextId])
  const ids = tasks.listTasks().flatMap((task) => task.messages.map(({ messageId }) => messageId))
  expect(ids.filter((id) => id.startsWith('m')).sort()).toEqual(['m1', 'm2'])
})

it('AG-UI: the same', async () => {
  const { client, tasks, refused } = choosyAgent()
  const handle = createAgUiHandler(client)
  const run = async (runId: string, messages: readonly object[]): Promise<object> => {
    const body = JSON.stringify({ threadId: 't1', runId, messages })
    const headers = { 'content-type': 'application/json' }
    const response = await handle(new Request('https://x.test', { method: 'POST', headers, body }))
    const { metadata } = JSON.parse((await response.text()).trim().split('\n\ndata: ').at(-1) ?? '{}') as {
      readonly metadata: object
    }
    return metadata
  }
  const first = { id: 'u1', role: 'user', content: 'Hi' }
  const metadata = await run('r1', [first])
  expect(refused[0]).toBe('t1')
  const before = refused.length
  const reply = { id: 'a1', role: 'assistant', content: '', metadata }
  await run('r2', [first, reply, { id: 'u2', role: 'user', content: 'More' }])
  const [one, two] = tasks.listTasks()
  expect(one?.contextId).toBe(two?.contextId)
  expect(refused).toHaveLength(before)
})
