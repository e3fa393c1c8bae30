/** Conversations over several calls: how a result names its context, and how the next call continues it. */
import { describe, expect, it } from 'vitest'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { sceneOf, statelessRequest, textIn, type Json, type Reply } from './kit.js'

const remembers: Execute = async (run) => {
  const texts: string[] = []
  const { entries } = await run.conversation()
  for (const { type, text } of entries) if (type === 'message') texts.push(text)
  return [...texts, run.text].join()
}

function contextOf(result: Json): unknown {
  return (result['_meta'] as { 'a2a-tasks.dev/task': Json })['a2a-tasks.dev/task']['contextId']
}

describe('a call with the contextId of an earlier result continues its conversation', () => {
  it.each(['session', 'stateless'])('%s', async (kind) => {
    const { ask, inSession } = sceneOf(remembers)
    const call = (given: object): Promise<Reply> =>
      (kind === 'session' ? inSession : ask)('tools/call', { name: 'default', arguments: given })
    const first = (await call({ message: 'One', contextId: '' })).result
    const contextId = contextOf(first)
    const second = (await call({ message: 'Two', contextId })).result
    expect([textIn(second), contextOf(second)]).toEqual(['One,Two', contextId])
    const other = (await call({ message: 'Three' })).result
    expect(textIn(other)).toBe('Three')
    expect(contextOf(other)).not.toBe(contextId)
  })

  it('with a schema: the agent gets the arguments without it', async () => {
    const inputSchema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      additionalProperties: false,
    }
    const { ask } = sceneOf((run) => JSON.stringify([run.task.contextId, run.message.parts[0]?.data]), {
      tools: { default: { inputSchema } },
    })
    const given = { city: 'Rome', contextId: 'trip' }
    const { result } = await ask('tools/call', { name: 'default', arguments: given })
    expect(textIn(result)).toBe('["trip",{"city":"Rome"}]')
  })

  it('whose question it answers', async () => {
    const { ask, say } = sceneOf(async (run) => {
      const { parts } = await run.requireInput('Which city?')
      return parts[0]?.text
    })
    const { result } = await say('Go')
    const [, taskId] = /"taskId": "(.+)" and/.exec(textIn(result)) ?? []
    const given = { message: 'Rome', taskId, contextId: contextOf(result) }
    expect(textIn((await ask('tools/call', { name: 'default', arguments: given })).result)).toBe('Rome')
  })

  it('where the agent replies without a task', async () => {
    const { say } = sceneOf((run) => run.reply('Hi'))
    expect(contextOf((await say('Go')).result)).toEqual(expect.any(String))
  })
})

it('with tellContext a result tells it to the model', async () => {
  for (const execute of [remembers, (run) => run.reply('Hi'), (run) => run.fail('No')] as Execute[]) {
    const { say } = sceneOf(execute, { tellContext: true })
    const { result } = await say('Go')
    const content = result['content'] as Json[]
    expect(content.at(-1)).toEqual({
      type: 'text',
      text: `To continue this conversation, call with "contextId": "${String(contextOf(result))}"`,
      annotations: { audience: ['assistant'] },
    })
  }
})

it('a user who names the context of another one hears nothing of it', async () => {
  const handler = createRequestHandler({
    card: { name: 'Agent', url: 'https://agent.test' },
    authenticate: (request) => ({ id: request.headers.get('authorization') ?? '' }),
    execute: remembers,
  })
  const mcp = createMcpHandler(handler)
  const call = async (user: string, given: object): Promise<Json> => {
    const request = statelessRequest(1, 'tools/call', { name: 'default', arguments: given })
    request.headers.set('authorization', user)
    return ((await (await mcp(request)).json()) as { readonly result: Json }).result
  }
  const contextId = contextOf(await call('ann', { message: 'Secret' }))
  expect(textIn(await call('bob', { message: 'Tell', contextId }))).toBe('Tell')
  expect(textIn(await call('ann', { message: 'Again', contextId }))).toBe('Secret,Again')
})

it('a contextId that no agent takes is an error of the tool', async () => {
  const { ask } = sceneOf(remembers)
  const given = { message: 'Go', contextId: 'x'.repeat(100_000) }
  const { result } = await ask('tools/call', { name: 'default', arguments: given })
  expect(result).toMatchObject({ isError: true })
})
