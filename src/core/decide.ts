/**
 * Whether a command may be carried out, and what events come of it. Everything is checked here, before anything
 * changes: a refused command leaves no trace.
 *
 * @module
 */
import type { Command, CreateCommand, MessageCommand, TakenArtifact, UpdateCommand } from './commands.js'
import { A2AError } from './errors.js'
import type { MessageAdded, StatusChanged, TaskCreated, TaskEvent } from './events.js'
import { findArtifact } from './evolve.js'
import { tooLarge } from './json.js'
import { canTransition, isTerminal, type Lifecycle, type TaskState } from './lifecycle.js'
import type { Limits } from './limits.js'
import type { Message, TaskSnapshot } from './task.js'
import { artifactGrowth, messageSize, type Usage } from './usage.js'

export interface Rules<S extends string = TaskState> {
  readonly lifecycle: Lifecycle<S>
  readonly limits: Limits
}

/** What `taskTimeoutMs` leaves as the status message. */
const TIMEOUT_MESSAGE = 'Task timed out'

/** The first event of a new task. */
export function decideCreate<S extends string>(
  command: CreateCommand,
  lifecycle: Lifecycle<S>,
  timestamp: string,
): TaskCreated<S> {
  const { id, contextId, skill, input, metadata, referenceTaskIds, owner } = command
  const event = {
    type: 'created',
    taskId: id,
    generation: 1,
    timestamp,
    state: lifecycle.initial,
    contextId,
    skill,
    input,
    metadata,
  } as const
  if (referenceTaskIds === undefined && owner === undefined) return event
  return { ...event, ...(referenceTaskIds && { referenceTaskIds }), ...(owner !== undefined && { owner }) }
}

/**
 * The events that `command` makes of `task`, at least one, with consecutive generations.
 *
 * @throws {A2AError} `TASK_TERMINAL`, `TASK_NOT_CANCELABLE`, `TASK_GENERATION_MISMATCH`, `INVALID_TRANSITION`,
 *   `LIMIT_EXCEEDED`.
 */
export function decide<S extends string>(
  task: TaskSnapshot<S>,
  command: Exclude<Command<S>, CreateCommand>,
  { lifecycle, limits }: Rules<S>,
  usage: Usage,
  timestamp: string,
): TaskEvent<S>[] {
  if (isTerminal(task.state, lifecycle)) throw terminal(task, command.type)
  if (command.type !== 'timeout' && command.expectedGeneration !== undefined) {
    requireGeneration(task, command.expectedGeneration)
  }
  const next: EventHead = { taskId: task.id, generation: task.generation + 1, timestamp }
  switch (command.type) {
    case 'update':
      return decideUpdate(task, command, { lifecycle, limits }, usage, next)
    case 'cancel':
      return [decideMove(task, 'canceled', command.message, lifecycle, next)]
    case 'timeout':
      return [decideMove(task, 'failed', TIMEOUT_MESSAGE, lifecycle, next)]
    case 'message':
      return [decideMessage(task, command, limits, usage, next)]
  }
}

interface EventHead {
  readonly taskId: string
  readonly generation: number
  readonly timestamp: string
}

/** `cancelTask` and the timeout name their state whatever the lifecycle; one without it has no step there either. */
function decideMove<S extends string>(
  task: TaskSnapshot<S>,
  to: string,
  message: string | Message | undefined,
  lifecycle: Lifecycle<S>,
  head: EventHead,
): StatusChanged<S> {
  const { state: from } = task
  if (!canTransition<string>(from, to, lifecycle)) {
    const data = { taskId: task.id, from, to }
    throw new A2AError('INVALID_TRANSITION', `Invalid transition from ${from} to ${to.slice(0, 80)}`, data)
  }
  // The lifecycle has a step to it, so it is one of its states.
  return statusEvent(head, from, to as S, message)
}

