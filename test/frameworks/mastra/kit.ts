/**
 * An agent of Mastra with tools, and the mock model of AI SDK, which Mastra takes.
 *
 * @module
 */
import { aiSdk, type ModelLike } from 'a2a-tasks/ai'
import type { Execute } from 'a2a-tasks/server'
import { z } from 'zod'
import { loadFramework } from '../installed.js'

export { answer, modelOf } from '../ai/kit.js'

interface Agents {
  readonly Agent: new (options: object) => {
    stream(input: string): Promise<{ readonly text: Promise<string> }>
  }
}

interface Tools {
  readonly createTool: (options: object) => object
}

export async function toolOf(id: string, execute: () => unknown): Promise<object> {
  const { createTool } = await loadFramework<Tools>('@mastra/core/tools')
  return createTool({ id, description: 'A tool', inputSchema: z.object({ city: z.string() }), execute })
}

/** An agent with these tools, in Mastra's own loop. */
export function agentOf(model: ModelLike, { tools }: { readonly tools: readonly object[] }): Execute {
  return async (run) => {
    const { Agent } = await loadFramework<Agents>('@mastra/core/agent')
    const ai = aiSdk(run)
    const agent = new Agent({
      ...{ id: 'travel', name: 'Travel', instructions: 'You book travel.' },
      model: ai.model(model, { retry: { attempts: 1 } }),
      tools: ai.tools(Object.fromEntries(tools.map((tool) => [(tool as { readonly id: string }).id, tool]))),
    })
    await (
      await agent.stream(run.text)
    ).text
  }
}
