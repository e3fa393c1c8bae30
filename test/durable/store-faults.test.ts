/** A store that fails: before or after it has done what it was asked, for a moment or for good. */
import { describe, expect, test } from 'vitest'
import { A2AError } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type Hint } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, gate, type Faults, type StepName } from '../support/faulty-store.js'
import { uncaughtBy } from '../support/uncaught.js'
import { expectWarnings } from '../support/warnings.js'
import { logOf, reading, rejection, replicas, says, textsOf, turn, type Replicas } from './support/durable.js'

const GONE = new Error('The connection is gone')

function setup(
  count = 1,
): Replicas & { faults: Faults; asked: StepName[]; inner: ReturnType<typeof memoryStore> } {
  const clock = new ManualClock()
  const inner = memoryStore({ now: () => clock.now() })
  const faults: Faults = {}
  const asked: StepName[] = []
  const given: Faults = {
    before: (step, args) => {
      asked.push(step)
      return faults.before?.(step, args)
    },
    after: (step, args, result) => faults.after?.(step, args, result),
    hint: (ids) => faults.hint?.(ids) ?? ids,
  }
  return { ...replicas(count, { store: faultyStore(inner, given) }, clock), faults, asked, inner }
}

/** Fails the first `count` steps of this name. */
function failing(name: StepName, count: number): (step: StepName) => void {
  let left = count
  return (step) => {
    if (step === name && left-- > 0) throw GONE
  }
}

/** Lets time pass, in steps that let those who wait for it ask again. */
async function wait(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 25) {
    clock.advance(25)
    await turn()
  }
}

describe('a step that fails', () => {
  test('is taken again, until it is done', async () => {
    const { a, faults, clock, asked } = setup()
    faults.before = failing('create', 3)
    const created = a.createTask({ skill: 'test', id: 'x' })
    await wait(clock, 500)
    expect((await created).id).toBe('x')
    expect(asked.filter((step) => step === 'create')).toHaveLength(4)
  })

  test.each(['create', 'commit'] as const)(
    'was done though it said otherwise: %s is done once',
    async (step) => {
      const { a, faults, clock, inner } = setup()
      if (step === 'commit') await a.createTask({ skill: 'test', id: 'x' })
      const emitted: number[] = []
      a.on('task:event', ({ generation }) => emitted.push(generation))
      faults.after = failing(step, 2)
      const changed =
        step === 'create' ? a.createTask({ skill: 'test', id: 'x' }) : a.addMessage('x', says('one'))
      await turn()
      expect(emitted).toEqual([])
      await wait(clock, 500)
      await changed
      const log = await logOf(inner, 'x')
      expect(log).toHaveLength(step === 'create' ? 1 : 2)
      expect(emitted).toEqual([log.length])
    },
  )

  test('is reported with its cause when it fails for longer than storeRetryMs', async () => {
    const { a, faults, clock, inner } = setup()
    await a.createTask({ skill: 'test', id: 'x' })
    const emitted: unknown[] = []
    a.on('task:event', (event) => emitted.push(event))
    faults.before = failing('commit', Infinity)
    let isSettled = false
    const changed = rejection(a.addMessage('x', says('one'))).finally(() => (isSettled = true))
    await wait(clock, 8_000)
    expect(isSettled).toBe(false)
    await wait(clock, 2_000)
    const error = await changed
    expect(error).toMatchObject({ code: 'STORE_FAILED', data: { operation: 'commit' }, cause: GONE })
    expect(emitted).toEqual([])
    expect(await logOf(inner, 'x')).toHaveLength(1)
    faults.before = undefined
    expect(textsOf(await a.getTask('x'))).toEqual([])
    await a.addMessage('x', says('two'))
    expect(textsOf(await a.getTask('x'))).toEqual(['two'])
  })

  test('may have been stored although it is reported: then readers find it in the log', async () => {
    const { a, b, faults, clock, inner } = setup(2)
    await a.createTask({ skill: 'test', id: 'x' })
    const read = reading(b.subscribe('x', { after: 1 }))
    faults.after = failing('commit', Infinity)
    const changed = rejection(a.addMessage('x', says('one')))
    await wait(clock, 12_000)
    expect(A2AError.is(await changed, 'STORE_FAILED')).toBe(true)
    faults.after = undefined
    await a.addMessage('x', says('two'))
    expect(textsOf(await a.getTask('x'))).toEqual(['one', 'two'])
    await turn()
    expect(read.entries).toEqual((await logOf(inner, 'x')).slice(1))
  })

  test('of reading is taken again, too', async () => {
    const { a, faults, clock } = setup()
    await a.createTask({ skill: 'test', id: 'x' })
    for (const step of ['heads', 'list', 'count'] as const) {
      faults.before = failing(step, 2)
      const read =
        step === 'heads' ? a.getTask('x') : step === 'list' ? a.listTasks().then(([task]) => task) : a.size()
      await wait(clock, 200)
      expect(await read).toBeTruthy()
    }
  })
})

