import { TaskManager } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import type { PushHealth, PushOptions, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { gate } from '../interop/support/agent.js'
import { endOf, pushAgent, receiver, summariesOf, until, type PushAgent } from './support/push.js'

type Plain = PushAgent<{ id: string }>

/** The health of the only configuration there is. */
async function healthOf({ handler }: Plain): Promise<PushHealth> {
  const [health] = await handler.push.health()
  if (health === undefined) throw new Error('There is no configuration')
  return health
}

function stateIs(agent: Plain, state: string): Promise<void> {
  return until(async () => (await healthOf(agent)).state === state)
}

describe('a delivery', () => {
  test('85. keeps the order when the receiver fails and comes back', async () => {
    const hook = await receiver(204, 500, 500)
    const agent: Plain = pushAgent()
    const { clock, create, task, tasks } = agent
    const id = task()
    await create(id, { url: hook.url })
    await stateIs(agent, 'idle')
    tasks.updateTask(id, { state: 'working' })
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'one' }] })
    tasks.updateTask(id, { state: 'completed' })
    await stateIs(agent, 'retrying')
    expect(await healthOf(agent)).toMatchObject({
      ...{ delivered: 1, attempts: 1, failure: { reason: 'HTTP 500', status: 500 } },
      nextAttemptAt: new Date(clock.now() + 1_000).toISOString(),
    })
    clock.advance(999)
    expect((await healthOf(agent)).state).toBe('retrying')
    clock.advance(1)
    await until(
      async () => (await healthOf(agent)).attempts === 2 && (await healthOf(agent)).state === 'retrying',
    )
    clock.advance(1_999)
    expect(hook.received).toHaveLength(3)
    clock.advance(1)
    await stateIs(agent, 'done')
    expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'working', 'artifact one', 'completed'])
    expect(summariesOf(hook.received)).toEqual([
      ...['task submitted', 'working', 'working', 'working', 'artifact one', 'completed'],
    ])
    const [first, second] = hook.received.slice(1).map(({ headers }) => headers['x-a2a-notification-id'])
    expect(first).toBe(second)
    expect(await healthOf(agent)).toEqual({
      ...{ taskId: id, id: (await healthOf(agent)).id, origin: `http://127.0.0.1:${hook.port}` },
      ...{ state: 'done', delivered: 4, attempts: 0 },
      recent: (await healthOf(agent)).recent,
    })
  })

  test('88. to a receiver that hangs is broken off in time, and tried again', async () => {
    const hook = await receiver(() => undefined)
    const agent: Plain = pushAgent({ push: { timeoutMs: 3_000 } })
    await agent.create(agent.task(), { url: hook.url })
    await hook.arrived(1)
    agent.clock.advance(3_000)
    await stateIs(agent, 'retrying')
    expect((await healthOf(agent)).failure).toEqual({ reason: 'no answer within 3000 ms' })
    agent.clock.advance(1_000)
    await stateIs(agent, 'idle')
    expect(hook.accepted).toHaveLength(1)
  })

  test('has arrived when its status has, whatever comes after', async () => {
    const endless = gate()
    const hook = await receiver((response) => {
      response.writeHead(200)
      const more = setInterval(() => response.write('x'.repeat(1_000)), 1)
      response.on('close', () => {
        clearInterval(more)
        endless.open()
      })
    })
    const agent: Plain = pushAgent()
    await agent.create(agent.task(), { url: hook.url })
    await stateIs(agent, 'idle')
    await endless.opened
    expect((await healthOf(agent)).delivered).toBe(1)
  })

  test('does not wait for the rest of an answer', async () => {
    const read = gate()
    const body = new ReadableStream({ pull: () => read.open() }, { highWaterMark: 0 })
    const agent: Plain = pushAgent({ push: { fetch: () => Promise.resolve(new Response(body)) } })
    await agent.create(agent.task(), { url: 'http://127.0.0.1:9999/' })
    await read.opened
    agent.clock.advance(1_000)
    await stateIs(agent, 'idle')
  })

  test.each<[string, (now: number) => string, number]>([
    ['seconds', () => '7', 7_000],
    ['a date', (now) => new Date(now + 9_000).toUTCString(), 9_000],
    ['more than a pause may be', () => '86400', 60_000],
    ['an invalid value', () => 'soon', 1_000],
  ])('waits as long as the receiver asks for: %s', async (_, retryAfter, pauseMs) => {
    const hook = await receiver()
    const agent: Plain = pushAgent()
    const { clock } = agent
    hook.replies.push((response) => {
      response.writeHead(503, { 'retry-after': retryAfter(clock.now()) }).end()
    })
    await agent.create(agent.task(), { url: hook.url })
    await stateIs(agent, 'retrying')
    expect((await healthOf(agent)).nextAttemptAt).toBe(new Date(clock.now() + pauseMs).toISOString())
    clock.advance(pauseMs - 1)
    expect((await healthOf(agent)).state).toBe('retrying')
    clock.advance(1)
    await stateIs(agent, 'idle')
  })

  test('that is behind the log continues with the task as it is', async () => {
    const hook = await receiver(503)
    const tasks = new TaskManager({ eventLogSize: 2 })
    const agent: Plain = pushAgent({ tasks })
    const { id } = tasks.createTask({ skill: 'test' })
    await agent.create(id, { url: hook.url })
    await stateIs(agent, 'retrying')
    tasks.updateTask(id, { state: 'working' })
    for (const text of ['1', '2', '3', '4', '5', '6']) {
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text }] })
    }
    agent.clock.advance(1_000)
    await stateIs(agent, 'idle')
    const [, opening, resync] = hook.received
    expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'task working'])
    expect(opening?.body.task?.artifacts).toBe(undefined)
    expect(resync?.body.task?.artifacts?.[0]?.parts).toEqual([{ text: '123456' }])
  })

  test('delays neither the task nor its streams', async () => {
    const held = gate()
    const hook = await receiver((response) => {
      void held.opened.then(() => response.writeHead(204).end())
    })
    const agent: Plain = pushAgent({
      async execute(run: Run) {
        run.artifact('one')
        await Promise.resolve()
        return 'two'
      },
    })
    const params = {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go' }] },
      configuration: { taskPushNotificationConfig: { url: hook.url } },
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params }
    const answer = await agent.handler.dispatch(body)
    if (!(Symbol.asyncIterator in answer)) throw new Error('There is no stream')
    const states: unknown[] = []
    for await (const { result } of answer)
      states.push((result as wire.StreamResponse).statusUpdate?.status.state)
    expect(states.at(-1)).toBe('TASK_STATE_COMPLETED')
    expect(hook.accepted).toEqual([])
    held.open()
    await stateIs(agent, 'done')
    expect(summariesOf(hook.received).at(-1)).toMatch(/completed$/)
  })

  test('to receivers that hang does not hold up the others', async () => {
    const [slow, quick] = [await receiver(), await receiver()]
    for (let count = 0; count < 10; count += 1) slow.replies.push(() => undefined)
    const agent: Plain = pushAgent({ push: { maxConcurrent: 2 } })
    const { create, clock, task, handler } = agent
    for (let count = 0; count < 6; count += 1) await create(task(), { url: slow.url })
    await slow.arrived(2)
    for (let count = 0; count < 3; count += 1) await create(task(), { url: quick.url })
    clock.advance(10_000)
    await quick.arrived(3)
    // One place has gone back to those that hang, in the meantime.
    expect(slow.received.length).toBeLessThanOrEqual(4)
    await until(
      async () => (await handler.push.health()).filter(({ state }) => state === 'idle').length === 3,
    )
  })
})

