/** Changes of a process to its leased tasks. */
import { describe, expect, test } from 'vitest'
import { gate } from '../../support/faulty-store.js'
import { logOf, rejection, says, textsOf, turn } from '../support/durable.js'
import { pass, workers } from '../support/leased.js'

describe('a task that is held', () => {
  test('shows its changes to the holder at once, and stores them later, in order and together', async () => {
    const { here, a, b, store } = workers()
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test', id: 'x' }, { note: 1 })
    const added = leased.addMessage(id, says('hello'))
    leased.patchTask(id, { state: 'working' })
    expect(leased.appendArtifact(id, { artifactId: 'a', parts: [{ text: '1' }] }).append).toBe(false)
    expect(leased.appendArtifact(id, { artifactId: 'a', parts: [{ text: '2' }] }).append).toBe(true)
    expect(added).toMatchObject({ type: 'message', generation: 2 })
    expect(leased.peekTask(id)).toMatchObject({ state: 'working', generation: 5 })
    expect(leased.can(id, 'completed')).toBe(true)
    expect(leased.can(id, 'submitted')).toBe(false)
    expect(a.lastSeen(id)).toBeUndefined()
    expect(await store.get(id)).toBeUndefined()
    await leased.stored(id)
    // Changes in one turn are one creation: no reader receives less of it.
    expect((await store.get(id))?.events).toEqual([])
    expect(a.lastSeen(id)).toEqual(leased.peekTask(id))
    expect(await b.getTask(id)).toEqual(leased.peekTask(id))
    expect(here.calls).toEqual([])
  })

  test('is waited for without a read: the changes that are being stored come first, then those of others', async () => {
    const { here, a, b, faults, clock } = workers()
    const steps: string[] = []
    faults.before = (step) => void steps.push(step)
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test', id: 'x' })
    leased.patchTask(id, { state: 'working' })
    leased.patchTask(id, { state: 'input-required' })
    const asked = a.waitFor(id, { until: 'interrupted' })
    expect(await asked).toMatchObject({ state: 'input-required' })
    leased.patchTask(id, { state: 'working' })
    // The question that has just been answered is not the one that is waited for.
    const askedAgain = a.waitFor(id, { until: 'interrupted' })
    await leased.stored(id)
    expect(steps).not.toContain('heads')
    await b.cancelTask(id)
    await pass(clock, 6_000)
    expect(await askedAgain).toMatchObject({ state: 'canceled' })
  })

  test('is unknown to the methods of the holder before and after it is held', async () => {
    const { here, a } = workers()
    const { leased } = here
    const { id } = await a.createTask({ skill: 'test' })
    for (const expectNone of [true, false]) {
      expect(leased.peekTask(id)).toBeNull()
      expect(leased.can(id, 'working')).toBe(false)
      const calls = [
        () => leased.patchTask(id, {}),
        () => leased.addMessage(id, says('?')),
        () => leased.appendArtifact(id, {}),
        () => leased.signalOf(id),
      ]
      for (const call of calls) expect(call).toThrow(`Task not found: ${id}`)
      expect(await rejection(leased.finish(id, {}))).toMatchObject({ code: 'TASK_NOT_FOUND' })
      await leased.stored(id)
      expect(await leased.release(id)).toBe(true)
      if (!expectNone) continue
      expect(await leased.acquire(id)).toMatchObject({ type: 'acquired', task: { id } })
      expect(await leased.release(id)).toBe(true)
    }
  })

  test('stays known when it has ended, until it is released, without the store', async () => {
    const { here, a, faults } = workers()
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test' })
    const signal = leased.signalOf(id)
    await leased.stored(id)
    await a.cancelTask(id)
    expect(here.receivedTypes()).toEqual([['status']])
    expect(signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
    expect(leased.signalOf(id)).toBe(signal)
    expect(leased.peekTask(id)?.state).toBe('canceled')
    expect(leased.can(id, 'failed')).toBe(false)
    expect(() => leased.patchTask(id, {})).toThrow('terminal state')
    expect(await rejection(leased.finish(id, { state: 'failed' }))).toMatchObject({ code: 'TASK_TERMINAL' })
    faults.before = () => {
      throw new Error('No store')
    }
    expect(await leased.release(id)).toBe(true)
    expect(leased.peekTask(id)).toBeNull()
  })

  test('that ends with its creation has no lease', async () => {
    const { here, store, clock } = workers()
    const { id } = here.leased.createTask({ skill: 'test' })
    here.leased.patchTask(id, { state: 'failed' })
    await here.leased.stored(id)
    clock.advance(100_000)
    expect(await store.orphans(10)).toEqual([])
  })

  test('that exceeds a limit is refused at once', async () => {
    const { here } = workers({ limits: { maxMessages: 1 } })
    const { id } = here.leased.createTask({ skill: 'test' })
    here.leased.addMessage(id, says('one'))
    expect(() => here.leased.addMessage(id, says('two'))).toThrow('maxMessages')
    const late = { expectedGeneration: 1 }
    expect(() => here.leased.addMessage(id, says('two'), late)).toThrow('generation 2')
    await here.leased.stored(id)
  })
})

describe('an id', () => {
  test('that is held, or being created, is refused at once', () => {
    const { here } = workers()
    here.leased.createTask({ skill: 'test', id: 'x' })
    expect(() => here.leased.createTask({ skill: 'test', id: 'x' })).toThrow('id is taken: x')
  })

  test('that only the store knows: stored rejects, after onLost', async () => {
    const { here, there, b } = workers()
    await b.createTask({ skill: 'first', id: 'x' })
    here.leased.createTask({ skill: 'second', id: 'x' })
    const signal = here.leased.signalOf('x')
    const stored = rejection(here.leased.stored('x').finally(() => expect(here.calls).toHaveLength(1)))
    const reason = await stored
    expect(reason).toMatchObject({ code: 'INVALID_PARAMS', data: { path: 'id' } })
    expect(here.calls).toEqual([{ lost: 'x', reason }])
    expect(signal.reason).toBe(reason)
    expect(here.leased.peekTask('x')).toBeNull()
    // Later calls reject with it, too, until the id is held here again.
    expect(await rejection(here.leased.stored('x'))).toBe(reason)
    expect(await here.leased.acquire('x')).toMatchObject({ type: 'acquired', task: { skill: 'first' } })
    await here.leased.stored('x')
    expect(there.calls).toEqual([])
  })

  test('of a task that is gone can be used again, also where that task is remembered', async () => {
    const { here, a, b, store } = workers()
    const first = await a.createTask({ skill: 'first', id: 'x' })
    await b.cancelTask('x')
    await store.delete([first])
    here.leased.createTask({ skill: 'second', id: 'x' })
    await here.leased.stored('x')
    expect((await b.getTask('x'))?.skill).toBe('second')
    expect((await a.getTask('x'))?.skill).toBe('second')
  })
})

describe('what others do', () => {
  test('reaches the holder before its own change is stored, which is checked again', async () => {
    const { here, b, store } = workers()
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test' })
    await leased.stored(id)
    await b.addMessage(id, says('from there'))
    leased.addMessage(id, says('from here'))
    const stored = leased.stored(id).then(() => here.calls.length)
    expect(await stored).toBe(1)
    expect(here.calls).toMatchObject([{ changed: { generation: 3 }, events: [{ generation: 2 }] }])
    expect(textsOf(await b.getTask(id))).toEqual(['from there', 'from here'])
    expect((await logOf(store, id)).map(({ generation }) => generation)).toEqual([1, 2, 3])
  })

  test("reaches the holder when the same manager does it, by any method, unlike the holder's own changes", async () => {
    const { here, a } = workers()
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test' })
    leased.patchTask(id, { state: 'working' })
    await leased.stored(id)
    await a.addMessage(id, says('from here'))
    expect(here.calls).toMatchObject([{ events: [{ type: 'message' }] }])
    await a.patchTask(id, { state: 'failed', message: 'By hand' })
    expect(here.calls).toMatchObject([{}, { changed: { state: 'failed' }, events: [{ type: 'status' }] }])
  })

  test('drops changes that are no longer legal', async () => {
    const { here, b } = workers()
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test' })
    await leased.stored(id)
    await b.cancelTask(id)
    leased.addMessage(id, says('too late'))
    leased.patchTask(id, { state: 'working' })
    await leased.stored(id)
    expect(leased.peekTask(id)).toMatchObject({ state: 'canceled', messages: [] })
    expect(here.receivedTypes()).toEqual([['status']])
    expect(await leased.release(id)).toBe(true)
  })

  test('leaves the rest of an update whose state the task has by then', async () => {
    const { here, b, store } = workers()
    const { leased } = here
    for (const [rest, count] of [
      [{}, 2],
      [{ output: 1 }, 3],
      [{ message: 'Begun' }, 3],
    ] as const) {
      const { id } = leased.createTask({ skill: 'test' })
      await leased.stored(id)
      await b.patchTask(id, { state: 'working' })
      leased.patchTask(id, { state: 'working', ...rest })
      await leased.stored(id)
      expect(await logOf(store, id)).toHaveLength(count)
      expect(await b.getTask(id)).toMatchObject({ state: 'working', ...rest })
    }
    expect(here.calls.filter((each) => 'lost' in each)).toEqual([])
  })

  test('leaves the entries of the journal that come with a state which the task has by then', async () => {
    const { here, b, store } = workers()
    const { leased } = here
    for (const [message, types] of [
      [undefined, ['created', 'status', 'journal']],
      [says('Which one?'), ['created', 'status', 'message', 'journal', 'status']],
    ] as const) {
      const { id } = leased.createTask({ skill: 'test' })
      await leased.stored(id)
      await b.patchTask(id, { state: 'working' })
      const entry = { kind: 'value', name: 'now#1', value: 1 } as const
      leased.recordJournal(id, [entry], { message, update: { state: 'working', message } })
      await leased.stored(id)
      expect((await logOf(store, id)).map(({ type }) => type)).toEqual(types)
    }
  })

  test('does not make `stored` forget changes before a dropped one', async () => {
    const { here, a, b, faults } = workers()
    const { leased } = here
    faults.before = (step) => {
      if (step === 'listen') throw new Error('No hints')
    }
    const { id } = leased.createTask({ skill: 'test' })
    await leased.stored(id)
    const { opened, open } = gate()
    await b.patchTask(id, { state: 'working' })
    leased.addMessage(id, says('kept'))
    leased.patchTask(id, { state: 'working' })
    let commits = 0
    faults.before = (step) => (step === 'commit' && ++commits === 2 ? opened : undefined)
    let isStored = false
    const stored = leased.stored(id).then(() => (isStored = true))
    await turn()
    expect([commits, isStored]).toEqual([2, false])
    open()
    await stored
    expect(textsOf(await a.getTask(id))).toEqual(['kept'])
  })

  test('orders a pending question of the holder after a message that came first', async () => {
    const { here, there, b } = workers()
    const { leased } = here
    const { id } = leased.createTask({ skill: 'test' })
    leased.patchTask(id, { state: 'working' })
    await leased.stored(id)
    const seen = await b.peekTask(id)
    const acquired = await there.leased.acquire(id)
    if (seen === null || acquired.type !== 'elsewhere') throw new Error('It should be held elsewhere')
    expect(await there.leased.send(seen, acquired.leaseId, says('by the way'))).toBe(true)
    leased.addMessage(id, { role: 'agent', parts: [{ text: 'Which one?' }] })
    leased.patchTask(id, { state: 'input-required' })
    await leased.stored(id)
    expect(await b.getTask(id)).toMatchObject({ state: 'input-required' })
    expect(textsOf(await b.getTask(id))).toEqual(['by the way', 'Which one?'])
    expect(here.receivedTypes()).toEqual([['message']])
  })

  test('reaches the listener in its context, and an error of the listener affects nothing else', async () => {
    const { a, b } = workers()
    const thrown = new Error('From a listener')
    const fail = (): never => {
      throw thrown
    }
    const leased = a.lease({ onNews: fail, onLost: fail, onOrphan: fail })
    const { id } = leased.createTask({ skill: 'test' })
    await leased.stored(id)
    const errors: unknown[] = []
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', (error) => errors.push(error))
    await b.addMessage(id, says('one'))
    leased.addMessage(id, says('two'))
    await leased.stored(id)
    await turn()
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
    expect(errors).toEqual([thrown])
    expect(textsOf(await b.getTask(id))).toEqual(['one', 'two'])
  })
})

describe('finish', () => {
  test('ends the task when no other change came first', async () => {
    const { here, b } = workers()
    const { id } = here.leased.createTask({ skill: 'test' })
    here.leased.patchTask(id, { state: 'working' })
    const finished = here.leased.finish(id, { state: 'completed', output: 1 })
    expect(here.leased.peekTask(id)?.state).toBe('completed')
    expect(await finished).toBe(true)
    expect((await b.getTask(id))?.output).toBe(1)
  })

  test('changes nothing when another process came first, whose change was received before', async () => {
    const { here, b, store } = workers()
    const { id } = here.leased.createTask({ skill: 'test' })
    here.leased.patchTask(id, { state: 'working' })
    await here.leased.stored(id)
    await b.addMessage(id, says('wait'))
    const finished = here.leased.finish(id, { state: 'completed' }).then((done) => [done, here.calls.length])
    expect(await finished).toEqual([false, 1])
    expect(here.leased.peekTask(id)).toMatchObject({ state: 'working', messages: [{}] })
    expect(await logOf(store, id)).toHaveLength(3)
    expect(await here.leased.finish(id, { state: 'completed' })).toBe(true)
  })

  test('changes nothing when a caller here came first, whose change is not stored yet', async () => {
    const { here, a, b } = workers()
    const { id } = here.leased.createTask({ skill: 'test' })
    here.leased.patchTask(id, { state: 'working' })
    await here.leased.stored(id)
    const sent = a.addMessage(id, says('wait'))
    await Promise.resolve()
    await Promise.resolve()
    const finished = here.leased.finish(id, { state: 'completed' }).then((done) => [done, here.calls.length])
    await sent
    expect(await finished).toEqual([false, 1])
    expect((await b.getTask(id))?.state).toBe('working')
  })

  test('is refused for an illegal change', async () => {
    const { here } = workers()
    const { id } = here.leased.createTask({ skill: 'test' })
    const finished = rejection(here.leased.finish(id, { state: 'completed' }))
    expect(await finished).toMatchObject({ code: 'INVALID_TRANSITION' })
    expect(await here.leased.finish(id, { state: 'rejected' })).toBe(true)
  })

  test('of a task whose lease is lost rejects with the reason that onLost received', async () => {
    const { here, there, clock, faults } = workers({ sweepIntervalMs: 100_000, recover: 'resume' })
    const { id } = here.leased.createTask({ skill: 'test' })
    await here.leased.stored(id)
    faults.before = (step) => {
      if (step === 'renew') throw new Error('Paused')
    }
    await pass(clock, 30_000)
    expect(await there.leased.acquire(id)).toMatchObject({ type: 'acquired' })
    const reason = await rejection(here.leased.finish(id, { state: 'rejected' }))
    expect(reason).toMatchObject({ code: 'LEASE_LOST', data: { taskId: id } })
    expect(here.calls).toEqual([{ lost: id, reason }])
  })
})
