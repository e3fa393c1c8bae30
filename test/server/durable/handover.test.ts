/** Handover of unfinished work when a process shuts down, with `recover: 'resume'`. */
import type { Execute, Run } from 'a2a-tasks/server'
import type { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { gate, jsonRpc, nameOf, refused, stateName, textsOf, user } from '../spec/support/agent.js'
import {
  begin,
  cluster,
  get,
  pass,
  replicas,
  saidIn,
  settle,
  stream,
  subscribe,
  type Replica,
} from './support/replicas.js'

const forEver: Execute = async (run) => {
  run.start()
  await new Promise(() => undefined)
}
const done: Execute = (run) => `did ${run.text}`
/** A lease that is not handed over lasts much longer than the tests. */
const RESTART = { manager: { recover: 'resume', leaseMs: 200_000 } } as const
/** Sweeps begin every 10 seconds. */
const SOON_MS = 60_000

const state = async (at: Replica, id: string): Promise<string> => stateName((await get(at, id)).status.state)

/** Closes a handler, whose runs get no time. */
async function close({ handler }: Replica, clock: ManualClock): Promise<void> {
  let isClosed = false
  const closed = handler.close({ graceMs: 0 }).finally(() => (isClosed = true))
  // Readers of streams have a second.
  await pass(clock, () => isClosed)
  await closed
}

describe('a process that closes', () => {
  test('hands a task over, which another one ends after its next sweep', async () => {
    const { a, b, clock } = replicas([forEver, done], RESTART)
    const { id } = await begin(a, 'this')
    await settle()
    const startedAt = clock.now()
    await close(a, clock)
    await pass(clock, async () => (await state(b, id)) === 'completed')
    expect(clock.now() - startedAt).toBeLessThan(SOON_MS)
    expect(textsOf(await get(b, id))).toEqual(['did this'])
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('hands a task over, which a message to another one restarts at once', async () => {
    const began = gate<Run>()
    const { a, b, clock } = replicas(
      [
        forEver,
        async (run) => {
          run.start()
          began.open(run)
          await new Promise(() => undefined)
        },
      ],
      { manager: { ...RESTART.manager, sweepIntervalMs: false }, onFollowUp: () => 'queue' },
    )
    const { id } = await begin(a, 'this')
    await settle()
    await close(a, clock)
    clock.advance(1)
    await begin(b, 'that', id)
    const run = await began.opened
    expect(run.text).toBe('this')
    expect(saidIn(await get(b, id))).toEqual(['this', 'that'])
  })

  test('does not use up the restarts of the task', async () => {
    const { all, clock } = cluster([forEver, forEver, forEver, done], {
      manager: { ...RESTART.manager, maxRestarts: 1 },
    })
    const [first, second, third, last] = all
    if (!first || !second || !third || !last) throw new Error('There are four')
    const { id } = await begin(first, 'this')
    await settle()
    const closed = new Set<Replica>()
    // Whichever process has the task closes.
    for (const replica of [first, second, third]) {
      closed.add(replica)
      await close(replica, clock)
      await replica.tasks.destroy()
    }
    await pass(clock, async () => (await state(last, id)) === 'completed')
    expect(textsOf(await get(last, id))).toEqual(['did this'])
  })

  test('aborts the run, whose later changes have no effect', async () => {
    const began = gate<Run>()
    const { a, b, clock } = replicas(
      [
        async (run) => {
          run.start()
          began.open(run)
          await new Promise(() => undefined)
        },
        done,
      ],
      RESTART,
    )
    const { id } = await begin(a, 'this')
    const run = await began.opened
    await settle()
    await close(a, clock)
    expect(run.signal.reason).toMatchObject({ code: 'UNAVAILABLE' })
    expect(() => run.artifact('late')).toThrow('shutting down')
    expect(() => run.complete()).toThrow('shutting down')
    await pass(clock, async () => (await state(b, id)) === 'completed')
    expect(textsOf(await get(b, id))).toEqual(['did this'])
  })

  test('gives its runs their time first', async () => {
    const ended = gate()
    const { a, b } = replicas(async (run) => {
      run.start()
      await ended.opened
      return 'done'
    }, RESTART)
    const { id } = await begin(a, 'go')
    await settle()
    const closed = a.handler.close({ graceMs: 1_000 })
    ended.open()
    await closed
    expect(textsOf(await get(b, id))).toEqual(['done'])
  })

  test('answers a client that waits for the end of the task with UNAVAILABLE', async () => {
    const { a, b, clock } = replicas([forEver, done], RESTART)
    const refusal = refused(jsonRpc, a, 'SendMessage', { message: user('this') })
    await settle()
    await close(a, clock)
    expect(await refusal).toMatchObject({ reason: 'UNAVAILABLE' })
    const [task] = await b.tasks.listTasks()
    await pass(clock, async () => (await state(b, task?.id ?? '')) === 'completed')
  })

  test('answers UNAVAILABLE to a client whose run has no task yet, and creates none', async () => {
    const began = gate()
    const { a, b, clock } = replicas(async (run) => {
      await run.reply(began.opened.then(() => 'late'))
    }, RESTART)
    const refusal = refused(jsonRpc, a, 'SendMessage', { message: user('this') })
    await settle()
    await close(a, clock)
    expect(await refusal).toMatchObject({ reason: 'UNAVAILABLE' })
    began.open()
    await settle()
    expect(await b.tasks.size()).toBe(0)
  })

  test('ends its streams, and those elsewhere continue', async () => {
    const { a, b, clock } = replicas([forEver, done], RESTART)
    const here = await stream(a, 'this')
    const id = (await here.next())?.value.task?.id ?? ''
    await settle()
    const there = await subscribe(b, id)
    await there.next()
    await close(a, clock)
    const names = (await here.rest().catch(() => [])).map(nameOf)
    expect(names.filter((name) => name === 'failed')).toEqual([])
    const rest = there.rest()
    await pass(clock, async () => (await state(b, id)) === 'completed')
    expect((await rest).map(nameOf).at(-1)).toBe('completed')
  })

  test('hands the messages over that wait for the run', async () => {
    const { a, b, clock } = replicas([forEver, done], { ...RESTART, onFollowUp: () => 'queue' })
    const { id } = await begin(a, 'this')
    await settle()
    await begin(a, 'that', id)
    await settle()
    await close(a, clock)
    await pass(clock, async () => (await state(b, id)) === 'completed')
    expect(saidIn(await get(b, id)).slice(0, 2)).toEqual(['this', 'that'])
    expect([...a.errors, ...b.errors]).toEqual([])
  })
})

test('with `recover: fail`, the process fails the tasks itself', async () => {
  const { a, b, clock } = replicas(forEver, { manager: { recover: 'fail' } })
  const { id } = await begin(a, 'this')
  await settle()
  await close(a, clock)
  expect(await state(b, id)).toBe('failed')
})

test('a manager that is destroyed without a handler hands its work over too', async () => {
  const { a, b, clock } = replicas([forEver, done], RESTART)
  const { id } = await begin(a, 'this')
  await settle()
  const startedAt = clock.now()
  await a.tasks.destroy()
  await pass(clock, async () => (await state(b, id)) === 'completed')
  expect(clock.now() - startedAt).toBeLessThan(SOON_MS)
})
