/** A failing schedule in words: what is wrong, the smallest function that shows it, and what goes wrong around it. */
import { codeOf } from './functions.js'
import { scheduleOf, type Mishap, type Schedule } from './schedule.js'
import { shrink, type Shrunk } from './shrink.js'
import { simulate } from './simulate.js'

export interface Reported extends Shrunk {
  readonly text: string
}

/** Plays the schedule of a seed. `undefined` if nothing is wrong. */
export async function reportOf(seed: number, isWhole = false): Promise<Reported | undefined> {
  const first: Shrunk = { schedule: scheduleOf(seed), outcome: await simulate(scheduleOf(seed)) }
  if (first.outcome.faults.length === 0) return undefined
  const shrunk = isWhole ? first : await shrink(first.schedule, first.outcome)
  return { ...shrunk, text: textOf(shrunk) }
}

function textOf({ schedule, outcome }: Shrunk): string {
  return [
    `Seed ${schedule.seed} fails:`,
    ...outcome.faults.map((fault) => `- ${fault}`),
    '',
    codeOf(schedule.program),
    '',
    worldOf(schedule),
    ...schedule.mishaps.map(mishapText),
    ...outcome.happened.map((name) => `fault: ${name}`),
    ...outcome.errors.map((error) => `reported: ${error}`),
    '',
    ...outcome.log,
    '',
    `Play it alone: npm run simulate -- --seed ${schedule.seed}`,
    '',
  ].join('\n')
}

function worldOf(schedule: Schedule): string {
  const { replicas, storeMs, networkMs, waitingRunMs, graceMs, cancelAtMs, extras, onFollowUp } = schedule
  const cancel = cancelAtMs === undefined ? '' : `, the user cancels at ${cancelAtMs} ms`
  const more = extras.length === 0 ? '' : `, messages at ${extras.join()} ms, which ${onFollowUp}`
  const delays = `store up to ${storeMs} ms, network up to ${networkMs} ms`
  return `processes: ${replicas}, ${delays}, waitingRunMs ${waitingRunMs}, graceMs ${graceMs}${cancel}${more}`
}

function mishapText({ kind, replica, at, ms }: Mishap): string {
  const when = 'ms' in at ? `at ${at.ms} ms` : `${at.when} its store call ${at.call}`
  return `mishap: process ${'abc'[replica] ?? '?'}: ${kind} ${when}, for ${ms} ms`
}