describe('a webhook that does not work', () => {
  test('is disabled in the end, and continues where it was when it is enabled', async () => {
    const hook = await receiver(204, 500, 500, 500)
    const agent: Plain = pushAgent({ push: { maxAttempts: 3, retryMinMs: 10, retryMaxMs: 15 } })
    const { clock, create, errors, handler, task, tasks } = agent
    const id = task()
    const config = await create(id, { url: `${hook.url}?key=1` })
    await stateIs(agent, 'idle')
    tasks.updateTask(id, { state: 'working' })
    tasks.updateTask(id, { state: 'completed' })
    for (const pauseMs of [10, 15]) {
      await stateIs(agent, 'retrying')
      clock.advance(pauseMs)
      await until(async () => (await healthOf(agent)).nextAttemptAt === undefined)
    }
    await stateIs(agent, 'disabled')
    expect(await healthOf(agent)).toMatchObject({ attempts: 3, delivered: 1, failure: { status: 500 } })
    const origin = `http://127.0.0.1:${hook.port}`
    expect(errors.map(({ error, context }) => [String(error), context])).toEqual([
      [
        `ExternalServiceError: A webhook at ${origin} is disabled: HTTP 500`,
        { during: 'push', taskId: id, configId: config.id },
      ],
    ])
    expect(await handler.push.deadLetters()).toMatchObject([
      {
        ...{ taskId: id, id: config.id, origin, attempts: 3, failure: { reason: 'HTTP 500' } },
        notificationId: `${id}/${config.id}/2`,
        notification: { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } },
      },
    ])
    clock.advance(86_400_000)
    expect(hook.received).toHaveLength(4)
    expect(await handler.push.redeliver(id, 'another')).toBe(false)
    expect(await handler.push.redeliver(id, config.id)).toBe(true)
    await stateIs(agent, 'done')
    expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'working', 'completed'])
    expect(await handler.push.redeliver(id, config.id)).toBe(false)
    expect(await handler.push.deadLetters()).toEqual([])
  })

  test('is disabled at once when it says that it is gone', async () => {
    const hook = await receiver(410)
    const agent: Plain = pushAgent()
    await agent.create(agent.task(), { url: hook.url })
    await stateIs(agent, 'disabled')
    expect(agent.errors).toHaveLength(1)
    expect(hook.received).toHaveLength(1)
  })

  test('is one whose port is closed', async () => {
    const hook = await receiver()
    const agent: Plain = pushAgent()
    await agent.create(agent.task(), { url: 'http://127.0.0.1:1027/' })
    await stateIs(agent, 'retrying')
    expect((await healthOf(agent)).failure?.reason).toMatch(/^it cannot be reached/)
    expect(hook.received).toEqual([])
  })
})

