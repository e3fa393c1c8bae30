/** Restarts of a task: their number, the process that restarts it, and its notification. */
import { describe, expect, test } from 'vitest'
import type { JournalEntry } from '../../../src/core/events.js'
import { memoryStore, type DurableTaskManagerOptions, type LeasedTasksListener } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, type Faults } from '../../support/faulty-store.js'
import { uncaughtBy } from '../../support/uncaught.js'
import { replicas, says, textsOf, turn, type Replicas } from '../support/durable.js'
import { pass, worker, workers, type Worker, type Workers } from '../support/leased.js'

const RESTART = { recover: 'resume' } as const
const ABANDONED = 'The agent stopped before this task was finished'

/** A task that is worked on in a process whose time does not pass from now on. */
async function dying(
  options: Partial<DurableTaskManagerOptions> = {},
  begin: (dead: Worker) => void = () => undefined,
): Promise<Workers> {
  const all = workers({ ...RESTART, ...options })
  const { a } = replicas(1, { store: all.store }, new ManualClock())
  const dead = worker(a)
  dead.leased.createTask({ skill: 'test', id: 'x' }, { first: true })
  dead.leased.patchTask('x', { state: 'working' })
  begin(dead)
  await dead.leased.stored('x')
  await turn()
  return all
}

/** What a process was given to do again. */
function orphans({ calls }: Worker): unknown[] {
  return calls.flatMap((each) => ('orphan' in each ? [each.note] : []))
}

/** A process that is given the task, and stands still from then on. */
async function killed(all: Workers, options: Partial<DurableTaskManagerOptions> = {}): Promise<Worker> {
  const clock = new ManualClock()
  const { a } = replicas(1, { ...RESTART, ...options, store: all.store }, clock)
  const dead = worker(a)
  // Of the clock that the store goes by, what was held runs out.
  all.clock.advance(31_000)
  await pass(clock, 10_000)
  return dead
}

