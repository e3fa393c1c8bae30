/** Leases: acquire, renew, lose, release, and messages to the holder. */
import { describe, expect, test } from 'vitest'
import { A2AError, type TaskSnapshot } from 'a2a-tasks'
import type { LeasedTasks } from 'a2a-tasks/durable'
import { gate, lostOnce } from '../../support/faulty-store.js'
import { rejection, says, textsOf, turn } from '../support/durable.js'
import { pass, worker, workers, type Workers } from '../support/leased.js'

const LONG = { sweepIntervalMs: 1_000_000 }

/** A task that is worked on here. */
async function held(options = {}): Promise<Workers & { id: string; leaseId: string }> {
  const all = workers(options)
  const { id } = all.here.leased.createTask({ skill: 'test' })
  all.here.leased.patchTask(id, { state: 'working' })
  await all.here.leased.stored(id)
  const acquired = await all.here.leased.acquire(id)
  return { ...all, id, leaseId: acquired.leaseId }
}

async function peek({ b }: Workers, id: string): Promise<TaskSnapshot> {
  const task = await b.peekTask(id)
  if (task === null) throw new Error(`No task ${id}`)
  return task
}

/** Until `open` is called the first process cannot renew its leases. */
function pause({ faults }: Workers): () => void {
  faults.before = (step) => {
    if (step === 'renew') throw new Error('Paused')
  }
  return () => void (faults.before = undefined)
}

test('a renewal that gets no reply is repeated before the lease expires', async () => {
  const { clock, faults, store, id, here } = await held({ ...LONG, leaseMs: 3_000 })
  const { opened, open } = gate()
  let renewals = 0
  faults.before = (step) => {
    if (step !== 'renew') return undefined
    renewals += 1
    return renewals === 1 ? opened : undefined
  }
  for (let ms = 0; ms < 2_500; ms += 100) {
    clock.advance(100)
    await turn()
  }
  expect(renewals).toBe(2)
  await pass(clock, 700)
  expect(await store.orphans(10)).toEqual([])
  open()
  expect(here.leased.peekTask(id)).not.toBeNull()
})

