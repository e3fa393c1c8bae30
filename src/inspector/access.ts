/**
 * Access to an inspector: the tasks that a person sees, and the actions that they may take.
 *
 * @module
 */
import type { OwnerFilter } from '../core/queries.js'
import { requireBoolean, requireKnown, requireText } from '../runtime/options.js'
import { ownedBy, requirePrincipal, type Principal } from '../server/caller.js'

/**
 * - `send`: a message that begins a task.
 * - `answer`: a message to a task.
 * - `cancel`: the end of a task.
 * - `redeliver`: a disabled webhook is delivered to again.
 * - `fork`: a new task that shares the past of another one.
 * - `redrive`: a task that has failed for good is continued in a new one.
 * - `delete`: a task that has ended is removed, with all that is stored of it.
 * - `maintain`: an agent of the gateway gets no more tasks, or gets them again.
 * - `schedule`: a schedule is paused, or its pause ends.
 */
export type InspectorAction =
  'send' | 'answer' | 'cancel' | 'redeliver' | 'fork' | 'redrive' | 'delete' | 'maintain' | 'schedule'

export const ACTIONS: readonly InspectorAction[] = [
  ...([
    'send',
    'answer',
    'cancel',
    'redeliver',
    'fork',
    'redrive',
    'delete',
    'maintain',
    'schedule',
  ] as const),
]

/** Actions on what belongs to the tasks of all owners. */
export const FOR_ALL: readonly InspectorAction[] = ['maintain', 'schedule']

/** What a person may see and do. */
export interface InspectorAccess {
  /**
   * The owner whose tasks are shown. `null` shows tasks without an owner. Without the property, the tasks of all owners are
   * shown: an explicit `undefined` is refused.
   */
  readonly owner?: string | null
  /** Shows the tasks of the owner in this tenant. */
  readonly tenant?: string
  /**
   * The caller of messages that begin a task, as `authenticate` of the handler would return it: a handler with `authenticate`
   * takes them from no other. With an `owner`, it must be the principal of that owner, which is the default.
   */
  readonly principal?: Principal
  /**
   * Whether the stacks of errors are shown, which a handler with `recordStacks` keeps: they tell about the code and its machine.
   * Default is `false`.
   */
  readonly stacks?: boolean
  /** Narrows the actions of the inspector. Default is all that the inspector allows. */
  readonly actions?: boolean | readonly InspectorAction[]
  /**
   * The name of the person, for `onAction`. Each person has a share of the open streams: without a name, each owner and tenant
   * is one person. It decides nothing else.
   */
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
  /** Absent where a message begins a task, and for `maintain` and `schedule`. */
  readonly taskId?: string
  /** The agent of the gateway, for `maintain`. */
  readonly agentId?: string
  /** The name of the schedule, for `schedule`. */
  readonly schedule?: string
  readonly access: InspectorAccess
}

/** The access of one request. */
export interface Scope {
  readonly access: InspectorAccess
  readonly filter: OwnerFilter
  /** The owner of tasks that begin with a message of the person; `null` for none. */
  readonly sender: string | null
  readonly actions: ReadonlySet<InspectorAction>
}

/** @throws {TypeError} for a value that gives no certain access: an error of the integrator. */
export function toScope(access: InspectorAccess, allowed: readonly InspectorAction[]): Scope {
  requireKnown(access, ['owner', 'tenant', 'principal', 'stacks', 'actions', 'user'], 'InspectorAccess')
  const { owner, tenant, principal } = access
  if (Object.hasOwn(access, 'owner') && owner !== null) requireText('owner', owner)
  if (Object.hasOwn(access, 'tenant')) requireText('tenant', tenant)
  if (access.user !== undefined) requireText('user', access.user)
  if (access.stacks !== undefined) requireBoolean('stacks', access.stacks)
  const isBound = owner !== undefined || tenant !== undefined
  const filter: OwnerFilter = isBound
    ? ownedBy(owner ? requirePrincipal({ id: owner }) : undefined, tenant)
    : {}
  if (principal !== undefined) requireSender(principal, access)
  const sender = filter.owner ?? principal?.id ?? null
  const chosen = readActions(access.actions ?? true, allowed)
  return { access, filter, sender, actions: new Set(allowed.filter((action) => chosen.includes(action))) }
}

/** @throws {TypeError} for a principal whose tasks the person would not see. */
function requireSender(principal: Principal, { owner, tenant }: InspectorAccess): void {
  const { id } = requirePrincipal(principal)
  if (owner === undefined && tenant === undefined) return
  if (owner !== id) throw new TypeError(`"principal" must be that of the "owner", got ${JSON.stringify(id)}`)
}

/** What tells the person of a scope from others. */
export function personOf({ access: { user }, filter: { owner } }: Scope): string {
  return JSON.stringify(user === undefined ? [owner] : user)
}

/** @param all - What `true` stands for. @throws {TypeError} */
export function readActions(actions: unknown, all: readonly InspectorAction[]): readonly InspectorAction[] {
  if (typeof actions === 'boolean') return actions ? all : []
  const known: readonly unknown[] = ACTIONS
  if (Array.isArray(actions) && actions.every((action) => known.includes(action))) {
    // The line before checks each.
    return actions as InspectorAction[]
  }
  throw new TypeError(`"actions" must be a boolean, or an array of ${ACTIONS.join(', ')}`)
}
