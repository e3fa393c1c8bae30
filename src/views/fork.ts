/**
 * Forks: new tasks that share the past of others, and continue their turns.
 *
 * @module
 */
import { toMessage, type CommandRules } from '../core/commands.js'
import { invalidParams } from '../core/errors.js'
import type {
  JournalEntry,
  JournalRecorded,
  NewLog,
  TaskEvent,
  TaskStreamEvent,
  TurnEntry,
} from '../core/events.js'
import { create, apply } from '../core/evolve.js'
import { quote } from '../runtime/describe.js'
import { JsonReader } from '../core/json.js'
import type { JsonValue } from '../core/json-types.js'
import { isInterrupted, shortestPath, type Lifecycle } from '../core/lifecycle.js'
import type { TaskReader } from '../core/managers.js'
import { TAGS } from '../core/tagged-json.js'
import type { MessageInput } from '../core/params.js'
import { portOf, type AddedTask } from '../core/port.js'
import type { Message, Task } from '../core/task.js'
import { readGeneration, readParams, requireObject } from '../core/validate.js'
import { isFromUser, readPast, type Past } from './past.js'
import { requirePort, requireRoomFor } from './room.js'

/** The answer of a user: a text, or a message without what the fork sets. */
export type ForkAnswer = string | Pick<MessageInput, 'parts' | 'metadata' | 'extensions' | 'referenceTaskIds'>

/** Options of `fork`. */
export interface ForkOptions {
  /**
   * The generation up to which the new task shares the past of the old one. Default is that of the last entry that `answers`
   * and `steps` replace; without these, the latest one.
   */
  readonly generation?: number | undefined
  /** Other answers of the user, by the name of the question in `tasks.journal(id)`: `{ 'input-required#1': 'Rome' }`. */
  readonly answers?: Readonly<Record<string, ForkAnswer>> | undefined
  /** Other outputs of steps, by the name of the step in `tasks.journal(id)`: `{ 'price#1': 100 }`. What a step may return. */
  readonly steps?: Readonly<Record<string, unknown>> | undefined
}

/** What a fork is made with. */
export interface ForkRules<S extends string> extends CommandRules {
  readonly lifecycle: Lifecycle<S>
}

const KEYS = ['generation', 'answers', 'steps']
/** The most references that a task can have. */
const MAX_REFERENCES = 1_000

/**
 * Makes a new task that shares the past of another one up to a generation, with other answers or outputs of steps if given,
 * and continues from there. The other task, which may have ended, stays as it is. The new one has its owner, context, input,
 * conversation, artifacts and journal, and names it in `referenceTaskIds`.
 *
 * The turn that was under way continues: a request handler calls `execute`, which replays the journal. Over a store, any
 * replica does. What the code had shown after the last entry of the shared journal, it shows again. Steps that run again
 * have keys of the new task, and agents that the turn waited for receive their message again. Where no turn was under way,
 * or a question is open, the new task waits for the user.
 *
 * @returns A copy of the new task.
 * @throws {TypeError} As a rejection, for a manager that is not of this package.
 * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`; `INVALID_PARAMS` for a generation that the task does not have, a name
 *   that the past of the turn does not hold, a task without a journal, and a log that does not reach back to the creation of
 *   the task; `LIMIT_EXCEEDED`; `RATE_LIMITED` when a handler in this process has a limit of tasks per owner, and the owner
 *   of the task has as many. Over a `TaskManager` also `TASK_LIMIT_REACHED`, `UNAVAILABLE` and `RATE_LIMITED` when no run can
 *   begin.
 */
export async function fork<S extends string>(
  tasks: Pick<TaskReader<S>, 'lifecycle' | 'events'>,
  taskId: string,
  options: ForkOptions = {},
): Promise<Task<S>> {
  const port = requirePort<S>(tasks, 'fork')
  const log = wholeLog(await tasks.events(taskId))
  const added = toFork(log, options, port.settings)
  await requireRoomFor(port, log[0].owner, added)
  return await port.add(added)
}

/** Whether the tasks of this manager can be forked and redriven. */
export function canFork(tasks: object): boolean {
  return portOf(tasks) !== undefined
}

/**
 * @param events - The whole log of the task.
 * @throws {A2AError} `INVALID_PARAMS` with the path of what the past does not hold; `LIMIT_EXCEEDED`.
 */
function toFork<S extends string>(
  events: NewLog<S>,
  options: ForkOptions,
  rules: ForkRules<S>,
): AddedTask<S> {
  const { generation, answers, steps } = readParams(options, KEYS, 'fork')
  const given = { answers: readNamed(answers, 'answers'), steps: readNamed(steps, 'steps') }
  const { length } = events
  const cut = readGeneration(generation, 'generation') ?? lastReplaced(events, given, rules)
  if (cut < 1 || cut > length)
    throw invalidParams('generation', `must be one of the task, 1 to ${length}, got ${cut}`)
  const past = readPast(events, cut, rules.lifecycle)
  const replaced = withAnswers(withSteps(past, given.steps, rules), given.answers, rules)
  return forkOf(replaced, rules.generateId(), undefined, rules)
}

