/**
 * Comparison of two pieces of work: in one process, in rounds, in rotating order.
 */

export interface Variant {
  /** How many operations one `run` is. */
  readonly ops: number
  /** Puts things in place, untimed. */
  readonly before?: () => unknown
  readonly run: () => unknown
  /** Nanoseconds of CPU that the process that does the work has taken so far. Without it, that is this process. */
  readonly cpu?: () => Promise<number>
  /** Lets go of what it holds, after the last run. */
  readonly close?: () => Promise<void>
}

/** What an operation took in one round, in nanoseconds. */
export interface Sample {
  readonly elapsed: number
  readonly cpu: number
}

export interface Comparison {
  /** Nanoseconds per operation, one number for each round. */
  readonly ours: readonly number[]
  readonly peer: readonly number[]
}

export interface Plan {
  readonly rounds: number
  /** Fewer rounds than these, but at least five, if they would take longer than so many milliseconds. */
  readonly maxMs?: number
  /** Each variant runs before it is measured until it has done this many operations or has taken long enough. */
  readonly warmUpOps?: number
}

const WARM_UP_OPS = 5_000
const WARM_UP_MS = 2_000
const MIN_ROUNDS = 5

/** The time per operation of each variant in each round: `result[variant][round]`. */
export async function measure(variants: readonly Variant[], plan: Plan): Promise<number[][]> {
  return (await sample(variants, plan)).map((samples) => samples.map(({ elapsed }) => elapsed))
}

/** The same, with the CPU time. */
export async function sample(variants: readonly Variant[], plan: Plan): Promise<Sample[][]> {
  await warmUp(variants, plan.warmUpOps ?? WARM_UP_OPS)
  globalThis.gc?.()
  const samples = variants.map((): Sample[] => [])
  const end = performance.now() + (plan.maxMs ?? Infinity)
  for (let round = 0; round < plan.rounds; round++) {
    if (round >= MIN_ROUNDS && performance.now() > end) break
    for (const index of orderOf(round, variants.length)) {
      const variant = variants[index]
      if (variant !== undefined) samples[index]?.push(await timeOf(variant))
    }
  }
  return samples
}

/** Each variant has each place as often, and comes after each other one: it pays for some of the garbage of the one before. */
function orderOf(round: number, length: number): number[] {
  const order = Array.from({ length }, (_, turn) => (round + turn) % length)
  return Math.floor(round / length) % 2 === 0 ? order : order.reverse()
}

export async function compare(ours: Variant, peer: Variant, plan: Plan): Promise<Comparison> {
  const [oursNs = [], peerNs = []] = await measure([ours, peer], plan)
  return { ours: oursNs, peer: peerNs }
}

/** In turn, too: what one makes the compiler assume of the code that they share, another may refute. */
async function warmUp(variants: readonly Variant[], ops: number): Promise<void> {
  let cold = variants.map((variant) => ({ variant, done: 0, ns: 0 }))
  while (cold.length > 0) {
    for (const each of cold) {
      const { elapsed } = await timeOf(each.variant)
      each.done += each.variant.ops
      each.ns += elapsed * each.variant.ops
    }
    cold = cold.filter(({ done, ns }) => done < ops && ns < WARM_UP_MS * 1e6)
  }
}

async function timeOf({ ops, before, run, cpu }: Variant): Promise<Sample> {
  const prepared = before?.()
  if (prepared instanceof Promise) await prepared
  const cpuBefore = cpu === undefined ? ownCpu() : await cpu()
  const start = performance.now()
  const result = run()
  // Awaiting what is no promise would let other work in before the clock is read.
  if (result instanceof Promise) await result
  const elapsed = (performance.now() - start) * 1e6
  const used = (cpu === undefined ? ownCpu() : await cpu()) - cpuBefore
  return { elapsed: elapsed / ops, cpu: used / ops }
}

function ownCpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1e3
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2
}

/** The median of `numerator / denominator` within each round: a slow second of the machine slows both. */
export function medianRatio(numerator: readonly number[], denominator: readonly number[]): number {
  return median(numerator.map((value, round) => value / (denominator[round] ?? NaN)))
}

/** The median over rounds of the slope of log(time) over log(size): 0 is constant, 1 linear. */
export function growthExponent(sizes: readonly number[], samples: readonly (readonly number[])[]): number {
  const rounds = samples[0] ?? []
  const logSizes = sizes.map(Math.log)
  return median(
    rounds.map((_, round) =>
      slope(
        logSizes,
        samples.map((times) => Math.log(times[round] ?? NaN)),
      ),
    ),
  )
}

/** By least squares. */
function slope(xs: readonly number[], ys: readonly number[]): number {
  const meanX = mean(xs)
  const meanY = mean(ys)
  const covariance = mean(xs.map((x, index) => (x - meanX) * ((ys[index] ?? NaN) - meanY)))
  return covariance / mean(xs.map((x) => (x - meanX) ** 2))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
