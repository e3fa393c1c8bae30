/**
 * Messages to existing tasks: their checks, the follow-up policy, and delivery to a task in the memory of this process.
 *
 * @module
 */
import { requireGeneration } from '../../core/decide.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { Message, TaskSnapshot } from '../../core/task.js'
import { describe } from '../../runtime/describe.js'
import type { SendRequest } from '../../wire/dialect.js'
import { acceptedAgain, acceptedBy, type AcceptedTask, isListening, steer } from './active-run.js'
import { requireOpenAnswer } from '../run/accepted-answer.js'
import { requireMayAnswer } from '../run/answered-by.js'
import type { QueuedMessage } from '../run/message-queue.js'
import type { SchedulePort, RunScheduler } from './run-scheduler.js'
import { differenceOf, fittingId, messageOf, requireSame } from '../idempotency.js'
import { POLICIES, type FollowUpPolicy, type Settings } from '../options.js'
import type { Principal } from '../caller.js'

/**
 * The request, unless the conversation of the task has its message already: `undefined` then. Turns, answers and keys of steps
 * are found by the ids of messages, so a task has no two messages of the user with one id. Where the handler recognizes no
 * messages, another message with a used id gets a number after it.
 *
 * @throws {A2AError} `INVALID_PARAMS` when the task has another message with this id, and the handler recognizes messages.
 */
export function unrepeated(
  task: TaskSnapshot,
  request: SendRequest,
  { idempotency }: Pick<Settings, 'idempotency'>,
): SendRequest | undefined {
  const { message } = request
  const first = messageOf(task, message.messageId)
  if (first === undefined) return request
  if (idempotency !== undefined) {
    requireSame(first, message)
    return undefined
  }
  const known = new Map(
    task.messages.flatMap((each) => (each.role === 'user' ? [[each.messageId, each]] : [])),
  )
  let messageId = message.messageId
  for (let count = 2; ; count += 1) {
    const other = known.get(messageId)
    if (other === undefined) return { ...request, message: { ...message, messageId } }
    if (differenceOf(other, message) === undefined) return undefined
    messageId = fittingId(`${message.messageId}/${count}`)
  }
}

/** Where the code that asks may be in memory, which knows best which answers fit. */
interface Asking {
  readonly settings: { readonly limits: { readonly maxStepBytes: number } }
  readonly registry: {
    runOf(
      taskId: string,
    ): { readonly run: { readonly turn: { checkAnswer(message: Message): void } } } | undefined
  }
}

/**
 * @throws {A2AError} `TASK_GENERATION_MISMATCH`; `TASK_TERMINAL`; what {@link requireMayAnswer} throws; `INVALID_PARAMS` when the message names another context
 *   than the task's, or gives an answer that does not fit, or to a question that is not open.
 */
export function requireAcceptsMessage(
  task: TaskSnapshot,
  { message, ifGeneration }: SendRequest,
  { settings, registry }: Asking,
): void {
  if (ifGeneration !== undefined) requireGeneration(task, ifGeneration)
  if (isTerminal(task.state)) throw terminalTask(task)
  if (message.contextId !== undefined && message.contextId !== task.contextId) {
    throw invalidParams(
      'message.contextId',
      'is not the context of this task: leave it out, or send the right one',
    )
  }
  const active = registry.runOf(task.id)
  requireMayAnswer(task, message, active !== undefined || task.turn !== undefined)
  requireOpenAnswer(task, message, settings.limits)
  active?.run.turn.checkAnswer(message)
}

export function terminalTask({ id, state }: TaskSnapshot): A2AError<'TASK_TERMINAL'> {
  const text = `Cannot send a message to a task in terminal state: ${state}`
  return new A2AError('TASK_TERMINAL', text, { taskId: id, state })
}

/**
 * The policy for a message to a task that is being worked on.
 *
 * @throws {A2AError} `UNSUPPORTED_OPERATION` when the policy is `'reject'`.
 * @throws {TypeError} when `onFollowUp` returns no policy.
 */
export function policyFor(
  onFollowUp: Settings['onFollowUp'],
  message: Message,
  task: TaskSnapshot,
): Exclude<FollowUpPolicy, 'reject'> {
  const policy = onFollowUp(message, task)
  if (!POLICIES.includes(policy)) {
    throw new TypeError(`onFollowUp() must return ${POLICIES.join(', ')}, got ${describe(policy)}`)
  }
  if (policy !== 'reject') return policy
  throw new A2AError('UNSUPPORTED_OPERATION', 'The agent is working on the task and accepts no message now', {
    operation: 'SendMessage',
  })
}

/**
 * Adds a message to a task in the memory of this process, and gives it to a run: as the answer to its question, steered,
 * queued for a later run, or as the beginning of a new one. Synchronous, so the task cannot change in between.
 *
 * @throws {A2AError} As `Acceptance.accept`. The message is then not in the conversation.
 */
export function acceptHere<P extends Principal>(
  { settings, registry, begin }: SchedulePort<P>,
  scheduler: Pick<RunScheduler<P>, 'tasks' | 'assigned'> & {
    /** Continues a turn whose code is not in memory, with the messages that are queued. */
    readonly continueTurn: (taskId: string) => void
  },
  task: TaskSnapshot,
  incoming: QueuedMessage<P>,
): AcceptedTask {
  const { tasks } = scheduler
  const request = unrepeated(task, incoming.request, settings)
  if (request === undefined) return acceptedAgain(registry, task)
  requireAcceptsMessage(task, request, { settings, registry })
  const { id, contextId, state } = task
  const message = { ...request.message, contextId }
  const isRunning = registry.runOf(id) !== undefined
  // The code of a turn may have left the memory.
  const isOpen = task.turn !== undefined
  const isWorking = (isRunning || isOpen) && !isInterrupted(state)
  const policy = isWorking ? policyFor(settings.onFollowUp, message, task) : undefined
  // Starting or resuming work needs a run slot.
  if (!isWorking) registry.requireRoom(incoming.owner)
  // The manager compares the generation again: onFollowUp() may have changed the task.
  const { ifGeneration: expectedGeneration } = request
  const options = expectedGeneration === undefined ? {} : { expectedGeneration }
  tasks.addMessage(id, message, options)
  const queued = { ...incoming, request: { ...request, message } }
  // A listener of this message may have sent another one, which began a run.
  const active = registry.runOf(id)
  if (active === undefined) {
    if (isOpen) {
      // Before any client reads the task: one that waits for this turn must not see the state in which the run was let go.
      if (isInterrupted(state)) tasks.patchTask(id, { state: 'working' })
      // A turn finds what it is steered by in the conversation.
      if (policy !== 'steer') registry.queues.push(id, queued)
      scheduler.continueTurn(id)
      const opening = tasks.peekTask(id) ?? undefined
      return { type: 'task', taskId: id, opening, broken: new Promise(() => undefined) }
    }
    const started = begin(queued, { isStream: true, task })
    return acceptedBy(started, id, started.opening)
  }
  const isGiven = isWorking
    ? policy === 'steer' && isListening(active)
    : active.run.turn.parts.questions.resume(queued)
  if (!isGiven) registry.queues.push(id, queued)
  else if (isWorking) void steer(active, queued)
  else scheduler.assigned?.(id, queued)
  return acceptedBy(active, id, tasks.peekTask(id) ?? undefined)
}
