/**
 * The lifecycle of a task as data: the table of legal transitions.
 *
 * `docs/state-machine.md` is normative. A test compares every cell of this table with it.
 *
 * @module
 */

import { requireKnown } from '../runtime/options.js'
import { freezeDeep } from './json.js'

/** A state of a task (A2A 1.0 §4.1.3 TaskState), in the spelling that the core uses. */
export type TaskState =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'

/** The states that may follow each state. A state that none follows is terminal. */
export const VALID_TRANSITIONS = freezeDeep({
  submitted: ['working', 'failed', 'canceled', 'rejected'],
  working: ['input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected'],
  'input-required': ['working', 'auth-required', 'failed', 'canceled', 'rejected'],
  'auth-required': ['working', 'input-required', 'failed', 'canceled', 'rejected'],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
} as const satisfies Readonly<Record<TaskState, readonly TaskState[]>>)

/** States in which the agent waits for the client: for input, or for credentials (A2A 1.0 §4.1.3). */
export const INTERRUPTED_STATES = freezeDeep([
  'input-required',
  'auth-required',
] as const satisfies readonly TaskState[])

const BRAND: unique symbol = Symbol.for('a2a-tasks.lifecycle')

/** A lifecycle created by {@link defineLifecycle}. Frozen plain data. */
export interface Lifecycle<S extends string = TaskState> {
  /** The state of new tasks. */
  readonly initial: S
  readonly states: readonly S[]
  readonly transitions: Readonly<Record<S, readonly S[]>>
  /** States without outgoing transitions. */
  readonly terminal: readonly S[]
  /** States in which the agent waits for the client. */
  readonly interrupted: readonly S[]
}

/** Options of `defineLifecycle`. */
export interface LifecycleOptions<S extends string> {
  /** Default is `input-required` and `auth-required`, as far as the table has them and they are not terminal. */
  readonly interrupted?: readonly S[]
}

/**
 * Creates a lifecycle from a table. The first state of the table is the state of new tasks. A state with an empty list
 * is terminal. `cancelTask` moves tasks to `canceled`, the task timeout to `failed`.
 *
 * @throws {TypeError} when a target is not a state of the table, or is listed twice or under itself; when no path leads
 *   from the first state to another one; when `interrupted` names a terminal or unknown state.
 * @example
 * const review = defineLifecycle({
 *   submitted: ['working', 'canceled'],
 *   working: ['review', 'failed', 'canceled'],
 *   review: ['working', 'completed', 'canceled'],
 *   completed: [], failed: [], canceled: [],
 * })
 * new TaskManager({ lifecycle: review }).updateTask(id, { state: 'review' })
 */
export function defineLifecycle<const T extends Readonly<Record<string, readonly string[]>>>(
  table: T & { readonly [K in keyof T]: readonly (keyof T)[] },
  options: LifecycleOptions<Extract<keyof T, string>> = {},
): Lifecycle<Extract<keyof T, string>> {
  type S = Extract<keyof T, string>
  requireKnown(options, ['interrupted'], 'defineLifecycle')
  checkTable(table)
  // The parameter type requires that each target is a state.
  const lifecycle = makeLifecycle<S>(
    table as unknown as Readonly<Record<S, readonly S[]>>,
    options.interrupted,
  )
  checkEnds(lifecycle)
  return lifecycle
}

/** Creates a lifecycle without the checks of `defineLifecycle`. */
function makeLifecycle<S extends string>(
  table: Readonly<Record<S, readonly S[]>>,
  interrupted?: readonly S[],
): Lifecycle<S> {
  // The keys of the table are its states.
  const states = Object.keys(table) as S[]
  // Without a prototype, `transitions['constructor']` is undefined and not a function.
  const transitions = Object.create(null) as Record<S, readonly S[]>
  for (const state of states) transitions[state] = [...table[state]]
  const known: readonly string[] = INTERRUPTED_STATES
  const waiting = states.filter((state) => known.includes(state) && transitions[state].length > 0)
  const lifecycle: Lifecycle<S> = {
    // `defineLifecycle` refuses a table without states.
    initial: states[0] as S,
    states,
    transitions,
    terminal: states.filter((state) => transitions[state].length === 0),
    interrupted: [...(interrupted ?? waiting)],
  }
  return freezeDeep(Object.defineProperty(lifecycle, BRAND, { value: true }))
}

