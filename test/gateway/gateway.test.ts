import { saveTasks } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/core/errors.js'
import { type A2AGateway } from '../../src/gateway/gateway.js'
import { collect } from '../support/manager.js'
import { agentInput, codeOf, pass, setUp, textsOf } from './support/gateway.js'

describe('sending a task', () => {
  test('waits for the end of the task, and returns it', async () => {
    const { gateway, provider } = setUp()
    const sent = gateway.sendTask('a', 'Say hello')
    const call = await provider.last('sendTask')
    expect(call.task).toEqual({
      id: 'task-1',
      contextId: 'task-1',
      text: 'Say hello',
      message: {
        role: 'user',
        parts: [{ text: 'Say hello' }],
        messageId: 'task-2',
        taskId: 'task-1',
        contextId: 'task-1',
        metadata: { agent_id: 'a', provider: 'custom' },
      },
      ref: undefined,
      previous: undefined,
    })
    expect(gateway.loadOf('a')).toBe(1)
    const artifacts = [{ artifactId: 'x', parts: [{ text: 'Hello' }] }]
    await call.answer({ state: 'completed', artifacts, output: { n: 1 }, message: 'Done' })
    const task = await sent
    expect(task).toMatchObject({ id: 'task-1', state: 'completed', skill: 'a', artifacts, output: { n: 1 } })
    expect(task.message).toMatchObject({ role: 'agent', parts: [{ text: 'Done' }] })
    expect(task.history.map(({ state }) => state)).toEqual(['submitted', 'working', 'completed'])
    expect(gateway.loadOf('a')).toBe(0)
  })

  test('takes parts, a context, references, metadata, an id and an owner', async () => {
    const { gateway, provider, tasks } = setUp()
    const input = {
      parts: [{ text: 'a' }, { data: { b: 1 } }, { text: 'c' }],
      contextId: 'talk',
      referenceTaskIds: ['other'],
      metadata: { lang: 'en', agent_id: 'forged' },
    }
    void gateway.sendTask('a', input, { id: 'mine', owner: 'ada' })
    const { task } = await provider.last('sendTask')
    expect(task).toMatchObject({ id: 'mine', contextId: 'talk', text: 'ac' })
    expect(task.message).toMatchObject({
      parts: input.parts,
      metadata: { lang: 'en', agent_id: 'a', provider: 'custom' },
    })
    expect(tasks.peekTask('mine')).toMatchObject({
      owner: 'ada',
      contextId: 'talk',
      referenceTaskIds: ['other'],
    })
  })

  test('without waiting returns the task at once, and emits its events as they come', async () => {
    const { gateway, provider, tasks } = setUp()
    const { id, state } = await gateway.sendTask('a', 'x', { returnImmediately: true })
    expect(state).toBe('submitted')
    const call = await provider.last('streamTask')
    await call.answer({ progress: 0.5, chunk: { artifactId: 'o', parts: [{ text: 'Half' }] } })
    expect(tasks.peekTask(id)).toMatchObject({
      state: 'working',
      message: { metadata: { progress: { current: 0.5 } } },
      artifacts: [{ parts: [{ text: 'Half' }] }],
    })
    await call.answer({ state: 'completed' })
    expect(tasks.peekTask(id)?.state).toBe('completed')
    expect(provider.of('sendTask')).toEqual([])
  })

  test('whose agent asks something resolves with the question, and a message with its id answers', async () => {
    const { gateway, provider } = setUp({ agent: { maxConcurrentTasks: 1 } })
    const asked = gateway.sendTask('a', 'Book')
    await (
      await provider.last('sendTask')
    ).answer({ state: 'input-required', message: 'When?', ref: { r: 1 } })
    const { id, state, message } = await asked
    expect(state).toBe('input-required')
    expect(message).toMatchObject({ parts: [{ text: 'When?' }] })
    const answered = gateway.sendTask('a', { parts: [{ text: 'Now' }], taskId: id })
    const { task } = await provider.last('sendTask')
    expect(task).toMatchObject({ id, text: 'Now', ref: { r: 1 } })
    expect(task.previous).toBeUndefined()
    expect(gateway.tasks.peekTask(id)?.state).toBe('working')
    await (await provider.last('sendTask')).answer({ state: 'completed' })
    const { messages } = await answered
    expect(messages.map(({ parts }) => parts[0]?.text)).toEqual(['Book', 'When?', 'Now'])
  })

  test('a question is one message, in the conversation as in the status', async () => {
    const { gateway, provider } = setUp()
    const asked = gateway.sendTask('a', 'Book')
    await (await provider.last('sendTask')).answer({ state: 'input-required', message: 'When?' })
    const { message, messages } = await asked
    expect(messages.at(-1)).toEqual(message)
  })

  test.each(['sendTask', 'streamTask'] as const)(
    'an answer may be sent as soon as %s is asked',
    async (how) => {
      const { gateway, provider } = setUp({ agent: { maxConcurrentTasks: 1 } })
      const stream = gateway.streamTask('a', 'Book')
      const answers: Promise<unknown>[] = []
      const reading = (async () => {
        for await (const event of stream) {
          if (event.type !== 'status' || event.to !== 'input-required') continue
          const input = { parts: [{ text: 'Now' }], taskId: event.taskId }
          answers.push(
            how === 'sendTask' ? gateway.sendTask('a', input) : collect(gateway.streamTask('a', input)),
          )
        }
      })()
      await (
        await provider.last('streamTask')
      ).answer({ state: 'input-required', message: 'When?', ref: { r: 1 } })
      await (await provider.last(how)).answer({ state: 'completed' })
      await Promise.all([reading, ...answers])
      expect(answers).toHaveLength(1)
      expect(provider.of(how).at(-1)?.task).toMatchObject({ text: 'Now', ref: { r: 1 } })
      expect(gateway.loadOf('a')).toBe(0)
    },
  )

  test('is canceled when its signal aborts', async () => {
    const { gateway, provider } = setUp()
    const controller = new AbortController()
    const sent = gateway.sendTask('a', 'x', { signal: controller.signal })
    await (await provider.last('sendTask')).answer({ state: 'working', ref: { r: 1 } })
    controller.abort()
    expect((await sent).state).toBe('canceled')
    expect((await provider.last('cancelTask')).ref).toEqual({ r: 1 })
  })

  test.each(['sendTask', 'streamTask'] as const)(
    'does not reach the service of %s when it was aborted before',
    async (how) => {
      const { gateway, provider, clock } = setUp()
      const signal = AbortSignal.abort()
      if (how === 'sendTask') await gateway.sendTask('a', 'x', { signal })
      else await collect(gateway.streamTask('a', 'x', { signal }))
      expect(gateway.tasks.peekTask('task-1')?.state).toBe('canceled')
      expect(provider.calls).toEqual([])
      expect([gateway.loadOf('a'), clock.pending]).toEqual([0, 0])
    },
  )

  test.each(['completed', 'input-required'])('is over for its signal when it is %s', async (state) => {
    const { gateway, provider, reported } = setUp()
    const controller = new AbortController()
    const sent = gateway.sendTask('a', 'x', { signal: controller.signal })
    await (await provider.last('sendTask')).answer({ state, ref: { r: 1 } })
    await sent
    controller.abort()
    expect(gateway.tasks.peekTask('task-1')?.state).toBe(state)
    expect([provider.of('cancelTask'), reported]).toEqual([[], []])
  })

  test('streams its events from its creation on', async () => {
    const { gateway, provider } = setUp()
    const events = collect(gateway.streamTask('a', 'x'))
    const call = await provider.last('streamTask')
    await call.answer({ state: 'working', ref: { r: 1 } })
    await call.answer({ progress: 0.255 })
    await call.answer({ chunk: { artifactId: 'o', parts: [{ text: 'Hel' }] } })
    await call.answer({ chunk: { artifactId: 'o', parts: [{ text: 'lo' }] } })
    await call.answer({ state: 'completed', output: 7 })
    const seen = await events
    expect(seen.map(({ type }) => type)).toEqual([
      ...['created', 'message', 'status', 'status', 'artifact', 'artifact', 'output', 'status'],
    ])
    expect(seen[3]).toMatchObject({
      message: { parts: [{ text: '26 %' }], metadata: { progress: { current: 0.255, total: 1 } } },
    })
    expect(textsOf(await gateway.getTask('task-1'))).toEqual(['Hello'])
    expect(call.isLeft()).toBe(true)
  })

  test('whose stream is left is finished anyway', async () => {
    const { gateway, provider } = setUp()
    for await (const { type } of gateway.streamTask('a', 'x')) if (type === 'created') break
    await (await provider.last('streamTask')).answer({ state: 'completed' })
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('completed')
  })

  test('reports one that is gone before its end', async () => {
    const { gateway, provider, clock, tasks } = setUp({ manager: { expiryMs: 10 } })
    const sent = codeOf(gateway.sendTask('a', 'x'))
    await (await provider.last('sendTask')).answer({ state: 'working', ref: { r: 1 } })
    clock.advance(11)
    tasks.prune()
    expect(await sent).toBe('TASK_EXPIRED')
    expect((await provider.last('cancelTask')).ref).toEqual({ r: 1 })
  })
})

