/**
 * `npm run bench` measures every row, `npm run bench -- create 100,000` those whose names have all these words.
 */
import { boundCases } from './bounds.js'
import { build } from './build.js'
import { createCases } from './create.js'
import { feedCases } from './feed.js'
import { fullHouseCases } from './full-house.js'
import { durableCases } from './durable.js'
import { functionCases } from './functions.js'
import { idleFunctionCases } from './functions-idle.js'
import { httpCases } from './http.js'
import { inspectorCases } from './inspector.js'
import { leaseCases } from './leases.js'
import { pageCases } from './page.js'
import { readCases } from './read.js'
import { toTable, type Row } from './report.js'
import { serverCases } from './server.js'
import { openStreamCases } from './open-streams.js'
import { streamCases } from './stream.js'
import { weightCases } from './weight.js'
import type { Case } from './workload.js'

const words = process.argv.slice(2).map((word) => word.toLowerCase())
const all: readonly Case[] = [
  ...[...createCases, ...readCases, ...pageCases, ...streamCases, ...weightCases],
  ...[...serverCases, ...httpCases, ...openStreamCases, ...boundCases, ...fullHouseCases],
  ...[...durableCases, ...leaseCases, ...feedCases, ...functionCases, ...idleFunctionCases],
  ...inspectorCases,
]
const chosen = all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))

const built = await build()
const rows: Row[] = []
for (const { name, run } of chosen) {
  process.stderr.write(`${name}\n`)
  rows.push(...(await run(built)))
  globalThis.gc?.()
}
console.log(toTable(rows))
