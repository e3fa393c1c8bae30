/** Cost of following tasks: store requests and memory. */
import { describe, expect, test } from 'vitest'
import { memoryStore, type DurableTaskManagerOptions } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, gate, withoutHints, type Faults, type StepName } from '../../support/faulty-store.js'
import { logOf, reading, rejection, replicas, says, turn, type Replicas } from '../support/durable.js'

const LISTENER = { onNews: () => undefined, onLost: () => undefined, onOrphan: () => undefined }

interface World extends Replicas {
  readonly faults: Faults
  readonly count: (step: StepName) => number
}

/** Replicas over one store; what the first asks of it is counted. */
function world(options: Partial<DurableTaskManagerOptions> = {}, hasHints = true): World {
  const clock = new ManualClock()
  const inner = memoryStore({ now: () => clock.now() })
  const asked: StepName[] = []
  const faults: Faults = {}
  const counting = faultyStore(hasHints ? inner : withoutHints(inner), {
    before: (step, args) => {
      asked.push(step)
      return faults.before?.(step, args)
    },
    after: (...step) => faults.after?.(...step),
  })
  const { a } = replicas(1, { ...options, store: counting }, clock)
  const { b } = replicas(2, { store: inner }, clock)
  const count = (step: StepName): number => asked.filter((each) => each === step).length
  return { store: inner, clock, managers: [a, b], a, b, faults, count }
}

describe('hints', () => {
  test('of changes by this process read nothing from the store', async () => {
    const { a, count } = world()
    const leased = a.lease(LISTENER)
    const { id } = leased.createTask({ skill: 'test' })
    const read = reading(a.subscribe(id, { after: 1 }))
    await leased.stored(id)
    await turn()
    const before = count('heads')
    for (let chunk = 0; chunk < 50; chunk += 1) {
      leased.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'x' }] })
      await leased.stored(id)
      await turn()
    }
    expect(read.entries).toHaveLength(50)
    expect(count('heads')).toBe(before)
    expect(count('events')).toBe(0)
  })
})

test('a change does not wait for a read of the same task', async () => {
  const { a, faults } = world()
  const { id } = await a.createTask({ skill: 'test' })
  const { opened, open } = gate()
  faults.before = (step) => (step === 'heads' ? opened : undefined)
  const read = a.getTask(id)
  await turn()
  await a.patchTask(id, { state: 'working' })
  open()
  expect(await read).toMatchObject({ state: 'working' })
})

test('listening that is slow to start is not started twice', async () => {
  const { a, clock, faults, count } = world()
  const { id } = await a.createTask({ skill: 'test' })
  faults.before = (step) => (step === 'listen' ? new Promise(() => undefined) : undefined)
  a.waitFor(id).catch(() => undefined)
  for (let polls = 0; polls < 10; polls += 1) {
    clock.advance(5_000)
    await turn()
  }
  expect(count('listen')).toBe(1)
})

describe('polling', () => {
  test('waits for the response, however often a task is followed in between', async () => {
    const { a, clock, faults } = world({ storeRetryMs: 60_000 }, false)
    const ids: string[] = []
    for (let index = 0; index < 5; index += 1) ids.push((await a.createTask({ skill: 'test' })).id)
    for (const id of ids) a.waitFor(id).catch(() => undefined)
    await turn()
    let [under, most, polls] = [0, 0, 0]
    faults.before = async (step, [given]) => {
      // One task is asked for by who reads it.
      if (step !== 'heads' || (given as string[]).length === 1) return
      under += 1
      polls += 1
      most = Math.max(most, under)
      await new Promise<void>((resolve) => clock.schedule(resolve, 2_000))
      under -= 1
    }
    for (let second = 0; second < 50; second += 1) {
      a.waitFor(String(ids[second % 5])).catch(() => undefined)
      clock.advance(1_000)
      await turn()
    }
    expect(most).toBe(1)
    // A second after each answer.
    expect(polls).toBeGreaterThan(10)
    expect(polls).toBeLessThan(20)
  })

  test('of others is not held up by a task whose change is on its way', async () => {
    const { a, b, clock, faults } = world({}, false)
    const [slow, other] = [await a.createTask({ skill: 'slow' }), await a.createTask({ skill: 'other' })]
    const read = reading(a.subscribe(other.id, { after: 1 }))
    a.waitFor(slow.id).catch(() => undefined)
    await turn()
    const { opened, open } = gate()
    faults.before = (step) => (step === 'commit' ? opened : undefined)
    const added = a.addMessage(slow.id, says('slow'))
    await b.addMessage(slow.id, says('faster'))
    for (let polls = 1; polls <= 3; polls += 1) {
      await b.addMessage(other.id, says('other'))
      clock.advance(1_000)
      await turn()
      expect(read.entries).toHaveLength(polls)
    }
    open()
    expect(await added).toMatchObject({ generation: 3 })
  })
})

