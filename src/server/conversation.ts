/**
 * The history of a conversation: what was said and produced in the earlier tasks of its context.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { isTerminal, type Lifecycle } from '../core/lifecycle.js'
import type { OwnerFilter } from '../core/queries.js'
import type { TaskSnapshot } from '../core/task.js'
import { fromBase64Url, toBase64Url } from '../runtime/base64url.js'
import { readOptions, requireWhole } from '../runtime/options.js'
import { textOf } from '../wire/text.js'
import type { ConversationEntry, ConversationOptions, ConversationPage } from './run/run.js'
import type { ServedTasks } from './tasks.js'

/** The task whose run asks. It and the tasks that were created after it are no part of its history. */
interface OwnTask {
  readonly taskId: string
  readonly createdAt: string | undefined
}

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
/** The largest page, in UTF-16 units of JSON. A larger entry has its own page. */
const MAX_SIZE = 1_048_576
/** Stored tasks may be large, so few are read at a time. */
const TASKS_AT_A_TIME = 10

/**
 * Reads one page of the tasks of a context and an owner. Tasks are in the order of their latest change, and what belongs to one
 * task is together: its messages, and after them the artifacts, if it has ended.
 *
 * @throws {TypeError | RangeError} As a rejection, naming the invalid option.
 * @throws {A2AError} As a rejection: `INVALID_PARAMS` for another `before` than that of a page; `STORE_FAILED`.
 */
export async function readHistory(
  tasks: ServedTasks,
  { contextId, owner = null }: OwnerFilter & { readonly contextId: string },
  own: OwnTask,
  options: ConversationOptions = {},
): Promise<ConversationPage> {
  const given = readOptions(options, ['limit', 'before'], 'run.conversation')
  const limit = requireWhole('limit', given.limit ?? DEFAULT_LIMIT, 1, MAX_LIMIT)
  const start = given.before === undefined ? undefined : toPosition(given.before)
  const latestFirst: ConversationEntry[] = []
  let size = 0
  for (let cursor = start?.cursor; ;) {
    const page = await tasks.pageTasks({ contextId, owner, pageSize: TASKS_AT_A_TIME, cursor })
    for (const task of page.tasks) {
      if (!isEarlier(task, own)) continue
      const entries = entriesOf(task, tasks.lifecycle).slice(0, start && unreadOf(task, start))
      for (const [index, entry] of [...entries.entries()].reverse()) {
        size += JSON.stringify([entry.parts, entry.metadata]).length
        if (latestFirst.length === limit || (latestFirst.length > 0 && size > MAX_SIZE)) {
          const { id, updatedAt } = task
          const before = toText({ cursor, id, updatedAt, unread: index + 1 })
          return { entries: latestFirst.reverse(), before }
        }
        latestFirst.push(entry)
      }
    }
    cursor = page.nextCursor
    if (cursor === undefined) return { entries: latestFirst.reverse() }
  }
}

function isEarlier({ id, createdAt }: TaskSnapshot, own: OwnTask): boolean {
  return id !== own.taskId && (own.createdAt === undefined || createdAt <= own.createdAt)
}

function entriesOf(task: TaskSnapshot, lifecycle: Lifecycle): ConversationEntry[] {
  const { id: taskId, state, messages, artifacts } = task
  const results = isTerminal(state, lifecycle) ? artifacts : []
  return [
    ...messages.map((message) => toEntry('message', message.role, message)),
    ...results.flatMap(({ parts, metadata }) =>
      parts === undefined ? [] : [toEntry('artifact', 'agent', { parts, metadata })],
    ),
  ]

  function toEntry(
    type: ConversationEntry['type'],
    role: ConversationEntry['role'],
    { parts, metadata }: Content,
  ): ConversationEntry {
    return { type, role, text: textOf({ parts }), parts, ...(metadata && { metadata }), taskId, state }
  }
}

interface Content {
  readonly parts: ConversationEntry['parts']
  readonly metadata?: ConversationEntry['metadata'] | undefined
}

/** Where a page ended: in the list of tasks after `cursor`, at this task, which has `unread` more entries. */
interface Position {
  readonly cursor: string | undefined
  readonly id: string
  readonly updatedAt: string
  readonly unread: number
}

/** How many entries of the task come before the position. */
function unreadOf({ id, updatedAt }: TaskSnapshot, position: Position): number | undefined {
  if (updatedAt === position.updatedAt && id === position.id) return position.unread
  const isBefore = updatedAt < position.updatedAt || (updatedAt === position.updatedAt && id < position.id)
  return isBefore ? undefined : 0
}

function toText(position: Position): string {
  return toBase64Url(new TextEncoder().encode(JSON.stringify(position)))
}

function toPosition(before: unknown): Position {
  const bytes = typeof before === 'string' ? fromBase64Url(before) : undefined
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (isPosition(value)) return value
  } catch {
    // Refused below.
  }
  throw invalidParams('before', 'must be the "before" of a page that run.conversation() returned')
}

function isPosition(value: unknown): value is Position {
  if (typeof value !== 'object' || value === null) return false
  const { cursor, id, updatedAt, unread } = value as Partial<Record<keyof Position, unknown>>
  const isText = [id, updatedAt, cursor ?? ''].every((text) => typeof text === 'string')
  return isText && Number.isSafeInteger(unread)
}
