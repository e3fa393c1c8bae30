/** Remote agents as tools: what holds for every framework. */
import { skillSchemas } from 'a2a-tasks/agent-card'
import {
  agentTool,
  aiSdk,
  openAiAgents,
  openAiAgentTool,
  type AgentOutput,
  type AgentTool,
  type AgentToolOptions,
} from 'a2a-tasks/ai'
import { A2AClient, textOf } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { begin, replicas, resultOf, stateAt } from '../../server/durable/support/replicas.js'
import { child, until } from '../../server/journal/support/children.js'

const FILE = { raw: 'AAAA', mediaType: 'image/png' }

test.each<[string, object[], number, AgentOutput]>([
  ['a text', [{ text: 'ab€d' }], 4, { state: 'completed', text: 'ab', omitted: 1 }],
  ['a file', [{ text: 'ab' }, FILE], 20, { state: 'completed', text: 'ab', omitted: 1 }],
  [
    'what comes after',
    [{ text: 'ab' }, FILE, { data: 1 }],
    20,
    { state: 'completed', text: 'ab', data: [1], omitted: 1 },
  ],
  ['nothing', [{ text: 'ab€' }], 5, { state: 'completed', text: 'ab€' }],
])('a result has at most maxBytes: %s is left out', async (_, parts, maxBytes, expected) => {
  const tool = toolFor((run) => void run.artifact({ parts: parts as [] }), { maxBytes })
  expect(await lastOf(tool.execute({ message: 'x' }, { toolCallId: 'c' }))).toEqual(expected)
})

test('a tool for a skill has the schema that the card has for it, unless it is given one', async () => {
  const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const unusable = { type: 'object', properties: { taskId: { type: 'string' } } }
  const extensions = [skillSchemas({ book: { inputSchema }, other: { inputSchema: unusable } })]
  const skills = ['book', 'other'].map((id) => ({ id, name: id, description: id, tags: ['x'] }))
  const agent = fakeAgent((run) => JSON.stringify(run.message.parts), {
    card: { capabilities: { streaming: true, extensions }, skills },
  })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const schemaOf = (tool: AgentTool): unknown => tool.inputSchema['~standard'].jsonSchema.input()
  const book = agentTool(client, { skill: 'book' })
  expect(schemaOf(book)).toMatchObject({ properties: { city: { type: 'string' } }, required: ['city'] })
  expect((await lastOf(book.execute({ city: 'Rome' }, { toolCallId: 'c' })))?.text).toBe(
    '[{"data":{"city":"Rome"}}]',
  )
  const own = { type: 'object', properties: { to: { type: 'string' } } }
  expect(schemaOf(agentTool(client, { skill: 'book', inputSchema: own }))).toMatchObject(own)
  expect(schemaOf(agentTool(client, { skill: 'other' }))).toMatchObject({ required: ['message'] })
})

test('a tool that delegates by its run is refused by ai.tools, which would wait for itself after a restart', async () => {
  const agent = fakeAgent('Booked')
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const outer = fakeAgent((run) => {
    const [own, other] = [agentTool(client, { run, name: 'airline' }), openAiAgentTool(client, { run })]
    // Frameworks and code make copies.
    expect(() => aiSdk(run).tools({ airline: { ...own } })).toThrow(
      'The tool "airline" has a "run", and records its calls by itself: leave it out of ai.tools(), and pass it beside what that returns',
    )
    expect(() => openAiAgents(run).tools([{ ...other, name: 'air' }])).toThrow('The tool "air" has a "run"')
    aiSdk(run).tools({ airline: agentTool(client) })
    openAiAgents(run).tools([openAiAgentTool(client)])
    run.complete('Refused')
  })
  const { text } = await new A2AClient({ card: outer.card, fetch: outer.fetch }).run('x')
  expect(text).toBe('Refused')
})

