/** Questions of a server of MCP: what the user of the run gets, and what the server gets. */
import { expect, it, onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { mcpAgent } from 'a2a-tasks/mcp'
import { createRequestHandler } from 'a2a-tasks/server'
import { testDurable } from 'a2a-tasks/testing'
import { agentOf, clientOf, TOOL, type Json, type ServerCall } from './kit.js'

const FORM = {
  message: 'How many?',
  requestedSchema: { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] },
}
const text = (given: unknown): Json => ({ content: [{ type: 'text', text: JSON.stringify(given) }] })

/** A tool of a session that asks, and returns the answer. */
const asking =
  (method: string, params: Json) =>
  async ({ ask }: ServerCall): Promise<Json> =>
    text(await ask(method, params))

/** A tool of the generation without sessions that asks, and returns the answer. */
const requiring =
  (method: string, params: Json) =>
  ({ params: { inputResponses, requestState } }: ServerCall): Json =>
    inputResponses === undefined
      ? { resultType: 'input_required', inputRequests: { q: { method, params } }, requestState: 's' }
      : text([requestState, (inputResponses as Json)['q']])

it.each([
  ['a form', FORM, { go: { seats: 2 } }, { action: 'accept', content: { seats: 2 } }],
  ['a form without fields', { message: 'Go?' }, { go: 'accept' }, { action: 'accept', content: {} }],
  ['a form without a text', { message: '' }, { go: 'accept' }, { action: 'accept', content: {} }],
  ['a form without fields, declined', { message: 'Go?' }, { go: 'decline' }, { action: 'decline' }],
  [
    'an address',
    { mode: 'url', message: 'Log in', url: 'https://x.example' },
    { go: 'done' },
    { action: 'accept' },
  ],
  [
    'an address, declined',
    { mode: 'url', message: 'Log in', url: 'https://x.example' },
    { go: 'decline' },
    { action: 'decline' },
  ],
  [
    'an address that is code',
    { mode: 'url', message: 'Log in', url: 'javascript:alert(1)' },
    undefined,
    { action: 'decline' },
  ],
  [
    'a form that is too large',
    { ...FORM, requestedSchema: { ...FORM.requestedSchema, $comment: 'x'.repeat(70_000) } },
    undefined,
    { action: 'decline' },
  ],
] as const)('%s, in both generations', async (_, params, answers, result) => {
  const onQuestions = answers && (() => answers as never)
  const session = await agentOf(clientOf({ call: asking('elicitation/create', params) }))
  expect(await session.client.run('Go', { onQuestions })).toMatchObject({
    type: 'completed',
    text: JSON.stringify(result),
  })
  const later = await agentOf(clientOf({ call: requiring('elicitation/create', params) }))
  expect(await later.client.run('Go', { onQuestions })).toMatchObject({
    type: 'completed',
    text: JSON.stringify(['s', result]),
  })
})

it('sampling is a step, in both generations', async () => {
  const sampled: Json[] = []
  const sample = (params: Json): Json => {
    sampled.push(params)
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hi' } }
  }
  const params = { messages: [], maxTokens: 10 }
  for (const call of [
    asking('sampling/createMessage', params),
    requiring('sampling/createMessage', params),
  ]) {
    const { client } = await agentOf(clientOf({ call }), { sample })
    expect((await client.run('Go')).text).toContain('"model":"m"')
  }
  expect(sampled).toEqual([params, params])
})

it('a session is told what is not offered', async () => {
  const { client } = await agentOf(
    clientOf({
      call: async ({ ask }) =>
        text(
          await ask('sampling/createMessage', {}).catch((error: unknown) => ({
            ...(error as Json),
            message: String(error),
          })),
        ),
    }),
  )
  const { text: said } = await client.run('Go')
  expect(JSON.parse(said)).toEqual({
    code: -32_601,
    message: 'Error: This client does not offer sampling/createMessage',
  })
})

it('an error that wants an address opened first: the call is repeated', async () => {
  let count = 0
  const elicitations = [{ mode: 'url', url: 'https://x.example', message: 'Log in', elicitationId: 'e1' }]
  const call = (): Json => {
    count += 1
    if (count > 1) return text('in')
    throw Object.assign(new Error('URL needed'), { code: -32_042, data: { elicitations } })
  }
  const { client } = await agentOf(clientOf({ call }))
  expect(await client.run('Go', { onQuestions: () => ({ go: 'done' }) })).toMatchObject({
    type: 'completed',
    text: '"in"',
  })
  count = 0
  expect(await client.run('Go', { onQuestions: () => ({ go: 'decline' }) })).toMatchObject({
    type: 'failed',
    text: 'The user has declined',
  })
})

it('a question is refused while two tasks share the client of a session', async () => {
  const waiting: (() => void)[] = []
  const { client } = await agentOf(
    clientOf({
      async call({ params, ask }) {
        const { input } = params['arguments'] as Json
        if (input === 'wait') await new Promise<void>((resolve) => waiting.push(resolve))
        else return text(await ask('elicitation/create', FORM).catch(String))
        return {}
      },
      list: () => ({
        tools: [{ ...TOOL, inputSchema: { type: 'object', properties: { input: { type: 'string' } } } }],
      }),
    }),
  )
  const other = client.run('wait')
  await expect.poll(() => waiting.length).toBe(1)
  expect((await client.run('ask')).text).toContain('Several tasks share this client')
  waiting.forEach((end) => end())
  expect(await other).toMatchObject({ type: 'completed' })
  expect(await client.run('ask', { onQuestions: () => ({ go: { seats: 1 } }) })).toMatchObject({
    type: 'completed',
  })
})

