/** Runs that wait for a time, without a process. */
import { TaskManager } from 'a2a-tasks'
import type { DurableTaskManagerOptions } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { call, jsonRpc, ORIGIN, stateName, taskOf, user } from '../spec/support/agent.js'
import {
  begin,
  cluster,
  get,
  pass,
  type Replica,
  replicas,
  resultOf,
  saidIn,
  send,
  settle,
  stateAt,
  textOf,
} from '../durable/support/replicas.js'

const HOUR = 3_600_000
const WEEK = 168 * HOUR

/** An agent that sleeps between two steps, and the steps that it did. */
function sleeper(ms: number): { execute: Execute; done: string[] } {
  const done: string[] = []
  const execute: Execute = async (run) => {
    await run.step('before', () => void done.push('before'))
    await run.sleep('pause', { ms })
    await run.step('after', () => void done.push('after'))
    return 'rested'
  }
  return { execute, done }
}

describe('a sleep over a store', () => {
  test('of three weeks needs no process, and is done by another one', async () => {
    const { execute, done } = sleeper(3 * WEEK)
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(0)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    expect(await stateAt(b, id)).toBe('working')
    await a.handler.close()
    await a.tasks.destroy()
    clock.advance(3 * WEEK - 1_000)
    await settle()
    expect(await stateAt(b, id)).toBe('working')
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['rested'])
    expect(done).toEqual(['before', 'after'])
    expect(b.errors).toEqual([])
  })

  test.each([{ recover: 'fail' }, { recover: 'resume' }] as const)(
    'survives restarts of all processes, and is due while none lives, with recover $recover',
    async (manager: Partial<DurableTaskManagerOptions>) => {
      const { execute, done } = sleeper(WEEK)
      const { all, clock } = cluster([execute, execute, execute], { manager })
      const [a, b, c] = all as [Replica, Replica, Replica]
      b.store.fail()
      c.store.fail()
      const { id } = await begin(a, 'go')
      await settle()
      clock.advance(0)
      await settle()
      a.store.fail()
      clock.advance(WEEK / 2)
      b.store.mend()
      await settle()
      clock.advance(HOUR)
      await settle()
      expect(await stateAt(b, id)).toBe('working')
      b.store.fail()
      clock.advance(WEEK)
      c.store.mend()
      await pass(clock, async () => (await stateAt(c, id)) === 'completed')
      expect(done).toEqual(['before', 'after'])
    },
  )

  test('ends at once when the task is canceled', async () => {
    const { execute, done } = sleeper(WEEK)
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(0)
    await settle()
    await b.tasks.cancelTask(id)
    clock.advance(2 * WEEK)
    await settle()
    expect(await stateAt(b, id)).toBe('canceled')
    expect(done).toEqual(['before'])
  })

  test('that is due when the task is canceled does not continue', async () => {
    const { execute, done } = sleeper(WEEK)
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(0)
    await settle()
    clock.advance(WEEK)
    await Promise.all([b.tasks.cancelTask(id), settle()])
    clock.advance(HOUR)
    await settle()
    expect(await stateAt(b, id)).toBe('canceled')
    expect(done).toEqual(['before'])
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('counts towards the time limit of the task', async () => {
    const { execute, done } = sleeper(WEEK)
    const { a, clock } = replicas(execute, { manager: { taskTimeoutMs: HOUR } })
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(0)
    await settle()
    clock.advance(2 * HOUR)
    await pass(clock, async () => (await stateAt(a, id)) === 'failed')
    expect(done).toEqual(['before'])
  })

  test('shorter than waitingRunMs stays in its process', async () => {
    const { execute, done } = sleeper(45_000)
    const { a, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(44_000)
    await settle()
    expect(a.tasks.stats().leases).toBe(1)
    await pass(clock, async () => (await stateAt(a, id)) === 'completed')
    expect(done).toEqual(['before', 'after'])
  })

  test('shorter than waitingRunMs outlives its process', async () => {
    const { execute, done } = sleeper(45_000)
    const here: Execute = async (run) => {
      await run.step('before', () => void done.push('before'))
      await run.sleep('pause', { ms: 45_000 })
      return await new Promise<string>(() => undefined)
    }
    const { a, b, clock } = replicas([here, execute], { manager: { recover: 'resume' } })
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(done).toEqual(['before', 'after'])
    expect(clock.now() - Date.parse('2026-01-01T00:00:00Z')).toBeGreaterThanOrEqual(45_000)
  })

  test('keeps its place among others in a race', async () => {
    const execute: Execute = async (run) => {
      const sleep = async (name: string, ms: number): Promise<string> => {
        await run.sleep(name, { ms })
        return name
      }
      const first = await Promise.race([sleep('long', 2 * HOUR), sleep('short', HOUR)])
      await run.sleep('later', { ms: 24 * HOUR })
      return first
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(0)
    await settle()
    await a.handler.close()
    await a.tasks.destroy()
    clock.advance(HOUR)
    await pass(clock, async () => (await b.tasks.journal(id)).some(({ entry }) => entry.kind === 'wake'))
    await settle()
    clock.advance(26 * HOUR)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['short'])
  })

  test('leaves a message that comes in the meantime to the turn after it', async () => {
    const execute: Execute = async (run) => {
      await run.sleep('pause', { ms: WEEK })
      return `${run.text} ${JSON.stringify(run.metadata)}`
    }
    const { a, b, clock } = replicas(execute, { onFollowUp: () => 'queue' })
    const { id } = await begin(a, 'one')
    await settle()
    clock.advance(0)
    await settle()
    const message = { message: user('two', { taskId: id }), metadata: { n: 2 } }
    await call(jsonRpc, b, 'SendMessage', { ...message, configuration: { returnImmediately: true } })
    clock.advance(WEEK)
    await pass(clock, async () => (await resultOf(b, id)).length === 1)
    await settle()
    clock.advance(0)
    await settle()
    clock.advance(WEEK)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['one {}', 'two {"n":2}'])
    expect(saidIn(await get(b, id))).toEqual(['one', 'two'])
  })

  test('continues where questions follow', async () => {
    const execute: Execute = async (run) => {
      await run.sleep('pause', { until: new Date(Date.parse('2026-01-08T00:00:00Z')) })
      return textOf(await run.requireInput('Now?'))
    }
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    clock.advance(0)
    await settle()
    clock.advance(WEEK)
    await pass(clock, async () => (await stateAt(b, id)) === 'input-required')
    expect(stateName((await send(b, 'yes', id)).status.state)).toBe('completed')
    expect(await resultOf(a, id)).toEqual(['yes'])
  })

  test('of a closing process is continued by another one at its time', async () => {
    const { execute, done } = sleeper(50_000)
    const { a, b, clock } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    await a.handler.close()
    await settle()
    expect(await stateAt(b, id)).toBe('working')
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(done).toEqual(['before', 'after'])
  })

  test('of one hundred runs: a sweep resumes only those that are due', async () => {
    const execute: Execute = async (run) => {
      await run.sleep('pause', { ms: Number(run.text) * HOUR })
      return 'rested'
    }
    const { a, b, clock } = replicas(execute)
    const ids: string[] = []
    for (let hours = 1; hours <= 100; hours += 1) ids.push((await begin(a, `${hours}`)).id)
    await settle()
    clock.advance(0)
    await settle()
    expect(a.tasks.stats().leases).toBe(0)
    clock.advance(3 * HOUR)
    await pass(clock, async () => (await b.tasks.countTasks({ state: 'completed' })) >= 3)
    clock.advance(HOUR / 2)
    await settle()
    expect(await b.tasks.countTasks({ state: 'completed' })).toBe(3)
    expect(await b.tasks.countTasks({ state: 'working' })).toBe(ids.length - 3)
  })
})

describe('a sleep in memory', () => {
  test('of three weeks ends by the clock, and does not count as work', async () => {
    const clock = new ManualClock()
    const { execute, done } = sleeper(3 * WEEK)
    const tasks = new TaskManager({ clock })
    const limits = { maxRuns: 1, runTimeoutMs: HOUR }
    const card = { name: 'Test', url: ORIGIN }
    const handler = createRequestHandler({ anonymous: 'shared', card, clock, execute, tasks, limits })
    const at = { handler }
    const request = { message: user('go'), configuration: { returnImmediately: true } }
    const { id } = taskOf(await call(jsonRpc, at, 'SendMessage', request))
    await settle()
    await call(jsonRpc, at, 'SendMessage', request)
    await settle()
    expect(tasks.countTasks({ state: 'working' })).toBe(2)
    clock.advance(3 * WEEK - 1)
    await settle()
    expect(tasks.getTask(id)?.state).toBe('working')
    clock.advance(1)
    await settle()
    expect(tasks.getTask(id)?.state).toBe('completed')
    expect(done).toEqual(['before', 'before', 'after', 'after'])
    await handler.close()
    tasks.destroy()
  })

  test('rejects with the reason when the task is canceled', async () => {
    const clock = new ManualClock()
    const reasons: unknown[] = []
    const tasks = new TaskManager({ clock })
    const handler = createRequestHandler({
      anonymous: 'shared',
      card: { name: 'Test', url: ORIGIN },
      clock,
      tasks,
      execute: async (run) => {
        await run.sleep('pause', { ms: WEEK }).catch((error: unknown) => reasons.push(error))
      },
    })
    const request = { message: user('go'), configuration: { returnImmediately: true } }
    const { id } = taskOf(await call(jsonRpc, { handler }, 'SendMessage', request))
    await settle()
    tasks.cancelTask(id)
    await settle()
    expect(reasons).toMatchObject([{ code: 'TASK_CANCELED' }])
    await handler.close()
    tasks.destroy()
  })

  const example = "run.sleep('pause', { ms: 60_000 }) or run.sleep('pause', { until: new Date(…) })"
  test.each<[unknown[], Error]>([
    [['pause', {}], new TypeError(`run.sleep() takes one of "ms" and "until", as in ${example}`)],
    [
      ['pause', { ms: 1, until: 1 }],
      new TypeError(`run.sleep() takes one of "ms" and "until", as in ${example}`),
    ],
    [['pause', { ms: -1 }], new RangeError('"ms" must be the milliseconds of the sleep, 0 or more, got -1')],
    [
      ['pause', { ms: '6s' }],
      new RangeError('"ms" must be the milliseconds of the sleep, 0 or more, got "6s"'),
    ],
    [
      ['pause', { until: new Date(NaN) }],
      new RangeError('"until" must be a Date or milliseconds since 1970, got an instance of Date'),
    ],
    [['pause', { hours: 1 }], new TypeError('Unknown option "hours" of run.sleep; known are ms, until')],
    [
      ['6s'],
      new TypeError(
        `The options of run.sleep must be an object after the name, as in ${example}, got undefined`,
      ),
    ],
    [
      [6_000],
      new TypeError(
        `The name of a sleep must be a text of 1 to 200 characters, got a number: use ${example}`,
      ),
    ],
  ])('refuses %j', async (given, expected) => {
    const errors: unknown[] = []
    const handler = createRequestHandler({
      anonymous: 'shared',
      card: { name: 'Test', url: ORIGIN },
      execute: (run) => {
        try {
          void Reflect.apply(run.sleep, run, given)
        } catch (error) {
          errors.push(error)
        }
        return 'done'
      },
    })
    await call(jsonRpc, { handler }, 'SendMessage', { message: user('go') })
    expect(errors).toStrictEqual([expected])
    await handler.close()
  })
})
