/**
 * Earlier attempts of the turn that a stored task is in, read from its log.
 *
 * @module
 */
import type { JournalRecorded, TaskEvent } from '../../core/events.js'
import type { JsonValue } from '../../core/json-types.js'
import type { LocalTasks, TaskReader } from '../../core/managers.js'
import type { TaskState } from '../../core/lifecycle.js'
import { isNamed } from '../../core/history/named-entry.js'
import { hasBeginning, isUndoneAfter, writtenIn } from '../../core/history/undone-artifacts.js'
import { entriesOf, logAfter, type HeldLog } from '../../core/saved/restored-journal.js'
import type { Artifact, DeepReadonly, Message, TaskSnapshot } from '../../core/task.js'
import { isShared, type ServedTasks } from '../tasks.js'
import type { EarlierAttempts, OpenTurn } from './open-turn.js'
import { readBy, startOf } from './continuation.js'
import { placeOf } from './names.js'
import { nextAttempt, replayable } from '../../core/history/attempts.js'

/**
 * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `STORE_FAILED`.
 * @returns `undefined` for a task without an open turn, or whose log is lost, as that of a restored task.
 */
export async function readOpenTurn(tasks: ServedTasks, task: TaskSnapshot): Promise<OpenTurn | undefined> {
  const { turn } = task
  if (turn === undefined) return undefined
  const log = await recentLog(tasks, task, turn)
  const inLog = entriesOf(log)
  // The log in memory may have dropped what the journal keeps.
  const kept = isShared(tasks) ? inLog : (tasks.journal?.(task.id) ?? inLog)
  // Others send signals: where one comes says nothing of the code.
  const recorded = kept.filter(({ generation, entry }) => generation >= turn && entry.kind !== 'signal')
  const journal = replayable(recorded)
  const [first] = journal
  if (first?.entry.kind !== 'turn') return undefined
  const message = startOf(first.entry, task)
  if (message === undefined) return undefined
  const read = new Set(readBy(first.entry, task))
  for (const { entry } of journal) if (entry.kind === 'answer') read.add(entry.messageId)
  return {
    message,
    origin: first.entry.messageId,
    // Nothing writes to it.
    note: first.entry.note as JsonValue | undefined,
    read,
    attempt: nextAttempt(recorded),
    journal,
    ...(await earlierWrites(tasks, task, log, recorded)),
  }
}

/** A turn whose beginning the log does not mark, since it has recorded nothing, or whose end it marks. */
export interface UnmarkedTurn extends EarlierAttempts {
  readonly isOver: boolean
  /** The ids of the user's messages that the turn has read, if it is over. */
  readonly read: ReadonlySet<string>
  /** How many messages of the conversation it has seen. */
  readonly seen: number
}

/**
 * The turn that began with the user's message `messageId`, of a task without an open turn.
 *
 * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `STORE_FAILED`.
 */
export async function readUnmarkedTurn(
  tasks: ServedTasks,
  task: TaskSnapshot,
  messageId: string,
): Promise<UnmarkedTurn> {
  const log = await wholeLog(tasks, task)
  const { events } = log
  const begun = events.findIndex(
    (event) =>
      event.type === 'message' && event.message.role === 'user' && event.message.messageId === messageId,
  )
  const since = begun === -1 ? [] : events.slice(begun)
  const read = new Set<string>()
  let seen = 0
  for (const event of since) {
    if (event.type !== 'journal') continue
    const { entry } = event
    if (entry.kind === 'turn' || entry.kind === 'answer') read.add(entry.messageId)
    if (entry.kind === 'read') seen = entry.count
    const unread = entry.kind === 'end' ? (entry.unread ?? []) : []
    for (const id of unread) read.delete(id)
  }
  const isOver = read.has(messageId)
  const { generation = Infinity } = events[begun] ?? {}
  const artifacts = isOver ? new Map() : writtenIn(log, [], generation).stale
  return { isOver, read, seen, attempt: 1, journal: [], artifacts }
}

/**
 * The user's messages that the turn has not read, oldest first.
 *
 * @param isSteered - Whether the run finds this message in the conversation, so that it does not wait for one of its own.
 */
export function unreadMessages(
  { messages }: TaskSnapshot,
  { origin, read, journal }: OpenTurn,
  isSteered: (message: Message) => boolean,
): readonly Message[] {
  const begun = placeOf(messages, origin)
  // Snapshots are frozen. Runs expose messages as read-only, so nothing writes to them.
  const unread = messages
    .slice(begun)
    .filter(
      ({ role, messageId }) => role === 'user' && !read.has(messageId),
    ) as readonly DeepReadonly<Message>[] as readonly Message[]
  let open = 0
  for (const { entry } of journal) {
    if (entry.kind === 'question') open += 1
    else if (entry.kind === 'answer' || entry.kind === 'withdrawn') open -= 1
  }
  // An open question gets the first message in any case.
  return unread.filter((message, index) => index < open || !isSteered(message))
}