describe('after a configuration was deleted', () => {
  const remove = ({ call }: Plain, taskId: string, id: string): Promise<null> =>
    call('DeleteTaskPushNotificationConfig', { taskId, id })

  test('82. what is on its way is broken off, and nothing follows', async () => {
    const broken = gate()
    const hook = await receiver((response) => response.on('close', () => broken.open()))
    const agent: Plain = pushAgent()
    const { create, task, tasks, clock } = agent
    const id = task()
    const config = await create(id, { url: hook.url })
    await hook.arrived(1)
    await remove(agent, id, config.id)
    await broken.opened
    tasks.updateTask(id, { state: 'working' })
    // A webhook registered later is notified all the same.
    await create(id, { url: hook.url })
    await hook.arrived(2)
    clock.advance(60_000)
    expect(summariesOf(hook.received)).toEqual(['task submitted', 'task working'])
    expect(agent.errors).toEqual([])
  })

  test.each(['retrying', 'disabled', 'idle'])('nothing is left of one that is %s', async (state) => {
    const status = { retrying: 503, disabled: 410, idle: 204 }[state] ?? 0
    const hook = await receiver(status)
    const agent: Plain = pushAgent()
    const { handler, create, task, tasks, clock } = agent
    const id = task()
    const config = await create(id, { url: hook.url })
    await stateIs(agent, state)
    await remove(agent, id, config.id)
    expect(await handler.push.health()).toEqual([])
    expect(await handler.push.redeliver(id, config.id)).toBe(false)
    tasks.updateTask(id, { state: 'working' })
    await until(() => clock.pending === 0)
    expect(hook.received).toHaveLength(1)
  })

  test('a request that waits for its turn is not sent', async () => {
    const hook = await receiver(() => undefined)
    const agent: Plain = pushAgent({ push: { maxConcurrent: 1 } })
    const { create, task, clock } = agent
    const id = task()
    const [one, two] = [await create(id, { url: hook.url }), await create(id, { url: hook.url })]
    await hook.arrived(1)
    await remove(agent, id, two.id)
    await remove(agent, id, one.id)
    await until(() => clock.pending === 0)
    const three = await create(id, { url: hook.url })
    await hook.arrived(2)
    expect(hook.received.map(({ headers }) => headers['x-a2a-notification-id'])).toEqual([
      ...[`${id}/${one.id}/1`, `${id}/${three.id}/1`],
    ])
  })
})

