import { describe, expect, test } from 'vitest'
import { A2AError } from '../../../src/core/errors.js'
import { pass, serviceError, setUp, textsOf, type Call, type SetUpOptions } from '../support/gateway.js'

const PUBLIC = 'The agent could not finish this task'
const WORKING = { state: 'working', ref: { r: 1 } }

/** A task whose message has been sent. */
async function sent(options: SetUpOptions = {}) {
  const all = setUp(options)
  const result = all.gateway.sendTask('a', 'x')
  return { ...all, result, call: await all.provider.last('sendTask') }
}

/** A task that its service works on. */
async function followed(options: SetUpOptions = {}) {
  const all = await sent(options)
  await all.call.answer(WORKING)
  return all
}

async function streamed(options: SetUpOptions = {}) {
  const all = setUp(options)
  all.gateway.streamTask('a', 'x')
  return { ...all, call: await all.provider.last('streamTask') }
}

describe('a service that fails', () => {
  test('fails the task, with a text that reveals nothing of the service', async () => {
    const { call, result, reported, gateway, clock } = await sent()
    const error = serviceError()
    await call.fail(error)
    const { state, message, messages } = await result
    expect(state).toBe('failed')
    expect(message).toMatchObject({
      role: 'agent',
      parts: [{ text: PUBLIC }],
      metadata: { code: 'PROVIDER_ERROR', retryable: true },
    })
    expect(JSON.stringify([message, messages])).not.toContain('secret')
    expect(reported).toEqual([{ error, context: { during: 'work', taskId: 'task-1', agentId: 'a' } }])
    expect([gateway.loadOf('a'), clock.pending]).toEqual([0, 0])
  })

  test.each([
    ['an error that will not pass', serviceError(false), 'PROVIDER_ERROR', false],
    ['no such task', new A2AError('TASK_NOT_FOUND', 'gone', { taskId: 'x' }), 'TASK_NOT_FOUND', false],
    ['an error of another kind', new TypeError('bug'), 'INTERNAL', false],
    ['a text', 'boom', 'INTERNAL', false],
    ['nothing', undefined, 'INTERNAL', false],
  ])('by %s says so to programs', async (_, error, code, retryable) => {
    for (const { call, gateway, reported } of [await sent(), await streamed()]) {
      await call.fail(error)
      const task = gateway.tasks.peekTask('task-1')
      expect(task?.state).toBe('failed')
      expect(task?.message).toMatchObject({ parts: [{ text: PUBLIC }], metadata: { code, retryable } })
      expect(reported.map((one) => one.error)).toEqual([error])
      expect(gateway.loadOf('a')).toBe(0)
    }
  })

  test.each(['sendTask', 'streamTask'] as const)(
    'as soon as %s is called fails the task, too',
    async (method) => {
      const { gateway, provider, reported } = setUp()
      provider.throws.set(method, new Error('bug'))
      if (method === 'sendTask') await gateway.sendTask('a', 'x')
      else for await (const event of gateway.streamTask('a', 'x')) expect(event.taskId).toBe('task-1')
      expect(gateway.tasks.peekTask('task-1')?.state).toBe('failed')
      expect([reported.length, gateway.loadOf('a')]).toEqual([1, 0])
    },
  )

  test.each(['getTask', 'cancelTask'] as const)(
    'as soon as %s is called does no more harm',
    async (method) => {
      const { provider, clock, gateway, reported, result } = await followed()
      provider.throws.set(method, new Error('bug'))
      if (method === 'getTask') await pass(clock, 1_000)
      else await gateway.cancelTask('task-1')
      expect((await result).state).toBe(method === 'getTask' ? 'failed' : 'canceled')
      expect(reported.length).toBe(1)
    },
  )

  test.each([
    [
      'throws',
      () => {
        throw new Error('worse')
      },
    ],
    ['rejects', (): unknown => Promise.reject(new Error('worse'))],
  ])('fails the task even if onError %s', async (_, onError) => {
    const { call, result } = await sent({ onError })
    await call.fail(serviceError())
    expect((await result).state).toBe('failed')
  })

  test.each([
    ['no object', 'completed'],
    ['null', null],
    ['undefined', undefined],
    ['an unknown state', { state: 'finished' }],
    ['what an update has not', { answer: 42 }],
    ['what an update has not beside what it has', { state: 'completed', result: 'x' }],
    ['a state that is no text', { state: 7 }],
    ['a name of every object for a state', { state: 'toString' }],
    ['a message without parts', { state: 'completed', message: {} }],
    ['parts that are none', { state: 'completed', message: { parts: [{ what: 1 }] } }],
    ['no number for progress', { state: 'working', progress: NaN }],
    ['artifacts that are none', { state: 'completed', artifacts: 'x' }],
    ['output that is no JSON', { state: 'completed', output: () => 7 }],
    ['neither an end nor a place', { state: 'working' }],
    ['nothing', {}],
  ])('to make sense, by %s, fails the task', async (_, answer) => {
    for (const { call, gateway, reported, provider, clock } of [await sent(), await streamed()]) {
      await call.answer(answer)
      if (call.method === 'streamTask') await call.end()
      const task = gateway.tasks.peekTask('task-1')
      expect(task?.state).toBe('failed')
      expect(task?.message).toMatchObject({ parts: [{ text: PUBLIC }], metadata: { retryable: false } })
      expect([reported.length, gateway.loadOf('a'), clock.pending]).toEqual([1, 0, 0])
      expect(provider.of('cancelTask')).toEqual([])
    }
  })

  test('to make sense when it is looked at fails the task, and stops it there', async () => {
    const { provider, clock, result, reported } = await followed()
    await pass(clock, 1_000)
    await (await provider.last('getTask')).answer({ status: 'completed' })
    expect((await result).message).toMatchObject({
      parts: [{ text: PUBLIC }],
      metadata: { code: 'PROVIDER_ERROR', retryable: false },
    })
    const reason = expect.stringContaining('its update has "status"') as unknown
    expect(reported).toMatchObject([{ error: { code: 'PROVIDER_ERROR', data: { reason } } }])
    expect(provider.of('cancelTask').map(({ ref }) => ref)).toEqual([{ r: 1 }])
  })

  test('to keep results small fails the task', async () => {
    const { call, result, provider } = await sent({ manager: { limits: { maxArtifactsSize: 100 } } })
    const artifacts = [{ artifactId: 'x', parts: [{ text: 'x'.repeat(100) }] }]
    await call.answer({ state: 'completed', ref: { r: 1 }, artifacts })
    expect((await result).message).toMatchObject({ metadata: { code: 'LIMIT_EXCEEDED', retryable: false } })
    expect(provider.of('cancelTask')).toEqual([])
  })

  test('to keep results small before the end is canceled', async () => {
    const { call, gateway, provider } = await streamed({ manager: { limits: { maxArtifactsSize: 100 } } })
    await call.answer(WORKING)
    await call.answer({ chunk: { artifactId: 'x', parts: [{ text: 'x'.repeat(100) }] } })
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('failed')
    expect(provider.of('cancelTask').map(({ ref }) => ref)).toEqual([{ r: 1 }])
    expect(call.isLeft()).toBe(true)
  })

  test('in a task with no room for a word fails it without', async () => {
    const { call, result } = await sent({ manager: { limits: { maxMessages: 1 } } })
    await call.fail(serviceError())
    const { state, messages } = await result
    expect([state, messages.length]).toEqual(['failed', 1])
  })

  test.each(['sendTask', 'streamTask'] as const)(
    'to settle %s, whatever its signal says, holds nothing up',
    async (method) => {
      const { gateway, provider, clock, reported } = setUp({
        config: { taskTimeoutMs: 60_000, cancelTimeoutMs: 500 },
      })
      const done = method === 'sendTask' ? gateway.sendTask('a', 'x') : gateway.streamTask('a', 'x')
      const { signal } = await provider.last(method)
      await pass(clock, 60_000)
      expect(await ('then' in done ? done : gateway.getTask('task-1'))).toMatchObject({
        state: 'failed',
        message: {
          parts: [{ text: 'Task timed out' }],
          metadata: { code: 'TASK_TIMED_OUT', retryable: true },
        },
      })
      expect([signal.aborted, gateway.loadOf('a')]).toEqual([false, 1])
      await pass(clock, 500)
      expect([signal.aborted, gateway.loadOf('a'), clock.pending]).toEqual([true, 0, 0])
      expect(reported.map(({ context }) => context.during)).toEqual(['timeout'])
    },
  )
})

