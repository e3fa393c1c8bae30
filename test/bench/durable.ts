/**
 * Tasks in stores: each on a real server, or a file, of its own on this machine, with its disk.
 *
 * PostgreSQL and SQLite sync every commit to the disk, Redis appends and syncs every command: what is acknowledged is kept.
 */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { ServerCallContext } from '@a2a-js/sdk/server'
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database'
import { TaskState } from '@a2a-js/sdk'
import type { DurableTaskManager, LeasedTasks } from 'a2a-tasks/durable'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import type { Build } from './build.js'
import {
  benchPostgres,
  benchRedis,
  eachOf,
  loadDurable,
  overStores,
  STORES,
  type Bench,
} from './durable-stores.js'
import { compare, measure, median, type Variant } from './harness.js'
import { chunkOf, statusOf, streamOfficial } from './peers/official.js'
import { fasterThan, formatNs, formatRate } from './report.js'
import { expectEqual, RAW, textLength, YIELD_EVERY, yieldToLoop, type Case, type Work } from './workload.js'

const REAL_STORES = STORES.slice(1)
const chunk = (index: number): { artifactId: string; parts: { text: string }[] } => ({
  artifactId: 'answer',
  parts: [{ text: `chunk ${index} of the answer ` }],
})

async function openManager(build: Build, bench: Bench): Promise<DurableTaskManager> {
  const { DurableTaskManager } = await loadDurable(build)
  return new DurableTaskManager({ store: await bench.open() })
}

async function append(tasks: DurableTaskManager, count: number): Promise<string> {
  const { id } = await tasks.createTask({ skill: 'write' })
  await tasks.patchTask(id, { state: 'working' })
  for (let index = 0; index < count; index++) await tasks.appendArtifact(id, chunk(index))
  return id
}

/** One chunk after the other, each stored before the next is sent. */
const growth: Case = {
  name: 'durable: append, growth 1,000 → 10,000 chunks',
  run: (build) =>
    eachOf(STORES, build, async (bench) => {
      const tasks = await openManager(build, bench)
      const variant = (count: number): Variant => ({ ops: 1, run: () => append(tasks, count) })
      const [few = [], many = []] = await measure([variant(1_000), variant(10_000)], {
        rounds: 3,
        warmUpOps: 1,
      })
      await tasks.destroy()
      const value = median(many.map((ns, round) => ns / (few[round] ?? NaN)))
      return [
        {
          ...{ work: `${bench.name}: 10,000 chunks against 1,000`, peer: '–', theirs: formatNs(median(few)) },
          ...{ ours: formatNs(median(many)), value, unit: '×', good: 'at most', gate: 13, goal: 10.5 },
        },
      ]
    }),
}

/** How many tasks commit at a time, and how often each in one run. */
const LOADS: readonly (readonly [tasks: number, commits: number])[] = [
  [1, 400],
  [16, 200],
  [256, 25],
]

/** For 256 tasks at a time. */
const GOALS = new Map([
  ['SQLite', 5],
  ['PostgreSQL', 2],
  ['Redis', 1.5],
])

const titleOf = (tasks: number): string =>
  tasks === 1 ? 'commits, one at a time' : `commits, ${tasks} tasks at a time`

/** Each of new tasks waits for its own commits, one after the other. */
function inTasks(
  [tasks, commits]: readonly [number, number],
  make: () => Promise<string>,
  work: (taskId: string, index: number) => unknown,
): Variant {
  let ids: string[] = []
  return {
    ops: tasks * commits,
    before: async () => {
      ids = await Promise.all(Array.from({ length: tasks }, make))
    },
    run: () =>
      Promise.all(
        ids.map(async (id) => {
          for (let index = 0; index < commits; index++) await work(id, index)
        }),
      ),
  }
}

export async function commitOurs(
  build: Build,
  bench: Bench,
  load: readonly [number, number] = [16, 200],
): Promise<Variant> {
  const tasks = await openManager(build, bench)
  const variant = inTasks(
    load,
    () => append(tasks, 1),
    (id, index) => tasks.appendArtifact(id, chunk(index)),
  )
  return { ...variant, close: () => tasks.destroy() }
}