/** Whether `defineLifecycle` created the value, in this copy of the library or in another. */
export function isLifecycle(value: unknown): value is Lifecycle<string> {
  return typeof value === 'object' && value !== null && BRAND in value
}

function checkTable(table: Readonly<Record<string, unknown>>): void {
  const states = Object.keys(table)
  if (states.length === 0) throw new TypeError('A lifecycle needs at least one state')
  for (const [state, given] of Object.entries(table)) {
    // `waitFor` gives the two words their own meaning. Objects list number keys first, whatever their order in the
    // code.
    if (/^(?:|terminal|interrupted|\d+)$/.test(state)) throw new TypeError(`"${state}" cannot name a state`)
    if (!Array.isArray(given)) throw new TypeError(`"${state}" must have an array of the states it leads to`)
    const targets: readonly unknown[] = given
    for (const [index, target] of targets.entries()) {
      const step = `"${state}" leads to "${String(target)}"`
      if (!states.some((known) => known === target)) {
        throw new TypeError(`${step}, which is not a state of the table: ${states.join(', ')}`)
      }
      if (target === state)
        throw new TypeError(
          `"${state}" leads to itself: remove this step. To report progress, send an update without a state`,
        )
      if (targets.indexOf(target) !== index) throw new TypeError(`"${state}" lists "${String(target)}" twice`)
    }
  }
}

function checkEnds(lifecycle: Lifecycle<string>): void {
  const { initial, states, terminal, interrupted } = lifecycle
  for (const end of ['canceled', 'failed']) {
    if (states.includes(end) && !terminal.includes(end)) {
      throw new TypeError(
        `"${end}" must be terminal, with an empty list, because a cancellation or a timeout ends a task in it`,
      )
    }
  }
  for (const state of interrupted) {
    if (!states.includes(state))
      throw new TypeError(`"interrupted" names "${state}", which is not a state of the table`)
    if (terminal.includes(state)) throw new TypeError(`"interrupted" names "${state}", which is terminal`)
  }
  for (const state of states) {
    if (shortestPath(initial, state, lifecycle) !== undefined) continue
    throw new TypeError(`Nothing leads from "${initial}" to "${state}": list it as a target, or remove it`)
  }
}

/** The default lifecycle of a `TaskManager`. */
export const A2A_LIFECYCLE: Lifecycle = makeLifecycle<TaskState>(VALID_TRANSITIONS)

/**
 * Whether the lifecycle has a transition from `from` to `to`. No state leads to itself, and unknown states lead
 * nowhere.
 */
export function canTransition(from: TaskState, to: TaskState): boolean
export function canTransition<S extends string>(from: S, to: S, lifecycle: Lifecycle<S>): boolean
export function canTransition(
  from: string,
  to: string,
  lifecycle: Lifecycle<string> = A2A_LIFECYCLE,
): boolean {
  return lifecycle.transitions[from]?.includes(to) ?? false
}

/** Whether no state follows `state`. */
export function isTerminal(state: TaskState): boolean
export function isTerminal<S extends string>(state: S, lifecycle: Lifecycle<S>): boolean
export function isTerminal(state: string, lifecycle?: Lifecycle<string>): boolean {
  return orDefault(lifecycle).transitions[state]?.length === 0
}

/** Whether the agent waits for the client in `state`. */
export function isInterrupted(state: TaskState): boolean
export function isInterrupted<S extends string>(state: S, lifecycle: Lifecycle<S>): boolean
export function isInterrupted(state: string, lifecycle?: Lifecycle<string>): boolean {
  return orDefault(lifecycle).interrupted.includes(state)
}

/** As callbacks of `filter`, these functions receive an index in place of a lifecycle. */
function orDefault(lifecycle: unknown): Lifecycle<string> {
  return isLifecycle(lifecycle) ? lifecycle : A2A_LIFECYCLE
}

/**
 * The states on the shortest path from `from` to `to`, without `from` and with `to`: `['working', 'completed']` from
 * `submitted` to `completed`. Empty if both are the same; `undefined` if no path exists.
 */