test('progress has at most its last 2,000 characters', async () => {
  let see = (): void => {}
  const isSeen = new Promise<void>((resolve) => (see = resolve))
  const tool = toolFor(async (run) => {
    run.artifact({ artifactId: 'a', parts: [{ text: `${'x'.repeat(5_000)}end` }] })
    await isSeen
  })
  const seen: AgentOutput[] = []
  for await (const output of tool.execute({ message: 'x' }, { toolCallId: 'c' })) {
    seen.push(output)
    see()
  }
  expect(seen[0]?.text).toBe(`${'x'.repeat(1_997)}end`)
  expect(seen.at(-1)?.text).toHaveLength(5_003)
})

test('leaving the loop cancels the task of the agent', async () => {
  const agent = fakeAgent(async (run) => {
    run.update({ message: 'Searching' })
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
  })
  const canceled = new Promise((resolve) => {
    agent.tasks.on('task:stateChange', ({ to }) => {
      if (to === 'canceled') resolve(to)
    })
  })
  const tool = agentTool(new A2AClient({ card: agent.card, fetch: agent.fetch }))
  for await (const { text } of tool.execute({ message: 'x' }, { toolCallId: 'c' })) {
    expect(text).toBe('Searching')
    break
  }
  expect(await canceled).toBe('canceled')
})

