/**
 * The tasks of a manager, in memory or over a store.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../core/errors.js'
import type { TaskStreamEvent } from '../../core/events.js'
import type { Backlog } from '../../core/managers.js'
import { fork, type ForkOptions } from '../../views/fork.js'
import type { Lifecycle } from '../../core/lifecycle.js'
import { children, type TaskChildren } from '../../views/children.js'
import { isSameOwner, type TaskFilter } from '../../core/queries.js'
import type { TaskSnapshot } from '../../core/task.js'
import { deadLetters } from '../../views/dead-letters.js'
import { redrive } from '../../views/redrive.js'
import { platformCrypto } from '../../runtime/crypto.js'
import type { Principal } from '../../server/caller.js'
import type { PushHealth } from '../../server/push/health.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import { decodeError } from '../../wire/client/errors.js'
import type { Scope } from '../access.js'
import type { InspectedHandler, InspectedTasks, Settings } from '../options.js'
import { Refusal } from '../refusal.js'
import { followFeed } from './follow-feed.js'
import { pollTasks } from './poll-tasks.js'
import type {
  Change,
  CountQuery,
  OutgoingMessage,
  Reply,
  SourcePage,
  SourceQuery,
  TaskSource,
} from './source.js'

/** How many children of a task are shown. */
const MAX_CHILDREN = 100

export class ManagerSource implements TaskSource {
  readonly #tasks: InspectedTasks
  readonly #settings: Settings

  constructor(tasks: InspectedTasks, settings: Settings) {
    this.#tasks = tasks
    this.#settings = settings
  }

  get lifecycle(): Lifecycle<string> {
    return this.#tasks.lifecycle
  }

  get card(): AgentCard | undefined {
    return this.#settings.handler?.card
  }

  async page(scope: Scope, query: SourceQuery, pageSize: number, cursor?: string): Promise<SourcePage> {
    const { updatedBefore, ...filter } = query
    return await this.#tasks.pageTasks({ ...filterOf(scope, filter), updatedBefore, pageSize, cursor })
  }

