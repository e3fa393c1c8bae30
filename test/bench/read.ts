/**
 * Reading one task, in random order over all that are stored.
 */
import { saveTasks } from 'a2a-tasks'
import type { TaskManager } from 'a2a-tasks'
import type { Library } from './build.js'
import { compare, type Variant } from './harness.js'
import { copyByHand } from './peers/floor.js'
import { SeedTaskManager } from './peers/seed-task-manager.js'
import { fasterThan, timesTheFloor, type Row } from './report.js'
import { INPUT, SEED, shuffled, slices, type Case } from './workload.js'

const PARAMS = { skill: 'summarize', input: INPUT }
const COPY_FLOOR = 'Map.get + copy by hand'

function fill({ TaskManager }: Library, size: number): { manager: TaskManager; ids: string[] } {
  const manager = new TaskManager({ maxTasks: size })
  const ids = Array.from({ length: size }, () => manager.createTask(PARAMS).id)
  return { manager, ids: shuffled(ids) }
}

/** Reads `ops` tasks a run, each run others. `read` gives a number of what it read, so that reading is not idle. */
function reader(ids: readonly string[], ops: number, read: (id: string) => number): Variant {
  const next = slices(ids, Math.min(ops, ids.length))
  let sum = 0
  return {
    ops,
    run: () => {
      for (let done = 0; done < ops;) {
        const part = next()
        for (const id of part) sum += read(id)
        done += part.length
      }
      return sum
    },
  }
}

async function getAgainstSeed({ library }: { library: Library }): Promise<Row[]> {
  const size = 1_000
  const { manager, ids } = fill(library, size)
  const seed = SeedTaskManager.withTasks(size, PARAMS)
  const seedIds = shuffled([...seed.tasks.keys()])
  const times = await compare(
    reader(ids, 10_000, (id) => manager.getTask(id)?.skill.length ?? 0),
    reader(seedIds, 2_000, (id) => seed.getTask(id)?.skill.length ?? 0),
    { rounds: 41, warmUpOps: 100_000 },
  )
  return [fasterThan('getTask, own copy, at 1,000', SEED, times, { gate: 10, goal: 25 })]
}

async function getAgainstFloor(library: Library, size: number): Promise<Row[]> {
  const { manager, ids } = fill(library, size)
  // In order of creation, as the manager's own are: neither side's memory is laid out better.
  const tasks = new Map(manager.listTasks().map((task) => [task.id, task]))
  const times = await compare(
    reader(ids, 10_000, (id) => manager.getTask(id)?.skill.length ?? 0),
    reader(ids, 10_000, (id) => {
      const task = tasks.get(id)
      return task === undefined ? 0 : copyByHand(task).skill.length
    }),
    { rounds: 41, warmUpOps: 200_000 },
  )
  const work = `getTask, own copy, at ${size.toLocaleString('en')}`
  return [timesTheFloor(work, COPY_FLOOR, times, { gate: 2, goal: 1.2 })]
}

async function peekAgainstMap(library: Library, size: number): Promise<Row[]> {
  const { manager, ids } = fill(library, size)
  const tasks = new Map(saveTasks(manager).map((task) => [task.id, task]))
  const times = await compare(
    reader(ids, 20_000, (id) => manager.peekTask(id)?.generation ?? 0),
    reader(ids, 20_000, (id) => tasks.get(id)?.generation ?? 0),
    { rounds: 41, warmUpOps: 400_000 },
  )
  const work = `peekTask, warm, at ${size.toLocaleString('en')}`
  return [timesTheFloor(work, 'Map.get', times, { gate: 3, goal: 1.3 })]
}

export const readCases: readonly Case[] = [
  { name: 'getTask against seed', run: getAgainstSeed },
  ...[1_000, 10_000, 100_000].map((size) => ({
    name: `getTask against its floor at ${size.toLocaleString('en')}`,
    run: ({ library }: { library: Library }) => getAgainstFloor(library, size),
  })),
  ...[1_000, 100_000].map((size) => ({
    name: `peekTask at ${size.toLocaleString('en')}`,
    run: ({ library }: { library: Library }) => peekAgainstMap(library, size),
  })),
]
