/** The tools of official servers in durable functions: with AI SDK, OpenAI Agents and code, and processes that die at each write. */
import { describe, expect, it } from 'vitest'
import { openAiAgents } from 'a2a-tasks/ai'
import { toolCallsIn } from 'a2a-tasks/client'
import { mcpAgent, mcpTools, McpToolError, type McpClient } from 'a2a-tasks/mcp'
import type { Execute } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import * as aiKit from '../ai/kit.js'
import { describeWith } from '../installed.js'
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
        const client = await connect(await serve())
        const model = await aiKit.modelOf([
          aiKit.answer(['Let me see.'], CALLS),
          aiKit.answer([], [['book', 'c3', { city: 'Rome' }]]),
          aiKit.answer(['Booked']),
        ])
        const execute: Execute = async (run) => {
          const { aiSdk: tools } = await mcpTools(run, client)
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
        const client = await connect(await serve())
        const model = await openAiKit.modelOf([
          openAiKit.answer(['Let me see.'], CALLS),
          openAiKit.answer([], [['book', 'c3', { city: 'Rome' }]]),
          openAiKit.answer(['Booked']),
        ])
        const execute: Execute = async (run) => {
          const { openAiAgents: tools } = await mcpTools(run, client)
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

    it('code: each call once, with a crash at each write', { timeout: 240_000 }, async () => {
      const served = await serve()
      const client = await connect(served)
      const execute: Execute = async (run) => {
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
})
