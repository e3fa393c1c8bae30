/** Delegation of local tasks, and local copies of remote tasks. */
import { describe, expect, it } from 'vitest'
import { A2AClient } from '../../../src/client/index.js'
import { A2AError, TaskManager } from '../../../src/index.js'
import { fakeAgent } from '../../../src/testing/index.js'

/** Two agents behind one fetch. */
function network(...agents: ReturnType<typeof fakeAgent>[]) {
  return (url: string, init: RequestInit): Promise<Response> => {
    const agent = agents.find((each) => url.startsWith(each.url))
    return agent === undefined ? Promise.reject(new TypeError('fetch failed')) : agent.fetch(url, init)
  }
}

describe('sendTask', () => {
  it('works as in the example of the TaskManager module', async () => {
    const remote = fakeAgent((run) => `Analysed ${run.text}`)
    const remoteAgentId = remote.url
    const taskManager = new TaskManager()
    const a2aClient = new A2AClient({ taskManager, fetch: remote.fetch })

    const task = taskManager.createTask({ skill: 'remote-analysis' })
    await a2aClient.sendTask(remoteAgentId, task)

    const { state, artifacts, history } = taskManager.peekTask(task.id) ?? {}
    expect(state).toBe('completed')
    expect(history?.map((entry) => entry.state)).toEqual(['submitted', 'working', 'completed'])
    expect(artifacts?.[0]?.parts).toEqual([{ text: 'Analysed remote-analysis' }])
  })

  it('sends the input, and nothing else of the task', async () => {
    const remote = fakeAgent((run) => JSON.stringify(run.message.parts))
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch, agents: { helper: remote.url } })
    const task = taskManager.createTask({
      skill: 'sum',
      input: { of: [1, 2] },
      metadata: { secret: 'x' },
      owner: 'ada',
    })
    const result = await client.sendTask('helper', task.id)
    expect(result).toMatchObject({ ok: true, text: '[{"data":{"of":[1,2]}}]' })
    const said = await Promise.all(remote.requests.map((request) => request.clone().text()))
    expect(said.join()).not.toMatch(/secret|"ada"/)
  })

  it('emits events of the manager, chunk by chunk', async () => {
    const remote = fakeAgent(async function* () {
      await Promise.resolve()
      yield 'a'
      yield 'b'
    })
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch })
    const { id } = taskManager.createTask({ skill: 'spell', input: 'ab' })
    const chunks: unknown[] = []
    taskManager.on('task:artifact', ({ artifact, append }) => chunks.push([artifact.parts, append]))
    await client.sendTask(remote.url, id)
    expect(chunks).toEqual([
      [[{ text: 'a' }], false],
      [[{ text: 'b' }], true],
    ])
    expect(taskManager.peekTask(id)?.artifacts).toHaveLength(1)
  })

  it('cancels the other task when ours is canceled', async () => {
    const remote = fakeAgent(
      (run) => new Promise((resolve) => run.signal.addEventListener('abort', () => resolve('too late'))),
    )
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch })
    const { id } = taskManager.createTask({ skill: 'wait' })
    taskManager.on('task:stateChange', ({ to }) => {
      if (to === 'working') queueMicrotask(() => taskManager.cancelTask(id))
    })
    const result = await client.sendTask(remote.url, id)
    expect(result.type).toBe('canceled')
    expect(taskManager.peekTask(id)?.state).toBe('canceled')
    expect(remote.tasks.listTasks().map(({ state }) => state)).toEqual(['canceled'])
  })

  it('ends a task of ours as that of the agent ends', async () => {
    const remote = fakeAgent([
      (run) => run.fail('No such paper'),
      (run) => run.reject('Not today'),
      (run) => run.reply('Just so'),
    ])
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch })
    const ends: unknown[] = []
    for (const skill of ['a', 'b', 'c']) {
      const { id } = taskManager.createTask({ skill })
      await client.sendTask(remote.url, id)
      const { state, output } = taskManager.peekTask(id) ?? {}
      ends.push([state, output])
    }
    expect(ends).toEqual([
      ['failed', null],
      ['rejected', null],
      ['completed', 'Just so'],
    ])
  })

  it('fails the task where there is no agent, and says so without its URL', async () => {
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: network(), retry: { attempts: 1 } })
    const { id } = taskManager.createTask({ skill: 'a' })
    await expect(client.sendTask('https://nowhere.test', id)).rejects.toMatchObject({
      code: 'EXTERNAL_SERVICE_ERROR',
    })
    expect(taskManager.peekTask(id)).toMatchObject({
      state: 'failed',
      message: 'The agent cannot be reached',
    })
    await expect(client.sendTask('https://nowhere.test', id)).rejects.toMatchObject({ code: 'TASK_TERMINAL' })
    await expect(client.sendTask('https://nowhere.test', 'x')).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
  })

  it('keeps one client for each agent, and tasks of agents with equal ids apart', async () => {
    const one = fakeAgent('one', { card: { name: 'One', url: 'https://one.test' } })
    const two = fakeAgent('two', { card: { name: 'Two', url: 'https://two.test' } })
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: network(one, two) })
    for (const url of [one.url, two.url, one.url])
      await client.sendTask(url, taskManager.createTask({ skill: 's' }))
    const cards = [...one.requests, ...two.requests].filter(({ url }) => url.includes('.well-known'))
    expect(cards).toHaveLength(2)
    expect(taskManager.listTasks().map(({ artifacts }) => artifacts[0]?.parts)).toEqual([
      [{ text: 'one' }],
      [{ text: 'two' }],
      [{ text: 'one' }],
    ])
  })
})

