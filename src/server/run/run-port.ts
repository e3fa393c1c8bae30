/**
 * The port between a run and its turn, with the questions that the turn asks.
 *
 * @module
 */
import type { JournalEntry } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { TurnPort } from '../journal/turn-port.js'
import type { Principal } from '../caller.js'
import type { RunContext } from './run-context.js'
import type { Say } from './run.js'
import type { RunTask } from './task/run-task.js'

export type AskingState = 'input-required' | 'auth-required'

/** What a question says. */
export interface Prompt {
  readonly say: Say
  readonly messageId: string
}

/** What a turn uses of its run. */
export interface RunPort<P extends Principal> extends TurnPort {
  readonly context: RunContext<P>
  /** The task; creates it first where there is none. */
  readonly task: () => RunTask
  /** Moves the task, with `say` as a message of the conversation, in one change with the entries. */
  readonly move: (state: TaskState, entries: readonly JournalEntry[], say?: Prompt) => void
  /** Shows a question that the conversation has, unless the task shows it. */
  readonly showAgain: (state: AskingState, prompt: Prompt) => void
}