/** What is said of an input that is neither. */
const TEXT_OR_PARTS = 'input must be a text, or { parts }, got '

describe('nothing is sent, and no task is left,', () => {
  const contentOf = ({ code, message, data }: A2AError): unknown => ({ code, message, data })

  async function refused(
    { gateway, tasks, provider }: ReturnType<typeof setUp>,
    ...args: Parameters<A2AGateway['sendTask']>
  ): Promise<A2AError> {
    const [count, calls, load] = [tasks.size(), provider.calls.length, gateway.loadOf('a')]
    const errors = await Promise.all([
      gateway.sendTask(...args).catch((error: unknown) => error),
      Promise.resolve()
        .then(() => gateway.streamTask(...args))
        .catch((error: unknown) => error),
    ])
    for (const error of errors) if (!A2AError.is(error)) throw error
    // Both are errors of ours, as has just been checked.
    const [first, second] = errors as [A2AError, A2AError]
    // Each names the method that was called.
    const text = JSON.stringify(contentOf(second)).replaceAll('streamTask()', 'sendTask()')
    expect(text).toBe(JSON.stringify(contentOf(first)))
    expect([tasks.size(), provider.calls.length, gateway.loadOf('a')]).toEqual([count, calls, load])
    return first
  }

  test('when there is no such agent', async () => {
    expect(await refused(setUp(), 'b', 'x')).toMatchObject({
      code: 'AGENT_NOT_FOUND',
      message: 'Agent not found: b',
      data: { agentId: 'b' },
    })
  })

  test.each(['offline', 'degraded', 'maintenance'] as const)('when the agent is %s', async (status) => {
    expect(await refused(setUp({ agent: { status } }), 'a', 'x')).toMatchObject({
      code: 'AGENT_BUSY',
      message: 'Agent a is not online',
      data: { agentId: 'a', reason: `it is ${status}`, retryable: true, retryAfterMs: 5_000 },
    })
  })

  test('when no agent fits', async () => {
    const error = await refused(setUp({ providers: {} }), 'a', 'x')
    expect(error.code).toBe('PROVIDER_ERROR')
    expect(error.message).toContain('No provider for custom: pass it in "providers"')
  })

  test('when the owner has sent too many', async () => {
    const all = setUp({ config: { rateLimit: { requests: 1, perMs: 60_000 } } })
    await all.gateway.sendTask('a', 'x', { owner: 'ada', returnImmediately: true })
    expect(await refused(all, 'a', 'x', { owner: 'ada' })).toMatchObject({
      code: 'RATE_LIMITED',
      data: { retryAfterMs: 60_000 },
    })
    await all.gateway.sendTask('a', 'x', { owner: 'bob', returnImmediately: true })
  })

  test('when the gateway, or the agent, has too much to do', async () => {
    const all = setUp({ config: { maxConcurrentTasks: 2 }, agent: { maxConcurrentTasks: 1 } })
    all.registry.register(agentInput('b'))
    void all.gateway.sendTask('a', 'x')
    expect(await refused(all, 'a', 'x')).toMatchObject({ data: { reason: 'it has too much to do' } })
    void all.gateway.sendTask('b', 'x')
    expect(await refused(all, 'b', 'x')).toMatchObject({ data: { reason: 'the gateway has too much to do' } })
  })

  test('when the message is invalid, or the id is in use', async () => {
    const all = setUp()
    const inputs = [{}, { parts: 'x' }, { parts: [{ text: 'x' }], text: 'x' }, null]
    for (const input of inputs) {
      // As callers in JavaScript may have it.
      expect((await refused(all, 'a', input as string)).code).toBe('INVALID_PARAMS')
    }
    for (const input of [undefined, 42]) {
      // As callers in JavaScript may have it.
      const { code, message } = await refused(all, 'a', input as unknown as string)
      expect([code, message]).toEqual(['INVALID_PARAMS', expect.stringContaining(TEXT_OR_PARTS)])
    }
    // As callers in JavaScript may have them.
    expect((await refused(all, 'a', 'x', { timeoutMs: 1 } as object)).code).toBe('INVALID_PARAMS')
    all.tasks.createTask({ skill: 'x', id: 'mine' })
    expect((await refused(all, 'a', 'x', { id: 'mine' })).code).toBe('INVALID_PARAMS')
  })

  test('when the manager is full', async () => {
    const all = setUp({ manager: { maxTasks: 1 } })
    void all.gateway.sendTask('a', 'x')
    expect((await refused(all, 'a', 'x')).code).toBe('TASK_LIMIT_REACHED')
  })

  test('when it answers what does not wait for it', async () => {
    const all = setUp()
    const { gateway, provider, registry } = all
    registry.register(agentInput('b'))
    const answer = (taskId: string) => ({ parts: [{ text: 'x' }], taskId })
    expect((await refused(all, 'a', answer('none'))).code).toBe('TASK_NOT_FOUND')
    const sent = gateway.sendTask('a', 'x', { owner: 'ada' })
    expect((await refused(all, 'a', answer('task-1'))).code).toBe('UNSUPPORTED_OPERATION')
    await (await provider.last('sendTask')).answer({ state: 'input-required', message: '?', ref: { r: 1 } })
    await sent
    expect((await refused(all, 'a', answer('task-1'), { owner: 'bob' })).code).toBe('TASK_NOT_FOUND')
    expect((await refused(all, 'b', answer('task-1'))).code).toBe('INVALID_PARAMS')
    gateway.tasks.cancelTask('task-1')
    expect(await refused(all, 'a', answer('task-1'))).toMatchObject({
      code: 'TASK_TERMINAL',
      message: 'Cannot send a message to a task in terminal state: canceled',
    })
  })

  test('a message that the manager refuses leaves no task without an end', async () => {
    const { gateway, tasks } = setUp()
    for (const parts of [[{}], [], [{ text: 'x', raw: 'eA==' }]]) {
      await expect(gateway.sendTask('a', { parts } as never)).rejects.toMatchObject({
        code: 'INVALID_PARAMS',
      })
    }
    expect(saveTasks(tasks).map(({ state }) => state)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(gateway.loadOf('a')).toBe(0)
  })
})

describe('the agent for a task', () => {
  test('is the one with least to do, in turns, of those that can do it', () => {
    const { gateway, registry } = setUp({ agent: { capabilities: ['sum'], metadata: { tags: ['fast'] } } })
    registry.register(agentInput('b', { capabilities: ['sum', 'draw'] }))
    registry.register(agentInput('c', { capabilities: ['sum'], status: 'offline' }))
    const find = (needs: Parameters<A2AGateway['findAgentForTask']>[0]) => gateway.findAgentForTask(needs)?.id
    expect([1, 2, 3].map(() => find('Sum this up'))).toEqual(['a', 'b', 'a'])
    expect(find('Draw the sum')).toBe('b')
    expect(find({ tags: ['fast'] })).toBe('a')
    expect(find({ capabilities: ['draw'], tags: ['fast'] })).toBeUndefined()
    void gateway.sendTask('b', 'x')
    expect([1, 2].map(() => find('Sum this up'))).toEqual(['a', 'a'])
    expect([gateway.loadOf('a'), gateway.loadOf('b'), gateway.loadOf('none')]).toEqual([0, 1, 0])
  })

  test('is found for what the application reads in the instruction', () => {
    const { gateway, registry } = setUp({
      extractCapabilities: (text, agents) => [`${text}/${agents.map(({ id }) => id).join('+')}`],
    })
    registry.register(agentInput('b', { capabilities: ['go/a+b'] }))
    expect(gateway.findAgentForTask('go')?.id).toBe('b')
  })

  test('is known of each task, until the task is gone', async () => {
    const { gateway, provider, clock, tasks } = setUp({ manager: { expiryMs: 10 } })
    const sent = gateway.sendTask('a', 'x')
    expect(gateway.agentOf('task-1')).toBe('a')
    await (await provider.last('sendTask')).answer({ state: 'completed' })
    await sent
    expect(gateway.agentOf('task-1')).toBe('a')
    clock.advance(11)
    tasks.prune()
    expect([gateway.agentOf('task-1'), gateway.agentOf('none')]).toEqual([null, null])
  })
})

describe('closing', () => {
  test('refuses new tasks, and waits for working ones', async () => {
    const { gateway, provider, clock } = setUp()
    const sent = gateway.sendTask('a', 'x')
    const closed = gateway.close()
    expect(await codeOf(gateway.sendTask('a', 'x'))).toBe('UNAVAILABLE')
    await (await provider.last('sendTask')).answer({ state: 'completed' })
    await closed
    expect((await sent).state).toBe('completed')
    expect(clock.pending).toBe(0)
  })

  test('stops following when the time is up: tasks stay as they are, services continue', async () => {
    const { gateway, provider, clock, reported, tasks } = setUp()
    const sent = gateway.sendTask('a', 'x')
    const call = await provider.last('sendTask')
    const polled = gateway.sendTask('a', 'y')
    await (await provider.last('sendTask')).answer({ state: 'working', ref: { r: 2 } })
    const closed = gateway.close({ graceMs: 500 })
    await pass(clock, 500)
    await closed
    expect([(await sent).state, (await polled).state]).toEqual(['submitted', 'working'])
    expect(call.signal.aborted).toBe(true)
    expect([provider.of('cancelTask'), reported, clock.pending, gateway.loadOf('a')]).toEqual([[], [], 0, 0])
    tasks.cancelTask('task-1')
    await call.answer({ state: 'completed', ref: { r: 1 } })
    expect(provider.of('cancelTask')).toEqual([])
  })

  test('waits for cancellations at services', async () => {
    const { gateway, provider } = setUp()
    void gateway.sendTask('a', 'x')
    await (await provider.last('sendTask')).answer({ state: 'input-required', ref: { r: 1 }, message: '?' })
    gateway.tasks.cancelTask('task-1')
    let isClosed = false
    const closed = gateway.close().then(() => (isClosed = true))
    const cancel = await provider.last('cancelTask')
    expect(isClosed).toBe(false)
    await cancel.answer({ state: 'canceled' })
    await closed
  })

  test('may wait without a limit, and be called twice', async () => {
    const { gateway, provider, clock } = setUp()
    void gateway.sendTask('a', 'x')
    const all = Promise.all([gateway.close({ graceMs: Infinity }), gateway.close({ graceMs: 1e12 })])
    await (await provider.last('sendTask')).answer({ state: 'completed' })
    await all
    expect(clock.pending).toBe(0)
  })
})
