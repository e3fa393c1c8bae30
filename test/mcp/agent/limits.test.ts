/** Servers of MCP that misbehave: each costs a bounded time and memory, and the error says what is wrong. */
import { expect, it } from 'vitest'
import { readResult } from '../../../src/mcp/agent/results.js'
import { agentOf, clientOf, TOOL, type Json } from './kit.js'

const toolsOf = (count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({ ...TOOL, name: `go-${at}` }))

it('a list without end', async () => {
  let pages = 0
  const client = clientOf({ list: () => ({ tools: [], nextCursor: `page ${(pages += 1)}` }) })
  await expect(agentOf(client)).rejects.toThrow('more than 100 pages or 10000 entries for "tools/list"')
  expect(pages).toBe(100)
})

it('a list that repeats its cursor with many tools', async () => {
  const client = clientOf({ list: () => ({ tools: toolsOf(4_000), nextCursor: 'again' }) })
  await expect(agentOf(client)).rejects.toThrow('10000 entries')
  expect(client.requests).toHaveLength(3)
})

it('10,000 tools: those that are named can be used', async () => {
  const client = clientOf({ list: () => ({ tools: toolsOf(10_000) }) })
  await expect(agentOf(client)).rejects.toThrow(
    '10000 tools, and 1000 are the most: name those to use by "tools"',
  )
  const { card } = await agentOf(client, { tools: ['go-9999', 'go-7'] })
  expect(card.skills.map(({ id }) => id)).toEqual(['go-7', 'go-9999'])
  await expect(agentOf(client, { tools: ['gone'] })).rejects.toThrow('The MCP server has no tool "gone"')
})

it('a description of 4 MB', async () => {
  const client = clientOf({
    list: () => ({ tools: [{ ...TOOL, title: 't'.repeat(4e6), description: 'd'.repeat(4e6) }] }),
  })
  const { card } = await agentOf(client)
  expect(card.skills[0]).toMatchObject({ description: 'd'.repeat(4_096), name: 't'.repeat(200) })
})

it.each([
  ['no name', { name: '' }, 'whose name is no text of 1 to 128 characters'],
  ['a name that is too long', { name: 'n'.repeat(129) }, 'whose name is no text of 1 to 128 characters'],
  [
    'a schema that is too large',
    { inputSchema: { type: 'object', $comment: 'x'.repeat(70_000) } },
    '65536 are the most',
  ],
  ['no schema', { inputSchema: 'object' }, '"inputSchema" of the tool "go" of the MCP server is no object'],
])('a tool with %s', async (_, given, error) => {
  const client = clientOf({
    list: () => ({
      tools: [
        { ...TOOL, ...given },
        { ...TOOL, name: 'well' },
      ],
    }),
  })
  await expect(agentOf(client)).rejects.toThrow(error)
  const { card } = await agentOf(client, { tools: ['well'] })
  expect(card.skills).toHaveLength(1)
})

it('references that explode, and patterns', async () => {
  const $defs: Record<string, object> = { d0: { type: 'string', pattern: '^(a+)+$' } }
  for (let at = 1; at <= 40; at += 1) {
    const $ref = `#/$defs/d${at - 1}`
    $defs[`d${at}`] = { anyOf: [{ $ref }, { $ref }], allOf: [{ $ref }, { $ref }] }
  }
  const inputSchema = {
    type: 'object',
    $defs,
    properties: { bomb: { $ref: '#/$defs/d40' } },
    required: ['bomb'],
  }
  const { client } = await agentOf(clientOf({ list: () => ({ tools: [{ ...TOOL, inputSchema }] }) }))
  const bomb = `${'a'.repeat(50)}!`
  expect(await client.run({ parts: [{ data: { bomb } }] })).toMatchObject({ type: 'completed' })
  expect(await client.run({ parts: [{ data: {} }] })).toMatchObject({
    type: 'rejected',
    text: 'bomb is missing',
  })
})

it('a result of 100 MB fails the task', async () => {
  const errors: unknown[] = []
  const content = [{ type: 'text', text: 'x'.repeat(1e8) }]
  const { client, tasks } = await agentOf(
    clientOf({ call: () => ({ content }) }),
    {},
    { onError: (error) => errors.push(error) },
  )
  expect(await client.run('Go')).toMatchObject({ type: 'failed' })
  expect(errors).toMatchObject([{ code: 'LIMIT_EXCEEDED' }])
  expect(JSON.stringify(tasks.listTasks()).length).toBeLessThan(2_000)
})

it.each([
  ['many blocks', { content: Array.from({ length: 5_000 }, () => ({ type: 'text', text: 'x' })) }, 1_000],
  ['no content', {}, 0],
  [
    'content of unknown types',
    { content: ['text', null, { type: 'video' }, { type: 'image', data: '<>' }] },
    0,
  ],
])('a result with %s', async (_, result, parts) => {
  const { client } = await agentOf(clientOf({ call: () => result }))
  const ended = await client.run('Go')
  expect(ended.type === 'completed' && (ended.task.artifacts[0]?.parts.length ?? 0)).toBe(parts)
})