describe('a task that kills each process that works on it', () => {
  test('is begun again so often, and fails then', async () => {
    const all = await dying({ maxRestarts: 2, sweepIntervalMs: false })
    for (const count of [1, 1, 0, 0]) {
      const dead = await killed(all, { maxRestarts: 2 })
      expect(orphans(dead)).toEqual(Array.from({ length: count }, () => ({ first: true })))
    }
    expect(await all.b.getTask('x')).toMatchObject({ state: 'failed', message: ABANDONED })
  })

  test('is never restarted with maxRestarts: 0, which needs no holder', async () => {
    const { b, clock } = await dying({ maxRestarts: 0 })
    await pass(clock, 50_000)
    expect(await b.getTask('x')).toMatchObject({ state: 'failed', message: ABANDONED })
  })

  test('has three tries unless something else is said', async () => {
    const all = await dying({ sweepIntervalMs: false })
    for (const count of [1, 1, 1, 0]) expect(orphans(await killed(all))).toHaveLength(count)
    expect((await all.b.getTask('x'))?.state).toBe('failed')
  })

  test('may restart as often again after progress, which a new note shows', async () => {
    const all = await dying({ sweepIntervalMs: false })
    const once = { maxRestarts: 1 }
    const first = await killed(all, once)
    expect(orphans(first)).toHaveLength(1)
    first.leased.setNote('x', { second: true })
    await turn()
    expect(orphans(await killed(all, once))).toEqual([{ second: true }])
    expect(orphans(await killed(all, once))).toEqual([])
    expect((await all.b.getTask('x'))?.state).toBe('failed')
  })

  test('has as many again once its history has grown, although nothing else was stored since', async () => {
    const all = await dying({ sweepIntervalMs: false })
    const once = { maxRestarts: 1 }
    for (const name of ['a#1', 'b#1', 'c#1']) {
      const dead = await killed(all, once)
      expect(orphans(dead)).toEqual([{ first: true }])
      dead.leased.recordJournal('x', [{ kind: 'step', name, attempts: 1 }])
      await turn()
    }
    expect(orphans(await killed(all, once))).toHaveLength(1)
    expect(orphans(await killed(all, once))).toEqual([])
    expect((await all.b.getTask('x'))?.state).toBe('failed')
  })

  test('gets no more restarts for artifacts that it shows', async () => {
    const all = await dying({ sweepIntervalMs: false })
    const once = { maxRestarts: 1 }
    const dead = await killed(all, once)
    dead.leased.appendArtifact('x', { artifactId: 'log', parts: [{ text: 'again' }] })
    await turn()
    expect(orphans(await killed(all, once))).toEqual([])
    expect((await all.b.getTask('x'))?.state).toBe('failed')
  })

  test.each<[string, JournalEntry]>([
    ['what a step spends that kills its process', { kind: 'spend', step: 'deadly#1', units: { cost: 1 } }],
    ['what is added to its budget for that', { kind: 'grant', units: { cost: 1 } }],
  ])('gets no more restarts for %s', async (_, entry) => {
    const all = await dying({ sweepIntervalMs: false })
    const once = { maxRestarts: 1 }
    const dead = await killed(all, once)
    dead.leased.recordJournal('x', [entry])
    await turn()
    expect(orphans(await killed(all, once))).toEqual([])
    expect((await all.b.getTask('x'))?.state).toBe('failed')
  })

  test('has as many again once its history has grown, where a message restarts it', async () => {
    const all = await dying({ sweepIntervalMs: false, maxRestarts: 1 })
    for (const name of ['a#1', 'b#1']) {
      all.clock.advance(31_000)
      const own = { ...RESTART, store: all.store, maxRestarts: 1, sweepIntervalMs: false } as const
      const dead = worker(replicas(1, own, new ManualClock()).a)
      await dead.leased.acquire('x', { other: true })
      expect(orphans(dead)).toEqual([{ first: true }])
      dead.leased.recordJournal('x', [{ kind: 'step', name, attempts: 1 }])
      await dead.leased.stored('x')
    }
    expect(await all.b.stateOf('x')).toBe('working')
  })

  test('is not given more by a note that says nothing new', async () => {
    const all = await dying({ sweepIntervalMs: false })
    const once = { maxRestarts: 1 }
    const dead = await killed(all, once)
    dead.leased.setNote('x', { first: true })
    await turn()
    expect(orphans(await killed(all, once))).toEqual([])
    expect((await all.b.getTask('x'))?.state).toBe('failed')
  })
})