test('an abort by the framework cancels the task of the agent within a run too', async () => {
  const slow = new AbortController()
  const agent = fakeAgent(
    async (run) => {
      run.update({ message: 'Searching' })
      slow.abort(new Error('Too slow'))
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    },
    { card: { url: 'https://airline.test' } },
  )
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const outer = fakeAgent(async (run) => {
    const abortSignal = AbortSignal.any([run.signal, slow.signal])
    const called = lastOf(
      agentTool(client, { run }).execute({ message: 'x' }, { toolCallId: 'c', abortSignal }),
    )
    return await called.then(
      () => 'It has ended',
      (error: unknown) => String(error),
    )
  })
  expect(await new A2AClient({ card: outer.card, fetch: outer.fetch }).run('x')).toMatchObject({
    text: 'Error: Too slow',
  })
  expect(agent.tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
})

test('a process that closes leaves the task of the agent to the next one', async () => {
  let finish: (text: string) => void = () => {}
  const work = new Promise<string>((resolve) => (finish = resolve))
  const slow = await child(() => work)
  const book: Execute = async (run) => {
    const tool = agentTool(slow.clientWith({}), { run })
    const framework = new AbortController()
    run.signal.addEventListener('abort', () => framework.abort())
    const options = { toolCallId: 'c', abortSignal: framework.signal }
    return (await lastOf(tool.execute({ message: 'x' }, options)))?.text
  }
  const { a, b, clock } = replicas([book, book])
  const { id } = await begin(a, 'go')
  await until(async () => (await a.tasks.journal(id)).some(({ entry }) => entry.kind === 'handle'))
  await a.handler.close()
  clock.advance(11_000)
  await until(() => b.tasks.stats().leases === 1)
  expect(slow.tasks.countTasks({ state: 'working' })).toBe(1)
  finish('Booked')
  await until(async () => (await stateAt(b, id)) === 'completed')
  expect(await resultOf(b, id)).toEqual(['Booked'])
})

test('a tool answers the questions that it has returned, and no others', async () => {
  const agent = fakeAgent(async (run) => `To ${textOf(await run.requireInput('Where?'))}`)
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const [tool, other] = [agentTool(client), agentTool(client)]
  const asked = await lastOf(tool.execute({ message: 'x' }, { toolCallId: 'c' }))
  const input = { message: 'Rome', taskId: asked?.taskId }
  await expect(lastOf(other.execute(input, { toolCallId: 'c' }))).rejects.toThrow(
    '"taskId" must be the one of a question that this tool has returned',
  )
  expect(agent.tasks.listTasks()).toMatchObject([{ state: 'input-required' }])
  expect(await lastOf(tool.execute(input, { toolCallId: 'c' }))).toEqual({
    state: 'completed',
    text: 'To Rome',
  })
})

test('texts are not cut within a character', async () => {
  const skills = [{ id: 'a', name: 'A', description: `${'x'.repeat(1_023)}😀`, tags: ['x'] }]
  const agent = fakeAgent((run) => run.fail(`${'x'.repeat(1_999)}😀`), { card: { name: 'Air', skills } })
  const tool = agentTool(new A2AClient({ card: agent.card, fetch: agent.fetch }), { skill: 'a' })
  expect(tool.description).toBe('x'.repeat(1_023))
  await expect(lastOf(tool.execute({ message: 'x' }, { toolCallId: 'c' }))).rejects.toThrow(
    new Error(`Air: failed: ${'x'.repeat(1_999)}`),
  )
  const said = toolFor(async (run) => {
    run.update({ message: `😀${'x'.repeat(1_999)}` })
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
  })
  for await (const { text } of said.execute({ message: 'x' }, { toolCallId: 'c' })) {
    expect(text).toBe('x'.repeat(1_999))
    break
  }
})

test('a name without letters or digits that a tool can have needs another one', () => {
  const agent = fakeAgent('x', { card: { name: '航空会社' } })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  expect(() => agentTool(client)).toThrow('"name" is needed: "航空会社" has no letters or digits')
  expect(agentTool(client, { name: 'airline' }).name).toBe('airline')
})

test('an input that does not fit is for the model to read', async () => {
  const tool = toolFor('x')
  await expect(lastOf(tool.execute({ text: 'x' }, { toolCallId: 'c' }))).rejects.toThrow(
    '"message" must be a text',
  )
  const { validate } = tool.inputSchema['~standard']
  expect(validate({ text: 'x' })).toMatchObject({
    issues: [{ message: '"message" must be a text' }],
  })
  expect(validate({ message: 'x' })).toEqual({ value: { message: 'x' } })
  const agent = fakeAgent('x')
  const openAi = openAiAgentTool(new A2AClient({ card: agent.card, fetch: agent.fetch }))
  expect(await openAi.invoke({}, '{')).toBe('Error: The input must be JSON')
  expect(await openAi.invoke({}, '[]')).toBe('Error: The input must be an object')
})

test('what a callback throws is no failure of the agent', async () => {
  const agent = fakeAgent((run) => run.requireInput('Which?').then(() => undefined))
  const onQuestion = (): never => {
    throw new Error('The database is down')
  }
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  const tool = openAiAgentTool(client, { onQuestion })
  await expect(tool.invoke({}, '{"message":"x"}')).rejects.toThrow('The database is down')
})

test.each<[string, object, AgentToolOptions, string, string]>([
  ['a skill', { skills: [skill('b.1'), skill('c')] }, { skill: 'b.1' }, 'b_1', 'About b.1'],
  [
    'the agent and its skills',
    { description: 'Flies', skills: [skill('a'), skill('b')] },
    {},
    'Air_Line',
    'Flies\n- A: About a\n- B: About b',
  ],
  ['an agent without skills', { description: '' }, {}, 'Air_Line', 'Air Line!'],
])('a tool has the name and the description of %s', (_, card, options, name, description) => {
  const agent = fakeAgent('x', { card: { name: 'Air Line!', ...card } })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  expect(agentTool(client, options)).toMatchObject({ name, description })
  expect(agentTool(client, { name: 'fly' }).name).toBe('fly')
})

test.each<[AgentToolOptions, RegExp]>([
  [{ skill: 'fly' }, /"skill" must be one of Fake agent: default, got "fly"/],
  [{ maxBytes: 0 }, /"maxBytes"/],
  [{ inputSchema: { properties: { taskId: {} } } }, /without a property "taskId"/],
])('refuses %o', (options, text) => {
  expect(() => toolFor('x', options)).toThrow(text)
})

function skill(id: string): object {
  return { id, name: id.toUpperCase(), description: `About ${id}`, tags: ['x'] }
}

function toolFor(script: string | Execute, options?: AgentToolOptions): ReturnType<typeof agentTool> {
  const agent = fakeAgent(script)
  return agentTool(new A2AClient({ card: agent.card, fetch: agent.fetch }), options)
}

async function lastOf(outputs: AsyncIterable<AgentOutput>): Promise<AgentOutput | undefined> {
  let last: AgentOutput | undefined
  for await (last of outputs);
  return last
}
