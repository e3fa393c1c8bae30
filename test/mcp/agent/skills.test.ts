/** Prompts and resources of a server of MCP that misbehaves. */
import { expect, it } from 'vitest'
import { agentOf, clientOf, TOOL, type FakeServer, type Json } from './kit.js'

const PROMPT = { name: 'plan', description: 'Plans' }
const ALL = { tools: {}, prompts: {}, resources: {} }

/** A server with these prompts and resources, and one tool. */
function serverOf({
  prompts = [],
  resources = [],
  call = () => ({}),
}: {
  readonly prompts?: readonly object[]
  readonly resources?: readonly object[]
  readonly call?: FakeServer['call']
}) {
  return clientOf({
    capabilities: ALL,
    call,
    list(_, method) {
      if (method === 'tools/list') return { tools: [TOOL] }
      if (method === 'prompts/list') return { prompts }
      if (method === 'resources/list') return { resources }
      throw Object.assign(new Error('Method not found'), { code: -32_601 })
    },
  })
}

const skillsOf = ({ card }: { readonly card: { readonly skills: readonly { readonly id: string }[] } }) =>
  card.skills.map(({ id }) => id)

const message = (skill: string, data: object) => ({
  parts: [{ data: data as never }],
  metadata: { skill },
})

it('prompts and resources can be left out', async () => {
  const client = serverOf({ prompts: [PROMPT, { name: 'other' }] })
  expect(skillsOf(await agentOf(client))).toEqual(['go', 'plan', 'other', 'resources'])
  expect(skillsOf(await agentOf(client, { prompts: ['other'], resources: false }))).toEqual(['go', 'other'])
  expect(skillsOf(await agentOf(client, { tools: [], prompts: [] }))).toEqual(['resources'])
  await expect(agentOf(client, { prompts: ['gone'] })).rejects.toThrow('The MCP server has no prompt "gone"')
  await expect(agentOf(client, { tools: [], prompts: [], resources: false })).rejects.toThrow(
    'The MCP server has no tools, prompts or resources',
  )
})

it.each(['go', 'resources'])('a prompt with the name "%s" of another skill', async (name) => {
  const client = serverOf({ prompts: [{ name }] })
  await expect(agentOf(client)).rejects.toThrow(`two skills "${name}"`)
  expect(skillsOf(await agentOf(client, { prompts: [] }))).toEqual(['go', 'resources'])
})

it('a message without a skill is for the only tool', async () => {
  const { client } = await agentOf(serverOf({ call: () => ({ content: [{ type: 'text', text: 'Gone' }] }) }))
  expect(await client.run('Go')).toMatchObject({ type: 'completed', text: 'Gone' })
})

it.each([
  ['no name', { name: 7 }, 'a prompt whose name is no text of 1 to 128 characters'],
  [
    'too many arguments',
    { arguments: Array.from({ length: 5_000 }, (_, at) => ({ name: `a${at}` })) },
    '65536 are the most: name others to use by "prompts"',
  ],
])('a prompt with %s', async (_, given, error) => {
  await expect(agentOf(serverOf({ prompts: [{ ...PROMPT, ...given }] }))).rejects.toThrow(error)
})

it('10,000 prompts: those that are named can be used', async () => {
  const client = serverOf({ prompts: Array.from({ length: 10_000 }, (_, at) => ({ name: `p${at}` })) })
  await expect(agentOf(client)).rejects.toThrow('10000 prompts, and 1000 are the most')
  expect(skillsOf(await agentOf(client, { prompts: ['p9'], resources: false }))).toEqual(['go', 'p9'])
})

it('a prompt with arguments of any kind', async () => {
  const sent: unknown[] = []
  const { client } = await agentOf(
    serverOf({
      prompts: [{ ...PROMPT, arguments: [{ name: 'toString', required: true }, 'x', { name: 'b' }] }],
      call: ({ params }) => {
        sent.push(params['arguments'])
        return { messages: Array.from({ length: 5_000 }, () => ({ content: { type: 'text', text: 'x' } })) }
      },
    }),
  )
  expect(await client.run(message('plan', {}))).toMatchObject({
    type: 'rejected',
    text: 'toString is missing',
  })
  const ended = await client.run(message('plan', { toString: 'a' }))
  expect(ended.type === 'completed' && ended.task.artifacts[0]?.parts.length).toBe(1_000)
  expect(JSON.stringify(sent)).toBe('[{"toString":"a"}]')
})

