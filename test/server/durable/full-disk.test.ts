/** A store that takes no changes for an hour, while reads work: the work is not done again. */
import type { Execute } from 'a2a-tasks/server'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import type Database from 'libsql'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'
import { gate, jsonRpc, nameOf, refused, user, type Gate } from '../spec/support/agent.js'
import { begin, cluster, pass, resultOf, settle, stateAt, stream } from './support/replicas.js'
import type { Cluster, Replica } from './support/replicas.js'

const HOUR_MS = 3_600_000

/** How often the work of each step has begun. */
type Counts = Record<string, number>

interface World extends Cluster {
  readonly a: Replica
  readonly counts: Counts
  /** Opened when the work of the second step may end. */
  readonly go: Gate<void>
  readonly fill: (...writes: string[]) => void
  readonly empty: () => void
  readonly reported: unknown[]
}

const WRITES = ['create', 'commit', 'acquire', 'renew', 'release', 'delete', 'putDocument', 'deleteDocument']

/** Every replica runs three steps. The disk is full before the second one has ended. */
function world(replicas: number): World {
  const counts: Counts = {}
  const go = gate()
  const execute: Execute = async (run) => {
    const step = (name: string, work?: () => Promise<unknown>): Promise<string> =>
      run.step(name, async () => {
        counts[name] = (counts[name] ?? 0) + 1
        await work?.()
        run.artifact(`did ${name}`)
        return name
      })
    const done = [await step('one'), await step('two', () => go.opened), await step('three')]
    return done.join()
  }
  const reported: unknown[] = []
  const manager = { maxRestarts: 1, onError: (error: unknown) => reported.push(error) }
  const { all, clock, store } = cluster(Array<Execute>(replicas).fill(execute), { manager })
  const [a] = all
  if (a === undefined) throw new Error('There is one')
  const fill = (...writes: string[]): void => {
    for (const replica of all) replica.store.fail(...(writes.length === 0 ? WRITES : writes))
  }
  const empty = (): void => {
    for (const replica of all) replica.store.mend()
  }
  return { all, clock, store, a, counts, go, fill, empty, reported }
}

/** Lets time pass, seconds at a time. */
async function passTime({ clock }: Pick<Cluster, 'clock'>, ms: number): Promise<void> {
  const end = clock.now() + ms
  while (clock.now() < end) {
    clock.advance(1_000)
    for (let turns = 0; turns < 5; turns += 1) await turn()
  }
}

const RESULT = ['did one', 'did two', 'did three', 'one,two,three']

describe.each([1, 2])('with %i replicas', (replicas) => {
  test.each(['all writes', 'commits only'])('each step is done once: %s', async (what) => {
    const here = world(replicas)
    const { a, all, clock, counts, go, fill, empty, reported } = here
    const { id } = await begin(a, 'go')
    await settle()
    expect(counts).toEqual({ one: 1, two: 1 })
    fill(...(what === 'all writes' ? [] : ['commit']))
    go.open()
    await settle()
    for (const { store } of all) store.calls.length = 0
    await passTime(here, HOUR_MS)
    expect(await stateAt(a, id)).toBe('working')
    // At most two a second, of each replica and kind.
    for (const { store } of all) {
      for (const write of ['commit', 'renew', 'acquire'])
        expect(store.calls.filter((name) => name === write).length).toBeLessThan((2 * HOUR_MS) / 1_000)
    }
    empty()
    await pass(clock, async () => (await stateAt(a, id)) === 'completed')
    expect(counts).toEqual({ one: 1, two: 1, three: 1 })
    for (const each of all) {
      expect(await resultOf(each, id)).toEqual(RESULT)
      expect(each.errors).toEqual([])
    }
    expect(reported.length).toBeGreaterThan(0)
  })
})

test('a replica that reaches the store first leaves the task to its holder', async () => {
  const here = world(2)
  const { a, all, clock, counts, go, fill } = here
  const { id } = await begin(a, 'go')
  await settle()
  fill()
  go.open()
  await passTime(here, 120_000)
  all[1]?.store.mend()
  await passTime(here, 15_000)
  a.store.mend()
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(counts).toEqual({ one: 1, two: 1, three: 1 })
})

test('a task whose holder has died is recovered when the store works again', async () => {
  const here = world(2)
  const { a, all, clock, counts, go, fill } = here
  const { id } = await begin(a, 'go')
  await settle()
  fill()
  a.store.fail()
  await passTime(here, 120_000)
  const [, b] = all
  if (b === undefined) throw new Error('There are two')
  b.store.mend()
  go.open()
  await pass(clock, async () => (await stateAt(b, id)) === 'completed')
  expect(counts).toMatchObject({ one: 1, three: 1 })
})

