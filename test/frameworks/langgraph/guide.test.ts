/** The programs of the page with LangGraph, and the types of the real package. */
import { describeWith } from '../installed.js'
import { testPrograms } from '../programs.js'

const USES = `
import { Annotation, StateGraph } from '@langchain/langgraph'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { createAgent } from 'langchain'
import { langChain } from 'a2a-tasks/ai'
import type { Run } from 'a2a-tasks/server'

declare const run: Run
const ai = langChain(run, { showReasoning: true })
const model = ai.model(new FakeListChatModel({ responses: ['Hello'] }), { show: false })
const State = Annotation.Root({ text: Annotation<string> })
const graph = new StateGraph(State)
  .addNode('one', async () => ({ text: (await model.invoke(await ai.messages({ earlier: 20 }))).text }))
  .addEdge('__start__', 'one')
  .compile()
const { text } = await ai.finish(graph, { text: '' }, { config: { recursionLimit: 5 }, ask: async () => 1 })
const same: string = text
const agent = createAgent({ model: ai.model(new FakeListChatModel({ responses: ['Hello'] })), tools: [] })
const { messages } = await ai.finish(agent, { messages: await ai.messages() })
const last: string | undefined = messages.at(-1)?.text
`

describeWith('@langchain/langgraph', () => {
  testPrograms({
    page: 'docs/guides/langgraph.md',
    mark: 'langgraph',
    packages: ['@langchain', 'langchain'],
    uses: USES,
  })
})
