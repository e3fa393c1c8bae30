/** Remote agents as tools of the real AI SDK. */
import { agentTool, type AgentTool, type AgentToolOptions } from 'a2a-tasks/ai'
import { A2AClient, textOf } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { memoryStore } from 'a2a-tasks/durable'
import { fakeAgent, testDurable, type FakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { describeWith } from '../installed.js'
import { agentOf, ai, answer, modelOf, type Call } from './kit.js'

const SKILLS = [{ id: 'book-flight', name: 'Book', description: 'Books a flight', tags: ['travel'] }]
const PICTURE = { raw: 'iVBORw0KGgo=', mediaType: 'image/png', filename: 'seat.png' }

/** A part of the stream of AI SDK. */
interface Part {
  readonly type: string
  readonly preliminary?: boolean
  readonly output?: unknown
  readonly error?: unknown
}

describeWith('ai', () => {
  test('the model reads what the skill does, and what the agent returns', async () => {
    const { calls, parts } = await asked((run) => `Booked: ${run.text}`, [{ message: 'To Rome' }])
    expect(calls[0]?.tools).toMatchObject([
      {
        ...{ type: 'function', name: 'airline', description: 'Books a flight' },
        inputSchema: {
          ...{ type: 'object', required: ['message'], additionalProperties: false },
          properties: { message: { type: 'string' }, taskId: { type: 'string' } },
        },
      },
    ])
    expect(outputsOf(parts)).toEqual([{ state: 'completed', text: 'Booked: To Rome' }])
    expect(seenBy(calls[1])).toEqual([{ type: 'text', value: 'Booked: To Rome' }])
  })

  test('what the agent says while it works is preliminary', async () => {
    const steps = new Steps()
    const { parts } = await asked(
      async (run) => {
        run.update({ message: 'Searching' })
        await steps.reached('Searching')
        run.artifact({ artifactId: 'a', parts: [{ text: 'Seat' }] })
        await steps.reached('Seat')
        run.artifact({ artifactId: 'a', parts: [{ text: ' 12' }] })
        await steps.reached('Seat 12')
      },
      [{ message: 'To Rome' }],
      { onPart: ({ output }) => steps.see(output) },
    )
    const preliminary = parts.filter((part) => part.preliminary === true)
    expect(preliminary.map(({ output }) => output)).toEqual([
      { state: 'working', text: 'Searching' },
      { state: 'working', text: 'Seat' },
      { state: 'working', text: 'Seat 12' },
      // AI SDK shows the last value of a generator twice.
      { state: 'completed', text: 'Seat 12' },
    ])
  })

  test('the model answers a question of the agent by a second call', async () => {
    const { calls, parts } = await asked(
      async (run) => `Booked ${textOf(await run.requireInput('Window or aisle?'))}`,
      [{ message: 'To Rome' }, (taskId) => ({ message: 'Window', taskId })],
    )
    const [question, result] = outputsOf(parts)
    expect(question).toEqual({
      ...{ state: 'input-required', text: 'Window or aisle?', taskId: expect.any(String) as unknown },
    })
    expect(seenBy(calls[1])).toEqual([{ type: 'text', value: JSON.stringify(question) }])
    expect(result).toEqual({ state: 'completed', text: 'Booked Window' })
  })

  test('a function answers a question of the agent', async () => {
    const asks: unknown[] = []
    const { parts } = await asked(
      async (run) => `Booked ${textOf(await run.requireInput('Window or aisle?'))}`,
      [{ message: 'To Rome' }],
      {
        options: {
          onQuestion: ({ state, text }) => {
            asks.push([state, text])
            return 'Aisle'
          },
        },
      },
    )
    expect(asks).toEqual([['input-required', 'Window or aisle?']])
    expect(outputsOf(parts)).toEqual([{ state: 'completed', text: 'Booked Aisle' }])
  })

  test('a function answers a question with a schema by data', async () => {
    const { parts } = await asked(
      async (run) => {
        const { seat } = await run.requireInput('Which seat?', { schema: z.object({ seat: z.string() }) })
        return `Booked ${seat}`
      },
      [{ message: 'To Rome' }],
      { options: { onQuestion: () => ({ parts: [{ data: { seat: 'aisle' } }] }) } },
    )
    expect(outputsOf(parts)).toEqual([{ state: 'completed', text: 'Booked aisle' }])
  })

  test('the model sees files and data', async () => {
    const { calls, parts } = await asked(
      (run) => {
        run.artifact({ parts: [{ text: 'Your seat' }, PICTURE, { data: { seat: '12A' } }] })
        run.artifact({
          parts: [{ url: 'https://airline.example/t.pdf', mediaType: 'application/pdf' }],
        })
      },
      [{ message: 'To Rome' }],
    )
    const data = [{ seat: '12A' }]
    const link = { mediaType: 'application/pdf', url: 'https://airline.example/t.pdf' }
    const { raw, ...about } = PICTURE
    expect(outputsOf(parts)).toEqual([
      { state: 'completed', text: 'Your seat', data, files: [{ ...about, data: raw }, link] },
    ])
    expect(seenBy(calls[1])).toEqual([
      {
        type: 'content',
        value: [
          {
            type: 'text',
            text: JSON.stringify({ state: 'completed', text: 'Your seat', data, files: [link] }),
          },
          { type: 'file', ...about, data: { type: 'data', data: raw } },
        ],
      },
    ])
  })

  test.each<[string, Execute, string]>([
    ['fails', (run) => run.fail('No seats'), 'Airline: failed: No seats'],
    ['rejects', (run) => run.reject('Not to Rome'), 'Airline: rejected: Not to Rome'],
  ])('an agent that %s is an error of the tool', async (_, execute, reason) => {
    const { calls, parts } = await asked(execute, [{ message: 'To Rome' }])
    expect(parts.filter(({ type }) => type === 'tool-error').map(({ error }) => String(error))).toEqual([
      `Error: ${reason}`,
    ])
    expect(seenBy(calls[1])).toMatchObject([{ type: 'error-text', value: `Error: ${reason}` }])
  })

  test('an agent that cannot be reached is an error of the tool', async () => {
    const agent = fakeAgent('x', { card: { name: 'Airline', skills: SKILLS } })
    const client = new A2AClient({
      card: agent.card,
      fetch: () => Promise.reject(new TypeError('fetch failed')),
      retry: { attempts: 1 },
    })
    const { parts } = await askedAs(agentTool(client), [{ message: 'To Rome' }])
    expect(parts.filter(({ type }) => type === 'tool-error').map(({ error }) => String(error))).toEqual([
      expect.stringMatching(/^Error: Airline: error: .+/),
    ])
  })

  test('data go to an agent that takes data', async () => {
    const received: unknown[] = []
    const { calls } = await asked(
      (run) => {
        received.push(run.message.parts, run.task.skill)
        return 'Booked'
      },
      [{ city: 'Rome' }],
      { options: { inputSchema: { type: 'object', properties: { city: { type: 'string' } } } } },
    )
    expect(received).toEqual([[{ data: { city: 'Rome' } }], 'book-flight'])
    expect(calls[0]?.tools).toMatchObject([
      { inputSchema: { properties: { city: { type: 'string' }, message: {}, taskId: {} } } },
    ])
  })

  test('an abort cancels the task of the agent', async () => {
    const controller = new AbortController()
    const agent = fakeAgent(
      async (run) => {
        run.update({ message: 'Searching' })
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
      },
      { card: { name: 'Airline', skills: SKILLS } },
    )
    const tool = agentTool(new A2AClient({ card: agent.card, fetch: agent.fetch }))
    const canceled = new Promise((resolve) =>
      agent.tasks.on('task:stateChange', ({ to }) => to === 'canceled' && resolve(to)),
    )
    await askedAs(tool, [{ message: 'To Rome' }], {
      signal: controller.signal,
      onPart: ({ preliminary }) => preliminary === true && controller.abort(),
    })
    expect(await canceled).toBe('canceled')
  })

  test(
    'within a run the user answers, and no message is sent twice when processes die',
    { timeout: 240_000 },
    async () => {
      // Each trial has an agent of its own: the ids are the same in all of them.
      const airlines: FakeAgent[] = []
      const airlineOf = (): FakeAgent => {
        const airline = fakeAgent(
          async (run) => `Booked ${textOf(await run.requireInput('Window or aisle?'))}`,
          { card: { name: 'Airline', url: 'https://airline.test', skills: SKILLS } },
        )
        airlines.push(airline)
        return airline
      }
      const model = await modelOf([
        answer(['Let me book.'], [['airline', 'c1', { message: 'To Rome' }]]),
        ({ prompt }) => answer([`Done: ${JSON.stringify(seenIn(prompt))}`]),
      ])
      const execute = agentOf(model, {
        more: (_, run) => {
          const { card, fetch } = airlines.at(-1) ?? airlineOf()
          return { tools: { airline: agentTool(new A2AClient({ card, fetch }), { run }) } }
        },
      })
      const report = await testDurable(execute, {
        messages: ['To Rome', 'Window'],
        createStore: (options) => {
          airlineOf()
          return memoryStore(options)
        },
      })
      expect(airlines.length).toBeGreaterThan(20)
      expect(airlines.map(({ tasks }) => tasks.listTasks().length)).toEqual(airlines.map(() => 1))
      expect(report.crashPoints).toBeGreaterThan(5)
      expect(report.task.artifacts[0]?.parts).toEqual([
        { text: 'Let me book.\n\nDone: [{"type":"text","value":"Booked Window"}]' },
      ])
    },
  )
})

interface Asking {
  readonly options?: AgentToolOptions
  readonly onPart?: (part: Part) => unknown
  readonly signal?: AbortSignal
}

type Input = object | ((taskId: string) => object)

/** What happens when a model calls the agent with these inputs, one after the other. */
async function asked(
  execute: Execute,
  inputs: readonly Input[],
  { options, ...asking }: Asking = {},
): Promise<{ readonly calls: readonly Call[]; readonly parts: readonly Part[] }> {
  const agent = fakeAgent(execute, { card: { name: 'Airline', skills: SKILLS } })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  return await askedAs(agentTool(client, { skill: 'book-flight', ...options }), inputs, asking)
}

async function askedAs(
  airline: AgentTool,
  inputs: readonly Input[],
  { onPart, signal }: Asking = {},
): Promise<{ readonly calls: readonly Call[]; readonly parts: readonly Part[] }> {
  const { streamText, isStepCount } = await ai()
  const calls: Call[] = []
  const parts: Part[] = []
  const last = (): Part | undefined => parts.findLast(({ type }) => type === 'tool-result')
  const answers = inputs.map((input, at) => () => {
    const { taskId } = { taskId: '', ...(last()?.output as object | undefined) }
    return answer([], [['airline', `c${at}`, typeof input === 'function' ? input(taskId) : input]])
  })
  const { stream } = streamText({
    ...{ model: await modelOf([...answers, answer(['Done'])], calls), prompt: 'Go', tools: { airline } },
    ...{ stopWhen: isStepCount(5), abortSignal: signal, onError: () => undefined },
  })
  if (stream === undefined) throw new Error('There is no stream')
  for await (const part of stream) {
    parts.push(part)
    onPart?.(part)
  }
  return { calls, parts }
}

function outputsOf(parts: readonly Part[]): unknown[] {
  return parts
    .filter(({ type, preliminary }) => type === 'tool-result' && preliminary !== true)
    .map(({ output }) => output)
}

/** The outputs of tools that the model has seen last. */
function seenBy(call: Call | undefined): unknown[] {
  return seenIn(call?.prompt ?? [])
}

function seenIn(prompt: Call['prompt']): unknown[] {
  const content = prompt.at(-1)?.content as readonly { readonly output?: unknown }[]
  return content.map(({ output }) => output)
}

/** Lets an agent wait until the caller has seen what it says. */
class Steps {
  readonly #seen = new Set<unknown>()
  #wake = (): void => {}

  see(output: unknown): void {
    this.#seen.add((output as { readonly text?: string } | undefined)?.text)
    this.#wake()
  }

  async reached(text: string): Promise<void> {
    while (!this.#seen.has(text)) await new Promise<void>((resolve) => (this.#wake = resolve))
  }
}
