import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { A2AError } from 'a2a-tasks'
import { SERVICE_FAILED } from '../../../src/gateway/turns/turn.js'
import { custom, type CustomRun } from '../../../src/gateway/providers/custom.js'
import { agentAt, asked, calling, collect, fault, textsOf } from './a2a/support/a2a.js'
import { setUp } from '../support/gateway.js'
import { gatewayOf } from '../support/request-handler.js'

const agent = agentAt('https://agent.test', { provider: 'poets' })

describe('an agent that is a function', () => {
  it('answers with a text, soon or later', async () => {
    const echo = custom(({ text }) => `You said ${text}`)
    expect(textsOf(await echo.sendTask(agent, asked('Hi'), calling()))).toEqual(['You said Hi'])
    const slow = custom(({ text }) => Promise.resolve(`You said ${text}`))
    expect(await slow.sendTask(agent, asked('Hi'), calling())).toMatchObject({ state: 'completed' })
  })

  it('streams texts into one result', async () => {
    const poet = custom(async function* ({ text }) {
      yield await Promise.resolve(`Ode to ${text}: `)
      yield 'O!'
    })
    const updates = await collect(poet.streamTask(agent, asked('rain'), calling()))
    expect(updates).toEqual([
      { state: 'working' },
      { chunk: { artifactId: 'answer-our-message', parts: [{ text: 'Ode to rain: ' }] } },
      { chunk: { artifactId: 'answer-our-message', parts: [{ text: 'O!' }] } },
      { state: 'completed' },
    ])
    expect(await poet.sendTask(agent, asked('rain'), calling())).toEqual({
      state: 'completed',
      artifacts: [{ artifactId: 'answer-our-message', parts: [{ text: 'Ode to rain: O!' }] }],
    })
  })

  it('receives the task, the agent and a signal, and ends with its result', async () => {
    const provider = custom((task, { agent: { id }, signal }) => `${id} ${task.id} ${signal.aborted}`)
    expect(textsOf(await provider.sendTask(agent, asked('Hi'), calling()))).toEqual([
      'agent-1 our-task false',
    ])
  })

  it('works as soon as it has begun, whatever it says first', async () => {
    const silent = custom(() => new Promise(() => undefined))
    const stream = silent.streamTask(agent, asked('Hi'), calling())[Symbol.asyncIterator]()
    expect(await stream.next()).toEqual({ done: false, value: { state: 'working' } })
  })

  it.each<[unknown, string]>([
    [42, 'a number'],
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'a boolean'],
  ])('must say something of the task, not %j', async (nonsense, shown) => {
    // As functions in JavaScript may have it.
    const said = nonsense as string
    const reason = `it must return or yield a text or an update, got ${shown}`
    const [once, streaming] = [
      custom(() => said),
      custom(async function* () {
        yield await Promise.resolve(said)
      }),
    ]
    for (const strange of [once, streaming]) {
      const error = await fault(strange.sendTask(agent, asked('Hi'), calling()))
      expect(error).toMatchObject({
        ...{ code: 'PROVIDER_ERROR', data: { provider: 'poets', agentId: 'agent-1', reason } },
      })
    }
  })

  it('may say nothing', async () => {
    expect(await custom(() => '').sendTask(agent, asked('Hi'), calling())).toEqual({ state: 'completed' })
  })

  it('asks, and is not continued', async () => {
    let after = 0
    let isLeft = false
    const asker = custom(async function* () {
      try {
        yield await Promise.resolve('Let me see. ')
        yield { state: 'input-required', message: 'Which city?', ref: { step: 1 } }
        after += 1
        yield 'never'
      } finally {
        isLeft = true
      }
    })
    const updates = await collect(asker.streamTask(agent, asked('Weather?'), calling()))
    expect(updates.at(-1)).toEqual({ state: 'input-required', message: 'Which city?', ref: { step: 1 } })
    expect([after, isLeft]).toEqual([0, true])
  })

  it('begins another result with every message', async () => {
    const echo = custom(({ text }) => text)
    const later = { ...asked('Rome').message, messageId: 'second' }
    const [, first] = await collect(echo.streamTask(agent, asked('Hi'), calling()))
    const [, second] = await collect(echo.streamTask(agent, asked('Rome', { message: later }), calling()))
    const ids = [first?.chunk?.artifactId, second?.chunk?.artifactId]
    expect(ids).toEqual(['answer-our-message', 'answer-second'])
  })

  it('reports states, progress, artifacts, chunks and failures', async () => {
    const worker = custom(async function* () {
      yield await Promise.resolve({ state: 'working', message: 'Reading', progress: 0.5 })
      yield { artifacts: [{ artifactId: 'a', parts: [{ text: '1' }] }] }
      yield {
        artifacts: [
          { artifactId: 'a', parts: [{ text: '2' }] },
          { artifactId: 'b', parts: [{ data: 1 }] },
        ],
      }
      yield { chunk: { artifactId: 'b', parts: [{ data: 2 }] } }
      yield { state: 'failed', message: 'No paper', failure: { code: 'paper', retryable: true } }
    })
    expect(await worker.sendTask(agent, asked('Hi'), calling())).toEqual({
      ...{ state: 'failed', message: 'No paper', progress: 0.5, failure: { code: 'paper', retryable: true } },
      artifacts: [
        { artifactId: 'a', parts: [{ text: '2' }] },
        { artifactId: 'b', parts: [{ data: 1 }, { data: 2 }] },
      ],
    })
  })

  it('fails with what it throws, which only the gateway receives', async () => {
    const cause = new Error('no such table')
    const broken = custom(async function* () {
      yield await Promise.resolve('Wait')
      throw cause
    })
    const error = await fault(broken.sendTask(agent, asked('Hi'), calling()))
    expect(error).toMatchObject({
      ...{ code: 'PROVIDER_ERROR', cause },
      data: {
        provider: 'poets',
        agentId: 'agent-1',
        reason: 'its function failed: no such table',
        retryable: false,
      },
    })
    expect(error.message).not.toContain('table')
    const gone = custom(() => {
      throw new A2AError('TASK_NOT_FOUND', 'Gone', { taskId: 'x' })
    })
    expect((await fault(gone.sendTask(agent, asked('Hi'), calling()))).code).toBe('TASK_NOT_FOUND')
  })
})

