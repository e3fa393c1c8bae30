/**
 * Decisions: the events that a command leads to, or the error that refuses it. Pure: a refused command changes nothing.
 *
 * @module
 */
import { SIGNALS } from './commands.js'
import type { ArtifactChange, JournalCommand, MessageCommand } from './commands.js'
import type { TaskCommand, UpdateCommand } from './commands.js'
import { A2AError } from './errors.js'
import type { ArtifactChanged, JournalEntry, MessageAdded, StatusChanged, TaskEvent } from './events.js'
import { findArtifact } from './evolve.js'
import { jsonSize, sizeOf, tooLarge, type Size } from './json.js'
import { canTransition, isTerminal, type Lifecycle, type TaskState } from './lifecycle.js'
import { requireSmallMetadata } from './metadata.js'
import type { Limits } from './options.js'
import type { DeepReadonly, Message, TaskSnapshot } from './task.js'
import { changeAfter, isSpending } from './spending.js'
import { artifactGrowth, payloadSize, type Usage } from './sizes.js'

export interface Rules<S extends string = TaskState> {
  readonly lifecycle: Lifecycle<S>
  readonly limits: Limits
}

/** The status message of a task that exceeds `taskTimeoutMs`. */
export const TIMEOUT_MESSAGE = 'Task timed out'
const TIMEOUT_SIZE = sizeOf(TIMEOUT_MESSAGE)

/**
 * The events that `command` adds to `task`: at least one, with consecutive generations.
 *
 * @param sizes - Receives the size of the payload of each event, as the command has it: no payload is measured again.
 * @throws {A2AError} `TASK_TERMINAL`, `TASK_NOT_CANCELABLE`, `TASK_GENERATION_MISMATCH`, `INVALID_TRANSITION`,
 *   `LIMIT_EXCEEDED`.
 */
export function decide<S extends string>(
  task: TaskSnapshot<S>,
  command: TaskCommand<S>,
  rules: Rules<S>,
  usage: Usage,
  timestamp: string,
  sizes: Size[] = [],
): TaskEvent<S>[] {
  if (isTerminal(task.state, rules.lifecycle)) throw terminal(task, command.type)
  if ('expectedGeneration' in command && command.expectedGeneration !== undefined) {
    requireGeneration(task, command.expectedGeneration)
  }
  switch (command.type) {
    case 'update':
      return decideUpdate(task, command, rules, usage, timestamp, sizes)
    case 'cancel':
      sizes.push(command.messageSize)
      return [moveEvent(task, 'canceled', command.message, rules, timestamp)]
    case 'timeout':
      sizes.push(TIMEOUT_SIZE)
      return [moveEvent(task, 'failed', TIMEOUT_MESSAGE, rules, timestamp)]
    case 'message':
      sizes.push(command.size)
      return [decideMessage(task, command, rules.limits, usage, timestamp)]
    case 'journal':
      return decideJournal(task, command, rules, usage, timestamp, sizes)
  }
}

/**
 * The states of `cancelTask` and of the timeout are fixed. A lifecycle without them has no transition to them either.
 */
function moveEvent<S extends string>(
  task: TaskSnapshot<S>,
  to: string,
  message: string | Message | null | undefined,
  rules: Rules<S>,
  timestamp: string,
): StatusChanged<S> {
  const state = requireStep(task, to, rules)
  return statusEvent(task.id, task.generation + 1, timestamp, task.state, state, message)
}

/** `to`, if the lifecycle has a transition to it. */
function requireStep<S extends string>(
  task: TaskSnapshot<S>,
  to: string,
  { lifecycle, limits }: Rules<S>,
): S {
  const { maxHistory } = limits
  const { id: taskId, state: from } = task
  if (canTransition<string>(from, to, lifecycle)) {
    // Targets of transitions are states of the lifecycle.
    const state = to as S
    // A task at its history limit can still end.
    const { length } = task.history
    if (length >= maxHistory && !isTerminal(state, lifecycle))
      throw tooMany('States', 'maxHistory', maxHistory, length + 1)
    return state
  }
  const advice =
    to === from
      ? 'leave the state out to report progress'
      : `${from} leads to ${lifecycle.transitions[from].join(', ')}`
  throw invalid(taskId, from, to, advice)
}

