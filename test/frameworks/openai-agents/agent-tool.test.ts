/** Remote agents as tools of the real OpenAI Agents SDK, with its scripted model. */
import { openAiAgentTool } from 'a2a-tasks/ai'
import { A2AClient, textOf } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { fakeAgent, type FakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { describeWith, loadFramework } from '../installed.js'

interface Framework {
  readonly Agent: new (options: object) => object
  readonly run: (agent: object, input: string, options: object) => Promise<{ readonly finalOutput: unknown }>
  readonly setTracingDisabled: (isDisabled: boolean) => void
}

interface Item {
  readonly type?: string
  readonly output?: unknown
}

interface Testing {
  readonly ScriptedModel: new (steps: readonly unknown[]) => {
    readonly calls: readonly {
      readonly request: { readonly input: readonly Item[]; readonly tools: unknown }
    }[]
  }
  readonly functionCall: (name: string, input: object, options: { readonly callId: string }) => object
  readonly assistantMessage: (text: string) => object
  readonly modelResponder: (respond: (call: { request: { input: readonly Item[] } }) => object[]) => object
}

const CARD = { name: 'Airline', description: 'Books flights' }

describeWith('@openai/agents', () => {
  test('the model reads what the agent does, and what it returns', async () => {
    const { tools, seen, finalOutput } = await asked((run) => `Booked: ${run.text}`, [{ message: 'To Rome' }])
    expect(tools).toMatchObject([
      {
        ...{ type: 'function', name: 'Airline', description: 'Books flights', strict: false },
        parameters: { type: 'object', properties: { message: {}, taskId: {} }, required: ['message'] },
      },
    ])
    expect(seen).toEqual([{ type: 'text', text: 'Booked: To Rome' }])
    expect(finalOutput).toBe('Done')
  })

  test('the model answers a question of the agent by a second call', async () => {
    const { seen } = await asked(
      async (run) => `Booked ${textOf(await run.requireInput('Window or aisle?'))}`,
      [{ message: 'To Rome' }, (taskId) => ({ message: 'Window', taskId })],
    )
    expect(seen).toEqual([
      { type: 'text', text: expect.stringMatching(/"input-required","text":"Window or aisle\?"/) as unknown },
      { type: 'text', text: 'Booked Window' },
    ])
  })

  test('the model sees images and files', async () => {
    const { seen } = await asked(
      (run) => {
        run.artifact({
          parts: [
            { text: 'Your seat' },
            { raw: 'iVBORw0KGgo=', mediaType: 'image/png' },
            { raw: 'AAAA', mediaType: 'application/pdf', filename: 'ticket.pdf' },
          ],
        })
      },
      [{ message: 'To Rome' }],
    )
    expect(seen).toMatchObject([
      [
        { type: 'input_text', text: 'Your seat' },
        { type: 'input_image', image: 'data:image/png;base64,iVBORw0KGgo=' },
        { type: 'input_file', file: 'data:application/pdf;base64,AAAA', filename: 'ticket.pdf' },
      ],
    ])
  })

  test('the reason of an agent that fails goes to the model', async () => {
    const { seen } = await asked((run) => run.fail('No seats'), [{ message: 'To Rome' }])
    expect(seen).toEqual([{ type: 'text', text: 'Error: Airline: failed: No seats' }])
  })

  test('an abort of the run cancels the task of the agent', async () => {
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
    await expect(askedAs(agent, [{ message: 'To Rome' }], controller.signal)).rejects.toThrow()
    expect(await canceled).toBe('canceled')
  })
})

type Values = Readonly<Record<string, string>>
type Input = Values | ((taskId: string) => Values)

interface Asked {
  readonly tools: unknown
  /** The outputs of the tool, as the model sees them. */
  readonly seen: unknown[]
  readonly finalOutput: unknown
}

async function asked(execute: Execute, inputs: readonly Input[]): Promise<Asked> {
  return await askedAs(fakeAgent(execute, { card: CARD }), inputs)
}

/** What happens when a model calls the agent with these inputs, one after the other. */
async function askedAs(agent: FakeAgent, inputs: readonly Input[], signal?: AbortSignal): Promise<Asked> {
  const { Agent, run, setTracingDisabled } = await loadFramework<Framework>('@openai/agents')
  const { ScriptedModel, functionCall, assistantMessage, modelResponder } =
    await loadFramework<Testing>('@openai/agents/testing')
  setTracingDisabled(true)
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const steps = inputs.map((input, at) =>
    modelResponder(({ request }) => {
      const [, taskId = ''] =
        /"taskId":"([^"]+)"/.exec(JSON.stringify(outputsIn(request.input)).replaceAll('\\', '')) ?? []
      const given = typeof input === 'function' ? input(taskId) : input
      return [functionCall('Airline', given, { callId: `c${at}` })]
    }),
  )
  const model = new ScriptedModel([...steps, [assistantMessage('Done')]])
  const travel = new Agent({ name: 'Travel', model, tools: [openAiAgentTool(client)] })
  const { finalOutput } = await run(travel, 'Go', { signal })
  const seen = outputsIn(model.calls.at(-1)?.request.input ?? [])
  return { tools: model.calls[0]?.request.tools, seen, finalOutput }
}

function outputsIn(input: readonly Item[]): unknown[] {
  return input.filter(({ type }) => type === 'function_call_result').map(({ output }) => output)
}