  async deadLetters(
    scope: Scope,
    query: SourceQuery,
    pageSize: number,
    cursor?: string,
  ): Promise<SourcePage> {
    const { updatedBefore, ...filter } = query
    return await deadLetters(this.#tasks, { ...filterOf(scope, filter), updatedBefore, pageSize, cursor })
  }

  async counts(scope: Scope, query: CountQuery): Promise<Readonly<Record<string, number>>> {
    const filter = filterOf(scope, query)
    const counted = this.lifecycle.states.map(
      async (state) => [state, await this.#tasks.countTasks({ ...filter, state })] as const,
    )
    return Object.fromEntries(await Promise.all(counted))
  }

  /** Turns are those of all owners. */
  async backlog({ filter }: Scope): Promise<Backlog | undefined> {
    if (filter.owner !== undefined) return undefined
    try {
      return await this.#tasks.backlog?.()
    } catch (error) {
      // The store cannot tell.
      if (error instanceof TypeError) return undefined
      throw error
    }
  }

  async task({ filter }: Scope, taskId: string): Promise<TaskSnapshot<string>> {
    const task = await this.#tasks.peekTask(taskId, filter)
    if (task === null) throw taskNotFound(taskId)
    return task
  }

  async events(taskId: string, after: number): Promise<readonly TaskStreamEvent<string>[]> {
    return await this.#tasks.events(taskId, { after })
  }

  follow(taskId: string, after: number, signal: AbortSignal): AsyncIterator<TaskStreamEvent<string>> {
    return this.#tasks.subscribe(taskId, { after, signal })
  }

  /** What clients say is a child may belong to another owner. */
  async children({ filter }: Scope, taskId: string): Promise<TaskChildren> {
    const { tasks, delegations } = await children(this.#tasks, taskId)
    const { owner: wanted } = filter
    const owned = tasks.filter(({ owner }) => wanted === undefined || isSameOwner(wanted, owner))
    return {
      tasks: owned.slice(0, MAX_CHILDREN),
      delegations: delegations.slice(0, MAX_CHILDREN),
    }
  }

  async webhooks(taskId: string): Promise<readonly PushHealth[]> {
    return (await this.#settings.push?.health(taskId)) ?? []
  }

  changes({ filter }: Scope, signal: AbortSignal): AsyncIterator<Change> {
    const { clock, pollIntervalMs: intervalMs } = this.#settings
    const options = { filter, signal, clock }
    return followFeed(this.#tasks, options) ?? pollTasks(this.#tasks, { ...options, intervalMs })
  }

  async send(scope: Scope, { parts, taskId, like, contextId }: OutgoingMessage): Promise<Reply> {
    const { filter, sender } = scope
    const owned = taskId ?? like
    const target = owned === undefined ? null : await this.#tasks.peekTask(owned, filter)
    if (owned !== undefined && target === null) throw taskNotFound(owned)
    const owner = target === null ? sender : (target.owner ?? null)
    const message = {
      messageId: platformCrypto().randomUUID(),
      role: 'ROLE_USER',
      parts,
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
    }
    const params = { message, configuration: { returnImmediately: true } }
    return replyOf(await this.#call(scope, 'SendMessage', params, owner))
  }

  async cancel(scope: Scope, { id, owner }: TaskSnapshot<string>): Promise<void> {
    if (this.#settings.handler === undefined) await this.#tasks.cancelTask(id)
    else await this.#call(scope, 'CancelTask', { id }, owner ?? null)
  }

  async redeliver(taskId: string, webhookId: string): Promise<boolean> {
    return (await this.#settings.push?.redeliver(taskId, webhookId)) ?? false
  }

  async fork(taskId: string, options: ForkOptions): Promise<Reply> {
    return { taskId: (await fork(this.#tasks, taskId, options)).id }
  }

  async redrive(taskId: string): Promise<Reply> {
    return { taskId: (await redrive(this.#tasks, taskId)).id }
  }

  async delete(taskId: string): Promise<void> {
    await this.#tasks.deleteTask?.(taskId)
  }

  /** Calls an operation as the owner of a task. */
  async #call({ access }: Scope, method: string, params: object, owner: string | null): Promise<object> {
    const { handler } = this.#settings
    if (handler === undefined) throw new Refusal(409, 'The inspector has no handler that takes messages')
    const { id, tenant } = callerOf(owner)
    const principal = id === undefined ? null : await principalOf(id, access.principal, handler)
    const request = {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { ...params, ...(tenant !== undefined && { tenant }) },
    }
    const { error, result } = (await handler.dispatch(request, { principal, version: '1.0' })) as RpcResponse
    if (error !== undefined)
      throw refusedAnswer(error, method) ?? new Refusal(409, refusalOf(error, principal))
    if (result === undefined)
      throw new A2AError('INVALID_AGENT_RESPONSE', 'The agent sent no result', { reason: method })
    return result
  }
}

/** A response of JSON-RPC. */
interface RpcResponse {
  readonly error?: RpcError
  readonly result?: object
}

interface RpcError {
  readonly message?: unknown
  readonly data?: unknown
}

/** The error of an answer that does not fit: the page shows it at the field. */
function refusedAnswer(error: RpcError, operation: string): A2AError | undefined {
  const refusal = decodeError({ error }, { operation })
  const isOfAnswer = A2AError.is(refusal, 'INVALID_PARAMS') && refusal.data.path.startsWith('answers.')
  return isOfAnswer ? refusal : undefined
}

function refusalOf({ message, data }: RpcError, principal: Principal | null): string {
  const isUnknown = Array.isArray(data) && data.some((each: unknown) => isUnauthenticated(each))
  if (principal === null && isUnknown) {
    return 'The agent takes messages of its users only, and this page has none: return a "principal" from "authorize" of createInspector'
  }
  return `The agent refused: ${String(message)}`
}

function isUnauthenticated(detail: unknown): boolean {
  return typeof detail === 'object' && detail !== null && Reflect.get(detail, 'reason') === 'UNAUTHENTICATED'
}

/** @throws {A2AError} `INVALID_PARAMS` for an owner outside the scope. */
function filterOf({ filter }: Scope, { owner, ...others }: SourceQuery): TaskFilter<string> {
  if (owner === undefined) return { ...others, ...filter }
  if (filter.owner !== undefined && filter.owner !== owner) {
    throw invalidParams('owner', 'must be the owner whose tasks you see')
  }
  return { ...others, owner }
}

/** The caller whose tasks have this owner: see `ownedBy` of the server. */
function callerOf(owner: string | null): { readonly id?: string; readonly tenant?: string } {
  if (owner === null) return {}
  const [, tenant, id] = /^\n([^\n]*)\n([^]*)$/.exec(owner) ?? []
  if (tenant === undefined) return { id: owner }
  return { ...(id && { id }), tenant: decodeURIComponent(tenant) }
}

async function principalOf(
  id: string,
  own: Principal | undefined,
  handler: InspectedHandler,
): Promise<Principal> {
  if (own?.id === id) return own
  return (await handler.principalOf?.(id)) ?? { id }
}

function replyOf(result: object): Reply {
  const { task, message } = result as { task?: { id: string }; message?: { parts?: { text?: string }[] } }
  if (task !== undefined) return { taskId: task.id }
  return { text: (message?.parts ?? []).map(({ text = '' }) => text).join('') }
}