test('clients get an error for what they change, read what is stored, and their streams go on', async () => {
  const here = world(1)
  const { a, clock, go, fill, empty } = here
  const events = await stream(a, 'go')
  const id = (await events.next())?.value.task?.id ?? ''
  await settle()
  fill()
  go.open()
  await passTime(here, 60_000)
  const refusal = refused(jsonRpc, a, 'CancelTask', { id })
  const more = { message: user('more', { taskId: id }), configuration: { returnImmediately: true } }
  const refusals = Promise.all([refusal, refused(jsonRpc, a, 'SendMessage', more)])
  await passTime(here, 30_000)
  const away = { message: 'The agent cannot reach its tasks now; try again later' }
  expect(await refusals).toMatchObject([away, away])
  expect(await stateAt(a, id)).toBe('working')
  empty()
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect((await events.rest()).map(nameOf).at(-1)).toBe('completed')
  expect(await resultOf(a, id)).toEqual(RESULT)
})

test('of a database whose disk is really full', async () => {
  const file = databaseFile()
  onTestFinished(() => file.remove())
  const database = file.connect()
  const store = sqliteStore(database)
  await store.migrate()
  const works: string[] = []
  const { all, clock } = cluster(
    [
      async (run) => {
        run.start()
        await run.step('begin', () => undefined)
        await run.step('fill', () => {
          works.push('fill')
          // A size below the present one is that size.
          database.pragma('max_page_count = 1')
          run.artifact('x'.repeat(100_000))
        })
        await run.transaction('move', (client: Database.Database) => {
          works.push('move')
          client.exec('CREATE TABLE moved (n INTEGER)')
        })
        return 'done'
      },
    ],
    {},
    () => store,
  )
  const [a] = all
  if (a === undefined) throw new Error('There is one')
  const { id } = await begin(a, 'go')
  await settle()
  await passTime({ clock }, 120_000)
  expect(await stateAt(a, id)).toBe('working')
  a.store.fail('transact')
  database.pragma('max_page_count = 1000000')
  await passTime({ clock }, 120_000)
  expect(await stateAt(a, id)).toBe('working')
  expect(works).toEqual(['fill'])
  a.store.mend()
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  expect(works).toEqual(['fill', 'move'])
  expect((await resultOf(a, id)).at(-1)).toBe('done')
})

test('runs that together write more than a process should keep are aborted, and others go on', async () => {
  const chunk = 'x'.repeat(500_000)
  const reasons: unknown[] = []
  let writing = 0
  const { all, clock } = cluster([
    async (run) => {
      run.start()
      await run.step('begin', () => undefined)
      writing += 1
      if (writing === 12) a?.store.fail('commit')
      // Each stays below what one task may keep.
      for (let chunks = 0; chunks < 20 && !run.signal.aborted; chunks += 1) {
        run.artifact({ artifactId: 'same', parts: [{ text: chunk }] })
        await new Promise<void>((resolve) => clock.schedule(resolve, 1_000))
      }
      if (run.signal.aborted) reasons.push(run.signal.reason)
      await run.step('end', () => undefined)
    },
  ])
  const [a] = all
  if (a === undefined) throw new Error('There is one')
  for (let tasks = 0; tasks < 12; tasks += 1) await begin(a, 'go')
  await pass(clock, () => reasons.length > 0)
  await settle()
  expect(reasons.length).toBeLessThan(9)
  for (const reason of reasons) expect(reason).toMatchObject({ code: 'STORE_FAILED' })
})

test('a run that writes more than a process should keep is aborted', async () => {
  const chunk = 'x'.repeat(500_000)
  let reason: unknown
  const { all, clock } = cluster([
    async (run) => {
      run.start()
      await run.step('begin', () => undefined)
      a?.store.fail('commit')
      while (!run.signal.aborted) {
        run.artifact({ artifactId: 'same', parts: [{ text: chunk }] })
        await new Promise<void>((resolve) => clock.schedule(resolve, 1_000))
      }
      reason = run.signal.reason
    },
  ])
  const [a] = all
  if (a === undefined) throw new Error('There is one')
  await begin(a, 'go')
  await pass(clock, () => reason !== undefined)
  expect(reason).toMatchObject({ code: 'STORE_FAILED' })
})
