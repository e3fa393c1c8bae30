/**
 * Whose tasks are whose.
 *
 * @module
 */
import { invalidParams, taskNotFound } from '../core/errors.js'
import { hasLoneSurrogate } from '../core/json.js'
import type { OwnerFilter } from '../core/queries.js'
import type { TaskSnapshot } from '../core/task.js'
import type { Dialect } from '../wire/dialect.js'
import type { ServedTasks } from './tasks.js'

/** Somebody to whom tasks belong. */
export interface Principal {
  /** Tasks belong to this id. Not empty, at most 512 characters, none of them a control character. */
  readonly id: string
}

/** Who asks, and how. */
export interface Caller<P extends Principal = Principal> {
  /** What the request speaks. */
  readonly dialect: Dialect
  /** Whether the request says so itself, or was only understood so. */
  readonly namesVersion: boolean
  /** Absent where the handler has no `authenticate`. */
  readonly principal?: P | undefined
  /** The extensions that the client declares, of those that the card lists. */
  readonly extensions: readonly string[]
  /** The generation of the last event that the client has, when it takes up a stream again. */
  readonly lastGeneration?: number | undefined
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal | undefined
}

/** @throws {TypeError} when `principal` is none: what `authenticate` returns is the integrator's to mend. */
export function requirePrincipal<P extends Principal>(principal: P): P {
  const id: unknown = (principal as Partial<Principal>).id
  if (typeof id === 'string' && /^[^\u0000-\u001f]{1,512}$/.test(id) && !hasLoneSurrogate(id))
    return principal
  throw new TypeError(
    'authenticate() must return null or an object whose "id" is a string of 1 to 512 characters, none a control character',
  )
}

/** With a principal's id of 512, it fits into an owner's name of 1024. */
const MAX_TENANT = 500

/**
 * What a caller's tasks are found by: without a principal, those that have no owner. A tenant has tasks of its own for
 * each principal: naming another's tenant shows nobody's tasks but one's own.
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
  // No id has a line break in it, so no two pairs give the same text.
  return { owner: `\n${encoded}\n${principal?.id ?? ''}` }
}

/**
 * The task, if it belongs to the caller.
 *
 * @throws {A2AError} As a rejection: `TASK_NOT_FOUND`, the same for a task of another owner as for none
 *   (A2A 1.0 §3.3.2).
 */
export async function requireVisible(
  tasks: ServedTasks,
  id: string,
  owner: OwnerFilter,
): Promise<TaskSnapshot> {
  const task = await tasks.peekTask(id, owner)
  if (task === null) throw taskNotFound(id)
  return task
}

/** `Last-Event-ID` as a generation; anything else is a client of another server, and begins anew. */
export function generationOf(lastEventId: string | null | undefined): number | undefined {
  return /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : undefined
}
