/**
 * Sending of a message: what both operations do with one until it is accepted.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { Part } from '../../core/task.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { IncomingMessage, PushConfig, SendRequest } from '../../wire/dialect.js'
import { ownedBy, type Caller, type Principal } from '../caller.js'
import { findChosen, requireVisible } from '../chosen-ids.js'
import { messageOf } from '../idempotency.js'
import type { Settings } from '../options.js'
import { requirePush, type PushRegistry, type Register } from '../push/registry.js'
import type { Acceptance } from '../schedule/acceptance.js'
import type { AcceptedMessage } from '../schedule/active-run.js'
import { isPromise, isShared, type ServedTasks } from '../tasks.js'
import type { TaskDialects } from './task-dialects.js'

type Accept = (request: SendRequest<IncomingMessage>) => Promise<AcceptedMessage>

/** What sending uses of the other parts of the agent. */
interface Parts<P extends Principal> {
  readonly acceptance: Acceptance<P>
  readonly dialects: TaskDialects
  readonly push: PushRegistry | undefined
}

export class Sending<P extends Principal> {
  readonly #settings: Settings<P>
  readonly #parts: Parts<P>

  constructor(settings: Settings<P>, parts: Parts<P>) {
    this.#settings = settings
    this.#parts = parts
  }

  /** @throws {A2AError} `CONTENT_TYPE_NOT_SUPPORTED`; `EXTENSION_SUPPORT_REQUIRED`. */
  requireAcceptable({ message }: SendRequest<IncomingMessage>, { extensions: declared }: Caller<P>): void {
    const { card, checkInputModes } = this.#settings
    if (checkInputModes) requireInputModes(card, message.parts)
    // A2A 1.0 §4.6.3.
    const missing = (card.capabilities.extensions ?? []).flatMap(({ uri, required }) =>
      required === true && uri !== undefined && !declared.includes(uri) ? [uri] : [],
    )
    if (missing.length === 0) return
    const text = `Extension support required: ${missing.join(', ')}`
    throw new A2AError('EXTENSION_SUPPORT_REQUIRED', text, { extensions: missing })
  }

  /**
   * Accepts a message. Not `async`: over a `TaskManager` each microtask between the acceptance and the reading of the task
   * lets the executor change it, and then a caller that does not wait receives a later state.
   */
  accept(
    request: SendRequest<IncomingMessage>,
    caller: Caller<P>,
    isStream: boolean,
  ): Promise<AcceptedMessage> {
    const { answerByContext, tasks } = this.#settings
    const { message, chosenId, tenant } = request
    const mayAnswer = answerByContext && chosenId === undefined && message.taskId === undefined
    if (!mayAnswer || !message.contextId) return this.#accept(request, caller, isStream)
    return acceptInContext(tasks, request, ownedBy(caller.principal, tenant), (named) =>
      this.#accept(named, caller, isStream),
    )
  }

  /** As {@link accept}, without a look for the task that the message answers. */
  #accept(
    request: SendRequest<IncomingMessage>,
    caller: Caller<P>,
    isStream: boolean,
  ): Promise<AcceptedMessage> {
    const { acceptance, dialects } = this.#parts
    const accept = (): Promise<AcceptedMessage> => {
      const accepting = acceptance.accept(request, caller, isStream)
      return isShared(this.#settings.tasks) ? dialects.afterStoring(accepting, caller) : accepting
    }
    const { pushConfig } = request
    return pushConfig === undefined ? accept() : this.#acceptWith(pushConfig, accept, request, caller)
  }

  /** Accepts a message that names a webhook. If the webhook is refused, so is the message. */
  async #acceptWith(
    pushConfig: PushConfig,
    accept: () => Promise<AcceptedMessage>,
    request: SendRequest<IncomingMessage>,
    caller: Caller<P>,
  ): Promise<AcceptedMessage> {
    const register = await this.#prepareWebhook(pushConfig, request, caller)
    const accepted = await accept()
    if (accepted.type === 'message') return accepted
    const { taskId } = accepted
    const task = this.#settings.tasks.peekTask(taskId)
    if (isPromise(task)) {
      await register(taskId, await task)
      return accepted
    }
    const registering = register(taskId, task)
    // The operation awaits it, unless its task is gone first.
    registering.catch(() => undefined)
    return { ...accepted, registering }
  }

  async #prepareWebhook(
    pushConfig: PushConfig,
    { message, tenant, chosenId }: SendRequest<IncomingMessage>,
    caller: Caller<P>,
  ): Promise<Register> {
    const push = requirePush(this.#parts.push)
    // Whether a task of another owner has webhooks must not be revealed either.
    const { tasks } = this.#settings
    const owner = ownedBy(caller.principal, tenant)
    const known =
      message.taskId !== undefined
        ? await requireVisible(tasks, message.taskId, owner)
        : chosenId && (await findChosen(tasks, chosenId, owner))
    return await push.prepare(pushConfig, caller, known ? known.id : undefined, true)
  }
}

