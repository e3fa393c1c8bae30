/** `npm run simulate`: plays schedules until time is up, a number of them, or one. */
import { parseArgs } from 'node:util'
import { codeOf } from './functions.js'
import { scheduleOf } from './schedule.js'
import { shrink } from './shrink.js'
import { simulate } from './simulate.js'

const USAGE = 'npm run simulate -- [--seed N] [--count N] [--seconds N] [--from N] [--trace] [--whole]'
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string' },
    seconds: { type: 'string' },
    trace: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
  },
})

/** Plays one schedule, and shows how it fails. */
async function show(seed: number): Promise<boolean> {
  const first = scheduleOf(seed)
  const found = await simulate(first)
  if (found.faults.length === 0) return true
  const { schedule, outcome } = values.whole
    ? { schedule: first, outcome: found }
    : await shrink(first, found)
  const { program, only, mishaps, replicas, storeMs, networkMs, waitingRunMs, cancelAtMs } = schedule
  console.log(
    [
      `Seed ${seed} fails:`,
      ...outcome.faults.map((fault) => `- ${fault}`),
      codeOf(program),
      JSON.stringify({ replicas, storeMs, networkMs, waitingRunMs, cancelAtMs }),
      ...mishaps.map((mishap) => JSON.stringify(mishap)),
      ...(only === undefined ? [] : [...only].map((name) => `fault: ${name}`)),
      ...outcome.errors.map((error) => `error: ${error}`),
      ...outcome.log.map((line) => `log: ${line}`),
      `Play it again: npm run simulate -- --seed ${seed} --trace\n`,
    ].join('\n'),
  )
  if (values.trace) await simulate(schedule, console.log)
  return false
}

const start = performance.now()
const endMs = values.seconds === undefined ? Infinity : Number(values.seconds) * 1_000
const from = Number(values.seed ?? values.from)
const count = Number(
  values.seed === undefined ? (values.count ?? (values.seconds === undefined ? NaN : Infinity)) : 1,
)
if (Number.isNaN(count)) throw new Error(USAGE)
let [played, failed] = [0, 0]
for (; played < count && performance.now() - start < endMs; played += 1) {
  if (!(await show(from + played))) failed += 1
}
console.log(`${played} schedules, from seed ${from}: ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
