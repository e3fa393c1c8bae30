/**
 * createTask, and the whole life of a task, while many others are stored.
 *
 * The number of stored tasks stays the same, and both sides pay for that within the measured time: each of our tasks
 * is paid for with the expiry of an old one, each of the seed's with a `Map.delete` of the one just made, which is the
 * cheapest way to have it gone.
 */
import type { TaskManager } from 'a2a-tasks'
import type { Build, Library } from './build.js'
import { compare, growthExponent, measure, median, type Variant } from './harness.js'
import { SeedTaskManager } from './peers/seed-task-manager.js'
import { fasterThan, formatNs, type Bounds, type Row } from './report.js'
import { INPUT, OUTPUT, SEED, type Case, type Work } from './workload.js'

/** Between two batches of tasks; the real time that passes within a batch is nothing against it. */
const STEP_MS = 1_000_000_000
const PARAMS = { skill: 'summarize', input: INPUT }

/** Holds `size` tasks: each new batch, made a step later than the one before, makes the oldest one expire. */
class SteadyManager {
  readonly manager: TaskManager
  readonly #batch: number
  #offset = 0

  constructor({ TaskManager }: Library, size: number) {
    this.#batch = Math.min(1_000, size / 10)
    const batches = size / this.#batch
    this.manager = new TaskManager({
      maxTasks: size,
      limits: { maxTotalBytes: Number.MAX_SAFE_INTEGER },
      expiryMs: (batches - 0.5) * STEP_MS,
      clock: { now: () => Date.now() + this.#offset, schedule: () => () => {} },
    })
    for (let made = 0; made < batches; made++) this.runBatch(createOurs)
  }

  runBatch(work: (manager: TaskManager) => void): void {
    this.#offset += STEP_MS
    for (let done = 0; done < this.#batch; done++) work(this.manager)
  }

  variant(ops: number, work: (manager: TaskManager) => void): Variant {
    const batches = ops / this.#batch
    return {
      ops,
      run: () => {
        for (let batch = 0; batch < batches; batch++) this.runBatch(work)
      },
    }
  }
}

function createOurs(manager: TaskManager): void {
  manager.createTask(PARAMS)
}

function liveOurs(manager: TaskManager): void {
  const { id } = manager.createTask(PARAMS)
  manager.updateTask(id, { state: 'working', message: 'Reading' })
  manager.updateTask(id, { state: 'completed', output: OUTPUT })
  manager.getTask(id)
}

function createSeeds(manager: SeedTaskManager): void {
  const { id } = manager.createTask(PARAMS)
  manager.tasks.delete(id)
}

function liveSeeds(manager: SeedTaskManager): void {
  const { id } = manager.createTask(PARAMS)
  manager.updateTask(id, { state: 'working', message: 'Reading' })
  manager.updateTask(id, { state: 'completed', output: OUTPUT })
  manager.getTask(id)
  manager.tasks.delete(id)
}

function seedVariant(
  manager: SeedTaskManager,
  ops: number,
  work: (manager: SeedTaskManager) => void,
): Variant {
  return {
    ops,
    run: () => {
      for (let done = 0; done < ops; done++) work(manager)
    },
  }
}

type Life = 'createTask' | 'lifecycle'

export function livingOurs({ library }: Build, work: Life, size: number): Variant {
  return new SteadyManager(library, size).variant(2_000, work === 'createTask' ? createOurs : liveOurs)
}

export function livingSeeds(work: Life, size: number): Variant {
  const seed = SeedTaskManager.withTasks(size, PARAMS)
  return seedVariant(seed, Math.max(1, 40_000 / size), work === 'createTask' ? createSeeds : liveSeeds)
}

async function againstSeed(build: Build, work: Life, size: number, bounds: Bounds): Promise<Row[]> {
  const times = await compare(livingOurs(build, work, size), livingSeeds(work, size), { rounds: 41 })
  return [fasterThan(`${work} at ${size.toLocaleString('en')}`, SEED, times, bounds)]
}

const GROWTH_SIZES = [1_000, 10_000, 100_000, 1_000_000]

/** One size after the other, each alone: beside a million tasks the garbage collector slows a thousand as well. */
async function growth({ library }: { library: Library }): Promise<Row[]> {
  const samples = GROWTH_SIZES.map((): number[] => [])
  for (let round = 0; round < 3; round++) {
    for (const [index, size] of GROWTH_SIZES.entries()) {
      const variant = new SteadyManager(library, size).variant(5_000, createOurs)
      const [times = []] = await measure([variant], { rounds: 21, warmUpOps: 20_000 })
      samples[index]?.push(median(times))
    }
  }
  const [smallest = [], , , largest = []] = samples
  return [
    {
      ...{ work: 'createTask, growth 1,000 → 1,000,000', peer: '–' },
      ...{ ours: `${formatNs(median(smallest))} → ${formatNs(median(largest))}`, theirs: '–' },
      ...{ value: growthExponent(GROWTH_SIZES, samples), unit: 'exponent', good: 'at most' },
      ...{ gate: 0.2, goal: 0.1 },
    },
  ]
}

export const createWorks: readonly Work[] = [
  { name: 'createTask at 1,000', open: (build) => Promise.resolve(livingOurs(build, 'createTask', 1_000)) },
  { name: 'lifecycle at 1,000', open: (build) => Promise.resolve(livingOurs(build, 'lifecycle', 1_000)) },
]

export const createCases: readonly Case[] = [
  {
    name: 'createTask at 1,000',
    run: (build) => againstSeed(build, 'createTask', 1_000, { gate: 100, goal: 250 }),
  },
  {
    name: 'createTask at 100,000',
    run: (build) => againstSeed(build, 'createTask', 100_000, { gate: 5_000, goal: 15_000 }),
  },
  { name: 'createTask growth', run: growth },
  {
    name: 'lifecycle at 1,000',
    run: (build) => againstSeed(build, 'lifecycle', 1_000, { gate: 40, goal: 75 }),
  },
  {
    name: 'lifecycle at 100,000',
    run: (build) => againstSeed(build, 'lifecycle', 100_000, { gate: 3_000, goal: 5_500 }),
  },
]
