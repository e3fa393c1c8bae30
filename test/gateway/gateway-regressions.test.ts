/** Regressions of the gateway. */
import { setImmediate as turn } from 'node:timers/promises'
import { A2AError } from 'a2a-tasks'
import { createRequestHandler } from 'a2a-tasks/server'
import { describe, expect, it, test } from 'vitest'
import { CircuitBreaker } from '../../src/gateway/admission/circuit-breaker.js'
import { custom } from '../../src/gateway/providers/custom.js'
import { gatewayRequestHandler } from '../../src/gateway/request-handler.js'
import { pass, setUp } from './support/gateway.js'
import { ManualClock } from 'a2a-tasks/testing'

const SECRET = 'a secret that every process of the test has'

/** The gateway as an agent, asked without HTTP. */
function served(made: ReturnType<typeof setUp>) {
  const handler = createRequestHandler({
    card: { name: 'gateway', url: 'http://gateway.example' },
    tasks: made.tasks,
    clock: made.clock,
    execute: gatewayRequestHandler(made.gateway),
  })
  const send = async (text: string, more: object = {}): Promise<Record<string, unknown>> => {
    const message = {
      role: 'ROLE_USER',
      messageId: text,
      parts: [{ text }],
      metadata: { agentId: 'a' },
      ...more,
    }
    const params = { message, configuration: { returnImmediately: true } }
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }
    return (await handler.dispatch(body)) as Record<string, unknown>
  }
  return { handler, send }
}

function latest({ tasks }: ReturnType<typeof setUp>) {
  const task = tasks.snapshot().at(-1)
  if (task === undefined) throw new Error('There is no task')
  return task
}

describe('a gateway that closes while clients wait', () => {
  it('completes no task that continues at its service, and cancels none there', async () => {
    const made = setUp({ handleSecret: SECRET })
    const { send, handler } = served(made)
    const sent = send('work')
    const call = await made.provider.untilCalled('streamTask')
    await call.answer({ ref: { run: 1 }, state: 'working' })
    await pass(made.clock, 1)
    await sent
    const closing = made.gateway.close({ graceMs: 100 })
    await pass(made.clock, 100)
    await closing
    expect(latest(made).state).toBe('working')
    expect(await made.gateway.handleOf(latest(made).id)).toMatch(/^a2ah1\./)
    const ending = handler.close({ graceMs: 10 })
    await pass(made.clock, 10)
    await ending
    expect(latest(made).state).toBe('failed')
    expect(made.provider.of('cancelTask')).toEqual([])
  })
})

describe('an agent that a client may not have', () => {
  it('is refused by chooseAgent, before there is a task', async () => {
    const made = setUp()
    const handler = createRequestHandler({
      card: { name: 'gateway', url: 'http://gateway.example' },
      tasks: made.tasks,
      execute: gatewayRequestHandler(made.gateway, {
        chooseAgent() {
          throw new A2AError('PERMISSION_DENIED', 'This agent is not for you', {})
        },
      }),
    })
    const message = { role: 'ROLE_USER', messageId: 'm', parts: [{ text: 'hi' }] }
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
    expect(await handler.dispatch(body)).toMatchObject({
      error: { message: 'This agent is not for you', data: [{ reason: 'PERMISSION_DENIED' }] },
    })
    expect(made.tasks.size()).toBe(0)
  })
})