describe('a task that continues at its service', () => {
  test('is looked at with growing pauses until its end', async () => {
    const { provider, clock, result } = await followed({ config: { pollIntervalMs: 100 } })
    const at: number[] = []
    for (let looks = 0; looks < 9; looks += 1) {
      const [count, from] = [provider.of('getTask').length, clock.monotonic()]
      while (provider.of('getTask').length === count) await pass(clock, 1)
      at.push(clock.monotonic() - from)
      const call = await provider.last('getTask')
      expect(call.ref).toEqual({ r: 1 })
      await call.answer({ state: looks < 8 ? 'working' : 'completed' })
    }
    expect(at).toEqual([100, 150, 225, 338, 507, 760, 1_000, 1_000, 1_000])
    expect((await result).state).toBe('completed')
    expect(clock.pending).toBe(0)
  })

  test('is polled by the latest location that the service has reported', async () => {
    const { provider, clock } = await followed()
    await pass(clock, 1_000)
    await (await provider.last('getTask')).answer({ state: 'working', ref: { r: 2 } })
    await pass(clock, 1_500)
    expect((await provider.last('getTask')).ref).toEqual({ r: 2 })
  })

  test('emits no event for repeated progress, nor for a step back', async () => {
    const { provider, clock, gateway } = await followed()
    const answer = {
      state: 'working',
      progress: 0.5,
      message: 'Half',
      output: { a: [1] },
      artifacts: [
        { artifactId: 'x', parts: [{ text: 'x' }] },
        { name: 'y', parts: [{ data: 1 }] },
      ],
    }
    await pass(clock, 1_000)
    await (await provider.last('getTask')).answer(answer)
    const seen = gateway.tasks.peekTask('task-1')
    for (const state of ['working', 'submitted']) {
      await pass(clock, 10_000)
      await (await provider.last('getTask')).answer({ ...structuredClone(answer), state })
    }
    expect(provider.of('getTask')).toHaveLength(3)
    expect(gateway.tasks.peekTask('task-1')).toBe(seen)
    expect(seen?.message).toMatchObject({
      parts: [{ text: 'Half' }],
      metadata: { progress: { current: 0.5, total: 1 } },
    })
  })

  test('survives seven looks in a row that fail, and not eight', async () => {
    const { provider, clock, reported, gateway, result } = await followed()
    const miss = async (): Promise<void> => {
      const count = provider.of('getTask').length
      await pass(clock, 10_000)
      expect(provider.of('getTask')).toHaveLength(count + 1)
    }
    for (let round = 0; round < 2; round += 1) {
      for (let misses = 0; misses < 7; misses += 1) {
        await miss()
        await (await provider.last('getTask')).fail(serviceError())
      }
      if (round === 1) break
      await miss()
      await (await provider.last('getTask')).answer({ state: 'working' })
    }
    expect([gateway.tasks.peekTask('task-1')?.state, reported]).toEqual(['working', []])
    await miss()
    await (await provider.last('getTask')).fail(serviceError())
    expect((await provider.last('cancelTask')).ref).toEqual({ r: 1 })
    expect((await result).message).toMatchObject({ metadata: { code: 'PROVIDER_ERROR', retryable: true } })
    expect(reported).toHaveLength(1)
  })

  test('fails at once when looks cannot help, and is not stopped where it is not known', async () => {
    const { provider, clock, result, reported } = await followed()
    await pass(clock, 1_000)
    await (await provider.last('getTask')).fail(new A2AError('TASK_NOT_FOUND', 'gone', { taskId: 'x' }))
    expect((await result).message).toMatchObject({ metadata: { code: 'TASK_NOT_FOUND', retryable: false } })
    expect([provider.of('cancelTask'), reported.length]).toEqual([[], 1])
  })

  test('fails when its time is up, and is stopped at its service', async () => {
    const { provider, clock, result, reported } = await followed({ config: { taskTimeoutMs: 5_000 } })
    await pass(clock, 1_000)
    const look = await provider.last('getTask')
    await pass(clock, 4_000)
    expect(await result).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: 'Task timed out' }], metadata: { code: 'TASK_TIMED_OUT', retryable: true } },
    })
    expect(A2AError.is(look.signal.reason, 'TASK_TIMED_OUT')).toBe(true)
    expect(provider.of('cancelTask').map(({ ref }) => ref)).toEqual([{ r: 1 }])
    expect(reported.map(({ error }) => A2AError.is(error) && error.code)).toEqual(['TASK_TIMED_OUT'])
  })

  test('has its full time again with each answer', async () => {
    const { provider, clock, call, result, gateway } = await sent({ config: { taskTimeoutMs: 5_000 } })
    await call.answer({ state: 'input-required', message: '?', ref: { r: 1 } })
    await result
    await pass(clock, 60_000)
    expect(clock.pending).toBe(0)
    void gateway.sendTask('a', { parts: [{ text: 'y' }], taskId: 'task-1' })
    await (await provider.last('sendTask')).answer({ state: 'working' })
    await pass(clock, 4_999)
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('working')
    await pass(clock, 1)
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('failed')
  })
})