/**
 * The task that continues a dead letter. It does again what has failed, with the same keys, and keeps what has succeeded.
 *
 * @param events - The whole log of the dead letter.
 * @param id - The id of the new task.
 * @throws {A2AError} `INVALID_PARAMS`.
 */
export function toRedrive<S extends string>(
  events: NewLog<S>,
  id: string,
  rules: ForkRules<S>,
): AddedTask<S> {
  return forkOf(readPast(events, events.length, rules.lifecycle), id, events[0].taskId, rules)
}

/** @throws {A2AError} `INVALID_PARAMS`. */
export function wholeLog<S extends string>(log: readonly TaskStreamEvent<S>[]): NewLog<S> {
  const [created, ...others] = log.filter((event) => event.type !== 'snapshot' && event.type !== 'resync')
  if (created?.type === 'created') return [created, ...others]
  throw invalidParams(
    'taskId',
    'is a task whose log does not reach back to its creation: it was restored, or has more events than eventLogSize',
  )
}

type Named = Readonly<Record<string, unknown>>

function readNamed(value: unknown, path: string): Named {
  // The callers check the values.
  return value === undefined ? {} : requireObject(value as JsonValue, path)
}

/** The generation of the last entry that is replaced, or the last one of the log. */
function lastReplaced<S extends string>(
  events: readonly TaskEvent<S>[],
  { answers, steps }: { readonly answers: Named; readonly steps: Named },
  { lifecycle }: ForkRules<S>,
): number {
  const { entries } = readPast(events, events.length, lifecycle)
  const generations = [
    ...Object.keys(steps).map((name) => requireEntry(entries, ['step'], name, 'steps').generation),
    ...Object.keys(answers).map((name) => requireAnswer(entries, name).generation),
  ]
  return generations.length > 0 ? Math.max(...generations) : events.length
}

/** The latest entry of these kinds and this name. */
function requireEntry(
  entries: readonly JournalRecorded[],
  kinds: readonly JournalEntry['kind'][],
  name: string,
  path: 'steps' | 'answers',
): JournalRecorded {
  const named = entries.flatMap((event) =>
    kinds.includes(event.entry.kind) && 'name' in event.entry ? [{ event, name: event.entry.name }] : [],
  )
  const found = named.findLast((each) => each.name === name)
  if (found !== undefined) return found.event
  const known = [...new Set(named.map((each) => each.name))].slice(0, 20)
  const has = known.length === 0 ? 'there is none' : `known are ${known.join(', ')}`
  throw invalidParams(
    `${path}.${name}`,
    `must be a ${path === 'steps' ? 'step' : 'question'} in the past of the turn: ${has}`,
  )
}

/** The entry of the answer, or that of the question where it is open. */
function requireAnswer(entries: readonly JournalRecorded[], name: string): JournalRecorded {
  return requireEntry(entries, ['question', 'answer'], name, 'answers')
}

function withSteps<S extends string>(past: Past<S>, steps: Named, { limits }: ForkRules<S>): Past<S> {
  const reader = new JsonReader(
    { ...limits.output, subject: 'Outputs of steps' },
    limits.maxDepth,
    false,
    TAGS,
  )
  const read: JsonValue[] = []
  const replaced = new Map<TaskEvent<S>, JournalRecorded>()
  for (const [name, value] of Object.entries(steps)) {
    const found = requireEntry(past.entries, ['step'], name, 'steps')
    if (found.entry.kind !== 'step') continue
    const { kind, attempts, isParallel } = found.entry
    const kept = { kind, name, attempts, ...(isParallel === true && { isParallel }) }
    if (value === undefined) {
      replaced.set(found, { ...found, entry: kept })
      continue
    }
    const { json: output, tagged } = reader.readTagged(value, `steps.${name}`)
    read.push(output)
    replaced.set(found, { ...found, entry: { ...kept, output, ...(tagged && { tagged }) } })
  }
  reader.check(read)
  return { ...past, events: past.events.map((event) => replaced.get(event) ?? event) }
}

function withAnswers<S extends string>(past: Past<S>, answers: Named, rules: ForkRules<S>): Past<S> {
  let events = [...past.events]
  for (const [name, value] of Object.entries(answers)) {
    const found = requireAnswer(past.entries, name)
    const { taskId } = found
    const { contextId = '' } = contextOf(past.events[0])
    const input = { ...readContent(value, `answers.${name}`), role: 'user', contextId, taskId } as const
    const { message } = toMessage({ ...input, messageId: undefined }, {}, rules)
    const entry = { kind: 'answer', name, messageId: message.messageId } as const
    const { entry: old } = found
    if (old.kind === 'answer') {
      // What the old answer was found to be.
      const read = past.entries.filter(
        ({ generation, entry: each }) =>
          each.kind === 'value' && each.name === name && generation > found.generation,
      )
      const others = events.filter((event) => !read.some((each) => each === event))
      events = others.map((event) => {
        if (event === found) return { ...found, entry: { ...old, ...entry } }
        return isMessage(event, old.messageId) ? { ...event, message } : event
      })
    } else {
      const { generation, timestamp } = found
      const common = { taskId, generation, timestamp }
      events.push({ type: 'message', ...common, message }, { type: 'journal', ...common, entry })
    }
  }
  return { ...past, events }
}

