/** Messages, cancels and deaths that cross with a turn which continues in another process. */
import type { TaskStore } from 'a2a-tasks/durable'
import type { Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
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
import { call, gate, jsonRpc } from '../spec/support/agent.js'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'

async function passFor(clock: ManualClock, ms: number): Promise<void> {
  const end = clock.now() + ms
  await pass(clock, () => clock.now() >= end)
}

/** Longer than a lease, and than a run may wait before it is let go. */
const LONG = 61_000

const forEver = (): Promise<never> => new Promise(() => undefined)

const twoQuestions: Execute = async (run) => {
  const one = textOf(await run.requireInput('One?'))
  const two = textOf(await run.requireInput('Two?'))
  return `${run.text}: ${one}, ${two}`
}

describe('a message', () => {
  test('that arrives during a replay answers the next question', async () => {
    const reached = gate()
    const opened = gate()
    const steps: string[] = []
    const script =
      (pause: () => Promise<void>, end: () => Promise<void>): Execute =>
      async (run) => {
        await pause()
        await run.step('one', () => void steps.push('one'))
        await end()
        return `Read ${textOf(await run.requireInput('And?'))}`
      }
    const pause = async (): Promise<void> => {
      reached.open()
      await opened.opened
    }
    const { a, b, clock } = replicas([
      script(() => Promise.resolve(), forEver),
      script(pause, () => Promise.resolve()),
    ])
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    let isReached = false
    void reached.opened.then(() => (isReached = true))
    await pass(clock, () => isReached)
    await begin(b, 'more', id)
    opened.open()
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['Read more'])
    expect(steps).toEqual(['one'])
    expect(saidIn(await get(b, id))).toEqual(['go', 'more'])
  })

  test('and another, sent at once to two processes, answer one question each', async () => {
    const { all, clock } = cluster([twoQuestions, twoQuestions, twoQuestions])
    const [a, b, c] = all as [Replica, Replica, Replica]
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await passFor(clock, LONG)
    await Promise.all([begin(b, 'x', id), begin(c, 'y', id)])
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(['go: x, y', 'go: y, x']).toContain((await resultOf(b, id)).join())
    expect([...b.errors, ...c.errors]).toEqual([])
  })

  test('answers an open question where messages steer', async () => {
    const { a, b, clock } = replicas(twoQuestions, { onFollowUp: 'steer' })
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await passFor(clock, LONG)
    await send(b, 'x', id)
    expect(await stateAt(b, id)).toBe('input-required')
    await send(b, 'y', id)
    expect(await resultOf(b, id)).toEqual(['go: x, y'])
  })

  test('begins a new turn after a question that ended the last one', async () => {
    const execute: Execute = (run) => {
      if (run.text !== 'go') return `to ${run.text}`
      void run.requireInput('Which?')
      return undefined
    }
    const { a, b } = replicas(execute)
    const { id } = await begin(a, 'go')
    await settle()
    await a.handler.close()
    await send(b, 'this', id)
    expect(await resultOf(b, id)).toEqual(['to this'])
  })

  test('continues a turn that waits for credentials', async () => {
    const { a, b } = replicas(async (run) => `${run.text}: ${textOf(await run.requireAuth('Log in'))}`)
    const { id } = await begin(a, 'go')
    await settle()
    await a.handler.close()
    expect(await stateAt(b, id)).toBe('auth-required')
    await send(b, 'done', id)
    expect(await resultOf(b, id)).toEqual(['go: done'])
  })
})

