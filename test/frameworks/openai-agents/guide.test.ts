/** The programs of the page with OpenAI Agents, and the types of the real package. */
import { describeWith } from '../installed.js'
import { testPrograms } from '../programs.js'

const USES = `
import { Agent, OpenAIProvider, run, Runner, tool, webSearchTool, type AgentInputItem, type Model } from '@openai/agents'
import { z } from 'zod'
import { ScriptedModel } from '@openai/agents/testing'
import { openAiAgents } from 'a2a-tasks/ai'
import type { Run } from 'a2a-tasks/server'

declare const task: Run
declare const model: Model
const ai = openAiAgents(task, { showReasoning: true })
const messages: AgentInputItem[] = await ai.messages({ earlier: 20 })
const one = tool({ name: 'one', description: '', parameters: z.object({}), execute: async () => 1 })
const agent = new Agent({
  name: 'A',
  model: ai.model(model, { show: false }),
  tools: ai.tools([one, webSearchTool()], { expiresInMs: 1_000 }),
})
await ai.finish(run(agent, messages))
await ai.finish(new Runner().run(agent, messages, { stream: true }))
ai.model(await new OpenAIProvider().getModel('gpt-5'))
ai.model(new ScriptedModel())
// @ts-expect-error A name is no model.
ai.model('gpt-5')
`

describeWith('@openai/agents', () => {
  testPrograms({
    page: 'docs/guides/openai-agents.md',
    mark: 'openai-agents',
    packages: ['@openai'],
    uses: USES,
  })
})
