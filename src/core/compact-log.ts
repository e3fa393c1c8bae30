/**
 * The history and the log of an ended task, where both follow from the task and a few numbers.
 *
 * Of 100,000 tasks that were created, worked on and ended, the states and events take half of the memory. Most logs are short,
 * and their events hold what the task holds: then a number says which kind of event followed which.
 *
 * @module
 */
import type { TaskEvent } from './events.js'
import { createdEvent } from './events.js'
import type { StateTransition, TaskSnapshot } from './task.js'

/**
 * The states of the lifecycle; the kinds of the events after the first one, as the digits of a number; and the times of those
 * after the first and before the last one, whose times the task has. One array: three objects would take twice the memory.
 */
export type CompactLog<S extends string> = readonly [states: readonly S[], kinds: number, ...times: string[]]

/** The events of a task that are held. */
interface HeldEvents<S extends string> {
  at(generation: number, task: TaskSnapshot<S>, size: number): TaskEvent<S> | undefined
}

type Head<S extends string> = Omit<TaskSnapshot<S>, 'history'>

/** Larger numbers are objects of their own on V8. */
const MAX_KINDS = 2 ** 30

// Kinds of events. A status event has the kind of its state: twice its place, and one more with the task's status message.
const MESSAGE = 0
const OUTPUT = 1
const STATUS = 2

/** `undefined` for a log that is long, or has what the task does not have. */
export function compactLog<S extends string>(
  task: TaskSnapshot<S>,
  log: HeldEvents<S>,
  states: readonly S[],
): CompactLog<S> | undefined {
  const { generation } = task
  const base = STATUS + 2 * states.length
  if (base ** (generation - 1) > MAX_KINDS || task.history[0]?.state !== states[0]) return undefined
  const compact: [readonly S[], number, ...string[]] = [states, 0]
  let messages = 0
  for (let at = 2; at <= generation; at++) {
    const event = log.at(at, task, generation)
    const kind = event && kindOf(event, task, task.messages[messages], states)
    if (event === undefined || kind === undefined) return undefined
    if (kind === MESSAGE) messages += 1
    compact[1] = compact[1] * base + kind
    if (at < generation) compact.push(event.timestamp)
  }
  // Pushing reserves more than it needs.
  return compact.slice() as typeof compact
}

function kindOf<S extends string>(
  event: TaskEvent<S>,
  task: TaskSnapshot<S>,
  message: TaskSnapshot<S>['messages'][number] | undefined,
  states: readonly S[],
): number | undefined {
  switch (event.type) {
    case 'message':
      return event.message === message ? MESSAGE : undefined
    case 'output':
      return event.output === task.output ? OUTPUT : undefined
    case 'status':
      if (event.metadata !== undefined) return undefined
      if (event.message !== undefined && event.message !== task.message) return undefined
      return STATUS + 2 * states.indexOf(event.to) + (event.message === undefined ? 0 : 1)
    default:
      return undefined
  }
}

/** All events of the task. */
export function eventsOf<S extends string>(compact: CompactLog<S>, task: Head<S>): TaskEvent<S>[] {
  const { id: taskId, createdAt } = task
  const events: TaskEvent<S>[] = []
  let messages = 0
  walk(compact, task, (kind, generation, timestamp, from, to) => {
    const message = task.messages[messages]
    if (events.length === 0) events.push(createdEvent(task, from, createdAt))
    if (kind === OUTPUT) {
      events.push({ type: 'output', taskId, generation, timestamp, output: task.output })
    } else if (kind !== MESSAGE) {
      const event = { type: 'status', taskId, generation, timestamp, from, to } as const
      events.push(kind % 2 === 1 && task.message !== undefined ? { ...event, message: task.message } : event)
    } else if (message !== undefined) {
      events.push({ type: 'message', taskId, generation, timestamp, message })
      messages += 1
    }
  })
  return events
}

/** The states that the task has entered. */
export function historyOf<S extends string>(compact: CompactLog<S>, task: Head<S>): StateTransition<S>[] {
  const history: StateTransition<S>[] = []
  walk(compact, task, (_kind, _generation, timestamp, from, to) => {
    if (history.length === 0) history.push({ state: from, timestamp: task.createdAt })
    if (from !== to) history.push({ state: to, timestamp })
  })
  return history
}

/** Calls `visit` for each event after the first one. Its states are equal where it changes none. */
function walk<S extends string>(
  compact: CompactLog<S>,
  { generation, updatedAt }: Head<S>,
  visit: (kind: number, generation: number, timestamp: string, from: S, to: S) => void,
): void {
  const states = compact[0]
  const base = STATUS + 2 * states.length
  let rest = compact[1]
  let unit = base ** (generation - 2)
  // The lifecycle has a first state, each digit of a status that of one of its states, and each event but the last a time.
  let from = states[0] as S
  for (let at = 2; at <= generation; at++) {
    const kind = Math.floor(rest / unit)
    rest -= kind * unit
    unit /= base
    const to = kind < STATUS ? from : (states[(kind - STATUS) >> 1] as S)
    visit(kind, at, at === generation ? updatedAt : (compact[at] as string), from, to)
    from = to
  }
}
