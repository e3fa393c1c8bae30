/** What a seed stands for: a function, how slow everything is, and what goes wrong. */
import { randomProgram, type Program } from './functions.js'
import { hashOf, Random, shareOf } from './random.js'

/** Something that happens to a whole process. */
export interface Mishap {
  readonly kind: 'kill' | 'pause' | 'close'
  readonly replica: number
  /** At the n-th call of its store, before it has its effect or after; or at a time, in ms. */
  readonly at: { readonly call: number; readonly when: 'before' | 'after' } | { readonly ms: number }
  /** How long the process is away, in ms. */
  readonly ms: number
}

/** How often single calls go wrong, from 0 to 1. */
export interface Rates {
  /** A call of the store fails without effect; after its effect. */
  readonly storeBefore: number
  readonly storeAfter: number
  /** A call takes seconds. */
  readonly slow: number
  /** A hint is lost. */
  readonly hint: number
  /** A request, or its response, is lost; a stream is cut. */
  readonly network: number
  /** A user sends a message twice. */
  readonly twice: number
}

export interface Schedule {
  readonly seed: number
  readonly program: Program
  readonly replicas: number
  /** The longest delays of the store and the network on a usual call, in ms. */
  readonly storeMs: number
  readonly networkMs: number
  readonly waitingRunMs: number
  readonly graceMs: number
  readonly rates: Rates
  readonly mishaps: readonly Mishap[]
  /** When the user says something more, unasked, in ms; and what the agent does with it. */
  readonly extras: readonly number[]
  readonly onFollowUp: 'queue' | 'steer'
  /** When the user cancels the task, in ms. */
  readonly cancelAtMs?: number | undefined
  /** Who runs the code: the process that accepts a message, or workers that take turns from the store or from a queue. */
  readonly work: 'here' | 'store' | 'queue'
  /** Whether the first of several processes has no worker. */
  readonly isFirstWithoutWorker: boolean
  /** The head start of the turns that workers take, in ms. */
  readonly priorityMs: number
  /** Whether programs without a handler send some of the messages and signals. */
  readonly hasProducers: boolean
  /** Whether the user sends HTTP requests. */
  readonly overHttp: boolean
  /** The single faults that happen, by their names. Default are those that follow from the seed. */
  readonly only?: ReadonlySet<string> | undefined
}

/** No fault happens from then on, in ms. */
export const FAULTS_END_MS = 15_000

const CALM: Rates = { storeBefore: 0, storeAfter: 0, slow: 0, hint: 0, network: 0, twice: 0 }

export function scheduleOf(seed: number): Schedule {
  const random = new Random(hashOf(seed, 1))
  const replicas = random.pick([1, 1, 2, 2, 3])
  const level = random.pick([0, 0.02, 0.05, 0.15])
  const rate = (): number => (random.chance(0.6) ? level : 0)
  const rates =
    level === 0
      ? CALM
      : {
          ...CALM,
          storeBefore: rate(),
          storeAfter: rate(),
          slow: rate() / 4,
          hint: rate() * 3,
          network: rate(),
          twice: rate() * 2,
        }
  return {
    seed,
    program: randomProgram(random, seed),
    replicas,
    storeMs: random.pick([1, 5, 20, 60]),
    networkMs: random.pick([1, 10, 50]),
    waitingRunMs: random.pick([40, 300, 1_500]),
    graceMs: random.pick([1, 200, 2_000]),
    rates,
    mishaps: Array.from({ length: random.pick([0, 0, 1, 1, 2, 4]) }, () => mishapOf(random, replicas)),
    extras: random.chance(0.15)
      ? Array.from({ length: random.whole(1, 3) }, () => random.whole(0, 2_000))
      : [],
    onFollowUp: random.pick(['queue', 'steer']),
    cancelAtMs: random.chance(0.08) ? random.whole(0, 3_000) : undefined,
    overHttp: random.chance(0.1),
    ...workOf(seed),
  }
}

/** The schedules with smaller seeds are as they were before there were workers. */
export const WITH_WORKERS = 80_000_000

/** Those with smaller seeds are as they were before there were producers. */
export const WITH_PRODUCERS = 85_000_000

type Work = Pick<Schedule, 'work' | 'isFirstWithoutWorker' | 'hasProducers' | 'priorityMs'>

function workOf(seed: number): Work {
  const hasProducers = seed >= WITH_PRODUCERS
  if (seed < WITH_WORKERS) return { work: 'here', isFirstWithoutWorker: false, priorityMs: 0, hasProducers }
  const random = new Random(hashOf(seed, 5))
  return {
    work: random.pick(['store', 'queue']),
    isFirstWithoutWorker: random.chance(0.5),
    priorityMs: random.pick([0, 1_000, 600_000]),
    hasProducers,
  }
}

function mishapOf(random: Random, replicas: number): Mishap {
  const kind = random.pick(['kill', 'kill', 'kill', 'pause', 'close'])
  const call = { call: random.whole(1, 40), when: random.pick(['before', 'after']) } as const
  const at = random.chance(0.7) ? call : { ms: random.whole(0, 8_000) }
  return { kind, replica: random.whole(0, replicas - 1), at, ms: random.pick([10, 500, 5_000]) }
}

/** The same without anything that goes wrong. */
export function withoutFaults(schedule: Schedule): Schedule {
  return { ...schedule, rates: CALM, mishaps: [], only: new Set() }
}

/** Decides about single calls, each by its own name, so that one decision does not move the others. */
export class Decisions {
  /** The names of the faults that have happened. */
  readonly faults: string[] = []
  readonly #schedule: Schedule
  readonly #now: () => number
  readonly #counts = new Map<string, number>()

  constructor(schedule: Schedule, now: () => number) {
    this.#schedule = schedule
    this.#now = now
  }

  /** Whether the fault happens this time. */
  fails(fault: keyof Rates, where: string): boolean {
    const { rates, only, seed } = this.#schedule
    const rate = rates[fault]
    if (rate === 0 || this.#now() > FAULTS_END_MS) return false
    const name = this.#count(`${fault} ${where}`)
    const happens = only === undefined ? shareOf(seed, 2, textHash(name)) < rate : only.has(name)
    if (happens) this.faults.push(name)
    return happens
  }

  /** A delay up to `most` ms. Often none, so that things meet. */
  delay(where: string, most: number): number {
    const share = shareOf(this.#schedule.seed, 3, textHash(this.#count(where)))
    return share < 0.3 ? 0 : Math.ceil(share * most)
  }

  /** A whole number below `count`. */
  choose(where: string, count: number): number {
    return Math.floor(shareOf(this.#schedule.seed, 4, textHash(this.#count(where))) * count)
  }

  #count(where: string): string {
    const count = (this.#counts.get(where) ?? 0) + 1
    this.#counts.set(where, count)
    return `${where} ${count}`
  }
}

function textHash(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash, 31) + text.charCodeAt(at)
  return hash | 0
}
