/**
 * The lifecycle of a task as data: which state may follow which.
 *
 * `docs/state-machine.md` is normative; this table is its image in code, and a test compares every cell.
 *
 * @module
 */

import { requireKnown } from '../runtime/options.js'
import { freezeDeep } from './json.js'

/** A state of a task (A2A 1.0 §4.1.3 TaskState), in the one spelling that the core knows. */
export type TaskState =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'

/** Which states may follow which. A state that nothing follows is terminal. */
export const VALID_TRANSITIONS = {
  submitted: ['working', 'failed', 'canceled', 'rejected'],
  working: ['input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected'],
  'input-required': ['working', 'auth-required', 'failed', 'canceled', 'rejected'],
  'auth-required': ['working', 'input-required', 'failed', 'canceled', 'rejected'],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
} as const satisfies Readonly<Record<TaskState, readonly TaskState[]>>

/** States in which the agent waits for somebody else: for input, or for credentials (A2A 1.0 §4.1.3). */
export const INTERRUPTED_STATES = ['input-required', 'auth-required'] as const satisfies readonly TaskState[]

const BRAND: unique symbol = Symbol.for('a2a-tasks.lifecycle')

/** A lifecycle made by {@link defineLifecycle}. Inert, frozen data. */
export interface Lifecycle<S extends string = TaskState> {
  /** The state that tasks are born in. */
  readonly initial: S
  readonly states: readonly S[]
  readonly transitions: Readonly<Record<S, readonly S[]>>
  /** States without a way out. */
  readonly terminal: readonly S[]
  /** States in which the agent waits for somebody else. */
  readonly interrupted: readonly S[]
}

export interface LifecycleOptions<S extends string> {
  /** Default is those of `input-required` and `auth-required` that the table has. */
  readonly interrupted?: readonly S[]
}

/**
 * Makes a lifecycle from a table. The first state of the table is the one tasks are born in; a state whose list is
 * empty is terminal. `canceled` and `failed` are what `cancelTask` and the task timeout move to.
 *
 * @throws {TypeError} when a target is no state of the table, is listed twice or under itself, when no path leads
 *   from the first state to some other, or when `interrupted` names a terminal or unknown state.
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
  // The intersection above makes each target a state.
  const lifecycle = makeLifecycle<S>(
    table as unknown as Readonly<Record<S, readonly S[]>>,
    options.interrupted,
  )
  checkEnds(lifecycle)
  return lifecycle
}

/** A sound table made into a lifecycle. What `defineLifecycle` checks is not checked here. */
function makeLifecycle<S extends string>(
  table: Readonly<Record<S, readonly S[]>>,
  interrupted?: readonly S[],
): Lifecycle<S> {
  // Object.keys of a table typed by its keys is those keys.
  const states = Object.keys(table) as S[]
  // Without a prototype, `transitions['constructor']` is undefined and not a function.
  const transitions = Object.create(null) as Record<S, readonly S[]>
  for (const state of states) transitions[state] = [...table[state]]
  const known: readonly string[] = INTERRUPTED_STATES
  const waiting = states.filter((state) => known.includes(state) && transitions[state].length > 0)
  const lifecycle: Lifecycle<S> = {
    // A table without states is refused before.
    initial: states[0] as S,
    states,
    transitions,
    terminal: states.filter((state) => transitions[state].length === 0),
    interrupted: [...(interrupted ?? waiting)],
  }
  return freezeDeep(Object.defineProperty(lifecycle, BRAND, { value: true }))
}

/** Whether `defineLifecycle` made it: of this copy of the library, or of another. */
export function isLifecycle(value: unknown): value is Lifecycle<string> {
  return typeof value === 'object' && value !== null && BRAND in value
}