/** The same rows by the driver alone: of a task of such an id, and of such an event. */
export async function commitRaw(
  build: Build,
  bench: Bench,
  load: readonly [number, number] = [16, 200],
): Promise<Variant> {
  const tasks = await openManager(build, bench)
  const [event] = (await tasks.events(await append(tasks, 1))).slice(-1)
  await tasks.destroy()
  return inTasks(
    load,
    () => Promise.resolve(randomUUID()),
    (taskId, index) => bench.raw(taskId, index, JSON.stringify({ ...event, taskId, generation: index })),
  )
}

const commits: readonly Case[] = LOADS.map(([count, each]) => ({
  name: `durable: ${titleOf(count)}, against the raw driver`,
  run: (build) =>
    eachOf(REAL_STORES, build, async (bench) => {
      const ours = await commitOurs(build, bench, [count, each])
      const plan = { rounds: 7, warmUpOps: 6 * count * each }
      const times = await compare(ours, await commitRaw(build, bench, [count, each]), plan)
      await ours.close?.()
      return [
        {
          ...fasterThan(`${bench.name}: ${titleOf(count)}`, RAW, times, {
            ...(count === 16 && { gate: 0.6, goal: 1 }),
            ...(count === 256 && { goal: GOALS.get(bench.name) ?? 1 }),
          }),
          ours: formatRate(median(times.ours)),
          theirs: formatRate(median(times.peer)),
        },
      ]
    }),
}))

const READS = 5

/** A manager that has never seen the task: after a restart, or at another replica. */
const reading: Case = {
  name: 'durable: read a task with 10,000 events',
  run: (build) =>
    eachOf(STORES, build, async (bench) => {
      const tasks = await openManager(build, bench)
      const id = await append(tasks, 10_000)
      const store = await bench.open()
      const { DurableTaskManager } = await loadDurable(build)
      const [artifact] = (await tasks.getTask(id))?.artifacts ?? []
      const [length, text] = [textLength(artifact), JSON.stringify(artifact?.parts)]
      const cold: Variant = {
        ops: READS,
        run: async () => {
          for (let read = 0; read < READS; read++) {
            const manager = new DurableTaskManager({ store })
            const task = await manager.getTask(id)
            expectEqual(textLength(task?.artifacts[0]), length, 'UTF-16 units that were read')
            await manager.destroy()
          }
        },
      }
      const floor: Variant = {
        ops: READS,
        run: () => Array.from({ length: READS }, () => JSON.parse(text) as unknown),
      }
      const times = await compare(cold, floor, { rounds: 7, warmUpOps: READS })
      await tasks.destroy()
      const ns = median(times.ours)
      return [
        {
          ...{
            work: `${bench.name}: read 10,000 chunks, cold`,
            peer: 'JSON.parse of its parts',
            ours: formatNs(ns),
          },
          ...{ theirs: formatNs(median(times.peer)), value: ns, unit: 'ns', good: 'at most' },
        },
      ]
    }),
}

const EVENTS = 400

