/** The durable manager's own behaviour: options, listing, cache, restore and close. */
import { saveTasks, restoreTasks } from 'a2a-tasks'
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, gate, type StepName } from '../support/faulty-store.js'
import { ROOT } from '../support/repository.js'
import { logOf, reading, rejection, replicas, says, turn } from './support/durable.js'
import { pass, worker } from './support/leased.js'

const store = memoryStore()
const LISTENER = { onNews: () => undefined, onLost: () => undefined, onOrphan: () => undefined }

describe('options that are invalid are named', () => {
  test.each([
    ['The options of DurableTaskManager must be an object, got undefined', undefined],
    ['"store" must be a store of tasks, such as memoryStore(), got undefined', {}],
    ['"store" must be a store of tasks', { store: null }],
    ['"store" must be a store of tasks: it has no method "create"', { store: {} }],
    ['Unknown option "maxTasks" of DurableTaskManager', { store, maxTasks: 1 }],
    ['"leaseMs"', { store, leaseMs: 0 }],
    ['"leaseMs"', { store, leaseMs: 2 ** 31 }],
    ['"pollIntervalMs"', { store, pollIntervalMs: NaN }],
    ['"sweepIntervalMs"', { store, sweepIntervalMs: -1 }],
    ['"storeRetryMs"', { store, storeRetryMs: '1' }],
    ['"maxCached"', { store, maxCached: 1.5 }],
    ['"recover" must be \'fail\' or \'resume\', got "ignore"', { store, recover: 'ignore' }],
    ['"onError" must be a function', { store, onError: 'log' }],
    ['"retention" must be an object, got a boolean', { store, retention: true }],
    [
      '"feedSize" is an option of the store: new DurableTaskManager({ store: memoryStore({ feedSize: 10_000 }) })',
      { store, feedSize: 10 },
    ],
    ['Unknown option "retention.working" of DurableTaskManager', { store, retention: { working: {} } }],
    ['"retention.failed" must be an object, got a number', { store, retention: { failed: 5 } }],
    ['Unknown option "retention.failed.maxAge"', { store, retention: { failed: { maxAge: 1 } } }],
    ['"retention.failed.maxAgeMs"', { store, retention: { failed: { maxAgeMs: -1 } } }],
    [
      '"retention.default.maxCount" must be an integer from 0 or Infinity, got 0.5',
      { store, retention: { default: { maxCount: 0.5 } } },
    ],
    ['"maxRestarts" must be an integer from 0, got -1', { store, maxRestarts: -1 }],
    ['"sweepIntervalMs"', { store, sweepIntervalMs: true }],
    ['pass the store as { store }', store],
    ['"store" must be a store of tasks, got a promise: await it', { store: Promise.resolve(store) }],
    ['"eventLogSize"', { store, eventLogSize: 0 }],
    ['"taskTimeoutMs"', { store, taskTimeoutMs: -1 }],
    ['"clock"', { store, clock: {} }],
  ])('%s', (message, options) => {
    expect(() => new DurableTaskManager(options as never)).toThrow(message)
  })
})

