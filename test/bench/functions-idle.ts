/**
 * Durable functions that no process works on: runs whose process was killed, and runs that sleep.
 *
 * A process holds 100 runs that have done 20 steps each, with leases of a second, over PostgreSQL, and is killed by SIGKILL.
 * The time is until each run stands on its line in another process, which sweeps every 100 ms: it contains the rest of the
 * lease, at least two thirds of a second.
 *
 * 100,000 runs sleep for a month, over PostgreSQL. Memory is what their process grows by, garbage collected. A sweep is the
 * time that one takes with all its statements.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { TaskStore } from 'a2a-tasks/durable'
import type { Build } from './build.js'
import { benchPostgres, eachOf, loadDurable } from './durable-stores.js'
import { inParallel, openAgent, percentile } from './functions-agent.js'
import { LEASE, passSteps, RUNS } from './functions-work.js'
import { formatBytes, formatNs } from './report.js'
import { expectEqual, type Case } from './workload.js'

const CHILD = fileURLToPath(new URL('functions-child.ts', import.meta.url))
const KILLS = 5

const resume: Case = {
  name: 'durable functions: resume after a crash',
  run: (build) =>
    eachOf([benchPostgres], build, async (bench) => {
      const store = await bench.open()
      const delays: number[] = []
      for (let kill = 0; kill < KILLS; kill++)
        delays.push(...(await resumedAfterKill(build, store, bench.url)))
      expectEqual(delays.length, KILLS * RUNS, 'runs that were resumed')
      const p99 = percentile(delays, 0.99)
      return [
        {
          ...{ work: 'PostgreSQL: resume 100 runs, leases of 1 s, p99', peer: 'p50 of ours' },
          ...{ ours: formatNs(p99), theirs: formatNs(percentile(delays, 0.5)) },
          ...{ value: p99, unit: 'ns', good: 'at most' },
        },
      ]
    }),
}

/** Nanoseconds until each run stands on its line. */
async function resumedAfterKill({ url }: Build, store: TaskStore, database: string): Promise<number[]> {
  const child = fork(CHILD, [url, database], { execArgv: ['--no-warnings', '--import', 'tsx'] })
  await once(child, 'message')
  const delays: number[] = []
  let killedAt = 0
  const agent = await openAgent({
    ...{ url, store, manager: LEASE },
    async execute(run) {
      await passSteps(run)
      delays.push((performance.now() - killedAt) * 1e6)
      return 'done'
    },
  })
  killedAt = performance.now()
  child.kill('SIGKILL')
  while (delays.length < RUNS) await delay(10)
  await agent.close()
  return delays
}

const SLEEPERS = 100_000
/** What the first ones compile and cache is not what one more costs. */
const FIRST = 3_000
const SWEEPS = 10
const SWEEP_MS = 1_000
/** By default. */
const SWEEP_EVERY_S = 10

const sleepers: Case = {
  name: 'durable functions: 100,000 sleepers',
  run: (build) =>
    eachOf([benchPostgres], build, async (bench) => {
      const store = await bench.open()
      const { tasks, send, close } = await openAgent({
        ...{ url: build.url, store, manager: { sweepIntervalMs: false } },
        async execute(run) {
          await run.sleep('month', { ms: 30 * 86_400_000 })
          return 'rested'
        },
      })
      const sleep = async (count: number): Promise<number> => {
        await inParallel(count, 64, () => send({ returnImmediately: true }))
        while (tasks.stats().leases > 0) await delay(50)
        return heapInUse()
      }
      const before = await sleep(FIRST)
      const after = await sleep(SLEEPERS - FIRST)
      await close()
      const perSleeper = (after - before) / (SLEEPERS - FIRST)
      const sweepNs = await timeOfSweep(build, store)
      return [
        {
          ...{ work: 'heap of a process per sleeper, of 100,000', peer: '–', theirs: '–' },
          ...{ ours: formatBytes(perSleeper), value: perSleeper, unit: 'B', good: 'at most', gate: 10 },
        },
        {
          ...{ work: 'PostgreSQL: sweeps of 100,000 sleepers, each second', peer: 'one sweep of ours' },
          ...{ ours: formatNs(sweepNs / SWEEP_EVERY_S), theirs: formatNs(sweepNs) },
          ...{ value: sweepNs / SWEEP_EVERY_S, unit: 'ns', good: 'at most', gate: 1e6 },
        },
      ]
    }),
}

/** Nanoseconds in which a manager waits for its store, for each sweep. */
export async function timeOfSweep(build: Build, store: TaskStore): Promise<number> {
  const { DurableTaskManager } = await loadDurable(build)
  let spent = 0
  let sweeps = 0
  const timed = new Proxy(store, {
    get(target, name) {
      // What a store has by this name.
      const value = Reflect.get(target, name) as unknown
      if (typeof value !== 'function') return value
      return async (...parameters: unknown[]) => {
        const start = performance.now()
        const result: unknown = await Reflect.apply(value, target, parameters)
        if (sweeps > 0) spent += (performance.now() - start) * 1e6
        // A sweep begins with it. The first one connects, and prepares its statements.
        if (name === 'orphans') sweeps += 1
        return result
      }
    },
  })
  const tasks = new DurableTaskManager({ store: timed, sweepIntervalMs: SWEEP_MS })
  while (sweeps <= SWEEPS) await delay(SWEEP_MS / 4)
  await tasks.destroy()
  return spent / SWEEPS
}

function heapInUse(): number {
  for (let turn = 0; turn < 4; turn++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

export const idleFunctionCases: readonly Case[] = [resume, sleepers]
