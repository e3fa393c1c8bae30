/** Deliveries when something else goes wrong: functions of the agent's own, tasks that go, an agent that closes. */
import { TaskManager } from 'a2a-tasks'
import type { PushOptions, Run } from 'a2a-tasks/server'
import { v1, type Dialect } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { gate } from '../interop/support/agent.js'
import { endOf, pushAgent, receiver, summariesOf, until, type PushAgent } from './support/push.js'

type Plain = PushAgent<{ id: string }>

const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go' }] }

function stateIs({ handler }: Plain, state: string): Promise<void> {
  return until(async () => (await handler.push.health())[0]?.state === state)
}

function outcomeOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'taken',
    (error: unknown) => String(error),
  )
}

describe('a delivery continues', () => {
  test.each<[string, () => unknown]>([
    ['throws', throwing],
    ['gives no number', () => NaN],
    ['gives too much', () => 1_000],
    ['gives another type', () => 1n],
  ])('when "random" %s', async (_, random) => {
    const hook = await receiver(503)
    const agent: Plain = pushAgent({ push: { random: random as () => number } })
    await agent.create(agent.task(), { url: hook.url })
    await stateIs(agent, 'retrying')
    agent.clock.advance(1_000)
    await stateIs(agent, 'idle')
    expect(agent.errors).toEqual([])
  })

  function throwing(): never {
    throw new Error('no chance')
  }

  test.each<[string, () => Error]>([
    ['whose causes go in a circle', circular],
    ['that cannot be read', unreadable],
  ])('after an error of "fetch" %s', async (_, errorOf) => {
    const failures = [errorOf()]
    const fetch = (): Promise<Response> => {
      const failure = failures.pop()
      return failure === undefined ? Promise.resolve(new Response()) : Promise.reject(failure)
    }
    const agent: Plain = pushAgent({ push: { fetch } })
    await agent.create(agent.task(), { url: 'http://127.0.0.1:9999/' })
    await stateIs(agent, 'retrying')
    expect((await agent.handler.push.health())[0]?.failure).toEqual({ reason: 'it cannot be reached' })
    agent.clock.advance(1_000)
    await stateIs(agent, 'idle')
    expect(agent.errors).toEqual([])
  })

  function circular(): Error {
    const error = new Error('round')
    error.cause = error
    return error
  }

  function unreadable(): Error {
    return Object.defineProperty(new Error('SECRET'), 'code', { get: throwing })
  }

  test('after a fault of the agent, when the webhook is enabled again', async () => {
    let isBroken = true
    const stable = v1()
    const encodeNotification: Dialect['encodeNotification'] = (entry) => {
      if (isBroken && entry.type === 'status') throw new Error('broken')
      return stable.encodeNotification?.(entry) ?? {}
    }
    const hook = await receiver()
    const agent: Plain = pushAgent({ dialects: [{ ...stable, encodeNotification }] })
    const { create, errors, handler, task, tasks } = agent
    const id = task()
    const config = await create(id, { url: hook.url })
    await stateIs(agent, 'idle')
    tasks.updateTask(id, { state: 'working' })
    tasks.updateTask(id, { state: 'completed' })
    await stateIs(agent, 'disabled')
    const context = { during: 'push', taskId: id, configId: config.id }
    expect(errors).toMatchObject([{ error: { message: 'broken' }, context }, { context }])
    expect(await handler.push.deadLetters()).toMatchObject([
      {
        notificationId: `${id}/${config.id}/2`,
        notification: {},
        failure: { reason: 'a fault of the agent' },
      },
    ])
    isBroken = false
    expect([
      await handler.push.redeliver(id, config.id),
      await handler.push.redeliver(id, config.id),
    ]).toEqual([true, false])
    await stateIs(agent, 'done')
    expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'working', 'completed'])
  })
})

