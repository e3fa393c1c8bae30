/**
 * Callers of operations, and the tasks that they own.
 *
 * @module
 */
import { invalidParams, taskNotFound } from '../core/errors.js'
import { hasLoneSurrogate } from '../core/json.js'
import type { OwnerFilter } from '../core/queries.js'
import type { TaskSnapshot } from '../core/task.js'
import type { Dialect } from '../wire/dialect.js'
import type { MaybePromise } from '../core/managers.js'
import { isPromise, type ServedTasks } from './tasks.js'

/** An authenticated client that owns tasks. */
export interface Principal {
  /** Identifies the owner of tasks: 1 to 512 characters, no control characters. */
  readonly id: string
}

/** The client behind a request, and the protocol that it uses. */
export interface Caller<P extends Principal = Principal> {
  /** The dialect of the request. */
  readonly dialect: Dialect
  /** Whether the request names its version; otherwise the dialect was inferred. */
  readonly namesVersion: boolean
  /** Absent where the handler has no `authenticate`. */
  readonly principal?: P | undefined
  /** The extensions that the client declares and the card lists. */
  readonly extensions: readonly string[]
  /** The generation of the last event that the client received, when it resumes a stream. */
  readonly lastGeneration?: number | undefined
  /** Aborts when the client disconnects. */
  readonly signal?: AbortSignal | undefined
}

/** @throws {TypeError} when `authenticate` returned an invalid principal: an error of the integrator, not of the client. */
export function requirePrincipal<P extends Principal>(principal: P): P {
  const id: unknown = (principal as Partial<Principal>).id
  if (typeof id === 'string' && /^[^\u0000-\u001f]{1,512}$/.test(id) && !hasLoneSurrogate(id))
    return principal
  throw new TypeError(
    'authenticate() must return null or an object whose "id" is a string of 1 to 512 characters, none a control character',
  )
}

/** Together with a principal's id of 512 characters it fits into the 1024 of an owner. */
const MAX_TENANT = 500

/**
 * The owner of a caller's tasks; `null` without a principal. Each pair of tenant and principal is an owner of its own, so
 * naming a tenant never reveals the tasks of another principal.
 */
export function ownedBy(
  principal: Principal | undefined,
  tenant: string | undefined,
): { owner: string | null } {
  if (!tenant) return { owner: principal?.id ?? null }
  const encoded = encodeURIComponent(tenant)
  if (encoded.length > MAX_TENANT) {
    throw invalidParams('tenant', `must have at most ${MAX_TENANT} characters when percent-encoded`)
  }
  // Ids contain no line breaks, so different pairs give different owners.
  return { owner: `\n${encoded}\n${principal?.id ?? ''}` }
}

/**
 * The task, if it belongs to the caller.
 *
 * @throws {A2AError} At once or as a rejection: `TASK_NOT_FOUND`, the same for a task of another owner as for none
 *   (A2A 1.0 §3.3.2).
 */
export function requireVisible(
  tasks: ServedTasks,
  id: string,
  owner: OwnerFilter,
): MaybePromise<TaskSnapshot> {
  const found = (task: TaskSnapshot | null): TaskSnapshot => {
    if (task === null) throw taskNotFound(id)
    return task
  }
  const task = tasks.peekTask(id, owner)
  return isPromise(task) ? task.then(found) : found(task)
}

/** The generation in `Last-Event-ID`; `undefined` for ids of other servers, after which a stream starts over. */
export function generationFromHeader(lastEventId: string | null | undefined): number | undefined {
  return /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : undefined
}
