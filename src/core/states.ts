/**
 * Lists of the states of the protocol's lifecycle. They have their own file so that bundlers can leave them out.
 *
 * @module
 */
import { A2A_LIFECYCLE, type TaskState } from './lifecycle.js'

/** The states of {@link A2A_LIFECYCLE}, in the order of its table. */
export const VALID_STATES: readonly TaskState[] = A2A_LIFECYCLE.states
/** The terminal states of {@link A2A_LIFECYCLE}. */
export const TERMINAL_STATES: readonly TaskState[] = A2A_LIFECYCLE.terminal
