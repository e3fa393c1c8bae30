/** Regressions of the client that a review found. */
import { describe, expect, it } from 'vitest'
import { A2AClient, urlGuard, type RunOptions } from '../../src/client/index.js'
import { TaskManager } from '../../src/index.js'
import { fakeAgent } from '../../src/testing/index.js'

const CARD = {
  name: 'Sly',
  supportedInterfaces: [{ url: 'https://sly.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
}
const retry = { baseDelayMs: 1, maxDelayMs: 2 }
const done = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }

type Answer = (params: Record<string, unknown>) => Response | Promise<Response>

/** An agent that answers each method as it is told, and how often it was asked. */
function scripted(answers: Readonly<Record<string, Answer>>) {
  const asked: string[] = []
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const { method, params } = JSON.parse(init.body as string) as {
      method: string
      params: Record<string, unknown>
    }
    asked.push(method)
    const answer = answers[method]
    if (answer === undefined) throw new TypeError(`No answer to ${method}`)
    return await answer(params)
  }
  return { fetch, asked }
}

const result = (json: unknown) => (): Response => Response.json({ jsonrpc: '2.0', id: null, result: json })
const failure =
  (error: object, status = 200) =>
  (): Response =>
    Response.json({ jsonrpc: '2.0', id: null, error }, { status })

describe('a message whose answer says nothing of it', () => {
  /** The task is there, whatever was answered: it is to be found, and not made again. */
  async function submissions(answer: Answer): Promise<unknown> {
    const { fetch, asked } = scripted({
      SendMessage: answer,
      ListTasks: ({ contextId }) => result({ tasks: [{ ...done, contextId }] })(),
      GetTask: result(done),
    })
    const { type } = await new A2AClient({ card: CARD, fetch, retry }).run('go')
    return [type, asked.filter((method) => method === 'SendMessage').length]
  }

  it.each([
    [
      'a 504 in the JSON of a gateway',
      () => Response.json({ code: 504, message: 'upstream request timeout' }, { status: 504 }),
    ],
    ['a 500 in the JSON of a gateway', () => Response.json({ code: 14 }, { status: 500 })],
    ['a 503 in an answer', failure({ code: 503, message: 'reset' })],
  ] as const)('%s', async (_name, answer) => {
    expect(await submissions(answer)).toEqual(['completed', 1])
  })

  it('is not sent again when the agent reports a fault of another agent', async () => {
    expect(await submissions(failure({ code: -32006, message: 'My helper is mad' }))).toEqual(['error', 1])
  })

  it('is refused with its conversation when it comes twice, and not sent a third time', async () => {
    let sent = 0
    const { fetch, asked } = scripted({
      SendMessage: () =>
        ++sent === 1
          ? new Response(null, { status: 502 })
          : failure({ code: -32602, message: 'contextId in use' })(),
      ListTasks: result({ tasks: [] }),
    })
    expect(await new A2AClient({ card: CARD, fetch, retry }).run('go')).toMatchObject({ type: 'error' })
    expect(asked.filter((method) => method === 'SendMessage')).toHaveLength(2)
  })
})

describe('sendTask', () => {
  it('continues with an agent that is given by its card', async () => {
    const remote = fakeAgent(async (run) => `Rain in ${(await run.requireInput('Where?')).parts[0]?.text}`)
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch })
    const { id } = taskManager.createTask({ skill: 'weather' })
    await client.sendTask(remote.card, id)
    taskManager.addMessage(id, { role: 'user', parts: [{ text: 'Oslo' }] })
    expect(await client.sendTask(remote.card, id)).toMatchObject({ text: 'Rain in Oslo' })
    expect(remote.tasks.size()).toBe(1)
  })

  it('does a task once, whichever client is asked', async () => {
    const remote = fakeAgent('done')
    const taskManager = new TaskManager()
    const clients = [1, 2].map(() => new A2AClient({ taskManager, fetch: remote.fetch }))
    const { id } = taskManager.createTask({ skill: 's' })
    const ends = await Promise.allSettled(clients.map((client) => client.sendTask(remote.url, id)))
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(remote.tasks.size()).toBe(1)
  })

  it('leaves the task alone where its arguments are invalid', async () => {
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, agents: { helper: 'https://helper.test' } })
    const { id } = taskManager.createTask({ skill: 's' })
    await expect(client.sendTask('helpr', id)).rejects.toThrow(
      'agent "helpr" is neither a URL nor a name in "agents"',
    )
    await expect(client.sendTask('helper', id, { signl: 1 } as RunOptions)).rejects.toThrow(
      'Unknown option "signl"',
    )
    expect(taskManager.peekTask(id)?.state).toBe('submitted')
  })

  it('can be ended while the card is on its way', async () => {
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: () => new Promise(() => undefined) })
    const { id } = taskManager.createTask({ skill: 's' })
    const controller = new AbortController()
    const sent = client.sendTask('https://slow.test', id, { signal: controller.signal })
    controller.abort()
    await expect(sent).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
  })
})