describe('while the store is slow', () => {
  test('a change is emitted only once it is stored', async () => {
    const { a, faults } = setup()
    await a.createTask({ skill: 'test', id: 'x' })
    const { opened, open } = gate()
    const emitted: unknown[] = []
    a.on('task:updated', (task) => emitted.push(textsOf(task)))
    const read = reading(a.subscribe('x', { after: 1 }))
    const waited = a.waitFor('x', { until: ({ messages }) => messages.length > 0 })
    await turn()
    faults.before = (step) => (step === 'commit' ? opened : undefined)
    const added = a.addMessage('x', says('one'))
    await turn()
    expect(emitted).toEqual([])
    expect(read.entries).toEqual([])
    expect(textsOf(a.lastSeen('x'))).toEqual([])
    open()
    await added
    expect(textsOf(await waited)).toEqual(['one'])
    await turn()
    expect(emitted).toEqual([['one']])
    expect(read.entries).toHaveLength(1)
  })

  test('a read returns no state older than the call', async () => {
    const { a, b, faults } = setup(2)
    await a.createTask({ skill: 'test', id: 'x' })
    const { opened, open } = gate()
    // The store has answered, and the answer takes its time.
    faults.after = (step) => (step === 'heads' ? opened : undefined)
    const earlier = a.stateOf('x')
    await turn()
    await b.cancelTask('x')
    const later = a.stateOf('x')
    open()
    expect([await earlier, await later]).toEqual(['submitted', 'canceled'])
  })

  test('changes gather, and are stored together in their order', async () => {
    const { a, faults, asked, inner } = setup()
    await a.createTask({ skill: 'test', id: 'x' })
    const { opened, open } = gate()
    faults.before = (step) => (step === 'commit' ? opened : undefined)
    const added = Array.from({ length: 300 }, (_, index) => a.addMessage('x', says(String(index))))
    await turn()
    expect(asked.filter((step) => step === 'commit')).toHaveLength(1)
    open()
    const entries = await Promise.all(added)
    expect(asked.filter((step) => step === 'commit').length).toBeLessThanOrEqual(3)
    expect(await logOf(inner, 'x')).toEqual([expect.anything(), ...entries])
  })

  test('a change that a pending one makes illegal is refused once that one is stored', async () => {
    const { a, faults } = setup()
    await a.createTask({ skill: 'test', id: 'x' })
    const { opened, open } = gate()
    faults.before = (step) => (step === 'commit' ? opened : undefined)
    const canceled = a.cancelTask('x')
    const late = rejection(a.addMessage('x', says('late')))
    await turn()
    open()
    expect((await canceled).state).toBe('canceled')
    expect(await late).toMatchObject({ code: 'TASK_TERMINAL' })
  })

  test('a change is not refused because of one that failed', async () => {
    const { a, faults, clock } = setup()
    await a.createTask({ skill: 'test', id: 'x' })
    faults.before = (step) => {
      if (step === 'commit') throw GONE
    }
    const canceled = rejection(a.cancelTask('x'))
    const late = a.addMessage('x', says('late'))
    await wait(clock, 10_000)
    expect(await canceled).toMatchObject({ code: 'STORE_FAILED' })
    faults.before = undefined
    await wait(clock, 1_000)
    expect(await late).toMatchObject({ type: 'message', generation: 2 })
  })
})

test('errors of background calls go to onError, whose own errors affect nothing', async () => {
  const clock = new ManualClock()
  const reported: unknown[] = []
  const faults: Faults = { before: failing('orphans', 2) }
  const store = faultyStore(memoryStore({ now: () => clock.now() }), faults)
  const own = new Error('From onError')
  const onError = (error: unknown): void => {
    reported.push(error)
    throw own
  }
  const tasks = new DurableTaskManager({ store, clock, onError })
  for (let sweeps = 1; sweeps <= 2; sweeps += 1) {
    // Turned over to the runtime, as what any listener throws.
    expect(await uncaughtBy(() => clock.advance(10_000))).toEqual([own])
    await turn()
    expect(reported).toHaveLength(sweeps)
  }
  expect(reported[0]).toMatchObject({ code: 'STORE_FAILED', data: { operation: 'orphans' }, cause: GONE })
  await tasks.destroy()
})

