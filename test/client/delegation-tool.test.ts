/** The tool with which a model delegates to an agent: its texts, what it sends, and what the model reads. */
import { subAgentsToSkills, toolsToSkills } from 'a2a-tasks/agent-card'
import {
  delegationTool,
  RemoteAgent,
  type DelegationTool,
  type DelegationToolOptions,
} from 'a2a-tasks/client'
import { createTaskManagerHandler, LocalTaskManager } from 'a2a-tasks/compat'
import { describe, expect, test } from 'vitest'
import { fakeFetch, type Reply } from '../http/support/http.js'

const CARD = { name: 'Analyst', description: 'Analyzes data', version: '1.0.0' }
const CHAT: Reply = { body: { choices: [{ message: { role: 'assistant', content: 'By chat' } }] } }

/** An agent that speaks chat completions only. */
function chat(options: DelegationToolOptions = {}, answer: Reply = CHAT) {
  const fake = fakeFetch(({ method }) => (method === 'GET' ? { body: CARD } : answer))
  const agent = new RemoteAgent({ name: 'analyst', cardUrl: 'http://analyst:8000', fetch: fake.fetch })
  const sent = (): unknown => (JSON.parse(fake.asked.at(-1)?.body ?? '{}') as { messages: unknown }).messages
  return { agent, tool: delegationTool(agent, options), sent }
}

const said = (role: string, content: string) => ({ role, content })

describe('the tool', () => {
  test('has the texts of KAOS', async () => {
    const { agent, tool } = chat()
    expect(tool).toMatchObject({
      name: 'delegate_to_analyst',
      description: 'Delegate a task to the analyst agent.',
      inputSchema: {
        type: 'object',
        properties: { task: { type: 'string', description: 'Task to delegate to the agent' } },
        required: ['task'],
      },
    })
    const described = delegationTool(agent, { card: await agent.card() })
    expect(described.description).toBe('Delegate a task to the Analyst agent: Analyzes data')
  })

  test('is a skill of the card, beside those of other tools', () => {
    const { agent, tool } = chat()
    const skills = [...toolsToSkills(['search']), ...subAgentsToSkills([agent, 'writer'])]
    const taskManager = new LocalTaskManager(() => 'done')
    const card = { name: 'Lead', url: 'https://lead.example', skills }
    expect(createTaskManagerHandler({ card, taskManager }).card.skills).toMatchObject([
      { id: 'search', description: 'Tool: search' },
      {
        id: tool.name,
        name: 'delegate_to_analyst',
        description: 'Delegate task to analyst',
        inputModes: ['application/json'],
        outputModes: ['application/json'],
      },
      { id: 'delegate_to_writer', description: 'Delegate task to writer' },
    ])
    expect(() => subAgentsToSkills([''])).toThrow(new RangeError('"agents[0]" must not be empty'))
  })

  test.each([
    [{ contextLimit: -1 }, '"contextLimit" must be an integer from 0, got -1'],
    [{ onError: 'log' }, '"onError" must be a function, got a string'],
    [{ limit: 1 }, 'Unknown option "limit" of delegationTool'],
  ])('with the options %j is refused', (options, text) => {
    expect(() => chat(options as DelegationToolOptions)).toThrow(text)
  })
})

describe('execute', () => {
  const messages = [
    ...['one', 'two', 'three', 'four'].flatMap((text) => [said('user', text), said('assistant', `${text}!`)]),
    said('tool', '{"secret":true}'),
    said('system', 'Be brief'),
  ]

  test('sends the task after the last six messages of the conversation', async () => {
    const { tool, sent } = chat()
    expect(await tool.execute({ task: 'Analyze' }, { messages })).toBe('By chat')
    expect(sent()).toEqual([...messages.slice(2, 8), said('task-delegation', 'Analyze')])
    const none = chat({ contextLimit: 0 })
    await none.tool.execute({ task: 'Analyze' }, { messages })
    expect(none.sent()).toEqual([said('task-delegation', 'Analyze')])
  })

  test('sends the task, and not the message of the user before it, to an agent of KAOS', async () => {
    const taskManager = new LocalTaskManager((text) => `Did: ${text}`)
    const handler = createTaskManagerHandler({ card: { name: 'A', url: 'http://a.example' }, taskManager })
    const fetch = (url: string, init?: RequestInit) => handler.fetch(new Request(url, init))
    const tool = delegationTool(new RemoteAgent({ name: 'a', cardUrl: 'http://a.example', fetch }))
    expect(await tool.execute({ task: 'Analyze' }, { messages })).toBe('Did: Analyze')
  })

  test('returns a failure as a text, which the operator gets as an error', async () => {
    const errors: unknown[] = []
    const { tool } = chat({ onError: (error) => errors.push(error) }, { status: 503 })
    const text = await tool.execute({ task: 'Analyze' })
    expect(text).toMatch(/^\[Delegation failed: Agent analyst: .*503.*\]$/)
    expect(errors).toMatchObject([{ code: 'EXTERNAL_SERVICE_ERROR' }])
  })

  test.each([{}, { task: 1 }, { task: '' }, null])('answers a call with %j', async (input) => {
    const execute = chat().tool.execute as (given: unknown) => Promise<string>
    expect(await execute(input)).toBe('[Delegation failed: "task" must be a text that is not empty]')
  })

  test('rejects when its signal aborts', async () => {
    const call = chat().tool.execute({ task: 'Analyze' }, { signal: AbortSignal.abort() })
    await expect(call).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
  })
})

test('the tool is what a server of MCP lists, and toolsToSkills takes', () => {
  const tool: DelegationTool = chat().tool
  expect(toolsToSkills([tool])).toMatchObject([{ id: 'delegate_to_analyst', description: tool.description }])
})
