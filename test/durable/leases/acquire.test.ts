/** Messages sent while a lease is being acquired. */
import { describe, expect, test } from 'vitest'
import type { TaskSnapshot } from 'a2a-tasks'
import { gate, lostOnce } from '../../support/faulty-store.js'
import { rejection, says, textsOf, turn } from '../support/durable.js'
import { pass, worker, workers, type Worker, type Workers } from '../support/leased.js'

const LONG = { sweepIntervalMs: 1_000_000 }

/** A task that waits for its user, without a lease. */
async function waiting(options = {}): Promise<Workers & { id: string }> {
  const all = workers(options)
  const { id } = await all.b.createTask({ skill: 'test' })
  await all.b.addMessage(id, says('before'))
  await all.b.patchTask(id, { state: 'working' })
  await all.b.patchTask(id, { state: 'input-required' })
  return { ...all, id }
}

/** Acquires the lease. */
async function held({ leased }: Worker, id: string): Promise<{ leaseId: string; task: TaskSnapshot }> {
  const acquired = await leased.acquire(id)
  if (acquired.type !== 'acquired') throw new Error('It should be held here')
  return acquired
}

/** Sends under the lease that the task has by now. */
async function send({ b, there }: Workers, id: string, text: string): Promise<boolean> {
  const seen = await b.peekTask(id)
  const acquired = await there.leased.acquire(id)
  if (seen === null || acquired.type !== 'elsewhere') throw new Error('It should be held elsewhere')
  return await there.leased.send(seen, acquired.leaseId, says(text))
}

/** The texts of the messages that a worker received. */
function receivedTexts({ calls }: Worker): (string | undefined)[] {
  const events = calls.flatMap((each) => ('changed' in each ? each.events : []))
  return events.flatMap((event) =>
    event.type === 'message' ? event.message.parts.map(({ text }) => text) : [],
  )
}

describe('what is sent under a lease', () => {
  test('before the new holder knows of its lease reaches the holder, and nothing from before does', async () => {
    const all = await waiting()
    const { here, id, faults } = all
    const { opened, open } = gate()
    faults.after = (step) => (step === 'acquire' ? opened : undefined)
    const acquiring = here.leased.acquire(id)
    await turn()
    expect(await send(all, id, 'during')).toBe(true)
    open()
    expect(await acquiring).toMatchObject({ type: 'acquired', task: { state: 'working' } })
    expect(receivedTexts(here)).toEqual(['during'])
    expect(textsOf(here.leased.peekTask(id))).toEqual(['before', 'during'])
    await send(all, id, 'after')
    await turn()
    expect(receivedTexts(here)).toEqual(['during', 'after'])
  })

  test('while the new holder reads the task reaches the holder, even if another caller here reads the task first', async () => {
    const all = await waiting()
    const { a, here, id, faults } = all
    const { opened, open } = gate()
    faults.after = (step) => (step === 'acquire' ? opened : undefined)
    const acquiring = here.leased.acquire(id)
    await turn()
    expect(await send(all, id, 'during')).toBe(true)
    expect(textsOf(await a.getTask(id))).toEqual(['before', 'during'])
    open()
    await acquiring
    expect(receivedTexts(here)).toEqual(['during'])
  })

  test('by another worker of the same manager reaches the new holder', async () => {
    const { a, here, id, faults } = await waiting()
    const other = worker(a)
    const { opened, open } = gate()
    let isFirst = true
    faults.after = (step) => {
      if (step !== 'acquire' || !isFirst) return undefined
      isFirst = false
      return opened
    }
    const acquiring = here.leased.acquire(id)
    await turn()
    const { leaseId } = await other.leased.acquire(id)
    const seen = (await a.peekTask(id)) as TaskSnapshot
    expect(await other.leased.send(seen, leaseId, says('during'))).toBe(true)
    open()
    await acquiring
    expect(receivedTexts(here)).toEqual(['during'])
    expect(other.calls).toEqual([])
  })

  test('reaches the holder when the response to acquiring the lease was lost', async () => {
    const all = await waiting(LONG)
    const { here, id, faults, clock } = all
    faults.after = lostOnce('acquire')
    const acquiring = here.leased.acquire(id)
    await turn()
    expect(await send(all, id, 'during')).toBe(true)
    await pass(clock, 1_000)
    expect(await acquiring).toMatchObject({ type: 'acquired' })
    expect(receivedTexts(here)).toEqual(['during'])
  })

  test('does not include messages from before the lease', async () => {
    const all = await waiting()
    const { a, here, there, b, id, faults } = all
    await a.getTask(id)
    const { opened, open } = gate()
    faults.before = (step) => (step === 'acquire' ? opened : undefined)
    const acquiring = here.leased.acquire(id)
    await turn()
    const taken = await there.leased.acquire(id)
    await there.leased.send((await b.peekTask(id)) as TaskSnapshot, taken.leaseId, says('for others'))
    there.leased.patchTask(id, { state: 'input-required' })
    expect(await there.leased.release(id)).toBe(true)
    open()
    expect(await acquiring).toMatchObject({ type: 'acquired', task: { state: 'input-required' } })
    expect(here.calls).toEqual([])
  })
})

describe('a take that fails after all', () => {
  test('leaves the messages that were sent by then to the process that recovers the task', async () => {
    const all = await waiting({ recover: 'fail' })
    const { here, id, faults, clock, b } = all
    const { opened, open } = gate()
    faults.after = (step) => (step === 'acquire' ? opened : undefined)
    const acquiring = rejection(here.leased.acquire(id))
    await turn()
    expect(await send(all, id, 'during')).toBe(true)
    void here.leased.close()
    open()
    expect(await acquiring).toMatchObject({ code: 'UNAVAILABLE' })
    await pass(clock, 50_000)
    expect((await b.getTask(id))?.state).toBe('failed')
  })

  test('leaves no lease, even if it is unknown whether it was acquired', async () => {
    const { here, there, id, faults, clock } = await waiting(LONG)
    faults.after = (step) => {
      if (step === 'acquire') throw new Error('Lost')
    }
    const acquiring = rejection(here.leased.acquire(id))
    await pass(clock, 12_000)
    expect(await acquiring).toMatchObject({ code: 'STORE_FAILED' })
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
  })

  test('a holder whose lease is gone gives the task up when it sends a message', async () => {
    const { here, there, id, store } = await waiting(LONG)
    const { leaseId, task } = await held(here, id)
    await store.release(task, leaseId)
    expect(await here.leased.send(task, leaseId, says('late'))).toBe(false)
    expect(here.calls).toContainEqual(expect.objectContaining({ lost: id }))
    expect(here.leased.peekTask(id)).toBeNull()
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
  })

  test('a note is not stored under a lease that is free by then, and takes no lease', async () => {
    const { here, there, id, store, faults } = await waiting(LONG)
    const { leaseId, task } = await held(here, id)
    const { opened, open } = gate()
    let isPaused = false
    // The process is paused in the middle of what it does to store the note, after its first call.
    faults.after = () => {
      if (isPaused) return undefined
      isPaused = true
      return opened
    }
    here.leased.setNote(id, ['new'])
    await expect.poll(() => isPaused).toBe(true)
    await store.release(task, leaseId)
    open()
    await expect.poll(() => here.leased.peekTask(id)).toBeNull()
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
  })
})