test('background failures without onError are warnings, at most one a minute', async () => {
  const warnings = expectWarnings(
    /^DurableTaskManager: StoreFailedError: .*orphans.*\. The call is repeated\. Pass "onError"/,
  )
  const clock = new ManualClock()
  const faults: Faults = { before: failing('orphans', Infinity) }
  const store = faultyStore(memoryStore({ now: () => clock.now() }), faults)
  const tasks = new DurableTaskManager({ store, clock })
  const counts: number[] = []
  for (let sweeps = 1; sweeps <= 14; sweeps += 1) {
    await wait(clock, 10_000)
    await turn()
    counts.push(warnings.length)
  }
  // The first sweep fails after ten seconds, the seventh a minute later.
  expect(counts).toEqual([...Array<number>(6).fill(1), ...Array<number>(6).fill(2), 3, 3])
  await tasks.destroy()
})

test('hints that are lost, doubled or cannot be sent change nothing', async () => {
  const { a, b, faults, clock } = setup(2)
  await a.createTask({ skill: 'test', id: 'x' })
  const read = reading(b.subscribe('x', { after: 0 }))
  await turn()
  const unknown = { taskId: 'unknown', generation: 1 }
  const perHint = [() => [], (hints: readonly Hint[]) => [...hints, ...hints, unknown], undefined]
  for (const [index, hint] of perHint.entries()) {
    faults.hint = hint
    faults.before = index === 2 ? failing('publish', Infinity) : undefined
    await a.addMessage('x', says(String(index)))
    await turn()
  }
  clock.advance(5_000)
  await turn()
  expect(read.entries.map(({ generation }) => generation)).toEqual([1, 2, 3, 4])
})

test('a store that cannot be listened to at first is polled, and listened to as soon as it can be', async () => {
  const { a, b, faults, clock, asked } = setup(2)
  await a.createTask({ skill: 'test', id: 'x' })
  faults.before = failing('listen', 1)
  const read = reading(b.subscribe('x', { after: 1 }))
  await turn()
  await a.addMessage('x', says('polled'))
  clock.advance(5_000)
  await turn()
  expect(read.entries).toHaveLength(1)
  await a.addMessage('x', says('hinted'))
  await turn()
  expect(read.entries).toHaveLength(2)
  expect(asked.filter((step) => step === 'listen')).toHaveLength(2)
})

test('a listener that never receives a hint does not end polling', async () => {
  const { a, b, faults, clock } = setup(2)
  await a.createTask({ skill: 'test', id: 'x' })
  const { opened, open } = gate()
  faults.before = (step) => (step === 'listen' ? opened : undefined)
  const read = reading(b.subscribe('x', { after: 1 }))
  await turn()
  for (let count = 1; count <= 3; count += 1) {
    await a.addMessage('x', says('polled'))
    clock.advance(5_000)
    await turn()
    expect(read.entries).toHaveLength(count)
  }
  open()
})

test('destroying tries pending calls once more, and leaves no timer', async () => {
  const { a, faults, clock, inner } = setup()
  await a.createTask({ skill: 'test', id: 'x' })
  faults.before = failing('commit', 1)
  const added = a.addMessage('x', says('last'))
  await turn()
  await a.destroy()
  await added
  expect(await logOf(inner, 'x')).toHaveLength(2)
  expect(clock.pending).toBe(0)
})

test('a task that the store no longer has is reported as removed', async () => {
  const { a, b, inner } = setup(2)
  await a.createTask({ skill: 'test', id: 'x' })
  const read = reading(b.subscribe('x'))
  await turn()
  const [key] = await inner.heads(['x'])
  if (key !== undefined) await inner.delete([key])
  expect(await a.getTask('x')).toBeNull()
  expect(await rejection(a.addMessage('x', says('?')))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  expect(await b.getTask('x')).toBeNull()
  expect(await read.ended).toMatchObject({ code: 'TASK_EXPIRED' })
  expect((await a.createTask({ skill: 'new', id: 'x' })).skill).toBe('new')
})
