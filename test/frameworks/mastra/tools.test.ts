/** Tools of Mastra, in its own loop. */
import { expect, test } from 'vitest'
import { A2AClient, toolCallsIn } from 'a2a-tasks/client'
import { aiSdk } from 'a2a-tasks/ai'
import type { Run } from 'a2a-tasks/server'
import { fakeAgent, fakeModel } from 'a2a-tasks/testing'
import { z } from 'zod'
import { describeWith, loadFramework, runsMastra } from '../installed.js'
import { read } from '../../support/repository.js'

interface Mastra {
  readonly Agent: new (options: object) => { generate(input: string, options: object): Promise<unknown> }
  readonly createTool: (options: object) => object
}

interface Context {
  readonly agent: { suspend(payload: object): unknown }
}

/** The agent of a tool that is called once. */
async function agentWith(
  tool: object,
  { maxSteps, onError }: { readonly maxSteps?: number; readonly onError?: (error: unknown) => void },
): Promise<A2AClient> {
  const { Agent } = await loadFramework<Mastra>('@mastra/core/agent')
  const { createTool } = await loadFramework<Mastra>('@mastra/core/tools')
  const inputSchema = z.object({ city: z.string() })
  const execute = async (run: Run): Promise<void> => {
    const ai = aiSdk(run)
    const look = createTool({ id: 'look', description: 'L', inputSchema, execute: () => 'seen', ...tool })
    const model = ai.model(fakeModel([{ tool: 'look', input: { city: 'Rome' } }, 'End']))
    const agent = new Agent({ id: 'a', name: 'A', instructions: '', model, tools: ai.tools({ look }) })
    await agent.generate(run.text, { ...(maxSteps && { maxSteps }), abortSignal: run.signal })
  }
  const { card, fetch } = fakeAgent(execute, { onError })
  return new A2AClient({ card, fetch })
}

if (runsMastra)
  describeWith('@mastra/core', () => {
    test('a call of a tool has its id as soon as it is over', async () => {
      const client = await agentWith({}, { maxSteps: 1 })
      const seen: unknown[] = []
      await client.run('Hi', {
        onUpdate: ({ event }) => {
          if (event.type === 'status')
            for (const { id, state } of toolCallsIn(event.message)) seen.push([id, state])
        },
      })
      expect(seen.at(-1)).toEqual([expect.stringMatching('call'), 'done'])
    })

    test.each([
      ['has requireApproval', { requireApproval: true }],
      ['has a suspendSchema', { suspendSchema: z.object({ q: z.string() }) }],
      ['calls suspend()', { execute: (_: object, { agent }: Context) => agent.suspend({}) }],
    ])('a tool that %s is refused', async (what, tool) => {
      const errors: string[] = []
      const client = await agentWith(tool, { onError: (error) => errors.push(String(error)) })
      expect(await client.run('Hi')).toMatchObject({ type: 'failed' })
      expect(errors.join()).toContain(`The tool "look" ${what}: ask by run.approve()`)
    })
  })
else
  test(`Mastra needs Node 22.13, and this is ${process.version}: npm run test:mastra`, () => {
    expect(read('package.json')).toContain('"test:mastra"')
  })
