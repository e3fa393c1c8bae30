/**
 * Arguments and results of the methods of a run that the journal replays.
 *
 * @module
 */
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import type { Part } from '../../core/task.js'
import type { RetryOptions } from '../retry.js'
import type { StandardSchema } from '../standard-schema.js'
import type { StepOutput, Unknown } from './step-output.js'

/** The work of a step. */
export interface StepWork<T> {
  (step: StepContext): T | Promise<T>
}

/** The work of a transaction, with the client of the store. */
export interface TransactionWork<T, C> {
  (client: C, step: StepContext): T | Promise<T>
}

/** See `Run.step`. The second form is for work that returns `unknown`. */
export interface StepMethod {
  <T extends StepOutput>(name: string, work: StepWork<T>, options?: StepOptions): Promise<T>
  <T>(name: string, work: StepWork<T> & Unknown<T>, options?: StepOptions): Promise<T>
}

/** See `Run.transaction`. The second form is for work that returns `unknown`. */
export interface TransactionMethod {
  <T extends StepOutput, C = unknown>(
    name: string,
    work: TransactionWork<T, C>,
    options?: StepOptions,
  ): Promise<T>
  <T, C = unknown>(name: string, work: TransactionWork<T, C> & Unknown<T>, options?: StepOptions): Promise<T>
}

/** What the work of a step receives. */
export interface StepContext {
  /** Aborts when the run's signal aborts, or `timeoutMs` has passed. */
  readonly signal: AbortSignal
  /**
   * The same for each attempt of this step, in every process: pass it to services as their idempotency key. Made of the task's
   * id: an id that is used again after its task was removed has the same keys again.
   */
  readonly key: string
  /** `1` for the first attempt of this process. */
  readonly attempt: number
}

/** Options of `run.step`. */
export interface StepOptions {
  /**
   * When and how often a step that throws is tried again. Default is one attempt. If the process dies, the next one begins
   * with the first attempt at once.
   */
  readonly retry?: RetryOptions | undefined
  /** The time limit of each attempt, in ms. Default is no limit. */
  readonly timeoutMs?: number | undefined
}

/** When a sleep ends: one of both. */
export type SleepOptions =
  | { readonly ms: number; readonly until?: undefined }
  | { readonly until: Date | number; readonly ms?: undefined }

/** Options of `run.waitFor`. */
export interface SignalOptions<T> {
  /** Checks the value of the signal, and may change it. Default is no check. */
  readonly schema?: StandardSchema<unknown, T> | undefined
}

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

/**
 * Amounts that code has spent: numbers of 0 or more, each in the unit of its name. A name begins with a letter, and has at most
 * 64 letters, digits, `_`, `-` and `.`. A task has at most 16 units. Amounts that are `undefined` do not count.
 */
export interface SpentAmounts {
  /** The name of the model, of at most 200 characters. The task also shows its amounts by model, for at most 32 of them. */
  readonly model?: string | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  /** In the currency of your choice, the same for all agents that share a budget. */
  readonly cost?: number | undefined
  readonly [unit: string]: number | string | undefined
}
