/**
 * Options and results of questions with a schema.
 *
 * @module
 */
import type { OutputOf, StandardSchema } from '../standard-schema.js'

/** Options of all questions with a schema. */
export interface AskOptions {
  /**
   * How many answers in a row that do not fit are read, before the call rejects with `INVALID_PARAMS`. After each but the last
   * the user is asked again. Default is `3`.
   */
  readonly attempts?: number | undefined
  /**
   * The time after which the question is withdrawn, in ms: the call rejects with `WAIT_TIMED_OUT`, and the task works on. Default
   * is none. In any case, the handler cancels the task after its `limits.waitingTimeoutMs`.
   */
  readonly expiresInMs?: number | undefined
  /** Withdraws the question when it aborts: the call rejects with `WAIT_ABORTED`, and the task works on. */
  readonly signal?: AbortSignal | undefined
  /**
   * The ids of the principals who may answer, 1 to 100: the owner of the task only if one of them. They may read the question with
   * `GetTask` while it is open, and nothing else of the task. Default is the owner of the task.
   */
  readonly answeredBy?: readonly string[] | undefined
}

/** What an answer has to be. */
export interface AnswerSchema<S extends StandardSchema = StandardSchema> {
  /** A schema of any library with Standard Schema, such as zod. It returns JSON. */
  readonly schema: S
  /** The JSON Schema for clients. Default is what `schema` says of itself, as that of zod 4.2 or later does. */
  readonly jsonSchema?: object | undefined
}

/** Options of `run.requireInput` with a schema. */
export interface InputOptions<S extends StandardSchema = StandardSchema> extends AnswerSchema<S>, AskOptions {
  /** The beginning of the question's id. Default is `'input'`. */
  readonly name?: string | undefined
}

/** One of the questions of `run.ask`. */
export interface AskedQuestion<S extends StandardSchema = StandardSchema> extends AnswerSchema<S> {
  /** What the user is asked. */
  readonly message: string
}

/** The answers of `run.ask`, by the names of the questions. */
export type AnswersTo<Q extends Readonly<Record<string, AskedQuestion>>> = {
  readonly [K in keyof Q]: OutputOf<Q[K]['schema']>
}

/** Options of `run.authorize`. */
export interface AuthorizeOptions extends Omit<AskOptions, 'answeredBy'> {
  /** Where the user authorizes: an http or https URL of at most 8,192 characters, without a name and password. */
  readonly url: string
  /** What the user is to authorize. */
  readonly message: string
}

/** Options of `run.approve`. */
export interface ApproveOptions<O extends readonly string[] = readonly string[]> extends AskOptions {
  /** What the user is to decide. */
  readonly message: string
  /** The verdicts that the user can give. Default is `['approve', 'reject']`. */
  readonly options?: O | undefined
  /**
   * The call of a tool that the question is about, by its id. Clients show the question at the call, and parallel code may ask
   * about several calls of one tool, in any order.
   */
  readonly toolCallId?: string | undefined
}