describe('a client with a taskManager', () => {
  it('mirrors what it sends', async () => {
    const remote = fakeAgent(async (run) => {
      const answer = await run.requireInput('Which city?')
      return `Rain in ${answer.parts[0]?.text}`
    })
    const taskManager = new TaskManager()
    const client = new A2AClient({ card: remote.card, fetch: remote.fetch, taskManager })
    const sent = await client.send('weather')
    if (sent.type !== 'task') throw new Error('no task')
    const [local] = taskManager.listTasks()
    expect(local).toMatchObject({
      state: 'input-required',
      skill: 'Fake agent',
      metadata: { remote: { agent: 'Fake agent', taskId: sent.task.id } },
    })
    await client.send('Paris', { taskId: sent.task.id })
    expect(taskManager.listTasks()).toHaveLength(1)
    expect(taskManager.listTasks()[0]).toMatchObject({
      state: 'completed',
      artifacts: [{ parts: [{ text: 'Rain in Paris' }] }],
    })
  })

  it('leaves a local task that has ended unchanged', async () => {
    const remote = fakeAgent((run) => run.requireInput('?').then(() => 'done'))
    const taskManager = new TaskManager()
    const client = new A2AClient({ card: remote.card, fetch: remote.fetch, taskManager })
    const sent = await client.send('go')
    const [local] = taskManager.listTasks()
    taskManager.cancelTask(local?.id ?? '')
    if (sent.type !== 'task') throw new Error('no task')
    await client.send('on', { taskId: sent.task.id })
    expect(taskManager.listTasks().map(({ state }) => state)).toEqual(['canceled'])
  })

  it('fails a task that it cannot hold, and returns the result to the caller', async () => {
    const remote = fakeAgent('x'.repeat(2_000))
    const taskManager = new TaskManager({ limits: { maxArtifactsSize: 1_000 } })
    const client = new A2AClient({ card: remote.card, fetch: remote.fetch, taskManager })
    const result = await client.run('go')
    expect(result.text).toHaveLength(2_000)
    expect(taskManager.listTasks()[0]?.state).toBe('failed')
  })

  it('refuses to send where it has no card', async () => {
    const client = new A2AClient({ taskManager: new TaskManager() })
    await expect(client.send('x')).rejects.toSatisfy((error) => A2AError.is(error, 'INVALID_PARAMS'))
  })
})