export function shortestPath(from: TaskState, to: TaskState): TaskState[] | undefined
export function shortestPath<S extends string>(from: S, to: S, lifecycle: Lifecycle<S>): S[] | undefined
export function shortestPath(
  from: string,
  to: string,
  lifecycle: Lifecycle<string> = A2A_LIFECYCLE,
): string[] | undefined {
  const paths = new Map<string, string[]>()
  if (lifecycle.states.includes(from)) paths.set(from, [])
  for (const [state, path] of paths) {
    if (state === to) return path
    for (const next of lifecycle.transitions[state] ?? []) {
      if (!paths.has(next)) paths.set(next, [...path, next])
    }
  }
  return undefined
}

/**
 * Requires every state and step of the protocol's lifecycle. There may be more steps, and more states in which the agent works.
 *
 * @param option - The option with the manager of this lifecycle. A manager of your own need not have one.
 * @param who - What works on the tasks, such as `A handler`.
 * @throws {TypeError} saying what is missing.
 */
export function requireProtocolSteps(
  option: string,
  lifecycle: Lifecycle<string> | undefined,
  who: string,
): void {
  const missing = lifecycle && lackOf(lifecycle)
  if (missing === undefined) return
  throw new TypeError(
    `The lifecycle of "${option}" ${missing}. ${who} needs every state and step of A2A_LIFECYCLE, with "submitted" first`,
  )
}

/** What keeps a part from working on tasks with this lifecycle. */
function lackOf(lifecycle: Lifecycle<string>): string | undefined {
  const { initial, states, transitions, terminal, interrupted } = lifecycle
  if (initial !== A2A_LIFECYCLE.initial) return `begins with "${initial}"`
  for (const state of A2A_LIFECYCLE.states) {
    if (!states.includes(state)) return `lacks the state "${state}"`
    const missing = A2A_LIFECYCLE.transitions[state].find((next) => !transitions[state]?.includes(next))
    if (missing !== undefined) return `lacks the step from "${state}" to "${missing}"`
    if (A2A_LIFECYCLE.terminal.includes(state) && !terminal.includes(state)) return `goes on after "${state}"`
  }
  const missing = A2A_LIFECYCLE.interrupted.find((state) => !interrupted.includes(state))
  if (missing !== undefined) return `does not list "${missing}" in "interrupted"`
  return lackOfOwnStates(lifecycle)
}

/** Steps that are made from every state in which the agent works. */
const STEPS_OF_WORK = ['working', 'failed', 'canceled']

/** As {@link lackOf}, of the states that the protocol does not have. Clients see them as `working`. */
function lackOfOwnStates({
  states,
  transitions,
  terminal,
  interrupted,
}: Lifecycle<string>): string | undefined {
  for (const state of states) {
    if (state in A2A_LIFECYCLE.transitions) continue
    if (terminal.includes(state)) return `ends in "${state}", which no client knows`
    if (interrupted.includes(state)) return `waits in "${state}", which no client knows`
    const missing = STEPS_OF_WORK.find((next) => !transitions[state]?.includes(next))
    if (missing !== undefined) return `lacks the step from "${state}" to "${missing}"`
  }
  return undefined
}

/** The lifecycle as a Mermaid `stateDiagram-v2`. */
export function toMermaid(lifecycle: Lifecycle<string> = A2A_LIFECYCLE): string {
  // Ids of states in Mermaid have no hyphens or spaces.
  const idOf = (state: string): string => state.replace(/\W/g, '_')
  const lines = ['stateDiagram-v2']
  for (const state of lifecycle.states) {
    if (idOf(state) !== state) lines.push(`state "${state}" as ${idOf(state)}`)
  }
  lines.push(`[*] --> ${idOf(lifecycle.initial)}`)
  for (const state of lifecycle.states) {
    for (const next of lifecycle.transitions[state] ?? []) lines.push(`${idOf(state)} --> ${idOf(next)}`)
  }
  for (const state of lifecycle.terminal) lines.push(`${idOf(state)} --> [*]`)
  return `${lines.join('\n    ')}\n`
}
