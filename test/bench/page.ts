/**
 * Pages of 50 out of 100,000 tasks: the first one asked for again and again, as clients do to see what is new, and
 * one after the other by cursor.
 *
 * Tasks change in another order than they were made in; if they did not, the peer would sort what is sorted. All
 * pages were read before, but for the row that says otherwise: a first reading freezes the tasks.
 */
import { TaskState, type ListTasksRequest } from '@a2a-js/sdk'
import { InMemoryTaskStore, ServerCallContext } from '@a2a-js/sdk/server'
import type { TaskManager, TaskQuery } from 'a2a-tasks'
import type { Library } from './build.js'
import { compare, type Variant } from './harness.js'
import { officialTask } from './peers/official.js'
import { fasterThan, type Row } from './report.js'
import { expectEqual, OFFICIAL, shuffled, textOf, type Case, type Work } from './workload.js'

const SIZE = 100_000
const PAGE = 50
const CONTEXTS = 50

/** Where in the order of changes each task stands. */
const ORDER = shuffled(Array.from({ length: SIZE }, (_, index) => index))
const contextOf = (index: number): string => `context-${index % CONTEXTS}`
const isWorking = (index: number): boolean => (index >> 2) % 4 === 0

function fillOurs({ TaskManager }: Library): TaskManager {
  const start = Date.now()
  let now = start
  const manager = new TaskManager({ maxTasks: SIZE, clock: { now: () => now, schedule: () => () => {} } })
  const ids = ORDER.map((_, index) => {
    const input = { text: textOf(index) }
    return manager.createTask({ skill: 'summarize', input, contextId: contextOf(index) }).id
  })
  const byChange = ids.map((id, index) => ({ id, index, at: start + (ORDER[index] ?? 0) }))
  for (const { id, index, at } of byChange.sort((a, b) => a.at - b.at)) {
    now = at
    manager.updateTask(id, { state: 'working' })
    if (!isWorking(index)) manager.updateTask(id, { state: 'completed' })
  }
  return manager
}

async function fillOfficial(context: ServerCallContext): Promise<InMemoryTaskStore> {
  const store = new InMemoryTaskStore()
  const start = Date.now()
  for (const [index, place] of ORDER.entries()) {
    const state = isWorking(index) ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_COMPLETED
    const timestamp = new Date(start + place).toISOString()
    const task = officialTask(crypto.randomUUID(), { state, contextId: contextOf(index), timestamp })
    await store.save({ ...task, metadata: { text: textOf(index) } }, context)
  }
  return store
}

/** `isWalking`: each page is the next one, and after the last comes the first. Else it is always the first. */
function ourPages(manager: TaskManager, query: TaskQuery, ops: number, isWalking: boolean): Variant {
  let cursor: string | undefined
  return {
    ops,
    run: () => {
      for (let done = 0; done < ops; done++) {
        const { tasks, nextCursor } = manager.pageTasks({ ...query, pageSize: PAGE, cursor })
        expectEqual(tasks.length, PAGE, 'tasks on our page')
        if (isWalking) cursor = nextCursor
      }
    },
  }
}

interface Official {
  readonly store: InMemoryTaskStore
  readonly context: ServerCallContext
}

type Filter = Partial<ListTasksRequest>

function officialPages(
  { store, context }: Official,
  filter: Filter,
  ops: number,
  isWalking: boolean,
): Variant {
  let pageToken = ''
  const request: ListTasksRequest = {
    ...{ tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED },
    ...{ statusTimestampAfter: undefined, pageSize: PAGE, pageToken: '' },
    ...filter,
  }
  return {
    ops,
    run: async () => {
      for (let done = 0; done < ops; done++) {
        const { tasks, nextPageToken } = await store.list({ ...request, pageToken }, context)
        expectEqual(tasks.length, PAGE, 'tasks on the official page')
        if (isWalking) pageToken = nextPageToken
      }
    },
  }
}

interface Selection {
  readonly name: string
  readonly ours: TaskQuery
  readonly theirs: Filter
  readonly theirOps: number
  readonly goal: number
}

const SELECTIONS = [
  { name: 'unfiltered', ours: {}, theirs: {}, theirOps: 1, goal: 10_000 },
  {
    ...{ name: 'one context of 50', theirOps: 20, goal: 1_000 },
    ...{ ours: { contextId: contextOf(7) }, theirs: { contextId: contextOf(7) } },
  },
  {
    ...{ name: 'one state, a quarter', theirOps: 2, goal: 5_000 },
    ...{ ours: { state: 'working' }, theirs: { status: TaskState.TASK_STATE_WORKING } },
  },
] as const satisfies readonly Selection[]

const [, ONE_CONTEXT] = SELECTIONS

/** The next page of one context, again and again. */
export function nextPageOurs({ library }: { library: Library }): Variant {
  return ourPages(fillOurs(library), ONE_CONTEXT.ours, 500, true)
}

export async function nextPageOfficial(): Promise<Variant> {
  const context = new ServerCallContext()
  const official = { store: await fillOfficial(context), context }
  return officialPages(official, ONE_CONTEXT.theirs, ONE_CONTEXT.theirOps, true)
}

export const pageWorks: readonly Work[] = [
  {
    ...{ name: 'next page of one context, out of 100,000', warmUpOps: 10_000 },
    open: (build) => Promise.resolve(nextPageOurs(build)),
  },
]

async function* pages({ library }: { library: Library }): AsyncIterable<Row> {
  const manager = fillOurs(library)
  const context = new ServerCallContext()
  const official = { store: await fillOfficial(context), context }

  const rowOf = async (work: string, selection: Selection, ops: number, warmUpOps: number): Promise<Row> => {
    const isWalking = !work.startsWith('first')
    const times = await compare(
      ourPages(manager, selection.ours, ops, isWalking),
      officialPages(official, selection.theirs, selection.theirOps, isWalking),
      { rounds: 9, warmUpOps },
    )
    const name = `${work} of 50 out of 100,000, ${selection.name}`
    return fasterThan(name, OFFICIAL, times, { gate: 1_000, goal: selection.goal })
  }
  const [all] = SELECTIONS
  manager.pageTasks({ pageSize: 1 }) // builds the index
  yield await rowOf('page never read before', all, 100, 1)
  for (const selection of SELECTIONS) yield await rowOf('first page', selection, 500, 5_000)
  for (const selection of SELECTIONS) yield await rowOf('next page', selection, 500, 5_000)
}

export const pageCases: readonly Case[] = [{ name: 'a page of 50 out of 100,000', run: pages }]
