/** Giving leases back while something is done to their tasks, and what is known of tasks that were lost. */
import { describe, expect, test } from 'vitest'
import { gate } from '../../support/faulty-store.js'
import { rejection, says, turn } from '../support/durable.js'
import { workers, type Workers } from '../support/leased.js'

async function waiting(): Promise<Workers & { id: string }> {
  const all = workers({ sweepIntervalMs: false })
  const { id } = all.here.leased.createTask({ skill: 'test' })
  all.here.leased.patchTask(id, { state: 'working' })
  all.here.leased.patchTask(id, { state: 'input-required' })
  await all.here.leased.stored(id)
  return { ...all, id }
}

describe('while a lease is given back', () => {
  test('no change is accepted that might not be stored', async () => {
    const { here, id, faults, b } = await waiting()
    const { opened, open } = gate()
    faults.after = (step) => (step === 'release' ? opened : undefined)
    const released = here.leased.release(id)
    await turn()
    const changes = [
      () => here.leased.appendArtifact(id, { parts: [{ text: 'lost' }] }),
      () => here.leased.addMessage(id, says('lost')),
      () => here.leased.patchTask(id, { message: 'lost' }),
      () => here.leased.setNote(id, 'lost'),
    ]
    for (const change of changes) expect(change).toThrow(`Task not found: ${id}`)
    const finished = await rejection(here.leased.finish(id, { state: 'completed' }))
    expect(finished).toMatchObject({ code: 'TASK_NOT_FOUND' })
    open()
    expect(await released).toBe(true)
    await here.leased.stored(id)
    expect((await b.getTask(id))?.generation).toBe(3)
    expect(here.calls).toEqual([])
  })

  test('and has to be kept after all, changes are taken again', async () => {
    const { here, id, faults, b } = await waiting()
    faults.before = async (step) => {
      faults.before = undefined
      if (step === 'release') await b.addMessage(id, says('wait'))
    }
    expect(await here.leased.release(id)).toBe(false)
    here.leased.patchTask(id, { message: 'Still here' })
    expect(await here.leased.release(id)).toBe(true)
    expect((await b.getTask(id))?.message).toBe('Still here')
  })

  test('a change that waits for others does not finish the task', async () => {
    const { here, a, id, faults, b } = await waiting()
    const { opened, open } = gate()
    faults.before = (step) => (step === 'commit' ? opened : undefined)
    void a.addMessage(id, says('on its way'))
    await turn()
    const finished = here.leased.finish(id, { state: 'failed' })
    const released = here.leased.release(id)
    open()
    expect(await finished).toBe(false)
    // A change came first.
    expect(await released).toBe(false)
    expect(await here.leased.release(id)).toBe(true)
    expect((await b.getTask(id))?.state).toBe('input-required')
  })

  test('releasing it again is the same release, and acquiring it comes after', async () => {
    const { here, id, faults, store } = await waiting()
    const { opened, open } = gate()
    let releases = 0
    faults.before = (step) => {
      if (step === 'release') releases += 1
      return step === 'release' ? opened : undefined
    }
    const released = [here.leased.release(id), here.leased.release(id)]
    const acquiring = here.leased.acquire(id)
    await turn()
    open()
    expect(await Promise.all(released)).toEqual([true, true])
    expect(releases).toBe(1)
    const { type, leaseId } = await acquiring
    expect(type).toBe('acquired')
    const [key] = await store.heads([id])
    if (key === undefined) throw new Error('No task')
    expect(await store.renew([{ key, id: leaseId }], 1_000)).toEqual([leaseId])
  })
})

describe('stored', () => {
  test('of a task that was lost before rejects with the reason, until it is given back', async () => {
    const { here, b } = workers()
    await b.createTask({ skill: 'first', id: 'x' })
    here.leased.createTask({ skill: 'second', id: 'x' })
    await turn()
    expect(here.calls).toMatchObject([{ lost: 'x' }])
    for (let times = 0; times < 2; times += 1) {
      expect(await rejection(here.leased.stored('x'))).toMatchObject({ code: 'INVALID_PARAMS' })
    }
    expect(await here.leased.release('x')).toBe(true)
    await here.leased.stored('x')
  })

  test('remembers the latest losses only', async () => {
    const { here, b } = workers()
    const ids = Array.from({ length: 1_001 }, (_, index) => `task ${index}`)
    for (const id of ids) await b.createTask({ skill: 'first', id })
    for (const id of ids) here.leased.createTask({ skill: 'second', id })
    await turn()
    expect(here.calls).toHaveLength(1_001)
    await here.leased.stored('task 0')
    for (const id of ids.slice(1)) await rejection(here.leased.stored(id))
  })
})
