/** The programs of the pages with AI SDK: they compile with its real types, against the built declarations, and print what they say. */
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Consumer } from '../../support/consumer.js'
import { typeFaultsOf } from '../../support/type-faults.js'
import { isPrinted, programsOf, type Program } from '../../support/markdown.js'
import { PAGES, read } from '../../support/repository.js'
import { describeWith, MODULES } from '../installed.js'

const CASES = `
import { generateText, streamText, ToolLoopAgent, tool, dynamicTool, jsonSchema, type LanguageModelMiddleware, type ModelMessage } from 'ai'
import { MockLanguageModelV4, MockLanguageModelV3 } from 'ai/test'
import { fakeModel } from 'a2a-tasks/testing'
import { Agent } from '@openai/agents'
import { tool as langChainTool } from '@langchain/core/tools'
import { agentModel, agentTool, aiSdk, langChainAgentTool, openAiAgentTool, toModelMessages } from 'a2a-tasks/ai'
import type { Run } from 'a2a-tasks/server'
import type { ChatTransport, UIMessage } from 'ai'
import { a2aChatTransport, type ChatData, type ChatMetadata } from 'a2a-tasks/chat'
import { A2AClient } from 'a2a-tasks/client'

declare const run: Run
const ai = aiSdk(run, { showReasoning: true })
const messages: ModelMessage[] = toModelMessages(run.messages)
const other = dynamicTool({ inputSchema: jsonSchema({}), execute: async () => 1 })
const agent = new ToolLoopAgent({ model: ai.model(new MockLanguageModelV4()), tools: ai.tools({ other }) })
await ai.finish(agent.stream({ messages }))
await ai.finish(agent.generate({ messages }))
await ai.finish(generateText({ model: ai.model(new MockLanguageModelV3(), { show: false }), prompt: '' }))
await ai.finish(streamText({
  model: ai.model(new MockLanguageModelV4()),
  prompt: '',
  tools: ai.tools({ other }),
  toolApproval: ai.approval({ other: (input: unknown) => (input ? 'user-approval' : 'approved') }),
}))
await ai.finish(generateText({ model: ai.model(fakeModel(['Hello'])), prompt: '' }))
await generateText({ model: fakeModel([{ tool: 'other', input: {} }, ['a', 'b']]), prompt: '' })
declare const client: A2AClient
const airline = agentTool(client, { run })
new ToolLoopAgent({ model: agentModel(client), tools: { airline, ...ai.tools({ other }) } })
await ai.finish(streamText({ model: ai.model(agentModel(client)), tools: { airline }, messages }))
new Agent({ name: 'Travel', tools: [openAiAgentTool(client)] })
langChainTool(...langChainAgentTool(client))
const transport = a2aChatTransport(A2AClient.connect('/agent', { sameOrigin: true }))
export const plain: ChatTransport<UIMessage> = transport
export const typed: ChatTransport<UIMessage<ChatMetadata, ChatData>> = transport
// @ts-expect-error A name is no model.
ai.model('openai/gpt-5')
`

const consumer = new Consumer()
consumer.install('zod', 'eventemitter3', 'libsql', '@types/node')
for (const name of ['ai', '@openai', '@langchain']) {
  const link = `${consumer.folder}/node_modules/${name}`
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(`${MODULES}${name}`, link, 'junction')
}
afterAll(() => {
  consumer.remove()
})

const PROGRAMS = PAGES.flatMap((page) => programsOf(page, read(page), 'ai'))

/** The programs of a page share a folder. A first line such as `// agent.js` is the name by which the others import it. */
function fileOf({ at, code, language }: Program): string {
  const [page = '', line = ''] = at.split(':')
  const [, name = line] = /^\/\/ ([a-z-]+)\.js\n/.exec(code) ?? []
  return `${page.replace(/\W/g, '-')}/${name}.${language}`
}

describeWith('ai', () => {
  test('the programs of the pages, and other uses, have right types', { timeout: 240_000 }, () => {
    expect(PROGRAMS.map(({ at }) => at.split(':')[0])).toEqual(
      expect.arrayContaining(['README.md', 'docs/guides/agent-as-tool.md', 'docs/guides/llm-agents.md']),
    )
    const files = PROGRAMS.map((program) => consumer.write(fileOf(program), program.code))
    expect(typeFaultsOf(consumer, [...files, consumer.write('cases.ts', CASES)])).toEqual([])
  })

  test.each(PROGRAMS.filter(({ output }) => output !== undefined))(
    'the program at $at prints what it says',
    { timeout: 90_000 },
    async (program) => {
      for (const each of PROGRAMS) writeModule(fileOf(each), each.code)
      const printed = await consumer.run(fileOf(program), { AI_GATEWAY_API_KEY: '' })
      if (!isPrinted(printed, program.output ?? '')) expect(printed).toBe(program.output)
    },
  )
})

/** As JavaScript under the name that the others import, which needs no loader. */
function writeModule(file: string, code: string): void {
  consumer.write(file, code)
  const compiled = consumer.compile(file)
  renameSync(compiled, compiled.replace(/\.mjs$/, '.js'))
}