function decideUpdate<S extends string>(
  task: TaskSnapshot<S>,
  { state, output, outputSize, artifacts, message, messageSize, metadata }: UpdateCommand<S>,
  rules: Rules<S>,
  usage: Usage,
  timestamp: string,
  sizes: Size[],
): TaskEvent<S>[] {
  const to = state === undefined ? task.state : requireStep(task, state, rules)
  if (artifacts.length > 0) checkArtifacts(task, artifacts, rules.limits, usage)
  if (metadata !== undefined) requireSmallMetadata(task, metadata, rules.limits.input)
  const { id: taskId, state: from } = task
  let { generation } = task
  const events: TaskEvent<S>[] = []

  // The event that ends a task comes last. Any other state change comes before the rest of the update.
  const ends = isTerminal(to, rules.lifecycle)
  const isStatus = state !== undefined || message !== undefined || metadata !== undefined
  // On the wire, a status without a message would remove that of the task.
  const isAlone = metadata !== undefined && state === undefined && message === undefined
  const shown = isAlone ? task.message : message
  const pushStatus = (): void => {
    const event = statusEvent(taskId, ++generation, timestamp, from, to, shown)
    const changed = metadata === undefined ? event : { ...event, metadata }
    events.push(changed)
    sizes.push(metadata === undefined ? messageSize : payloadSize(changed))
  }
  if (isStatus && !ends) pushStatus()
  if (output !== undefined) {
    events.push({ type: 'output', taskId, generation: ++generation, timestamp, output })
    sizes.push(outputSize)
  }
  for (const change of artifacts) {
    events.push(artifactEvent(task, change, ++generation, timestamp))
    sizes.push(change.size)
  }
  // An empty update reports progress too.
  if (ends || events.length === 0) {
    pushStatus()
  }
  return events
}

function artifactEvent(
  task: TaskSnapshot<string>,
  { artifact, append, lastChunk, step, restored }: ArtifactChange,
  generation: number,
  timestamp: string,
): ArtifactChanged {
  const continues = append && findArtifact(task.artifacts, artifact.artifactId) !== -1
  const { id: taskId } = task
  const type = 'artifact'
  const event = { type, taskId, generation, timestamp, artifact, append: continues, lastChunk } as const
  if (step === undefined && restored === undefined) return event
  return { ...event, ...(step !== undefined && { step }), ...(restored !== undefined && { restored }) }
}

function checkArtifacts(
  task: TaskSnapshot<string>,
  artifacts: readonly ArtifactChange[],
  { maxArtifacts, artifacts: limit }: Limits,
  usage: Usage,
): void {
  if (task.artifacts.length + artifacts.length > maxArtifacts) {
    const known = new Set(task.artifacts.map(({ artifactId }) => artifactId))
    let count = task.artifacts.length
    for (const { artifact } of artifacts) {
      if (artifact.artifactId === undefined || !known.has(artifact.artifactId)) count += 1
      known.add(artifact.artifactId)
    }
    if (count > maxArtifacts) throw tooMany('Artifacts', 'maxArtifacts', maxArtifacts, count)
  }
  const atMost = artifacts.reduce((sum, { size }) => sum + size.bytes, usage.artifacts)
  if (atMost <= limit.maxBytes) return
  const size = usage.artifacts + growthOf(task, artifacts)
  if (size > limit.maxBytes) throw tooLarge(limit, size)
}

/** The bytes by which the artifacts of the task grow. Of several changes to one id only the last one counts. */
function growthOf(task: TaskSnapshot<string>, artifacts: readonly ArtifactChange[]): number {
  const growths = new Map(
    artifacts.map((change) => {
      const key = change.artifact.artifactId ?? change
      return [key, artifactGrowth(task, change, change.size.bytes)] as const
    }),
  )
  return [...growths.values()].reduce((sum, growth) => sum + growth, 0)
}

function decideMessage(
  task: TaskSnapshot<string>,
  { message, size: { bytes } }: MessageCommand,
  limits: Limits,
  usage: Usage,
  timestamp: string,
): MessageAdded {
  const count = task.messages.length + 1
  if (count > limits.maxMessages) throw tooMany('Messages', 'maxMessages', limits.maxMessages, count)
  const size = usage.messages + bytes
  if (size > limits.messages.maxBytes) throw tooLarge(limits.messages, size)
  return { type: 'message', taskId: task.id, generation: task.generation + 1, timestamp, message }
}

/**
 * The message comes before the entries, and the update, which may end the task, after them. The entries say what code has done:
 * they are kept where others have moved the task to the state of the update. What they have spent follows in the metadata of the task.
 */