describe('an agent that closes', () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go' }] }

  test('delivers all events to its webhooks, including those of closing', async () => {
    const hook = await receiver(503)
    const agent: Plain = pushAgent({ execute: (run: Run) => new Promise(() => run.start()) })
    const { call, clock, handler, errors } = agent
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: hook.url } }
    await call('SendMessage', { message, configuration })
    await stateIs(agent, 'retrying')
    await endOf(handler.close({ graceMs: 2_000 }), clock)
    expect(summariesOf(hook.accepted)).toEqual(['task working', 'failed'])
    expect(errors).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('delivers the ends of tasks that are removed already', async () => {
    const hook = await receiver(503)
    const tasks = new TaskManager({ maxTasks: 1, whenFull: 'evict-terminal' })
    const agent: Plain = pushAgent({ tasks })
    const { id } = tasks.createTask({ skill: 'test' })
    await agent.create(id, { url: hook.url })
    await stateIs(agent, 'retrying')
    tasks.updateTask(id, { state: 'working' })
    tasks.updateTask(id, { state: 'completed' })
    tasks.createTask({ skill: 'another' })
    await endOf(agent.handler.close({ graceMs: 2_000 }), agent.clock)
    expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'working', 'completed'])
    expect(agent.errors).toEqual([])
  })

  test('ends in time, and says what was not delivered', async () => {
    const hook = await receiver(() => undefined)
    const agent: Plain = pushAgent()
    const { clock, create, errors, handler, task, tasks } = agent
    const id = task()
    await create(id, { url: hook.url })
    await hook.arrived(1)
    const start = clock.now()
    await endOf(handler.close({ graceMs: 500 }), clock)
    expect(clock.now() - start).toBeLessThan(600)
    expect(errors.map(({ error }) => String(error))).toEqual([
      expect.stringContaining('is dropped: the agent shuts down') as string,
    ])
    tasks.updateTask(id, { state: 'working' })
    expect(clock.pending).toBe(0)
    expect(tasks.listenerCount('task:evicted') + tasks.listenerCount('task:expired')).toBe(0)
  })

  test('waits for no webhook that has nothing to deliver, or was given up', async () => {
    const [idle, gone] = [await receiver(), await receiver(410)]
    const { clock, create, handler, task } = pushAgent()
    const id = task()
    await create(id, { url: idle.url })
    await create(id, { url: gone.url })
    await until(async () => {
      const health = await handler.push.health()
      return health.map(({ state }) => state).join() === 'idle,disabled'
    })
    const start = clock.now()
    await handler.close()
    expect(clock.now()).toBe(start)
    await expect(create(id, { url: idle.url })).rejects.toThrow('UNAVAILABLE')
  })
})

test('chance spreads the pauses', async () => {
  const pauses: number[] = []
  for (const random of [() => 0, () => 0.5, () => 1]) {
    const hook = await receiver(503)
    const push: PushOptions = { random, retryMinMs: 1_000 }
    const agent: Plain = pushAgent({ push })
    await agent.create(agent.task(), { url: hook.url })
    await stateIs(agent, 'retrying')
    pauses.push(Date.parse((await healthOf(agent)).nextAttemptAt ?? '') - agent.clock.now())
  }
  expect(pauses).toEqual([500, 750, 1_000])
})
