/**
 * One, two and four processes over one database: how many tasks they bring to their end in a second, together.
 *
 * The database has the same cores as the processes. Where these are busy, more processes add nothing.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Build } from './build.js'
import { benchPostgres, benchRedis, eachOf, type Bench } from './durable-stores.js'
import { median } from './harness.js'
import { formatRate, type Row } from './report.js'
import type { Case } from './workload.js'

const CHILD = fileURLToPath(new URL('processes-child.ts', import.meta.url))
const COUNTS = [1, 2, 4]
const MS = 4_000
const ROUNDS = 3

async function start({ url }: Build, { name, url: database }: Bench): Promise<ChildProcess> {
  const child = fork(CHILD, [url, name, database], { execArgv: ['--no-warnings', '--import', 'tsx'] })
  await once(child, 'message')
  return child
}

/** How many tasks a second these end together. */
async function rateOf(children: readonly ChildProcess[]): Promise<number> {
  const counts = await Promise.all(
    children.map(async (child) => {
      child.send(MS)
      // It answers with a number.
      const [count] = (await once(child, 'message')) as [number]
      return count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0) / (MS / 1_000)
}

const scaling: Case = {
  name: 'durable: tasks a second, by 1, 2 and 4 processes',
  run: (build) =>
    eachOf([benchPostgres, benchRedis], build, async (bench): Promise<readonly Row[]> => {
      await bench.open()
      const most = Math.max(...COUNTS)
      const children = await Promise.all(Array.from({ length: most }, () => start(build, bench)))
      const rates = COUNTS.map((): number[] => [])
      for (let round = 0; round < ROUNDS; round++) {
        for (const [index, count] of COUNTS.entries())
          rates[index]?.push(await rateOf(children.slice(0, count)))
      }
      for (const child of children) child.kill('SIGKILL')
      const [one = NaN, ...more] = rates.map(median)
      return more.map((rate, index): Row => ({
        ...{ work: `${bench.name}: tasks a second, ${COUNTS[index + 1]} processes`, peer: '1 process' },
        ...{ ours: formatRate(1e9 / rate), theirs: formatRate(1e9 / one), value: rate / one },
        ...{ unit: '×', good: 'at least' },
      }))
    }),
}

export const processCases: readonly Case[] = [scaling]