/** Whether the code waits for a time, a signal or another agent. */
export function hasOpenWait(journal: readonly JournalRecorded[]): boolean {
  const ends = { wake: 'sleep', received: 'wait', delegated: 'delegate' } as const
  const open = new Set<string>()
  for (const { entry } of journal) {
    const { kind } = entry
    if (kind === 'sleep' || kind === 'wait' || kind === 'delegate') open.add(`${kind} ${entry.name}`)
    else if (kind === 'wake' || kind === 'received' || kind === 'delegated')
      open.delete(`${ends[kind]} ${entry.name}`)
  }
  return open.size > 0
}

/** What the turn's earlier attempts have written, as far as the next one has to know of it. */
async function earlierWrites(
  tasks: ServedTasks,
  task: TaskSnapshot,
  log: HeldLog<TaskState>,
  recorded: readonly JournalRecorded[],
): Promise<Pick<EarlierAttempts, 'artifacts' | 'sent'>> {
  const begin = task.turn ?? 0
  const events = log.events.filter(({ generation }) => generation >= begin)
  // The log of a restored task begins later.
  if (events[0]?.generation !== task.turn && 'unfinished' in tasks)
    return { artifacts: rewrittenIn(tasks, task.id) }
  const isSimple = !mayBeUndone(events, recorded)
  if (isSimple && log.restored === undefined && hasBeginning(recorded, log.events))
    return { artifacts: new Map(), sent: writtenIn(log, recorded).sent }
  const whole = await wholeLog(tasks, task)
  // The log in memory has dropped what the turn wrote before its first entry.
  if (whole.events[0]?.generation !== 1 && 'unfinished' in tasks)
    return { artifacts: isSimple ? new Map() : rewrittenIn(tasks, task.id) }
  const { stale, sent } = writtenIn(whole, recorded)
  return { artifacts: isSimple ? new Map() : stale, ...(whole.restored === undefined && { sent }) }
}

/** Whether the next attempt may write again what is in the log. */
function mayBeUndone(events: readonly TaskEvent[], recorded: readonly JournalRecorded[]): boolean {
  const isUndone = isUndoneAfter(recorded, 0)
  const isBeyond = (event: TaskEvent): boolean =>
    event.type === 'artifact' && (event.restored !== undefined || isUndone(event))
  const hasAttempts = recorded.some(({ entry }) => entry.kind === 'attempt')
  return hasAttempts || events.some(isBeyond) || mayBeginBefore(recorded)
}

/** Whether the next attempt writes again what the turn wrote before its first entry: it has no other one, or had a step then. */
function mayBeginBefore([first, ...others]: readonly JournalRecorded[]): boolean {
  if (first?.entry.kind !== 'turn' || first.entry.continued !== undefined) return false
  const [second] = others.map(({ entry }) => entry).filter(isNamed)
  return second === undefined || second.isParallel === true
}

function rewrittenIn(
  { unfinished }: Pick<LocalTasks, 'unfinished'>,
  taskId: string,
): Map<string, DeepReadonly<Artifact> | undefined> {
  const written = unfinished?.rewritten(taskId) ?? new Map<string, DeepReadonly<Artifact> | null>()
  return new Map([...written].map(([artifactId, before]) => [artifactId, before ?? undefined]))
}

/** So many events before the journal of a turn almost always contain the message that began it. */
const BEFORE_JOURNAL = 16

/** The log of the turn, and some of what was before its journal if that is held. */
async function recentLog(tasks: ServedTasks, task: TaskSnapshot, turn: number): Promise<HeldLog<TaskState>> {
  const recent = await logOf(tasks, task, Math.max(0, turn - 1 - BEFORE_JOURNAL))
  return recent.events.length > 0 ? recent : await logOf(tasks, task, turn - 1)
}

/** The log from the creation of the task on, or from its restoration. */
function wholeLog(tasks: ServedTasks, task: TaskSnapshot): Promise<HeldLog<TaskState>> {
  return logOf(tasks, task, 0)
}

function logOf(tasks: ServedTasks, { id }: TaskSnapshot, generation: number): Promise<HeldLog<TaskState>> {
  const read = (after: number): ReturnType<TaskReader['events']> => tasks.events(id, { after })
  return logAfter(read, generation, isShared(tasks) ? tasks.documents : undefined)
}
