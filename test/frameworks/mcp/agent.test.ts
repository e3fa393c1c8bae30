/** Servers of the official packages, as agents of A2A: `test/mcp/agent` has what these cannot show. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { mcpAgent, type McpClient, type McpAgentOptions, type McpClientSource } from 'a2a-tasks/mcp'
import { createRequestHandler } from 'a2a-tasks/server'
import { describeWith } from '../installed.js'
import { clientV1, clientV2, serveV1, serveV2, type Json, type Served } from './agent-kit.js'

const PAIRS: readonly (readonly [
  name: string,
  serve: () => Promise<Served>,
  connect: (served: Served) => Promise<McpClient>,
])[] = [
  ['1.x, client 1.x', serveV1, clientV1],
  ['1.x, client 2.x', serveV1, clientV2],
  ['2.x, client 2.x', serveV2, clientV2],
]

async function agentFor(source: McpClientSource, options: Partial<McpAgentOptions> = {}) {
  const parts = await mcpAgent(source, { card: { name: 'Travel', url: 'https://travel.test' }, ...options })
  const handler = createRequestHandler({ ...parts, anonymous: 'shared' })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  const run = (skill: string, data: Json | string, options = {}) =>
    client.run(
      { parts: [typeof data === 'string' ? { text: data } : { data: data as never }], metadata: { skill } },
      options,
    )
  return { handler, client, run }
}

describeWith('@modelcontextprotocol/server', () => {
  describe.each(PAIRS)('server %s', (_, serve, connect) => {
    it('has its tools and prompts as skills, and reads its resources', async () => {
      const { handler } = await agentFor(await connect(await serve()))
      const tools = ['price', 'files', 'fail', 'count', 'book', 'hold']
      expect(handler.card.skills.map(({ id }) => id)).toEqual([...tools, 'plan', 'resources'])
      expect(handler.card.skills[0]).toMatchObject({ name: 'Price of a trip' })
      expect(handler.card.skills[6]).toMatchObject({ description: 'Plans a trip', tags: ['prompt'] })
    })

    it('gets a prompt', async () => {
      const { run } = await agentFor(await connect(await serve()))
      for (const input of ['Rome', { city: 'Rome' }]) {
        const result = await run('plan', input)
        expect(result.type === 'completed' && result.task.artifacts).toMatchObject([
          { name: 'plan', parts: [{ text: 'Plan a trip to Rome', metadata: { role: 'user' } }] },
        ])
      }
      expect(await run('plan', { city: 1 })).toMatchObject({
        type: 'rejected',
        text: 'city must be a text',
      })
    })

    it('lists and reads resources', async () => {
      const { run } = await agentFor(await connect(await serve()), { tools: [], prompts: [] })
      const listed = await run('resources', {})
      expect(listed.type === 'completed' && listed.task.artifacts[0]?.parts).toMatchObject([
        {
          data: {
            resources: [{ uri: 'travel://terms', name: 'terms', mimeType: 'text/plain' }],
            resourceTemplates: [],
            total: 1,
          },
        },
      ])
      for (const input of ['travel://terms', { uri: 'travel://terms' }]) {
        const read = await run('resources', input)
        expect(read.type === 'completed' && read.task.artifacts[0]?.parts).toMatchObject([
          { text: 'No refunds', mediaType: 'text/plain', filename: 'terms' },
        ])
      }
      const gone = await run('resources', 'travel://gone')
      expect(gone).toMatchObject({ type: 'failed' })
      expect(gone.text).toContain('travel://gone')
    })

    it('calls a tool: data, files, errors, progress', async () => {
      const { run } = await agentFor(await connect(await serve()))
      const price = await run('price', { city: 'Rome' })
      expect(price).toMatchObject({
        type: 'completed',
        task: { artifacts: [{ parts: [{ data: { price: 42 } }] }] },
      })
      expect(await run('price', 'Rome')).toMatchObject({ type: 'completed' })
      expect(await run('price', { town: 'Rome' })).toMatchObject({
        type: 'rejected',
        text: 'city is missing',
      })
      const files = await run('files', {})
      expect(files.type === 'completed' && files.task.artifacts[0]?.parts).toMatchObject([
        { text: 'See' },
        { raw: 'aGk=', mediaType: 'image/png' },
        { raw: 'aGk=', mediaType: 'audio/wav' },
        { raw: 'aGk=', mediaType: 'application/pdf', filename: 'x.pdf' },
        { text: '# Hi', mediaType: 'text/markdown' },
        { url: 'https://files.example/x.csv', filename: 'x.csv', mediaType: 'text/csv' },
      ])
      expect(await run('fail', { city: 'Rome' })).toMatchObject({
        type: 'failed',
        text: 'No flights to Rome',
      })
      expect(await run('other', {})).toMatchObject({ type: 'rejected' })
      const said: unknown[] = []
      const onUpdate = ({ event }: { event: { type: string; message?: { metadata?: Json } } }): void => {
        if (event.type === 'status' && event.message?.metadata) said.push(event.message.metadata['progress'])
      }
      expect(await run('count', {}, { onUpdate })).toMatchObject({ type: 'completed', text: 'Counted' })
      expect(said).toContainEqual({ current: 2, total: 2 })
    })

    it('asks the user', async () => {
      const served = await serve()
      const { run } = await agentFor(await connect(served))
      const asked: unknown[] = []
      const onQuestions = (questions: readonly { readonly message: string; readonly schema: object }[]) => {
        asked.push(...questions)
        return { book: { seats: 2 } }
      }
      expect(await run('book', { city: 'Rome' }, { onQuestions })).toMatchObject({
        type: 'completed',
        text: 'Booked {"seats":2}',
      })
      expect(asked).toMatchObject([{ schema: { properties: { seats: { minimum: 1 } } } }])
      expect(served.called.at(-1)).toBe('book ends')
    })

    it('gives up a call that does not end', async () => {
      const served = await serve()
      const { run } = await agentFor(await connect(served), { timeoutMs: 100 })
      expect(await run('hold', {})).toMatchObject({
        type: 'failed',
        text: 'The MCP server has not answered within 100 ms',
      })
      await expect.poll(() => served.called).toContain('hold is canceled')
    })

    it('connects for each run, and closes the connection', async () => {
      const served = await serve()
      const clients: McpClient[] = []
      const { run } = await agentFor(async () => {
        const client = await connect(served)
        clients.push(client)
        return client
      })
      await Promise.all([run('price', 'Rome'), run('price', 'Oslo')])
      expect(clients).toHaveLength(3)
      await expect
        .poll(() => clients.map(({ transport }) => transport))
        .toEqual([undefined, undefined, undefined])
    })

    it('cancels a call', async () => {
      const served = await serve()
      const { run, client } = await agentFor(await connect(served))
      const stop = new AbortController()
      const result = run(
        'hold',
        {},
        {
          signal: stop.signal,
          onUpdate: ({ task }: { task: { id: string } }) =>
            void client.cancelTask(task.id).catch(() => undefined),
        },
      )
      expect(await result).toMatchObject({ type: 'canceled' })
      await expect.poll(() => served.called).toContain('hold is canceled')
    })
  })
})