describe('a task whose caller has aborted', () => {
  const deaf: [string, CustomRun][] = [
    ['a function', () => new Promise(() => undefined)],
    [
      'a stream',
      async function* () {
        yield 'One'
        await new Promise(() => undefined)
      },
    ],
  ]
  it.each(deaf)('rejects at once, also for %s that ignores the signal', async (_name, run) => {
    const controller = new AbortController()
    const sent = custom(run).sendTask(agent, asked('Hi'), { signal: controller.signal })
    controller.abort(new Error('Canceled'))
    await expect(sent).rejects.toThrow('Canceled')
  })

  it('ends the work that listens to the signal', async () => {
    const controller = new AbortController()
    let cleaned = false
    const tidy = custom(async function* (_task, { signal }) {
      try {
        yield 'One'
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      } finally {
        cleaned = true
      }
    })
    const stream = tidy.streamTask(agent, asked('Hi'), { signal: controller.signal })[Symbol.asyncIterator]()
    // It is worked on, and says one thing.
    expect([(await stream.next()).done, (await stream.next()).done]).toEqual([false, false])
    const next = stream.next()
    controller.abort(new Error('Canceled'))
    await expect(next).rejects.toThrow('Canceled')
    expect(cleaned).toBe(true)
  })

  it('is not begun when it was aborted before', async () => {
    let runs = 0
    const counted = custom(() => String((runs += 1)))
    const signal = AbortSignal.abort(new Error('Canceled'))
    await expect(counted.sendTask(agent, asked('Hi'), { signal })).rejects.toThrow('Canceled')
    expect(runs).toBe(0)
  })
})

