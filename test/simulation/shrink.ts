/** Makes a schedule that fails smaller, as long as it fails in the same way. */
import type { Act, Program } from './functions.js'
import { withoutFaults, type Schedule } from './schedule.js'
import { simulate, type Outcome } from './simulate.js'

export interface Shrunk {
  readonly schedule: Schedule
  readonly outcome: Outcome
}

/** @param most The most schedules to try. */
export async function shrink(schedule: Schedule, outcome: Outcome, most = 2_000): Promise<Shrunk> {
  const kinds = new Set(outcome.faults.map(kindOf))
  let best: Shrunk = { schedule, outcome }
  let tries = 0
  const isBetter = async (candidate: Schedule): Promise<boolean> => {
    tries += 1
    const found = await simulate(candidate)
    if (!found.faults.some((fault) => kinds.has(kindOf(fault)))) return false
    best = { schedule: candidate, outcome: found }
    return true
  }
  await isBetter({ ...schedule, only: new Set(outcome.happened) })
  for (let isDone = false; !isDone;) {
    isDone = true
    for (const candidate of candidatesOf(best.schedule)) {
      if (tries >= most) return best
      if (!(await isBetter(candidate))) continue
      isDone = false
      break
    }
  }
  return best
}

/** What is wrong, without the values. */
function kindOf(fault: string): string {
  return fault.replace(/[:,].*/, '').replace(/\d[\w.#]*/g, '…')
}

/** Schedules with one thing less, the largest things first. */
function* candidatesOf(schedule: Schedule): Generator<Schedule> {
  const { mishaps, only = new Set(), replicas, program } = schedule
  const names = [...only]
  if (names.length > 0 || mishaps.length > 0) yield withoutFaults(schedule)
  if (names.length > 1) {
    const middle = names.length >> 1
    yield { ...schedule, only: new Set(names.slice(0, middle)) }
    yield { ...schedule, only: new Set(names.slice(middle)) }
  }
  if (schedule.cancelAtMs !== undefined) yield { ...schedule, cancelAtMs: undefined }
  for (const extras of without(schedule.extras)) yield { ...schedule, extras }
  if (schedule.overHttp) yield { ...schedule, overHttp: false }
  for (const less of without(mishaps)) yield { ...schedule, mishaps: less }
  for (const smaller of smallerPrograms(program)) yield { ...schedule, program: smaller }
  if (replicas > 1) {
    const fewer = replicas - 1
    yield { ...schedule, replicas: fewer, mishaps: mishaps.filter(({ replica }) => replica < fewer) }
  }
  if (schedule.storeMs > 1) yield { ...schedule, storeMs: 1 }
  if (schedule.networkMs > 1) yield { ...schedule, networkMs: 1 }
  for (const less of without(names)) yield { ...schedule, only: new Set(less) }
}

function* without<T>(all: readonly T[]): Generator<T[]> {
  for (const [at] of all.entries()) yield all.filter((_, other) => other !== at)
}

function* smallerPrograms(program: Program): Generator<Program> {
  if (program.rounds.length > 1) {
    for (const rounds of without(program.rounds)) yield { ...program, rounds }
    yield { ...program, rounds: [program.rounds.flat()] }
  }
  for (const [at, acts] of program.rounds.entries()) {
    for (const smaller of smallerActs(acts)) {
      yield { ...program, rounds: program.rounds.map((each, other) => (other === at ? smaller : each)) }
    }
  }
  if (program.isGenerator) yield { ...program, isGenerator: false }
  if (program.end !== 'nothing') yield { ...program, end: 'nothing' }
}

function* smallerActs(acts: readonly Act[]): Generator<Act[]> {
  yield* without(acts)
  for (const [at, act] of acts.entries()) {
    for (const smaller of smallerAct(act)) yield [...acts.slice(0, at), ...smaller, ...acts.slice(at + 1)]
  }
}

/** What may stand in the place of an act. */
function* smallerAct(act: Act): Generator<readonly Act[]> {
  switch (act.act) {
    case 'all':
      yield* act.branches
      if (act.branches.length > 2) for (const branches of without(act.branches)) yield [{ ...act, branches }]
      for (const [at, branch] of act.branches.entries()) {
        for (const smaller of smallerActs(branch)) {
          yield [{ ...act, branches: act.branches.map((each, other) => (other === at ? smaller : each)) }]
        }
      }
      return
    case 'times':
      yield act.acts
      if (act.times > 2) yield [{ ...act, times: 2 }]
      for (const smaller of smallerActs(act.acts)) yield [{ ...act, acts: smaller }]
      return
    case 'step':
      for (const writes of without(act.writes)) yield [{ ...act, writes }]
      if (act.fails > 0) yield [{ ...act, fails: 0 }]
      if (act.fails > 1) yield [{ ...act, fails: 1 }]
      if (act.ms > 0) yield [{ ...act, ms: 0 }]
      return
    case 'throw':
      if (act.times > 1) yield [{ ...act, times: 1 }]
      return
    case 'delegate':
      if (act.errand.asks) yield [{ ...act, errand: { ...act.errand, asks: false } }]
      if (act.errand.fails) yield [{ ...act, errand: { ...act.errand, fails: false } }]
      return
    default:
  }
}
