/**
 * Durable functions: what a step costs, what a replay costs, and the same workflow on DBOS.
 *
 * A step is one of 200 of a run, each awaited before the next; a commit is one of 200 chunks of a task. A replay is that of a
 * turn of 1,000 steps by a manager that has never seen its task: the time from the first line of the function to the line
 * after its last step. The workflow has three steps that do nothing. Ours is a message to an agent and its task; that of DBOS
 * is a call in process. Both sides have ten connections, and commit five times. Without fsync, the disk is not part of it.
 */
import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import type { Build } from './build.js'
import {
  benchPostgres,
  benchPostgresWithoutSync,
  eachOf,
  loadDurable,
  overStores,
  STORES,
  type Bench,
} from './durable-stores.js'
import { inParallel, openAgent, percentile } from './functions-agent.js'
import { compare, median, type Variant } from './harness.js'
import { startDbos, WORKFLOW_STEPS } from './peers/dbos.js'
import { fasterThan, formatNs, formatRate, timesTheFloor, type Row } from './report.js'
import type { Case, Work } from './workload.js'

const STEPS = 200

/** A run of 200 steps, each stored before the next. */
export async function stepOurs({ url }: Build, bench: Bench): Promise<Variant> {
  const { tasks, send, close } = await openAgent({
    ...{ url, store: await bench.open() },
    async execute(run) {
      for (let step = 0; step < STEPS; step++) await run.step('work', () => step)
      return 'done'
    },
  })
  const state = await tasks.stateOf(await send())
  if (state !== 'completed') throw new Error(`A run of ${STEPS} steps ended as ${state}`)
  return { ops: STEPS, run: () => send(), close }
}

/** As many rows of a log by the driver, each written before the next. */
export function stepRaw(_: unknown, { raw }: Bench): Promise<Variant> {
  const run = async (): Promise<void> => {
    const taskId = randomUUID()
    const data = { type: 'history:recorded', taskId, entry: { step: 'work', value: 0 } }
    for (let step = 0; step < STEPS; step++)
      await raw(taskId, step, JSON.stringify({ ...data, generation: step }))
  }
  return Promise.resolve({ ops: STEPS, run })
}

export const functionWorks: readonly Work[] = overStores('a step', stepOurs)

const steps: Case = {
  name: 'durable functions: a step against a commit',
  run: (build) =>
    eachOf(STORES, build, async (bench) => {
      const ours = await stepOurs(build, bench)
      const { DurableTaskManager } = await loadDurable(build)
      const tasks = new DurableTaskManager({ store: await bench.open() })
      const commits = async (): Promise<void> => {
        const { id } = await tasks.createTask({ skill: 'write' })
        await tasks.patchTask(id, { state: 'working' })
        for (let step = 0; step < STEPS; step++)
          await tasks.appendArtifact(id, { artifactId: 'work', parts: [{ data: step }] })
      }
      const times = await compare(ours, { ops: STEPS, run: commits }, { rounds: 9, warmUpOps: 10 * STEPS })
      await Promise.all([ours.close?.(), tasks.destroy()])
      return [timesTheFloor(`${bench.name}: a step`, 'a commit', times, { gate: 2, goal: 1.25 })]
    }),
}

const REPLAYED = 1_000
const REPLAYS = 25
/** The first ones compile what they run. */
const WARM_UPS = 10

const replay: Case = {
  name: 'durable functions: replay of 1,000 steps',
  run: (build) =>
    eachOf(STORES, build, async (bench) => {
      const replays: number[] = []
      const answers: number[] = []
      const execute: Parameters<typeof openAgent>[0]['execute'] = async (run) => {
        const start = performance.now()
        for (let step = 0; step < REPLAYED; step++) await run.step('work', () => ({ step }))
        replays.push((performance.now() - start) * 1e6)
        for (;;) await run.requireInput('Go on?')
      }
      const first = await openAgent({ url: build.url, store: await bench.open(), execute })
      const taskId = await first.send()
      await first.close()
      const store = await bench.open()
      for (let round = 0; round < WARM_UPS + REPLAYS; round++) {
        const next = await openAgent({ url: build.url, store, execute })
        const start = performance.now()
        await next.send({ taskId })
        answers.push((performance.now() - start) * 1e6)
        await next.close()
      }
      const [replayed, answered] = [replays.slice(1 + WARM_UPS), answers.slice(WARM_UPS)]
      const row = (work: string, times: readonly number[], bounds: { gate?: number }): Row => ({
        ...{ work: `${bench.name}: ${work}`, peer: 'p95 of ours', theirs: formatNs(percentile(times, 0.95)) },
        ...{ ours: formatNs(median(times)), value: median(times), unit: 'ns', good: 'at most', ...bounds },
      })
      return [
        row('replay of 1,000 steps', replayed, { gate: 5e6 }),
        row('an answer after 1,000 steps, cold', answered, {}),
      ]
    }),
}

const CONNECTIONS = 10
const AT_A_TIME = 16
const WORKFLOWS = 320
const DBOS = 'DBOS'

const workflow: Case = {
  name: 'durable functions: a workflow of three steps, DBOS',
  run: (build) =>
    eachOf([benchPostgres, benchPostgresWithoutSync], build, async (bench) => {
      const client = new Client({ connectionString: bench.url })
      await client.connect()
      await client.query('CREATE DATABASE dbos')
      await client.end()
      const dbos = await startDbos(bench.url.replace(/\/[^/]*$/, '/dbos'), CONNECTIONS)
      const { send, close } = await openAgent({
        url: build.url,
        store: await bench.open(),
        async execute(run) {
          const outputs: string[] = []
          for (const name of WORKFLOW_STEPS) outputs.push(await run.step(name, () => `${name} ${run.text}`))
          return outputs.join(', ')
        },
      })
      const many = (work: () => Promise<unknown>): Variant => ({
        ops: WORKFLOWS,
        run: () => inParallel(WORKFLOWS, AT_A_TIME, work),
      })
      const one = (work: () => Promise<unknown>): Variant => ({
        ops: 20,
        run: () => inParallel(20, 1, work),
      })
      const plan = { rounds: 7, warmUpOps: 4 * WORKFLOWS }
      const theirs = (): Promise<unknown> => dbos.run('go')
      const rate = await compare(
        many(() => send()),
        many(theirs),
        plan,
      )
      const latency = await compare(
        one(() => send()),
        one(theirs),
        plan,
      )
      await close()
      await dbos.close()
      const bounds = { gate: 2, goal: 2.5 }
      return [
        {
          ...fasterThan(`${bench.name}: workflows of 3 steps, 16 at a time`, DBOS, rate, bounds),
          ...{ ours: formatRate(median(rate.ours)), theirs: formatRate(median(rate.peer)) },
        },
        fasterThan(`${bench.name}: a workflow of 3 steps, alone`, DBOS, latency, bounds),
      ]
    }),
}

export const functionCases: readonly Case[] = [steps, replay, workflow]