/** From the moment that a change is asked for at one replica to the moment that the other has it. */
const latency: Case = {
  name: 'durable: latency from replica to replica',
  run: (build) =>
    eachOf([benchPostgres, benchRedis], build, async (bench) => {
      const [a, b] = await Promise.all([openManager(build, bench), openManager(build, bench)])
      const id = await append(a, 0)
      const sent: number[] = []
      const delays: number[] = []
      const reader = (async () => {
        for await (const event of b.subscribe(id)) {
          const start = sent[event.generation]
          if (start !== undefined) delays.push((performance.now() - start) * 1e6)
        }
      })()
      for (let index = 0; index < EVENTS; index++) {
        sent[index + 3] = performance.now()
        await a.appendArtifact(id, chunk(index))
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await a.patchTask(id, { state: 'completed' })
      await reader
      await Promise.all([a.destroy(), b.destroy()])
      expectEqual(delays.length, EVENTS, 'events that the other replica had')
      const sorted = delays.toSorted((x, y) => x - y)
      const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN
      return [
        {
          ...{
            work: `${bench.name}: an event at another replica, p99`,
            peer: 'p50',
            ours: formatNs(at(0.99)),
          },
          ...{ theirs: formatNs(at(0.5)), value: at(0.99), unit: 'ns', good: 'at most' },
        },
      ]
    }),
}

const CHUNKS = 2_000
/** The peer reads the task, and writes it whole, for each chunk. */
const MANY_CHUNKS = 5_000
/** A run of ours takes a tenth of a second, one of the peer's many. */
const OUR_RUNS = 25
const DATABASE = 'official SDK, DatabaseTaskStore'

type Step = (leased: LeasedTasks, id: string, index: number) => void

/** As an executor does it: each change at once in its own eyes, and a client that reads along. */
async function streamOurs(tasks: DurableTaskManager, count: number, step: Step): Promise<void> {
  const leased = tasks.lease({ onNews: () => {}, onLost: () => {}, onOrphan: () => {} })
  const { id } = leased.createTask({ skill: 'write' })
  leased.patchTask(id, { state: 'working' })
  await leased.stored(id)
  const read = async (): Promise<number> => {
    let received = 0
    for await (const event of tasks.subscribe(id, { after: 2 })) received += event.type === 'resync' ? NaN : 1
    return received
  }
  const client = read()
  for (let index = 0; index < count; index++) {
    step(leased, id, index)
    if ((index + 1) % YIELD_EVERY === 0) await yieldToLoop()
  }
  leased.patchTask(id, { state: 'completed' })
  await leased.stored(id)
  expectEqual(await client, count + 1, 'events that our subscriber got')
  await leased.release(id)
  await leased.close()
}

const official: Case = {
  name: 'durable: against the DatabaseTaskStore of the official SDK',
  run: (build) =>
    eachOf([benchPostgres], build, async (bench) => {
      const tool = fileURLToPath(
        new URL('../../node_modules/@a2a-js/sdk/dist/cli/a2a_db.js', import.meta.url),
      )
      execFileSync(process.execPath, [tool, 'upgrade', '--url', bench.url], { stdio: 'pipe' })
      const pool = new Pool({ connectionString: bench.url, max: 10 })
      const store = new DatabaseTaskStore(new Kysely({ dialect: new PostgresDialect({ pool }) }))
      const tasks = await openManager(build, bench)
      const context = new ServerCallContext()
      const ours = (step: Step, count = CHUNKS): Variant => ({
        ops: count * OUR_RUNS,
        run: async () => {
          for (let run = 0; run < OUR_RUNS; run++) await streamOurs(tasks, count, step)
        },
      })
      const theirs = (eventOf: Parameters<typeof streamOfficial>[1], count = CHUNKS): Variant => ({
        ops: count,
        run: async () => {
          const { task } = await streamOfficial(count, eventOf, store)
          expectEqual(
            (await store.load(task?.id ?? '', context))?.status?.state ?? -1,
            COMPLETED,
            'state of the peer',
          )
        },
      })
      const appending = (count: number): ReturnType<typeof compare> =>
        compare(
          ours((leased, id, index) => leased.appendArtifact(id, chunk(index)), count),
          theirs((taskId, index) => chunkOf(taskId, 'answer', `chunk ${index} of the answer `), count),
          { rounds: 3, warmUpOps: 1 },
        )
      const chunks = await appending(CHUNKS)
      const manyChunks = await appending(MANY_CHUNKS)
      const statuses = await compare(
        ours((leased, id, index) => leased.patchTask(id, { message: `Reading page ${index}` })),
        theirs((taskId, index) => statusOf(taskId, TaskState.TASK_STATE_WORKING, `Reading page ${index}`)),
        { rounds: 3, warmUpOps: 1 },
      )
      await tasks.destroy()
      await pool.end()
      return [
        fasterThan('PostgreSQL: 2,000 chunks, subscribed', DATABASE, chunks, { gate: 100, goal: 200 }),
        fasterThan('PostgreSQL: 5,000 chunks, subscribed', DATABASE, manyChunks, { gate: 100 }),
        fasterThan('PostgreSQL: 2,000 status messages', DATABASE, statuses, { gate: 3 }),
      ]
    }),
}

const COMPLETED: number = TaskState.TASK_STATE_COMPLETED

export const durableWorks: readonly Work[] = LOADS.flatMap((load) =>
  overStores(`a commit, ${titleOf(load[0]).slice('commits, '.length)}`, (build, bench) =>
    commitOurs(build, bench, load),
  ),
)

export const durableCases: readonly Case[] = [growth, ...commits, reading, latency, official]
