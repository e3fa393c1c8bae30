/**
 * `createProducer`: begins and continues tasks from programs that serve no requests and run no code of the agent.
 *
 * @module
 */
import { buildAgentCard, type AgentCardInput } from '../agent-card/build.js'
import { readMetadata, toCreate, toJournal, toMessage } from '../core/commands.js'
import { decide } from '../core/decide.js'
import { A2AError, invalidParams } from '../core/errors.js'
import { createdEvent } from '../core/events.js'
import { copyTask, create } from '../core/evolve.js'
import type { LeasedTasks, LeasedTasksListener, SharedTasks } from '../core/managers.js'
import type { MessageInput } from '../core/params.js'
import type { TaskState } from '../core/lifecycle.js'
import { portOf, type AddedTask, type Due, type ManagerPort } from '../core/port.js'
import { usageOf } from '../core/sizes.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import { readName, readParams } from '../core/validate.js'
import { withKeepAlive } from '../runtime/clock.js'
import { describe } from '../runtime/describe.js'
import { readOptions, requireFunctions } from '../runtime/options.js'
import { reportError } from '../runtime/report.js'
import { settleWithin } from '../runtime/shutdown.js'
import { ownedBy, requirePrincipal, type Principal } from './caller.js'
import { requireVisible } from './chosen-ids.js'
import { toDialects } from './dialects.js'
import { priorityFor, requireDispatch, TurnDispatcher, type Dispatch, type PriorityOf } from './dispatch.js'
import { derivedId, messageOf, requireSame, toIdempotencySettings } from './idempotency.js'
import { toLimits } from './limits.js'
import { guarded, type ErrorContext } from './options.js'
import { withoutMark } from './run/marks.js'
import { toNote, turnOf, type QueuedMessage } from './run/message-queue.js'
import { requireAcceptsMessage, unrepeated } from './schedule/follow-up.js'
import { RequestNotes } from './schedule/request-notes.js'
import { isShared, requireTasks } from './tasks.js'
import { unavailable } from './unavailable.js'