function decideJournal<S extends string>(
  task: TaskSnapshot<S>,
  { entries, message, update }: JournalCommand<S>,
  rules: Rules<S>,
  usage: Usage,
  timestamp: string,
  sizes: Size[],
): TaskEvent<S>[] {
  const { id: taskId } = task
  let { generation } = task
  const events: TaskEvent<S>[] = []
  if (message !== undefined) {
    events.push(decideMessage(task, message, rules.limits, usage, timestamp))
    sizes.push(message.size)
    generation += 1
  }
  for (const entry of entries) {
    generation += 1
    if (entry.kind === 'signal') requireRoomForSignal(task, entry)
    events.push({ type: 'journal', taskId, generation, timestamp, entry })
    sizes.push(sizeOf(entry))
  }
  const spent = entries.filter(isSpending)
  if (spent.length > 0) {
    generation += 1
    const { state, message: shown } = task
    const event = statusEvent(taskId, generation, timestamp, state, state, shown)
    const changed = { ...event, metadata: changeAfter(task, spent) }
    events.push(changed)
    sizes.push(payloadSize(changed))
  }
  const rest = update?.state === task.state ? withoutState(update) : update
  if (rest !== undefined) {
    events.push(...decideUpdate({ ...task, generation }, rest, rules, usage, timestamp, sizes))
  }
  return events
}

/** What is left of an update when others have moved the task to its state before. */
function withoutState<S extends string>(update: UpdateCommand<S>): UpdateCommand<S> | undefined {
  const { message, output, artifacts, metadata } = update
  const isEmpty = [message, output, metadata].every((each) => each === undefined) && artifacts.length === 0
  return isEmpty ? undefined : { ...update, state: undefined }
}

/** The most signals that a task has not received. */
const MAX_SIGNALS = 1_000

/** @throws {A2AError} `LIMIT_EXCEEDED`. */
function requireRoomForSignal(
  { signals = [] }: TaskSnapshot<string>,
  signal: Extract<JournalEntry, { kind: 'signal' }>,
): void {
  if (signals.length >= MAX_SIGNALS) throw tooMany('Signals', 'signals', MAX_SIGNALS, signals.length + 1)
  const size = jsonSize([...signals, signal])
  if (size > SIGNALS.maxBytes) throw tooLarge(SIGNALS, size)
}

function statusEvent<S extends string>(
  taskId: string,
  generation: number,
  timestamp: string,
  from: S,
  to: S,
  message: string | DeepReadonly<Message> | null | undefined,
): StatusChanged<S> {
  if (message === undefined) return { type: 'status', taskId, generation, timestamp, from, to }
  return { type: 'status', taskId, generation, timestamp, from, to, message }
}

/** @throws {A2AError} `TASK_GENERATION_MISMATCH`. */
export function requireGeneration(
  { id, generation }: TaskSnapshot<string>,
  expectedGeneration: number,
): void {
  if (generation === expectedGeneration) return
  throw new A2AError(
    'TASK_GENERATION_MISMATCH',
    `Task ${id} is at generation ${generation}, not ${expectedGeneration}: read it again`,
    { taskId: id, expectedGeneration, generation },
  )
}

/** The error for a change to a task that has ended. */
export function terminal(
  { id, state }: Pick<TaskSnapshot<string>, 'id' | 'state'>,
  command: TaskCommand['type'],
): A2AError {
  const data = { taskId: id, state }
  return command === 'cancel'
    ? new A2AError('TASK_NOT_CANCELABLE', `Cannot cancel task in terminal state: ${state}`, data)
    : new A2AError('TASK_TERMINAL', `Cannot update task in terminal state: ${state}`, data)
}

/** @throws {A2AError} `INVALID_TRANSITION` for a task that may still change. */
export function requireEnded<S extends string>(
  { id, state }: TaskSnapshot<S>,
  lifecycle: Lifecycle<S>,
): void {
  if (!isTerminal(state, lifecycle)) throw invalid(id, state, 'deletion', 'cancel it first')
}

function invalid(taskId: string, from: string, to: string, advice: string): A2AError {
  const text = `Invalid transition from ${from} to ${to.slice(0, 80)}: ${advice}`
  return new A2AError('INVALID_TRANSITION', text, { taskId, from, to })
}

function tooMany(subject: string, limit: string, max: number, actual: number): A2AError {
  return new A2AError('LIMIT_EXCEEDED', `${subject} (${actual}) exceed ${limit} (${max})`, {
    limit,
    max,
    actual,
  })
}
