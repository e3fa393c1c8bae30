/**
 * The states of the protocol's own lifecycle, as lists: in a file of their own, which bundlers leave out.
 *
 * @module
 */
import { A2A_LIFECYCLE, type TaskState } from './lifecycle.js'

/** The states of {@link A2A_LIFECYCLE}, in the order of its table. */
export const VALID_STATES: readonly TaskState[] = A2A_LIFECYCLE.states
/** Those of them that nothing follows. */
export const TERMINAL_STATES: readonly TaskState[] = A2A_LIFECYCLE.terminal