/** Options of {@link createProducer}. */
export interface ProducerOptions {
  /** The card of the agent, as its handlers and workers have it. */
  readonly card: AgentCardInput
  /** The manager of the tasks, over the store of the workers. With `sweepIntervalMs: false` a short program leaves sweeps to them. */
  readonly tasks: SharedTasks
  /**
   * As that of the handlers. A call waits for it for at most 10 seconds. A handler with it hands out what is due later. Default
   * is `'store'`.
   */
  readonly dispatch?: Dispatch | undefined
  /** As that of the handlers. Default is that the turns which have waited longest come first. */
  readonly priorityOf?: PriorityOf | undefined
  /** Receives the errors of `dispatch` and of `priorityOf`. Default is a process warning, where the runtime supports them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
}

/** What a message says: a text, or parts. */
export type ProducedMessage =
  string | Pick<MessageInput, 'parts' | 'metadata' | 'extensions' | 'referenceTaskIds'>

/** The transaction of the application that a call belongs to. */
export interface JoinOptions {
  /**
   * The client of PostgreSQL in which your transaction has begun: of the `Pool` of the store, of `sql.begin()`, or of
   * `transaction()` of the `PGlite`. What the call does takes effect when the transaction commits, and not at all when it is
   * rolled back. Await the call before you end the transaction, and roll back when it rejects. Default is a transaction of its own.
   */
  readonly client?: unknown
}

/** Options of {@link Producer.send}. */
export interface ProduceOptions<P extends Principal = Principal> extends JoinOptions {
  /** The task that the message continues. Default is a new task. */
  readonly taskId?: string | undefined
  /** The conversation of a new task. Default is a new one. */
  readonly contextId?: string | undefined
  /**
   * Recognizes the message: sent again by the same principal, it begins nothing while its task is kept, and resolves to this
   * task. Handlers recognize it too. Default is a new id.
   */
  readonly messageId?: string | undefined
  /** The user whose task it is. Default is none. */
  readonly principal?: P | undefined
  readonly tenant?: string | undefined
  /** Metadata of the request, `run.metadata`, as opposed to that of the message. */
  readonly metadata?: object | undefined
  /**
   * When the turn of a new task may begin, as a date or in ms since 1970. It begins then or later, by the clock of the store;
   * until then the task is `submitted`, and can be canceled. Default is at once.
   */
  readonly notBefore?: Date | number | undefined
}

/** Begins and continues tasks. */
export interface Producer<P extends Principal = Principal> {
  /**
   * Sends a message of the user: as the beginning of a new task, as an answer to one that waits, or to one at work, whose turn it
   * follows or, with `onFollowUp: 'steer'` of the workers, joins. Resolves when it is stored, to a copy of the task.
   *
   * @throws {A2AError} As a rejection: `INVALID_PARAMS`, also for another message with this `messageId`; `LIMIT_EXCEEDED`;
   *   `TASK_NOT_FOUND`, also for the task of another principal; `TASK_TERMINAL`; `PERMISSION_DENIED` for a question to others;
   *   `UNAVAILABLE` when the task changes too often; `STORE_FAILED`.
   * @throws {TypeError} As a rejection, when the store cannot join the transaction of `client`.
   */
  readonly send: (message: ProducedMessage, options?: ProduceOptions<P>) => Promise<Task>
  /** As `signal` of the manager of the tasks, also in a transaction of yours. */
  readonly signal: (taskId: string, name: string, value?: unknown, options?: JoinOptions) => Promise<void>
}

const KEYS = ['card', 'tasks', 'dispatch', 'priorityOf', 'onError']
const SEND_KEYS = [
  ...['taskId', 'contextId', 'messageId', 'principal', 'tenant', 'metadata', 'notBefore', 'client'],
]
const CONTENT_KEYS = ['parts', 'metadata', 'extensions', 'referenceTaskIds']
/** Attempts to send a message while others change its task. */
const MAX_ATTEMPTS = 20
/** For how long a call waits for `dispatch`. */
const DISPATCH_MS = 10_000

/** The latest time of a `Date`, in ms since 1970. */
const MAX_TIME = 8_640_000_000_000_000
const RECOGNIZED = { idempotency: toIdempotencySettings() }
/** No code is in memory here. */
const ASKING = {
  settings: { limits: toLimits(undefined, 'createProducer') },
  registry: { runOf: () => undefined },
}

/** A producer works on no task. */
const IDLE: LeasedTasksListener = {
  onNews: () => undefined,
  onLost: () => undefined,
  onOrphan: () => undefined,
  hasRoom: () => false,
}

/**
 * Creates a producer: it begins tasks that workers do, without a handler, as from a scheduled job, a route of a web
 * application or a script. They are the same as those that a handler with `dispatch` accepts.
 *
 * @throws {TypeError | RangeError | A2AError} naming the invalid option.
 * @example
 * const producer = createProducer({ card, tasks })
 * const task = await producer.send('sales of May', { messageId: 'sales-2026-05', principal: { id: 'ada' } })
 */
export function createProducer<P extends Principal = Principal>(options: ProducerOptions): Producer<P> {
  const {
    card,
    tasks,
    dispatch = 'store',
    priorityOf,
    onError,
  } = readOptions(options, KEYS, 'createProducer')
  requireDispatch(dispatch)
  requireFunctions({ onError, priorityOf }, ['onError', 'priorityOf'])
  const { name, skills } = buildAgentCard(card)
  if (!isShared(requireTasks(tasks)) || portOf(tasks)?.within === undefined)
    throw new TypeError('"tasks" must be shared with the workers: a DurableTaskManager')
  const report = onError === undefined ? reportError : guarded(onError)
  const agent: Agent = { name, skill: skills[0]?.id ?? 'default', priorityOf, onError: report }
  const dispatcher = new TurnDispatcher(dispatch, report)
  return {
    send: async (message, given = {}) => {
      const read = readParams(given, SEND_KEYS, 'send')
      return await within(tasks, dispatcher, read.client, (at) => send<P>({ ...at, agent }, message, read))
    },
    signal: async (taskId, signal, value = null, given = {}) => {
      const { client } = readParams(given, ['client'], 'signal')
      await within(tasks, dispatcher, client, (at) => Promise.resolve(at.tasks.signal(taskId, signal, value)))
    },
  }
}

interface Agent {
  readonly name: string
  /** Of its tasks. */
  readonly skill: string
  readonly priorityOf: PriorityOf | undefined
  readonly onError: (error: unknown, context: ErrorContext) => void
}

/** Where a call takes effect. */
interface Place {
  readonly tasks: SharedTasks
  readonly port: ManagerPort<TaskState>
  /** Absent in a transaction, which has not committed when the call resolves: a handler hands the turn out. */
  readonly dispatcher: TurnDispatcher | undefined
}

interface Context extends Place {
  readonly agent: Agent
}

async function within<T>(
  tasks: SharedTasks,
  dispatcher: TurnDispatcher,
  client: unknown,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const port = requirePort(tasks)
  if (client === undefined) return await work({ tasks, port, dispatcher })
  const joined = port.within?.(client)
  if (joined === undefined) throw new TypeError('This manager cannot join a transaction of yours')
  try {
    return await work({ tasks: joined, port: requirePort(joined), dispatcher: undefined })
  } finally {
    await joined.destroy()
  }
}

function requirePort(tasks: object): ManagerPort<TaskState> {
  const port = portOf<TaskState>(tasks)
  if (port === undefined) throw new TypeError('"tasks" must be a DurableTaskManager')
  return port
}

async function send<P extends Principal>(
  context: Context,
  content: ProducedMessage,
  { taskId, principal, tenant, metadata, notBefore, ...given }: ProduceOptions<P>,
): Promise<Task> {
  const { settings } = context.port
  const isNew = taskId === undefined
  const messageId = given.messageId ?? settings.generateId()
  // The same checks, and the same copy, as of any message.
  const { message } = toMessage({ ...toContent(content), role: 'user', messageId }, {}, settings)
  if (principal !== undefined) requirePrincipal(principal)
  // An empty one is none, as in requests.
  if (tenant !== undefined && tenant !== '') readName(tenant, 'tenant')
  const { owner } = ownedBy(principal, tenant)
  const [dialect] = toDialects(undefined, undefined)
  const queued: QueuedMessage<P> = {
    request: {
      message: withoutMark(
        given.contextId === undefined ? message : { ...message, contextId: given.contextId },
      ),
      ...{ returnImmediately: true, acceptedOutputModes: [] },
      ...(metadata !== undefined && { metadata: readMetadata(metadata, settings.limits) }),
      ...(tenant !== undefined && { tenant }),
    },
    caller: { dialect, namesVersion: false, principal, extensions: [] },
    owner: { owner },
  }
  const dueInMs = notBefore === undefined ? 0 : dueIn(notBefore, settings.clock.now())
  if (isNew) return await begin(context, queued, dueInMs, given.messageId !== undefined)
  if (notBefore !== undefined) throw invalidParams('notBefore', 'is for a message that begins a task')
  return await followUp(context, queued, readName(taskId, 'taskId'))
}

function toContent(content: ProducedMessage): Omit<MessageInput, 'role'> {
  return typeof content === 'string'
    ? { parts: [{ text: content }] }
    : readParams(content, CONTENT_KEYS, 'send')
}

function dueIn(notBefore: unknown, now: number): number {
  const at = notBefore instanceof Date ? notBefore.getTime() : notBefore
  if (typeof at === 'number' && Math.abs(at) <= MAX_TIME) return Math.ceil(Math.max(0, at - now))
  throw invalidParams('notBefore', `must be a valid Date or ms since 1970, got ${describe(notBefore)}`)
}

/**
 * Creates the task with its message and its turn, in one step.
 *
 * @param hasOwnId - Whether the sender has chosen the id of the message, which may have begun a task before.
 */
async function begin<P extends Principal>(
  context: Context,
  queued: QueuedMessage<P>,
  dueInMs: number,
  hasOwnId: boolean,
): Promise<Task> {
  const { port } = context
  const added = toAdded(context, queued, hasOwnId)
  let task: Task
  try {
    const dueIn = (first: TaskSnapshot): Due =>
      dueInMs > 0
        ? { ms: dueInMs, isStrict: true }
        : { ms: handOutIn(context, priorityOf(context, first)), isStrict: false }
    task = await port.add({ ...added, isWorking: true, dueIn })
  } catch (error) {
    const begun = hasOwnId ? await begunBefore(context, added.id, queued, error) : undefined
    if (begun === undefined) throw error
    return copyTask(begun)
  }
  if (dueInMs === 0) await handOver(context, task)
  return task
}

function toAdded<P extends Principal>(
  { port: { settings }, agent }: Context,
  queued: QueuedMessage<P>,
  hasOwnId: boolean,
): Pick<AddedTask<TaskState>, 'id' | 'log'> {
  const { message } = queued.request
  const { owner = null } = queued.owner
  const { messageId, contextId, referenceTaskIds } = message
  // As a handler derives the id, which so finds the task.
  const ownId = hasOwnId ? derivedId(0, agent.name, owner, messageId) : undefined
  const params = { id: ownId, skill: agent.skill, contextId, referenceTaskIds, owner: owner ?? undefined }
  const command = toCreate(params, settings)
  const { id } = command
  const first = { ...message, taskId: id, contextId: command.contextId }
  const entry = toJournal<TaskState>([turnOf(queued)], { message: first }, settings)
  return {
    id,
    log: (timestamp) => {
      const created = createdEvent(command, settings.lifecycle.initial, timestamp)
      const task = create(created)
      return [created, ...decide(task, entry, settings, usageOf(task), timestamp)]
    },
  }
}

/**
 * The task that this message has begun before, where `error` says that its id is in use.
 *
 * @throws {A2AError} `INVALID_PARAMS` when another message has begun it.
 */
async function begunBefore<P extends Principal>(
  { tasks }: Context,
  id: string,
  { request: { message }, owner }: QueuedMessage<P>,
  error: unknown,
): Promise<TaskSnapshot | undefined> {
  if (!A2AError.is(error, 'INVALID_PARAMS') || error.data.path !== 'id') return undefined
  const task = await tasks.peekTask(id, owner)
  const first = task === null ? undefined : messageOf(task, message.messageId)
  if (task === null || first === undefined) return undefined
  requireSame(first, message)
  return task
}

function priorityOf({ agent }: Context, task: TaskSnapshot): number {
  return priorityFor(task, agent.priorityOf, agent.onError)
}

/** The argument of `handOut` of the leases. In a transaction, any process finds the turn as soon as it is there. */
function handOutIn({ dispatcher }: Context, priority: number): number {
  return dispatcher?.dueInMs(priority) ?? -priority
}

async function handOver(context: Context, task: TaskSnapshot): Promise<void> {
  const { dispatcher } = context
  if (dispatcher === undefined) return
  dispatcher.send(task, priorityOf(context, task))
  // The program may end then. A queue that is away must hold up nothing: a handler hands the turn out again.
  await settleWithin(withKeepAlive(context.port.settings.clock), DISPATCH_MS, [dispatcher.settled()])
}

/** Adds the message to its task, and hands its turn out where no process works on it. */
async function followUp<P extends Principal>(
  context: Context,
  { request, ...queued }: QueuedMessage<P>,
  taskId: string,
): Promise<Task> {
  const { tasks } = context
  const notes = new RequestNotes<P>(
    { onError: context.agent.onError, principalOf: undefined, dialects: [queued.caller.dialect] },
    tasks.documents,
  )
  const leased = tasks.lease(IDLE)
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const task = await requireVisible(tasks, taskId, queued.owner)
      if (unrepeated(task, request, RECOGNIZED) === undefined) return copyTask(task)
      requireAcceptsMessage(task, request, ASKING)
      const message = { ...request.message, taskId: task.id, contextId: task.contextId }
      const noted = { ...queued, request: { ...request, message } }
      const { type, leaseId } = await leased.acquire(task.id, toNote(noted, task.messages.length))
      const isNoted = await notes.put(task, noted)
      const isSent = await leased.send(task, leaseId, message)
      if (isNoted && !isSent) await notes.remove(task, message)
      if (type === 'acquired') await handOut(context, leased, task.id, isSent ? noted : undefined)
      if (isSent) return copyTask(await requireVisible(tasks, task.id, queued.owner))
    }
    throw unavailable('cannot get hold of this task')
  } finally {
    await leased.close()
  }
}

/** @param sent - The message that has begun or continued the turn. */
async function handOut<P extends Principal>(
  context: Context,
  leased: LeasedTasks,
  taskId: string,
  sent: QueuedMessage<P> | undefined,
): Promise<void> {
  if (sent !== undefined && leased.peekTask(taskId)?.turn === undefined)
    leased.recordJournal(taskId, [turnOf(sent)])
  for (;;) {
    const task = leased.peekTask(taskId)
    if (task === null) return
    if (!(await leased.handOut(taskId, handOutIn(context, priorityOf(context, task))))) continue
    if (sent !== undefined) await handOver(context, task)
    return
  }
}