describe('a reader that is left without a word', () => {
  test('keeps no task that has ended in memory, nor has the store asked for it', async () => {
    const { a, clock, count } = world({ maxCached: 1 })
    const ids: string[] = []
    for (let index = 0; index < 30; index += 1) {
      const { id } = await a.createTask({ skill: 'test' })
      await a.subscribe(id).next()
      await a.cancelTask(id)
      ids.push(id)
    }
    expect(ids.filter((id) => a.lastSeen(id) !== undefined).length).toBeLessThan(5)
    const before = count('heads')
    clock.advance(5_000)
    await turn()
    expect(count('heads')).toBe(before)
  })

  test('is forgotten after the next poll where the task continues', async () => {
    const { a, clock, count } = world({ maxCached: 1 })
    const ids: string[] = []
    for (let index = 0; index < 30; index += 1) {
      const { id } = await a.createTask({ skill: 'test' })
      await a.subscribe(id).next()
      ids.push(id)
    }
    for (let polls = 0; polls < 2; polls += 1) {
      clock.advance(5_000)
      await turn()
    }
    for (let index = 0; index < 10; index += 1) await a.createTask({ skill: 'test' })
    expect(ids.filter((id) => a.lastSeen(id) !== undefined).length).toBeLessThan(5)
    const before = count('heads')
    clock.advance(5_000)
    await turn()
    expect(count('heads')).toBe(before)
  })

  test('continues where it was when it comes back, however late', async () => {
    const { a, b, clock, store, count } = world({ maxCached: 1, eventLogSize: 1 })
    const { id } = await b.createTask({ skill: 'test' })
    const subscription = a.subscribe(id, { after: 0 })
    const first = await subscription.next()
    clock.advance(60_000)
    for (const text of ['one', 'two']) await b.addMessage(id, says(text))
    for (let index = 0; index < 5; index += 1) await a.createTask({ skill: 'test' })
    expect(a.lastSeen(id)).toBeUndefined()
    const [second, third] = [await subscription.next(), await subscription.next()]
    expect([first, second, third].map(({ value }) => value)).toEqual(await logOf(store, id))
    const last = subscription.next()
    await turn()
    await b.cancelTask(id)
    expect(await last).toMatchObject({ value: { type: 'status', to: 'canceled' } })
    const before = count('heads')
    expect(await subscription.next()).toEqual({ done: true, value: undefined })
    expect(count('heads')).toBe(before)
  })

  test.each(['removed', 'another'])('finds that its task is %s: TASK_EXPIRED', async (what) => {
    const { a, b, clock, store } = world({ maxCached: 1 })
    const { id } = await b.createTask({ skill: 'test' })
    const subscription = a.subscribe(id)
    await subscription.next()
    clock.advance(60_000)
    await store.delete(await store.heads([id]))
    if (what === 'another') await b.createTask({ skill: 'new', id })
    const error = await rejection(subscription.next())
    expect(error).toMatchObject({ code: 'TASK_EXPIRED', data: { taskId: id } })
    expect(await subscription.next()).toEqual({ done: true, value: undefined })
  })

  test('receives at once what changed while it was away for a moment', async () => {
    const { a, b, count } = world({ pollIntervalMs: 2 ** 31 - 1 })
    const { id } = await b.createTask({ skill: 'test' })
    const subscription = a.subscribe(id)
    await subscription.next()
    await turn()
    await b.addMessage(id, says('one'))
    await turn()
    const before = count('heads')
    expect(await subscription.next()).toMatchObject({ value: { generation: 2 } })
    expect(count('heads')).toBe(before)
  })
})

test('a slow reader of a large log holds little of it, and a fast one asks seldom', async () => {
  const { a, b, count, faults, store } = world({ eventLogSize: 1 })
  const { id } = await b.createTask({ skill: 'test' })
  for (let index = 0; index < 40; index += 1) await b.addMessage(id, says('x'.repeat(30_000)))
  for (let index = 0; index < 600; index += 1) await b.addMessage(id, says('y'))
  const pages: number[] = []
  faults.after = (step, _, result) => {
    if (step === 'events') pages.push(JSON.stringify(result).length)
  }
  const read = reading(a.subscribe(id, { after: 0 }))
  for (let turns = 0; turns < 10; turns += 1) await turn()
  expect(read.entries).toEqual(await logOf(store, id))
  expect(Math.max(...pages)).toBeLessThan(200_000)
  expect(count('events')).toBeLessThan(50)
})
