/** Remote agents as tools of the real LangChain, with its fake model. */
import { langChain, langChainAgentTool, type AgentOutput, type LangChainAgentTool } from 'a2a-tasks/ai'
import { A2AClient, textOf } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { describeWith, loadFramework } from '../installed.js'

interface ToolMessage {
  readonly content: unknown
  readonly artifact: AgentOutput
}

interface Tool {
  readonly name: string
  readonly invoke: (call: object, config?: object) => Promise<ToolMessage>
}

interface Model {
  readonly respondWithTools: (calls: readonly object[]) => Model
  readonly respond: (message: object) => Model
  readonly bindTools: (tools: readonly Tool[]) => Model
  readonly invoke: (
    messages: readonly unknown[],
  ) => Promise<{ readonly tool_calls: readonly { readonly name: string }[] }>
  readonly calls: readonly { readonly messages: readonly unknown[] }[]
}

const CARD = { name: 'Airline', description: 'Books flights' }

describeWith('@langchain/core', () => {
  test('a model calls the agent', async () => {
    const { AIMessage } = await loadFramework<{ readonly AIMessage: new (text: string) => object }>(
      '@langchain/core/messages',
    )
    const { fakeModel } = await loadFramework<{ readonly fakeModel: () => Model }>('@langchain/core/testing')
    const airline = await toolFor((run) => `Booked: ${run.text}`)
    const model = fakeModel()
      .respondWithTools([{ name: 'Airline', args: { message: 'To Rome' }, id: 'c1' }])
      .respond(new AIMessage('Done'))
    const bound = model.bindTools([airline])
    const first = await bound.invoke(['Go'])
    const [call] = first.tool_calls
    const result = await airline.invoke({ ...call, type: 'tool_call' })
    await bound.invoke(['Go', first, result])
    expect(model.calls[1]?.messages.at(-1)).toMatchObject({ content: 'Booked: To Rome', tool_call_id: 'c1' })
    expect(result.artifact).toEqual({ state: 'completed', text: 'Booked: To Rome' })
  })

  test('a tool that delegates by its run is refused by ai.tools', async () => {
    const agent = fakeAgent('Booked', { card: CARD })
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
    const outer = fakeAgent(async (run) => {
      const own = await toolOf(langChainAgentTool(client, { run }))
      expect(() => langChain(run).tools([own])).toThrow('The tool "Airline" has a "run"')
      langChain(run).tools([await toolOf(langChainAgentTool(client))])
      return 'Refused'
    })
    const { text } = await new A2AClient({ card: outer.card, fetch: outer.fetch }).run('x')
    expect(text).toBe('Refused')
  })

  test('a model reads what the agent does', async () => {
    const { convertToOpenAITool } = await loadFramework<{
      readonly convertToOpenAITool: (tool: Tool) => object
    }>('@langchain/core/utils/function_calling')
    expect(convertToOpenAITool(await toolFor('x'))).toMatchObject({
      function: {
        ...{ name: 'Airline', description: 'Books flights' },
        parameters: { type: 'object', properties: { message: {}, taskId: {} }, required: ['message'] },
      },
    })
  })

  test('what the agent says while it works are events of the tool', async () => {
    const events: unknown[] = []
    let see = (): void => {}
    const isSeen = new Promise<void>((resolve) => (see = resolve))
    const airline = await toolFor(async (run) => {
      run.update({ message: 'Searching' })
      await isSeen
      return 'Booked'
    })
    const handleToolEvent = (event: unknown): void => {
      events.push(event)
      see()
    }
    await called(airline, { message: 'To Rome' }, { callbacks: [{ handleToolEvent }] })
    expect(events[0]).toEqual({ state: 'working', text: 'Searching' })
  })

  test('the model answers a question of the agent by a second call', async () => {
    const airline = await toolFor(
      async (run) => `Booked ${textOf(await run.requireInput('Window or aisle?'))}`,
    )
    const { content, artifact } = await called(airline, { message: 'To Rome' })
    expect(artifact).toMatchObject({ state: 'input-required', text: 'Window or aisle?' })
    expect(content).toBe(JSON.stringify(artifact))
    const { taskId } = artifact
    expect(await called(airline, { message: 'Window', taskId })).toMatchObject({ content: 'Booked Window' })
  })

  test('the model sees files', async () => {
    const airline = await toolFor((run) => {
      run.artifact({ parts: [{ text: 'Your seat' }, { raw: 'iVBORw0KGgo=', mediaType: 'image/png' }] })
    })
    expect(await called(airline, { message: 'To Rome' })).toMatchObject({
      content: [
        { type: 'text', text: 'Your seat' },
        { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    })
  })

  test('an agent that fails throws its reason', async () => {
    const airline = await toolFor((run) => run.fail('No seats'))
    await expect(called(airline, { message: 'To Rome' })).rejects.toThrow('Airline: failed: No seats')
  })

  test('an abort cancels the task of the agent', async () => {
    const controller = new AbortController()
    const agent = fakeAgent(
      async (run) => {
        run.update({ message: 'Searching' })
        controller.abort()
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      },
      { card: CARD },
    )
    const canceled = new Promise((resolve) => {
      agent.tasks.on('task:stateChange', ({ to }) => {
        if (to === 'canceled') resolve(to)
      })
    })
    const airline = await toolOf(langChainAgentTool(new A2AClient({ card: agent.card, fetch: agent.fetch })))
    const calling = called(airline, { message: 'To Rome' }, { signal: controller.signal })
    await expect(calling).rejects.toThrow()
    expect(await canceled).toBe('canceled')
  })
})

async function toolFor(script: string | Execute): Promise<Tool> {
  const agent = fakeAgent(script, { card: CARD })
  return await toolOf(langChainAgentTool(new A2AClient({ card: agent.card, fetch: agent.fetch })))
}

async function toolOf(given: LangChainAgentTool): Promise<Tool> {
  const { tool } = await loadFramework<{ readonly tool: (...given: LangChainAgentTool) => Tool }>(
    '@langchain/core/tools',
  )
  return tool(...given)
}

async function called(tool: Tool, args: object, config?: object): Promise<ToolMessage> {
  return await tool.invoke({ type: 'tool_call', id: 'c1', name: tool.name, args }, config)
}
