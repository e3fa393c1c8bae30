/** The tools of official servers in durable functions: with AI SDK, OpenAI Agents, LangGraph and code, and processes that die at each write. */
import { describe, expect, it } from 'vitest'
import { langChain, openAiAgents } from 'a2a-tasks/ai'
import { A2AClient, toolCallsIn } from 'a2a-tasks/client'
import { mcpAgent, mcpTools, McpToolError, type McpClient } from 'a2a-tasks/mcp'
import type { Execute, Run } from 'a2a-tasks/server'
import { fakeAgent, testDurable } from 'a2a-tasks/testing'
import { clientOf } from '../../mcp/agent/kit.js'
import * as aiKit from '../ai/kit.js'
import { describeWith } from '../installed.js'
import * as langKit from '../langgraph/kit.js'
import * as openAiKit from '../openai-agents/kit.js'
import { clientV1, clientV2, serveV1, serveV2, type Served } from './agent-kit.js'

const PAIRS: readonly (readonly [
  name: string,
  serve: () => Promise<Served>,
  connect: (served: Served) => Promise<McpClient>,
])[] = [
  ['1.x, client 1.x', serveV1, clientV1],
  ['1.x, client 2.x', serveV1, clientV2],
  ['2.x, client 2.x', serveV2, clientV2],
]

/** A graph of LangGraph with the tools of the server, and with others. */
async function inGraph(
  run: Run,
  client: McpClient,
  model: object,
  others: readonly object[] = [],
): Promise<void> {
  const { createReactAgent, MemorySaver, tool } = await langKit.lang()
  const ai = langChain(run)
  const { langChain: tools } = await mcpTools(run, client)
  const agent = createReactAgent({
    llm: ai.model(model, { retry: { attempts: 1 } }),
    tools: [...ai.tools(others), ...tools.map((each) => tool(...each))],
    checkpointer: new MemorySaver(),
  })
  await ai.finish(agent, { messages: await ai.messages() })
}

const CALLS: [tool: string, id: string, input: object][] = [
  ['price', 'c1', { city: 'Rome' }],
  ['fail', 'c2', { city: 'Oslo' }],
]