describe('an id that another task has by now', () => {
  it('does not get the service location of a removed task', async () => {
    const made = setUp({ manager: { maxTasks: 1, whenFull: 'evict-terminal' } })
    const { gateway, tasks, provider, clock } = made
    const first = gateway.sendTask('a', 'of alice', { id: 'x', owner: 'alice' })
    const late = await provider.untilCalled('sendTask')
    tasks.cancelTask('x')
    await first
    tasks.createTask({ skill: 'other', id: 'y' })
    tasks.cancelTask('y')
    const second = gateway.sendTask('a', 'of bob', { id: 'x', owner: 'bob' })
    const own = await provider.untilCalled('sendTask')
    await own.answer({ state: 'input-required', message: 'Which?' })
    await second
    await late.answer({ state: 'working', ref: { thread: 'of alice' } })
    await pass(clock, 20_000)
    void gateway.sendTask('a', { parts: [{ text: 'this' }], taskId: 'x' }, { owner: 'bob' })
    const answer = await provider.untilCalled('sendTask')
    expect(answer.task.ref).toBeUndefined()
  })

  it('is not shown to another owner by a look that was under way', async () => {
    const made = setUp({ manager: { maxTasks: 1, whenFull: 'evict-terminal' } })
    const { gateway, tasks, provider } = made
    const asked = gateway.sendTask('a', 'of alice', { id: 'x', owner: 'alice' })
    const question = { ref: { thread: 'of alice' }, state: 'input-required', message: 'Which?' }
    await (await provider.untilCalled('sendTask')).answer(question)
    await asked
    const refused = expect(gateway.getTask('x', { owner: 'alice' })).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    const look = await provider.untilCalled('getTask')
    const { generation = 0 } = tasks.peekTask('x') ?? {}
    tasks.cancelTask('x')
    tasks.createTask({ skill: 'other', id: 'y' })
    tasks.cancelTask('y')
    tasks.createTask({ skill: 'a', id: 'x', owner: 'bob' })
    // As many changes as the other had.
    for (let n = 1; n < generation; n += 1) tasks.patchTask('x', { message: String(n) })
    await look.answer({ state: 'completed', artifacts: [{ artifactId: 'r', parts: [{ text: 'of alice' }] }] })
    await refused
    expect(tasks.getTask('x')).toMatchObject({ owner: 'bob', state: 'submitted', artifacts: [] })
  })

  it('is not filled by a handle that was being opened', async () => {
    const before = setUp({ handleSecret: SECRET })
    void before.gateway.sendTask('a', 'of alice', { id: 'x', owner: 'alice' })
    await (await before.provider.untilCalled('sendTask')).answer({ ref: { run: 1 }, state: 'working' })
    const handle = await before.gateway.handleOf('x')
    const { gateway, tasks, provider } = setUp({
      handleSecret: SECRET,
      manager: { maxTasks: 1, whenFull: 'evict-terminal' },
    })
    tasks.restore(before.tasks.snapshot())
    const refused = expect(gateway.resume(handle ?? '')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    const look = await provider.untilCalled('getTask')
    tasks.cancelTask('x')
    tasks.createTask({ skill: 'other', id: 'y' })
    tasks.cancelTask('y')
    tasks.createTask({ skill: 'a', id: 'x', owner: 'bob' })
    await look.answer({ state: 'completed', artifacts: [{ artifactId: 'r', parts: [{ text: 'of alice' }] }] })
    await refused
    expect(tasks.getTask('x')).toMatchObject({ owner: 'bob', state: 'submitted', artifacts: [] })
  })
})

describe('a message to a task that works on a message of another caller', () => {
  it('waits its turn, and neither stops that work nor fails the task', async () => {
    const made = setUp({ agent: { maxConcurrentTasks: 1 } })
    const { gateway, provider, tasks, clock } = made
    const { send } = served(made)
    const { id } = await gateway.sendTask('a', 'first', { returnImmediately: true })
    const first = await provider.untilCalled('streamTask')
    await first.answer({ ref: { run: 1 }, state: 'working' })
    await send('second', { taskId: id })
    await pass(clock, 1)
    expect(provider.of('streamTask')).toHaveLength(1)
    await first.answer({ state: 'input-required', message: 'Which?' })
    const second = await provider.untilCalled('streamTask')
    expect([second.task.text, second.task.ref]).toEqual(['second', { run: 1 }])
    await second.answer({ state: 'completed' })
    await turn()
    expect(tasks.peekTask(id)?.state).toBe('completed')
  })
})

test('a message that the manager refuses leaves no task without an end', async () => {
  const { gateway, tasks } = setUp()
  for (const parts of [[{}], [], [{ text: 'x', raw: 'eA==' }]]) {
    await expect(gateway.sendTask('a', { parts } as never)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  }
  expect(tasks.snapshot().map(({ state }) => state)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(gateway.loadOf('a')).toBe(0)
})

test('a provider that yields without a pause lets others have their turn', async () => {
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

test('chunks of a stream make no snapshots of the task', async () => {
  const { gateway, provider, tasks } = setUp()
  void gateway.sendTask('a', 'go', { returnImmediately: true, id: 'x' })
  const call = await provider.untilCalled('streamTask')
  await call.answer({ state: 'working' })
  const peekTask = tasks.peekTask.bind(tasks)
  let looks = 0
  tasks.peekTask = (...args) => {
    looks += 1
    return peekTask(...args)
  }
  for (let n = 0; n < 50; n += 1) await call.answer({ chunk: { artifactId: 'r', parts: [{ text: 'x' }] } })
  expect([looks, peekTask('x')?.artifacts[0]?.parts?.length]).toEqual([0, 50])
})

test('artifacts that are sent again are compared once each', async () => {
  const { gateway, provider, tasks } = setUp()
  const artifacts = Array.from({ length: 900 }, (_, n) => ({ artifactId: `r${n}`, parts: [{ text: 'x' }] }))
  void gateway.sendTask('a', 'go', { returnImmediately: true, id: 'x' })
  const call = await provider.untilCalled('streamTask')
  await call.answer({ state: 'working', artifacts })
  const { generation } = tasks.peekTask('x') ?? {}
  let compared = 0
  const counted = artifacts.map((artifact) => ({
    ...artifact,
    toJSON: () => {
      compared += 1
      return artifact
    },
  }))
  await call.answer({ state: 'working', artifacts: counted })
  expect([compared, tasks.peekTask('x')?.generation]).toEqual([900, generation])
})

test('a slow trial of a failing service blocks no other task once it has ended', () => {
  const clock = new ManualClock()
  const breaker = new CircuitBreaker({ failures: 3, resetMs: 1_000 }, clock)
  for (let n = 0; n < 3; n += 1) breaker.failed()
  clock.advance(1_000)
  breaker.enter()
  expect(breaker.waitMs).toBe(1_000)
  breaker.answered()
  expect(breaker.waitMs).toBe(0)
  breaker.failed()
  expect(breaker.waitMs).toBe(1_000)
})