function checkTable(table: Readonly<Record<string, unknown>>): void {
  const states = Object.keys(table)
  if (states.length === 0) throw new TypeError('A lifecycle needs at least one state')
  for (const [state, given] of Object.entries(table)) {
    // waitFor has its own meaning for two; numbers come first in an object, wherever they were written.
    if (/^(?:|terminal|interrupted|\d+)$/.test(state)) throw new TypeError(`"${state}" cannot name a state`)
    if (!Array.isArray(given)) throw new TypeError(`"${state}" must have an array of the states it leads to`)
    const targets: readonly unknown[] = given
    for (const [index, target] of targets.entries()) {
      const step = `"${state}" leads to "${String(target)}"`
      if (!states.some((known) => known === target)) {
        throw new TypeError(`${step}, which is no state of the table: ${states.join(', ')}`)
      }
      if (target === state)
        throw new TypeError(`"${state}" leads to itself: an update without a state says that`)
      if (targets.indexOf(target) !== index) throw new TypeError(`"${state}" lists "${String(target)}" twice`)
    }
  }
}

function checkEnds(lifecycle: Lifecycle<string>): void {
  const { initial, states, terminal, interrupted } = lifecycle
  for (const end of ['canceled', 'failed']) {
    if (states.includes(end) && !terminal.includes(end)) {
      throw new TypeError(`"${end}" must be terminal: a cancel, or a timeout, ends a task there`)
    }
  }
  for (const state of interrupted) {
    if (!states.includes(state))
      throw new TypeError(`"interrupted" names "${state}", which is no state of the table`)
    if (terminal.includes(state)) throw new TypeError(`"interrupted" names "${state}", which is terminal`)
  }
  for (const state of states) {
    if (shortestPath(initial, state, lifecycle) !== undefined) continue
    throw new TypeError(`Nothing leads from "${initial}" to "${state}": list it as a target, or remove it`)
  }
}

/** The lifecycle that a `TaskManager` uses unless it is given another. */
export const A2A_LIFECYCLE: Lifecycle = makeLifecycle<TaskState>(VALID_TRANSITIONS)

freezeDeep([VALID_TRANSITIONS, INTERRUPTED_STATES])

/** Whether one step leads from `from` to `to`. A state does not lead to itself. Unknown states lead nowhere. */
export function canTransition(from: TaskState, to: TaskState): boolean
export function canTransition<S extends string>(from: S, to: S, lifecycle: Lifecycle<S>): boolean
export function canTransition(
  from: string,
  to: string,
  lifecycle: Lifecycle<string> = A2A_LIFECYCLE,
): boolean {
  return lifecycle.transitions[from]?.includes(to) ?? false
}

/** Whether nothing follows `state`. */
export function isTerminal(state: TaskState): boolean
export function isTerminal<S extends string>(state: S, lifecycle: Lifecycle<S>): boolean
export function isTerminal(state: string, lifecycle?: Lifecycle<string>): boolean {
  return orDefault(lifecycle).transitions[state]?.length === 0
}

/** Whether the agent waits for somebody else in `state`. */
export function isInterrupted(state: TaskState): boolean
export function isInterrupted<S extends string>(state: S, lifecycle: Lifecycle<S>): boolean
export function isInterrupted(state: string, lifecycle?: Lifecycle<string>): boolean {
  return orDefault(lifecycle).interrupted.includes(state)
}

/** As a callback of `filter` these functions get an index for a lifecycle. */
function orDefault(lifecycle: unknown): Lifecycle<string> {
  return isLifecycle(lifecycle) ? lifecycle : A2A_LIFECYCLE
}

/**
 * The fewest states to walk through to get from `from` to `to`, `to` included and `from` not: `submitted` to
 * `completed` is `['working', 'completed']`. Empty where both are the same; `undefined` where no path leads there.
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

/** The lifecycle as a Mermaid `stateDiagram-v2`. */
export function toMermaid(lifecycle: Lifecycle<string> = A2A_LIFECYCLE): string {
  // Mermaid's state ids may hold neither hyphens nor spaces.
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