describe('work that continues elsewhere', () => {
  const queue = custom({
    run: ({ text }) => ({ ref: { job: text } }),
    getTask: ({ job }) => ({ state: 'completed', output: job }),
    cancelTask: ({ job }) =>
      Promise.resolve({ state: 'canceled', message: `Job ${JSON.stringify(job)} is off` }),
    healthCheck: () => 'degraded',
  })

  it('is not over when the function is', async () => {
    expect(await queue.sendTask(agent, asked('7'), calling())).toEqual({
      state: 'working',
      ref: { job: '7' },
    })
    expect(await queue.getTask(agent, { job: '7' }, calling())).toEqual({ state: 'completed', output: '7' })
  })

  it('is stopped, and its health checked, by functions of the agent', async () => {
    expect(await queue.cancelTask(agent, { job: '7' }, calling())).toMatchObject({
      message: 'Job "7" is off',
    })
    expect(await queue.healthCheck(agent, calling())).toBe('degraded')
    const sick = custom({ run: () => '', healthCheck: () => Promise.reject(new Error('no')) })
    expect(await sick.healthCheck(agent, calling())).toBe('offline')
  })

  it('needs handlers: a function alone is online, and cannot be polled or canceled', async () => {
    const plain = custom(() => '')
    expect(await plain.healthCheck(agent, calling())).toBe('online')
    expect((await fault(plain.getTask(agent, {}, calling()))).code).toBe('UNSUPPORTED_OPERATION')
    expect((await fault(plain.cancelTask(agent, {}, calling()))).code).toBe('UNSUPPORTED_OPERATION')
    // The reference is kept for the next message. Without `getTask` it cannot be polled.
    const noted = custom(() => ({ ref: { step: 1 } }))
    expect(await noted.sendTask(agent, asked('Hi'), calling())).toEqual({
      ref: { step: 1 },
      state: 'completed',
    })
  })
})

it.each<[unknown, string]>([
  [42, 'it must return or yield a text or an update, got a number'],
  [undefined, 'it must return or yield a text or an update, got undefined'],
  [{ answer: 42 }, expect.stringContaining('its update has "answer"; known are ref, state, ') as string],
  [{ state: 'done' }, 'it says a state that is not known'],
])('an invalid result fails the task, and only onError receives the reason: %j', async (said, reason) => {
  // As functions in JavaScript may have it.
  const { gateway, errors } = gatewayOf({ strange: () => said as string })
  for (const returnImmediately of [false, true]) {
    const { id } = await gateway.sendTask('strange', 'x', { returnImmediately })
    expect(await gateway.tasks.waitFor(id)).toMatchObject({
      state: 'failed',
      message: {
        parts: [{ text: SERVICE_FAILED }],
        metadata: { code: 'PROVIDER_ERROR', retryable: false },
      },
    })
  }
  const expected = { code: 'PROVIDER_ERROR', data: { agentId: 'strange', reason, retryable: false } }
  expect(errors).toMatchObject([expected, expected])
})

it('invalid handlers are refused', () => {
  // @ts-expect-error -- nothing to run
  expect(() => custom({})).toThrow('"run" of custom() must be a function')
  // @ts-expect-error -- no function
  expect(() => custom({ run: () => '', getTask: 1 })).toThrow('"getTask"')
  // @ts-expect-error -- a misspelt handler
  expect(() => custom({ run: () => '', cancel: () => ({}) })).toThrow('Unknown handler "cancel"')
})

it('a provider that yields without a pause lets others have their turn', async () => {
  let yielded = 0
  const endless = custom(async function* (_task, { signal }) {
    for (; !signal.aborted; yielded += 1) yield await Promise.resolve('x')
  })
  const { gateway } = setUp({ providers: { custom: endless } })
  const { id } = await gateway.sendTask('a', 'go', { returnImmediately: true })
  await turn()
  expect((await gateway.cancelTask(id)).state).toBe('canceled')
  expect(yielded).toBeGreaterThan(0)
})
