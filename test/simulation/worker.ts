/** Plays many schedules in a process of its own. Its arguments: the first seed, their number, the step, and whether to stop. */
import { scheduleOf } from './schedule.js'
import { simulate } from './simulate.js'
import type { Report } from './workers.js'

const [from = 1, count = 1, step = 1, stops = 0] = process.argv.slice(2).map(Number)
// Stacks of errors that are thrown on purpose cost more than the rest of them.
Error.stackTraceLimit = 0
const failures: Report['failures'][number][] = []
let played = 0
for (; played < count; played += 1) {
  const seed = from + played * step
  const { faults } = await simulate(scheduleOf(seed))
  if (faults.length === 0) continue
  failures.push({ seed, faults })
  if (stops === 1) break
}
const report: Report = { played, failures }
process.stdout.write(JSON.stringify(report), () => process.exit())
