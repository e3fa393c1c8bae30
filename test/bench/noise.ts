/**
 * A ratio, and how far it is to be believed.
 *
 * The code in question runs twice in each round, as two copies of one build, beside the other code. What the copies differ by is
 * noise: of the machine, of the garbage collector, of what the compiler made of either copy.
 */
import { median, sample, type Plan, type Sample, type Variant } from './harness.js'

export interface Ratio {
  readonly rounds: number
  /** Medians, in nanoseconds. */
  readonly ours: number
  readonly other: number
  /**
   * The median of our time divided by the other's, of each round and of both copies. Times have outliers on one side only: the
   * mean of two copies would be slower than one.
   */
  readonly value: number
  /** It lies between these, with a confidence of at least 93 %. */
  readonly low: number
  readonly high: number
  /** How far from 1 the ratio of the two copies may lie, with the same confidence. */
  readonly noise: number
}

/** The CPU time, or the time that passes. */
export type Clock = keyof Sample

/** Opens ours, ours again and the other, measures them in turn, and closes them. */
export async function ratiosOf(
  openers: readonly (() => Promise<Variant> | Variant)[],
  plan: Plan,
): Promise<Record<Clock, Ratio>> {
  const variants: Variant[] = []
  try {
    for (const open of openers) variants.push(await open())
    const samples = await sample(variants, plan)
    return { cpu: ratioOf(samples, 'cpu'), elapsed: ratioOf(samples, 'elapsed') }
  } finally {
    for (const { close } of variants) await close?.()
  }
}

function ratioOf(samples: readonly (readonly Sample[])[], clock: Clock): Ratio {
  const [first = [], again = [], other = []] = samples.map((rounds) => rounds.map((round) => round[clock]))
  const ratios = [...quotients(first, other), ...quotients(again, other)]
  const rounds = other.length
  const self = intervalOf(quotients(again, first), rounds)
  return {
    ...{ rounds, ours: median([...first, ...again]), other: median(other) },
    ...{ value: median(ratios), ...intervalOf(ratios, rounds) },
    noise: Math.max(Math.abs(self.low - 1), Math.abs(self.high - 1)),
  }
}

function quotients(numerators: readonly number[], denominators: readonly number[]): number[] {
  return numerators.map((value, round) => value / (denominators[round] ?? NaN))
}

/**
 * Where the median lies: between two of the values, by their order alone, whatever their distribution. Those of one round count
 * as one, because they depend on each other.
 */
function intervalOf(values: readonly number[], rounds: number): { low: number; high: number } {
  const sorted = values.toSorted((a, b) => a - b)
  const below = Math.max(0, Math.floor(rounds / 2 - 0.98 * Math.sqrt(rounds)) - 1)
  const left = below * (values.length / rounds)
  return { low: sorted[left] ?? NaN, high: sorted[sorted.length - 1 - left] ?? NaN }
}