describeWith('@modelcontextprotocol/server', () => {
  describe.each(PAIRS)('server %s', (_, serve, connect) => {
    it(
      'AI SDK: results, errors and questions, with a crash at each write',
      { timeout: 240_000 },
      async () => {
        const served = await serve()
        const model = await aiKit.modelOf([
          aiKit.answer(['Let me see.'], CALLS),
          aiKit.answer([], [['book', 'c3', { city: 'Rome' }]]),
          aiKit.answer(['Booked']),
        ])
        const execute: Execute = async (run) => {
          const { aiSdk: tools } = await mcpTools(run, await connect(served))
          await aiKit.agentOf(model, { more: () => ({ tools }) })(run)
        }
        const report = await testDurable(execute, {
          messages: ['To Rome', { answers: { 'book c3': { seats: 2 } } }],
        })
        expect(report.crashPoints).toBeGreaterThan(10)
        const calls = toolCallsIn(report.task.artifacts[0])
        expect(calls).toMatchObject([
          { name: 'price', state: 'done', output: '{"price":42}' },
          { name: 'fail', state: 'failed', error: 'McpToolError: No flights to Oslo' },
          { name: 'book', state: 'done', output: 'Booked {"seats":2}' },
        ])
      },
    )

    it(
      'OpenAI Agents: results, errors and questions, with a crash at each write',
      { timeout: 240_000 },
      async () => {
        const served = await serve()
        const model = await openAiKit.modelOf([
          openAiKit.answer(['Let me see.'], CALLS),
          openAiKit.answer([], [['book', 'c3', { city: 'Rome' }]]),
          openAiKit.answer(['Booked']),
        ])
        const execute: Execute = async (run) => {
          const { openAiAgents: tools } = await mcpTools(run, await connect(served))
          const { Agent, run: start } = await openAiKit.openAi()
          const ai = openAiAgents(run)
          const agent = new Agent({ name: 'Travel', model: ai.model(model), tools })
          await ai.finish(start(agent, await ai.messages(), { stream: true, signal: run.signal }))
        }
        const report = await testDurable(execute, {
          messages: ['To Rome', { answers: { 'book c3': { seats: 2 } } }],
        })
        expect(toolCallsIn(report.task.artifacts[0])).toMatchObject([
          { name: 'price', state: 'done', output: '{"price":42}' },
          { name: 'fail', state: 'done', output: 'Error: No flights to Oslo' },
          { name: 'book', state: 'done', output: 'Booked {"seats":2}' },
        ])
      },
    )

    it(
      'LangGraph: results, errors and questions, with a crash at each write',
      { timeout: 240_000 },
      async () => {
        const served = await serve()
        const model = await langKit.modelOf([
          langKit.answer(['Let me see.'], CALLS),
          langKit.answer([], [['book', 'c3', { city: 'Rome' }]]),
          langKit.answer(['Booked']),
        ])
        const report = await testDurable(async (run) => inGraph(run, await connect(served), model), {
          messages: ['To Rome', { answers: { 'book c3': { seats: 2 } } }],
        })
        expect(report.crashPoints).toBeGreaterThan(10)
        expect(toolCallsIn(report.task.artifacts[0])).toMatchObject([
          { name: 'price', state: 'done', output: '{"price":42}' },
          { name: 'fail', state: 'failed', error: expect.stringContaining('No flights to Oslo') as string },
          { name: 'book', state: 'done', output: 'Booked {"seats":2}' },
        ])
      },
    )

    it('code: each call once, with a crash at each write', { timeout: 240_000 }, async () => {
      const served = await serve()
      const execute: Execute = async (run) => {
        // As in a process of its own: a call that one has left behind would get the answer for another.
        const client = await connect(served)
        const { call } = await mcpTools(run, client, { tools: ['price', 'fail', 'book'] })
        const { data } = await call('price', { city: 'Rome' })
        const failed = await call('fail', { city: 'Oslo' }).catch((error: unknown) => error)
        const { text } = await call('book', { city: 'Rome' })
        return [JSON.stringify(data), failed instanceof McpToolError && failed.message, text].join()
      }
      const answers = { 'book 1': { seats: 2 } }
      const { task } = await testDurable(execute, { messages: ['To Rome', { answers }] })
      expect(task.artifacts[0]?.parts).toEqual([
        { text: '{"price":42},No flights to Oslo,Booked {"seats":2}' },
      ])
    })

    it('an agent: a question, with a crash at each write', { timeout: 240_000 }, async () => {
      const served = await serve()
      const { execute } = await mcpAgent(() => connect(served), {
        card: { name: 'Travel', url: 'https://travel.test' },
      })
      const message = { parts: [{ data: { city: 'Rome' } }], metadata: { skill: 'book' } }
      const { task } = await testDurable(execute, {
        messages: [message, { answers: { book: { seats: 2 } } }],
      })
      expect(task.artifacts[0]?.parts).toEqual([{ text: 'Booked {"seats":2}' }])
    })
  })

  it('LangGraph: a node that an interrupt executes again makes no call again', async () => {
    const { interrupt } = await langKit.lang()
    const client = clientOf({})
    const model = await langKit.modelOf([
      langKit.answer(
        [],
        [
          ['go', 'c1', {}],
          ['ask', 'c2', { city: 'Rome' }],
        ],
      ),
      langKit.answer(['Done']),
    ])
    const ask = await langKit.toolOf('ask', () => `Answered ${String(interrupt('Which one?'))}`)
    const agent = fakeAgent((run) => inGraph(run, client, model, [ask]))
    const user = new A2AClient({ card: agent.card, fetch: agent.fetch })
    const result = await user.run('Go', { onInputRequired: () => 'the first' })
    expect(result.type === 'completed' && toolCallsIn(result.task.artifacts[0])).toMatchObject([
      { name: 'go', output: 'Gone' },
      { name: 'ask', output: 'Answered the first' },
    ])
    expect(client.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
  })

  it('LangGraph: patterns of the server are not evaluated, and ai.tools refuses the tools', async () => {
    const { tool } = await langKit.lang()
    const inputSchema = {
      type: 'object',
      properties: { pattern: { type: 'string', pattern: '^(a+)+$' } },
      patternProperties: { '^(a+)+$': {} },
    }
    const client = clientOf({ list: () => ({ tools: [{ name: 'go', inputSchema }] }) })
    await testDurable(
      async (run) => {
        const { langChain: tools } = await mcpTools(run, client)
        const [given] = tools
        if (given === undefined) throw new Error('There is no tool')
        const made = tool(...given) as { readonly schema: object; invoke(input: object): Promise<unknown> }
        expect(made.schema).toEqual({ type: 'object', properties: { pattern: { type: 'string' } } })
        expect(() => langChain(run).tools([made])).toThrow('The tool "go" has a "run"')
        return String(await made.invoke({ pattern: `${'a'.repeat(50)}!` }))
      },
      { messages: ['Go'] },
    )
  })
})
