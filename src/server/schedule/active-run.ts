/**
 * The manager's record of a run in progress, and the task or reply that a message led to.
 *
 * @module
 */
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import { readLineage } from '../../core/lineage/lineage.js'
import type { Message, TaskKey, TaskSnapshot } from '../../core/task.js'
import type { Follower } from '../../remote/follower.js'
import type { DelegationMarks } from '../journal/delegation-marks.js'
import type { OpenTurn } from '../journal/open-turn.js'
import type { QueuedMessage } from '../run/message-queue.js'
import type { RunController } from '../run/run-controller.js'
import type { Principal } from '../caller.js'
import { unavailable } from '../unavailable.js'

/** What continues the turn of a run that was let go: the time `wakeAt`, in ms, or a signal. */
export interface Parked {
  readonly wakeAt: number
  /** The names of the signals. */
  readonly signals: readonly string[]
  /** Whether the code also waits for the user. */
  readonly isAsking: boolean
  /** Whether the code waits for the user or a signal, beside other agents. */
  readonly isBesideOthers: boolean
  /** Whether another agent waits for an answer of the code. No follower reads its task. */
  readonly isAskedByAgent: boolean
}

export interface ActiveRun<P extends Principal> {
  readonly run: RunController<P>
  /** The message that the run was begun for. */
  readonly message: QueuedMessage<P>
  /** The task, once there is one. */
  task: TaskKey | undefined
  /** The task before any work on it, where a stream begins with it. */
  opening: TaskSnapshot | undefined
  /** Whether the executor has returned and its result is being processed: the run reads no more messages. */
  hasReturned: boolean
  /** Messages steered to the run in this microtask, which the executor cannot have read yet. */
  readonly steered: Set<QueuedMessage<P>>
  /** Messages that another process accepted and this run worked on. Their notes are deleted when it ends. */
  readonly forwarded: QueuedMessage<P>[]
  /** Whether the manager counts the task of the run among the owner's: one that existed before, or is stored. */
  isCounted: boolean
  /** Where tasks are shared: resolves when the task of a new run is stored. */
  stored: Promise<void> | undefined
  stopTimer: () => void
  /** Set when the run was let go while it waited for a time or a signal. */
  parked: Parked | undefined
  /** Whether the run was let go while it only waited. */
  isLetGo: boolean
  /** The agents' tasks that a run which was let go waits for. */
  followers: ReadonlySet<Follower>
  /** Whether the executor has thrown, and the run waits for its next attempt. */
  isPausing: boolean
  /** The turn that is to be attempted again, or has continued with a new journal. */
  again: OpenTurn | undefined
  /** Whether the code has left the run by `run.continueAs()`. */
  isContinued: boolean
  /** Rejects when the work has stopped and the task could not be made to show it. Never resolves. */
  readonly broken: Promise<never>
  /** Makes {@link broken} reject. */
  readonly break: (error: Error) => void
}

/** The task that accepted a message. `opening` is the task before any work on the message. */
export interface AcceptedTask {
  readonly type: 'task'
  readonly taskId: string
  /** Whether the message has just begun the task, in this process. */
  readonly isNew?: boolean
  /** Whether the task had the message already. */
  readonly isRepeated?: boolean
  readonly opening: TaskSnapshot | undefined
  /** Rejects when the work has stopped and the task could not be made to show it. Never resolves. */
  readonly broken: Promise<never>
  /** Settles when the webhook that came with the message is registered; absent if it is registered, or none came. */
  readonly registering?: Promise<unknown>
}

export type AcceptedMessage = AcceptedTask | { readonly type: 'message'; readonly message: Message }

/** A message that its task has had before. */
export function acceptedAgain(
  registry: { runOf(taskId: string): { readonly broken: Promise<never> } | undefined },
  task: TaskSnapshot,
): AcceptedTask {
  // Without a run here, the task itself shows what becomes of it.
  const { broken = new Promise<never>(() => undefined) } = registry.runOf(task.id) ?? {}
  return { type: 'task', taskId: task.id, isRepeated: true, opening: task, broken }
}

export function acceptedBy<P extends Principal>(
  { broken }: ActiveRun<P>,
  taskId: string,
  opening: TaskSnapshot | undefined,
): AcceptedTask {
  return { type: 'task', taskId, opening, broken }
}

/** Whether the run can still read new messages. */
export function isListening<P extends Principal>({ run, hasReturned }: ActiveRun<P>): boolean {
  return !hasReturned && run.abortReason === undefined
}

/**
 * Leaves a message to the run, which finds it in the conversation.
 *
 * @returns `false` when the run returned in the same microtask, so it cannot have read the message: `requeueUnread` has
 *   queued it for another run.
 */
export async function steer<P extends Principal>(
  { steered }: ActiveRun<P>,
  message: QueuedMessage<P>,
): Promise<boolean> {
  steered.add(message)
  // An executor that has returned by now is processed within this tick.
  await Promise.resolve()
  return steered.delete(message)
}

export function toActiveRun<P extends Principal>(
  run: RunController<P>,
  message: QueuedMessage<P>,
): ActiveRun<P> {
  let reject: (error: Error) => void = () => {}
  const broken = new Promise<never>((_, rejectIt: (error: Error) => void) => {
    reject = rejectIt
  })
  // Most runs have no client that waits for it.
  broken.catch(() => undefined)
  return {
    run,
    message,
    isCounted: false,
    stored: undefined,
    task: undefined,
    opening: undefined,
    hasReturned: false,
    steered: new Set(),
    forwarded: [],
    stopTimer: () => {},
    parked: undefined,
    isLetGo: false,
    followers: new Set(),
    isPausing: false,
    again: undefined,
    isContinued: false,
    broken,
    break: reject,
  }
}

/** Notes that the run's new task was created for the task of another agent, where the message says so. */
export function markChild<P extends Principal>(
  { message, stored }: ActiveRun<P>,
  task: TaskKey,
  marks: DelegationMarks,
): void {
  const parent = readLineage(message.request.message.metadata)?.parentTaskId
  if (parent !== undefined) stored?.then(() => marks.addChild(task, parent)).catch(() => undefined)
}

/** Answers the clients that wait for this run: another process continues its task, or they send the message again. */
export function handOver<P extends Principal>(active: ActiveRun<P>): void {
  const { run } = active
  if (run.createdId === undefined) {
    run.response.reject(unavailable())
    run.withdraw()
  } else if (!run.isTerminal && !isInterrupted(run.task.state)) active.break(unavailable())
}

/** Whether the turn of a task waits on after its run was let go: no message and no signal continues it. */
export function isToPark(
  { state, signals = [] }: TaskSnapshot,
  parked: Parked,
  hasMessages: boolean,
): boolean {
  if (isTerminal(state) || (hasMessages && isInterrupted(state))) return false
  // An answer has moved the task on before the code has read it.
  if (parked.isAsking && !isInterrupted(state)) return false
  return !signals.some(({ name }) => parked.signals.includes(name))
}

/** Whether the work on a task is neither done nor waits for the user, and is not that of the time when it was acquired. */
export function isUnfinished({ state, generation }: TaskSnapshot, acquiredAt: number | undefined): boolean {
  return generation !== acquiredAt && !isTerminal(state) && !isInterrupted(state)
}