describe('a stream', () => {
  async function answerChunk(call: Call): Promise<void> {
    await call.answer({ ...WORKING, chunk: { artifactId: 'o', parts: [{ text: 'Hel' }] } })
  }

  test.each(['breaks', 'ends'])('that %s before the task does is followed by looks', async (how) => {
    const { call, provider, clock, gateway, reported } = await streamed()
    await answerChunk(call)
    if (how === 'ends') await call.end()
    else await call.fail(serviceError())
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('working')
    await pass(clock, 1_000)
    const artifacts = [{ artifactId: 'o', parts: [{ text: 'Hello' }] }]
    await (await provider.last('getTask')).answer({ state: 'completed', artifacts })
    expect(textsOf(await gateway.getTask('task-1'))).toEqual(['Hello'])
    expect(reported.map(({ context }) => context.during)).toEqual(how === 'ends' ? [] : ['streamTask'])
  })

  test('that breaks fails the task if the service does not know the task, or for good', async () => {
    for (const [update, error] of [
      [{ state: 'working' }, serviceError()],
      [WORKING, serviceError(false)],
    ] as const) {
      const { call, gateway } = await streamed()
      await call.answer(update)
      await call.fail(error)
      expect(gateway.tasks.peekTask('task-1')?.state).toBe('failed')
    }
  })

  test('that breaks at a service that keeps no tasks says what broke it', async () => {
    const { call, provider, clock, gateway, reported } = await streamed()
    await answerChunk(call)
    await call.fail(serviceError())
    await pass(clock, 1_000)
    const data = { operation: 'getTask' }
    await (await provider.last('getTask')).fail(new A2AError('UNSUPPORTED_OPERATION', 'no', data))
    expect(gateway.tasks.peekTask('task-1')?.message).toMatchObject({ metadata: { code: 'PROVIDER_ERROR' } })
    expect(reported.map(({ context }) => context.during)).toEqual(['streamTask', 'work'])
  })

  test('is left at a question, and what comes later is not read', async () => {
    const { call, gateway } = await streamed()
    await call.answer({ state: 'auth-required', message: 'Log in', ref: { r: 1 } })
    expect(call.isLeft()).toBe(true)
    await call.answer({ state: 'completed' })
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('auth-required')
  })

  test('of an answer is read, too', async () => {
    const { call, provider, gateway } = await streamed()
    await call.answer({ state: 'input-required', message: '?', ref: { r: 1 } })
    gateway.streamTask('a', { parts: [{ text: 'y' }], taskId: 'task-1' })
    const answer = await provider.last('streamTask')
    expect(answer.task.ref).toEqual({ r: 1 })
    await answer.answer({ chunk: { artifactId: 'o', parts: [{ text: 'ok' }] } })
    await answer.answer({ state: 'completed' })
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('completed')
  })

  test('that is answered by a listener is not read on', async () => {
    const { call, provider, gateway } = await streamed()
    gateway.tasks.on('task:stateChange', ({ taskId, to }) => {
      if (to === 'input-required') void gateway.sendTask('a', { parts: [{ text: 'y' }], taskId })
    })
    await call.answer({ state: 'input-required', message: '?', ref: { r: 1 } })
    expect(call.isLeft()).toBe(true)
    await call.answer({ state: 'completed' })
    expect(gateway.tasks.peekTask('task-1')?.state).toBe('working')
    await (await provider.last('sendTask')).answer({ state: 'completed', output: 7 })
    expect(gateway.tasks.peekTask('task-1')).toMatchObject({ state: 'completed', output: 7 })
    expect([provider.of('cancelTask'), gateway.loadOf('a')]).toEqual([[], 0])
  })
})