it('messages of a prompt: roles, files, and what is unknown', async () => {
  const messages = [
    { role: 'user', content: { type: 'text', text: 'Hi' } },
    { role: 'assistant', content: { type: 'image', data: 'aGk=', mimeType: 'image/png' } },
    { role: 'admin', content: { type: 'resource', resource: { uri: 'a://b/c.md', text: '#' } } },
    { role: 'user', content: 'text' },
    null,
  ]
  const { client } = await agentOf(serverOf({ prompts: [PROMPT], call: () => ({ messages }) }))
  const ended = await client.run(message('plan', {}))
  expect(ended.type === 'completed' && ended.task.artifacts[0]?.parts).toEqual([
    { text: 'Hi', metadata: { role: 'user' } },
    { raw: 'aGk=', mediaType: 'image/png', metadata: { role: 'assistant' } },
    { text: '#', filename: 'c.md' },
  ])
})

it('10,000 resources: the first are listed, and all can be read', async () => {
  const long = { uri: `a://${'x'.repeat(9_000)}`, name: 'long' }
  const others = Array.from({ length: 9_999 }, (_, at) => ({
    ...{ uri: `a://${at}`, name: `n${at}`, description: 'd'.repeat(at === 0 ? 1e6 : 10), size: 1 },
  }))
  const { client } = await agentOf(
    serverOf({
      resources: [long, ...others],
      call: ({ params }) => ({ contents: [{ uri: params['uri'], blob: 'aGk=', mimeType: 'image/png' }] }),
    }),
  )
  const listed = await client.run(message('resources', {}))
  const data = (listed.type === 'completed' && listed.task.artifacts[0]?.parts[0]?.data) as Json
  const { resources, ...rest } = data as { readonly resources: readonly Json[] }
  expect(rest).toEqual({ resourceTemplates: [], total: 10_000 })
  expect(resources).toHaveLength(999)
  expect(resources[0]).toEqual({ uri: 'a://0', name: 'n0', description: 'd'.repeat(1_024) })
  const read = await client.run(message('resources', { uri: 'a://x/9998.png' }))
  expect(read.type === 'completed' && read.task.artifacts[0]?.parts).toEqual([
    { raw: 'aGk=', mediaType: 'image/png', filename: '9998.png' },
  ])
  expect(await client.run(message('resources', { uri: 'x'.repeat(20_000) }))).toMatchObject({
    type: 'rejected',
  })
})

it('a resource of 100 MB fails the task, and so does a list without end', async () => {
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const call = () => ({ contents: [{ text: 'x'.repeat(1e8) }] })
  const { client } = await agentOf(serverOf({ call }), {}, { onError })
  expect(await client.run(message('resources', { uri: 'a://b' }))).toMatchObject({ type: 'failed' })
  let pages = 0
  const endless = clientOf({
    capabilities: { resources: {} },
    list: () => ({ resources: [], nextCursor: String((pages += 1)) }),
  })
  const other = await agentOf(endless, {}, { onError })
  expect(await other.client.run(message('resources', {}))).toMatchObject({ type: 'failed' })
  expect(pages).toBe(100)
  expect(errors).toMatchObject([
    { code: 'LIMIT_EXCEEDED' },
    { message: expect.stringContaining('more than 100 pages') as string },
  ])
})

it('a resource whose name and media type are too long for a part has neither', async () => {
  const long = 'x'.repeat(2_000)
  const call = () => ({ contents: [{ uri: `a://${long}`, text: 'Hi', mimeType: long }] })
  const { client } = await agentOf(serverOf({ call }))
  const ended = await client.run(message('resources', { uri: `a://${long}` }))
  expect(ended.type === 'completed' && ended.task.artifacts[0]?.parts).toEqual([{ text: 'Hi' }])
})

it('a resource with many contents, and with none', async () => {
  const contents = Array.from({ length: 5_000 }, () => ({ text: 'x' }))
  const many = await agentOf(serverOf({ call: () => ({ contents }) }))
  const ended = await many.client.run(message('resources', { uri: 'a://b' }))
  expect(ended.type === 'completed' && ended.task.artifacts[0]?.parts.length).toBe(1_000)
  const none = await agentOf(serverOf({ call: () => ({ contents: 'x' }) }))
  expect(await none.client.run(message('resources', { uri: 'a://b' }))).toMatchObject({ type: 'completed' })
})

it('options of the wrong type are refused before the server is asked', async () => {
  const client = serverOf({})
  await expect(agentOf(client, { prompts: 'plan' as never })).rejects.toThrow(TypeError)
  await expect(agentOf(client, { resources: 'yes' as never })).rejects.toThrow(TypeError)
  expect(client.requests).toEqual([])
})