it('data that does not fit the schema of the tool', async () => {
  const outputSchema = { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] }
  const list = (): { tools: object[] } => ({ tools: [{ ...TOOL, outputSchema }] })
  const call = () => ({ content: [], structuredContent: { price: 'much' } })
  const { client } = await agentOf(clientOf({ list, call }))
  expect(await client.run('Go')).toMatchObject({
    type: 'failed',
    text: 'The result of the tool "go" does not fit its schema: price must be a number',
  })
})

it('progress without end is reported so often', async () => {
  const { client, tasks } = await agentOf(
    clientOf({
      async call({ progress }) {
        for (let at = 0; at < 3_000; at += 1) {
          progress({ progress: at, total: 3_000 })
          await Promise.resolve()
        }
        progress({ progress: Number.NaN, message: '' })
        progress({ progress: -1, message: 'm'.repeat(100_000) })
        return {}
      },
    }),
  )
  expect(await client.run('Go')).toMatchObject({ type: 'completed' })
  const [task] = tasks.listTasks()
  expect(task?.generation).toBeLessThanOrEqual(1_010)
})

it('a server that asks without end', async () => {
  const call = () => ({
    resultType: 'input_required',
    inputRequests: { a: { method: 'sampling/createMessage' } },
  })
  const { client } = await agentOf(clientOf({ call }), { sample: () => ({ content: [] }) })
  expect(await client.run('Go')).toMatchObject({
    type: 'failed',
    text: 'The MCP server has asked more than 50 times',
  })
})

it('a server that asks for too much at once, or for what is not offered', async () => {
  const request = { method: 'elicitation/create', params: {} }
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`q${at}`, request]))
  const asking = (inputRequests: object) => () => ({ resultType: 'input_required', inputRequests })
  const { client } = await agentOf(clientOf({ call: asking(many) }))
  expect(await client.run('Go')).toMatchObject({
    type: 'failed',
    text: expect.stringContaining('21 inputs at once') as string,
  })
  const other = await agentOf(clientOf({ call: asking({ a: { method: 'roots/list' } }) }))
  expect(await other.client.run('Go')).toMatchObject({
    type: 'failed',
    text: 'The MCP server asks for roots/list, which this agent does not offer',
  })
})

it('a name that is listed twice', async () => {
  const list = (): Json => ({
    tools: [TOOL, { ...TOOL, name: 'well' }, { ...TOOL, description: 'Goes elsewhere' }],
  })
  await expect(agentOf(clientOf({ list }))).rejects.toThrow('has the tool "go" twice in its list')
  const { card } = await agentOf(clientOf({ list }), { tools: ['well'] })
  expect(card.skills).toHaveLength(1)
})

it('data beside many texts is written out once', () => {
  let written = 0
  const toJSON = (): object => {
    written += 1
    return { price: 42 }
  }
  const content = ['{"price":42}', '1', 'x', '{"price":43}'].map((text) => ({ type: 'text', text }))
  const { name, inputSchema } = TOOL
  const tool = { name, title: name, description: '', inputSchema }
  const { parts } = readResult({ content, structuredContent: { toJSON } }, tool)
  expect(parts).toMatchObject([{ text: '1' }, { text: 'x' }, { text: '{"price":43}' }, { data: {} }])
  expect(written).toBe(1)
})

it('questions without end within one call', async () => {
  const refused: unknown[] = []
  const form = { type: 'object', properties: { n: { type: 'integer' } } }
  const { client } = await agentOf(
    clientOf({
      async call({ ask }) {
        const asked = Array.from({ length: 1_000 }, (_, at) =>
          ask('elicitation/create', { message: `Number ${at}?`, requestedSchema: form }),
        )
        const answers = await Promise.allSettled(asked)
        refused.push(
          ...answers.flatMap((each): unknown[] => (each.status === 'rejected' ? [each.reason] : [])),
        )
        return { content: [] }
      },
    }),
  )
  const result = await client.run('Go', {
    onQuestions: (questions) => Object.fromEntries(questions.map(({ id }) => [id, { n: 1 }])),
  })
  expect(result).toMatchObject({ type: 'completed' })
  expect(refused).toHaveLength(980)
  expect(refused[0]).toMatchObject({ code: -32_603, message: '20 requests of this call wait already' })
})

it('a result of a type that no client has asked for', async () => {
  const { client } = await agentOf(
    clientOf({ call: () => ({ resultType: 'task', taskId: 't', status: 'working' }) }),
  )
  expect(await client.run('Go')).toMatchObject({
    type: 'failed',
    text: 'The MCP server has answered with a result of the type "task", which this agent cannot read',
  })
})

it('base64 with lines, as MIME has it', () => {
  const image = { type: 'image', data: 'aGVs\r\nbG8=\n', mimeType: 'image/png' }
  const { parts } = readResult({ content: [image, { ...image, data: 'a b!' }] }, { ...TOOL, title: 'Go' })
  expect(parts).toEqual([{ raw: 'aGVsbG8=', mediaType: 'image/png' }])
})
