/** `npm run simulate`: plays schedules for a time, a number of them, or one. */
import { parseArgs } from 'node:util'
import { reportOf } from './report.js'
import { simulate } from './simulate.js'

const USAGE =
  'npm run simulate -- --seed N [--trace] [--whole] | --count N [--from N] | --seconds N [--from N]'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: 'Infinity' },
    seconds: { type: 'string', default: 'Infinity' },
    trace: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
  },
})
const { seed, trace, whole } = values
const from = Number(seed ?? values.from)
const count = seed === undefined ? Number(values.count) : 1
const endMs = 1_000 * Number(values.seconds)
if (!Number.isInteger(from) || !(count > 0) || !(endMs > 0) || Math.min(count, endMs) === Infinity) {
  throw new Error(USAGE)
}

let [played, failed] = [0, 0]
for (; played < count && performance.now() < endMs; played += 1) {
  const report = await reportOf(from + played, whole)
  if (report === undefined) continue
  failed += 1
  console.log(report.text)
  if (trace) await simulate(report.schedule, console.log)
}
console.log(`${played} schedules from seed ${from}: ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
