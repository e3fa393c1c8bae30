/**
 * `npm run bench` measures every row, `npm run bench -- create 100,000` those whose names have all these words. `--json FILE`
 * writes the rows to a file too. Each row is shown, and written, as soon as it is measured. `--against REF` compares the
 * working tree with a commit instead, for 20 seconds a row, or as many as `--seconds` says.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { against, type Difference } from './against.js'
import { boundCases } from './bounds.js'
import { build, buildCommit, endTidily, type Build } from './build.js'
import { createCases } from './create.js'
import { feedCases } from './feed.js'
import { fullHouseCases } from './full-house.js'
import { durableCases } from './durable.js'
import { durableSizeCases } from './durable-size.js'
import { functionCases } from './functions.js'
import { idleFunctionCases } from './functions-idle.js'
import { httpCases } from './http.js'
import { httpStreamCases } from './http-stream.js'
import { inspectorCases } from './inspector.js'
import { leaseCases } from './leases.js'
import { mcpCases } from './mcp.js'
import { leaveOut } from './missing.js'
import { pageCases } from './page.js'
import { questionCases } from './questions.js'
import { readCases } from './read.js'
import { HEAD, toLine, type Row } from './report.js'
import { serverCases } from './server.js'
import { processCases } from './processes.js'
import { openStreamCases } from './open-streams.js'
import { streamCases } from './stream.js'
import { weightCases } from './weight.js'
import type { Case } from './workload.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, against: { type: 'string' }, seconds: { type: 'string' } },
})
const words = positionals.map((word) => word.toLowerCase())
const all: readonly Case[] = [
  ...[...createCases, ...readCases, ...pageCases, ...streamCases, ...weightCases],
  ...[...serverCases, ...httpCases, ...httpStreamCases, ...openStreamCases, ...boundCases, ...fullHouseCases],
  ...[
    ...durableCases,
    ...durableSizeCases,
    ...processCases,
    ...leaseCases,
    ...feedCases,
    ...functionCases,
    ...idleFunctionCases,
  ],
  ...[...questionCases, ...mcpCases],
  ...inspectorCases,
]
const isChosen = (name: string): boolean => words.every((word) => name.toLowerCase().includes(word))

const rows: (Row | Difference)[] = []

function keep(row: Row | Difference): void {
  rows.push(row)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`)
}

async function measureCase({ name, run }: Case, built: Build): Promise<void> {
  try {
    const measured = run(built)
    for await (const row of 'then' in measured ? await measured : measured) {
      console.log(toLine(row))
      keep(row)
    }
  } catch (error) {
    leaveOut(name, error)
  }
  globalThis.gc?.()
}

async function measureAll(built: Build): Promise<void> {
  console.log(HEAD)
  for (const each of all.filter(({ name }) => isChosen(name))) {
    await measureCase(each, built).catch((error: unknown) => {
      // The rows that follow are measured all the same.
      process.exitCode = 1
      console.error(`Failed: ${each.name}`, error)
    })
  }
}

endTidily()
if (values.against === undefined) await measureAll(await build())
else {
  const seconds = Number(values.seconds ?? 20)
  await against(await build(), await buildCommit(values.against), { isChosen, seconds }, keep)
}
