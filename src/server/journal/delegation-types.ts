/**
 * Arguments and results of delegations.
 *
 * @module
 */
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import type { Part } from '../../core/task.js'

/** A message to another agent: a text, or parts. */
export type DelegatedMessage =
  string | { readonly parts: readonly Part[]; readonly metadata?: JsonObject | undefined }

/** The end of a delegation, as JSON. `type` and `text` are those of the result of `A2AClient.run`. */
export interface DelegationResult {
  /** Whether the agent has completed the task, or replied. */
  readonly ok: boolean
  readonly type: string
  readonly text: string
  /** The agent's task, as far as it is known. */
  readonly task?: ReadonlyJson
  /** The agent's reply without a task. */
  readonly message?: ReadonlyJson
  /** The code of the error, where there is one. */
  readonly code?: string
}

/** What `run.delegate` needs of an agent: an `A2AClient` is one. */
export interface DelegationAgent {
  readonly card: { readonly name: string }
  run(
    message: never,
    options: never,
  ): Promise<{ readonly ok: boolean; readonly type: string; readonly text: string }>
}

/** Options of `run.delegate`. */
export interface DelegateOptions {
  /**
   * Answers a question of the agent. It is called again when the turn continues. If it returns `undefined`, the result is
   * `input-required`. Default is to ask the user, by `run.requireInput`.
   */
  readonly onInputRequired?: ((question: DelegationResult) => AnswerOf | Promise<AnswerOf>) | undefined
  /** Whether the agent may be one that has led to this task. Default is `false`. */
  readonly mayRepeat?: boolean | undefined
}

export type AnswerOf = DelegatedMessage | undefined