describe('the circuit breaker', () => {
  const config = { circuitBreaker: { failures: 2, resetMs: 1_000 }, taskTimeoutMs: 500, cancelTimeoutMs: 50 }
  const busy = { code: 'AGENT_BUSY', data: { reason: 'its service keeps failing', retryAfterMs: 1_000 } }

  async function attempt(
    all: ReturnType<typeof setUp>,
    outcome: (call: Call) => Promise<void>,
  ): Promise<void> {
    const { id } = await all.gateway.sendTask('a', 'x', { returnImmediately: true })
    await outcome(await all.provider.last('streamTask'))
    if (all.gateway.tasks.can(id, 'canceled')) all.gateway.tasks.cancelTask(id)
    await pass(all.clock, 50)
  }

  test('opens after failures in a row, and closes by a success', async () => {
    const all = setUp({ config })
    await attempt(all, (call) => call.fail(serviceError()))
    await attempt(all, (call) => call.answer({ state: 'failed', failure: { code: 'x', retryable: false } }))
    await attempt(all, (call) => call.fail(serviceError()))
    await attempt(all, (call) => call.fail(serviceError(false)))
    all.clock.advance(500)
    const last = all.gateway.sendTask('a', 'x')
    await (await all.provider.last('sendTask')).fail(serviceError())
    await last
    await expect(all.gateway.sendTask('a', 'x')).rejects.toMatchObject(busy)
    await pass(all.clock, 1_000)
    await attempt(all, (call) => call.answer({ state: 'completed' }))
    await attempt(all, (call) => call.fail(serviceError()))
    await attempt(all, (call) => call.answer({ state: 'completed' }))
  })

  test('learns nothing from tasks that are canceled', async () => {
    const all = setUp({ config })
    await attempt(all, (call) => call.fail(serviceError()))
    await attempt(all, () => Promise.resolve())
    await attempt(all, (call) => call.answer(WORKING))
    const last = all.gateway.sendTask('a', 'x')
    await (await all.provider.last('sendTask')).fail(serviceError())
    await last
    await expect(all.gateway.sendTask('a', 'x')).rejects.toMatchObject(busy)
  })

  test('takes a service that says nothing for one that fails', async () => {
    const all = setUp({ config })
    for (let count = 0; count < 2; count += 1) {
      void all.gateway.sendTask('a', 'x')
      await pass(all.clock, 500)
      await pass(all.clock, 50)
    }
    await expect(all.gateway.sendTask('a', 'x')).rejects.toMatchObject({ code: 'AGENT_BUSY' })
  })
})
