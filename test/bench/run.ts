/**
 * `npm run bench` measures every row, `npm run bench -- create 100,000` those whose names have all these words. `--json FILE`
 * writes the rows to a file too. Each row is shown, and written, as soon as it is measured.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { boundCases } from './bounds.js'
import { build, type Build } from './build.js'
import { createCases } from './create.js'
import { feedCases } from './feed.js'
import { fullHouseCases } from './full-house.js'
import { durableCases } from './durable.js'
import { functionCases } from './functions.js'
import { idleFunctionCases } from './functions-idle.js'
import { httpCases } from './http.js'
import { inspectorCases } from './inspector.js'
import { leaseCases } from './leases.js'
import { leaveOut } from './missing.js'
import { pageCases } from './page.js'
import { readCases } from './read.js'
import { HEAD, toLine, type Row } from './report.js'
import { serverCases } from './server.js'
import { openStreamCases } from './open-streams.js'
import { streamCases } from './stream.js'
import { weightCases } from './weight.js'
import type { Case } from './workload.js'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } })
const words = positionals.map((word) => word.toLowerCase())
const all: readonly Case[] = [
  ...[...createCases, ...readCases, ...pageCases, ...streamCases, ...weightCases],
  ...[...serverCases, ...httpCases, ...openStreamCases, ...boundCases, ...fullHouseCases],
  ...[...durableCases, ...leaseCases, ...feedCases, ...functionCases, ...idleFunctionCases],
  ...inspectorCases,
]
const chosen = all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))

const rows: Row[] = []

function show(row: Row): void {
  rows.push(row)
  console.log(toLine(row))
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`)
}

async function measureCase({ name, run }: Case, built: Build): Promise<void> {
  try {
    const measured = run(built)
    for await (const row of 'then' in measured ? await measured : measured) show(row)
  } catch (error) {
    leaveOut(name, error)
  }
  globalThis.gc?.()
}

const built = await build()
console.log(HEAD)
for (const each of chosen) {
  await measureCase(each, built).catch((error: unknown) => {
    // The rows that follow are measured all the same.
    process.exitCode = 1
    console.error(`Failed: ${each.name}`, error)
  })
}
