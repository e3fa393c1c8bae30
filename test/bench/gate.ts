/**
 * `npm run bench:gate`: ten rows, each against a peer or a floor in the same rounds, held to the ratios of `gates.json`.
 *
 * A row fails if it is below its gate by more than its noise. Words choose rows, as in `npm run bench`. `--write` makes what it
 * measures the gates: the ratio reached, less the noise.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build, copyOf, endTidily, type Build } from './build.js'
import { livingOurs, livingSeeds } from './create.js'
import { commitOurs, commitRaw } from './durable.js'
import { benchPostgres, benchSqlite, openOver } from './durable-stores.js'
import { stepOurs, stepRaw } from './functions.js'
import type { Variant } from './harness.js'
import { getQuestion, loadOf, sendQuestion } from './http.js'
import { leaveOut } from './missing.js'
import { ratiosOf, type Clock } from './noise.js'
import { nextPageOfficial, nextPageOurs } from './page.js'
import { formatNs, tableOf } from './report.js'
import { getOfficial, getOurs, sendDurable, sendOfficial, sendOurs } from './server.js'
import { appending, officialAppend } from './stream.js'
import { BARE, OFFICIAL, RAW, SEED } from './workload.js'

interface Gated {
  readonly work: string
  readonly peer: string
  readonly clock: Clock
  readonly ours: (build: Build) => Variant | Promise<Variant>
  readonly theirs: (build: Build) => Variant | Promise<Variant>
}

const GATED: readonly Gated[] = [
  {
    ...{ work: 'SendMessage in process', peer: OFFICIAL, clock: 'cpu' },
    ...{ ours: (built) => sendOurs(built), theirs: sendOfficial },
  },
  {
    ...{ work: 'GetTask in process', peer: OFFICIAL, clock: 'cpu' },
    ...{ ours: (built) => getOurs(built), theirs: getOfficial },
  },
  {
    ...{ work: 'SendMessage over HTTP, CPU of the server', peer: BARE, clock: 'cpu' },
    ours: (built) => loadOf('ours', built, sendQuestion),
    theirs: (built) => loadOf('floor', built, sendQuestion),
  },
  {
    ...{ work: 'GetTask over HTTP, CPU of the server', peer: BARE, clock: 'cpu' },
    ours: (built) => loadOf('ours', built, getQuestion),
    theirs: (built) => loadOf('floor', built, getQuestion),
  },
  {
    ...{ work: 'lifecycle at 1,000', peer: SEED, clock: 'cpu' },
    ours: (built) => livingOurs(built, 'lifecycle', 1_000),
    theirs: () => livingSeeds('lifecycle', 1_000),
  },
  {
    ...{ work: 'append 2,000 chunks, subscribed', peer: OFFICIAL, clock: 'cpu' },
    ...{ ours: appending, theirs: () => officialAppend },
  },
  {
    ...{ work: 'next page of one context, out of 100,000', peer: OFFICIAL, clock: 'cpu' },
    ...{ ours: nextPageOurs, theirs: nextPageOfficial },
  },
  {
    ...{ work: 'SendMessage over memoryStore', peer: OFFICIAL, clock: 'cpu' },
    ...{ ours: sendDurable, theirs: sendOfficial },
  },
  {
    ...{ work: 'SQLite: a step', peer: RAW, clock: 'cpu' },
    ours: (built) => openOver(benchSqlite, built, stepOurs),
    theirs: (built) => openOver(benchSqlite, built, stepRaw),
  },
  {
    ...{ work: 'PostgreSQL: commits, 16 tasks at a time', peer: RAW, clock: 'elapsed' },
    ours: (built) => openOver(benchPostgres, built, commitOurs),
    theirs: (built) => openOver(benchPostgres, built, commitRaw),
  },
]

/** So that all take less than four minutes, with the build. */
const PLAN = { rounds: 31, maxMs: 10_000 }
const FILE = fileURLToPath(new URL('gates.json', import.meta.url))

const TABLE = tableOf([
  ...[['work', 40] as const, ['peer', 18] as const, ['clock', 7] as const, ['n', 2] as const],
  ...[['ours', 9] as const, ["peer's", 9] as const, ['measured', 8] as const, ['noise', 8] as const],
  ...[['gate', 8] as const, ['verdict', 7] as const],
])

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
})
const words = positionals.map((word) => word.toLowerCase())
// This program writes it so.
const gates = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>

async function check(row: Gated, built: Build, again: Build): Promise<void> {
  const { work, peer, clock, ours, theirs } = row
  const ratios = await ratiosOf([() => ours(built), () => ours(again), () => theirs(built)], PLAN)
  const { rounds, ours: ourNs, other, value, noise } = ratios[clock]
  const measured = 1 / value
  const gate = gates[work]
  const isMissed = gate !== undefined && measured * (1 + noise) < gate
  const verdict = isMissed ? 'MISSED' : 'met'
  console.log(
    TABLE.lineOf([
      ...[work, peer, clock === 'cpu' ? 'CPU' : 'elapsed', String(rounds), formatNs(ourNs), formatNs(other)],
      ...[`${digits(measured)} ×`, `± ${(noise * 100).toFixed(1)} %`],
      ...(gate === undefined ? ['–', '–'] : [`≥ ${gate} ×`, verdict]),
    ]),
  )
  if (values.write) gates[work] = digits(measured * (1 - noise))
  else if (isMissed) process.exitCode = 1
}

function digits(value: number): number {
  return Number(value.toPrecision(3))
}

endTidily()
const start = performance.now()
const built = await build()
const again = await copyOf(built)
console.log(TABLE.head)
for (const row of GATED.filter(({ work }) => words.every((word) => work.toLowerCase().includes(word)))) {
  try {
    await check(row, built, again)
  } catch (error) {
    leaveOut(row.work, error)
  }
  globalThis.gc?.()
}
if (values.write) writeFileSync(FILE, `${JSON.stringify(gates, undefined, 2)}\n`)
console.log(`\nIt took ${Math.round((performance.now() - start) / 1e3)} s.`)