describe('an agent', () => {
  /** Answers every method with what it is told to. */
  function scripted(answers: Readonly<Record<string, unknown>>) {
    return (_url: string, init: RequestInit): Promise<Response> => {
      const { id, method } = JSON.parse(init.body as string) as { id: number; method: string }
      return Promise.resolve(Response.json({ jsonrpc: '2.0', id, result: answers[method] }))
    }
  }
  const CARD = {
    name: 'Sly',
    supportedInterfaces: [{ url: 'https://sly.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  }
  const status = { state: 'TASK_STATE_COMPLETED' }

  it('has one task here for one of its own, however often it reports it', async () => {
    const taskManager = new TaskManager()
    const remote = fakeAgent('done')
    const client = new A2AClient({ card: remote.card, fetch: remote.fetch, taskManager })
    await client.run('go')
    await client.send('go')
    for await (const event of client.stream('go')) expect(event.type).toBeTypeOf('string')
    expect(taskManager.listTasks().map(({ state }) => state)).toEqual(['completed', 'completed', 'completed'])
  })

  it('does not put its tasks into conversations of ours', async () => {
    const taskManager = new TaskManager()
    taskManager.createTask({ skill: 'mine', contextId: 'private' })
    const task = { id: 't', contextId: 'private', status }
    const client = new A2AClient({ card: CARD, fetch: scripted({ SendMessage: { task } }), taskManager })
    await client.send('x')
    expect(taskManager.listTasks({ contextId: 'private' }).map(({ skill }) => skill)).toEqual(['mine'])
    const [other] = taskManager.listTasks().filter(({ contextId }) => contextId !== 'private')
    expect(other?.metadata).toEqual({ remote: { agent: 'Sly', taskId: 't', contextId: 'private' } })
  })

  it('is answered although the manager is full, or cannot hold what it says', async () => {
    const taskManager = new TaskManager({ maxTasks: 1 })
    const task = {
      id: 't',
      contextId: 'x'.repeat(5_000),
      status,
      artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }],
    }
    const client = new A2AClient({
      card: CARD,
      fetch: scripted({ SendMessage: { task }, GetTask: task }),
      taskManager,
    })
    for (let turn = 0; turn < 3; turn += 1)
      expect(await client.run('x')).toMatchObject({ ok: true, text: 'done' })
    expect(taskManager.size()).toBe(1)
  })

  it('gets no credentials but its own', async () => {
    const one = fakeAgent('one', { card: { name: 'One', url: 'https://one.test' } })
    const two = fakeAgent('two', { card: { name: 'Two', url: 'https://two.test' } })
    const taskManager = new TaskManager()
    const fetch = network(one, two)
    const named = new A2AClient({ card: two.card, fetch, headers: { 'x-own': 'two' } })
    const client = new A2AClient({
      card: one.card,
      fetch,
      taskManager,
      agents: { named },
      auth: { apply: ({ headers }) => headers.set('authorization', 'Bearer one') },
      headers: { 'x-key': 'one' },
    })
    await client.sendTask(two.url, taskManager.createTask({ skill: 's' }))
    await client.sendTask('named', taskManager.createTask({ skill: 's' }))
    const seen = two.requests.map(({ headers }) => [
      headers.get('authorization'),
      headers.get('x-key'),
      headers.get('x-own'),
    ])
    expect(new Set(seen.map(String))).toEqual(new Set([',,', ',,two']))
  })

  it('asks, is answered, and continues', async () => {
    const remote = fakeAgent(async (run) => {
      const answer = await run.requireInput('Which city?')
      return `Rain in ${answer.parts[0]?.text}`
    })
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch })
    const { id } = taskManager.createTask({ skill: 'weather' })
    expect(await client.sendTask(remote.url, id)).toMatchObject({
      type: 'input-required',
      text: 'Which city?',
    })
    expect(taskManager.peekTask(id)?.state).toBe('input-required')
    taskManager.addMessage(id, { role: 'user', parts: [{ text: 'Oslo' }] })
    expect(await client.sendTask(remote.url, id)).toMatchObject({ type: 'completed', text: 'Rain in Oslo' })
    expect(taskManager.peekTask(id)?.state).toBe('completed')
    expect(remote.tasks.size()).toBe(1)
  })

  it('does one task once at a time', async () => {
    const remote = fakeAgent('done')
    const taskManager = new TaskManager()
    const client = new A2AClient({ taskManager, fetch: remote.fetch })
    const { id } = taskManager.createTask({ skill: 's' })
    const [first, second] = await Promise.allSettled([
      client.sendTask(remote.url, id),
      client.sendTask(remote.url, id),
    ])
    expect(first.status).toBe('fulfilled')
    expect(second).toMatchObject({ reason: { code: 'UNSUPPORTED_OPERATION' } })
    expect(remote.tasks.size()).toBe(1)
  })

  it('leaves no abandoned task working', async () => {
    const remote = fakeAgent((run) => run.requireInput('?').then(() => 'x'))
    const taskManager = new TaskManager()
    const client = new A2AClient({ card: remote.card, fetch: remote.fetch, taskManager })
    const throwing = { onUpdate: () => expect.unreachable('as a listener does') }
    await expect(client.run('go', throwing)).rejects.toThrow('as a listener does')
    const { id } = taskManager.createTask({ skill: 's' })
    await expect(client.sendTask(client, id, throwing)).rejects.toThrow('as a listener does')
    expect(
      taskManager.listTasks().filter(({ state }) => state === 'working' || state === 'submitted'),
    ).toEqual([])
  })
})