/**
 * Refuses parts of a media type that neither the card nor any of its skills lists (A2A 1.0 §3.1.1). Parts without a
 * media type are accepted.
 *
 * @throws {A2AError} `CONTENT_TYPE_NOT_SUPPORTED`.
 */
function requireInputModes(card: AgentCard, parts: readonly Part[]): void {
  const modes = [card.defaultInputModes, ...card.skills.map(({ inputModes = [] }) => inputModes)].flat()
  const isAccepted = (type: string): boolean =>
    modes.some((mode) =>
      [essence(type), `${essence(type).split('/')[0]}/*`, '*/*', '*'].includes(essence(mode)),
    )
  const refused = parts.find(({ mediaType }) => mediaType !== undefined && !isAccepted(mediaType))
  if (refused === undefined) return
  const mediaType = refused.mediaType ?? ''
  throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', `The agent does not accept parts of type ${mediaType}`, {
    mediaType,
  })
}

/** The media type without parameters, in lower case. */
function essence(mediaType: string): string {
  return mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** How many tasks of a context are searched for a message that was sent before, those that changed last. */
const SEARCHED_TASKS = 20

/**
 * Accepts the message as the answer to the one task of its context and owner that waits for input. Without such a task, or
 * with several, the message begins a task.
 */
async function acceptInContext(
  tasks: ServedTasks,
  request: SendRequest<IncomingMessage>,
  owner: OwnerFilter,
  accept: Accept,
): Promise<AcceptedMessage> {
  const { message } = request
  const taskId = await answeredBy(tasks, message, owner)
  if (taskId === undefined) return await accept(request)
  try {
    return await accept({ ...request, message: { ...message, taskId } })
  } catch (error) {
    // Another message has answered it, or it has ended by itself, since it was found. Or it waits for another user.
    const codes = ['TASK_TERMINAL', 'TASK_NOT_FOUND', 'PERMISSION_DENIED'] as const
    if (!codes.some((code) => A2AError.is(error, code))) throw error
    return await accept(request)
  }
}

/** The task that the message answers, or has answered when it was sent before. */
async function answeredBy(
  tasks: ServedTasks,
  { messageId, contextId }: IncomingMessage,
  owner: OwnerFilter,
): Promise<string | undefined> {
  const inContext = { ...owner, contextId }
  // In this order: a message that another process stores in between is found in one of them.
  const waiting = await tasks.pageTasks({ ...inContext, state: 'input-required', pageSize: 2 })
  const { tasks: latest } = await tasks.pageTasks({ ...inContext, pageSize: SEARCHED_TASKS })
  const known = latest.find((task) => messageOf(task, messageId) !== undefined)
  if (known !== undefined) {
    const isFirst = known.messages.findIndex((each) => each.messageId === messageId) === 0
    return isFirst ? undefined : known.id
  }
  const [first, ...others] = waiting.tasks
  return others.length === 0 ? first?.id : undefined
}
