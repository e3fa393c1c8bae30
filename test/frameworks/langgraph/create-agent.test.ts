/** The agents and the middleware of the package `langchain`, over LangGraph. */
import { langChain, type GraphOptions } from 'a2a-tasks/ai'
import { toolCallsIn } from 'a2a-tasks/client'
import type { Execute, Run } from 'a2a-tasks/server'
import { expect, test } from 'vitest'
import { describeWith, loadFramework } from '../installed.js'
import { seenOf } from '../seen.js'
import { answer, lang, modelOf, toolOf } from './kit.js'

interface Agent {
  invoke(input: object, config: object): Promise<object>
  withConfig(config: object): Agent
}

interface LangChainPackage {
  readonly createAgent: (options: object) => Agent
  readonly humanInTheLoopMiddleware: (options: object) => object
}

const ROME = { city: 'Rome' }

/** An agent whose user decides about each call of `book`. */
async function agentWith(
  made: string[],
  finish: (run: Run) => GraphOptions,
  configure = (agent: Agent): Agent => agent,
): Promise<Execute> {
  const { createAgent, humanInTheLoopMiddleware } = await loadFramework<LangChainPackage>('langchain')
  const { MemorySaver } = await lang()
  const book = await toolOf('book', ({ city }) => `Seat ${String(made.push(city))}`)
  const model = await modelOf([answer([], [['book', 'c1', ROME]]), answer(['Done'])])
  return async (run) => {
    const ai = langChain(run)
    const agent = createAgent({
      ...{ model: ai.model(model), tools: ai.tools([book]), checkpointer: new MemorySaver() },
      middleware: [humanInTheLoopMiddleware({ interruptOn: { book: true } })],
    })
    await ai.finish(configure(agent), { messages: await ai.messages() }, finish(run))
  }
}

const approving = (run: Run): GraphOptions => ({
  ask: async () => {
    const verdict = await run.approve('book', { message: 'Book it?' })
    return { decisions: [{ type: verdict }] }
  },
})

describeWith('langchain', () => {
  test('a call that the user approves is made, and one that they reject is not', async () => {
    for (const verdict of ['approve', 'reject']) {
      const made: string[] = []
      const { type, task, errors } = await seenOf(await agentWith(made, approving), { verdict })
      expect({ type, errors, made }).toEqual({
        ...{ type: 'completed', errors: [] },
        made: verdict === 'approve' ? ['Rome'] : [],
      })
      expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Done' }] }])
      expect(task.artifacts.flatMap(toolCallsIn)).toMatchObject([
        { name: 'book', state: verdict === 'approve' ? 'done' : 'failed' },
      ])
    }
  })

  test('after an answer, the configuration of the agent still holds', async () => {
    const made: string[] = []
    const tight = (agent: Agent): Agent => agent.withConfig({ recursionLimit: 2 })
    const { type, errors } = await seenOf(await agentWith(made, approving, tight))
    expect({ type, errors }).toEqual({
      type: 'failed',
      errors: [expect.stringContaining('Recursion limit')],
    })
  })
})
