/**
 * Children of a task: the tasks that its messages have led to, here and at other agents.
 *
 * @module
 */
import type { JournalRecorded } from '../core/events.js'
import type { MaybePromise, TaskDocument, TaskDocuments, TaskReader } from '../core/managers.js'
import { portOf } from '../core/port.js'
import type { TaskSnapshot } from '../core/task.js'
import { childKind } from '../core/lineage/child-kind.js'
import { lineageOf } from '../core/lineage/lineage.js'

/** A task of this manager whose first message names the parent. */
export interface ChildTask<S extends string = string> {
  readonly id: string
  readonly state: S
  readonly createdAt: string
  /** The time of its latest event. */
  readonly updatedAt: string
  /** Absent for a task without an owner. */
  readonly owner?: string
}

/** A message of the parent to another agent, as its journal has it. */
export interface ChildDelegation {
  /** The name that the code gave, with its occurrence: `book#1`. */
  readonly name: string
  /** The URL of the agent, or its name where its card has no URL. */
  readonly agent?: string
  /** The task at the agent. Absent until it is known, and where the agent has replied without one. */
  readonly taskId?: string
  /** The state in which the delegation has ended. Absent while the agent works, or where there is no task. */
  readonly state?: string
}

/** What a task has led to, as `children` returns it. */
export interface TaskChildren<S extends string = string> {
  /** Oldest first, at most 1,000. */
  readonly tasks: readonly ChildTask<S>[]
  /** In the order of the journal. */
  readonly delegations: readonly ChildDelegation[]
}

const MAX_CHILDREN = 1_000
const PAGE_SIZE = 100

/** The manager of the children. */
interface ParentTasks<S extends string> extends Pick<TaskReader<S>, 'lifecycle' | 'peekTask' | 'pageTasks'> {
  journal?(taskId: string): MaybePromise<JournalRecorded[]>
  /** Over a store only. */
  readonly documents?: TaskDocuments
}

/**
 * What a task has led to: the tasks of this manager whose first message names it as their parent, by its lineage, and the
 * delegations of its journal. The task itself may be another agent's. A lineage is what a client says: it proves nothing.
 * Over memory, O(number of tasks); over a store, O(number of children).
 *
 * @throws {A2AError} As a rejection: `STORE_FAILED`.
 */
export async function children<S extends string>(
  tasks: ParentTasks<S>,
  taskId: string,
): Promise<TaskChildren<S>> {
  const { documents } = tasks
  const found = documents === undefined ? await among(tasks, taskId) : await stored(tasks, documents, taskId)
  const task = await tasks.peekTask(taskId)
  return {
    tasks: found,
    delegations: task === null ? [] : delegationsIn((await tasks.journal?.(taskId)) ?? []),
  }
}

/** Of a manager in memory. */
async function among<S extends string>(tasks: ParentTasks<S>, parentId: string): Promise<ChildTask<S>[]> {
  // A page freezes its tasks: the table of a TaskManager is read without.
  const records = portOf<S>(tasks)?.table
  const all = records === undefined ? await everyTask(tasks) : Array.from(records, ({ task }) => task)
  return all
    .filter((task) => lineageOf(task)?.parentTaskId === parentId)
    .map(toChild)
    .slice(0, MAX_CHILDREN)
}

/** Oldest change first. */
async function everyTask<S extends string>(tasks: ParentTasks<S>): Promise<TaskSnapshot<S>[]> {
  const found: TaskSnapshot<S>[] = []
  let cursor: string | undefined
  do {
    const page = await tasks.pageTasks({ pageSize: PAGE_SIZE, cursor })
    found.push(...page.tasks)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return found.reverse()
}

async function stored<S extends string>(
  tasks: ParentTasks<S>,
  documents: TaskDocuments,
  parentId: string,
): Promise<ChildTask<S>[]> {
  const kind = childKind(parentId)
  const found: TaskDocument[] = []
  for (let page: readonly TaskDocument[] = []; ; found.push(...page)) {
    const last = found.at(-1)
    const after = last && { taskId: last.key.id, createdAt: last.key.createdAt, id: last.id }
    page = await documents.allDocuments(kind, after, PAGE_SIZE)
    if (page.length === 0 || found.length >= MAX_CHILDREN) break
  }
  const children: ChildTask<S>[] = []
  for (const { key } of found) {
    const task = await tasks.peekTask(key.id)
    if (task?.createdAt === key.createdAt) children.push(toChild(task))
  }
  return children.sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? -1 : 1)).slice(0, MAX_CHILDREN)
}

function toChild<S extends string>(task: TaskSnapshot<S>): ChildTask<S> {
  const { id, state, createdAt, updatedAt, owner } = task
  return { id, state, createdAt, updatedAt, ...(owner !== undefined && { owner }) }
}

function delegationsIn(journal: readonly JournalRecorded[]): ChildDelegation[] {
  const found = new Map<string, ChildDelegation>()
  let turn = 0
  for (const { generation, entry } of journal) {
    if (entry.kind === 'turn') turn = generation
    if (entry.kind !== 'delegate' && entry.kind !== 'handle' && entry.kind !== 'delegated') continue
    // Each turn has its own names.
    const key = `${turn} ${entry.name}`
    const known = found.get(key) ?? { name: entry.name }
    if (entry.kind === 'delegated') {
      found.set(key, { ...known, ...ended(entry.result) })
      continue
    }
    const taskId = textIn(entry.handle, 'taskId')
    const agent = entry.kind === 'delegate' ? entry.agent : undefined
    found.set(key, {
      ...known,
      ...(agent !== undefined && { agent }),
      ...(taskId !== undefined && { taskId }),
    })
  }
  return [...found.values()]
}

function ended(result: unknown): Pick<ChildDelegation, 'taskId' | 'state'> {
  const task: unknown =
    typeof result === 'object' && result !== null ? Reflect.get(result, 'task') : undefined
  const taskId = textIn(task, 'id')
  const state = textIn(task, 'state')
  return { ...(taskId !== undefined && { taskId }), ...(state !== undefined && { state }) }
}

function textIn(value: unknown, key: string): string | undefined {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  return typeof found === 'string' ? found : undefined
}