it('credentials in headers do not go by http where the card came by https', async () => {
  const card = { ...CARD, supportedInterfaces: [{ ...CARD.supportedInterfaces[0], url: 'http://sly.test' }] }
  const fetch = (): Promise<Response> => Promise.resolve(Response.json(card))
  const headers = { authorization: 'Bearer secret' }
  await expect(A2AClient.connect('https://sly.test', { fetch, headers })).rejects.toMatchObject({
    code: 'URL_BLOCKED',
  })
})

it('a task that had ended is not mirrored again when it is resumed', async () => {
  const remote = fakeAgent('done')
  const taskManager = new TaskManager()
  const client = new A2AClient({ card: remote.card, fetch: remote.fetch, taskManager })
  const ended = await client.run('go')
  if (ended.type !== 'completed') throw new Error(ended.type)
  for (let turn = 0; turn < 2; turn += 1) await client.resume({ messageId: 'm', taskId: ended.task.id })
  expect(taskManager.size()).toBe(1)
})

describe('traps', () => {
  const remote = fakeAgent((run) => run.requireInput('?').then(() => 'done'))

  it('the factory of guards is refused as a guard, and a guard that returns a value blocks', async () => {
    for (const guard of [urlGuard, () => false, () => true]) {
      const options = { fetch: remote.fetch, urlGuard: guard as never }
      await expect(A2AClient.connect(remote.url, options)).rejects.toMatchObject({ code: 'URL_BLOCKED' })
    }
  })

  it('a wrong answer of onInputRequired is an error of the caller, and cancels the task', async () => {
    const client = new A2AClient({ card: remote.card, fetch: remote.fetch })
    const onInputRequired = () => 5 as never
    await expect(client.run('go', { onInputRequired })).rejects.toThrow(
      'message must be a text, or an object with parts',
    )
    expect(remote.tasks.listTasks().map(({ state }) => state)).toEqual(['canceled'])
  })

  it.each([
    [{ headers: new Headers({ a: 'b' }) }, '"headers" must be an object of texts'],
    [{ headers: { a: undefined } }, '"headers" must be an object of texts'],
    [{ auth: 'secret' }, '"auth" must have apply()'],
    [{ protocolVersions: '1.0' }, '"protocolVersions" must be an array'],
    [{ url: 'https://a.test' }, 'A2AClient.connect(url)'],
  ])('options of a wrong type are refused (%#)', (options, text) => {
    expect(() => new A2AClient(options as never)).toThrow(text)
  })
})

describe('a stream', () => {
  const stream =
    (text: string): Answer =>
    () =>
      new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  const card = { ...CARD, capabilities: { streaming: true } }
  const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: done } })}`

  it.each([
    ['ends its lines with CR', `${event}\r\r`],
    ['ends as streams of models do', `${event}\n\ndata: [DONE]\n\n`],
  ])('%s', async (_name, text) => {
    const client = new A2AClient({ card, fetch: scripted({ SendStreamingMessage: stream(text) }).fetch })
    const types: string[] = []
    for await (const { type } of client.stream('go')) types.push(type)
    expect(types).toEqual(['task'])
  })
})