describe('of a task that goes', () => {
  test('while the agent closes, everything is delivered', async () => {
    const hook = await receiver(503)
    const tasks = new TaskManager({ maxTasks: 1, whenFull: 'evict-terminal' })
    const agent: Plain = pushAgent({ tasks })
    const { id } = tasks.createTask({ id: 'same', skill: 'test' })
    await agent.create(id, { url: hook.url })
    await stateIs(agent, 'retrying')
    tasks.updateTask(id, { state: 'working' })
    tasks.updateTask(id, { state: 'completed' })
    const closed = agent.handler.close({ graceMs: 2_000 })
    // Its id is another one's from now on.
    // The notification reader learns of the end after runs and streams.
    for (let turns = 0; turns < 10; turns += 1) await new Promise((resolve) => setImmediate(resolve))
    const other = tasks.createTask({ skill: 'another' })
    tasks.updateTask(other.id, { state: 'canceled' })
    tasks.createTask({ id: 'same', skill: 'another' })
    await endOf(closed, agent.clock)
    expect(summariesOf(hook.accepted)).toEqual(['task submitted', 'working', 'completed'])
    expect(agent.errors).toEqual([])
  })

  test('because it has expired while the agent closes, nothing more is delivered', async () => {
    const hook = await receiver(503)
    const agent: Plain = pushAgent()
    const { clock, handler } = agent
    const tasks = new TaskManager({ clock, expiryMs: 100 })
    const short: Plain = pushAgent({ tasks, clock })
    const { id } = tasks.createTask({ skill: 'test' })
    await short.create(id, { url: hook.url })
    await stateIs(short, 'retrying')
    const closed = short.handler.close({ graceMs: 2_000 })
    await until(() => clock.pending === 2)
    clock.advance(500)
    tasks.prune()
    await closed
    expect(hook.received).toHaveLength(1)
    expect(short.errors.map(({ error }) => String(error))).toEqual([
      expect.stringContaining('is dropped: its task has expired') as string,
    ])
    await handler.close()
  })

  test('with its manager, nothing more is delivered', async () => {
    const hook = await receiver(503)
    const agent: Plain = pushAgent()
    const { clock, create, task, tasks, handler, errors } = agent
    await create(task(), { url: hook.url })
    await stateIs(agent, 'retrying')
    tasks.destroy()
    clock.advance(1_000)
    await until(async () => (await handler.push.health()).every(({ state }) => state === 'done'))
    expect(hook.received).toHaveLength(1)
    expect(errors).toEqual([])
  })
})

describe('an agent that closes registers nothing more', () => {
  /** At whatever moment of the registration it closes. */
  const MOMENTS = Array.from({ length: 40 }, (_, moment) => moment)

  test('that a client creates', async () => {
    for (const moment of MOMENTS) {
      const { handler, create, task, clock } = refusing()
      const made = outcomeOf(create(task(), { url: 'http://127.0.0.1:9999/' }))
      for (let count = 0; count < moment; count += 1) await Promise.resolve()
      await endOf(handler.close({ graceMs: 0 }), clock)
      const outcome = await made
      expect(outcome === 'taken' || outcome.includes('UNAVAILABLE'), outcome).toBe(true)
      expect((await handler.push.health()).filter(({ state }) => state !== 'done')).toEqual([])
    }
  })

  test('that comes with a message, which is accepted anyway', async () => {
    const begun = gate()
    const { handler, call, clock } = refusing(async (run) => {
      await begun.opened
      run.start()
      await new Promise(() => undefined)
    })
    const configuration = {
      returnImmediately: true,
      taskPushNotificationConfig: { url: 'http://127.0.0.1:9999/' },
    }
    const sent = outcomeOf(call('SendMessage', { message: MESSAGE, configuration }))
    const closed = handler.close({ graceMs: 0 })
    begun.open()
    await endOf(closed, clock)
    await sent
    expect(await handler.push.health()).toEqual([])
  })

  function refusing(execute: (run: Run) => unknown = () => 'done'): Plain {
    const fetch = (): Promise<Response> => Promise.resolve(new Response(null, { status: 503 }))
    return pushAgent({ execute: async (run: Run) => (await execute(run)) as string, push: { fetch } })
  }
})

describe('names are looked up', () => {
  test('a few at a time where webhooks are registered, whether or not their clients wait', async () => {
    const hangs = { max: 0, now: 0 }
    const answered = gate()
    const resolve: PushOptions['resolve'] = async () => {
      hangs.now += 1
      hangs.max = Math.max(hangs.max, hangs.now)
      await answered.opened
      hangs.now -= 1
      return ['93.184.215.14']
    }
    const fetch = (): Promise<Response> => Promise.resolve(new Response())
    const { handler, create, clock, task } = pushAgent({ push: { maxConcurrent: 2, resolve, fetch } })
    const id = task()
    const leaving = new AbortController()
    const left = ['a', 'b'].map((name) => {
      const params = { taskId: id, url: `https://${name}.example/` }
      const body = { jsonrpc: '2.0', id: 1, method: 'CreateTaskPushNotificationConfig', params }
      return handler.dispatch(body, { signal: leaving.signal })
    })
    await until(() => hangs.now === 2)
    leaving.abort()
    await Promise.all(left)
    const late = outcomeOf(create(id, { url: 'https://c.example/' }))
    await until(() => clock.pending > 2)
    expect(hangs.max).toBe(2)
    clock.advance(5_000)
    const next = outcomeOf(create(id, { url: 'https://d.example/' }))
    answered.open()
    expect([await late, await next]).toEqual(['taken', 'taken'])
    expect(hangs.max).toBe(2)
  })

  test('in time, or the client may try again', async () => {
    const resolve = (): Promise<string[]> => new Promise(() => undefined)
    const { create, clock, task } = pushAgent({ push: { maxConcurrent: 1, resolve } })
    const id = task()
    const asked = ['a', 'b', 'c'].map((name) => outcomeOf(create(id, { url: `https://${name}.example/` })))
    await until(() => clock.pending === 4)
    clock.advance(10_000)
    const [first, , third] = await Promise.all(asked)
    expect(first).toContain('-32602')
    expect(third).toContain('UNAVAILABLE')
  })
})