test('a generator yields no chunk twice', async () => {
  const execute: Execute = async function* (run) {
    yield 'a'
    yield textOf(await run.requireInput('One?'))
    yield textOf(await run.requireInput('Two?'))
  }
  const { a, b, clock } = replicas(execute)
  const { id } = await begin(a, 'go')
  await passFor(clock, LONG)
  await send(b, 'b', id)
  await passFor(clock, LONG)
  await send(a, 'c', id)
  expect(await resultOf(a, id)).toEqual(['abc'])
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('a run that waits for more than the answer to its question stays in memory', async () => {
  const loggedIn = gate()
  const { a, clock } = replicas(async (run) => {
    void run.requireAuth('Log in')
    await loggedIn.opened
    run.start()
    return 'done'
  })
  const { id } = await begin(a, 'go')
  await passFor(clock, LONG)
  loggedIn.open()
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(await resultOf(a, id)).toEqual(['done'])
})

test('a task whose run has left the memory can be canceled', async () => {
  const { a, b, clock } = replicas(twoQuestions)
  const { id } = await begin(a, 'go')
  await passFor(clock, LONG)
  const { error } = await call(jsonRpc, b, 'CancelTask', { id })
  expect(error).toBeUndefined()
  expect(await stateAt(a, id)).toBe('canceled')
  await expect(send(a, 'x', id)).rejects.toThrow()
  await passFor(clock, LONG)
  expect(await stateAt(b, id)).toBe('canceled')
  expect([...a.errors, ...b.errors]).toEqual([])
})

describe('maxRestarts', () => {
  /** Four processes. Each dies after as many steps as `steps` says. */
  async function dying(steps: readonly number[]): Promise<{ last: Replica; id: string; done: string[] }> {
    const done: string[] = []
    const executes = steps.map((count, at): Execute => async (run) => {
      for (let step = 1; step <= 4; step += 1) {
        await run.step('s', () => void done.push(`${step} at ${at}`))
        if (step === count) await forEver()
      }
    })
    const { all, clock } = cluster(executes, { manager: { maxRestarts: 1 } })
    // Only one process at a time can take the task.
    for (const { store } of all.slice(1)) store.fail('orphans')
    const [first] = all as [Replica]
    const { id } = await begin(first, 'go')
    await settle()
    for (const [at, { store }] of all.entries()) {
      const next = all[at + 1]
      if (next === undefined) break
      store.fail()
      next.store.mend()
      await passFor(clock, LONG)
    }
    return { last: all.at(-1) ?? first, id, done }
  }

  test('counts no restart after which the turn made progress', async () => {
    const { last, id, done } = await dying([1, 2, 3, 9])
    expect(await stateAt(last, id)).toBe('completed')
    expect(done).toEqual(['1 at 0', '2 at 1', '3 at 2', '4 at 3'])
  })

  test('counts restarts in a row without progress', async () => {
    const { last, id, done } = await dying([1, 1, 1, 9])
    expect(await stateAt(last, id)).toBe('failed')
    expect(done).toEqual(['1 at 0'])
  })
})

describe.each(['memory', 'SQLite'])('over %s', (kind) => {
  /** @param now - The time of the cluster, which does not exist yet. */
  async function open(now: () => number): Promise<((store: TaskStore) => TaskStore) | undefined> {
    if (kind === 'memory') return undefined
    const file = databaseFile()
    onTestFinished(() => file.remove())
    const store = await file.open({ now })
    return () => store
  }

  test('a conversation continues at the place where its process died', async () => {
    const steps: string[] = []
    let isFirst = true
    const execute: Execute = async (run) => {
      const city = textOf(await run.requireInput('Which city?'))
      run.artifact({ artifactId: 'log', parts: [{ text: `To ${city}. ` }] })
      const price = await run.step('price', () => steps.push(city))
      run.artifact({ artifactId: 'log', parts: [{ text: 'Priced.' }] })
      if (isFirst) {
        isFirst = false
        await forEver()
      }
      const isSure = textOf(await run.requireInput('Sure?'))
      return `${run.text} ${city} ${price} ${isSure}`
    }
    let clock = new ManualClock()
    const way = await open(() => clock.now())
    const replicated = cluster([execute, execute], {}, way)
    clock = replicated.clock
    const [a, b] = replicated.all as [Replica, Replica]
    const { id } = await begin(a, 'fly')
    await settle()
    await begin(a, 'Rome', id)
    await pass(clock, () => steps.length === 1)
    await settle()
    a.store.fail()
    await pass(clock, async () => (await stateAt(b, id)) === 'input-required')
    await send(b, 'yes', id)
    expect(steps).toEqual(['Rome'])
    expect(await resultOf(b, id)).toEqual(['To Rome. Priced.', 'fly Rome 1 yes'])
    expect(saidIn(await get(b, id))).toEqual(['fly', 'Which city?', 'Rome', 'Sure?', 'yes'])
  })
})
