/**
 * Two builds in one process: the working tree, twice, and a commit, in turn.
 *
 * The workloads are those of the other benchmarks. Each row has the CPU time of an operation; where the work waits for a disk
 * or a server, it has another row with the time that passes.
 */
import { copyOf, type Build } from './build.js'
import { createWorks } from './create.js'
import { durableWorks } from './durable.js'
import { functionWorks } from './functions.js'
import type { Variant } from './harness.js'
import { leaveOut } from './missing.js'
import { ratiosOf, type Clock, type Ratio } from './noise.js'
import { pageWorks } from './page.js'
import { formatNs, tableOf } from './report.js'
import { serverWorks } from './server.js'
import { streamWorks } from './stream.js'
import type { Work } from './workload.js'

const WORKS: readonly Work[] = [
  ...[...serverWorks, ...createWorks, ...streamWorks, ...pageWorks],
  ...[...functionWorks, ...durableWorks],
]
/** Rows of short work have many rounds, and less noise for it. */
const ROUNDS = 400

const TABLE = tableOf([
  ...[['work', 44] as const, ['clock', 7] as const, ['n', 3] as const, ['now', 9] as const],
  ...[['before', 9] as const, ['now / before', 12] as const, ['between', 15] as const],
  ...[['noise', 7] as const, ['verdict', 8] as const],
])

/** A row, as `--json` writes it. Above 1, the working tree is slower. */
export interface Difference extends Ratio {
  readonly work: string
  readonly clock: Clock
  readonly verdict: 'same' | 'faster' | 'slower'
}

interface Choice {
  readonly isChosen: (name: string) => boolean
  /** How long the rounds of one row may take. */
  readonly seconds: number
}

/** Shows each row as soon as it is measured. A row that the commit cannot do is left out, with a line. */
export async function against(
  now: Build,
  before: Build,
  { isChosen, seconds }: Choice,
  onRow: (row: Difference) => void,
): Promise<void> {
  const again = await copyOf(now)
  console.log(TABLE.head)
  for (const work of WORKS.filter(({ name }) => isChosen(name))) {
    try {
      for (const row of await differences(work, seconds, [now, again, before])) {
        console.log(toLine(row))
        onRow(row)
      }
    } catch (error) {
      if (error instanceof Unable)
        console.error(`Left out: ${work.name}. The commit cannot do it: ${error.message}`)
      else leaveOut(work.name, error)
    }
    globalThis.gc?.()
  }
}

class Unable extends Error {}

async function differences(
  work: Work,
  seconds: number,
  [now, again, before]: readonly [Build, Build, Build],
): Promise<Difference[]> {
  const { name, open, waits = false, warmUpOps } = work
  const plan = { rounds: ROUNDS, maxMs: seconds * 1e3, ...(warmUpOps !== undefined && { warmUpOps }) }
  const ratios = await ratiosOf([() => open(now), () => open(again), () => tried(() => open(before))], plan)
  const clocks: readonly Clock[] = waits ? ['cpu', 'elapsed'] : ['cpu']
  return clocks.map((clock) => ({ work: name, clock, ...ratios[clock], verdict: verdictOf(ratios[clock]) }))
}

/** Does it once: an older build may lack what the work needs. */
async function tried(open: () => Promise<Variant>): Promise<Variant> {
  try {
    const variant = await open()
    await variant.before?.()
    await variant.run()
    return variant
  } catch (cause) {
    throw new Unable(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** A difference that is not surely larger than the noise is none. */
function verdictOf({ low, high, noise }: Ratio): Difference['verdict'] {
  if (low > 1 + noise) return 'slower'
  return high < 1 - noise ? 'faster' : 'same'
}

function toLine({ work, clock, rounds, ours, other, value, low, high, noise, verdict }: Difference): string {
  return TABLE.lineOf([
    ...[work, clock === 'cpu' ? 'CPU' : 'elapsed', String(rounds), formatNs(ours), formatNs(other)],
    ...[
      value.toFixed(3),
      `${low.toFixed(3)} – ${high.toFixed(3)}`,
      `± ${(noise * 100).toFixed(1)} %`,
      verdict,
    ],
  ])
}
