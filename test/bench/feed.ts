/**
 * The feed of all tasks: what following it costs beside writing the events, and what keeping it adds to each commit.
 *
 * The stores are those of the other rows, each on a server or its own file, with its disk. The reader has a manager and a
 * client of its own, in the same process as the writer.
 */
import { feed as feedOf } from 'a2a-tasks'
import type { DurableTaskManager } from 'a2a-tasks/durable'
import type { TaskFeed, TaskManager } from 'a2a-tasks'
import type { Build } from './build.js'
import {
  benchMemory,
  benchPostgres,
  benchRedis,
  benchSqlite,
  eachOf,
  loadDurable,
  type Bench,
} from './durable-stores.js'
import { compare, type Variant } from './harness.js'
import { timesTheFloor } from './report.js'
import { keepAlive } from '../../src/runtime/timers.js'
import { expectEqual, YIELD_EVERY, yieldToLoop, type Case } from './workload.js'

const STORES = [benchMemory, benchSqlite, benchPostgres, benchRedis]
const EVENTS = 10_000
const TASKS = 16
const FEED_SIZE = 100_000
const ROUNDS = 5

type Manager = TaskManager | DurableTaskManager

/** Each task waits for its own commits, one after the other. */
async function write(tasks: Manager): Promise<void> {
  await Promise.all(
    Array.from({ length: TASKS }, async () => {
      const { id } = await tasks.createTask({ skill: 'write' })
      for (let event = 1; event < EVENTS / TASKS; event += 1) {
        await tasks.patchTask(id, { message: `Step ${event} of the answer` })
        // As a server does, whose requests come over the network.
        if (event % YIELD_EVERY === 0) await yieldToLoop()
      }
    }),
  )
}

async function read(feed: TaskFeed, count: number): Promise<void> {
  let events = 0
  while (events < count) {
    const { value } = await feed.next()
    events += Number(value?.type === 'event')
  }
  expectEqual(events, count, 'events of the feed')
}

function writing(tasks: Manager): Variant {
  return { ops: EVENTS, run: () => write(tasks) }
}

/** Until the reader has the last event. */
function followed(writer: Manager, reader: Manager): Variant {
  return {
    ops: EVENTS,
    run: async () => {
      // Timers of polls do not keep the process alive.
      const letGo = keepAlive()
      const feed = feedOf(reader)
      await feed.next()
      await Promise.all([read(feed, EVENTS), write(writer)])
      await feed.return()
      letGo()
    },
  }
}

async function openManager(build: Build, bench: Bench, feedSize?: number): Promise<DurableTaskManager> {
  const { DurableTaskManager } = await loadDurable(build)
  const store = await bench.open(feedSize)
  return new DurableTaskManager({ store, retention: false, pollIntervalMs: 50 })
}

/** Writing takes a microsecond here, so there is no bound for what following adds. */
const local: Case = {
  name: 'feed: follow 10,000 events of a TaskManager',
  run: async ({ library }) => {
    const options = { maxTasks: Infinity, feedSize: FEED_SIZE }
    const tasks = new library.TaskManager(options)
    const plain = new library.TaskManager({ ...options, feedSize: 0 })
    const plan = { rounds: 15, warmUpOps: 5 * EVENTS }
    const following = await compare(followed(tasks, tasks), writing(tasks), plan)
    const keeping = await compare(writing(tasks), writing(plain), plan)
    for (const each of [tasks, plain]) each.destroy()
    return [
      timesTheFloor('TaskManager: 10,000 events, followed', 'written', following, { goal: 1.5 }),
      timesTheFloor('TaskManager: 10,000 events, with a feed', 'without', keeping, {}),
    ]
  },
}

const following: Case = {
  name: 'feed: follow 10,000 events of each store',
  run: (build) =>
    eachOf(STORES, build, async (bench) => {
      const writer = await openManager(build, bench, FEED_SIZE)
      const reader = await openManager(build, bench, FEED_SIZE)
      const plan = { rounds: ROUNDS, warmUpOps: EVENTS }
      const times = await compare(followed(writer, reader), writing(writer), plan)
      await Promise.all([writer.destroy(), reader.destroy()])
      return [
        timesTheFloor(`${bench.name}: 10,000 events, followed`, 'written', times, {
          ...{ gate: 1.3, goal: 1.2 },
        }),
      ]
    }),
}

const keeping: Case = {
  name: 'feed: keep the feed of each store',
  run: (build) =>
    eachOf(STORES, build, async (bench, another) => {
      const other = await another()
      const fed = await openManager(build, bench, FEED_SIZE)
      const plain = await openManager(build, other)
      const plan = { rounds: ROUNDS, warmUpOps: EVENTS }
      const times = await compare(writing(fed), writing(plain), plan)
      await Promise.all([fed.destroy(), plain.destroy()])
      await other.close()
      return [timesTheFloor(`${bench.name}: 10,000 events, with a feed`, 'without', times, {})]
    }),
}

export const feedCases: readonly Case[] = [local, following, keeping]