function decideUpdate<S extends string>(
  task: TaskSnapshot<S>,
  { state, output, artifacts, message }: UpdateCommand<S>,
  { lifecycle, limits }: Rules<S>,
  usage: Usage,
  { taskId, generation, timestamp }: EventHead,
): TaskEvent<S>[] {
  const events: TaskEvent<S>[] = []
  const head = (): EventHead => ({ taskId, generation: generation + events.length, timestamp })
  const pushStatus = (): void => {
    if (state === undefined) events.push(statusEvent(head(), task.state, task.state, message))
    else events.push(decideMove(task, state, message, lifecycle, head()))
  }

  // Nothing follows the event that ends a task; a state that does not end it comes before what is done in it.
  const ends = state !== undefined && isTerminal(state, lifecycle)
  if (!ends && (state !== undefined || message !== undefined)) pushStatus()
  if (output !== undefined) events.push({ type: 'output', ...head(), output })
  for (const taken of artifacts) {
    const append = taken.append && findArtifact(task.artifacts, taken.artifact.artifactId) !== -1
    events.push({ type: 'artifact', ...head(), artifact: taken.artifact, append, lastChunk: taken.lastChunk })
  }
  if (ends || events.length === 0) pushStatus()
  if (artifacts.length > 0) checkArtifacts(task, artifacts, limits, usage)
  return events
}

function checkArtifacts(
  task: TaskSnapshot<string>,
  artifacts: readonly TakenArtifact[],
  limits: Limits,
  usage: Usage,
): void {
  const { maxArtifacts } = limits
  let count = task.artifacts.length
  if (count + artifacts.length > maxArtifacts) {
    const isKnown = (id: string | undefined): boolean => findArtifact(task.artifacts, id) !== -1
    const ids = artifacts.map(({ artifact }) => artifact.artifactId)
    count += ids.filter((id, index) => id === undefined || (!isKnown(id) && ids.indexOf(id) === index)).length
    if (count > maxArtifacts) throw tooMany('Artifacts', 'maxArtifacts', maxArtifacts, count)
  }
  const atMost = artifacts.reduce((sum, taken) => sum + taken.atMost, usage.artifacts)
  if (atMost <= limits.artifacts.maxBytes) return
  const size = artifacts.reduce((sum, taken) => sum + artifactGrowth(task, taken), usage.artifacts)
  if (size > limits.artifacts.maxBytes) throw tooLarge(limits.artifacts, size)
}

function decideMessage(
  task: TaskSnapshot<string>,
  { message, atMost }: MessageCommand,
  limits: Limits,
  usage: Usage,
  head: EventHead,
): MessageAdded {
  const count = task.messages.length + 1
  if (count > limits.maxMessages) throw tooMany('Messages', 'maxMessages', limits.maxMessages, count)
  if (usage.messages + atMost > limits.messages.maxBytes) {
    const size = usage.messages + messageSize(message)
    if (size > limits.messages.maxBytes) throw tooLarge(limits.messages, size)
  }
  return { type: 'message', ...head, message }
}

function statusEvent<S extends string>(
  { taskId, generation, timestamp }: EventHead,
  from: S,
  to: S,
  message: string | Message | undefined,
): StatusChanged<S> {
  if (message === undefined) return { type: 'status', taskId, generation, timestamp, from, to }
  return { type: 'status', taskId, generation, timestamp, from, to, message }
}

function requireGeneration({ id, generation }: TaskSnapshot<string>, expectedGeneration: number): void {
  if (generation === expectedGeneration) return
  throw new A2AError(
    'TASK_GENERATION_MISMATCH',
    `Task ${id} is at generation ${generation}, not ${expectedGeneration}: read it again`,
    { taskId: id, expectedGeneration, generation },
  )
}

function terminal({ id, state }: TaskSnapshot<string>, command: Command['type']): A2AError {
  const data = { taskId: id, state }
  return command === 'cancel'
    ? new A2AError('TASK_NOT_CANCELABLE', `Cannot cancel task in terminal state: ${state}`, data)
    : new A2AError('TASK_TERMINAL', `Cannot update task in terminal state: ${state}`, data)
}

function tooMany(subject: string, limit: string, max: number, actual: number): A2AError {
  return new A2AError('LIMIT_EXCEEDED', `${subject} (${actual}) exceed ${limit} (${max})`, {
    limit,
    max,
    actual,
  })
}