describe('acquiring', () => {
  test('a task without a holder gives this process the lease, once', async () => {
    const { a, here, there } = workers()
    const { id } = await a.createTask({ skill: 'test' })
    const acquired = await here.leased.acquire(id, { who: 'here' })
    expect(acquired).toMatchObject({ type: 'acquired', task: { id } })
    expect(await here.leased.acquire(id)).toEqual(acquired)
    expect(await there.leased.acquire(id)).toEqual({ type: 'elsewhere', leaseId: acquired.leaseId })
    expect(here.leased.peekTask(id)).not.toBeNull()
    expect(there.leased.peekTask(id)).toBeNull()
  })

  test('at once, twice here and twice there, gives one process the lease', async () => {
    const { a, here, there } = workers()
    const { id } = await a.createTask({ skill: 'test' })
    const results = await Promise.all([here, there, here, there].map(({ leased }) => leased.acquire(id)))
    expect(new Set(results.map(({ leaseId }) => leaseId)).size).toBe(1)
    const [first, second, third, fourth] = results.map(({ type }) => type)
    expect([third, fourth]).toEqual([first, second])
    expect([first, second].toSorted()).toEqual(['acquired', 'elsewhere'])
  })

  test('by two workers of one manager succeeds for one', async () => {
    const { a, here } = workers()
    const other = worker(a)
    const { id } = await a.createTask({ skill: 'test' })
    const { leaseId } = await here.leased.acquire(id)
    expect(await other.leased.acquire(id)).toEqual({ type: 'elsewhere', leaseId })
    const task = await a.peekTask(id)
    if (task === null) throw new Error('No task')
    expect(await other.leased.send(task, leaseId, says('hello'))).toBe(true)
    expect(here.receivedTypes()).toEqual([['message']])
    expect(other.calls).toEqual([])
  })

  test('returns the task with the last changes of the previous holder', async () => {
    const all = await held()
    const { here, there, id } = all
    here.leased.addMessage(id, says('the last'))
    expect(await here.leased.release(id)).toBe(true)
    const acquired = await there.leased.acquire(id)
    expect(acquired.type === 'acquired' && textsOf(acquired.task)).toEqual(['the last'])
  })

  test('is refused where there is no such task, or it has ended', async () => {
    const { a, here } = workers()
    expect(await rejection(here.leased.acquire('unknown'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    const { id } = await a.createTask({ skill: 'test' })
    await a.cancelTask(id)
    expect(await rejection(here.leased.acquire(id))).toMatchObject({ code: 'TASK_TERMINAL' })
  })

  test('is taken again when the answer was lost', async () => {
    const { a, here, faults, clock } = workers()
    const { id } = await a.createTask({ skill: 'test' })
    faults.after = lostOnce('acquire')
    const acquiring = here.leased.acquire(id)
    await turn()
    await pass(clock, 1_000)
    expect(await acquiring).toMatchObject({ type: 'acquired' })
  })
})

describe('a lease', () => {
  test('is renewed as long as its task is held', async () => {
    const all = await held()
    await pass(all.clock, 200_000)
    expect(all.here.calls).toEqual([])
    expect(await all.there.leased.acquire(all.id)).toMatchObject({ type: 'elsewhere' })
    expect((await peek(all, all.id)).state).toBe('working')
  })

  test('that expired, and that no other process acquired, can still be renewed', async () => {
    const all = await held(LONG)
    const goOn = pause(all)
    await pass(all.clock, 100_000)
    expect(await all.store.orphans(10)).toHaveLength(1)
    goOn()
    await pass(all.clock, 10_000)
    expect(await all.store.orphans(10)).toEqual([])
    all.here.leased.patchTask(all.id, { message: 'Still here' })
    await all.here.leased.stored(all.id)
    expect(all.here.calls).toEqual([])
  })

  test('that another took after it ran out is lost: the signal aborts, onLost is called once', async () => {
    const all = await held({ ...LONG, recover: 'resume' })
    const { here, there, id } = all
    const signal = here.leased.signalOf(id)
    const goOn = pause(all)
    await pass(all.clock, 31_000)
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
    goOn()
    await pass(all.clock, 10_000)
    const reason = signal.reason as Error
    expect(reason).toMatchObject({ code: 'LEASE_LOST', data: { taskId: id } })
    expect(here.calls).toEqual([{ lost: id, reason }])
    expect(() => here.leased.patchTask(id, {})).toThrow('Task not found')
    expect(here.leased.peekTask(id)).toBeNull()
    // The task continues with the other.
    await pass(all.clock, 100_000)
    there.leased.patchTask(id, { state: 'completed' })
    await there.leased.stored(id)
    expect((await peek(all, id)).state).toBe('completed')
    expect(here.calls).toHaveLength(1)
  })

  test('that is lost fences off the changes of a process that was stopped', async () => {
    const all = await held({ ...LONG, recover: 'resume' })
    const { here, there, id } = all
    pause(all)
    await pass(all.clock, 31_000)
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
    const before = await peek(all, id)
    here.leased.patchTask(id, { message: 'of a zombie' })
    const added = all.a.addMessage(id, says('of any client'))
    const reason = await rejection(here.leased.stored(id))
    expect(reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(here.calls).toEqual([{ lost: id, reason }])
    // Nor does its manager show it; what needs no lease is stored.
    const { message } = await added
    const after = { ...before, messages: [message], generation: before.generation + 1 }
    for (const manager of all.managers) {
      expect(await manager.getTask(id)).toEqual({ ...after, updatedAt: (await peek(all, id)).updatedAt })
    }
  })

  test('is not lost by the end of the task, by any caller', async () => {
    const all = await held(LONG)
    await all.b.cancelTask(all.id)
    await pass(all.clock, 50_000)
    expect(all.here.receivedTypes()).toEqual([['status']])
    expect(all.here.calls).toHaveLength(1)
    expect(all.here.leased.peekTask(all.id)?.state).toBe('canceled')
  })

  test('is kept while the store takes no change, which is stored later', async () => {
    const all = await held(LONG)
    const { here, id, clock, faults } = all
    faults.before = (step) => {
      if (step === 'commit') throw new Error('Away')
    }
    here.leased.patchTask(id, { message: 'Stored late' })
    const stored = here.leased.stored(id)
    await pass(clock, 60_000)
    expect(here.calls).toEqual([])
    expect((await peek(all, id)).message).toBeUndefined()
    faults.before = undefined
    await pass(clock, 2_000)
    await stored
    expect((await peek(all, id)).message).toBe('Stored late')
  })

  test('of a task that is removed is lost with it', async () => {
    const all = await held(LONG)
    await all.store.delete(await all.store.unended('9', 10))
    await pass(all.clock, 10_000)
    expect(all.here.calls).toMatchObject([{ lost: all.id, reason: { code: 'TASK_NOT_FOUND' } }])
  })
})

describe('sending', () => {
  test('to a holder elsewhere stores a message, which the holder receives', async () => {
    const all = await held()
    const { here, there, id, leaseId } = all
    expect(await there.leased.send(await peek(all, id), leaseId, says('hello'))).toBe(true)
    await turn()
    expect(here.receivedTypes()).toEqual([['message']])
    expect(textsOf(here.leased.peekTask(id))).toEqual(['hello'])
    expect(there.calls).toEqual([])
  })

  test('to a task that waits has it continue, without its question', async () => {
    const all = await held()
    const { here, there, id, leaseId } = all
    here.leased.patchTask(id, { state: 'input-required', message: 'Which one?' })
    await here.leased.stored(id)
    expect(await there.leased.send(await peek(all, id), leaseId, says('this one'))).toBe(true)
    await turn()
    expect(here.receivedTypes()).toEqual([['message', 'status']])
    const task = await peek(all, id)
    expect([task.state, task.message, textsOf(task)]).toEqual(['working', undefined, ['this one']])
    // What the holder says of it by himself then is said already.
    here.leased.patchTask(id, { state: 'completed' })
    expect(await here.leased.release(id)).toBe(true)
  })

  test('by the holder reaches its listener before the call resolves', async () => {
    const all = await held()
    const { here, id, leaseId } = all
    const sent = here.leased.send(await peek(all, id), leaseId, says('to me'))
    expect(await sent.then((done) => [done, here.receivedTypes()])).toEqual([true, [['message']]])
  })

  test('to one that has changed since, or is held by another, or has ended changes nothing', async () => {
    const all = await held()
    const { there, a, id, leaseId } = all
    const seen = await peek(all, id)
    expect(await there.leased.send(seen, 'another lease', says('?'))).toBe(false)
    await a.addMessage(id, says('first'))
    expect(await there.leased.send(seen, leaseId, says('?'))).toBe(false)
    await a.cancelTask(id)
    expect(await there.leased.send(seen, leaseId, says('?'))).toBe(false)
    expect(textsOf(await peek(all, id))).toEqual(['first'])
  })

  test('of two callers that have seen the same version, one sends', async () => {
    const all = await held()
    const seen = await peek(all, all.id)
    const other = worker(all.b)
    const senders: LeasedTasks[] = [all.here.leased, all.there.leased, other.leased, all.there.leased]
    const sent = await Promise.all(senders.map((each) => each.send(seen, all.leaseId, says('me'))))
    expect(sent.filter(Boolean)).toHaveLength(1)
    expect(textsOf(await peek(all, all.id))).toEqual(['me'])
  })

  test('an invalid value is refused', async () => {
    const all = await held()
    const seen = await peek(all, all.id)
    const sent = all.there.leased.send(seen, all.leaseId, { role: 'user', parts: [] })
    expect(await rejection(sent)).toMatchObject({ code: 'INVALID_PARAMS' })
  })
})

describe('giving a lease back', () => {
  test('lets any process acquire the task', async () => {
    const all = await held()
    all.here.leased.patchTask(all.id, { state: 'input-required' })
    expect(await all.here.leased.release(all.id)).toBe(true)
    expect((await peek(all, all.id)).state).toBe('input-required')
    expect(await all.there.leased.acquire(all.id)).toMatchObject({ type: 'acquired' })
    await pass(all.clock, 60_000)
    expect(all.here.calls).toEqual([])
  })

  test('when a change arrives first reports the change, and keeps the lease', async () => {
    const all = await held()
    const { here, there, id, leaseId, faults } = all
    const { opened, open } = gate()
    faults.before = (step) => (step === 'release' || step === 'heads' ? opened : undefined)
    const released = here.leased.release(id).then((done) => [done, here.receivedTypes()])
    expect(await there.leased.send(await peek(all, id), leaseId, says('wait'))).toBe(true)
    open()
    expect(await released).toEqual([false, [['message']]])
    expect(textsOf(here.leased.peekTask(id))).toEqual(['wait'])
    await pass(all.clock, 60_000)
    expect(await here.leased.release(id)).toBe(true)
  })

  test('does not count as a loss, although the lease cannot be renewed during the release', async () => {
    const all = await held({ storeRetryMs: 30_000 })
    const { here, id, clock, faults } = all
    const { opened, open } = gate()
    faults.after = (step) => (step === 'release' ? opened : undefined)
    const released = here.leased.release(id)
    await pass(clock, 11_000)
    open()
    expect(await released).toBe(true)
    expect(here.calls).toEqual([])
  })

  test('resolves to true twice, and for a task that is not held', async () => {
    const all = await held()
    expect(await all.here.leased.release(all.id)).toBe(true)
    expect(await all.here.leased.release(all.id)).toBe(true)
    expect(await all.here.leased.release('unknown')).toBe(true)
  })

  test('waits until all is stored', async () => {
    const all = await held()
    const { opened, open } = gate()
    all.faults.before = (step) => (step === 'commit' ? opened : undefined)
    all.here.leased.patchTask(all.id, { state: 'completed' })
    let isReleased = false
    const released = all.here.leased.release(all.id).then(() => (isReleased = true))
    await turn()
    expect(isReleased).toBe(false)
    open()
    await released
    expect((await peek(all, all.id)).state).toBe('completed')
  })
})

describe('closing', () => {
  test('releases the tasks that wait, and lets the other leases expire', async () => {
    const all = await held({ recover: 'fail' })
    const { here, there, id, clock } = all
    const waits = here.leased.createTask({ skill: 'test' }).id
    here.leased.patchTask(waits, { state: 'working' })
    here.leased.patchTask(waits, { state: 'input-required' })
    await here.leased.close()
    expect(await there.leased.acquire(waits)).toMatchObject({ type: 'acquired' })
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'elsewhere' })
    expect(here.leased.peekTask(id)).toBeNull()
    expect(here.calls).toEqual([])
    await pass(clock, 50_000)
    expect(await peek(all, id)).toMatchObject({ state: 'failed' })
    const error = await rejection(here.leased.acquire(waits))
    expect(A2AError.is(error, 'UNAVAILABLE')).toBe(true)
    expect(() => here.leased.createTask({ skill: 'test' })).toThrow('takes no tasks')
  })

  test('does not release a task that was answered at the last moment', async () => {
    const all = await held({ recover: 'fail' })
    const { here, there, id, leaseId, faults, clock } = all
    here.leased.patchTask(id, { state: 'input-required' })
    await here.leased.stored(id)
    const { opened, open } = gate()
    faults.before = (step) => (step === 'release' || step === 'heads' ? opened : undefined)
    const closed = here.leased.close()
    await turn()
    expect(await there.leased.send(await peek(all, id), leaseId, says('this one'))).toBe(true)
    open()
    await closed
    await pass(clock, 50_000)
    // The message needed an answer and got none: the task failed.
    expect((await peek(all, id)).state).toBe('failed')
  })
})