describe('arguments', () => {
  const remote = fakeAgent('done')
  const client = new A2AClient({ card: remote.card, fetch: remote.fetch })
  // Arguments that only untyped callers can pass.
  const hostile = (value: unknown) => value as never

  it.each([
    [{ parts: [5] }, 'message.parts[0] must be an object, got a number'],
    [{ parts: [{}] }, 'message.parts[0] must have exactly one of text, raw, url and data, got none'],
    [{ parts: [] }, 'message.parts must be an array with at least one part'],
    [{ parts: [{ text: 'x' }], messageId: '' }, 'message.messageId must not be empty'],
    [{ parts: [{ text: 'x' }], taskId: 5 }, 'message.taskId must be a string, got a number'],
    [{ parts: [{ data: 1n }] }, 'message must be JSON'],
    [undefined, 'message must be a text, or an object with parts'],
  ])('a message is refused before it is sent (%#)', async (message, text) => {
    const before = remote.requests.length
    await expect(client.send(hostile(message))).rejects.toThrow(text)
    await expect(client.run(hostile(message))).rejects.toThrow(text)
    expect(remote.requests).toHaveLength(before)
  })

  it.each([
    [{ timeoutMs: 0 }, '"timeoutMs" must be a positive number, got 0'],
    [{ timeoutMs: NaN }, '"timeoutMs" must be a positive number, got NaN'],
    [{ acceptedOutputModes: 'text' }, 'acceptedOutputModes must be an array, got a string'],
    [{ metadata: 5 }, 'metadata must be an object, got a number'],
    [{ onUpdate: 'x' }, '"onUpdate" must be a function, got a string'],
    [{ signl: 1 }, 'Unknown option "signl" of run'],
    [null, 'The options of run must be an object'],
  ])('options of run are refused before it is sent (%#)', async (options, text) => {
    const before = remote.requests.length
    await expect(client.run('x', hostile(options))).rejects.toThrow(text)
    expect(remote.requests).toHaveLength(before)
  })

  it('are copied: what changes after the call is not sent', async () => {
    const parts = [{ text: 'as it was' }]
    const running = client.run({ parts })
    parts[0] = { text: 'changed' }
    await running
    const said = await Promise.all(remote.requests.map((request) => request.clone().text()))
    expect(said.join()).toContain('as it was')
    expect(said.join()).not.toContain('changed')
  })

  it('a card is passed by its name', () => {
    expect(() => new A2AClient(hostile(remote.card))).toThrow('Pass a card as new A2AClient({ card })')
  })
})