describe('listing', () => {
  test('pages by latest change, counts, and filters, in whichever manager', async () => {
    const { a, b, clock } = replicas(2)
    for (let index = 0; index < 7; index += 1) {
      clock.advance(1)
      const owner = index % 2 === 0 ? 'ada' : undefined
      await a.createTask({ skill: `skill ${index % 3}`, id: `${index}`, ...(owner && { owner }) })
    }
    clock.advance(1)
    await a.updateTask('2', { state: 'working' })
    const seen: string[] = []
    for (let cursor: string | undefined; ;) {
      const page = await b.pageTasks({ pageSize: 3, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.tasks.map(({ id }) => id))
      cursor = page.nextCursor
      if (cursor === undefined) break
    }
    expect(seen).toEqual(['2', '6', '5', '4', '3', '1', '0'])
    expect((await b.pageTasks({ pageSize: 7 })).nextCursor).toBeUndefined()
    expect((await b.listTasks({ owner: null })).map(({ id }) => id)).toEqual(['1', '3', '5'])
    expect(await b.countTasks({ owner: 'ada', skill: 'skill 0' })).toBe(2)
    expect(await b.countTasks({ state: 'working' })).toBe(1)
    expect(await b.size()).toBe(7)
    const { updatedAt = '' } = (await a.peekTask('6')) ?? {}
    expect((await b.pageTasks({ updatedSince: updatedAt })).tasks.map(({ id }) => id)).toEqual(['2', '6'])
    expect(await b.countTasks({ updatedSince: updatedAt })).toBe(2)
    expect(await b.countTasks({ updatedSince: updatedAt, state: 'working' })).toBe(1)
    expect((await b.listTasks({ updatedSince: updatedAt })).map(({ id }) => id)).toEqual(['2', '6'])
  })

  test('of one moment continues after the task where it stopped, whatever its id', async () => {
    const { a } = replicas(1)
    const ids = ['a.b', 'a b', 'ü', '\u0000', 'a\nb', '%41', '\ud83d\ude00', '𝒳.']
    for (const id of ids) await a.createTask({ skill: 'test', id })
    const seen: string[] = []
    for (let cursor: string | undefined; ;) {
      const page = await a.pageTasks({ pageSize: 1, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.tasks.map(({ id }) => id))
      cursor = page.nextCursor
      if (cursor === undefined) break
    }
    expect(seen.toSorted()).toEqual(ids.toSorted())
  })

  test.each([
    '',
    'x',
    '.',
    'zzzzzzzzzzzz.a',
    '0.',
    '0.%',
    '0.%ED%A0%80',
    '-1.a',
    'null',
    '{"a":1}',
    '0.a.b\n%zz',
  ])('refuses the cursor %o', async (cursor) => {
    const { a } = replicas(1)
    expect(await rejection(a.pageTasks({ cursor }))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'cursor' },
    })
  })

  test('refuses a filter that is invalid', async () => {
    const { a } = replicas(1)
    expect(await rejection(a.listTasks({ owner: undefined } as never))).toMatchObject({
      code: 'INVALID_PARAMS',
    })
    expect(await rejection(a.countTasks({ state: 'baking' } as never))).toMatchObject({
      code: 'INVALID_PARAMS',
    })
    expect(await rejection(a.pageTasks({ pageSize: 0 }))).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  test('has every task, though some change while it reads one page after the other', async () => {
    const clock = new ManualClock()
    const inner = memoryStore()
    const { a } = replicas(1, { store: inner }, clock)
    for (let index = 0; index < 1_100; index += 1) {
      clock.advance(1)
      await a.createTask({ skill: 'test', id: `${index}` })
    }
    let pages = 0
    const changing = faultyStore(inner, {
      after: async (step) => {
        if (step !== 'list') return
        pages += 1
        clock.advance(1)
        // It was on a page to come, and is on one that was read.
        if (pages === 1) await a.patchTask('3', { state: 'working' })
      },
    })
    const { a: b } = replicas(1, { store: changing }, clock)
    const listed = await saveTasks(b)
    expect(listed.map(({ id }) => id)).toEqual(Array.from({ length: 1_100 }, (_, index) => `${index}`))
    expect(listed[3]?.state).toBe('working')
    expect(Object.isFrozen(listed[3]?.history)).toBe(true)
  })
})

test('restores saved tasks: checks all, then stores each', async () => {
  const { a, b } = replicas(2)
  await a.createTask({ skill: 'one', id: 'x' })
  await a.updateTask('x', { state: 'working', output: { deep: [1] } })
  const saved = await saveTasks(a)
  const { a: other, store: elsewhere } = replicas(1)
  const events: unknown[] = []
  other.on('task:event', (event) => events.push(event))
  await restoreTasks(other, saved)
  expect(await saveTasks(other)).toEqual(saved)
  expect([events, await logOf(elsewhere, 'x')]).toEqual([[], []])
  expect((await other.updateTask('x', { state: 'completed' })).generation).toBe(
    (saved[0]?.generation ?? 0) + 1,
  )
  const fresh = { id: 'y', skill: 's', state: 'submitted', createdAt: '2025-01-01' } as const
  expect(
    await rejection(restoreTasks(b, [fresh, { ...fresh, id: 'z', state: 'baking' as never }])),
  ).toMatchObject({
    data: { path: 'tasks[1].state' },
  })
  expect(await b.getTask('y')).toBeNull()
  expect(await rejection(restoreTasks(b, [fresh, ...saved]))).toMatchObject({ data: { path: 'tasks[1].id' } })
  expect(await b.getTask('y')).not.toBeNull()
})

describe('memory', () => {
  test('is kept for the tasks used last, and for those in use', async () => {
    const clock = new ManualClock()
    const asked: StepName[] = []
    const counting = faultyStore(memoryStore(), { before: (step) => asked.push(step) })
    const { a } = replicas(1, { store: counting, maxCached: 10 }, clock)
    const ids = Array.from({ length: 60 }, (_, index) => `${index}`)
    for (const id of ids) await a.createTask({ skill: 'test', id })
    const followed = ids.slice(0, 20)
    const reads = followed.map((id) => reading(a.subscribe(id)))
    await turn()
    for (const id of ids) await a.getTask(id)
    const remembered = ids.filter((id) => a.lastSeen(id) !== undefined)
    expect(remembered).toEqual(expect.arrayContaining(followed))
    expect(remembered.length).toBeLessThanOrEqual(40)
    for (const id of followed) await a.addMessage(id, says('still followed'))
    await turn()
    for (const { entries } of reads) expect(entries).toHaveLength(2)
    // Tasks without followers are evicted as others come.
    for (const id of followed) await a.cancelTask(id)
    for (let round = 0; round < 3; round += 1) for (const id of ids) await a.getTask(id)
    expect(ids.filter((id) => a.lastSeen(id) !== undefined).length).toBeLessThanOrEqual(10)
    asked.length = 0
    await a.getTask(ids[0] ?? '')
    expect(asked).toContain('get')
  })

  test('is bounded in bytes, apart from the tasks in use', async () => {
    const ofOne = 50_000
    const { a } = replicas(1, { limits: { maxTotalBytes: 10 * ofOne } })
    const ids = Array.from({ length: 40 }, (_, index) => `${index}`)
    const follow = reading(a.subscribe((await a.createTask({ skill: 'test', id: 'followed' })).id))
    for (const id of ids) await a.createTask({ skill: 'test', id, input: 'x'.repeat(ofOne) })
    for (const id of ids) await a.cancelTask(id)
    for (const id of ids) await a.getTask(id)
    const cached = ids.filter((id) => a.lastSeen(id) !== undefined)
    expect(cached.length).toBeGreaterThan(0)
    expect(cached.length).toBeLessThan(10)
    expect(a.lastSeen('followed')).toBeDefined()
    await a.cancelTask('followed')
    expect(await follow.ended).toBeUndefined()
    expect(follow.entries).toHaveLength(2)
  })

  test('has one copy of a task, however many callers load and evict it at once', async () => {
    const { a, store: shared, clock } = replicas(1)
    for (let index = 0; index < 8; index += 1) await a.createTask({ skill: 'test', id: `${index}` })
    const { a: b } = replicas(1, { store: shared, maxCached: 1 }, clock)
    const reads = Array.from({ length: 40 }, (_, index) => reading(b.subscribe(`${index % 8}`, { after: 1 })))
    await turn()
    for (let index = 0; index < 8; index += 1) await a.addMessage(`${index}`, says('one'))
    await turn()
    for (const { entries } of reads) expect(entries).toHaveLength(1)
  })

  test('calls the store for changes only', async () => {
    const asked: StepName[] = []
    const counting = faultyStore(memoryStore(), { before: (step) => asked.push(step) })
    const { a } = replicas(1, { store: counting })
    const { id } = await a.createTask({ skill: 'test' })
    for (let count = 0; count < 5; count += 1) await a.addMessage(id, says('one'))
    expect(asked.filter((step) => step !== 'publish')).toEqual(['create', ...Array<string>(5).fill('commit')])
  })
})

describe('destroying', () => {
  test('leaves all tasks in the store, no timer, and no pending wait', async () => {
    const { a, clock, store: shared } = replicas(1)
    const { leased, calls } = worker(a)
    leased.createTask({ skill: 'test', id: 'x' })
    const signal = leased.signalOf('x')
    await leased.stored('x')
    const read = reading(a.subscribe('x'))
    const waited = rejection(a.waitFor('x', { timeoutMs: 1_000_000 }))
    const added = a.addMessage('x', says('on its way'))
    await Promise.all([a.destroy(), a.destroy()])
    await added
    expect(await logOf(shared, 'x')).toHaveLength(2)
    for (const error of [await read.ended, await waited, signal.reason]) {
      expect(error).toMatchObject({ code: 'MANAGER_DESTROYED' })
    }
    expect([clock.pending, a.eventNames(), calls.filter((each) => 'lost' in each)]).toEqual([0, [], []])
    await a.destroy()
  })

  test('is for good: all methods say so, and no timer begins', async () => {
    const { a, b, clock } = replicas(2)
    const { leased } = worker(a)
    const key = await a.createTask({ skill: 'test', id: 'x' })
    const document = { key, kind: 'kind', id: 'x', value: 1 }
    await a.destroy()
    await b.destroy()
    const calls = [
      ...[a.createTask({ skill: 'test' }), a.getTask('x'), a.peekTask('x'), a.stateOf('x')],
      ...[a.can('x', 'working'), a.updateTask('x', {}), a.patchTask('x', {}), a.cancelTask('x')],
      ...[a.appendArtifact('x', {}), a.addMessage('x', says('?')), a.events('x'), a.waitFor('x')],
      ...[a.signalOf('x'), a.subscribe('x').next(), a.listTasks(), a.pageTasks(), a.countTasks(), a.size()],
      ...[saveTasks(a), restoreTasks(a, []), a.prune(), a.documents.documents(key, 'kind')],
      ...[a.documents.allDocuments('kind', undefined, 1), a.lease(LISTENER).acquire('x')],
      ...[a.documents.putDocument(document, 0), a.documents.deleteDocument(document)],
    ]
    for (const call of calls) expect(await rejection(call)).toMatchObject({ code: 'MANAGER_DESTROYED' })
    expect(await rejection(leased.acquire('x'))).toMatchObject({ code: 'UNAVAILABLE' })
    expect(() => a.lease(LISTENER).createTask({ skill: 'test' })).toThrow('destroyed')
    expect(a.lastSeen('x')).toBeUndefined()
    expect(clock.pending).toBe(0)
  })

  test.each(['orphans', 'publish'] as const)('waits for what is under way: %s', async (slow) => {
    const clock = new ManualClock()
    const { opened, open } = gate()
    const late = faultyStore(memoryStore(), { before: (step) => (step === slow ? opened : undefined) })
    const { a } = replicas(1, { store: late, storeRetryMs: 60_000 }, clock)
    await a.createTask({ skill: 'test' })
    clock.advance(10_000)
    let isOver = false
    const destroyed = a.destroy().then(() => (isOver = true))
    await turn()
    expect(isOver).toBe(false)
    open()
    await destroyed
    await pass(clock, 30_000)
    expect(clock.pending).toBe(0)
  })
})

test('a process with a manager that was not destroyed can end', () => {
  const script = `
    import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
    const tasks = new DurableTaskManager({ store: memoryStore() })
    const leased = tasks.lease({ onNews() {}, onLost() {}, onOrphan() {} })
    leased.createTask({ skill: 'test', id: 'x' })
    await leased.stored('x')
    await tasks.signalOf('x')
    tasks.subscribe('x', { keepAlive: false }).next()
    console.log('done')
  `
  const args = ['--input-type=module', '--eval', script]
  const { stdout, status, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 25_000,
  })
  expect([stdout, status], stderr).toEqual(['done\n', 0])
})