describe('setNote', () => {
  test('stores the note that the next holder receives: the latest', async () => {
    const { here, there, clock } = await dying({}, ({ leased }) => {
      for (const note of [1, 'two', { n: 3 }]) leased.setNote('x', note)
    })
    await turn()
    await pass(clock, 50_000)
    expect([here, there].flatMap(orphans)).toEqual([{ n: 3 }])
  })

  test('comes after what is on its way, and before the lease is given back', async () => {
    const { here, there, faults } = workers()
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test' })
    const asked: string[] = []
    faults.before = (step) => asked.push(step)
    leased.setNote(id, 'noted')
    leased.addMessage(id, says('hello'))
    expect(await leased.release(id)).toBe(true)
    expect(asked.filter((step) => ['create', 'release'].includes(step))).toEqual([
      'create',
      'release',
      'release',
    ])
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
  })

  test('that cannot be stored is reported to onError, and the one before it stays', async () => {
    const errors: unknown[] = []
    const { here, id, clock, faults, store } = await holding({ onError: (error) => errors.push(error) })
    faults.before = (step) => {
      if (step === 'release') throw new Error('Away')
    }
    here.leased.setNote(id, 'never')
    await pass(clock, 12_000)
    expect(errors).toMatchObject([{ code: 'STORE_FAILED', data: { operation: 'release' } }])
    expect(here.calls).toEqual([])
    clock.advance(31_000)
    expect(await store.orphans(1)).toMatchObject([{ note: { note: 'first' } }])
  })

  test('does not take the lease again that another process has held and given back', async () => {
    const { here, there, id, clock, faults, store } = await holding({
      sweepIntervalMs: false,
      recover: 'resume',
    })
    let go: (() => void) | undefined
    faults.before = async (step) => {
      // The process stands still: it renews nothing either.
      if (go !== undefined && step === 'renew') throw new Error('Paused')
      if (go === undefined && step !== 'renew') await new Promise<void>((resolve) => (go = resolve))
    }
    here.leased.setNote(id, 'late')
    await turn()
    await turn()
    clock.advance(31_000)
    await turn()
    faults.before = () => undefined
    const taken = { id: 'other', ttlMs: 30_000 }
    const [orphan] = await store.orphans(1)
    const key = orphan?.key ?? { id, createdAt: '' }
    expect(key.createdAt).not.toBe('')
    await store.acquire(key, taken)
    await store.release(key, 'other')
    go?.()
    await turn()
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
  })

  test('of a lease that another process holds reports that the lease is lost', async () => {
    const { here, there, id, clock, faults } = await holding({ sweepIntervalMs: false, recover: 'resume' })
    faults.before = (step) => {
      if (step === 'renew') throw new Error('Paused')
    }
    clock.advance(31_000)
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
    faults.before = undefined
    here.leased.setNote(id, 'late')
    await turn()
    expect(here.calls).toMatchObject([{ lost: id, reason: { code: 'LEASE_LOST' } }])
    expect(() => here.leased.setNote(id, 'later')).toThrow('Task not found')
  })

  test('does not take a lease back that was lost and is free by now', async () => {
    const { here, there, id, clock, faults } = await holding({ sweepIntervalMs: false, recover: 'resume' })
    faults.before = (step) => {
      if (step === 'renew') throw new Error('Paused')
    }
    clock.advance(31_000)
    await there.leased.acquire(id)
    there.leased.patchTask(id, { state: 'working' })
    there.leased.patchTask(id, { state: 'input-required' })
    expect(await there.leased.release(id)).toBe(true)
    faults.before = undefined
    here.leased.setNote(id, 'late')
    await turn()
    expect(here.calls.at(-1)).toMatchObject({ lost: id, reason: { code: 'LEASE_LOST' } })
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
  })

  test('of a task that has ended does nothing', async () => {
    const { here, id } = await holding()
    here.leased.patchTask(id, { state: 'rejected' })
    here.leased.setNote(id, 'late')
    expect(await here.leased.release(id)).toBe(true)
    expect(here.calls).toEqual([])
  })
})