function readContent(value: unknown, path: string): Pick<MessageInput, 'parts'> {
  if (typeof value === 'string') return { parts: [{ text: value }] }
  if (typeof value === 'object' && value !== null && 'parts' in value) {
    // `toMessage` checks the parts and all else.
    return value as Pick<MessageInput, 'parts'>
  }
  throw invalidParams(path, `must be a text or a message { parts }, got ${quote(value)}`)
}

function contextOf(created: TaskEvent<string> | undefined): { readonly contextId?: string } {
  return created?.type === 'created' ? { contextId: created.contextId } : {}
}

function isMessage<S extends string>(
  event: TaskEvent<S>,
  id: string,
): event is TaskEvent<S> & { type: 'message' } {
  return event.type === 'message' && event.message.role === 'user' && event.message.messageId === id
}

/** @param key - As in {@link TurnEntry}: the id of the old task where the new one uses its keys. */
function forkOf<S extends string>(
  { events, turn }: Past<S>,
  id: string,
  key: string | undefined,
  { lifecycle }: ForkRules<S>,
): AddedTask<S> {
  return {
    id,
    isWorking: turn !== undefined,
    log: (timestamp) => {
      const [created, ...others] = events
      if (created?.type !== 'created') throw new TypeError('A log begins with the creation of the task')
      const { taskId: origin, referenceTaskIds = [] } = created
      const references = [...new Set([origin, ...referenceTaskIds])].slice(0, MAX_REFERENCES)
      const first = { ...created, taskId: id, timestamp, referenceTaskIds: references }
      const task: Task<S> = create(first)
      const log: [typeof first, ...TaskEvent<S>[]] = [first]
      const add = (event: TaskEvent<S>): void => {
        const own = { ...event, taskId: id, generation: log.length + 1, timestamp }
        apply(task, own)
        log.push(own)
      }
      for (const event of others) add(inFork(event, turn, { id, origin, key }))
      if (turn !== undefined && task.turn === undefined) {
        const entry = withNames(turn, origin, key)
        add({ type: 'journal', taskId: id, generation: 0, timestamp, entry })
      }
      for (const to of turn === undefined ? [] : pathToWork(task, log, lifecycle))
        add({ type: 'status', taskId: id, generation: 0, timestamp, from: task.state, to })
      return log
    },
  }
}

interface Names {
  readonly id: string
  readonly origin: string
  readonly key: string | undefined
}

/** The event with the id of the new task in place of that of the old one. */
function inFork<S extends string>(
  event: TaskEvent<S>,
  turn: TurnEntry | undefined,
  { id, origin, key }: Names,
): TaskEvent<S> {
  const own = (message: Message): Message =>
    message.taskId === undefined ? message : { ...message, taskId: id }
  // Leaves never change, so only the types are writable.
  if (event.type === 'message') return { ...event, message: own(event.message as Message) }
  if (event.type === 'status' && typeof event.message === 'object' && event.message !== null)
    return { ...event, message: own(event.message as Message) }
  if (event.type !== 'journal' || event.entry !== turn) return event
  return { ...event, entry: withNames(turn, origin, key) }
}

/** Only a redrive has the keys of another task: a fork of it has its own. */
function withNames({ key: known, ...turn }: TurnEntry, origin: string, key: string | undefined): TurnEntry {
  return { ...turn, origin: turn.origin ?? origin, ...(key !== undefined && { key: known ?? key }) }
}

/** The states that lead a task to its work, unless it waits for the answer to a question. */
function pathToWork<S extends string>(
  { state }: Task<S>,
  log: readonly TaskEvent<S>[],
  lifecycle: Lifecycle<S>,
): readonly S[] {
  const open = new Set<string>()
  for (const event of log) {
    // A message that came after the question answers it.
    if (isFromUser(event)) open.clear()
    if (event.type !== 'journal') continue
    if (event.entry.kind === 'turn') open.clear()
    else if (event.entry.kind === 'question') open.add(event.entry.name)
    else if (event.entry.kind === 'answer' || event.entry.kind === 'withdrawn') open.delete(event.entry.name)
  }
  const working = lifecycle.states.find((each) => (each as string) === 'working')
  if (working === undefined || open.size > 0 || !isInterrupted(state, lifecycle)) return []
  return shortestPath(state, working, lifecycle) ?? []
}