it('a question that the server withdraws is withdrawn, and the call goes on', async () => {
  const given = new AbortController()
  const { client } = await agentOf(
    clientOf({
      async call({ ask }) {
        const answer = ask('elicitation/create', FORM, given.signal)
        given.abort()
        return text(await answer)
      },
    }),
  )
  expect(await client.run('Go')).toMatchObject({ type: 'completed', text: '{"action":"cancel"}' })
})

it(
  'a call that waits for its user for too long is canceled, and begins again with the answer, in any process',
  { timeout: 15_000 },
  async () => {
    const tasks = new DurableTaskManager({ store: memoryStore() })
    const canceled: string[] = []
    let begun = 0
    const client = clientOf({
      async call({ ask, signal }) {
        begun += 1
        signal.addEventListener('abort', () => canceled.push('call'))
        return text(await ask('elicitation/create', FORM))
      },
    })
    const parts = await mcpAgent(client, { card: { name: 'Agent', url: 'https://agent.test' }, holdMs: 50 })
    const handler = createRequestHandler({
      ...parts,
      tasks,
      anonymous: 'shared',
      limits: { waitingRunMs: 20 },
    })
    onTestFinished(async () => {
      await handler.close({ graceMs: 0 })
      await tasks.destroy()
    })
    const agent = new A2AClient({
      card: handler.card,
      fetch: (url, init) => handler.fetch(new Request(url, init)),
    })
    const asked = await agent.run('Go')
    expect(asked).toMatchObject({ type: 'input-required' })
    await expect.poll(() => canceled).toEqual(['call'])
    const taskId = asked.type === 'input-required' ? asked.task.id : ''
    const ended = await agent.run({ taskId, parts: [{ text: '{"seats":3}' }] })
    expect(ended).toMatchObject({ type: 'completed', text: '{"action":"accept","content":{"seats":3}}' })
    expect(begun).toBe(2)
  },
)

it('a call of a session with two questions, with a crash at each write', { timeout: 60_000 }, async () => {
  const call = async ({ ask, params }: ServerCall): Promise<Json> => {
    const _meta = params['_meta'] as Json
    // Ids are new each time.
    const first = await ask('elicitation/create', { ...FORM, elicitationId: String(Math.random()) })
    const second = await ask('elicitation/create', { message: 'Sure?' })
    return text([first, second, _meta['a2a-tasks.dev/key'] === undefined])
  }
  const { execute } = await mcpAgent(() => clientOf({ call }), {
    card: { name: 'A', url: 'https://agent.test' },
  })
  const { task } = await testDurable(execute, {
    messages: ['Go', { answers: { go: { seats: 2 } } }, { answers: { go: 'accept' } }],
  })
  expect(task.artifacts[0]?.parts?.[0]?.text).toBe(
    '[{"action":"accept","content":{"seats":2}},{"action":"accept","content":{}},false]',
  )
})

it('a question of a call that was canceled is not put to the user of another task', async () => {
  const calls: ServerCall[] = []
  let begin = (): void => undefined
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const answers: unknown[] = []
  const client = clientOf({
    async call(call) {
      const first = calls.length === 0
      calls.push(call)
      begin()
      // The first goes on after it was canceled.
      if (first) return await new Promise<never>(() => undefined)
      await calls[0]?.ask('elicitation/create', FORM).catch((error: unknown) => answers.push(error))
      return text('done')
    },
  })
  const agent = await agentOf(client)
  const one = await agent.client.send('Go', { returnImmediately: true })
  await begun
  await agent.client.cancelTask(one.type === 'task' ? one.task.id : '')
  let asked = 0
  const other = await agent.client.run('Go', {
    onQuestions: () => {
      asked += 1
      return { go: { seats: 2 } }
    },
  })
  expect(other).toMatchObject({ type: 'completed', text: '"done"' })
  expect(asked).toBe(0)
  expect(answers).toMatchObject([{ code: -32_603 }])

  // A new connection hears of no earlier call.
  Object.assign(client, { transport: {} })
  const third = await agent.client.run('Go', { onQuestions: () => ({ go: { seats: 2 } }) })
  expect(third).toMatchObject({ type: 'completed' })
  expect(answers).toHaveLength(1)
})

it('a call that the server puts off is repeated later, with its state', async () => {
  const sent: unknown[] = []
  const call = ({ params: { requestState, inputResponses } }: ServerCall): Json => {
    sent.push([requestState, inputResponses])
    return requestState === 'later 2'
      ? text('done')
      : { resultType: 'input_required', requestState: requestState === undefined ? 'later 1' : 'later 2' }
  }
  const { client } = await agentOf(clientOf({ call }))
  expect(await client.run('Go')).toMatchObject({ type: 'completed', text: '"done"' })
  expect(sent).toEqual([
    [undefined, undefined],
    ['later 1', undefined],
    ['later 2', undefined],
  ])
})

it('a call that the server always puts off, with a crash at each write', { timeout: 60_000 }, async () => {
  const call = (): Json => ({ resultType: 'input_required', requestState: 'later' })
  const { execute } = await mcpAgent(() => clientOf({ call }), {
    card: { name: 'A', url: 'https://agent.test' },
  })
  const { task } = await testDurable(execute, { messages: ['Go'] })
  expect(task).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'The MCP server has put the call off more than 10 times' }] },
  })
})