describe('an orphan', () => {
  /** Records its name when it receives an orphan. */
  const listener = (recovered: string[], name: string, hasRoom: () => boolean): LeasedTasksListener => ({
    ...{ onNews: () => undefined, onLost: () => undefined, hasRoom },
    onOrphan: () => recovered.push(name),
  })

  /** A task whose lease has expired, and a process that has not looked for it yet. */
  async function left(): Promise<Replicas> {
    const { store, clock } = await dying({ sweepIntervalMs: false })
    clock.advance(31_000)
    return replicas(1, { ...RESTART, store })
  }

  /** Two processes after the death of one that held a task for this worker. */
  async function leftBy(name: string): Promise<Replicas> {
    const clock = new ManualClock()
    const store = memoryStore({ now: () => clock.now() })
    const { a: dead } = replicas(1, { store }, new ManualClock())
    const leased = dead.lease({ ...listener([], 'dead', () => true), worker: name })
    leased.createTask({ skill: 'test', id: 'x' }, 'its note')
    leased.patchTask('x', { state: 'working' })
    await leased.stored('x')
    clock.advance(31_000)
    return replicas(2, { ...RESTART, store }, clock)
  }

  test('is given to the first worker that has room', async () => {
    const { a, clock } = await left()
    const recovered: string[] = []
    a.lease(listener(recovered, 'full', () => false))
    a.lease(listener(recovered, 'free', () => true))
    a.lease(listener(recovered, 'later', () => true))
    await pass(clock, 10_000)
    expect(recovered).toEqual(['free'])
  })

  test('is left to other processes where none has room', async () => {
    const { a, clock, store } = await left()
    const recovered: string[] = []
    let hasRoom = false
    a.lease(listener(recovered, 'full', () => hasRoom))
    await pass(clock, 20_000)
    expect(recovered).toEqual([])
    expect(await store.orphans(1)).toHaveLength(1)
    hasRoom = true
    await pass(clock, 10_000)
    expect(recovered).toEqual(['full'])
  })

  test('is given only to a worker of the same name', async () => {
    const { a, b, clock } = await leftBy('gateway')
    const recovered: string[] = []
    a.lease(listener(recovered, 'handler', () => true))
    await pass(clock, 20_000)
    expect(recovered).toEqual([])
    b.lease({ ...listener(recovered, 'gateway', () => true), worker: 'gateway' })
    await pass(clock, 20_000)
    expect(recovered).toEqual(['gateway'])
  })

  test('is left to its own worker when another one has a message for it', async () => {
    const { a, b, clock } = await leftBy('gateway')
    const recovered: string[] = []
    const handler = a.lease(listener(recovered, 'handler', () => true))
    const acquired = await handler.acquire('x', 'another note')
    expect(acquired).toMatchObject({ type: 'elsewhere' })
    const seen = await a.peekTask('x')
    expect(seen && (await handler.send(seen, acquired.leaseId, says('hello')))).toBe(true)
    const notes: unknown[] = []
    b.lease({
      ...listener(recovered, 'gateway', () => true),
      worker: 'gateway',
      onOrphan: (task, note) => notes.push(note, textsOf(task)),
    })
    await pass(clock, 20_000)
    expect(recovered).toEqual([])
    expect(notes).toEqual(['its note', ['hello']])
  })

  test('is not given to a holder that throws when it is asked', async () => {
    const { a, clock, store } = await left()
    const thrown = new Error('From a listener')
    const recovered: string[] = []
    a.lease(
      listener(recovered, 'broken', () => {
        throw thrown
      }),
    )
    expect(await uncaughtBy(() => clock.advance(10_000))).toEqual([thrown])
    expect(recovered).toEqual([])
    expect(await store.orphans(1)).toHaveLength(1)
  })

  test.each(['acquire', 'heads', 'orphans'] as const)(
    'comes with all that was sent before, and what is sent during recovery is received once: at %s',
    async (moment) => {
      const { store } = await left()
      const clock = new ManualClock()
      const faults: Faults = {}
      const { a } = replicas(1, { ...RESTART, store: faultyStore(store, faults) }, clock)
      const { calls } = worker(a)
      await a.addMessage('x', says('before'))
      const sent: Promise<unknown>[] = []
      faults.after = (step) => {
        if (step === moment) sent.push(a.addMessage('x', says(`during ${sent.length}`)))
      }
      await pass(clock, 10_000)
      faults.after = undefined
      await Promise.all(sent)
      const texts = calls.flatMap((each) => {
        if ('orphan' in each) return textsOf(each.orphan)
        const events = 'changed' in each ? each.events : []
        return events.flatMap((event) => (event.type === 'message' ? event.message.parts[0]?.text : []))
      })
      expect(sent.length).toBeGreaterThan(0)
      expect(texts).toEqual(['before', ...sent.map((_, index) => `during ${index}`)])
    },
  )
})

async function holding(options: Partial<DurableTaskManagerOptions> = {}): Promise<Workers & { id: string }> {
  const all = workers(options)
  const { id } = all.here.leased.createTask({ skill: 'test' }, 'first')
  await all.here.leased.stored(id)
  return { ...all, id }
}
