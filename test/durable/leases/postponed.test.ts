/** Tasks whose work waits without a process, and leases that others look at. */
import { describe, expect, test } from 'vitest'
import type { TaskSnapshot } from 'a2a-tasks'
import { memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { replicas, turn } from '../support/durable.js'
import { pass, worker, workers, type Worker, type Workers } from '../support/leased.js'

/** The notes of the tasks that a worker was given to go on with. */
function orphans({ calls }: Worker): unknown[] {
  return calls.flatMap((each) => ('orphan' in each ? [each.note] : []))
}

interface Held extends Workers {
  readonly task: TaskSnapshot
}

/** A task that is worked on in the first process. */
async function held(): Promise<Held> {
  const all = workers({ recover: 'resume' })
  const { id } = all.here.leased.createTask({ skill: 'test' }, { what: 'work' })
  all.here.leased.patchTask(id, { state: 'working' })
  await all.here.leased.stored(id)
  const task = await all.b.peekTask(id)
  if (task === null) throw new Error('There is one')
  return { ...all, task }
}

describe('a task that is postponed', () => {
  test('is found after its time, as it was, and this is none of its restarts', async () => {
    const { here, there, clock, task, store } = await held()
    const { id } = task
    const holder = (): Worker | undefined =>
      [here, there].find(({ leased }) => leased.leaseOf(id) !== undefined)
    for (let times = 0; times < 10; times += 1) {
      expect(await holder()?.leased.postpone(id, 20_000)).toBe(true)
      expect(holder()).toBeUndefined()
      await pass(clock, 19_000)
      expect(holder()).toBeUndefined()
      await pass(clock, 12_000)
    }
    expect(holder()).toBeDefined()
    expect(await store.orphans(10)).toEqual([])
    expect([...orphans(here), ...orphans(there)]).toEqual(
      Array.from({ length: 10 }, () => ({ what: 'work' })),
    )
  })

  test('is found at once when it is to go on, by a process that looks for work', async () => {
    const { here, there, task } = await held()
    there.leased.takeDue()
    await here.leased.postpone(task.id, 600_000)
    expect(await here.leased.handOutSoon(task, -5_000)).toBe(true)
    await turn()
    await turn()
    expect([here, there].filter(({ leased }) => leased.peekTask(task.id) !== null)).toHaveLength(1)
  })

  test('is not told of what it cannot hear', async () => {
    const { here, there, task, a } = await held()
    expect(await there.leased.handOutSoon(task, 0)).toBe(false)
    await here.leased.postpone(task.id, 600_000)
    await a.cancelTask(task.id)
    expect(await there.leased.handOutSoon(task, 0)).toBe(false)
  })

  test('stays where another caller changes it first', async () => {
    const { here, task, b } = await held()
    const postponed = here.leased.postpone(task.id, 1_000)
    await b.addMessage(task.id, { role: 'user', parts: [{ text: 'wait' }] })
    expect(await postponed).toBe(false)
    expect(here.leased.leaseOf(task.id)).toBeDefined()
  })
})

describe('a lease', () => {
  test('is held while its process renews it', async () => {
    const { here, there, task, clock } = await held()
    const leaseId = here.leased.leaseOf(task.id) ?? ''
    await pass(clock, 100_000)
    expect(await there.leased.isHeld(task, leaseId)).toBe(true)
    expect(await there.leased.isHeld(task, 'another')).toBe(false)
    expect(here.leased.leaseOf(task.id)).toBe(leaseId)
  })

  test('that has expired is over for its process, and its task is found', async () => {
    // Of this process no time passes.
    const clock = new ManualClock()
    const store = memoryStore({ now: () => clock.now() })
    const still = new ManualClock()
    const first = worker(replicas(1, { store, recover: 'resume' }, still).a)
    const second = worker(replicas(1, { store, recover: 'resume', sweepIntervalMs: false }, clock).a)
    const { id } = first.leased.createTask({ skill: 'test' }, { what: 'work' })
    first.leased.patchTask(id, { state: 'working' })
    await first.leased.stored(id)
    const task = first.leased.peekTask(id)
    if (task === null) throw new Error('There is one')
    const leaseId = first.leased.leaseOf(id) ?? ''
    clock.advance(31_000)
    expect(await second.leased.isHeld(task, leaseId)).toBe(false)
    expect(await store.orphans(10)).toMatchObject([{ leaseId: 'parked', note: { note: { what: 'work' } } }])
    await pass(still, 20_000)
    expect(first.calls[0]).toMatchObject({ lost: id, reason: { code: 'LEASE_LOST' } })
  })

  test('is none of a task that has ended, is gone, or waits for the user', async () => {
    const { here, there, task, a, store } = await held()
    const leaseId = here.leased.leaseOf(task.id) ?? ''
    here.leased.patchTask(task.id, { state: 'input-required' })
    await here.leased.release(task.id)
    expect(await there.leased.isHeld(task, leaseId)).toBe(false)
    there.leased.takeDue()
    await turn()
    await turn()
    expect(await store.orphans(10)).toEqual([])
    await a.cancelTask(task.id)
    expect(await there.leased.isHeld(task, leaseId)).toBe(false)
    await a.deleteTask(task.id)
    expect(await there.leased.isHeld(task, leaseId)).toBe(false)
  })
})
