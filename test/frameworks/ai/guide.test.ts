/** The program of the guide compiles with the real types of AI SDK, against the built declarations. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Consumer } from '../../support/consumer.js'
import { typeFaultsOf } from '../../support/type-faults.js'
import { read } from '../../support/repository.js'
import { describeWith, MODULES } from '../installed.js'

const CASES = `
import { generateText, streamText, ToolLoopAgent, tool, dynamicTool, jsonSchema, type LanguageModelMiddleware, type ModelMessage } from 'ai'
import { MockLanguageModelV4, MockLanguageModelV3 } from 'ai/test'
import { aiSdk, toModelMessages } from 'a2a-tasks/ai'
import type { Run } from 'a2a-tasks/server'

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
// @ts-expect-error A name is no model.
ai.model('openai/gpt-5')
`

const consumer = new Consumer()
consumer.install('zod', 'eventemitter3', '@types/node')
afterAll(() => {
  consumer.remove()
})

describeWith('ai', () => {
  test('the program of the guide, and other uses, have right types', { timeout: 240_000 }, () => {
    const link = `${consumer.folder}/node_modules/ai`
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(`${MODULES}ai`, link, 'junction')
    const [, program = ''] = /^```ts\n([^]*?)^```$/m.exec(read('docs/guides/llm-agents.md')) ?? []
    expect(program).toContain('aiSdk(run)')
    const files = [
      consumer.write('agent.mts', program.replace('./model.js', './model.mjs')),
      consumer.write(
        'model.mts',
        `import { MockLanguageModelV4 } from 'ai/test'\nexport const model = new MockLanguageModelV4()`,
      ),
      consumer.write('cases.mts', CASES),
    ]
    expect(typeFaultsOf(consumer, files)).toEqual([])
  })
})
