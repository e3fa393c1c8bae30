/**
 * A process whose runs have done their steps and wait: it says so, and is killed then. `functions-child.ts <build> <database>`.
 */
import type * as Postgres from 'a2a-tasks/stores/postgres'
import { Pool } from 'pg'
import { inParallel, openAgent } from './functions-agent.js'
import { LEASE, RUNS, passSteps } from './functions-work.js'

const [url = '', connectionString = ''] = process.argv.slice(2)
// What was built from src/stores/postgres has its exports.
const { postgresStore } = (await import(new URL('stores/postgres/index.js', url).href)) as typeof Postgres
let waiting = 0
const agent = await openAgent({
  url,
  store: postgresStore(new Pool({ connectionString, max: 10 })),
  manager: LEASE,
  async execute(run) {
    await passSteps(run)
    waiting += 1
    if (waiting === RUNS) process.send?.('ready')
    return await new Promise<string>(() => undefined)
  },
})
await inParallel(RUNS, RUNS, () => agent.send({ returnImmediately: true }))
