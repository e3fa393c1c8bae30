/**
 * Earlier attempts of the turn that a stored task is in, read from its log.
 *
 * @module
 */
import type { HistoryRecorded, TaskEvent } from '../../core/events.js'
import type { JsonValue } from '../../core/json-types.js'
import type { LocalTasks, TaskReader } from '../../core/managers.js'
import type { TaskState } from '../../core/lifecycle.js'
import { artifactsBefore, entriesOf, logAfter, type HeldLog } from '../../core/saved/restored-history.js'
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
  const log = await logOf(tasks, task, turn - 1)
  const inLog = entriesOf(log)
  // The log in memory may have dropped what the history keeps.
  const kept = isShared(tasks) ? inLog : (tasks.history?.(task.id) ?? inLog)
  // Others send signals: where one comes says nothing of the code.
  const recorded = kept.filter(({ generation, entry }) => generation >= turn && entry.kind !== 'signal')
  const history = replayable(recorded)
  const [first] = history
  if (first?.entry.kind !== 'turn') return undefined
  const message = startOf(first.entry, task)
  if (message === undefined) return undefined
  const read = new Set(readBy(first.entry, task))
  for (const { entry } of history) if (entry.kind === 'answer') read.add(entry.messageId)
  return {
    message,
    origin: first.entry.messageId,
    // Nothing writes to it.
    note: first.entry.note as JsonValue | undefined,
    read,
    attempt: nextAttempt(recorded),
    history,
    artifacts: await artifactsAt(tasks, task, log.events, recorded),
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
    if (event.type !== 'history') continue
    const { entry } = event
    if (entry.kind === 'turn' || entry.kind === 'answer') read.add(entry.messageId)
    if (entry.kind === 'read') seen = entry.count
    const unread = entry.kind === 'end' ? (entry.unread ?? []) : []
    for (const id of unread) read.delete(id)
  }
  const isOver = read.has(messageId)
  const { generation = Infinity } = events[begun] ?? {}
  const artifacts = isOver ? new Map() : artifactsBefore(task, log, generation)
  return { isOver, read, seen, attempt: 1, history: [], artifacts }
}

/**
 * The user's messages that the turn has not read, oldest first.
 *
 * @param isSteered - Whether the run finds this message in the conversation, so that it does not wait for one of its own.
 */
export function unreadMessages(
  { messages }: TaskSnapshot,
  { origin, read, history }: OpenTurn,
  isSteered: (message: Message) => boolean,
): readonly Message[] {
  const begun = placeOf(messages, origin)
  // As above.
  const unread = messages
    .slice(begun)
    .filter(
      ({ role, messageId }) => role === 'user' && !read.has(messageId),
    ) as readonly DeepReadonly<Message>[] as readonly Message[]
  const counts = { question: 0, answer: 0 }
  for (const { entry } of history) {
    if (entry.kind === 'question' || entry.kind === 'answer') counts[entry.kind] += 1
  }
  // An open question gets the first message in any case.
  const answers = counts.question - counts.answer
  return unread.filter((message, index) => index < answers || !isSteered(message))
}

/** Whether the code waits for a time, a signal or another agent. */
export function hasOpenWait(history: readonly HistoryRecorded[]): boolean {
  const ends = { wake: 'sleep', received: 'wait', delegated: 'delegate' } as const
  const open = new Set<string>()
  for (const { entry } of history) {
    const { kind } = entry
    if (kind === 'sleep' || kind === 'wait' || kind === 'delegate') open.add(`${kind} ${entry.name}`)
    else if (kind === 'wake' || kind === 'received' || kind === 'delegated')
      open.delete(`${ends[kind]} ${entry.name}`)
  }
  return open.size > 0
}

/**
 * The artifacts that were written after the last entry that the next attempt replays, as they were at that entry. Those that an
 * attempt wrote after the last entry that its successor replayed, and no attempt since: as they were at that one.
 */
async function artifactsAt(
  tasks: ServedTasks,
  task: TaskSnapshot,
  events: readonly TaskEvent[],
  recorded: readonly HistoryRecorded[],
): Promise<Map<string, DeepReadonly<Artifact> | undefined>> {
  // The log of a restored task begins later.
  if (events[0]?.generation !== task.turn && 'unfinished' in tasks) return rewrittenIn(tasks, task.id)
  const attempts = recorded.filter(({ entry }) => entry.kind === 'attempt')
  const last = lastReplayed(recorded)
  const isWritten = events.some(({ type, generation }) => type === 'artifact' && generation > last)
  // Only a turn that has not continued may have written before its first entry.
  const isBegun = last !== task.turn || isContinued(recorded)
  if (!isWritten && attempts.length === 0 && isBegun) return new Map()
  const log = await wholeLog(tasks, task)
  const left = new Map<string, DeepReadonly<Artifact> | undefined>()
  let written = 0
  for (const { generation: end } of [...attempts, { generation: Infinity }]) {
    const reached = lastReplayed(recorded.filter(({ generation }) => generation <= end))
    const replayed = reached === task.turn ? beginningOf(recorded, log.events) : reached
    for (const id of writtenIn(log.events, written, replayed)) left.delete(id)
    const before = artifactsBefore(task, log, replayed)
    for (const id of writtenIn(log.events, replayed, end))
      if (!left.has(id) || replayed < written) left.set(id, before.get(id))
    written = end
  }
  return left
}

function isContinued([first]: readonly HistoryRecorded[]): boolean {
  return first?.entry.kind === 'turn' && first.entry.continued !== undefined
}

/** The generation of the last entry that the attempt after this history replays. */
function lastReplayed(recorded: readonly HistoryRecorded[]): number {
  const isPassed = ({ entry }: HistoryRecorded): boolean => entry.kind !== 'attempt' && entry.kind !== 'read'
  return replayable(recorded).findLast(isPassed)?.generation ?? 0
}

/** A turn is recorded with its first entry: what it has written before that is older. */
function beginningOf([turn]: readonly HistoryRecorded[], events: readonly TaskEvent[]): number {
  if (turn?.entry.kind !== 'turn') return 0
  const { continued, messageId } = turn.entry
  const message = events.find(
    (event) =>
      event.type === 'message' && event.message.role === 'user' && event.message.messageId === messageId,
  )
  return continued === undefined ? (message?.generation ?? turn.generation) : turn.generation
}

/** The ids of the artifacts that were written after one generation, up to another. */
function writtenIn(events: readonly TaskEvent[], after: number, to: number): readonly string[] {
  return events.flatMap((event) =>
    event.type === 'artifact' && event.generation > after && event.generation <= to
      ? (event.artifact.artifactId ?? [])
      : [],
  )
}

function rewrittenIn(
  { unfinished }: Pick<LocalTasks, 'unfinished'>,
  taskId: string,
): Map<string, DeepReadonly<Artifact> | undefined> {
  const written = unfinished?.rewritten(taskId) ?? new Map<string, DeepReadonly<Artifact> | null>()
  return new Map([...written].map(([artifactId, before]) => [artifactId, before ?? undefined]))
}

/** The log from the creation of the task on, or from its restoration. */
function wholeLog(tasks: ServedTasks, task: TaskSnapshot): Promise<HeldLog<TaskState>> {
  return logOf(tasks, task, 0)
}

function logOf(tasks: ServedTasks, { id }: TaskSnapshot, generation: number): Promise<HeldLog<TaskState>> {
  const read = (after: number): ReturnType<TaskReader['events']> => tasks.events(id, { after })
  return logAfter(read, generation, isShared(tasks) ? tasks.documents : undefined)
}
