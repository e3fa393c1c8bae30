/**
 * Children of a task: the tasks that its messages have led to, here and at other agents.
 *
 * @module
 */
import type { JournalRecorded } from '../events.js'
import type { TaskDocument, TaskDocuments } from '../managers.js'
import type { TaskSnapshot } from '../task.js'
import { childKind } from './child-kind.js'
import { lineageOf } from './lineage.js'

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

/** @param tasks - Of a manager in memory. */
export function childrenAmong<S extends string>(
  tasks: Iterable<{ readonly task: TaskSnapshot<S> }>,
  parentId: string,
): ChildTask<S>[] {
  const children: ChildTask<S>[] = []
  for (const { task } of tasks) {
    if (children.length >= MAX_CHILDREN) break
    if (lineageOf(task)?.parentTaskId === parentId) children.push(toChild(task))
  }
  return children
}

/** @param tasks - Of a manager over a store. */
export async function childrenIn<S extends string>(
  tasks: { readonly documents: TaskDocuments; peekTask(id: string): Promise<TaskSnapshot<S> | null> },
  parentId: string,
): Promise<ChildTask<S>[]> {
  const kind = childKind(parentId)
  const found: TaskDocument[] = []
  for (let page: readonly TaskDocument[] = []; ; found.push(...page)) {
    const last = found.at(-1)
    const after = last && { taskId: last.key.id, createdAt: last.key.createdAt, id: last.id }
    page = await tasks.documents.allDocuments(kind, after, PAGE_SIZE)
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

export function delegationsIn(journal: readonly JournalRecorded[]): ChildDelegation[] {
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
