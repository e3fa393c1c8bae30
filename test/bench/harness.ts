/**
 * Comparison of two pieces of work: in one process, in rounds, in rotating order.
 */

export interface Variant {
  /** How many operations one `run` is. */
  readonly ops: number
  /** Puts things in place, untimed. */
  readonly before?: () => void
  readonly run: () => unknown
}

export interface Comparison {
  /** Nanoseconds per operation, one number for each round. */
  readonly ours: readonly number[]
  readonly peer: readonly number[]
}

export interface Plan {
  readonly rounds: number
  /** Each variant runs before it is measured until it has done this many operations or has taken long enough. */
  readonly warmUpOps?: number
}

const WARM_UP_OPS = 5_000
const WARM_UP_MS = 2_000

/** Nanoseconds per operation of each variant in each round: `result[variant][round]`. */
export async function measure(variants: readonly Variant[], plan: Plan): Promise<number[][]> {
  for (const variant of variants) await warmUp(variant, plan.warmUpOps ?? WARM_UP_OPS)
  globalThis.gc?.()
  const samples = variants.map((): number[] => [])
  for (let round = 0; round < plan.rounds; round++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const index = (round + turn) % variants.length
      const variant = variants[index]
      if (variant !== undefined) samples[index]?.push(await timeOf(variant))
    }
  }
  return samples
}

export async function compare(ours: Variant, peer: Variant, plan: Plan): Promise<Comparison> {
  const [oursNs = [], peerNs = []] = await measure([ours, peer], plan)
  return { ours: oursNs, peer: peerNs }
}

async function warmUp(variant: Variant, ops: number): Promise<void> {
  const end = performance.now() + WARM_UP_MS
  for (let done = 0; done < ops && performance.now() < end; done += variant.ops) await timeOf(variant)
}

async function timeOf({ ops, before, run }: Variant): Promise<number> {
  before?.()
  const start = performance.now()
  const result = run()
  // Awaiting what is no promise would let other work in before the clock is read.
  if (result instanceof Promise) await result
  return ((performance.now() - start) * 1e6) / ops
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
