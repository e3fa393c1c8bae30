/**
 * Access to an inspector: the tasks that a person sees, and the actions that they may take.
 *
 * @module
 */
import type { OwnerFilter } from '../core/queries.js'
import { requireKnown, requireText } from '../runtime/options.js'
import { ownedBy, requirePrincipal } from '../server/caller.js'

/**
 * - `send`: a message that begins a task.
 * - `answer`: a message to a task.
 * - `cancel`: the end of a task.
 * - `redeliver`: a disabled webhook is delivered to again.
 */
export type InspectorAction = 'send' | 'answer' | 'cancel' | 'redeliver'

const ACTIONS: readonly InspectorAction[] = ['send', 'answer', 'cancel', 'redeliver']

/** What a person may see and do. */
export interface InspectorAccess {
  /**
   * The owner whose tasks are shown. `null` shows tasks without an owner. Without the property, the tasks of all owners are
   * shown: an explicit `undefined` is refused.
   */
  readonly owner?: string | null
  /** Shows the tasks of the owner in this tenant. */
  readonly tenant?: string
  /** Narrows the actions of the inspector. Default is all that the inspector allows. */
  readonly actions?: boolean | readonly InspectorAction[]
  /** The name of the person, for `onAction`. It decides nothing. */
  readonly user?: string
}

/**
 * Decides about a request: the access that it gets, `null` for none, or your own response, such as a redirect to the page
 * where people sign in.
 */
export type Authorize = (
  request: Request,
) => InspectorAccess | Response | null | Promise<InspectorAccess | Response | null>

/** An action that a person is about to take. */
export interface InspectorAudit {
  readonly action: InspectorAction
  /** Absent where a message begins a task. */
  readonly taskId?: string
  readonly access: InspectorAccess
}

/** The access of one request. */
export interface Scope {
  readonly access: InspectorAccess
  readonly filter: OwnerFilter
  readonly actions: ReadonlySet<InspectorAction>
}

/** @throws {TypeError} for a value that gives no certain access: an error of the integrator. */
export function toScope(access: InspectorAccess, allowed: readonly InspectorAction[]): Scope {
  requireKnown(access, ['owner', 'tenant', 'actions', 'user'], 'InspectorAccess')
  const { owner, tenant } = access
  if (Object.hasOwn(access, 'owner') && owner !== null) requireText('owner', owner)
  if (Object.hasOwn(access, 'tenant')) requireText('tenant', tenant)
  const isBound = owner !== undefined || tenant !== undefined
  const principal = owner ? requirePrincipal({ id: owner }) : undefined
  const filter = isBound ? ownedBy(principal, tenant) : {}
  const chosen = readActions(access.actions, allowed)
  return { access, filter, actions: new Set(allowed.filter((action) => chosen.includes(action))) }
}

/** @throws {TypeError} */
export function readActions(
  actions: unknown,
  fallback: readonly InspectorAction[],
): readonly InspectorAction[] {
  if (actions === undefined) return fallback
  if (typeof actions === 'boolean') return actions ? ACTIONS : []
  const known: readonly unknown[] = ACTIONS
  if (Array.isArray(actions) && actions.every((action) => known.includes(action))) {
    // The line before checks each.
    return actions as InspectorAction[]
  }
  throw new TypeError(`"actions" must be a boolean, or an array of ${ACTIONS.join(', ')}`)
}
